"""One segment of a log: a file of record batches, its three indexes, and reading between them.

Only the last segment of a log is appended to. When many are in use (SegmentCache) the longest unused give
their descriptors back, sealed ones their indexes too, and take them up again when they are read. The places
of the most recent batches are kept besides the sparse index, so a consumer at the tail costs no read at all.
A slice leases the file: whatever happens to the segment, a response in flight ends well (F22).
"""

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from barnabas.base.disk import Buffer, Disk
from barnabas.base.errors import ApiError
from barnabas.base.region import FileSlice, LeasedFile
from barnabas.protocol.record_batch import HEADER_BYTES
from barnabas.storage import batch_scan, cold_lookup
from barnabas.storage.indexes.offset_index import OffsetIndex, last_entry_fits
from barnabas.storage.indexes.time_index import NO_TIMESTAMP, TimeIndex
from barnabas.storage.indexes.transaction_index import TransactionIndex
from barnabas.storage.segment_cache import SegmentCache
from barnabas.storage.segment_files import rename_to_deleted, sync_files

LOG_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
TRANSACTION_INDEX_SUFFIX = ".txnindex"
SEGMENT_SUFFIXES = (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)

RELATIVE_OFFSET_MAX = batch_scan.RELATIVE_OFFSET_MAX

_NOTHING_RECENT = 2**63 - 1
RECENT_BATCHES_MAX = 128
"""Places of the newest batches a segment remembers: more than `index.interval.bytes` holds of small ones,
and 1.5 KiB a partition."""


def file_stem(directory: str, offset: int) -> str:
    """Return the path of a segment's files without their suffix: 20 digits name the base offset."""
    return f"{directory}/{offset:020d}"


