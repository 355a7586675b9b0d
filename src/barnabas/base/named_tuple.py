"""Named tuples that cost a start little: `typing.NamedTuple`'s notation, made without its price.

Hot loops want tuples whose items have names. The standard class is made by compiling source, 0.2 ms a class,
of which a start defines two dozen; under `from __future__ import annotations` it compiles each annotation,
too. Here items are found as they are there, by the interpreter's own descriptor, and construction is plain
code until a class turns out to be made often: then it is compiled once, into what the standard one would be.

To type checkers the name below is the standard one. For data that nobody unpacks or indexes there is
`base/dataclass.py`. Rejected: frozen data classes in hot loops, which take twice the time to make. See
docs/adr/0008.

Not offered, since nothing needs it: the functional notation, extending a named tuple, generic ones.
"""

from collections.abc import Callable
from operator import itemgetter

from barnabas.base.hints import TYPE_CHECKING, Any, Final

__all__ = ("NamedTuple",)

_CALLS_MAX: Final = 20
"""How often construction is plain code before it is compiled, which takes as long as about 100 such calls."""

if TYPE_CHECKING:
    from typing import NamedTuple
else:
    try:
        from _collections import _tuplegetter as _item_getter  # what collections.namedtuple uses
    except ImportError:  # an interpreter without it

        def _item_getter(index: int, doc: str) -> property:
            return property(itemgetter(index), doc=doc)

    def _compiled_new(cls: Any) -> Callable[..., Any]:
        """Give the class the constructor of the standard one, with its words for wrong arguments."""
        arguments = ", ".join(cls._fields)
        items = f"({arguments},)" if cls._fields else "()"
        scope = {"_new": tuple.__new__, "__name__": cls.__module__}
        new: Any = eval(f"lambda _cls, {arguments}: _new(_cls, {items})", scope)
        new.__defaults__ = tuple(cls._field_defaults.values())
        new.__name__ = "__new__"
        new.__qualname__ = f"{cls.__qualname__}.__new__"
        cls.__new__ = staticmethod(new)
        return new

    class _NamedTupleType(type):
        """Turns annotated names into items, and values written beside them into defaults."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            names = tuple(body.get("__annotations__", ()))
            defaults = {item: body[item] for item in names if item in body}
            if tuple(defaults) != names[len(names) - len(defaults) :]:
                raise TypeError(f"{name}: an item without a default follows one with a default")
            for index, item in enumerate(names):
                if item.startswith("_"):
                    raise ValueError(f"{name}.{item}: names of items cannot start with an underscore")
                body[item] = _item_getter(index, f"Item {index}.")
            body["__slots__"] = ()
            body["__match_args__"] = body["_fields"] = names
            body["_field_defaults"] = defaults
            body["_calls"] = 0  # of the constructor, counted until it is compiled
            return super().__new__(cls, name, bases, body)

    class NamedTuple(tuple, metaclass=_NamedTupleType):
        """A tuple whose items have names; subclasses annotate them."""

        def __new__(cls, *given: Any, **named: Any) -> "NamedTuple":
            cls._calls += 1
            if cls._calls <= _CALLS_MAX:
                rest = cls._fields[len(given) :]
                values = cls._field_defaults | named
                if len(given) <= len(cls._fields) and named.keys() <= set(rest) <= values.keys():
                    return tuple.__new__(cls, [*given, *[values[item] for item in rest]])
            return _compiled_new(cls)(cls, *given, **named)

        @classmethod
        def _make(cls, values: Any) -> "NamedTuple":
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, /, **changes: Any) -> "NamedTuple":
            made = self._make(map(changes.pop, self._fields, self))
            if changes:
                raise ValueError(f"Got unexpected field names: {list(changes)!r}")
            return made

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)

        def __repr__(self) -> str:
            items = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({items})"
