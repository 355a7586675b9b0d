"""Enums that cost a start little: the standard library's notation, made without its price.

`class ErrorCode(IntEnum)` means here what it means there: members by name and by value, identity, iteration
in the order written, aliases, pickling. The standard one gives each member a descriptor of its own when the
class is defined, 0.03 ms each, and a broker defines 300 before its first answer; up to Python 3.11 every
look-up of a member runs that descriptor again. Here a member is a plain attribute of its class.

To type checkers the names below are the standard ones, so they know members, literals and exhaustiveness.

Rejected: module constants (no name for a log line, no type of their own), making the standard classes on
first use (a start uses most of them). See docs/adr/0008.

Not offered, since nothing needs it: flags, members with state (`__init__`, `__new__`), `_missing_`, the
functional notation.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from barnabas.base.hints import TYPE_CHECKING, Any, Final, NoReturn

__all__ = ("Enum", "EnumType", "IntEnum", "auto")


class _Auto:
    """What `auto()` returns: stands for one more than the value before, 1 for the first."""

    __slots__ = ()


class EnumType(type):
    """The class of enum classes: keeps their members, finds them by value (call) and by name (index)."""

    _members: dict[str, Any]
    _by_value: dict[Any, Any]

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> "EnumType":
        for base in bases:
            if getattr(base, "_members", None):
                raise TypeError(f"{name} cannot extend {base.__name__}, which has members")
        values = {key: value for key, value in body.items() if _is_member(key, value)}
        kept = {key: value for key, value in body.items() if key not in values}
        if values:
            kept["__slots__"] = ()
        made = super().__new__(cls, name, bases, kept)
        members: dict[str, Any] = {}
        by_value: dict[Any, Any] = {}
        type.__setattr__(made, "_members", members)
        type.__setattr__(made, "_by_value", by_value)
        previous = 0
        for key, value in values.items():
            if value.__class__ is _Auto:
                value = previous + 1
            previous = value
            if value not in by_value:
                by_value[value] = made._new_member(key, value)  # type: ignore[attr-defined]
            members[key] = by_value[value]
            type.__setattr__(made, key, by_value[value])
        return made

    def __call__(cls, value: Any) -> Any:
        """Return the member of this value.

        Raises:
            ValueError: there is none.
        """
        try:
            return cls._by_value[value]
        except (KeyError, TypeError):  # TypeError: not hashable, so nobody's value
            raise ValueError(f"{value!r} is not a valid {cls.__qualname__}") from None

    def __getitem__(cls, name: str) -> Any:
        return cls._members[name]

    def __iter__(cls) -> Iterator[Any]:
        return iter(cls._by_value.values())

    def __len__(cls) -> int:
        return len(cls._by_value)

    def __bool__(cls) -> bool:
        return True

    def __contains__(cls, value: object) -> bool:
        try:
            return value in cls._by_value or isinstance(value, cls)
        except TypeError:
            return False

    @property
    def __members__(cls) -> Mapping[str, Any]:
        """Every name, aliases too, with its member."""
        return MappingProxyType(cls._members)

    def __setattr__(cls, name: str, value: object) -> None:
        if name in cls._members:
            raise AttributeError(f"cannot reassign member {name!r}")
        super().__setattr__(name, value)

    def __delattr__(cls, name: str) -> None:
        if name in cls._members:
            raise AttributeError(f"cannot delete member {name!r}")
        super().__delattr__(name)

    def __repr__(cls) -> str:
        return f"<enum {cls.__name__!r}>"


def _is_member(name: str, value: object) -> bool:
    return not name.startswith("_") and not hasattr(value, "__get__")


_SET: Final = object.__setattr__

if TYPE_CHECKING:
    from enum import Enum, IntEnum, auto
else:

    def auto() -> _Auto:
        """Return what stands for the next number, 1 for the first member."""
        return _Auto()

    def _refuse_set(self: object, name: str, _value: object) -> NoReturn:
        raise AttributeError(f"<enum {type(self).__name__!r}> cannot set attribute {name!r}")

    def _refuse_delete(self: object, name: str) -> NoReturn:
        raise AttributeError(f"<enum {type(self).__name__!r}> cannot delete attribute {name!r}")

    def _reduce(self: Any, _protocol: int) -> tuple[type, tuple[Any]]:
        return type(self), (self.value,)

    def _repr(self: Any) -> str:
        return f"<{type(self).__name__}.{self.name}: {self.value!r}>"

    class Enum(metaclass=EnumType):
        """Members that compare and hash by identity."""

        __slots__ = ("name", "value")

        @classmethod
        def _new_member(cls, name: str, value: Any) -> "Enum":
            member = object.__new__(cls)
            _SET(member, "name", name)
            _SET(member, "value", value)
            return member

        def __str__(self) -> str:
            return f"{type(self).__name__}.{self.name}"

        __repr__ = _repr
        __reduce_ex__ = _reduce
        __setattr__ = _refuse_set
        __delattr__ = _refuse_delete

    class IntEnum(int, metaclass=EnumType):
        """Members that are numbers; in text they are written as such."""

        @classmethod
        def _new_member(cls, name: str, value: int) -> "IntEnum":
            member = int.__new__(cls, value)
            member.__dict__["name"] = name
            member.__dict__["value"] = value
            return member

        __str__ = int.__repr__
        __repr__ = _repr
        __reduce_ex__ = _reduce
        __setattr__ = _refuse_set
        __delattr__ = _refuse_delete
