"""Our named tuples behave as the standard library's, with which each test compares them."""

import copy
import pickle
import typing
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.base.named_tuple import NamedTuple

CONSTRUCTIONS = (1, 15, 50)
"""Few and many: after 20 the constructor is compiled, and every rule holds before and after."""


class Point(NamedTuple):
    """A point."""

    x: int
    y: "int"
    tag: str = "none"
    weight: float = 1.5

    @property
    def total(self) -> int:
        return self.x + self.y


class StandardPoint(typing.NamedTuple):
    x: int
    y: "int"
    tag: str = "none"
    weight: float = 1.5


class One(NamedTuple):
    value: int


WAYS: list[Callable[[Any], Any]] = [
    lambda kind: kind(1, 2),
    lambda kind: kind(1, 2, "a", 3.0),
    lambda kind: kind(1, y=2),
    lambda kind: kind(y=2, x=1),
    lambda kind: kind(1, 2, weight=0.0),
    lambda kind: kind(x=1, y=2, tag="t", weight=2.0),
    lambda kind: kind._make([1, 2, "a", 3.0]),
    lambda kind: kind(1, 2)._replace(tag="b", x=9),
]
WRONG_WAYS: list[Callable[[Any], Any]] = [
    lambda kind: kind(),
    lambda kind: kind(1),
    lambda kind: kind(1, 2, "a", 3.0, 4),
    lambda kind: kind(1, 2, x=3),
    lambda kind: kind(1, 2, other=3),
    lambda kind: kind(tag="a"),
    lambda kind: kind._make([1, 2]),
    lambda kind: kind(1, 2)._replace(other=3),
]


@pytest.fixture(params=CONSTRUCTIONS)
def fresh(request: pytest.FixtureRequest) -> Any:
    """Return a class of this name made so often."""

    class Made(NamedTuple):
        x: int
        y: int
        tag: str = "none"
        weight: float = 1.5

    Made.__name__ = Made.__qualname__ = "StandardPoint"
    for _ in range(request.param):
        Made(1, 2)
    return Made


@pytest.mark.parametrize("way", WAYS)
def test_it_is_made_as_the_standard_one(fresh: Any, way: Callable[[Any], Any]) -> None:
    for _ in range(3):
        made, standard = way(fresh), way(StandardPoint)
        assert made == standard
        assert repr(made) == repr(standard)
        assert type(made) is fresh


@pytest.mark.parametrize("way", WRONG_WAYS)
def test_wrong_arguments_are_refused_in_the_words_of_the_standard(
    fresh: Any, way: Callable[[Any], Any]
) -> None:
    with pytest.raises((TypeError, ValueError)) as expected:
        way(StandardPoint)
    with pytest.raises(expected.type) as raised:
        way(fresh)
    assert str(raised.value).rpartition(".")[2] == str(expected.value).rpartition(".")[2]
    assert fresh(1, 2) == (1, 2, "none", 1.5), "a wrong call spoils nothing"


def test_it_is_a_tuple_with_names() -> None:
    point = Point(3, 4)
    x, y, tag, weight = point
    assert (x, y, tag, weight) == (point.x, point.y, point.tag, point.weight) == point == (3, 4, "none", 1.5)
    assert isinstance(point, tuple)
    assert hash(point) == hash((3, 4, "none", 1.5))
    assert point < Point(3, 5)
    assert point.total == 7
    assert point._asdict() == {"x": 3, "y": 4, "tag": "none", "weight": 1.5}
    assert Point._fields == StandardPoint._fields
    assert Point._field_defaults == StandardPoint._field_defaults
    assert Point.__doc__ == "A point."


def test_it_takes_no_more_memory_and_no_more_attributes() -> None:
    point = Point(3, 4)
    assert point.__sizeof__() == StandardPoint(3, 4).__sizeof__()
    with pytest.raises(AttributeError):
        point.other = 1  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        point.x = 1  # type: ignore[misc]


def test_match_knows_the_items() -> None:
    match Point(3, 4):
        case Point(x, y, "none"):
            assert (x, y) == (3, 4)
        case _:
            pytest.fail("not matched")


def test_copies_and_pickles_are_equal_and_of_the_class() -> None:
    point = Point(3, 4, "t")
    copies = [copy.copy(point), copy.deepcopy(point)]
    copies += [pickle.loads(pickle.dumps(point, protocol)) for protocol in range(2, 6)]
    assert copies == [point] * 6
    assert {type(made) for made in copies} == {Point}


def test_one_item_is_still_a_tuple() -> None:
    for number in range(30):
        assert One(number) == (number,)


def test_an_item_without_a_default_cannot_follow_one_with_a_default() -> None:
    with pytest.raises(TypeError, match="without a default"):
        type(One)("Bad", (NamedTuple,), {"__annotations__": {"x": int, "y": int}, "x": 3})


def test_names_with_an_underscore_are_refused() -> None:
    with pytest.raises(ValueError, match="underscore"):
        type(One)("Bad", (NamedTuple,), {"__annotations__": {"_x": int}})
