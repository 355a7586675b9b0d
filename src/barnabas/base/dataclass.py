"""Data classes that cost a start nothing: the standard library's notation, made without its price.

`@dataclass(frozen=True, slots=True, kw_only=True)` means here what it means there. The standard one compiles
five methods a class when it is defined, 1.2 ms each time, and imports inspect, ast and dis; a broker defines
seventy before its first answer. Here comparison, hash and repr are closures over the names of the fields, and
`__init__` is a plain loop until a class turns out to be made often: then it is compiled once, so that a hot
loop pays no more than with the standard library. Wrong arguments are handed to the compiled one, whose
TypeError has Python's own words.

Rejected: NamedTuple (compares equal to any tuple, iterable by accident, 0.2 ms), writing `__init__` out by
hand seventy times, attrs (as slow to define, and a dependency). See docs/adr/0008.

Not offered, since nothing needs it: order, eq=False, InitVar, instances with a __dict__. As with the standard
`slots=True` the class is made anew, so methods of a decorated class cannot use super() without arguments.
"""

from collections.abc import Callable, Mapping
from operator import attrgetter

from barnabas.base.hints import Any, ClassVar, Final, Literal, TypeVar, cast, dataclass_transform

_T = TypeVar("_T")

_MISSING: Final[Any] = object()

_SHARED: Final = (list, dict, set)

_LOOPS_MAX: Final = 20
"""How often `__init__` loops before it is compiled, which takes as long as about 100 loops."""


class FrozenInstanceError(AttributeError):
    """A field of a frozen data class was assigned or deleted."""


class Field:
    """One field of a data class, with the member that stores it.

    `default` and `default_factory` tell apart "none" and None: see `has_default`.
    """

    __slots__ = ("default", "default_factory", "kw_only", "name", "store")

    def __init__(self, name: str, *, default: Any, default_factory: Callable[[], Any] | None) -> None:
        self.name = name
        self.default = default
        self.default_factory = default_factory
        self.kw_only = False
        self.store: Callable[[object, Any], None]

    @property
    def has_default(self) -> bool:
        """The constructor does not need this field."""
        return self.default is not _MISSING or self.default_factory is not None


def field(*, default: Any = _MISSING, default_factory: Callable[[], Any] | None = None) -> Any:
    """Describe a field whose default is made afresh for each instance."""
    return Field("", default=default, default_factory=default_factory)


@dataclass_transform(field_specifiers=(field,))
def dataclass(
    *, slots: Literal[True], frozen: bool = False, kw_only: bool = False
) -> Callable[[type[_T]], type[_T]]:
    """Make a class of annotated fields: constructor, ==, repr, and hash when frozen.

    Args:
        slots: written out at each class, as the standard library wants it; there is no other kind here.
        frozen: fields cannot be assigned or deleted (FrozenInstanceError); instances hash by value.
        kw_only: the constructor takes keywords only.

    Raises:
        TypeError: a field without a default follows one with a default and is not keyword-only.
        ValueError: a default is a list, dict or set, which all instances would share.
    """
    assert slots

    def decorate(cls: type[_T]) -> type[_T]:
        own = _own_fields(cls, kw_only=kw_only)
        inherited = {item.name: item for base in reversed(cls.__mro__[1:]) for item in _fields_of(base)}
        every = tuple((inherited | own).values())
        _check_order(cls, every)
        members = _members(every, frozen=frozen, kw_only=kw_only)
        slots = tuple(name for name in own if name not in inherited)
        made = _made_anew(cls, members | {"__slots__": slots}, leaving_out=own)
        for name, item in own.items():
            item.store = inherited[name].store if name in inherited else made.__dict__[name].__set__
        return made

    return decorate


def fields(instance_or_class: object) -> tuple[Field, ...]:
    """Return the fields of a data class, inherited ones first, then as they are written."""
    found = _fields_of(instance_or_class)
    if not found:
        raise TypeError(f"{instance_or_class!r} is no data class")
    return found


def replace(instance: _T, /, **changes: Any) -> _T:
    """Return a copy in which some fields have other values.

    Raises:
        TypeError: no such field.
    """
    given = {item.name: getattr(instance, item.name) for item in fields(instance)}
    return type(instance)(**(given | changes))


def _fields_of(instance_or_class: object) -> tuple[Field, ...]:
    return cast("tuple[Field, ...]", getattr(instance_or_class, "__data_fields__", ()))


def _is_class_variable(annotation: object) -> bool:
    if isinstance(annotation, str):
        return annotation.startswith(("ClassVar", "typing.ClassVar"))
    return annotation is ClassVar or repr(annotation).startswith("typing.ClassVar")


def _own_fields(cls: type, *, kw_only: bool) -> dict[str, Field]:
    own = {}
    for name, annotation in cls.__annotations__.items():
        if _is_class_variable(annotation):
            continue
        given = cls.__dict__.get(name, _MISSING)
        if isinstance(given, Field):
            item = given
            item.name = name
        else:
            item = Field(name, default=given, default_factory=None)
        if isinstance(item.default, _SHARED):
            raise ValueError(f"{cls.__name__}.{name}: all instances would share this default")
        item.kw_only = kw_only
        own[name] = item
    return own


