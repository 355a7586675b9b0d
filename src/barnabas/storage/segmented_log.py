"""How the segments of a log come and go: rolled, truncated, deleted, renamed with their directory.

The middle one of three classes that are one log: `LogReader` looks, this one cuts, `Log` appends and flushes.
A class for each rather than one of a thousand lines; functions beside them were rejected, since all three
change the same few attributes.
Every OSError takes the log's directory offline and becomes ApiError KAFKA_STORAGE_ERROR.
"""

from bisect import bisect_left
from collections.abc import Sequence

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import TYPE_CHECKING, Protocol
from barnabas.storage.checkpoints.checkpoint_file import LEADER_EPOCH_FILE
from barnabas.storage.flush.durability import Durability
from barnabas.storage.leader_epochs import LeaderEpochs
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_reader import LogReader
from barnabas.storage.offset_metadata import LogOffsetMetadata
from barnabas.storage.producer_state.replay import rebuild_producers
from barnabas.storage.producer_state.states import ProducerStates
from barnabas.storage.segment import LogSegment
from barnabas.storage.segment_factory import SegmentFactory
from barnabas.storage.segments import Segments
from barnabas.storage.swap_files import SWAP_SUFFIX

if TYPE_CHECKING:
    from barnabas.storage.segment_replacement import NewSegment, SegmentReplacement


class CleaningClaim(Protocol):
    """Who reads the sealed segments of a log in order to put others in their place."""

    def end(self) -> None:
        """The segments are about to change by other hands: stop at once, and replace nothing."""


