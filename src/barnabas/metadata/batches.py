"""Metadata records in record batches: what the log and snapshots are made of.

Data batches hold one framed record per value, without keys. Control batches tell of the quorum: who leads,
who votes, where a snapshot begins and ends. Batches of the metadata log are never compressed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from barnabas.base.dataclass import dataclass
from barnabas.base.disk import Buffer
from barnabas.base.errors import DecodeError
from barnabas.base.hints import Any, Final
from barnabas.metadata.records import MetadataError, VersionedRecord, decode_record, encode_record
from barnabas.protocol import messages
from barnabas.protocol.control_records import ControlType, control_key, parse_control_type
from barnabas.protocol.record_batch import crc_matches, iter_batches, parse_records
from barnabas.protocol.record_batch_builder import BatchBuilder

BATCH_BYTES_MAX: Final = 8 * 1024 * 1024
"""The largest batch Apache Kafka's quorum replicates."""

_CONTROL_MESSAGES: Final = {
    ControlType.LEADER_CHANGE: "LeaderChangeMessage",
    ControlType.SNAPSHOT_HEADER: "SnapshotHeaderRecord",
    ControlType.SNAPSHOT_FOOTER: "SnapshotFooterRecord",
    ControlType.KRAFT_VERSION: "KRaftVersionRecord",
    ControlType.KRAFT_VOTERS: "VotersRecord",
}


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A record of the metadata log: data (`record`) or control (`control` and its message)."""

    offset: int
    epoch: int
    timestamp: int
    record: VersionedRecord | None
    control: ControlType | None = None
    message: Any = None


def build_data_batches(
    records: Sequence[VersionedRecord], *, base_offset: int, epoch: int, timestamp: int
) -> list[bytes]:
    """Return records as batches of at most BATCH_BYTES_MAX, with consecutive offsets."""
    batches: list[bytes] = []
    builder = BatchBuilder(base_offset=base_offset, partition_leader_epoch=epoch)
    for record in records:
        value = encode_record(record)
        if len(builder) and builder.size_bytes + len(value) + 40 > BATCH_BYTES_MAX:
            batches.append(builder.build())
            builder = BatchBuilder(base_offset=builder.next_offset, partition_leader_epoch=epoch)
        builder.append(timestamp=timestamp, key=None, value=value)
    if len(builder):
        batches.append(builder.build())
    return batches


def build_control_batch(
    controls: Iterable[tuple[ControlType, Any]], *, base_offset: int, epoch: int, timestamp: int
) -> bytes:
    """Return (type, message) pairs as one control batch; messages are written in version 0."""
    builder = BatchBuilder(base_offset=base_offset, partition_leader_epoch=epoch, is_control=True)
    for control, message in controls:
        builder.append(timestamp=timestamp, key=control_key(control), value=message.encode(0))
    return builder.build()


def read_records(buffer: Buffer, *, where: str, from_offset: int = 0) -> Iterator[LogRecord]:
    """Yield the records of whole batches, from an offset on.

    Args:
        where: a file's name, for errors.
    Raises:
        MetadataError: a damaged batch, or a record this broker cannot read; names file and offset.
    """
    try:
        for position, header in iter_batches(buffer):
            if header.last_offset < from_offset:
                continue
            if not crc_matches(buffer, position, header):
                raise MetadataError(f"{where}: the batch at offset {header.base_offset} is damaged")
            epoch = header.partition_leader_epoch
            for raw in parse_records(buffer, position, header):
                if raw.offset < from_offset:
                    continue
                if header.is_control:
                    control = parse_control_type(raw.key)
                    message = _control_message(control, raw.value)
                    yield LogRecord(raw.offset, epoch, raw.timestamp, None, control, message)
                elif raw.value is None:
                    raise MetadataError(f"{where}: the record at offset {raw.offset} has no value")
                else:
                    try:
                        decoded = decode_record(raw.value)
                    except MetadataError as error:
                        raise MetadataError(f"{where}, offset {raw.offset}: {error}") from error
                    yield LogRecord(raw.offset, epoch, raw.timestamp, decoded)
    except DecodeError as error:
        raise MetadataError(f"{where}: {error}") from error


def _control_message(control: ControlType, value: bytes | None) -> Any:
    name = _CONTROL_MESSAGES.get(control)
    if name is None or value is None or len(value) < 2:
        return None
    # The message's own first field is its version.
    version = min(int.from_bytes(value[:2], "big"), 1 if control is ControlType.LEADER_CHANGE else 0)
    return getattr(messages, name).decode(value, version)
