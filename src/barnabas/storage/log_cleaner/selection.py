"""How much of a log may be compacted, and which log needs it most: the rules of Apache Kafka's
LogCleanerManager.

Everything here is a function of one log, its bounds and the time; who is being cleaned, held back or given up
is `cleaner.py`'s to know. A log's part below the first dirty offset was cleaned before, the part from the
first uncleanable offset on is left alone, and what lies between decides by its share of all that could be
read.
"""

from barnabas.base.logger import Logger
from barnabas.base.named_tuple import NamedTuple
from barnabas.storage.log import Log
from barnabas.storage.log_config import INT64_MAX
from barnabas.storage.segment import LogSegment

log = Logger(__name__)


class DirtyRange(NamedTuple):
    """Which offsets of a log are to be cleaned next.

    Attributes:
        first_uncleanable_offset: exclusive, never below `first_dirty_offset`.
        is_reset: the checkpointed offset lies outside of the log, so the log starts over.
    """

    first_dirty_offset: int
    first_uncleanable_offset: int
    is_reset: bool


class LogToClean(NamedTuple):
    """One log as a candidate.

    Attributes:
        first_uncleanable_offset: the base offset of the first segment that is left alone.
        clean_bytes, cleanable_bytes: of the segments below the first dirty offset, and from there to the
            first uncleanable one; a segment that holds the first dirty offset counts in both, as in Kafka.
        compaction_delay_ms: for how long records have been dirty beyond max.compaction.lag.ms; 0: they are
            not.
        is_reset: see DirtyRange.
    """

    first_dirty_offset: int
    first_uncleanable_offset: int
    clean_bytes: int
    cleanable_bytes: int
    compaction_delay_ms: int
    is_reset: bool

    @property
    def total_bytes(self) -> int:
        """What a cleaning would read of the log."""
        return self.clean_bytes + self.cleanable_bytes

    @property
    def cleanable_ratio(self) -> float:
        """The dirty share; 0.0 for nothing at all."""
        return self.cleanable_bytes / self.total_bytes if self.total_bytes else 0.0

    def is_due(self, min_cleanable_dirty_ratio: float) -> bool:
        """Whether it is dirty enough, or dirty for too long."""
        return self.cleanable_ratio > min_cleanable_dirty_ratio or (
            self.compaction_delay_ms > 0 and self.cleanable_bytes > 0
        )


def dirty_range(cleaned: Log, checkpointed: int | None, high_watermark: int, now_ms: int) -> DirtyRange:
    """Return what is dirty and may be cleaned.

    Nothing is cleaned beyond the last stable offset, in the active segment, or from the first segment on that
    is younger than min.compaction.lag.ms.

    Args:
        checkpointed: the first dirty offset as it was last known; None when the log was never cleaned.
        now_ms: wall time.
    """
    start = cleaned.log_start_offset
    first_dirty, is_reset = start if checkpointed is None else checkpointed, False
    if first_dirty < start:
        if not cleaned.config.delete:
            # Retention moves the start of those that are deleted from as well: nothing to tell of.
            log.warning(
                "%s: the offset %d up to which it was cleaned lies before its start; it is cleaned from %d",
                cleaned.name, first_dirty, start,
            )  # fmt: skip
        first_dirty, is_reset = start, True
    elif first_dirty > cleaned.log_end_offset:
        log.warning(
            "%s: the offset %d up to which it was cleaned lies beyond its end %d; all of it is cleaned",
            cleaned.name, first_dirty, cleaned.log_end_offset,
        )  # fmt: skip
        first_dirty, is_reset = start, True
    uncleanable = min(_last_stable_offset(cleaned, high_watermark), cleaned.segments.active.base_offset)
    lag_ms = cleaned.config.min_compaction_lag_ms
    if lag_ms > 0:
        for segment in _sealed_from(cleaned, first_dirty):
            if segment.base_offset >= uncleanable:
                break
            if segment.largest_timestamp > now_ms - lag_ms:
                uncleanable = segment.base_offset
                break
    return DirtyRange(first_dirty, max(first_dirty, uncleanable), is_reset)


def _last_stable_offset(cleaned: Log, high_watermark: int) -> int:
    unstable = cleaned.first_unstable_offset
    return high_watermark if unstable is None else min(high_watermark, unstable.message_offset)


def measure(cleaned: Log, checkpointed: int | None, high_watermark: int, now_ms: int) -> LogToClean:
    """Return a log as a candidate; arguments as `dirty_range`."""
    dirty = dirty_range(cleaned, checkpointed, high_watermark, now_ms)
    first_dirty = dirty.first_dirty_offset
    first_uncleanable = _first_uncleanable_segment(cleaned, dirty.first_uncleanable_offset).base_offset
    clean_bytes = cleanable_bytes = 0
    dirty_from = min(first_dirty, first_uncleanable)
    floor = cleaned.segments.floor(dirty_from)
    dirty_base = dirty_from if floor is None else floor.base_offset
    for segment in cleaned.segments:
        if segment.base_offset < first_dirty:
            clean_bytes += segment.size
        if dirty_base <= segment.base_offset < first_uncleanable and dirty_from < first_uncleanable:
            cleanable_bytes += segment.size
    return LogToClean(
        first_dirty,
        first_uncleanable,
        clean_bytes,
        cleanable_bytes,
        compaction_delay_ms(cleaned, first_dirty, now_ms),
        dirty.is_reset,
    )


def _first_uncleanable_segment(cleaned: Log, offset: int) -> LogSegment:
    """Return the segment that holds the first uncleanable offset: it is not cleaned at all."""
    return cleaned.segments.floor(offset) or cleaned.segments.first


def compaction_delay_ms(cleaned: Log, first_dirty_offset: int, now_ms: int) -> int:
    """Return for how long dirty records have been older than max.compaction.lag.ms; 0 when none are.

    A segment is as old as its first batch; segments whose records have no timestamp count as new.
    """
    lag_ms = cleaned.config.max_compaction_lag_ms
    if lag_ms == INT64_MAX:
        return 0  # nothing is that old, and no segment need be looked into
    clean_until_ms = now_ms - lag_ms
    timestamps = [
        timestamp
        for segment in _sealed_from(cleaned, first_dirty_offset)
        if (timestamp := segment.read_first_timestamp()) > 0
    ]
    earliest_ms = min(timestamps, default=INT64_MAX)
    return clean_until_ms - earliest_ms if earliest_ms < clean_until_ms else 0


def _sealed_from(cleaned: Log, offset: int) -> list[LogSegment]:
    """Return the segments but the active one, from that which holds an offset on."""
    if offset > cleaned.segments.active.base_offset:
        return []
    return cleaned.segments.from_floor(offset)[:-1]
