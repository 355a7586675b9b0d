"""Control records: what marks the end of a transaction or a change in the quorum (KIP-98, KIP-595).

A control batch holds records whose key is {version i16, type i16}. The value of a transaction marker is
{version i16, coordinator epoch i32} and handled here; the quorum's values are messages of the protocol
catalogue (LeaderChangeMessage, SnapshotHeaderRecord and others) and are decoded with those.
"""

from struct import Struct

from barnabas.base.dataclass import dataclass
from barnabas.base.enums import IntEnum
from barnabas.base.errors import DecodeError
from barnabas.protocol.record_batch_builder import BatchBuilder
from barnabas.protocol.records import Record

_KEY = Struct(">hh")
_END_TXN_VALUE = Struct(">hi")


class ControlType(IntEnum):
    """The type in a control record's key."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6
    UNKNOWN = -1
    """A type of a newer version: skipped by readers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTxnMarker:
    """The end of one producer's transaction on a partition."""

    control_type: ControlType
    coordinator_epoch: int


def control_key(control_type: ControlType) -> bytes:
    """Return the key of a control record, version 0."""
    return _KEY.pack(0, control_type)


def parse_control_type(key: bytes | None) -> ControlType:
    """Read a control record's key; newer versions are read as far as they are known.

    Raises:
        DecodeError: no key, a cut one, or a negative version.
    """
    if key is None or len(key) < _KEY.size:
        raise DecodeError(f"control record key of {0 if key is None else len(key)} bytes")
    version, value = _KEY.unpack_from(key)
    if version < 0:
        raise DecodeError(f"control record key of version {version}")
    try:
        return ControlType(value)
    except ValueError:
        return ControlType.UNKNOWN


def parse_end_txn_marker(record: Record) -> EndTxnMarker:
    """Read a transaction marker.

    Raises:
        DecodeError: another control type, or a malformed value.
    """
    control_type = parse_control_type(record.key)
    if control_type not in (ControlType.ABORT, ControlType.COMMIT):
        raise DecodeError(f"control record of type {control_type.name} is no transaction marker")
    if record.value is None or len(record.value) < _END_TXN_VALUE.size:
        raise DecodeError("transaction marker without its value")
    version, coordinator_epoch = _END_TXN_VALUE.unpack_from(record.value)
    if version < 0:
        raise DecodeError(f"transaction marker of version {version}")
    return EndTxnMarker(control_type=control_type, coordinator_epoch=coordinator_epoch)


def build_end_txn_batch(
    *,
    control_type: ControlType,
    coordinator_epoch: int,
    producer_id: int,
    producer_epoch: int,
    timestamp: int,
    base_offset: int = 0,
    partition_leader_epoch: int = -1,
) -> bytes:
    """Return the control batch that ends a producer's transaction.

    Args:
        control_type: ABORT or COMMIT.
    """
    builder = BatchBuilder(
        base_offset=base_offset,
        partition_leader_epoch=partition_leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
        is_control=True,
    )
    builder.append(
        timestamp=timestamp, key=control_key(control_type), value=_END_TXN_VALUE.pack(0, coordinator_epoch)
    )
    return builder.build()
