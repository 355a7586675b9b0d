"""Compare what two brokers answer to the same request, field by field.

A decoded message, or the plain data that a test made of one, is flattened to
`topics[0].partitions[1].error_code -> value`; what differs between the two flat forms is a difference unless
a rule allows it, and every rule has a reason. Comparing bytes was rejected: two right answers differ in ids,
times and the order of what is a set, and a byte offset tells nobody which field it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

from barnabas.protocol.messages import Message
from barnabas.protocol.structures import Struct

ABSENT = "(absent)"
ANYTHING = object()
SHOWN_CHARS = 300
_INDEX = re.compile(r"\[\d+\]")
_LABEL = re.compile(r"\[[^]]*\]")

IDENTITY_FIELDS = (
    "resource_type",
    "resource_name",
    "name",
    "topic",
    "topic_name",
    "topic_id",
    "feature",
    "api_key",
    "partition_index",
    "partition",
    "partition_id",
    "log_dir",
    "broker_id",
    "node_id",
    "key",
    "error_code",
)
"""What tells elements of an unordered list apart; fields a struct does not have are passed over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """A difference that is right.

    Args:
        reason: for people; why both brokers are right.
        api: name of the API, `*` for all.
        path: of the field with indexes left out, `topics[].topic_id`; may hold `*`. Elements of an unordered
            list stand under their name: `results[].configs[listeners].value`.
        scenario: of the request; may hold `*`.
        theirs: what Apache Kafka has there; ANYTHING covers all.
        same_presence: the values may differ, but either both say something (not null, 0, -1, empty) or
            none does.
    """

    reason: str
    api: str = "*"
    path: str = "*"
    scenario: str = "*"
    theirs: object = ANYTHING
    same_presence: bool = True

    def covers(self, api: str, scenario: str, difference: Difference) -> bool:
        """Whether this rule allows a difference."""
        if not fnmatchcase(api, self.api) or not fnmatchcase(scenario, self.scenario):
            return False
        if not fnmatchcase(_pattern(_INDEX.sub("[]", difference.path)), _pattern(self.path)):
            return False
        if self.theirs is not ANYTHING and self.theirs != difference.theirs:
            return False
        return not self.same_presence or _says(difference.theirs) == _says(difference.ours)


class Difference(NamedTuple):
    """One field in which the answers differ; ABSENT where one of them has no such field."""

    path: str
    theirs: object
    ours: object

    def __str__(self) -> str:
        return f"{self.path}: Apache Kafka {_shown(self.theirs)}, Barnabas {_shown(self.ours)}"


def flatten(value: object, path: str = "", unordered: Collection[str] = ()) -> Iterator[tuple[str, object]]:
    """Yield (path, value) for every scalar of a message or of plain data; lists yield their length too.

    Args:
        unordered: paths of lists, indexes left out, whose order says nothing.
    """
    if isinstance(value, Struct):
        for name in value.__slots__:
            inner = getattr(value, name)
            if name == "unknown_tags" and not inner:
                continue
            yield from flatten(inner, f"{path}.{name}" if path else name, unordered)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from flatten(inner, f"{path}.{name}" if path else name, unordered)
    elif isinstance(value, list | tuple):
        yield f"{path}.length", len(value)
        for label, item in _labelled(value, _LABEL.sub("[]", path) in unordered):
            yield from flatten(item, f"{path}[{label}]", unordered)
    elif isinstance(value, bytes | bytearray | memoryview):
        yield path, bytes(value)
    else:
        yield path, value


def differences(
    theirs: object,
    ours: object,
    *,
    api: str = "",
    scenario: str = "",
    allowed: Sequence[Allowed] = (),
    unordered: Collection[str] = (),
) -> list[Difference]:
    """Return the fields in which two answers differ and no rule says they may.

    Args:
        theirs: Apache Kafka's; like `ours` a message, or plain data.
        api: of plain data; a message tells its own.
    """
    if isinstance(theirs, Message):
        assert type(theirs) is type(ours), f"{type(theirs).__name__} against {type(ours).__name__}"
        api = type(theirs).__name__.removesuffix("Response")
    left = dict(flatten(theirs, unordered=unordered))
    right = dict(flatten(ours, unordered=unordered))
    found = [
        Difference(path, left.get(path, ABSENT), right.get(path, ABSENT))
        for path in dict.fromkeys([*left, *right])
        if left.get(path, ABSENT) != right.get(path, ABSENT)
    ]
    return [
        difference
        for difference in found
        if not any(rule.covers(api, scenario, difference) for rule in allowed)
    ]


def _labelled(items: Sequence[object], is_set: bool) -> Iterator[tuple[object, object]]:
    """Yield the elements of a list with their index, those of a set with their name where all have one."""
    if not is_set:
        yield from enumerate(items)
        return
    names = [getattr(item, "name", None) for item in items]
    if None not in names and len(set(names)) == len(names):
        yield from sorted(zip(names, items, strict=True), key=lambda pair: str(pair[0]))
    else:
        yield from enumerate(sorted(items, key=_identity))


def _pattern(path: str) -> str:
    # fnmatch reads brackets as a set of characters.
    return path.replace("[", "<").replace("]", ">")


def _identity(item: object) -> tuple[str, ...]:
    if isinstance(item, Struct):
        return tuple(repr(getattr(item, name)) for name in IDENTITY_FIELDS if name in item.__slots__)
    return (repr(item),)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}... ({len(text)} characters)"


def _says(value: object) -> bool:
    if isinstance(value, bytes):
        return any(value)
    return value not in (None, 0, -1, "", ABSENT)
