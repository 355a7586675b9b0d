"""Making a log's segments and taking them away.

With `preallocate` a new segment's file gets its full length at once, zeros that take no blocks, and loses
what is left of them when it is sealed or the log closed, as in Apache Kafka. What a crash leaves of them
recovery cuts. fallocate, which takes the blocks too, was rejected: logs would need more room than in Kafka.
"""

from collections.abc import Callable

from barnabas.base.clock import Clock
from barnabas.base.disk import Disk
from barnabas.storage.deletions import PendingDeletions
from barnabas.storage.incoming_batches import IncomingBatches
from barnabas.storage.indexes.offset_index import ENTRY_BYTES as OFFSET_ENTRY_BYTES
from barnabas.storage.indexes.time_index import ENTRY_BYTES as TIME_ENTRY_BYTES
from barnabas.storage.log_config import LogConfig
from barnabas.storage.segment import LOG_SUFFIX, RELATIVE_OFFSET_MAX, LogSegment
from barnabas.storage.segment_cache import SegmentCache


class SegmentFactory:
    """What one log's segments share.

    Args:
        path: the partition's directory.
        random_below: draws the jitter of each segment (Entropy.random_below).
    """

    __slots__ = ("_cache", "_deletions", "_preallocated", "_random_below", "clock", "disk", "path")

    def __init__(
        self,
        *,
        disk: Disk,
        path: str,
        clock: Clock,
        cache: SegmentCache,
        deletions: PendingDeletions,
        random_below: Callable[[int], int],
    ) -> None:
        self.disk = disk
        self.path = path
        self.clock = clock
        self._cache = cache
        self._deletions = deletions
        self._random_below = random_below
        self._preallocated: LogSegment | None = None  # whose file is longer than its batches

    def existing(self, base_offset: int, config: LogConfig) -> LogSegment:
        """Return a segment whose file is there. It is opened when it is read: most of ten thousand are not.

        Raises:
            OSError: it cannot be looked at.
        """
        segment = self._make(base_offset, config)
        segment.size = self.disk.size(segment.path(LOG_SUFFIX))
        return segment

    def new(self, base_offset: int, config: LogConfig) -> LogSegment:
        """Make the files of an empty segment, the log's last.

        Raises:
            OSError: the disk refuses.
        """
        segment = self._make(base_offset, config)
        segment.create_files()
        self._preallocated = None
        if config.preallocate:
            segment.leased.file.truncate(config.segment_bytes)
            self._preallocated = segment
        return segment

    def trim(self, segment: LogSegment) -> bool:
        """Cut off what was preallocated and not written; return whether there was any. Not synced.

        Raises:
            OSError: the disk refuses.
        """
        if segment is not self._preallocated:
            return False
        segment.leased.file.truncate(segment.size)
        self._preallocated = None
        return True

    def _make(self, base_offset: int, config: LogConfig) -> LogSegment:
        jitter_below = min(config.segment_jitter_ms, config.segment_ms)
        return LogSegment(
            disk=self.disk,
            cache=self._cache,
            directory=self.path,
            base_offset=base_offset,
            created_ms=self.clock.wall_ms(),
            index_interval_bytes=config.index_interval_bytes,
            jitter_ms=self._random_below(jitter_below) if jitter_below > 0 else 0,
        )

    def take_away(self, segment: LogSegment, config: LogConfig) -> None:
        """Rename a segment's files; they are unlinked after file.delete.delay.ms.

        Raises:
            OSError: the disk refuses.
        """
        due_ms = self.clock.monotonic_ms() + config.file_delete_delay_ms
        for path in segment.mark_deleted():
            self._deletions.add(path, due_ms)


def roll_is_due(segment: LogSegment, config: LogConfig, clock: Clock, incoming: IncomingBatches) -> bool:
    """Whether batches must go to a new segment; asked on every append."""
    held = segment.size
    if (
        held > config.segment_bytes - incoming.size
        or incoming.last_offset - segment.base_offset > RELATIVE_OFFSET_MAX
    ):
        return True
    if held == 0:
        return False  # an empty one takes anything that fits
    first_timestamp = segment.first_timestamp
    if first_timestamp is None:
        first_timestamp = segment.read_first_timestamp()
    if first_timestamp >= 0:
        waited_ms = incoming.max_timestamp - first_timestamp
    else:
        waited_ms = clock.wall_ms() - segment.created_ms
    if waited_ms > config.roll_ms - segment.jitter_ms:
        return True
    if segment.index_grew:
        segment.index_grew = _index_is_full(segment, config.segment_index_bytes)
    return segment.index_grew


def _index_is_full(segment: LogSegment, index_bytes: int) -> bool:
    return (
        len(segment.offset_index) * OFFSET_ENTRY_BYTES > index_bytes - OFFSET_ENTRY_BYTES
        or len(segment.time_index) >= index_bytes // TIME_ENTRY_BYTES - 1
    )
