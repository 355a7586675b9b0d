"""Every message of the protocol: requests, responses, headers and records, as classes.

    request = messages.FetchRequest.decode(frame, 16)
    body = messages.FetchResponse(responses=[...]).encode(16)

The classes are made from the catalogue when they are first asked for (about a millisecond each), so a
broker that serves twenty APIs never pays for the other seventy. Type checkers and readers find all of
them in `messages.pyi`, which tools/write_message_stubs.py generates.

Generating a Python module of 10,000 lines ahead was rejected: importing it costs 150 ms and 20 MB.
"""

from collections.abc import Iterator, Mapping

from barnabas.base.dataclass import dataclass
from barnabas.base.hints import Any
from barnabas.protocol import schema
from barnabas.protocol.compiler import make_classes
from barnabas.protocol.structures import Message, Struct

__all__ = ["BY_KEY", "METADATA_RECORDS", "ApiSpec", "Message", "Struct", "names"]

# Classes by message, filled on first use. One setdefault publishes a message with its nested structs, so
# that two threads asking at once end up with the same classes.
_LOADED: dict[str, dict[str, type[Struct]]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSpec:
    """One API of the catalogue.

    `listeners` tells where Apache Kafka serves it: broker, controller. `flexible_from` is the first
    version with compact encoding, None when there is none; `latest_unstable` says that the highest
    version is not released.
    """

    key: int
    name: str
    valid_versions: range
    flexible_from: int | None
    latest_unstable: bool
    listeners: tuple[str, ...]

    @property
    def request(self) -> type[Message]:
        return _message(f"{self.name}Request")

    @property
    def response(self) -> type[Message]:
        return _message(f"{self.name}Response")


class RecordTypes(Mapping[int, type[Message]]):
    """Messages by the number of their record type; each class is made when it is first looked up."""

    __slots__ = ("_names",)

    def __init__(self, kind: str, file: str) -> None:
        self._names = schema.index().names_by_key(kind, file)

    def __getitem__(self, record_type: int) -> type[Message]:
        return _message(self._names[record_type])

    def __iter__(self) -> Iterator[int]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _classes_of(message_name: str) -> dict[str, type[Struct]]:
    loaded = _LOADED.get(message_name)
    if loaded is None:
        loaded = _LOADED.setdefault(message_name, make_classes(schema.index()[message_name]))
    return loaded


def _message(name: str) -> type[Message]:
    made = _classes_of(name)[name]
    assert issubclass(made, Message)
    return made


def _find(class_name: str) -> type[Struct] | None:
    """Return the class of that name; a nested struct's name starts with its message's."""
    heads = schema.index()
    for length in range(len(class_name), 0, -1):
        message_name = class_name[:length]
        if message_name in heads:
            found = _classes_of(message_name).get(class_name)
            if found is not None:
                return found
    return None


def names() -> list[str]:
    """Return the names of all messages, without making their classes."""
    return list(schema.index())


class Apis(Mapping[int, ApiSpec]):
    """The APIs by their key; each is made when it is first looked up."""

    __slots__ = ("_names", "_specs")

    def __init__(self) -> None:
        self._names = schema.index().names_by_key("request")
        self._specs: dict[int, ApiSpec] = {}

    def __getitem__(self, key: int) -> ApiSpec:
        spec = self._specs.get(key)
        if spec is None:
            head = schema.index()[self._names[key]]
            spec = self._specs[key] = ApiSpec(
                key=int(key),
                name=head.name.removesuffix("Request"),
                valid_versions=head.versions,
                flexible_from=head.flexible[0] if head.flexible else None,
                latest_unstable=head.latest_unstable,
                listeners=head.listeners,
            )
        return spec

    def __contains__(self, key: object) -> bool:
        return key in self._names

    def __iter__(self) -> Iterator[int]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


BY_KEY: Mapping[int, ApiSpec] = Apis()
"""All APIs by their key."""

METADATA_RECORDS = RecordTypes("metadata", "metadata_records")
"""The records of `__cluster_metadata` by type."""


def __getattr__(name: str) -> Any:
    if not name.startswith("_"):
        found = _find(name)
        if found is not None:
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
