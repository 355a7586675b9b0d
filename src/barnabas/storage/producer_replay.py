"""Applying a log's batches to its producer state again: after a restart, after a truncation.

State is the newest usable snapshot plus the batches behind it, so a clean stop, which leaves a snapshot
at the log's end, reads nothing.
"""

from barnabas.storage.batch_scan import BatchHead, read_heads
from barnabas.storage.offset_metadata import LogOffsetMetadata
from barnabas.storage.producer_state import ProducerStates, parse_marker
from barnabas.storage.segment import LogSegment
from barnabas.storage.segments import Segments
from barnabas.storage.transaction_index import AbortedTransaction


def apply_head(
    segment: LogSegment, producers: ProducerStates, head: BatchHead, batch: bytes | memoryview | None
) -> None:
    """Apply one batch of a producer to the state; with a `batch` the transaction index is filled as well.

    Args:
        batch: the whole batch; read from the segment when a marker needs it and it is None.
    """
    if not head.is_control:
        producers.apply_batch(head, LogOffsetMetadata(head.base_offset, segment.base_offset, head.position))
        return
    content = segment.leased.file.read_at(head.position, head.size) if batch is None else batch
    marker = parse_marker(content)
    if marker is None:
        return
    completed = producers.apply_marker(head, marker)
    if completed is None:
        return
    if completed.aborted and batch is not None:
        stable = producers.last_stable_offset(completed)
        segment.transaction_index.append(
            AbortedTransaction(completed.producer_id, completed.first_offset, completed.last_offset, stable)
        )
    producers.complete(completed)


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
    producers.reload(log_start_offset, end_offset, now_ms)
    bases = set(segments.base_offsets[-2:])
    for segment in segments.from_floor(producers.map_end_offset) if len(segments) else ():
        start = max(segment.base_offset, producers.map_end_offset, log_start_offset)
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
                apply_head(segment, producers, head, None)
            producers.map_end_offset = head.last_offset + 1
    producers.map_end_offset = end_offset
    if snapshot:
        producers.take_snapshot()
