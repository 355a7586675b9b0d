"""Opening a log: what is trusted, what is checked, what is cut off.

After a clean stop everything is trusted; only the last segment's tail is walked to find the log's end.
Otherwise each segment from the recovery point on is read once (`segment_check.py`): every batch's
checksum and the order of offsets are checked, indexes, leader epochs and producer state are made anew, and
at the first bad batch the log ends: the rest of that segment is cut and later segments are deleted.
Below the recovery point everything was synced, so it is trusted as well.

It goes in steps, so that a start can look at all logs first and have their segments scanned side by side
(`scans.py`): `prepare` finds out what there is and what must be scanned, `finish` takes in the scans.

A batch of the old formats 0 and 1 with a right checksum is somebody's data, not damage: it stops the
opening instead of being cut off.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from barnabas.base.clock import Clock
from barnabas.base.errors import ApiError
from barnabas.base.logger import Logger
from barnabas.base.named_tuple import NamedTuple
from barnabas.storage.checkpoints.checkpoint_file import LEADER_EPOCH_FILE, CheckpointError
from barnabas.storage.deletions import PendingDeletions
from barnabas.storage.flush.durability import Durability
from barnabas.storage.leader_epochs import LeaderEpochs
from barnabas.storage.loading.segment_check import (
    ScanRequest,
    SegmentScan,
    UnsupportedLogError,
    apply_scan,
    scan_request,
    scan_segment,
)
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.partition_metadata import FILE_NAME as PARTITION_METADATA_FILE
from barnabas.storage.partition_metadata import (
    PartitionMetadataError,
    TornPartitionMetadataError,
    read_topic_id,
)
from barnabas.storage.producer_state import snapshots
from barnabas.storage.producer_state.replay import rebuild_producers
from barnabas.storage.producer_state.states import ProducerStates
from barnabas.storage.segment import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SEGMENT_SUFFIXES,
    TIME_INDEX_SUFFIX,
    LogSegment,
)
from barnabas.storage.segment_cache import SegmentCache
from barnabas.storage.segment_factory import SegmentFactory
from barnabas.storage.segments import Segments
from barnabas.storage.swap_files import LEFT_BY_SWAPS, OFFSET_DIGITS, finish_swaps, is_offset

log = Logger(__name__)

PRODUCER_ID_EXPIRATION_MS = 86_400_000
"""producer.id.expiration.ms unless set."""

Scan = Callable[[ScanRequest], SegmentScan]
"""Scans a segment, or waits until somebody has."""


class OpenResult(NamedTuple):
    """A log and what opening it did.

    Attributes:
        truncated_bytes: cut off as damaged, later segments included.
        checked_bytes: batches read and checked.
    """

    log: Log
    truncated_bytes: int
    checked_bytes: int


class OpeningLog:
    """A log that is being opened: `prepare`, then `finish`.

    Args:
        path: the partition's directory.
        random_below: draws the segment jitter (Entropy.random_below).
        clean: the last stop left a marker; nothing is checked.
        recovery_point, log_start_offset: from the checkpoints of the log directory.
        topic_id: of a new log; an existing one has it in partition.metadata.
        names: of the directory, when it was listed before.
        gapless_from: up to where a log may have been compacted: no offset is missing behind it but by a loss.
            None when nobody knows.

    Attributes:
        to_scan: the segments whose batches must be checked, in order; known once it is prepared.
    """

    def __init__(
        self,
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
        gapless_from: int | None = None,
    ) -> None:
        self.name = f"{topic}-{partition}"
        self.to_scan: list[ScanRequest] = []
        self._directory = directory
        self._topic, self._partition = topic, partition
        self._path = path
        self._config = config
        self._factory = SegmentFactory(
            disk=directory.disk, path=path, clock=clock, cache=cache, deletions=deletions,
            random_below=random_below,
        )  # fmt: skip
        self._disk = directory.disk
        self._deletions = deletions
        self._clean = clean
        self._recovery_point = max(recovery_point, 0)
        self._checkpointed_start = log_start_offset
        self._topic_id = topic_id
        self._stored_topic_id: bytes | None = None
        self._names = names
        self._gapless_from = gapless_from if config.compact else 0
        self._fresh = False
        self._segments = Segments()
        self._unflushed: list[LogSegment] = []
        self._indexless: list[LogSegment] = []
        self._epochs = LeaderEpochs(f"{path}/{LEADER_EPOCH_FILE}")
        self._producers = ProducerStates(self._disk, path, producer_expiration_ms)
        self._scanned_end: int | None = None  # where the log ends, once its last segment was scanned
        self._truncated_bytes = 0
        self._checked_bytes = 0

    # The steps ---------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Look at the directory, or make it; tell what is to be scanned.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR; the directory is offline then.
            UnsupportedLogError: partition.metadata makes no sense.
        """
        with self._told():
            names = self._names
            if names is None and self._disk.is_dir(self._path):
                names = self._disk.list_dir(self._path)
            self._fresh = names is None
            if names is None:
                self._disk.make_dir(self._path)
            left = [name for name in names or () if name.endswith(LEFT_BY_SWAPS)]
            names = finish_swaps(self._disk, self._path, names or [], self._discard)
            self._producers.found_snapshots(_snapshot_offsets(names))
            self._find_segments(names)
            if left:
                self._look_at_leftovers(left)
            if PARTITION_METADATA_FILE in names:
                self._read_topic_id()
            if not self._load_epochs(names):
                self._clean, self._recovery_point = False, 0
            if not self._clean and len(self._segments):
                self._unflushed = self._segments.from_floor(self._recovery_point)
                self.to_scan = [
                    scan_request(self._disk, segment, self._next_base(segment)) for segment in self._unflushed
                ]

    def finish(self, scan: Scan) -> OpenResult:
        """Take in the scans and return the log.

        Args:
            scan: called for each of `to_scan` in order, up to the first that finds damage.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR; the directory is offline then.
            UnsupportedLogError: old batch formats; nothing was changed.
        """
        with self._told():
            self._take_in_scans(scan)
            start, end = self._settle_ends()
            self._producers.drop_stray_snapshots(self._segments.base_offsets)
            rebuild_producers(
                self._producers, self._segments, start, end, self._factory.clock.wall_ms(),
                clean=self._clean and not self._fresh,
            )  # fmt: skip
            return self._result(start, end)
        raise AssertionError("an error was told")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say what an error means to the log and its directory."""
        try:
            yield
        except OSError as error:
            raise self._directory.failed(error, f"opening {self._path}") from error
        except PartitionMetadataError as error:
            raise UnsupportedLogError(str(error)) from error
        except ApiError as error:
            raise UnsupportedLogError(
                f"{self._path} was stopped cleanly or synced and is damaged: {error}"
            ) from error

    def _discard(self, path: str) -> None:
        """Have unlinked, behind the start, what a deletion before the crash had only renamed."""
        self._deletions.add(path, self._factory.clock.monotonic_ms())

    # Finding -----------------------------------------------------------------------------------

    def _look_at_leftovers(self, names: Sequence[str]) -> None:
        """Expect gaps up to where segments were just replaced: perhaps no checkpoint tells of it yet."""
        if self._config.compact and self._gapless_from is not None:
            newest = max(
                (int(name[:OFFSET_DIGITS]) for name in names if is_offset(name[:OFFSET_DIGITS])), default=0
            )
            beyond = self._segments.higher(newest)
            self._gapless_from = None if beyond is None else max(self._gapless_from, beyond.base_offset)

    def _read_topic_id(self) -> None:
        """Read the topic id. A stop writes it unsynced for a log without records: then it may be torn."""
        try:
            self._stored_topic_id = read_topic_id(self._disk, self._path)
        except TornPartitionMetadataError as error:
            if self._segments.size:
                raise
            log.warning("%s; the log is empty, so it is written anew", error)

    def _load_epochs(self, names: Sequence[str]) -> bool:
        """Read the leader epochs; False when they are damaged, so that only the batches tell them."""
        try:
            if LEADER_EPOCH_FILE in names:
                self._epochs.load(self._disk)
                if not self._epochs.entries and self._segments.size:
                    raise CheckpointError(f"{self._path}/{LEADER_EPOCH_FILE} knows no epoch")
        except CheckpointError as error:
            log.warning("%s: %s; all batches are checked to make it anew", self.name, error)
            self._epochs.clear()
            return False
        return True

    def _find_segments(self, names: Sequence[str]) -> None:
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
                    self._disk.unlink(f"{self._path}/{name}")
                continue
            segment = self._factory.existing(int(stem), self._config)
            self._segments.add(segment)
            if stem + INDEX_SUFFIX not in present or stem + TIME_INDEX_SUFFIX not in present:
                self._indexless.append(segment)
            if len(self._segments) > 1:
                # Names come sorted, so the one before has a successor now.
                self._segments.before_active.mark_sealed()

    def _next_base(self, segment: LogSegment) -> int | None:
        higher = self._segments.higher(segment.base_offset)
        return higher.base_offset if higher is not None else None

    # Checking ----------------------------------------------------------------------------------

    def _take_in_scans(self, scan: Scan) -> None:
        """Check every batch behind the recovery point; make missing indexes of what is trusted."""
        unflushed = self._unflushed
        if unflushed:
            # The file may know epochs whose batches are lost; those that are left tell theirs.
            self._epochs.truncate_from_end(unflushed[0].base_offset)
        for segment in self._indexless:
            if segment not in unflushed:
                self._rebuild_indexes(segment)
        for segment, request in zip(unflushed, self.to_scan, strict=True):
            base_offset = segment.base_offset
            if self._producers.map_end_offset != base_offset:
                rebuild_producers(
                    self._producers, self._segments_below(base_offset),
                    min(self._checkpointed_start, base_offset), base_offset,
                    self._factory.clock.wall_ms(), snapshot=False,
                )  # fmt: skip
                # Of an older one, perhaps, which is dropped: a crash before the next sync begins here again.
                self._producers.take_snapshot()
            checked = scan(request)
            apply_scan(segment, checked, self._epochs, self._producers)
            self._checked_bytes += checked.valid_bytes
            self._scanned_end = checked.next_offset
            self._producers.take_snapshot()
            if checked.damage is not None:
                self._cut(segment, checked, checked.damage)
                return
            if self._hole_behind(checked, request.before):
                self._cut(segment, checked, f"the segment ends before the next one's offset {request.before}")
                return

    def _hole_behind(self, checked: SegmentScan, next_base: int | None) -> bool:
        """Whether the end of a segment was lost while the next one survived a power failure.

        Only compaction leaves offsets out on purpose, and only of what was synced. Apache Kafka serves such a
        log with its hole; here the log ends before it, so that what is left is what was written first.
        """
        gapless_from = self._gapless_from
        return (
            next_base is not None
            and checked.next_offset < next_base
            and checked.contiguous
            and gapless_from is not None
            and next_base > gapless_from
        )

    def _rebuild_indexes(self, segment: LogSegment) -> None:
        if segment.size:  # Apache Kafka makes an empty segment's index when it gets its first entry
            log.warning("%s: segment %d lacks an index, it is made anew", self.name, segment.base_offset)
        try:
            segment.rebuild_indexes()
        except ApiError as error:
            # What is trusted is not cut: reads up to the damage go on, those behind it are refused.
            log.error("%s", error)
        segment.write_indexes(even_if_empty=True)

    def _segments_below(self, offset: int) -> Segments:
        below = Segments()
        for segment in self._segments:
            if segment.base_offset < offset:
                below.add(segment)
        return below

    def _cut(self, segment: LogSegment, checked: SegmentScan, damage: str) -> None:
        """Cut a damaged segment and drop all behind it, from the last, so a crash leaves no hole."""
        later = [other for other in self._segments if other.base_offset > segment.base_offset]
        cut_bytes = segment.size - checked.valid_bytes
        self._truncated_bytes = cut_bytes + sum(other.size for other in later)
        log.warning(
            "%s: %s at byte %d of %s: the log ends at offset %d; %d bytes of that segment are cut off%s",
            self.name, damage, checked.valid_bytes, segment.path(LOG_SUFFIX), checked.next_offset, cut_bytes,
            _later_text(later),
        )  # fmt: skip
        for other in reversed(later):
            self._drop(other)
        if segment.sealed:
            segment.unseal()
        # As in Log.truncate_to: names first, and the cut for certain before anything is appended behind it.
        self._disk.sync_dir(self._path)
        segment.leased.file.truncate(checked.valid_bytes)
        segment.leased.file.sync()
        segment.size = checked.valid_bytes

    def _drop(self, segment: LogSegment) -> None:
        self._segments.remove(segment.base_offset)
        segment.abandon()
        for suffix in SEGMENT_SUFFIXES:
            if self._disk.exists(segment.path(suffix)):
                self._disk.unlink(segment.path(suffix))

    # The log -----------------------------------------------------------------------------------

    def _settle_ends(self) -> tuple[int, int]:
        """Make sure that there is an active segment; return the log's start and end."""
        if len(self._segments):
            end = self._scanned_end if self._scanned_end is not None else self._segments.active.next_offset()
            self._drop_segments_below(self._checkpointed_start, end)
        if not len(self._segments):
            end = self._checkpointed_start
            self._segments.add(self._factory.new(end, self._config))
        self._segments.active.remember_from(end)
        start = max(self._checkpointed_start, self._segments.first.base_offset)
        self._epochs.truncate_from_end(end)
        if start:
            self._epochs.truncate_from_start(start)
        return start, end

    def _drop_segments_below(self, log_start_offset: int, end: int) -> None:
        """When the log ends before its checkpointed start, nothing of it may be read: start over there.

        So does Apache Kafka: the checkpoint is what keeps deleted records deleted.
        """
        if end < log_start_offset:
            log.warning(
                "%s ends at %d, before the start %d of log-start-offset-checkpoint; it starts over there, "
                "and its %d bytes of records are dropped",
                self.name, end, log_start_offset, self._segments.size,
            )  # fmt: skip
            for segment in list(self._segments):
                self._drop(segment)

    def _result(self, start: int, end: int) -> OpenResult:
        """Put the log together of what was found."""
        clean, fresh, stored = self._clean, self._fresh, self._stored_topic_id
        # A stop syncs nothing of an empty log, neither names nor topic id: the first record has to.
        unsynced = fresh or not clean or not self._segments.size
        durability = Durability(
            factory=self._factory,
            segments=self._segments,
            root=self._directory.path,
            recovery_point=end if clean else min(self._recovery_point, end),
            end_offset=end,
            names_unsynced=unsynced,
            root_unsynced=unsynced,
        )
        opened = Log(
            directory=self._directory,
            topic=self._topic,
            partition=self._partition,
            config=self._config,
            factory=self._factory,
            segments=self._segments,
            durability=durability,
            leader_epochs=self._epochs,
            producers=self._producers,
            log_start_offset=start,
            log_end_offset=end,
            topic_id=stored or self._topic_id,
            topic_id_stored=stored is not None,
            topic_id_durable=stored is not None and bool(self._segments.size),
            as_closed=fresh or (clean and not self._indexless),
        )
        return OpenResult(opened, self._truncated_bytes, self._checked_bytes)


def open_log(opening: OpeningLog) -> OpenResult:
    """Open a partition's directory, or make it, at once and alone.

    Raises:
        ApiError: KAFKA_STORAGE_ERROR; the directory is offline then.
        UnsupportedLogError: old batch formats; nothing was changed.
    """
    opening.prepare()
    return opening.finish(lambda request: scan_segment(request, _tell_nobody))


def _tell_nobody(_: int) -> None:
    """A single log is read too quickly for anybody to ask how far it is."""


def _later_text(later: Sequence[LogSegment]) -> str:
    if not later:
        return ""
    names = f"segment {later[0].base_offset}"
    if len(later) > 1:
        names = f"{len(later)} segments from {later[0].base_offset} to {later[-1].base_offset}"
    return f", and all of {names} ({sum(other.size for other in later)} bytes)"


def _snapshot_offsets(names: Sequence[str]) -> list[int]:
    suffix = snapshots.SUFFIX
    return [int(n[: -len(suffix)]) for n in names if n.endswith(suffix) and is_offset(n[: -len(suffix)])]
