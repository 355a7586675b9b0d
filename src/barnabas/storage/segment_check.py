"""Checking a segment batch by batch after a crash, and making anew what can be derived from it.

The file is read once, in large pieces into one buffer, and walked by one flat loop: a batch costs one
struct, one checksum and a handful of comparisons, so the batches' number decides, not their bytes.
"""

import zlib
from collections.abc import Callable
from struct import Struct

from barnabas.base.named_tuple import NamedTuple
from barnabas.protocol.checksum import crc32c
from barnabas.protocol.record_batch import (
    ATTRIBUTES_POSITION,
    HEADER,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC,
)
from barnabas.storage.batch_scan import BatchHead
from barnabas.storage.leader_epochs import LeaderEpochs
from barnabas.storage.offset_index import OffsetIndex
from barnabas.storage.producer_replay import apply_head
from barnabas.storage.producer_state import ProducerStates, parse_marker
from barnabas.storage.segment import LOG_SUFFIX, RELATIVE_OFFSET_MAX, LogSegment
from barnabas.storage.time_index import NO_TIMESTAMP, TimeIndex

_PIECE_BYTES = 1024 * 1024
_CRC_FROM = ATTRIBUTES_POSITION
_OLD_HEAD = Struct(">8xiIb")  # length, CRC-32, magic behind the offset
_OLD_CRC_FROM = 16
_OLD_SIZE_MIN = 26


class UnsupportedLogError(Exception):
    """A log that holds what this broker cannot read and must not touch."""


class CheckedSegment(NamedTuple):
    """What checking a segment found.

    Attributes:
        valid_bytes: from the start to the first bad batch, or all.
        next_offset: behind the last good batch.
        contiguous: no offset is left out between the good batches.
    """

    valid_bytes: int
    next_offset: int
    contiguous: bool


def check_segment(  # noqa: PLR0912, PLR0915 - one flat loop: a call per batch would double its cost
    segment: LogSegment,
    epochs: LeaderEpochs,
    producers: ProducerStates,
    progress: Callable[[int], None],
    *,
    before: int | None = None,
) -> CheckedSegment:
    """Check every batch of a segment, make its indexes anew, and apply what it tells.

    Args:
        before: base offset of the next segment, which this one's batches must stay below.

    Raises:
        UnsupportedLogError: a batch of an old format.
    """
    segment.reset_indexes()
    buffer = bytearray(min(_PIECE_BYTES, max(segment.size, HEADER_BYTES)))
    view = memoryview(buffer)
    unpack_from = HEADER.unpack_from
    offset_index, time_index = OffsetIndex(segment.base_offset), TimeIndex(segment.base_offset)
    offset_index.clear()  # so that whatever the files hold is replaced
    time_index.clear()
    interval = segment.index_interval_bytes
    since_entry = piece_start = at = have = 0
    max_timestamp, max_timestamp_offset = NO_TIMESTAMP, segment.base_offset
    size_max = segment.size
    last = segment.base_offset - 1
    last_max = segment.base_offset + RELATIVE_OFFSET_MAX if before is None else before - 1
    epoch_known = epochs.latest_epoch
    contiguous = True
    while True:
        if have - at < HEADER_BYTES:
            piece_start, have, at = piece_start + at, _refill(segment, view, piece_start + at), 0
            progress(piece_start)
            if have < HEADER_BYTES:
                _refuse_old_format(segment, piece_start)
                break
        (base, length, epoch, magic, crc, attributes, delta, base_time, max_time, producer_id, producer_epoch,
         sequence, count) = unpack_from(buffer, at)  # fmt: skip
        size = length + LOG_OVERHEAD_BYTES
        position = piece_start + at
        end = at + size
        if magic != MAGIC or size < HEADER_BYTES or size > size_max - position:
            _refuse_old_format(segment, position)
            break
        if end > have:
            if size > len(buffer):
                view.release()
                buffer = bytearray(size)
                view = memoryview(buffer)
            piece_start, have, at, end = position, _refill(segment, view, position), 0, size
            if end > have:
                break
        last_offset = base + delta
        if (
            base <= last
            or delta < 0
            or last_offset > last_max
            or crc32c(view[at + _CRC_FROM : end], 0) != crc
        ):
            break
        if max_time > max_timestamp:
            max_timestamp, max_timestamp_offset = max_time, last_offset
        if since_entry > interval:
            offset_index.append(last_offset, position)
            time_index.maybe_append(max_timestamp, max_timestamp_offset)
            since_entry = 0
        since_entry += size
        if epoch > epoch_known:
            epochs.assign(epoch, base)
            epoch_known = epoch
        if producer_id >= 0:
            head = BatchHead(
                position, size, base, last_offset, epoch, attributes, base_time, max_time, producer_id,
                producer_epoch, sequence, count,
            )  # fmt: skip
            marker = parse_marker(view[at:end]) if head.is_control else None
            apply_head(segment, producers, head, marker=marker)
        if base != last + 1:
            contiguous = False
        last = last_offset
        at = end
    producers.map_end_offset = max(producers.map_end_offset, last + 1)
    if last >= segment.base_offset:
        time_index.maybe_append(max_timestamp, max_timestamp_offset)
    segment.adopt_indexes(offset_index, time_index, max_timestamp, max_timestamp_offset)
    return CheckedSegment(piece_start + at, last + 1, contiguous)


def _refill(segment: LogSegment, view: memoryview, position: int) -> int:
    wanted = min(len(view), segment.size - position)
    return segment.leased.file.read_into(position, view[:wanted]) if wanted > 0 else 0


def _refuse_old_format(segment: LogSegment, position: int) -> None:
    """Raise when the bytes are a whole message of magic 0 or 1."""
    head = segment.leased.file.read_at(position, _OLD_HEAD.size)
    if len(head) < _OLD_HEAD.size:
        return
    length, stored, magic = _OLD_HEAD.unpack(head)
    size = length + LOG_OVERHEAD_BYTES
    if magic not in (0, 1) or not _OLD_SIZE_MIN <= size <= segment.size - position:
        return
    if zlib.crc32(segment.leased.file.read_at(position + _OLD_CRC_FROM, size - _OLD_CRC_FROM)) == stored:
        raise UnsupportedLogError(
            f"{segment.path(LOG_SUFFIX)} holds message format {magic} at byte {position}; "
            "only format 2 (Kafka 0.11 and later) is supported"
        )
