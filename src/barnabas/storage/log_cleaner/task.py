"""From a live log to the task of cleaning it: everything a cleaning in another process has to be told.

Plain values are taken at one moment of the loop. That they are older by the time they are used does no harm:
what is cleaned is sealed, synced and below the last stable offset, and a producer that appends meanwhile only
makes one more of its batches stay than needs to.
"""

from barnabas.storage.compaction.task import ActiveProducer, CleaningTask, SegmentToClean
from barnabas.storage.indexes.transaction_index import AbortedTransaction
from barnabas.storage.log import Log
from barnabas.storage.log_cleaner.config import CleanerConfig
from barnabas.storage.log_cleaner.selection import LogToClean
from barnabas.storage.segment import LOG_SUFFIX, LogSegment


def make_task(
    cleaned: Log,
    found: LogToClean,
    config: CleanerConfig,
    *,
    now_ms: int,
    hash_seed: int,
    high_watermark: int | None = None,
) -> CleaningTask:
    """Return the task of cleaning a log up to its first uncleanable offset.

    Args:
        found: what there is to clean; at least one segment.
        now_ms: wall time.
        hash_seed: 64 random bits.
        high_watermark: see CleaningTask.

    Raises:
        OSError: the disk refuses.
    """
    limit = found.first_uncleanable_offset
    sealed = [segment for segment in cleaned.segments if segment.base_offset < limit]
    topic = cleaned.config
    return CleaningTask(
        path=cleaned.path,
        segments=tuple([_to_clean(cleaned, segment) for segment in sealed]),
        first_dirty_offset=found.first_dirty_offset,
        first_uncleanable_offset=limit,
        now_ms=now_ms,
        delete_retention_ms=topic.delete_retention_ms,
        segment_bytes=topic.segment_bytes,
        segment_index_bytes=topic.segment_index_bytes,
        index_interval_bytes=topic.index_interval_bytes,
        max_message_bytes=topic.max_message_bytes,
        dedupe_buffer_bytes=config.share_of(config.dedupe_buffer_bytes),
        dedupe_load_factor=config.dedupe_load_factor,
        io_buffer_bytes=config.share_of(config.io_buffer_bytes),
        io_bytes_per_second_max=config.io_bytes_per_second_max / max(1, config.threads),
        active_producers=_active_producers(cleaned),
        aborted_beyond=_aborted_beyond(cleaned, sealed[0].base_offset, limit),
        hash_seed=hash_seed,
        high_watermark=high_watermark,
    )


def _to_clean(cleaned: Log, segment: LogSegment) -> SegmentToClean:
    modified_ms = cleaned.directory.disk.mtime_ms(segment.path(LOG_SUFFIX))
    return SegmentToClean(segment.base_offset, segment.size, modified_ms)


def _active_producers(cleaned: Log) -> tuple[ActiveProducer, ...]:
    states = cleaned.producers.producers.values()
    return tuple(
        [
            # The last offset of one without batches is NO_DATA_OFFSET.
            ActiveProducer(state.producer_id, state.epoch, state.last_offset)
            for state in states
        ]
    )


def _aborted_beyond(cleaned: Log, start_offset: int, limit: int) -> tuple[AbortedTransaction, ...]:
    """Return aborted transactions that reach below `limit` and end in a segment that is not cleaned."""
    found: list[AbortedTransaction] = []
    for segment in cleaned.segments.at_or_above(limit):
        if segment.transaction_index.collect(start_offset, limit, found):
            break
    return tuple(found)
