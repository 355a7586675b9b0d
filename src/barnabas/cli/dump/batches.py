"""Segments and snapshots: batches and the records in them, with every check that needs no other file.

Reads one batch at a time with positioned reads, so that a segment of a gigabyte costs the memory of its
largest batch, and a live segment that is cut meanwhile is a short read. mmap would be a SIGBUS then.
"""

from collections.abc import Callable, Iterator

from barnabas.base.dataclass import dataclass
from barnabas.base.disk import DiskFile
from barnabas.base.errors import DecodeError
from barnabas.base.hints import Any
from barnabas.cli.dump.findings import Findings, Problem, Row
from barnabas.cli.record_text import bytes_to_json
from barnabas.protocol.control_records import parse_control_type
from barnabas.protocol.record_batch import (
    HEADER_BYTES,
    BatchHeader,
    TimestampType,
    crc_matches,
    parse_header,
    parse_records,
)
from barnabas.protocol.records import Record

DecodeRecord = Callable[[Record], dict[str, Any]]
"""Adds what the key and value of a known topic mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSpan:
    """Where a batch lies and what indexes are compared with."""

    position: int
    header: BatchHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """How deep to look.

    Args:
        deep: yield records too, and check each against its batch.
        print_data: show keys, values and headers.
        decode: for topics whose records have a known meaning.
    """

    deep: bool = False
    print_data: bool = False
    decode: DecodeRecord | None = None


def read_spans(file: DiskFile) -> Iterator[BatchSpan | Problem]:
    """Yield every batch's place, then a Problem when the rest of the file is no whole batch."""
    size = file.size()
    position = 0
    while position < size:
        try:
            header = parse_header(file.read_at(position, HEADER_BYTES))
        except DecodeError as error:
            yield Problem(
                text=f"{size - position} bytes from here to the end are no batch: {error}", position=position
            )
            return
        if header.size_bytes > size - position:
            yield Problem(
                text=f"batch of {header.size_bytes} bytes is cut, {size - position} are left",
                position=position,
            )
            return
        yield BatchSpan(position=position, header=header)
        position += header.size_bytes


def dump_batches(file: DiskFile, base_offset: int | None, options: BatchOptions) -> Findings:
    """Yield batches, with `deep` their records, and what is wrong with them.

    Args:
        base_offset: of the file's name; no offset may be below. None for files that are not named so.
    """
    next_offset = base_offset
    last_epoch = -1
    for span in read_spans(file):
        if isinstance(span, Problem):
            yield span
            return
        header, position = span.header, span.position
        data = file.read_at(position, header.size_bytes)
        valid = crc_matches(data, 0, header)
        yield Row(kind="batch", values=batch_values(header, position, valid))
        if not valid:
            yield Problem(text=f"CRC of the batch at offset {header.base_offset} is wrong", position=position)
        yield from _check_order(header, position, next_offset, first=next_offset == base_offset)
        if header.partition_leader_epoch < last_epoch:
            yield Problem(
                text=f"leader epoch {header.partition_leader_epoch} follows {last_epoch}", position=position
            )
        last_epoch = max(last_epoch, header.partition_leader_epoch)
        if options.deep and valid:
            yield from _dump_records(data, header, position, options)
        next_offset = header.next_offset


def _check_order(header: BatchHeader, position: int, next_offset: int | None, *, first: bool) -> Findings:
    if header.last_offset_delta < 0:
        yield Problem(text=f"last offset delta is {header.last_offset_delta}", position=position)
    if next_offset is None or header.base_offset == next_offset:
        return
    if header.base_offset < next_offset:
        yield Problem(
            text=f"offset {header.base_offset} where at least {next_offset} was due", position=position
        )
    elif not first:
        # Compaction leaves such gaps, and so do offsets a leader gave out and lost.
        yield Problem(
            text=f"offsets {next_offset} to {header.base_offset - 1} are missing",
            position=position,
            damage=False,
        )


def batch_values(header: BatchHeader, position: int, valid: bool) -> dict[str, Any]:
    """Return a batch's fields as they are shown."""
    codec = header.attributes & 0x07
    try:
        codec_name = header.codec.name.lower()
    except DecodeError:
        codec_name = str(codec)
    append_time = header.timestamp_type is TimestampType.LOG_APPEND_TIME
    values: dict[str, Any] = {
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "count": header.records_count,
        "position": position,
        "size": header.size_bytes,
        "codec": codec_name,
        "timestamp_type": "LogAppendTime" if append_time else "CreateTime",
        "max_timestamp": header.max_timestamp,
        "leader_epoch": header.partition_leader_epoch,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "transactional": header.is_transactional,
        "control": header.is_control,
        "crc": header.crc,
        "valid": valid,
    }
    if header.delete_horizon_ms is not None:
        values["delete_horizon_ms"] = header.delete_horizon_ms
    return values


def _dump_records(data: bytes, header: BatchHeader, position: int, options: BatchOptions) -> Findings:
    try:
        records = parse_records(data, 0, header)
    except DecodeError as error:
        yield Problem(text=f"records of the batch at offset {header.base_offset}: {error}", position=position)
        return
    previous = header.base_offset - 1
    for record in records:
        if not previous < record.offset <= header.last_offset:
            yield Problem(
                text=f"record offset {record.offset} behind {previous}"
                f" in a batch of {header.base_offset} to {header.last_offset}",
                position=position,
            )
        previous = record.offset
        yield Row(kind="record", values=_record_values(record, header, options))
    newest = max((record.timestamp for record in records), default=header.max_timestamp)
    if newest != header.max_timestamp:
        yield Problem(
            text=f"max timestamp is {header.max_timestamp}, the newest record's {newest}", position=position
        )


def _record_values(record: Record, header: BatchHeader, options: BatchOptions) -> dict[str, Any]:
    values: dict[str, Any] = {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key_size": -1 if record.key is None else len(record.key),
        "value_size": -1 if record.value is None else len(record.value),
    }
    if header.base_sequence >= 0:
        delta = record.offset - header.base_offset
        values["sequence"] = (header.base_sequence + delta) & 0x7FFFFFFF
    if header.is_control:
        try:
            values["control_type"] = parse_control_type(record.key).name
        except DecodeError as error:
            values["undecodable"] = str(error)
    if options.decode is not None:
        values |= options.decode(record)
    if options.print_data:
        values["key"] = bytes_to_json(record.key)
        values["value"] = bytes_to_json(record.value)
        values["headers"] = [[name, bytes_to_json(content)] for name, content in record.headers]
    return values