class LogSegment:
    """The batches from `base_offset` up to the next segment's.

    Args:
        directory: the partition's directory.
        created_ms: wall time, rolls segments whose records have no timestamp.
        index_interval_bytes: see LogConfig.
        jitter_ms: drawn from segment.jitter.ms; makes this segment roll so much earlier.

    Attributes:
        size: bytes of the file that hold batches; whoever opens an existing one sets it.
        first_timestamp: largest of the first batch, where segment.ms begins; -1: it has none, None: not read.
        index_grew: the indexes may hold more than when somebody looked how full they are, and cleared it.
        indexes_rebuilt: they were made anew of the batches, and are no more to be suspected.
    """

    __slots__ = (
        "_cache",
        "_disk",
        "_leased",
        "_max_timestamp",
        "_max_timestamp_offset",
        "_offset_index",
        "_recent_floor",
        "_recent_offsets",
        "_recent_positions",
        "_time_index",
        "_transaction_index",
        "base_offset",
        "bytes_since_index_entry",
        "created_ms",
        "directory",
        "first_timestamp",
        "index_grew",
        "index_interval_bytes",
        "indexes_rebuilt",
        "jitter_ms",
        "sealed",
        "size",
    )

    def __init__(
        self,
        *,
        disk: Disk,
        cache: SegmentCache,
        directory: str,
        base_offset: int,
        created_ms: int,
        index_interval_bytes: int,
        jitter_ms: int,
    ) -> None:
        self._disk = disk
        self._cache = cache
        self.directory = directory
        self.base_offset = base_offset
        self.size = 0
        self.created_ms = created_ms
        self.index_interval_bytes = index_interval_bytes
        self.jitter_ms = jitter_ms
        self.sealed = False
        self.indexes_rebuilt = False
        self.index_grew = True
        self.first_timestamp: int | None = None
        self.bytes_since_index_entry = 0
        self._leased: LeasedFile | None = None
        self._offset_index: OffsetIndex | None = None
        self._time_index: TimeIndex | None = None
        self._transaction_index: TransactionIndex | None = None
        self._max_timestamp: int | None = None
        self._max_timestamp_offset = base_offset
        self._forget_recent()

    def index_paths(self) -> list[str]:
        """Return the paths of the index files; not every segment has each."""
        return [self.path(suffix) for suffix in SEGMENT_SUFFIXES[1:]]

    def create_files(self) -> None:
        """Make the segment's files, empty; what lies there under the same names is emptied.

        Raises:
            OSError: the disk refuses.
        """
        file = self._disk.open(self.path(LOG_SUFFIX), create=True)
        if file.size():
            file.truncate(0)
        self._leased = LeasedFile(file)
        self._cache.opened(self)
        self.reset_indexes()
        self.write_indexes(even_if_empty=True)
        self.remember_from(self.base_offset)

    def __repr__(self) -> str:
        return f"LogSegment({self.path('')}, {self.size} bytes)"

    def path(self, suffix: str) -> str:
        """Return the path of one of the segment's files."""
        return file_stem(self.directory, self.base_offset) + suffix

    # What is loaded on demand ------------------------------------------------------------------

    @property
    def leased(self) -> LeasedFile:
        """The open log file; to be used at once, since opening another segment's may close it."""
        if self._leased is None:
            self._leased = LeasedFile(self._disk.open(self.path(LOG_SUFFIX)))
            self._cache.opened(self)
        else:
            self._cache.used(self)
        return self._leased

    @property
    def offset_index(self) -> OffsetIndex:
        if self._offset_index is None:
            self._load_indexes()
        assert self._offset_index is not None
        return self._offset_index

    @property
    def time_index(self) -> TimeIndex:
        if self._time_index is None:
            self._load_indexes()
        assert self._time_index is not None
        return self._time_index

    @property
    def transaction_index(self) -> TransactionIndex:
        if self._transaction_index is None:
            self._transaction_index = TransactionIndex.load(self._disk, self.path(TRANSACTION_INDEX_SUFFIX))
        return self._transaction_index

    @property
    def held_index_bytes(self) -> int:
        """Bytes of index entries in memory."""
        offsets, times = self._offset_index, self._time_index
        return (offsets.size if offsets is not None else 0) + (times.size if times is not None else 0)

    def _load_indexes(self) -> None:
        """Read both indexes; rebuild them from the log when they are missing or lie about it."""
        try:
            self._offset_index = OffsetIndex.load(self._disk, self.path(INDEX_SUFFIX), self.base_offset)
            self._time_index = TimeIndex.load(self._disk, self.path(TIME_INDEX_SUFFIX), self.base_offset)
        except FileNotFoundError:
            self.rebuild_indexes()
        assert self._offset_index is not None
        if not last_entry_fits(self._offset_index, self.leased.file, self.size):
            self.rebuild_indexes()
        if self.sealed:
            self._cache.loaded(self)

    def rebuild_indexes(self) -> None:
        """Make the offset and time index anew from the batch headers, without checking the batches.

        Raises:
            ApiError: CORRUPT_MESSAGE, a header cannot be one.
        """
        before = self._offset_index, self._time_index, self._max_timestamp, self._max_timestamp_offset
        self.indexes_rebuilt = True
        self._start_indexes()
        next_offset = self.base_offset
        try:
            for head in batch_scan.read_heads_in_order(self.leased.file, self.size, self.base_offset):
                self.note_batch(head.position, head.size, head.last_offset, head.max_timestamp)
                next_offset = head.last_offset + 1
        except ApiError:
            if before[0] is not None:
                # The log is damaged, not the index, which leads behind the damage.
                self._offset_index, self._time_index, self._max_timestamp, self._max_timestamp_offset = before
            raise
        if self.sealed:
            self.time_index.maybe_append(self.max_timestamp, self._max_timestamp_offset)
            self.write_indexes()
        else:
            self.remember_from(next_offset)

    def _start_indexes(self) -> None:
        self._offset_index, self._time_index = OffsetIndex(self.base_offset), TimeIndex(self.base_offset)
        self._offset_index.clear()
        self._time_index.clear()
        self._max_timestamp, self._max_timestamp_offset = NO_TIMESTAMP, self.base_offset
        self.bytes_since_index_entry = 0
        self._forget_recent()

    def reset_indexes(self) -> None:
        """Start over with empty indexes and an empty memory; the batches are noted anew."""
        self._start_indexes()
        self._transaction_index = TransactionIndex()
        self._transaction_index.clear()

    def adopt_indexes(
        self, offset_index: OffsetIndex, time_index: TimeIndex, max_timestamp: int, max_timestamp_offset: int
    ) -> None:
        """Take over indexes that were made of all batches, and write them (not synced)."""
        self._offset_index, self._time_index = offset_index, time_index
        self._max_timestamp, self._max_timestamp_offset = max_timestamp, max_timestamp_offset
        self.first_timestamp = None
        self.finish_indexes()

    def drop_indexes(self) -> None:
        """Give the indexes back; only for a sealed segment, whose indexes are on disk."""
        assert self.sealed
        self._offset_index = self._time_index = self._transaction_index = None
        self._forget_recent()

    def close_file(self) -> None:
        """Give the descriptor back; it is opened again when needed."""
        if self._leased is not None:
            self._leased.release()
            self._leased = None

    def continue_in(self, directory: str) -> None:
        """Go on with the same files in another directory; slices in flight keep the old ones open."""
        self._cache.closed(self)
        self.close_file()
        self.directory = directory

    def _forget_recent(self) -> None:
        self._recent_floor = _NOTHING_RECENT  # last offset before the remembered batches
        self._recent_offsets = array("q")
        self._recent_positions = array("q")

    # Time --------------------------------------------------------------------------------------

    @property
    def max_timestamp(self) -> int:
        """Largest record timestamp, -1 when no record has one."""
        if self._max_timestamp is None:
            self._max_timestamp, self._max_timestamp_offset = self.time_index.last_entry()
        return self._max_timestamp

    @property
    def knows_max_timestamp(self) -> bool:
        """Whether `max_timestamp` is known without a look at the time index."""
        return self._max_timestamp is not None

    def learn_age(self, max_timestamp: int, max_timestamp_offset: int) -> None:
        """Take over what somebody read of a sealed segment's files, if it is not known by now."""
        if self.sealed and self._max_timestamp is None:
            self._max_timestamp, self._max_timestamp_offset = max_timestamp, max_timestamp_offset

    @property
    def mtime_ms(self) -> int:
        """When the log file was changed last."""
        return self._disk.mtime_ms(self.path(LOG_SUFFIX))

    @property
    def max_timestamp_offset(self) -> int:
        """Last offset of the batch that holds `max_timestamp`."""
        assert self.max_timestamp >= NO_TIMESTAMP
        return self._max_timestamp_offset

    @property
    def largest_timestamp(self) -> int:
        """What retention by time goes by: `max_timestamp`, or the file's mtime when there is none."""
        largest = self.max_timestamp
        return largest if largest >= 0 else self.mtime_ms

    def read_first_timestamp(self) -> int:
        """Return `first_timestamp`, after a look into the file if it is not known."""
        if self.first_timestamp is None:
            header = self.leased.file.read_at(0, HEADER_BYTES) if self.size else b""
            head = batch_scan.parse_head(header, 0, 0) if len(header) == HEADER_BYTES else None
            self.first_timestamp = head.max_timestamp if head is not None else NO_TIMESTAMP
        return self.first_timestamp

    # Appending ---------------------------------------------------------------------------------

    def append(self, parts: Sequence[Buffer]) -> int:
        """Write batches at the end in one call and return the position; `note_batch` must follow for each.

        Raises:
            OSError: the disk refuses; the file is cut back to what it held, if it lets us.
        """
        position = self.size
        file = self.leased.file
        try:
            self.size = position + file.write_at(position, parts)
        except OSError:
            with suppress(OSError):  # the first error tells more; recovery cuts what is left behind `size`
                file.truncate(position)
            raise
        return position

    def note_batch(self, position: int, size: int, last_offset: int, max_timestamp: int) -> None:
        """Account for a batch that was written: largest timestamp, indexes, recent places (F19)."""
        if position == 0:
            self.first_timestamp = max_timestamp
        known = self._max_timestamp
        if known is None:
            known = self.max_timestamp
        if max_timestamp > known:
            self._max_timestamp = max_timestamp
            self._max_timestamp_offset = last_offset
        if self.bytes_since_index_entry > self.index_interval_bytes:
            self.offset_index.append(last_offset, position)
            self.time_index.maybe_append(self.max_timestamp, self._max_timestamp_offset)
            self.bytes_since_index_entry = 0
            self.index_grew = True
        self.bytes_since_index_entry += size
        if last_offset > self._recent_floor:  # which nothing is while there is no memory
            offsets = self._recent_offsets
            offsets.append(last_offset)
            self._recent_positions.append(position)
            if len(offsets) >= RECENT_BATCHES_MAX:
                drop = RECENT_BATCHES_MAX // 2
                self._recent_floor = offsets[drop - 1]
                del offsets[:drop], self._recent_positions[:drop]

    def remember_from(self, log_end_offset: int) -> None:
        """Remember the places of batches appended from now on, when the log ends at `log_end_offset`."""
        self._forget_recent()
        self._recent_floor = log_end_offset - 1

    # Finding -----------------------------------------------------------------------------------

    def remembers(self, offset: int) -> bool:
        """Whether `find` knows the place of `offset` without a look at index or file."""
        return offset > self._recent_floor

    def find(self, offset: int, may_wait: bool = True) -> tuple[int, int] | None:
        """Return (position, size) of the first batch whose last offset is at least `offset`, or None (F19).

        Raises:
            ApiError: CORRUPT_MESSAGE, the segment is damaged there.
            ColdReadError: it would wait for the disk, and may not (F44).
        """
        if offset > self._recent_floor:
            recent = self._recent_offsets
            at = bisect_left(recent, offset)
            if at == len(recent):
                return None
            positions = self._recent_positions
            position = positions[at]
            return position, (positions[at + 1] if at + 1 < len(recent) else self.size) - position
        if not may_wait:
            self.require_indexes()
        _, start = self.offset_index.lookup(offset)
        file = self.leased.file
        read_at = file.read_at if may_wait else partial(cold_lookup.try_read_at, self.leased, self.size)
        try:
            place = batch_scan.find_offset(file, start, self.size, offset, read_at)
        except ApiError:
            if start == 0 or self.indexes_rebuilt:
                raise
            self.rebuild_indexes()
            _, start = self.offset_index.lookup(offset)
            place = batch_scan.find_offset(file, start, self.size, offset)
        return None if place is None else (place.position, place.size)

    def require_indexes(self) -> None:
        """Raise ColdReadError when loading the offset and time index would wait for the disk (F44)."""
        if self._offset_index is None:
            cold_lookup.require_indexes(
                self._disk, self.path(INDEX_SUFFIX), self.path(TIME_INDEX_SUFFIX), self.leased, self.size
            )

    def require_transaction_index(self) -> None:
        """Raise ColdReadError when loading the transaction index would wait for the disk (F44)."""
        if self._transaction_index is None:
            cold_lookup.require_files(self._disk, (self.path(TRANSACTION_INDEX_SUFFIX),))

    def base_offset_at(self, position: int) -> int:
        """Return the base offset of the batch at `position`."""
        return int.from_bytes(self.leased.file.read_at(position, 8), "big")

    def slice(self, position: int, length: int) -> FileSlice:
        """Lease `length` bytes from `position`."""
        return FileSlice(self.leased, position, length)

    # Indexes on disk, flushing, closing ----------------------------------------------------------

    def finish_indexes(self) -> None:
        """Give the time index its last entry and write the indexes, not synced."""
        if self.size:
            self.time_index.maybe_append(self.max_timestamp, self._max_timestamp_offset)
        self.write_indexes()

    def seal(self) -> None:
        """Finish the indexes of a segment that gets no more batches."""
        self.finish_indexes()
        self.mark_sealed()

    def mark_sealed(self) -> None:
        """Say that the segment gets no more batches and its indexes are on disk."""
        self.sealed = True
        if self._offset_index is not None:
            self._cache.loaded(self)

    def unseal(self) -> None:
        """Make the segment the active one again, after a truncation removed the later ones."""
        self.sealed = False
        self._cache.forget(self)

    def write_indexes(self, *, even_if_empty: bool = False) -> None:
        """Bring the index files up to date with memory."""
        for index, suffix in ((self._offset_index, INDEX_SUFFIX), (self._time_index, TIME_INDEX_SUFFIX)):
            if index is not None and (index.unwritten or even_if_empty):
                index.write(self._disk, self.path(suffix))
        if self._transaction_index is not None and self._transaction_index.unwritten:
            self._transaction_index.write(self._disk, self.path(TRANSACTION_INDEX_SUFFIX))

    def sync_indexes(self) -> None:
        """Make the index files, as they were written, durable."""
        sync_files(self._disk, self.index_paths())

    def truncate_to(self, position: int, offset: int) -> None:
        """Cut the log file at `position`, where the batch of `offset` began, and the indexes at `offset`.

        The cut is synced: old batches that came back behind new ones would pass every check.
        """
        indexes = self.offset_index, self.time_index, self.transaction_index
        file = self.leased.file
        file.truncate(position)
        file.sync()
        self.size = position
        for index in indexes:
            index.truncate_to(offset)
        self._max_timestamp, self._max_timestamp_offset = self._scan_max_timestamp()
        self.bytes_since_index_entry = 0
        if position == 0:
            self.first_timestamp = None
        self.remember_from(offset)

    def _scan_max_timestamp(self) -> tuple[int, int]:
        """Return the largest timestamp and its batch's last offset: the index, then the headers behind it."""
        timestamp, offset = self.time_index.last_entry()
        start = self.offset_index.lookup(offset)[1]
        for head in batch_scan.read_heads(self.leased.file, start, self.size):
            if head.max_timestamp > timestamp:
                timestamp, offset = head.max_timestamp, head.last_offset
        return timestamp, offset

    def next_offset(self) -> int:
        """Return the offset behind the last batch, by walking the headers behind the last index entry."""
        offset = self.base_offset
        if not self.size:
            return offset  # most partitions of many are empty: their indexes need not be read to know
        start = self.offset_index.last_entry()[1]
        for head in batch_scan.read_heads(self.leased.file, start, self.size):
            offset = head.last_offset + 1
        return offset

    def abandon(self) -> None:
        """Let go of the file without writing anything: it is deleted, or its disk has failed."""
        self._cache.forget(self)
        self._cache.closed(self)
        self.close_file()

    def mark_deleted(self) -> list[str]:
        """Rename the files to `.deleted` and return the new paths; readers in flight are not disturbed."""
        self.abandon()
        return rename_to_deleted(self._disk, [self.path(suffix) for suffix in SEGMENT_SUFFIXES])