def _made_anew(cls: type[_T], members: dict[str, Any], *, leaving_out: Mapping[str, Field]) -> type[_T]:
    """Return the class with more members, of which those written in the class are the stronger.

    Slots can only be given when a class is made; and setting a method such as __eq__ later costs as much as
    making the class, since the interpreter looks through its table of methods each time.
    """
    body = members | {
        name: value
        for name, value in cls.__dict__.items()
        if name not in leaving_out and name not in ("__dict__", "__weakref__")
    }
    if cls.__dict__.get("__hash__") is None and "__hash__" in members:
        body["__hash__"] = members["__hash__"]  # the None that Python puts beside an __eq__
    body["__qualname__"] = cls.__qualname__
    metaclass: Any = type(cls)
    return cast("type[_T]", metaclass(cls.__name__, cls.__bases__, body))


def _check_order(cls: type, every: tuple[Field, ...]) -> None:
    optional = ""
    for item in every:
        if item.kw_only:
            continue
        if item.has_default:
            optional = item.name
        elif optional:
            raise TypeError(f"{cls.__name__}.{item.name} without a default follows {optional} with one")


def _members(every: tuple[Field, ...], *, frozen: bool, kw_only: bool) -> dict[str, Any]:
    names = tuple(item.name for item in every)
    values = _values_getter(names)

    def equal(self: object, other: object) -> Any:  # bool or NotImplemented
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    def hash_of(self: object) -> int:
        return hash(values(self))

    def text(self: object) -> str:
        inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({inside})"

    members: dict[str, Any] = {
        "__data_fields__": every,
        "__match_args__": () if kw_only else names,
        "__init__": _looping_init(every, frozen=frozen),
        "__eq__": equal,
        "__repr__": text,
    }
    if frozen:
        members |= {
            "__hash__": hash_of,
            "__setattr__": _refuse_set,
            "__delattr__": _refuse_delete,
            "__setstate__": _set_state,
        }
    return members


def _values_getter(names: tuple[str, ...]) -> Callable[[object], Any]:
    if not names:
        return lambda _: ()
    if len(names) == 1:
        only = attrgetter(names[0])
        return lambda instance: (only(instance),)
    return attrgetter(*names)


def _looping_init(every: tuple[Field, ...], *, frozen: bool) -> Callable[..., None]:
    """Return an `__init__` for few instances, which replaces itself when they become many."""
    loops = 0

    def init(self: object, /, *positional: Any, **named: Any) -> None:
        nonlocal loops
        loops += 1
        if positional or loops > _LOOPS_MAX or not _store_all(self, every, named):
            owner = next(cls for cls in type(self).__mro__ if cls.__dict__.get("__data_fields__") is every)
            _compile_init(owner, every, frozen=frozen)(self, *positional, **named)
        elif hasattr(self, "__post_init__"):
            self.__post_init__()

    return init


def _store_all(self: object, every: tuple[Field, ...], named: Mapping[str, Any]) -> bool:
    """Store each field's value; False when an argument is missing or left over."""
    taken = 0
    for item in every:
        if item.name in named:
            item.store(self, named[item.name])
            taken += 1
        elif item.default_factory is not None:
            item.store(self, item.default_factory())
        elif item.default is not _MISSING:
            item.store(self, item.default)
        else:
            return False
    return taken == len(named)


def _compile_init(cls: type, every: tuple[Field, ...], *, frozen: bool) -> Callable[..., None]:
    """Compile `__init__` from source, install it, and return it."""
    scope: dict[str, Any] = {"_MISSING": _MISSING}
    positional: list[str] = []
    keyword: list[str] = []
    body: list[str] = []
    for item in every:
        name = item.name
        scope[f"_store_{name}"] = item.store
        value = argument = name
        if item.default_factory is not None:
            scope[f"_make_{name}"] = item.default_factory
            argument, value = f"{name}=_MISSING", f"_make_{name}() if {name} is _MISSING else {name}"
        elif item.has_default:
            scope[f"_default_{name}"] = item.default
            argument = f"{name}=_default_{name}"
        (keyword if item.kw_only else positional).append(argument)
        body.append(f" _store_{name}(self, {value})" if frozen else f" self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    arguments = ", ".join(["self", *positional, *(["*", *keyword] if keyword else [])])
    exec("\n".join([f"def __init__({arguments}):", *(body or [" pass"])]), scope)
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__module__ = cls.__module__
    cls.__init__ = init  # type: ignore[misc]
    return init


def _refuse_set(_self: object, name: str, _value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_delete(_self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _set_state(self: object, state: tuple[None, Mapping[str, Any]]) -> None:
    """Take what pickle and copy kept of a frozen instance."""
    for item in _fields_of(self):
        item.store(self, state[1][item.name])
