"""What a cleaning is told and what it answers: plain values, so that it can run in another process.

The broker's loop makes a task of what it knows of a log at one moment; the cleaning reads the log's sealed
segments by their names, writes `.cleaned` files beside them and changes nothing else. The loop then swaps
them in. Nothing else passes between the two, so a cleaning may be killed at any moment.

Rejected: sharing the log's objects with a thread (the interpreter's lock would make serving wait for
every record that is looked at), and pickle (the other end would execute what a pipe says).
"""

from collections.abc import Callable

from barnabas.base.dataclass import dataclass
from barnabas.base.enums import Enum
from barnabas.base.hints import Protocol
from barnabas.base.named_tuple import NamedTuple
from barnabas.storage.indexes.transaction_index import AbortedTransaction

NO_DATA_OFFSET = -1


class SegmentToClean(NamedTuple):
    """A sealed segment.

    Attributes:
        size_bytes: of the `.log` file, as far as it holds batches.
        last_modified_ms: the file's mtime, which the segment that replaces it gets.
    """

    base_offset: int
    size_bytes: int
    last_modified_ms: int


class ActiveProducer(NamedTuple):
    """A producer whose state the log keeps, so that its last batch must stay, if without records.

    Attributes:
        last_data_offset: of its last record; NO_DATA_OFFSET when only a marker of it is known, whose epoch
            is `producer_epoch`.
    """

    producer_id: int
    producer_epoch: int
    last_data_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningTask:
    """One cleaning of one log.

    Attributes:
        path: the partition's directory.
        segments: all sealed segments from the log's first one that lie below `first_uncleanable_offset`, in
            order, at least one.
        first_dirty_offset: what lies below has been cleaned before.
        first_uncleanable_offset: exclusive: the base offset of the first segment that must be left alone.
        now_ms: wall time; delete horizons are set from it and compared with it (KIP-534).
        delete_retention_ms: `delete.retention.ms` of the topic.
        segment_bytes, segment_index_bytes, index_interval_bytes: bounds of the segments that are written.
        max_message_bytes: what a batch is expected to stay below; buffers grow beyond for one that does not.
        dedupe_buffer_bytes: memory of the offset map: `log.cleaner.dedupe.buffer.size` by the number of
            cleaners.
        dedupe_load_factor: `log.cleaner.io.buffer.load.factor`: how full the map may be.
        io_buffer_bytes: size of a read: `log.cleaner.io.buffer.size` by the number of cleaners.
        io_bytes_per_second_max: this cleaning's share of `log.cleaner.io.max.bytes.per.second`, which counts
            reads and writes; infinite is no bound.
        active_producers: of the log, when the task was made or later.
        aborted_beyond: aborted transactions with a record below `first_uncleanable_offset` and the marker
            in a segment that is not in `segments`; those of `segments` are read from their files.
        hash_seed: 64 random bits: keys that collide in the offset map cannot be made without knowing them.
        high_watermark: of the log, at least `first_uncleanable_offset`, which stands in for None: the batch
            before it is kept even without records.
    """

    path: str
    segments: tuple[SegmentToClean, ...]
    first_dirty_offset: int
    first_uncleanable_offset: int
    now_ms: int
    delete_retention_ms: int
    segment_bytes: int
    segment_index_bytes: int
    index_interval_bytes: int
    max_message_bytes: int
    dedupe_buffer_bytes: int
    dedupe_load_factor: float = 0.9
    io_buffer_bytes: int = 512 * 1024
    io_bytes_per_second_max: float = float("inf")
    active_producers: tuple[ActiveProducer, ...] = ()
    aborted_beyond: tuple[AbortedTransaction, ...] = ()
    hash_seed: int = 0
    high_watermark: int | None = None

    @property
    def size_bytes(self) -> int:
        """Of all segments."""
        return sum(segment.size_bytes for segment in self.segments)


