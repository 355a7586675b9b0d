"""What is to become of each record of the dirty range, as far as memory goes: one byte an offset.

When the offset map is built every record of the dirty range is looked at once. What is learned then need not
be found out again when segments are written: a batch all of whose records stay is copied without being
unpacked, one that loses all is left out, and of the others only the places of the records are read. Beyond
the bound, and for what was cleaned before, the map is asked.
"""

from collections.abc import Iterable, Sequence

VERDICTS_BYTES_MAX = 32 * 1024 * 1024
"""Offsets of a dirty range that have a verdict."""


class Verdicts:
    """Of the offsets from `first_offset` on.

    Args:
        first_offset: of the dirty range.
        count: how many offsets it has; no more than VERDICTS_BYTES_MAX have a verdict.

    Attributes:
        of_offsets: by offset less `first_offset`, one of the verdicts.
    """

    __slots__ = ("first_offset", "of_offsets")

    STAYS = 0
    """The last record of its key."""
    GOES = 1
    """There is a later one."""
    TOMBSTONE = 2
    """The last record of its key, and without a value."""
    KEYLESS = 3
    """It has no key, and goes."""
    UNKNOWN = 4
    """It was not put into the map: the map has to be asked."""

    def __init__(self, first_offset: int, count: int) -> None:
        self.first_offset = first_offset
        self.of_offsets = bytearray(b"\4") * max(min(count, VERDICTS_BYTES_MAX), 0)

    def mark_seen(self, offsets: Sequence[int]) -> None:
        """Say that neighbouring records go, until they are put."""
        start = offsets[0] - self.first_offset
        count = min(len(offsets), len(self.of_offsets) - start)
        if count > 0:
            self.of_offsets[start : start + count] = b"\1" * count

    def mark_tombstones(self, offsets: Iterable[int]) -> None:
        """Say that records have no value; those that do not stay are passed over."""
        verdicts, first = self.of_offsets, self.first_offset
        for offset in offsets:
            if offset - first < len(verdicts) and verdicts[offset - first] == Verdicts.STAYS:
                verdicts[offset - first] = Verdicts.TOMBSTONE

    def mark_keyless(self, offsets: Iterable[int]) -> None:
        """Say that records have no key."""
        verdicts, first = self.of_offsets, self.first_offset
        for offset in offsets:
            if offset - first < len(verdicts):
                verdicts[offset - first] = Verdicts.KEYLESS

    def of_batch(self, base_offset: int, count: int) -> bytearray | None:
        """Return the verdicts of neighbouring records; None when not all of them have one."""
        start = base_offset - self.first_offset
        if start < 0 or start + count > len(self.of_offsets):
            return None
        found = self.of_offsets[start : start + count]
        return None if Verdicts.UNKNOWN in found else found
