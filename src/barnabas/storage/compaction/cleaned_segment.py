"""The segment that a cleaning writes: four files that end in `.cleaned`, beside those they will replace.

The indexes are made while batches are written and reach the disk at the end, as those of a sealed segment.
The log file is synced every few megabytes: a gigabyte that is synced at once makes the whole disk wait, and
with it everybody who appends. Files are made anew, never taken over: a cleaning whose broker was killed may
still hold old ones.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress

from barnabas.base.disk import Buffer, Disk
from barnabas.base.named_tuple import NamedTuple
from barnabas.storage.compaction.task import CleanedGroup, SegmentToClean
from barnabas.storage.indexes.offset_index import OffsetIndex
from barnabas.storage.indexes.time_index import NO_TIMESTAMP, TimeIndex
from barnabas.storage.indexes.transaction_index import AbortedTransaction, TransactionIndex
from barnabas.storage.segment import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    RELATIVE_OFFSET_MAX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    file_stem,
)
from barnabas.storage.swap_files import CLEANED_SUFFIX

SYNC_INTERVAL_BYTES = 8 * 1024 * 1024
"""Written between two syncs."""


class CleaningDamageError(Exception):
    """What is to be cleaned is damaged, or is not what a log of this broker can be."""


class WrittenBatch(NamedTuple):
    """A batch for the new segment."""

    content: Buffer
    last_offset: int
    max_timestamp: int


class CleanedSegment:
    """A segment in the making.

    Args:
        path: the partition's directory.
        base_offset: of the first segment that it replaces.

    Attributes:
        size: bytes written to the log file.
    """

    __slots__ = (
        "_base_offset",
        "_disk",
        "_file",
        "_index_interval_bytes",
        "_max_timestamp",
        "_max_timestamp_offset",
        "_offset_index",
        "_since_entry",
        "_since_sync",
        "_stem",
        "_time_index",
        "_transaction_index",
        "size",
    )

    def __init__(self, disk: Disk, path: str, base_offset: int, index_interval_bytes: int) -> None:
        """Make the log file.

        Raises:
            OSError: the disk refuses, or the file is there.
        """
        self._disk = disk
        self._base_offset = base_offset
        self._index_interval_bytes = index_interval_bytes
        self._stem = file_stem(path, base_offset)
        self._file = disk.open(self._stem + LOG_SUFFIX + CLEANED_SUFFIX, create=True, exclusive=True)
        self._offset_index = OffsetIndex(base_offset)
        self._time_index = TimeIndex(base_offset)
        self._transaction_index = TransactionIndex()
        self._max_timestamp, self._max_timestamp_offset = NO_TIMESTAMP, base_offset
        self._since_entry = self._since_sync = 0
        self.size = 0

    def append(self, batches: Sequence[WrittenBatch]) -> int:
        """Write batches behind the others; return their bytes.

        Raises:
            CleaningDamageError: an offset is too far from the base offset.
            OSError: the disk refuses.
        """
        if not batches:
            return 0
        if batches[-1].last_offset - self._base_offset > RELATIVE_OFFSET_MAX:
            raise CleaningDamageError(
                f"offset {batches[-1].last_offset} is beyond what a segment from {self._base_offset} may hold"
            )
        position = self.size
        for content, last_offset, max_timestamp in batches:
            if max_timestamp > self._max_timestamp:
                self._max_timestamp, self._max_timestamp_offset = max_timestamp, last_offset
            if self._since_entry > self._index_interval_bytes:
                self._offset_index.append(last_offset, position)
                self._time_index.maybe_append(self._max_timestamp, self._max_timestamp_offset)
                self._since_entry = 0
            position += len(content)
            self._since_entry += len(content)
        written = self._file.write_at(self.size, [batch.content for batch in batches])
        self.size += written
        self._since_sync += written
        if self._since_sync >= SYNC_INTERVAL_BYTES:
            self._file.sync()
            self._since_sync = 0
        return written

    def add_aborted(self, transaction: AbortedTransaction) -> None:
        """Keep an aborted transaction, whose marker is kept, in the transaction index."""
        self._transaction_index.append(transaction)

    def finish(self, replaced: Sequence[SegmentToClean]) -> CleanedGroup:
        """Write the indexes, sync all files, and give the log file the mtime of the last one it replaces.

        The names are not synced.
        """
        self._time_index.maybe_append(self._max_timestamp, self._max_timestamp_offset)
        paths = [self._stem + suffix + CLEANED_SUFFIX for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX)]
        self._offset_index.write(self._disk, paths[0])
        self._time_index.write(self._disk, paths[1])
        if len(self._transaction_index):
            paths.append(self._stem + TRANSACTION_INDEX_SUFFIX + CLEANED_SUFFIX)
            self._transaction_index.write(self._disk, paths[2])
        _sync_files(self._disk, paths)
        last_modified_ms = replaced[-1].last_modified_ms
        self._disk.set_mtime_ms(self._file.path, last_modified_ms)
        self._file.sync()
        return CleanedGroup(
            self._base_offset,
            self.size,
            tuple(segment.base_offset for segment in replaced),
            self._max_timestamp,
            self._max_timestamp_offset,
            last_modified_ms,
        )

    def close(self) -> None:
        """Close the log file; closing twice is harmless."""
        self._file.close()

    def remove(self) -> None:
        """Remove the log file, before `finish`."""
        self._disk.unlink(self._file.path)


def _sync_files(disk: Disk, paths: Iterable[str]) -> None:
    for path in paths:
        file = disk.open(path)
        try:
            file.sync()
        finally:
            file.close()


def remove_cleaned_files(disk: Disk, path: str) -> None:
    """Remove what a cleaning of this partition left, as far as the disk allows.

    What cannot be removed is removed when the log is next opened, or cleaned.
    """
    with suppress(OSError):
        for name in disk.list_dir(path):
            if name.endswith(CLEANED_SUFFIX):
                disk.unlink(f"{path}/{name}")
