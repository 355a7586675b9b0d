"""The names of `typing` that code mentions, without importing it: that takes a twelfth of a start.

Type checkers see the standard library's. At run time they are stand-ins that do nothing: annotations are not
looked at, a Protocol is an empty class. So `from barnabas.base.hints import Final` is what files that a start
imports write instead of `from typing import Final`; the rest may do either (docs/adr/0008).
"""

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import (
        IO,
        Any,
        ClassVar,
        Final,
        Generic,
        Literal,
        NoReturn,
        Protocol,
        Self,
        TypeVar,
        cast,
        dataclass_transform,
        final,
    )
else:

    class _Hint:
        """Whatever may be written in an annotation gives the same again."""

        __slots__ = ()

        def __getitem__(self, _parameters: object) -> "_Hint":
            return self

        def __or__(self, _other: object) -> "_Hint":
            return self

        __ror__ = __or__

    IO = Any = Final = Literal = NoReturn = Self = _Hint()
    ClassVar = _Hint()  # one of its own: the data classes ask for it

    class Protocol:
        """What a class must offer; checked by type checkers only."""

        __slots__ = ()

        def __class_getitem__(cls, _parameters: object) -> type:
            return cls

    class Generic(Protocol):
        """Base of a class with type parameters."""

        __slots__ = ()

    def TypeVar(_name: str, *_constraints: object, **_options: object) -> _Hint:  # noqa: N802
        return Any

    def cast(_type: object, value: object) -> object:
        return value

    def final(defined: object) -> object:
        return defined

    def dataclass_transform(**_options: object) -> object:
        return final


__all__ = [
    "IO",
    "TYPE_CHECKING",
    "Any",
    "ClassVar",
    "Final",
    "Generic",
    "Literal",
    "NoReturn",
    "Protocol",
    "Self",
    "TypeVar",
    "cast",
    "dataclass_transform",
    "final",
]
