"""ListOffsets: from a time to an offset.

The answer is exact: the time index finds a place at or before the first record that is late enough, batch
headers are walked from there, and only the batches that may hold it are read inside.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from barnabas.base.disk import Buffer
from barnabas.base.errors import ApiError, DecodeError, ErrorCode
from barnabas.base.hints import TYPE_CHECKING
from barnabas.base.named_tuple import NamedTuple
from barnabas.protocol.record_batch import parse_header, parse_records
from barnabas.protocol.records import Record
from barnabas.storage import cold_lookup
from barnabas.storage.batch_scan import BatchPlace, corrupt, find_timestamp
from barnabas.storage.segment import LogSegment

if TYPE_CHECKING:
    from barnabas.storage.log_reader import LogReader

LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL_TIMESTAMP = -4
LATEST_TIERED_TIMESTAMP = -5
EARLIEST_PENDING_UPLOAD_TIMESTAMP = -6
NO_TIMESTAMP = -1
NO_OFFSET = -1
NO_LEADER_EPOCH = -1


class TimestampOffset(NamedTuple):
    """What ListOffsets answers for a partition; -1 where there is nothing to tell."""

    timestamp: int
    offset: int
    leader_epoch: int


def find_offset_for_timestamp(
    log: LogReader, timestamp: int, scan_bytes: int | None = None
) -> TimestampOffset | None:
    """See `Log.offset_for_timestamp`. None: no record is that late."""
    epochs = log.leader_epochs
    if scan_bytes is not None and (timestamp >= 0 or timestamp == MAX_TIMESTAMP):
        cold_lookup.require_max_timestamps(log.segments)
    if timestamp >= 0:
        return _first_at_or_after(log, timestamp, scan_bytes)
    if timestamp == LATEST_TIMESTAMP:
        return TimestampOffset(NO_TIMESTAMP, log.log_end_offset, epochs.latest_epoch)
    if timestamp in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
        first = epochs.entries[0] if epochs.entries else None
        epoch = first.epoch if first and first.start_offset <= log.log_start_offset else NO_LEADER_EPOCH
        return TimestampOffset(NO_TIMESTAMP, log.log_start_offset, epoch)
    if timestamp == MAX_TIMESTAMP:
        return _of_max_timestamp(log, scan_bytes)
    if timestamp in (LATEST_TIERED_TIMESTAMP, EARLIEST_PENDING_UPLOAD_TIMESTAMP):
        return TimestampOffset(NO_TIMESTAMP, NO_OFFSET, NO_LEADER_EPOCH)
    raise ApiError(ErrorCode.UNSUPPORTED_VERSION, f"no offset is known for timestamp {timestamp}")


def _first_at_or_after(log: LogReader, timestamp: int, scan_bytes: int | None) -> TimestampOffset | None:
    for segment in log.segments:
        # A segment without timestamps counts with its file's mtime here, as in retention, and finds nothing.
        if segment.largest_timestamp >= timestamp:
            found = _search_segment(segment, timestamp, log.log_start_offset, scan_bytes)
            # Kafka stops at this segment even when what is late enough in it was deleted.
            if found is not None:
                return found
    return None


def _search_segment(
    segment: LogSegment, timestamp: int, from_offset: int, scan_bytes: int | None
) -> TimestampOffset | None:
    if scan_bytes is not None:
        segment.require_indexes()
    _, indexed_offset = segment.time_index.lookup(timestamp)
    _, position = segment.offset_index.lookup(max(indexed_offset, from_offset))
    read_at = _reader(segment, scan_bytes)
    for place in find_timestamp(segment.leased.file, position, segment.size, timestamp, from_offset, read_at):
        records, epoch = _read_batch(segment, place, read_at)
        for record in records:
            if record.timestamp >= timestamp and record.offset >= from_offset:
                return TimestampOffset(record.timestamp, record.offset, epoch)
    return None


def _of_max_timestamp(log: LogReader, scan_bytes: int | None) -> TimestampOffset | None:
    """KIP-734: the first record that has the largest timestamp of the log."""
    latest: LogSegment | None = None
    for segment in log.segments:
        if segment.max_timestamp >= 0 and (latest is None or segment.max_timestamp > latest.max_timestamp):
            latest = segment
    if latest is None:
        return None
    timestamp = latest.max_timestamp
    if scan_bytes is not None:
        latest.require_indexes()
    _, position = latest.offset_index.lookup(latest.max_timestamp_offset)
    read_at = _reader(latest, scan_bytes)
    for place in find_timestamp(latest.leased.file, position, latest.size, timestamp, 0, read_at):
        records, epoch = _read_batch(latest, place, read_at)
        for record in records:
            if record.timestamp == timestamp:
                return TimestampOffset(timestamp, record.offset, epoch)
    return None


def _reader(segment: LogSegment, scan_bytes: int | None) -> Callable[[int, int], Buffer]:
    """Return what reads a segment's file: waiting for the disk, or instead of waiting asking for so much."""
    leased = segment.leased
    if scan_bytes is None:
        return leased.file.read_at
    return partial(cold_lookup.try_read_at, leased, segment.size, scan_bytes=scan_bytes)


def _read_batch(
    segment: LogSegment, place: BatchPlace, read_at: Callable[[int, int], Buffer]
) -> tuple[list[Record], int]:
    file = segment.leased.file
    if place.position + place.size > segment.size:
        raise corrupt(file, place.position, f"a batch of {place.size} bytes reaches beyond the segment")
    batch = read_at(place.position, place.size)
    try:
        header = parse_header(batch, 0)
        return parse_records(batch, 0, header), header.partition_leader_epoch
    except DecodeError as error:
        raise corrupt(file, place.position, str(error)) from None
