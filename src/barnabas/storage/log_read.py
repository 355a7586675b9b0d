"""Cutting the slice of a fetch out of one segment (F17, F20, F21)."""

from barnabas.storage.append_info import FetchDataInfo
from barnabas.storage.indexes.transaction_index import AbortedTransaction
from barnabas.storage.offset_metadata import LogOffsetMetadata
from barnabas.storage.segment import LogSegment
from barnabas.storage.segments import Segments


def end_position(segment: LogSegment, bound: LogOffsetMetadata) -> int | None:
    """Return where a read of `segment` must end; None when the bound's place is not known (F20)."""
    if bound.segment_base_offset > segment.base_offset:
        return segment.size
    if bound.segment_base_offset == segment.base_offset:
        return bound.position_in_segment
    return None


def cut_slice(
    segment: LogSegment,
    place: LogOffsetMetadata,
    *,
    first_batch_size: int,
    bound: LogOffsetMetadata,
    max_bytes: int,
    min_one_message: bool,
) -> FetchDataInfo:
    """Return the slice from `place` to the bound or the limit, whichever comes first (F21).

    Args:
        first_batch_size: of the batch at `place`.
    """
    end = end_position(segment, bound)
    if end is None:
        return FetchDataInfo(place)
    limit = max(max_bytes, first_batch_size) if min_one_message else max_bytes
    position = place.position_in_segment
    length = min(end - position, limit)
    if length <= 0:
        return FetchDataInfo(place)
    return FetchDataInfo(place, segment.slice(position, length), limit < first_batch_size)


def aborted_transactions(
    segments: Segments,
    segment: LogSegment,
    data: FetchDataInfo,
    log_end_offset: int,
    *,
    may_wait: bool = True,
) -> list[AbortedTransaction]:
    """Return what a read_committed consumer must skip in `data`, maybe more, as in Kafka (F17).

    Raises:
        ColdReadError: it would wait for the disk, and may not (F44).
    """
    found: list[AbortedTransaction] = []
    place = data.offset_metadata
    upper = segment.offset_index.offset_at_or_after(place.position_in_segment + data.size)
    if upper is None:
        higher = segments.higher(segment.base_offset)
        upper = higher.base_offset if higher is not None else log_end_offset
    looked_at: LogSegment | None = segment
    while looked_at is not None:
        if not may_wait:
            looked_at.require_transaction_index()
        if looked_at.transaction_index.collect(place.message_offset, upper, found):
            break
        looked_at = segments.higher(looked_at.base_offset)
    return found
