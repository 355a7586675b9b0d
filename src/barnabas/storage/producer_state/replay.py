"""Applying a log's batches to its producer state again: after a restart, after a truncation.

State is the newest usable snapshot plus the batches behind it, so a clean stop, which leaves a snapshot
at the log's end, reads nothing.
"""

from barnabas.storage.batch_scan import BatchHead, read_heads
from barnabas.storage.indexes.transaction_index import AbortedTransaction
from barnabas.storage.offset_metadata import LogOffsetMetadata
from barnabas.storage.producer_state.states import EndTransactionMarker, ProducerStates, parse_marker
from barnabas.storage.segment import LogSegment
from barnabas.storage.segments import Segments


def apply_head(
    segment: LogSegment,
    producers: ProducerStates,
    head: BatchHead,
    base_position: int = 0,
    marker: EndTransactionMarker | None = None,
    *,
    indexed: bool = True,
) -> None:
    """Apply one batch of a producer to the state, and an aborted transaction to the segment's index.

    Args:
        base_position: what the head's position counts from.
        marker: what the batch says, when it ends a transaction.
        indexed: False when the index knows what the batch tells.
    """
    if not head.is_control:
        position = base_position + head.position
        producers.apply_batch(head, LogOffsetMetadata(head.base_offset, segment.base_offset, position))
        return
    completed = producers.apply_marker(head, marker) if marker is not None else None
    if completed is None:
        return
    if completed.aborted and indexed:
        stable = producers.last_stable_offset(completed)
        segment.transaction_index.append(
            AbortedTransaction(completed.producer_id, completed.first_offset, completed.last_offset, stable)
        )
    producers.complete(completed)


def _read_marker(segment: LogSegment, head: BatchHead) -> EndTransactionMarker | None:
    return parse_marker(segment.leased.file.read_at(head.position, head.size)) if head.is_control else None


def rebuild_producers(
    producers: ProducerStates,
    segments: Segments,
    log_start_offset: int,
    end_offset: int,
    now_ms: int,
    *,
    clean: bool = False,
    snapshot: bool = True,
) -> None:
    """Bring producer state to `end_offset`: the newest usable snapshot, then the batches behind it.

    Args:
        clean: after a clean stop a log without any snapshot had no producers; nothing is read.
        snapshot: leave snapshots at the last segments' bases and at the end, as Kafka does.

    Raises:
        ApiError: CORRUPT_MESSAGE.
    """
    if clean and not producers.snapshot_offsets:
        producers.clear(log_start_offset)
        for offset in (*segments.base_offsets[-2:], end_offset):
            producers.map_end_offset = offset
            producers.take_snapshot()
        return
    # What deleted records left behind in the first segment's snapshot counts: their producers may come again.
    first_offset = min(log_start_offset, segments.first.base_offset) if len(segments) else log_start_offset
    producers.reload(first_offset, end_offset, now_ms)
    bases = set(segments.base_offsets[-2:])
    for segment in segments.from_floor(producers.map_end_offset) if len(segments) else ():
        start = max(segment.base_offset, producers.map_end_offset)
        if start >= end_offset:
            break
        producers.map_end_offset = start
        if snapshot and segment.base_offset in bases and start == segment.base_offset:
            producers.take_snapshot()
        found = segment.find(start)
        if found is None:
            continue
        for head in read_heads(segment.leased.file, found[0], segment.size):
            if head.base_offset >= end_offset:
                break
            if head.producer_id >= 0:
                apply_head(segment, producers, head, marker=_read_marker(segment, head), indexed=False)
            producers.map_end_offset = head.last_offset + 1
    producers.map_end_offset = end_offset
    if snapshot:
        producers.take_snapshot()
