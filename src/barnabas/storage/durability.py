"""How much of a log is known to be on the disk, and what a flush must still bring there.

The recovery point says from where a start after a crash must check: everything below it was synced, the
indexes of sealed segments included. A segment that was sealed after its last batch was synced is the
trap: its indexes are not, so the point may not pass its end before they are.
"""

from collections.abc import Callable

from barnabas.storage.flush_work import FlushWork
from barnabas.storage.producer_state import ProducerStates
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
    """

    __slots__ = (
        "_cuts",
        "_factory",
        "_indexes_unsynced",
        "_root",
        "_segments",
        "last_flushed_ms",
        "names_unsynced",
        "on_lowered",
        "recovery_point",
        "root_unsynced",
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
        self.last_flushed_ms = factory.clock.monotonic_ms()
        self.names_unsynced = names_unsynced
        self.root_unsynced = root_unsynced
        self.on_lowered: Callable[[], None] | None = None
        self._cuts = 0
        self._indexes_unsynced: set[int] = set()
        if recovery_point < end_offset:
            unflushed = segments.from_floor(recovery_point)
            self._indexes_unsynced = {segment.base_offset for segment in unflushed if segment.sealed}

    def sealed(self, segment: LogSegment, end_offset: int) -> None:
        """Note that a segment was sealed; `end_offset` is the log's end.

        Raises:
            OSError: the disk refuses.
        """
        if self.recovery_point >= end_offset:
            # A crash would start behind this segment and trust its indexes: rare, so they are synced here.
            segment.sync_indexes()
        else:
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
        work = FlushWork(disk=self._factory.disk, up_to_offset=end, cuts_before=self._cuts)
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
            work.add_directory(self._factory.path)
            self.names_unsynced = False
        if self.root_unsynced:
            work.add_directory(self._root)
            self.root_unsynced = False
        return work

    def _add_sealed(self, work: FlushWork, segment: LogSegment, producers: ProducerStates) -> None:
        """Add what belongs to a segment besides its batches, and the producer snapshot behind it."""
        segment.write_indexes()
        work.add_file_paths(segment.index_paths())
        higher = self._segments.higher(segment.base_offset)
        if higher is not None and higher.base_offset in producers.snapshot_offsets:
            work.add_file_paths([producers.path(higher.base_offset)])
        work.sealed.append(segment.base_offset)

    def finish(self, work: FlushWork) -> None:
        """Move the recovery point after `work` ran."""
        self.last_flushed_ms = self._factory.clock.monotonic_ms()
        if work.cuts_before != self._cuts:
            return  # what lies at those offsets now may have been written after the sync
        self._indexes_unsynced.difference_update(work.sealed)
        reached = work.up_to_offset
        for base_offset in self._indexes_unsynced:
            # Sealed meanwhile: the point stays inside the segment, so a crash makes its indexes anew.
            higher = self._segments.higher(base_offset)
            if higher is not None:
                reached = min(reached, higher.base_offset - 1)
        self.recovery_point = max(self.recovery_point, reached)
