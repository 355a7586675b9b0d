"""Our data classes behave as the standard library's, whose behaviour each test compares with where it can."""

import copy
import dataclasses
import pickle
from typing import Any, ClassVar

import pytest

from barnabas.base.dataclass import FrozenInstanceError, dataclass, field, fields, replace

COMPILED = 25
"""Constructions after which `__init__` is compiled; every rule holds before and after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A point."""

    x: int
    y: int = 2
    tags: list[str] = field(default_factory=list)
    count: ClassVar[int] = 7


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StandardPoint:
    x: int
    y: int = 2
    tags: list[str] = dataclasses.field(default_factory=list)


@dataclass(slots=True)
class Mutable:
    name: str
    size: "int" = 0


@dataclass(frozen=True, slots=True)
class Pair:
    left: object
    right: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Point3(Point):
    z: int
    y: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Empty:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class One:
    value: tuple[int, ...]


@pytest.fixture(params=["looping", "compiled"])
def point(request: pytest.FixtureRequest) -> type[Point]:
    """Return a class like Point, new or made often already."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Fresh:
        x: int
        y: int = 2
        tags: list[str] = field(default_factory=list)

    if request.param == "compiled":
        for _ in range(COMPILED):
            Fresh(x=0)
        assert Fresh.__init__.__code__.co_filename == "<string>"
    made: Any = Fresh
    return made


def test_constructor_takes_what_is_given_and_defaults_for_the_rest(point: type[Point]) -> None:
    made = point(x=1)
    assert (made.x, made.y, made.tags) == (1, 2, [])
    made = point(tags=["a"], y=0, x=None)  # type: ignore[arg-type]
    assert (made.x, made.y, made.tags) == (None, 0, ["a"])


def test_default_factory_makes_a_value_for_each_instance(point: type[Point]) -> None:
    assert point(x=1).tags is not point(x=1).tags


@pytest.mark.parametrize("wrong", [{}, {"y": 1}, {"x": 1, "q": 1}, {"q": 1}])
def test_wrong_arguments_are_named_as_the_standard_library_names_them(
    point: type[Point], wrong: dict[str, int]
) -> None:
    with pytest.raises(TypeError) as expected:
        StandardPoint(**wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError) as raised:
        point(**wrong)  # type: ignore[arg-type]
    assert str(raised.value).rpartition(".")[2] == str(expected.value).rpartition(".")[2]
    assert point(x=3).x == 3


def test_kw_only_takes_no_positions(point: type[Point]) -> None:
    with pytest.raises(TypeError, match="positional argument"):
        point(1)  # type: ignore[misc]


def test_positions_follow_the_fields() -> None:
    assert (Mutable("a", 3).size, Mutable("a", size=4).size, Mutable("b").name) == (3, 4, "b")
    with pytest.raises(TypeError, match="multiple values for argument 'name'"):
        Mutable("a", name="b")  # type: ignore[misc]


def test_frozen_fields_cannot_be_assigned_or_deleted(point: type[Point]) -> None:
    made = point(x=1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        made.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del made.x
    with pytest.raises(AttributeError):
        made.unheard_of = 2  # type: ignore[attr-defined]
    assert made.x == 1


def test_mutable_fields_can_but_others_cannot_be_made_up() -> None:
    made = Mutable("a")
    made.size = 5
    assert made.size == 5
    with pytest.raises(AttributeError):
        made.unheard_of = 2  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", [Point, Mutable, Pair, Point3, Empty])
def test_instances_have_slots_and_no_dict(kind: type) -> None:
    assert "__dict__" not in dir(kind)


def test_slots_of_a_base_are_not_repeated() -> None:
    assert Point.__slots__ == ("x", "y", "tags")
    assert Point3.__slots__ == ("z",)


def test_equal_only_by_value_and_class() -> None:
    assert Point(x=1) == Point(x=1)
    assert Point(x=1) != Point(x=2)
    assert Pair(1, 2) != (1, 2)
    assert Point3(x=1, y=2, z=0) != Point(x=1, y=2)
    assert Empty() == Empty()
    assert Empty() != One(value=())
    assert Mutable("a") == Mutable("a")


def test_hash_agrees_with_equality_and_only_frozen_ones_have_it() -> None:
    assert len({Pair(1, 2), Pair(1, 2), Pair(2, 1), One(value=(1,)), Empty(), Empty()}) == 4
    with pytest.raises(TypeError, match="unhashable"):
        hash(Mutable("a"))
    with pytest.raises(TypeError, match="unhashable"):
        hash(Point(x=1))  # its list is not hashable


def test_repr_reads_like_a_constructor() -> None:
    assert repr(Point(x=1)) == "Point(x=1, y=2, tags=[])"
    assert repr(Empty()) == "Empty()"
    assert repr(StandardPoint(x=1)).removeprefix("Standard") == repr(Point(x=1))


def test_subclass_has_the_fields_of_both_in_order() -> None:
    made = Point3(x=1, z=3)
    assert [item.name for item in fields(Point3)] == ["x", "y", "tags", "z"]
    assert (made.x, made.y, made.z) == (1, 5, 3)
    assert Point(x=1).y == 2
    with pytest.raises(FrozenInstanceError):
        made.z = 1  # type: ignore[misc]


def test_post_init_runs_each_time() -> None:
    seen = []

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Checked:
        value: int

        def __post_init__(self) -> None:
            if self.value < 0:
                raise ValueError("negative")
            seen.append(self.value)

    for value in range(COMPILED):
        Checked(value=value)
    assert seen == list(range(COMPILED))
    with pytest.raises(ValueError, match="negative"):
        Checked(value=-1)


def test_methods_written_in_the_class_are_kept() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Own:
        a: int
        b: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own) and other.a == self.a

        def __hash__(self) -> int:
            return self.a

        def __repr__(self) -> str:
            return "own"

    assert Own(a=1, b=1) == Own(a=1, b=2)
    assert hash(Own(a=5, b=1)) == 5
    assert repr(Own(a=1, b=1)) == "own"


@pytest.mark.parametrize("made", [Point(x=1, tags=["a"]), Mutable("a", 1), Pair(1, None), Point3(x=1, z=2)])
def test_copy_and_pickle(made: object) -> None:
    assert copy.copy(made) == made
    assert copy.deepcopy(made) == made
    assert pickle.loads(pickle.dumps(made)) == made


def test_replace_changes_some_fields() -> None:
    made = Point(x=1, tags=["a"])
    assert replace(made, x=2) == Point(x=2, tags=["a"])
    assert made.x == 1
    with pytest.raises(TypeError, match="'q'"):
        replace(made, q=1)


def test_fields_tell_defaults_and_refuse_other_classes() -> None:
    assert [(item.name, item.has_default) for item in fields(Point(x=1))] == [
        ("x", False), ("y", True), ("tags", True)
    ]  # fmt: skip
    with pytest.raises(TypeError, match="no data class"):
        fields(int)


def test_class_variables_are_no_fields_and_stay() -> None:
    assert Point.count == 7
    assert Point.__doc__ == "A point."


def test_shared_mutable_defaults_and_wrong_order_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Shared\.items: all instances would share"):

        @dataclass(slots=True)
        class Shared:
            items: list[int] = []  # noqa: RUF012

    with pytest.raises(TypeError, match=r"Order\.b without a default follows a with one"):

        @dataclass(slots=True)
        class Order:
            a: int = 1
            b: int  # type: ignore[misc]


def test_patterns_match_by_position_unless_keyword_only() -> None:
    match Pair(1, 2):
        case Pair(left, right):
            assert (left, right) == (1, 2)
    assert Point.__match_args__ == ()
