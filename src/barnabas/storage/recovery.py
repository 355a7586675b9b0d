"""Opening a log: what is trusted, what is checked, what is cut off.

After a clean stop everything is trusted; only the last segment's tail is walked to find the log's end.
Otherwise each segment from the recovery point on is read once, in large pieces into one buffer: every batch's
checksum and the order of offsets are checked, indexes, leader epochs and producer state are made anew, and
at the first bad batch the log ends: the rest of that segment is cut and later segments are deleted.
Below the recovery point everything was synced, so it is trusted as well.

A batch of the old formats 0 and 1 with a right checksum is somebody's data, not damage: it stops the
opening instead of being cut off.
"""

from collections.abc import Callable, Sequence

from barnabas.base.clock import Clock
from barnabas.base.errors import ApiError
from barnabas.base.logger import Logger
from barnabas.base.named_tuple import NamedTuple
from barnabas.storage import producer_snapshot
from barnabas.storage.checkpoints import LEADER_EPOCH_FILE, CheckpointError
from barnabas.storage.deletions import PendingDeletions
from barnabas.storage.durability import Durability
from barnabas.storage.leader_epochs import LeaderEpochs
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.partition_metadata import FILE_NAME as PARTITION_METADATA_FILE
from barnabas.storage.partition_metadata import PartitionMetadataError, read_topic_id
from barnabas.storage.producer_replay import rebuild_producers
from barnabas.storage.producer_state import ProducerStates
from barnabas.storage.segment import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SEGMENT_SUFFIXES,
    TIME_INDEX_SUFFIX,
    LogSegment,
)
from barnabas.storage.segment_cache import SegmentCache
from barnabas.storage.segment_check import CheckedSegment, UnsupportedLogError, check_segment
from barnabas.storage.segment_factory import SegmentFactory
from barnabas.storage.segments import Segments
from barnabas.storage.swap_files import finish_swaps, is_offset

log = Logger(__name__)

PRODUCER_ID_EXPIRATION_MS = 86_400_000
"""producer.id.expiration.ms unless set."""

Progress = Callable[[str, int, int], None]
"""Called with (log name, bytes checked, bytes to check) while batches are checked."""


class OpenResult(NamedTuple):
    """A log and what opening it did.

    Attributes:
        truncated_bytes: cut off as damaged, later segments included.
        checked_bytes: batches read and checked.
    """

    log: Log
    truncated_bytes: int
    checked_bytes: int


def open_log(
    *,
    directory: LogDirectory,
    path: str,
    topic: str,
    partition: int,
    config: LogConfig,
    clock: Clock,
    cache: SegmentCache,
    deletions: PendingDeletions,
    random_below: Callable[[int], int],
    clean: bool = False,
    recovery_point: int = 0,
    log_start_offset: int = 0,
    topic_id: bytes | None = None,
    names: list[str] | None = None,
    producer_expiration_ms: int = PRODUCER_ID_EXPIRATION_MS,
    progress: Progress | None = None,
) -> OpenResult:
    """Open a partition's directory, or make it.

    Args:
        path: the partition's directory.
        random_below: draws the segment jitter (Entropy.random_below).
        clean: the last stop left a marker; nothing is checked.
        recovery_point, log_start_offset: from the checkpoints of the log directory.
        topic_id: of a new log; an existing one has it in partition.metadata.
        names: of the directory, when it was listed before.

    Raises:
        ApiError: KAFKA_STORAGE_ERROR; the directory is offline then.
        UnsupportedLogError: old batch formats; nothing was changed.
    """
    factory = SegmentFactory(
        disk=directory.disk,
        path=path,
        clock=clock,
        cache=cache,
        deletions=deletions,
        random_below=random_below,
    )
    opening = _Opening(factory, f"{topic}-{partition}", config, progress)
    disk = directory.disk
    try:
        if names is None and disk.is_dir(path):
            names = disk.list_dir(path)
        fresh = names is None
        if fresh:
            disk.make_dirs(path)
        names = finish_swaps(disk, path, names or [])
        stored_topic_id = read_topic_id(disk, path) if PARTITION_METADATA_FILE in names else None
        producers = ProducerStates(disk, path, producer_expiration_ms)
        producers.found_snapshots(_snapshot_offsets(names))
        if not opening.load_epochs(names):
            clean, recovery_point = False, 0
        opening.find_segments(names)
        opening.check_segments(clean, max(recovery_point, 0), producers, log_start_offset)
        start, end = opening.settle_ends(log_start_offset)
        producers.drop_stray_snapshots(opening.segments.base_offsets)
        rebuild_producers(producers, opening.segments, start, end, clock.wall_ms(), clean=clean and not fresh)
    except OSError as error:
        raise directory.failed(error, f"opening {path}") from error
    except PartitionMetadataError as error:
        raise UnsupportedLogError(str(error)) from error
    except ApiError as error:
        raise UnsupportedLogError(f"{path} was stopped cleanly or synced and is damaged: {error}") from error
    return opening.result(
        directory, topic, partition, producers, start, end,
        recovery_point=end if clean else min(max(recovery_point, 0), end),
        clean=clean, fresh=fresh, stored_topic_id=stored_topic_id, topic_id=topic_id,
    )  # fmt: skip


