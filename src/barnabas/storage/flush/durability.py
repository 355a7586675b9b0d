"""How much of a log is known to be on the disk, and what a flush must still bring there.

The recovery point says from where a start after a crash must check: everything below it was synced, the
indexes of sealed segments included. A segment that was sealed after its last batch was synced is the
trap: its indexes are not, so the point may not pass its end before they are.

Several flushes of a log may be under way at once: one that somebody waits for does not queue behind that of
a large sealed segment. So what is new (names, the root) counts as unsynced until a flush that knew of it has
ended well, not only until one begins.
"""

from collections.abc import Callable

from barnabas.storage.flush.work import FlushWork
from barnabas.storage.offset_metadata import LogOffsetMetadata
from barnabas.storage.producer_state.states import ProducerStates
from barnabas.storage.segment import LogSegment
from barnabas.storage.segment_factory import SegmentFactory
from barnabas.storage.segments import Segments


class Durability:
    """What of one log is synced.

    Args:
        names_unsynced: files in the partition's directory are new or gone.
        root_unsynced: the partition's directory itself is new.

    Attributes:
        recovery_point: everything below it was synced.
        last_flushed_ms: monotonic time of the last flush.
        checkpointed_point: the highest recovery point that a checkpoint may tell the next start.
        held: what lies behind it is being synced and does not count as appended before it is
            (flush.messages); None: nothing is held back.
    """

    __slots__ = (
        "_cuts",
        "_factory",
        "_indexes_unsynced",
        "_names_changed",
        "_names_synced",
        "_root",
        "_root_unsynced",
        "_segments",
        "checkpointed_point",
        "held",
        "last_flushed_ms",
        "on_lowered",
        "recovery_point",
    )

    def __init__(
        self,
        *,
        factory: SegmentFactory,
        segments: Segments,
        root: str,
        recovery_point: int,
        end_offset: int,
        names_unsynced: bool,
        root_unsynced: bool,
    ) -> None:
        self._factory = factory
        self._segments = segments
        self._root = root
        self.recovery_point = recovery_point
        self.checkpointed_point = recovery_point
        self.last_flushed_ms = factory.clock.monotonic_ms()
        self.held: LogOffsetMetadata | None = None
        self._names_changed = int(names_unsynced)
        self._names_synced = 0
        self._root_unsynced = root_unsynced
        self.on_lowered: Callable[[], None] | None = None
        self._cuts = 0
        self._indexes_unsynced: set[int] = set()
        if recovery_point < end_offset:
            unflushed = segments.from_floor(recovery_point)
            self._indexes_unsynced = {segment.base_offset for segment in unflushed if segment.sealed}

    @property
    def names_unsynced(self) -> bool:
        """Whether files in the partition's directory are new or gone, and no sync of it has ended since.

        To be set, never to be cleared: that is `finish`'s.
        """
        return self._names_changed > self._names_synced

    @names_unsynced.setter
    def names_unsynced(self, is_true: bool) -> None:
        assert is_true, "only a sync that has ended makes names certain"
        self._names_changed += 1

    @property
    def cuts(self) -> int:
        """How often the log was cut: what lies behind a cut may have been replaced."""
        return self._cuts

    def continue_in(self, root: str, end_offset: int) -> None:
        """Note that the log goes on with files in another log directory, all of which are synced.

        Args:
            root: of that directory.
            end_offset: of the log.
        """
        self._root = root
        self.recovery_point = end_offset
        self._indexes_unsynced.clear()
        self._names_synced = self._names_changed
        self._root_unsynced = False

    def sealed(self, segment: LogSegment, end_offset: int) -> None:
        """Note that a segment was sealed; `end_offset` is the log's end.

        Raises:
            OSError: the disk refuses.
        """
        if self.checkpointed_point >= end_offset:
            # A start would begin behind this segment and trust its length and indexes: rare, so they are
            # synced here.
            segment.leased.file.sync()
            segment.sync_indexes()
        else:
            self.recovery_point = min(self.recovery_point, end_offset - 1)
            self._indexes_unsynced.add(segment.base_offset)

    def forget(self, segment: LogSegment) -> None:
        """Note that a segment is gone or not sealed any more."""
        self._indexes_unsynced.discard(segment.base_offset)

    def lower(self, offset: int) -> None:
        """Note, before it is done, that the log is cut at `offset`: what comes there next is not synced.

        Raises:
            ApiError: the checkpoint that must know could not be written.
        """
        self._cuts += 1
        if self.held is not None and offset < self.held.message_offset:
            self.held = LogOffsetMetadata(offset)
        if offset < self.recovery_point:
            self.recovery_point = offset
            if self.on_lowered is not None:
                self.on_lowered()

    def begin(self, end: int, producers: ProducerStates) -> FlushWork | None:
        """Collect what must be synced so that everything below `end` is durable; None when it is.

        Raises:
            OSError: the disk refuses.
        """
        if end <= self.recovery_point and not self.names_unsynced:
            return None
        work = FlushWork(
            disk=self._factory.disk,
            now_us=self._factory.clock.monotonic_us,
            up_to_offset=end,
            cuts_before=self._cuts,
            names_before=self._names_changed,
        )
        try:
            for segment in self._segments.from_floor(self.recovery_point):
                if segment.base_offset >= end and segment.size:
                    break
                work.add_file(segment.leased)
                if segment.sealed:
                    self._add_sealed(work, segment, producers)
        except OSError:
            work.release()
            raise
        if self.names_unsynced:
            first = self._segments.first.base_offset
            if first in producers.snapshot_offsets:
                # All that tells of producers whose records were deleted, perhaps before they were synced.
                work.add_file_paths([producers.path(first)])
            work.add_directory(self._factory.path)
        if self._root_unsynced:
            work.add_directory(self._root)
        return work

    def _add_sealed(self, work: FlushWork, segment: LogSegment, producers: ProducerStates) -> None:
        """Add what belongs to a segment besides its batches, and the producer snapshot behind it."""
        segment.write_indexes()
        work.add_file_paths(segment.index_paths())
        higher = self._segments.higher(segment.base_offset)
        if higher is not None and higher.base_offset in producers.snapshot_offsets:
            work.add_file_paths([producers.path(higher.base_offset)])
        work.sealed.append(segment.base_offset)

    def finish(self, work: FlushWork) -> bool:
        """Move the recovery point after `work` ran; return whether the log was not cut meanwhile."""
        self.last_flushed_ms = self._factory.clock.monotonic_ms()
        self._names_synced = max(self._names_synced, work.names_before)
        self._root_unsynced = False
        if work.cuts_before != self._cuts:
            return False  # what lies at those offsets now may have been written after the sync
        self._indexes_unsynced.difference_update(work.sealed)
        reached = work.up_to_offset
        for base_offset in self._indexes_unsynced:
            # Sealed meanwhile: the point stays inside the segment, so a crash makes its indexes anew.
            higher = self._segments.higher(base_offset)
            if higher is not None:
                reached = min(reached, higher.base_offset - 1)
        self.recovery_point = max(self.recovery_point, reached)
        return True
