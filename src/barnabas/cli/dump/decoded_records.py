"""Records of the topics that Kafka itself writes, as JSON: metadata, groups, transactions, share groups.

Names are those of Kafka's own dump tool, which are the message fields in camel case.
"""

from collections.abc import Callable
from functools import cache

from barnabas.base.errors import DecodeError
from barnabas.base.hints import Any
from barnabas.coordinator.transactions.state import TransactionState
from barnabas.protocol import messages, schema
from barnabas.protocol.message_json import message_json
from barnabas.protocol.records import Record
from barnabas.protocol.varint import decode_uvarint

_VALUES_MAX = 10_000_000
"""Of one record: more than any batch may hold."""

_CONSUMER_PROTOCOL = "consumer"

_TRANSACTION_STATES = {state.value: state.name.title().replace("_", "") for state in TransactionState}

_COORDINATOR_FILES = {
    "__consumer_offsets": "group_records",
    "__transaction_state": "transaction_records",
    "__share_group_state": "share_records",
}


def decoder_for(topic: str | None) -> Callable[[Record], dict[str, Any]] | None:
    """Return what decodes the records of a topic; None for topics of users."""
    if topic == "__cluster_metadata":
        return decode_metadata
    file = _COORDINATOR_FILES.get(topic or "")
    if file is None:
        return None

    def decode(record: Record) -> dict[str, Any]:
        return _decode_coordinator(file, record)

    return decode


def decode_metadata(record: Record) -> dict[str, Any]:
    """Return the type, version and fields of a KRaft record; control records have a key and none of it."""
    if record.key is not None or record.value is None:
        return {}
    try:
        end = len(record.value)
        frame, position = decode_uvarint(record.value, 0, end)
        record_type, position = decode_uvarint(record.value, position, end)
        version, position = decode_uvarint(record.value, position, end)
        if frame != 1 or record_type not in messages.METADATA_RECORDS:
            return {"undecodable": f"frame {frame}, record type {record_type}"}
        message = messages.METADATA_RECORDS[record_type]
        decoded = message.decode(record.value[position:], version)
    except (DecodeError, ValueError) as error:
        return {"undecodable": str(error)}
    data = message_json(decoded, version, values_max=_VALUES_MAX)
    return {"type": message.__name__, "version": version, "data": data}


@cache
def _coordinator_names(file: str) -> dict[int, tuple[str, str]]:
    """Return record type -> names of its key and value messages."""
    keys: dict[int, str] = {}
    values: dict[int, str] = {}
    for head in schema.index().values():
        if head.file == file and head.key is not None:
            (keys if head.kind == "coordinator-key" else values)[head.key] = head.name
    return {number: (name, values[number]) for number, name in keys.items() if number in values}


def _decode_coordinator(file: str, record: Record) -> dict[str, Any]:
    if record.key is None or len(record.key) < 2:
        return {}
    record_type = int.from_bytes(record.key[:2], "big", signed=True)
    names = _coordinator_names(file).get(record_type)
    if names is None:
        return {"undecodable": f"record type {record_type}"}
    try:
        found: dict[str, Any] = {"type": names[0].removesuffix("Key")}
        # The key of a group or transaction record has one version, whose place the record type takes.
        key = getattr(messages, names[0]).decode(record.key[2:], 0)
        found["key_data"] = message_json(key, 0, values_max=_VALUES_MAX)
        if record.value is None:
            found["data"] = None
            return found
        version = int.from_bytes(record.value[:2], "big", signed=True)
        found["version"] = version
        value = getattr(messages, names[1]).decode(record.value[2:], version)
        found["data"] = message_json(value, version, values_max=_VALUES_MAX)
        if isinstance(value, messages.GroupMetadataValue) and value.protocol_type == _CONSUMER_PROTOCOL:
            _decode_members(value, found["data"]["members"])
        if isinstance(value, messages.TransactionLogValue):
            status = value.transaction_status
            found["data"]["transactionStatus"] = _TRANSACTION_STATES.get(status, f"unknown {status}")
    except (DecodeError, ValueError) as error:
        return {"undecodable": str(error)}
    return found


def _decode_members(value: messages.GroupMetadataValue, shown: list[dict[str, Any]]) -> None:
    """Show what consumers told of themselves and were given; bytes that are neither stay as they are."""
    for member, fields in zip(value.members, shown, strict=True):
        for name, kind, data in (
            ("subscription", messages.ConsumerProtocolSubscription, member.subscription),
            ("assignment", messages.ConsumerProtocolAssignment, member.assignment),
        ):
            version = min(int.from_bytes(data[:2], "big", signed=True), kind.valid_versions[-1])
            try:
                fields[name] = message_json(kind.decode(data, version, 2), version, values_max=_VALUES_MAX)
            except (DecodeError, KeyError, ValueError):
                continue
