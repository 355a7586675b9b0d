"""The segments of one log, by base offset."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from barnabas.storage.segment import LogSegment


class Segments:
    """Ordered by base offset; floor and higher look-ups are one bisect.

    Attributes:
        active: the last one, which is appended to; missing while there is none.
    """

    __slots__ = ("_bases", "_segments", "active")

    active: LogSegment

    def __init__(self) -> None:
        self._bases: list[int] = []
        self._segments: list[LogSegment] = []

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[LogSegment]:
        return iter(self._segments)

    def add(self, segment: LogSegment) -> None:
        """Insert a segment; one of the same base offset is replaced."""
        at = bisect_left(self._bases, segment.base_offset)
        if at < len(self._bases) and self._bases[at] == segment.base_offset:
            self._segments[at] = segment
        else:
            self._bases.insert(at, segment.base_offset)
            self._segments.insert(at, segment)
        self.active = self._segments[-1]

    def remove(self, base_offset: int) -> LogSegment:
        """Take a segment out and return it."""
        at = bisect_left(self._bases, base_offset)
        assert self._bases[at] == base_offset, base_offset
        del self._bases[at]
        removed = self._segments.pop(at)
        if self._segments:
            self.active = self._segments[-1]
        else:
            del self.active
        return removed

    @property
    def first(self) -> LogSegment:
        return self._segments[0]

    @property
    def before_active(self) -> LogSegment:
        """The last but one."""
        return self._segments[-2]

    @property
    def base_offsets(self) -> list[int]:
        """Ascending; not to be changed."""
        return self._bases

    def floor(self, offset: int) -> LogSegment | None:
        """Return the segment with the greatest base offset not above `offset` (F18)."""
        at = bisect_right(self._bases, offset) - 1
        return self._segments[at] if at >= 0 else None

    def higher(self, base_offset: int) -> LogSegment | None:
        """Return the segment behind the one of `base_offset`, or None."""
        at = bisect_right(self._bases, base_offset)
        return self._segments[at] if at < len(self._segments) else None

    def from_floor(self, offset: int) -> list[LogSegment]:
        """Return the segment that would hold `offset` and all behind it."""
        return self._segments[max(bisect_right(self._bases, offset) - 1, 0) :]

    def at_or_above(self, offset: int) -> list[LogSegment]:
        """Return the segments whose base offset is at least `offset`."""
        return self._segments[bisect_left(self._bases, offset) :]

    @property
    def size(self) -> int:
        """Bytes of all segments' batches."""
        return sum(segment.size for segment in self._segments)
