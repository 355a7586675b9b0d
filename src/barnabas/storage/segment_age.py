"""The largest timestamp of a sealed segment, read from its files on any thread.

The last entry of the time index says it, twelve bytes of a file that may be millions. It is believed only
when it can be true, since records are deleted by it: an index that a killed broker left padded ends in zeros,
which read as 1970. Then the whole index is looked at, and where that cannot be true either, every batch's
header.
"""

from struct import Struct

from barnabas.base.disk import Disk
from barnabas.base.errors import ApiError
from barnabas.base.named_tuple import NamedTuple
from barnabas.protocol.record_batch import HEADER_BYTES
from barnabas.storage.batch_scan import parse_head, read_heads
from barnabas.storage.indexes.time_index import ENTRY_BYTES, NO_TIMESTAMP, TimeIndex
from barnabas.storage.segment import LOG_SUFFIX, TIME_INDEX_SUFFIX, file_stem

_ENTRY = Struct(">qI")


class SegmentAge(NamedTuple):
    """The largest record timestamp of a segment, -1 for none, and the last offset of its batch."""

    max_timestamp: int
    max_timestamp_offset: int


def read_age(disk: Disk, directory: str, base_offset: int, size: int) -> SegmentAge:
    """Return how old a segment is.

    Args:
        size: bytes of the log file that hold batches.

    Raises:
        FileNotFoundError: there is no such segment.
        OSError: the disk refuses.
    """
    stem = file_stem(directory, base_offset)
    floor = _first_timestamp(disk, stem + LOG_SUFFIX, size)
    for read in (_last_entry, _whole_index):
        try:
            age = read(disk, stem + TIME_INDEX_SUFFIX, base_offset)
        except FileNotFoundError:
            break
        if age is not None and age.max_timestamp >= floor:
            return age
    return _all_batches(disk, stem + LOG_SUFFIX, base_offset, size)


def _first_timestamp(disk: Disk, path: str, size: int) -> int:
    """Return the largest timestamp of the first batch, below which no true answer lies."""
    file = disk.open_readonly(path)
    try:
        header = file.read_at(0, min(size, HEADER_BYTES))
    finally:
        file.close()
    head = parse_head(header, 0, 0) if len(header) == HEADER_BYTES else None
    return head.max_timestamp if head is not None else NO_TIMESTAMP


def _last_entry(disk: Disk, path: str, base_offset: int) -> SegmentAge | None:
    file = disk.open_readonly(path)
    try:
        length = file.size()
        if length < ENTRY_BYTES or length % ENTRY_BYTES:
            return None
        timestamp, relative = _ENTRY.unpack(file.read_at(length - ENTRY_BYTES, ENTRY_BYTES))
    finally:
        file.close()
    return SegmentAge(timestamp, base_offset + relative) if timestamp > 0 else None


def _whole_index(disk: Disk, path: str, base_offset: int) -> SegmentAge:
    return SegmentAge(*TimeIndex.load(disk, path, base_offset).last_entry())


def _all_batches(disk: Disk, path: str, base_offset: int, size: int) -> SegmentAge:
    timestamp, offset = NO_TIMESTAMP, base_offset
    file = disk.open_readonly(path)
    try:
        for head in read_heads(file, 0, size):
            if head.max_timestamp > timestamp:
                timestamp, offset = head.max_timestamp, head.last_offset
    except ApiError:
        # There may be younger records behind the damage; the file's mtime is as young as any of them.
        return SegmentAge(NO_TIMESTAMP, base_offset)
    finally:
        file.close()
    return SegmentAge(timestamp, offset)
