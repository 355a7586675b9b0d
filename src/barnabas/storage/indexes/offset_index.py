"""The sparse offset index of a segment: `.index`, 8 bytes an entry.

Relative last offset of a batch (u32) and the byte position where that batch starts (u32), ascending.
Entries live in two machine arrays, so a look-up is one bisect in C, and reach the file when the segment
rolls, flushes or closes: whatever lies beyond the recovery point is rebuilt from the log after a crash
anyway, so a write per entry would buy nothing. Mapping the file as Kafka does needs preallocation and a
trim before every clean stop; an unmapped file never has padding.
"""

import sys
from array import array
from bisect import bisect_left, bisect_right

from barnabas.base.disk import Disk, DiskFile
from barnabas.protocol.record_batch import HEADER_BYTES
from barnabas.storage.batch_scan import parse_head
from barnabas.storage.indexes.index_file import read_entries, write_entries

ENTRY_BYTES = 8
_LITTLE = sys.byteorder == "little"


class OffsetIndex:
    """The entries of one segment.

    Args:
        base_offset: the segment's.
    """

    __slots__ = ("_offsets", "_positions", "_written", "base_offset")

    def __init__(self, base_offset: int) -> None:
        self.base_offset = base_offset
        self._offsets = array("I")
        self._positions = array("I")
        self._written = 0  # entries that the file holds as they are here

    @classmethod
    def load(cls, disk: Disk, path: str, base_offset: int) -> "OffsetIndex":
        """Read a file, without the zeros that a killed Kafka leaves behind the entries.

        Raises:
            OSError: it cannot be read; FileNotFoundError when there is none.
        """
        content = read_entries(disk, path)
        whole = len(content) - len(content) % ENTRY_BYTES
        words = array("I", content[:whole])
        if _LITTLE:
            words.byteswap()
        index = cls(base_offset)
        index._offsets = words[0::2]
        index._positions = words[1::2]
        # No entry ever has position 0: the first batch of a segment gets none.
        count = len(index._positions)
        while count and index._positions[count - 1] == 0:
            count -= 1
        del index._offsets[count:], index._positions[count:]
        index._written = count if count * ENTRY_BYTES == len(content) else -1
        return index

    @classmethod
    def made_of(cls, base_offset: int, offsets: "array[int]", positions: "array[int]") -> "OffsetIndex":
        """Return an index with these entries, which the file does not hold yet.

        Args:
            offsets: relative last offsets, ascending.
            positions: where those batches begin.
        """
        index = cls(base_offset)
        index._offsets, index._positions, index._written = offsets, positions, -1
        return index

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def size(self) -> int:
        """Bytes of all entries."""
        return len(self._offsets) * ENTRY_BYTES

    def append(self, last_offset: int, position: int) -> None:
        """Add an entry behind all others.

        Args:
            last_offset: of the batch at `position`, absolute.
        """
        relative = last_offset - self.base_offset
        assert not self._offsets or relative > self._offsets[-1], f"offset {last_offset} does not ascend"
        self._offsets.append(relative)
        self._positions.append(position)

    def lookup(self, offset: int) -> tuple[int, int]:
        """Return (offset, position) of the last entry at or below `offset`; (base offset, 0) when none is."""
        relative = offset - self.base_offset
        at = bisect_right(self._offsets, relative) - 1 if relative >= 0 else -1
        if at < 0:
            return self.base_offset, 0
        return self.base_offset + self._offsets[at], self._positions[at]

    def offset_at_or_after(self, position: int) -> int | None:
        """Return the offset of the first entry whose position is at least `position` (F17), or None.

        A first entry at exactly `position` is passed over, as Kafka's search does: what is bounded by the
        answer may only get longer by it, and is then the same as Kafka's.
        """
        at = bisect_left(self._positions, position)
        if at == 0 and self._positions and self._positions[0] == position:
            at = 1
        return self.base_offset + self._offsets[at] if at < len(self._positions) else None

    def position_before(self, position: int) -> int:
        """Return the largest position of an entry below `position`; 0 when there is none."""
        at = bisect_left(self._positions, position) - 1
        return self._positions[at] if at >= 0 else 0

    def last_entry(self) -> tuple[int, int]:
        """Return (offset, position) of the last entry; (base offset, 0) when empty."""
        if not self._offsets:
            return self.base_offset, 0
        return self.base_offset + self._offsets[-1], self._positions[-1]

    def entry(self, number: int) -> tuple[int, int]:
        """Return (offset, position) of one entry."""
        return self.base_offset + self._offsets[number], self._positions[number]

    def truncate_to(self, offset: int) -> None:
        """Drop every entry at or beyond `offset`."""
        count = bisect_left(self._offsets, max(offset - self.base_offset, 0))
        if count < len(self._offsets):
            del self._offsets[count:], self._positions[count:]
            self._written = -1

    def clear(self) -> None:
        """Drop all entries."""
        self._offsets = array("I")
        self._positions = array("I")
        self._written = -1

    @property
    def unwritten(self) -> bool:
        """Whether the file differs from what is here."""
        return self._written != len(self._offsets)

    def write(self, disk: Disk, path: str) -> None:
        """Bring the file up to date; it is exactly as long as its entries then."""
        first = max(self._written, 0)
        words = array("I", bytes((len(self._offsets) - first) * ENTRY_BYTES))
        words[0::2] = self._offsets[first:]
        words[1::2] = self._positions[first:]
        if _LITTLE:
            words.byteswap()
        write_entries(disk, path, words.tobytes(), self._written * ENTRY_BYTES)
        self._written = len(self._offsets)


def last_entry_fits(index: OffsetIndex, file: DiskFile, size: int) -> bool:
    """Whether the last entry points at the batch it should; earlier damage shows when it is used.

    Args:
        file, size: the segment's log file and how much of it holds batches.
    """
    offset, position = index.last_entry()
    if position == 0:
        return True
    if position + HEADER_BYTES > size:
        return False
    header = file.read_at(position, HEADER_BYTES)
    head = parse_head(header, 0, position) if len(header) == HEADER_BYTES else None
    return head is not None and head.last_offset == offset
