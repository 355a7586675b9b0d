"""Which segments of a log are too old or too many.

Only whole segments go, from the oldest on, and none that reaches to the high watermark. Time goes by the
largest record timestamp of a segment, else by its file's mtime; a timestamp in the future keeps a segment
forever, as in Kafka, so it is told once per check.
"""

from barnabas.base.logger import Logger
from barnabas.storage.log import Log
from barnabas.storage.segment import LogSegment

log = Logger(__name__)


def delete_expired(retained: Log, high_watermark: int, now_ms: int) -> int:
    """Drop what retention.ms, retention.bytes and the log's start allow to drop; return the segments dropped.

    Args:
        high_watermark: nothing at or beyond it goes.
        now_ms: wall time.

    Raises:
        ApiError: KAFKA_STORAGE_ERROR.
    """
    dropped = 0
    if retained.config.delete:
        # By time first: what is old does not count against the size.
        old = expired_by_time(retained, high_watermark, now_ms)
        retained.delete_oldest_segments(old)
        excess = expired_by_size(retained, high_watermark)
        retained.delete_oldest_segments(excess)
        dropped = len(old) + len(excess)
    return dropped + retained.delete_segments_before_start()


def expired_by_time(retained: Log, high_watermark: int, now_ms: int) -> list[LogSegment]:
    """Return the oldest segments whose records are all older than retention.ms; -1 keeps everything."""
    retention_ms = retained.config.retention_ms
    expired: list[LogSegment] = []
    if retention_ms < 0:
        return expired
    for segment, end_offset in _with_end_offsets(retained):
        if end_offset > high_watermark or not segment.size:
            break
        largest = segment.largest_timestamp
        if largest > now_ms:
            log.warning(
                "%r has a record timestamp in the future (%d) and is kept until then", segment, largest
            )
        if now_ms - largest <= retention_ms:
            break
        expired.append(segment)
    return expired


def expired_by_size(retained: Log, high_watermark: int) -> list[LogSegment]:
    """Return the oldest segments without which the log still has retention.bytes; -1 keeps everything."""
    retention_bytes = retained.config.retention_bytes
    expired: list[LogSegment] = []
    if retention_bytes < 0:
        return expired
    excess = retained.size - retention_bytes
    for segment, end_offset in _with_end_offsets(retained):
        if end_offset > high_watermark or excess < segment.size or not segment.size:
            break
        excess -= segment.size
        expired.append(segment)
    return expired


def _with_end_offsets(retained: Log) -> list[tuple[LogSegment, int]]:
    """Return each segment with the offset behind it: the next one's base, at last the log's end."""
    segments = list(retained.segments)
    ends = [segment.base_offset for segment in segments[1:]] + [retained.log_end_offset]
    return list(zip(segments, ends, strict=True))