class SegmentedLog(LogReader):
    """A log whose segments change.

    Attributes:
        config: may be replaced at any time; takes effect with the next append.
        durability: the recovery point and what a flush must do.
        is_idle: it is as a clean stop leaves it, or new and empty.
        cleaning: who cleans it now. Segments below the log's start stay until that is over; whatever else
            takes segments away ends it.
    """

    __slots__ = ("_replacement", "cleaning", "config", "durability", "is_idle")

    def __init__(
        self,
        *,
        directory: LogDirectory,
        topic: str,
        partition: int,
        config: LogConfig,
        factory: SegmentFactory,
        segments: Segments,
        durability: Durability,
        leader_epochs: LeaderEpochs,
        producers: ProducerStates,
        log_start_offset: int,
        log_end_offset: int,
        as_closed: bool,
    ) -> None:
        super().__init__(
            directory=directory,
            topic=topic,
            partition=partition,
            factory=factory,
            segments=segments,
            leader_epochs=leader_epochs,
            producers=producers,
            log_start_offset=log_start_offset,
            log_end_offset=log_end_offset,
        )
        self.config = config
        self.durability = durability
        self.is_idle = as_closed
        self.cleaning: CleaningClaim | None = None
        self._replacement: SegmentReplacement | None = None

    # Rolling -----------------------------------------------------------------------------------

    def roll(self) -> None:
        """Seal the active segment and start another at the log's end; an empty one is kept.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        if self.segments.active.size:
            try:
                self._roll(self.log_end_offset_metadata.message_offset)
            except OSError as error:
                raise self.directory.failed(error, f"rolling {self.name}") from error

    def _roll(self, first_offset: int) -> LogSegment:
        self.watch.tell()
        self.is_idle = False
        end = self.log_end_offset_metadata.message_offset
        base_offset = max(first_offset, end)
        active = self.segments.active
        if active.base_offset == base_offset:
            # Only an empty segment can have the log's end as its base: its settings are what is stale.
            assert active.size == 0, active
            active.abandon()
        else:
            self._factory.trim(active)
            active.seal()
            self.durability.sealed(active, end)
        segment = self._factory.new(base_offset, self.config)
        self.durability.names_unsynced = True
        self.segments.add(segment)
        self.log_end_offset_metadata = LogOffsetMetadata(end, base_offset, 0)
        self.producers.map_end_offset = base_offset
        self.producers.take_snapshot()
        return segment

    # Truncating and deleting ---------------------------------------------------------------------

    def truncate_to(self, offset: int) -> None:
        """Cut the log so that it ends at `offset`, or where the batch that holds `offset` begins.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        if offset < 0:
            raise ValueError(f"no log ends at offset {offset}")
        self.directory.check()
        if offset >= self.log_end_offset_metadata.message_offset:
            return
        self.end_cleaning()
        self.is_idle = False
        if offset <= self.segments.first.base_offset:
            self.truncate_fully(offset)
            return
        try:
            self._truncate(offset)
        except OSError as error:
            raise self.directory.failed(error, f"truncating {self.name}") from error

    def _truncate(self, offset: int) -> None:
        self.watch.tell()
        last = self.segments.floor(offset)
        assert last is not None
        found = last.find(offset)
        end = offset if found is None else last.base_offset_at(found[0])
        self.durability.lower(end)
        for segment in reversed(self.segments.at_or_above(last.base_offset + 1)):
            # From the end, so that a crash in between leaves a log without a hole.
            self._take_away(segment, snapshot=False)
        # Names first: a file that is cut for certain below segments that come back would be a hole.
        self.directory.disk.sync_dir(self.path)
        last.unseal()
        self.durability.forget(last)
        if found is None:
            last.remember_from(end)
        else:
            last.truncate_to(found[0], end)
        self.log_end_offset_metadata = LogOffsetMetadata(end, last.base_offset, last.size)
        self.leader_epochs.truncate_from_end(end)
        self.log_start_offset = min(self.log_start_offset, end)
        self._rebuild_producers()

    def truncate_fully(self, new_start_offset: int) -> None:
        """Drop everything and go on, empty, at `new_start_offset`.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        self.directory.check()
        self.end_cleaning()
        self.watch.tell()
        self.is_idle = False
        self.durability.lower(new_start_offset)
        try:
            for segment in reversed(list(self.segments)):
                self._take_away(segment, snapshot=True)
            self.directory.disk.sync_dir(self.path)
            self.segments.add(self._factory.new(new_start_offset, self.config))
            self.durability.names_unsynced = True
            self.log_end_offset_metadata = LogOffsetMetadata(new_start_offset, new_start_offset, 0)
            self.log_start_offset = new_start_offset
            self.leader_epochs.clear()
            self.leader_epochs.persist(self.directory.disk, self.log_end_offset_metadata.message_offset)
            self._rebuild_producers()
        except OSError as error:
            raise self.directory.failed(error, f"truncating {self.name}") from error

    def _rebuild_producers(self) -> None:
        end, now_ms = self.log_end_offset_metadata.message_offset, self._factory.clock.wall_ms()
        rebuild_producers(self.producers, self.segments, self.log_start_offset, end, now_ms)
        self._find_first_unstable()

    def delete_records(self, up_to_offset: int, high_watermark: int) -> int:
        """Advance the log's start and drop the segments that lie before it; return the new start.

        Args:
            up_to_offset: exclusive; -1 for the high watermark.

        Raises:
            ApiError: OFFSET_OUT_OF_RANGE beyond the high watermark or below -1; KAFKA_STORAGE_ERROR.
        """
        offset = high_watermark if up_to_offset == -1 else up_to_offset
        if offset < 0 or offset > high_watermark:
            raise ApiError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"records of {self.name} cannot be deleted up to {offset}: high watermark {high_watermark}",
            )
        self.advance_log_start(offset)
        return self.log_start_offset

    def advance_log_start(self, offset: int) -> None:
        """Move the log's start up to `offset`, never back; whole segments before it go.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        self.directory.check()
        if offset > self.log_start_offset:
            assert offset <= self.log_end_offset_metadata.message_offset, f"{self.name} ends before {offset}"
            self.watch.tell()
            self.log_start_offset = offset
            self.leader_epochs.truncate_from_start(offset)
            self.producers.log_start_advanced(offset)
            self._find_first_unstable()
        self.delete_segments_before_start()

    def delete_segments_before_start(self) -> int:
        """Drop the segments that end before the log's start, never the active one; return how many.

        While the log is cleaned they stay.
        """
        if self.cleaning is not None:
            return 0
        gone = []
        for segment in self.segments:
            higher = self.segments.higher(segment.base_offset)
            if higher is None or higher.base_offset > self.log_start_offset:
                break
            gone.append(segment)
        try:
            for segment in gone:
                self._take_away(segment, snapshot=True)
        except OSError as error:
            raise self.directory.failed(error, f"deleting segments of {self.name}") from error
        return len(gone)

    def delete_oldest_segments(self, segments: Sequence[LogSegment]) -> None:
        """Drop a prefix of the segments; the log's start moves behind them first.

        When all are dropped, the active one is rolled before.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        if not segments:
            return
        self.directory.check()
        if segments[-1] is self.segments.active:
            self.roll()
        higher = self.segments.higher(segments[-1].base_offset)
        if higher is not None:  # else the active one is empty and stays
            self.advance_log_start(higher.base_offset)

    def _take_away(self, segment: LogSegment, *, snapshot: bool) -> None:
        """Rename the files of a segment, which are unlinked later, and drop the snapshot at its base."""
        self.is_idle = False
        self.segments.remove(segment.base_offset)
        self.durability.forget(segment)
        self._factory.take_away(segment, self.config)
        if snapshot and segment.base_offset in self.producers.snapshot_offsets:
            self.producers.drop_snapshot(segment.base_offset)

    def move_directory(self, path: str) -> None:
        """Rename the partition's directory; open files and slices go on.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        self.end_cleaning()
        try:
            self.directory.disk.rename(self.path, path)
        except OSError as error:
            raise self.directory.failed(error, f"renaming {self.path}") from error
        self._factory.path = path
        for segment in self.segments:
            segment.directory = path
        self._files_moved(path)

    def continue_in(self, directory: LogDirectory, path: str) -> None:
        """Go on in another log directory (KIP-113).

        Args:
            path: of a directory with the same files, byte for byte, all of them synced.
        """
        self.end_cleaning()
        self.is_idle = False
        self.directory = directory
        self._factory.path = path
        for segment in self.segments:
            segment.continue_in(path)
        self._files_moved(path)
        self.durability.continue_in(directory.path, self.log_end_offset_metadata.message_offset)

    def _files_moved(self, path: str) -> None:
        self.producers.move(path)
        self.leader_epochs.move(f"{path}/{LEADER_EPOCH_FILE}")

    # Cleaning ------------------------------------------------------------------------------------

    def replace_segments(self, segments: Sequence["NewSegment"]) -> "SegmentReplacement":
        """Begin to put cleaned segments in the place of sealed ones; `step_replacement` goes on with it.

        Args:
            segments: in order, their files named `.cleaned` and synced; see SegmentReplacement.

        Raises:
            ValueError: what they replace is not there, or not side by side.
        """
        from barnabas.storage.segment_replacement import SegmentReplacement  # noqa: PLC0415

        assert self._replacement is None, f"{self.name} is being cleaned twice"
        bases = self.segments.base_offsets
        for new in segments:
            at = bisect_left(bases, new.base_offset)
            end = at + len(new.replaced)
            if not new.replaced or bases[at:end] != list(new.replaced) or end >= len(bases):
                raise ValueError(f"{self.name} has no sealed segments {new.replaced} side by side")
        self._replacement = SegmentReplacement(self._factory.disk, self.path, segments, self._swap_in)
        return self._replacement

    def step_replacement(self) -> bool:
        """Put the next segment in its place: see SegmentReplacement.step.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        assert self._replacement is not None, f"{self.name} is not being cleaned"
        self.directory.check()
        try:
            goes_on = self._replacement.step()
        except OSError as error:
            raise self.directory.failed(error, f"replacing segments of {self.name}") from error
        if not goes_on:
            self._replacement = None
        return goes_on

    def _swap_in(self, new: "NewSegment") -> None:
        from barnabas.storage.segment_replacement import rename_segment  # noqa: PLC0415

        self.watch.tell()
        for base_offset in new.replaced:
            old = self.segments.floor(base_offset)
            assert old is not None
            # The snapshot at the new segment's base stays, as every segment has one at its base.
            self._take_away(old, snapshot=base_offset != new.base_offset)
        rename_segment(self._factory.disk, self.path, new.base_offset, SWAP_SUFFIX, "")
        segment = self._factory.existing(new.base_offset, self.config)
        segment.mark_sealed()
        self.segments.add(segment)
        self.durability.names_unsynced = True
        higher = self.segments.higher(new.base_offset)
        assert higher is not None, "the active segment is never replaced"
        self.places_from = max(self.places_from, higher.base_offset)

    def end_cleaning(self) -> None:
        """Have whoever cleans the log stop; of what he wrote, nothing that is not in yet gets in.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        claim, self.cleaning = self.cleaning, None
        if claim is not None:
            claim.end()
        replacement, self._replacement = self._replacement, None
        if replacement is not None and self.directory.online:
            try:
                replacement.undo()
            except OSError as error:
                raise self.directory.failed(error, f"undoing a cleaning of {self.name}") from error
