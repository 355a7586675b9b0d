"""The sparse time index of a segment: `.timeindex`, 12 bytes an entry.

Timestamp (i64) and relative offset (u32): no record up to that offset is later than that timestamp.
Timestamps ascend strictly, since an entry is only made when the maximum has grown. Kept in memory and
written as the offset index is, for the same reason.
"""

import sys
from array import array
from bisect import bisect_left, bisect_right

from barnabas.base.disk import Disk
from barnabas.storage.indexes.index_file import read_entries, write_entries

ENTRY_BYTES = 12
NO_TIMESTAMP = -1
_LITTLE = sys.byteorder == "little"
_HIGH, _LOW = (1, 0) if _LITTLE else (0, 1)


class TimeIndex:
    """The entries of one segment.

    Args:
        base_offset: the segment's.
    """

    __slots__ = ("_offsets", "_timestamps", "_written", "base_offset")

    def __init__(self, base_offset: int) -> None:
        self.base_offset = base_offset
        self._timestamps = array("q")
        self._offsets = array("I")
        self._written = 0

    @classmethod
    def load(cls, disk: Disk, path: str, base_offset: int) -> "TimeIndex":
        """Read a file, without the zeros that a killed Kafka leaves behind the entries.

        Raises:
            OSError: it cannot be read; FileNotFoundError when there is none.
        """
        content = read_entries(disk, path)
        index = cls(base_offset)
        words = array("I", content[: len(content) - len(content) % ENTRY_BYTES])
        if _LITTLE:
            words.byteswap()
        count = len(words) // 3
        halves = array("I", bytes(count * 8))
        halves[_HIGH::2] = words[0::3]
        halves[_LOW::2] = words[1::3]
        index._timestamps = array("q", halves.tobytes())
        index._offsets = words[2::3]
        # Padding reads as timestamp 0 at relative offset 0, which can only be the first entry.
        while count and index._timestamps[count - 1] == 0 and index._offsets[count - 1] == 0:
            if count == 1 and len(content) == ENTRY_BYTES:
                break
            count -= 1
        del index._offsets[count:], index._timestamps[count:]
        index._written = count if count * ENTRY_BYTES == len(content) else -1
        return index

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def size(self) -> int:
        """Bytes of all entries."""
        return len(self._offsets) * ENTRY_BYTES

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Add an entry if the maximum timestamp has grown.

        Args:
            timestamp: the largest so far in the segment; -1 when no record has one.
            offset: last offset of the batch that brought it, absolute.
        """
        if timestamp > (self._timestamps[-1] if self._timestamps else NO_TIMESTAMP):
            self._timestamps.append(timestamp)
            self._offsets.append(offset - self.base_offset)

    def lookup(self, timestamp: int) -> tuple[int, int]:
        """Return (timestamp, offset) of the last entry at or below `timestamp`, or (-1, base offset)."""
        at = bisect_right(self._timestamps, timestamp) - 1
        if at < 0:
            return NO_TIMESTAMP, self.base_offset
        return self._timestamps[at], self.base_offset + self._offsets[at]

    def last_entry(self) -> tuple[int, int]:
        """Return (timestamp, offset) of the last entry; (-1, base offset) when empty."""
        if not self._timestamps:
            return NO_TIMESTAMP, self.base_offset
        return self._timestamps[-1], self.base_offset + self._offsets[-1]

    def entry(self, number: int) -> tuple[int, int]:
        """Return (timestamp, offset) of one entry."""
        return self._timestamps[number], self.base_offset + self._offsets[number]

    def truncate_to(self, offset: int) -> None:
        """Drop every entry at or beyond `offset`."""
        count = bisect_left(self._offsets, max(offset - self.base_offset, 0))
        if count < len(self._offsets):
            del self._offsets[count:], self._timestamps[count:]
            self._written = -1

    def clear(self) -> None:
        """Drop all entries."""
        self._timestamps = array("q")
        self._offsets = array("I")
        self._written = -1

    @property
    def unwritten(self) -> bool:
        """Whether the file differs from what is here."""
        return self._written != len(self._offsets)

    def write(self, disk: Disk, path: str) -> None:
        """Bring the file up to date; it is exactly as long as its entries then."""
        first = max(self._written, 0)
        count = len(self._offsets) - first
        halves = array("I", self._timestamps[first:].tobytes())
        words = array("I", bytes(count * ENTRY_BYTES))
        words[0::3] = halves[_HIGH::2]
        words[1::3] = halves[_LOW::2]
        words[2::3] = self._offsets[first:]
        if _LITTLE:
            words.byteswap()
        write_entries(disk, path, words.tobytes(), self._written * ENTRY_BYTES)
        self._written = len(self._offsets)