class CleanedGroup(NamedTuple):
    """A new segment, complete in its `.cleaned` files, and those that it replaces.

    Attributes:
        base_offset: of the new segment: the first one's that it replaces.
        size_bytes: of its `.log` file; may be 0.
        replaced: base offsets of the old segments, ascending.
        max_timestamp: largest record timestamp, -1 when there is none.
        max_timestamp_offset: last offset of the batch that holds it; the base offset when there is none.
        last_modified_ms: the mtime that the `.log` file has got, the last old segment's.
    """

    base_offset: int
    size_bytes: int
    replaced: tuple[int, ...]
    max_timestamp: int
    max_timestamp_offset: int
    last_modified_ms: int


@dataclass(slots=True, kw_only=True)
class CleaningStatistics:
    """What a cleaning did; also while it goes on.

    Attributes:
        map_bytes_read, map_records_read: of the dirty range, to build the offset map.
        map_entries, map_entries_max: keys in the map at the end, and how many it may hold.
        bytes_read, records_read, bytes_written, records_written: when segments were written anew.
        invalid_records: records without a key, which a compacted topic cannot keep.
        batches_kept, batches_rewritten, batches_emptied, batches_dropped: as they are, with records
            taken out or a delete horizon set, kept without records for their offsets or producer, gone.
        segments_unchanged: segments of which nothing had to go, so that no new one replaces them.
        map_elapsed_ms, elapsed_ms: for the map, and for everything.
        throttled_ms: of `elapsed_ms`, slept to stay below the bound on I/O.
    """

    map_bytes_read: int = 0
    map_records_read: int = 0
    map_entries: int = 0
    map_entries_max: int = 0
    bytes_read: int = 0
    records_read: int = 0
    bytes_written: int = 0
    records_written: int = 0
    invalid_records: int = 0
    batches_kept: int = 0
    batches_rewritten: int = 0
    batches_emptied: int = 0
    batches_dropped: int = 0
    segments_unchanged: int = 0
    map_elapsed_ms: int = 0
    elapsed_ms: int = 0
    throttled_ms: int = 0


class FailureKind(Enum):
    """Why a cleaning ended without a result."""

    CORRUPT = "corrupt"
    """The log or an index of it is damaged, or holds what this broker cannot read: trying again is no use."""
    IO = "io"
    """The disk refused; `errno` tells how."""
    ABORTED = "aborted"
    """Somebody asked for it."""
    CRASHED = "crashed"
    """The process could not be started, or ended without an answer (killed for its memory, say)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningFailure:
    """Why a cleaning failed; whatever it had written is removed again, as far as the disk allows.

    Attributes:
        message: one line for a log.
        errno: of the OSError when kind is IO; else 0.
    """

    kind: FailureKind
    message: str
    errno: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningResult:
    """How a cleaning ended.

    Attributes:
        cleaned_to_offset: the next cleaning's first dirty offset, to be checkpointed after the swap.
        groups: the new segments in order; what is in none of them stays as it is. Empty after a failure.
    """

    cleaned_to_offset: int
    groups: tuple[CleanedGroup, ...]
    statistics: CleaningStatistics
    failure: CleaningFailure | None = None


class CleaningProgress(NamedTuple):
    """How far a cleaning has come.

    Attributes:
        bytes_done: read so far, for the map and for writing anew.
        bytes_expected: that there are to read, at most: a map that gets full ends its part early.
    """

    bytes_done: int
    bytes_expected: int


class Cleaning(Protocol):
    """One run of a task."""

    @property
    def progress(self) -> CleaningProgress:
        """How far it has come; from any thread."""

    def run(self) -> CleaningResult:
        """Do it; blocks, so it belongs on a helper thread. Once only.

        Never raises for what a disk or a log can do: see `CleaningResult.failure`.
        """

    def abort(self) -> None:
        """Make `run` end soon with failure ABORTED, unless it is done already; from any thread, any time."""


CleaningFactory = Callable[[CleaningTask], Cleaning]
"""Makes a cleaning: `cleaning_process.ProcessCleaning` in a process of its own, `cleaning.InProcessCleaning`
in this one (for tests and simulated disks)."""