class _Opening:
    """What the steps of one opening hand on."""

    def __init__(
        self, factory: SegmentFactory, name: str, config: LogConfig, progress: Progress | None
    ) -> None:
        self.factory = factory
        self.disk = factory.disk
        self.path = factory.path
        self.name = name
        self.config = config
        self.progress = progress
        self.segments = Segments()
        self.epochs = LeaderEpochs(f"{factory.path}/{LEADER_EPOCH_FILE}")
        self.truncated_bytes = 0
        self.checked_bytes = 0
        self.indexless: list[LogSegment] = []

    def load_epochs(self, names: Sequence[str]) -> bool:
        """Read the leader epochs; False when they are damaged, so that only the batches tell them."""
        try:
            if LEADER_EPOCH_FILE in names:
                self.epochs.load(self.disk)
        except CheckpointError as error:
            log.warning("%s: %s; all batches are checked to make it anew", self.name, error)
            self.epochs.clear()
            return False
        return True

    def find_segments(self, names: Sequence[str]) -> None:
        """Open the segments, delete indexes that belong to none."""
        present = set(names)
        for name in names:
            stem, dot, suffix = name.partition(".")
            suffix = dot + suffix
            if suffix not in SEGMENT_SUFFIXES or not is_offset(stem):
                continue
            if suffix != LOG_SUFFIX:
                if stem + LOG_SUFFIX not in present:
                    log.warning("%s: %s belongs to no segment and is deleted", self.name, name)
                    self.disk.unlink(f"{self.path}/{name}")
                continue
            segment = self.factory.existing(int(stem), self.config)
            self.segments.add(segment)
            if stem + INDEX_SUFFIX not in present or stem + TIME_INDEX_SUFFIX not in present:
                self.indexless.append(segment)
            if len(self.segments) > 1:
                # Names come sorted, so the one before has a successor now.
                self.segments.before_active.mark_sealed()

    def settle_ends(self, log_start_offset: int) -> tuple[int, int]:
        """Make sure that there is an active segment; return the log's start and end."""
        self._drop_segments_below(log_start_offset)
        if not len(self.segments):
            self.segments.add(self.factory.new(log_start_offset, self.config))
        active = self.segments.active
        end = active.next_offset()
        active.remember_from(end)
        start = max(log_start_offset, self.segments.first.base_offset)
        self.epochs.truncate_from_end(end)
        if start:
            self.epochs.truncate_from_start(start)
        return start, end

    def result(  # noqa: PLR0917 - called once
        self,
        directory: LogDirectory,
        topic: str,
        partition: int,
        producers: ProducerStates,
        start: int,
        end: int,
        *,
        recovery_point: int,
        clean: bool,
        fresh: bool,
        stored_topic_id: bytes | None,
        topic_id: bytes | None,
    ) -> OpenResult:
        """Put the log together of what was found."""
        durability = Durability(
            factory=self.factory,
            segments=self.segments,
            root=directory.path,
            recovery_point=recovery_point,
            end_offset=end,
            names_unsynced=fresh or not clean,
            root_unsynced=fresh,
        )
        opened = Log(
            directory=directory,
            topic=topic,
            partition=partition,
            config=self.config,
            factory=self.factory,
            segments=self.segments,
            durability=durability,
            leader_epochs=self.epochs,
            producers=producers,
            log_start_offset=start,
            log_end_offset=end,
            topic_id=stored_topic_id or topic_id,
            topic_id_durable=stored_topic_id is not None or topic_id is None,
            as_closed=fresh or (clean and not self.indexless),
        )
        return OpenResult(opened, self.truncated_bytes, self.checked_bytes)

    def check_segments(
        self, clean: bool, recovery_point: int, producers: ProducerStates, start_offset: int
    ) -> None:
        """Check every batch behind the recovery point; make missing indexes of what is trusted."""
        unflushed = [] if clean or not len(self.segments) else self.segments.from_floor(recovery_point)
        to_check = sum(segment.size for segment in unflushed)
        if unflushed:
            # The file may know epochs whose batches are lost; those that are left tell theirs.
            self.epochs.truncate_from_end(unflushed[0].base_offset)
        for segment in self.indexless:
            if segment not in unflushed:
                self._rebuild_indexes(segment)
        for segment in unflushed:
            base_offset = segment.base_offset
            if producers.map_end_offset != base_offset:
                rebuild_producers(
                    producers, self._segments_below(base_offset), min(start_offset, base_offset), base_offset,
                    self.factory.clock.wall_ms(), snapshot=False,
                )  # fmt: skip
            higher = self.segments.higher(base_offset)
            next_base = higher.base_offset if higher is not None else None
            checked = check_segment(segment, self.epochs, producers, self._teller(to_check), before=next_base)
            self.checked_bytes += checked.valid_bytes
            producers.take_snapshot()
            if checked.valid_bytes < segment.size or self._hole_behind(checked, next_base):
                self._cut(segment, checked.valid_bytes)
                return

    def _hole_behind(self, checked: CheckedSegment, next_base: int | None) -> bool:
        """Whether the end of a segment was lost while the next one survived a power failure.

        Only compaction leaves offsets out on purpose. Apache Kafka serves such a log with its hole; here the
        log ends before it, so that what is left is what was written first.
        """
        return (
            next_base is not None
            and checked.next_offset < next_base
            and checked.contiguous
            and not self.config.compact
        )

    def _teller(self, to_check: int) -> Callable[[int], None]:
        """Return what `check_segment` tells its progress within one segment to."""
        report, name, done = self.progress, self.name, self.checked_bytes
        if report is None:
            return lambda _: None
        return lambda count: report(name, done + count, to_check)

    def _rebuild_indexes(self, segment: LogSegment) -> None:
        log.warning("%s: segment %d lacks an index, it is made anew", self.name, segment.base_offset)
        try:
            segment.rebuild_indexes()
        except ApiError as error:
            # What is trusted is not cut: reads up to the damage go on, those behind it are refused.
            log.error("%s", error)
        segment.write_indexes(even_if_empty=True)

    def _segments_below(self, offset: int) -> Segments:
        below = Segments()
        for segment in self.segments:
            if segment.base_offset < offset:
                below.add(segment)
        return below

    def _cut(self, segment: LogSegment, valid_bytes: int) -> None:
        """Cut a damaged segment and drop all behind it, from the last, so a crash leaves no hole."""
        later = [other for other in self.segments if other.base_offset > segment.base_offset]
        self.truncated_bytes = segment.size - valid_bytes + sum(other.size for other in later)
        log.warning(
            "%s: damaged at byte %d of segment %d; %d bytes and %d later segments are cut off",
            self.name, valid_bytes, segment.base_offset, segment.size - valid_bytes, len(later),
        )  # fmt: skip
        for other in reversed(later):
            self._drop(other)
        if segment.sealed:
            segment.unseal()
        # As in Log.truncate_to: names first, and the cut for certain before anything is appended behind it.
        self.disk.sync_dir(self.path)
        segment.leased.file.truncate(valid_bytes)
        segment.leased.file.sync()
        segment.size = valid_bytes

    def _drop(self, segment: LogSegment) -> None:
        self.segments.remove(segment.base_offset)
        segment.abandon()
        for suffix in SEGMENT_SUFFIXES:
            if self.disk.exists(segment.path(suffix)):
                self.disk.unlink(segment.path(suffix))

    def _drop_segments_below(self, log_start_offset: int) -> None:
        """When the log ends before its checkpointed start, nothing of it may be read: start over there."""
        if len(self.segments) and self.segments.active.next_offset() < log_start_offset:
            log.warning("%s ends before its start %d; it starts over there", self.name, log_start_offset)
            for segment in list(self.segments):
                self._drop(segment)


def _snapshot_offsets(names: Sequence[str]) -> list[int]:
    suffix = producer_snapshot.SUFFIX
    return [int(n[: -len(suffix)]) for n in names if n.endswith(suffix) and is_offset(n[: -len(suffix)])]
