"""Our enums behave as the standard library's, with which each test compares them where it can."""

import copy
import enum
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.base.enums import Enum, IntEnum, auto


class Number(IntEnum):
    """Numbers."""

    LESS = -1
    NONE = 0
    ONE = 1
    UNO = 1


class Word(Enum):
    SMALL = "small"
    """A text that is no member."""
    LARGE = "large"

    @property
    def doubled(self) -> str:
        return self.value * 2

    def shout(self) -> str:
        return self.name + "!"

    @classmethod
    def first(cls) -> "Word":
        return cls.SMALL


class Counted(Enum):
    FIRST = auto()
    SECOND = auto()
    TENTH = 10
    LAST = auto()


class StandardNumber(enum.IntEnum):
    LESS = -1
    NONE = 0
    ONE = 1
    UNO = 1


class StandardWord(enum.Enum):
    SMALL = "small"
    LARGE = "large"


class StandardCounted(enum.Enum):
    FIRST = enum.auto()
    SECOND = enum.auto()
    TENTH = 10
    LAST = enum.auto()


PAIRS = pytest.mark.parametrize(
    ("ours", "standard"), [(Number, StandardNumber), (Word, StandardWord), (Counted, StandardCounted)]
)


@PAIRS
def test_members_stand_in_the_order_written_without_aliases(ours: Any, standard: Any) -> None:
    assert [(member.name, member.value) for member in ours] == [(item.name, item.value) for item in standard]
    assert len(ours) == len(standard)


@PAIRS
def test_every_name_finds_its_member_by_attribute_and_index(ours: Any, standard: Any) -> None:
    assert list(ours.__members__) == list(standard.__members__)
    for name, member in ours.__members__.items():
        assert getattr(ours, name) is member
        assert ours[name] is member
        assert member.value == standard[name].value


@PAIRS
def test_a_value_finds_its_member(ours: Any, standard: Any) -> None:
    for member in standard:
        assert ours(member.value).name == member.name
    for member in ours:
        assert ours(member) is member if issubclass(ours, int) else ours(member.value) is member


@pytest.mark.parametrize("value", [7, "no", None, [1]])
def test_a_value_of_no_member_is_refused_in_the_words_of_the_standard(value: object) -> None:
    for ours, standard in ((Number, StandardNumber), (Word, StandardWord)):
        with pytest.raises(ValueError, match="is not a valid") as expected:
            standard(value)
        with pytest.raises(ValueError, match="is not a valid") as raised:
            ours(value)
        assert str(raised.value) == str(expected.value).replace("Standard", "")


def test_a_name_of_no_member_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        Number["TWO"]


@pytest.mark.parametrize("form", [str, repr, "{}".format, "{0!r:>30}".format, lambda item: f"{item:}"])
@PAIRS
def test_text_is_as_the_standard_writes_it(ours: Any, standard: Any, form: Callable[[object], str]) -> None:
    for name in ours.__members__:
        expected = form(standard[name]).replace("Standard", "")
        assert form(ours[name]).strip() == expected.strip()


def test_an_int_member_is_its_number() -> None:
    assert Number.ONE == 1
    assert Number.ONE + 1 == 2
    assert hash(Number.ONE) == hash(1)
    assert {Number.ONE: "found"}[1] == "found"
    assert json.dumps([Number.LESS]) == "[-1]"
    assert f"{Number.ONE:03d}" == "001"
    assert isinstance(Number.ONE, int)
    assert isinstance(Number.ONE, Number)


def test_a_plain_member_equals_itself_alone() -> None:
    assert Word("small") == Word.SMALL
    assert Word.SMALL != Word.LARGE
    assert Word.SMALL != "small"
    assert len({Word.SMALL, Word.LARGE, Word("small")}) == 2


def test_methods_and_properties_are_no_members() -> None:
    assert Word.LARGE.shout() == "LARGE!"
    assert Word.LARGE.doubled == "largelarge"
    assert Word.first() is Word.SMALL
    assert "shout" not in Word.__members__


@pytest.mark.parametrize("member", [Number.LESS, Number.UNO, Word.LARGE, Counted.LAST])
def test_copies_and_pickles_are_the_member_itself(member: Any) -> None:
    assert copy.copy(member) is member
    assert copy.deepcopy(member) is member
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(member, protocol)) is member


@pytest.mark.parametrize("member", [Number.ONE, Word.LARGE])
@pytest.mark.parametrize("name", ["name", "value", "other"])
def test_a_member_cannot_be_changed(member: Any, name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(member, name, 3)
    with pytest.raises(AttributeError):
        delattr(member, name)


@pytest.mark.parametrize("kind", [Number, Word])
def test_a_class_keeps_its_members(kind: Any) -> None:
    name = next(iter(kind.__members__))
    with pytest.raises(AttributeError):
        setattr(kind, name, 3)
    with pytest.raises(AttributeError):
        delattr(kind, name)
    with pytest.raises(TypeError):
        kind.__members__[name] = 3


def test_a_class_with_members_cannot_be_extended() -> None:
    with pytest.raises(TypeError, match="Number"):
        type("More", (Number,), {"TWO": 2})


def test_membership_is_asked_by_member_or_value() -> None:
    assert Number.ONE in Number
    assert 1 in Number
    assert 7 not in Number
    assert Word.SMALL in Word
    assert "small" in Word
    assert [] not in Word


def test_a_class_is_true_and_keeps_its_docstring() -> None:
    assert bool(Number)
    assert Number.__doc__ == "Numbers."
