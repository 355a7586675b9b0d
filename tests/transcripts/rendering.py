"""How messages look in a transcript: what is not as it is by default, in the words of the scenario.

Member ids are the names of those who got them, topic ids the topics', times what the clock has gone since the
scenario began. What members tell of themselves and are given is shown as topics and partitions where it is
that, as bytes else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barnabas.base.errors import DecodeError, ErrorCode
from barnabas.coordinator.runtime.outcome import CoordinatorRecord
from barnabas.protocol import messages
from barnabas.protocol.structures import Message, Struct

START_MS = 1_700_000_000_000
SILENT = ("throttle_time_ms", "unknown_tags", "heartbeat_interval_ms", "authorized_operations", "client_host")
TIMES = ("commit_timestamp", "current_state_timestamp", "expire_timestamp", "assignment_timestamp")
SHOWN_BYTES_MAX = 16

HASHES = ("metadata_hash",)


class Renderer:
    """Renders messages; the order of topics, which says nothing, is always the same.

    Args:
        names: member id -> the name of who has it; filled while the scenario goes on.
        topics: topic id -> name.
    """

    def __init__(self, names: Mapping[str, str], topics: Mapping[bytes, str]) -> None:
        self._names = names
        self._topics = topics

    def answer(self, api: str, response: Message) -> str:
        """One line for an answer."""
        error = getattr(response, "error_code", 0)
        told = self._fields(response, skip=("error_code", "error_message"))
        code = "" if error == 0 else f" {ErrorCode(error).name}"
        return f"{api}{code}{told}" if code or told else f"{api} ok"

    def record(self, record: CoordinatorRecord) -> str:
        """One line for a record of the log."""
        kind = type(record.key).__name__.removesuffix("Key")
        key = self._fields(record.key)
        if record.value is None:
            return f"{kind}{key} is deleted"
        return f"{kind}{key} ={self._fields(record.value) or ' (empty)'}"

    def _fields(self, struct: Struct, skip: tuple[str, ...] = ()) -> str:
        default = type(struct)()
        shown = []
        for name in struct.__slots__:
            if name in SILENT or name in skip:
                continue
            value = getattr(struct, name)
            if value is not None and value != getattr(default, name):
                shown.append(f" {name}={self._value(name, value)}")
        return "".join(shown)

    def _value(self, name: str, value: Any) -> str:
        if isinstance(value, Struct):
            pairs = self._topic_partitions(value)
            return pairs if pairs is not None else "{" + self._fields(value).strip() + "}"
        if isinstance(value, list):
            return self._list(name, value)
        if isinstance(value, bytes | bytearray | memoryview):
            return self._bytes(bytes(value))
        if isinstance(value, str):
            return self._names.get(value, value) or '""'
        if name == "error_code":
            return ErrorCode(value).name
        if name in TIMES:
            return f"{(value - START_MS) / 1000:g}s"
        if name in HASHES:
            return "set" if value else "0"
        return str(value)

    def _list(self, name: str, values: list[Any]) -> str:
        shown = [self._value(name, value) for value in values]
        if values and isinstance(values[0], Struct):
            is_set = all(self._topic_partitions(value) is not None for value in values)
            return "[" + " ".join(sorted(shown) if is_set else shown) + "]"
        return "[" + ",".join(shown) + "]"

    def _topic_partitions(self, value: Struct) -> str | None:
        """`topic:0,1` for what is a topic and its partitions."""
        partitions = getattr(value, "partitions", None)
        topic_id = getattr(value, "topic_id", None)
        topic = getattr(value, "topic", None)
        if not isinstance(partitions, list) or (partitions and not isinstance(partitions[0], int)):
            return None
        if topic_id is None and not isinstance(topic, str):
            return None
        name = topic if topic_id is None else self._topics.get(bytes(topic_id), "(unknown)")
        return f"{name}:{','.join(map(str, sorted(partitions)))}"

    def _bytes(self, data: bytes) -> str:
        if data in self._topics:
            return self._topics[data]
        for parse in (_subscription, _assignment):
            text = parse(data)
            if text is not None:
                return text
        if not any(data) and len(data) == 16:
            return "(none)"
        return repr(data[:SHOWN_BYTES_MAX])[1:]


def _subscription(data: bytes) -> str | None:
    try:
        version = int.from_bytes(data[:2], "big")
        told, end = messages.ConsumerProtocolSubscription.decode_from(data, version, 2)
    except (DecodeError, KeyError, IndexError, ValueError):
        return None
    if end != len(data) or not told.topics or version > 3:
        return None
    owned = "".join(f" owns {one.topic}:{_numbers(one.partitions)}" for one in told.owned_partitions)
    return f"<wants {','.join(told.topics)}{owned}>"


def _assignment(data: bytes) -> str | None:
    try:
        version = int.from_bytes(data[:2], "big")
        told, end = messages.ConsumerProtocolAssignment.decode_from(data, version, 2)
    except (DecodeError, KeyError, IndexError, ValueError):
        return None
    if end != len(data) or version > 3:
        return None
    given = " ".join(f"{one.topic}:{_numbers(one.partitions)}" for one in told.assigned_partitions)
    return f"<gets {given or 'nothing'}>"


def _numbers(partitions: list[int]) -> str:
    return ",".join(map(str, sorted(partitions)))
