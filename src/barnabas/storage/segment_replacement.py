"""Cleaned segments on their way into a log that is read and appended to meanwhile.

A cleaning leaves complete, synced `.cleaned` files. They get into the log in three steps, and a crash at any
moment leaves one that opens (`swap_files.py`):

1. `step`: all are renamed to `.swap`, the highest base offset first. As long as one `.cleaned` file is left the
   `.swap` files above it count for nothing.
2. `run`, on any thread: the directory is synced. From here on a crash goes forward.
3. `step`: segment by segment, the old files are renamed to `.deleted` and the new ones to their final names, the
   `.log` file first: a `.log.swap` file is what tells a start that the old ones must go. File systems keep the
   order of changes within a directory, so the new names are never there without the old ones being gone.

A step does a bounded amount of renaming, so that a log of thousands of segments holds up nobody. Whoever cuts the
log in between takes what is not in yet out of the way first (`undo`).

Rejected: swapping under a lock in the process that cleans. The log's memory of its segments is the loop's, and
renaming is what costs least of all.
"""

from collections.abc import Callable, Sequence

from barnabas.base.disk import Disk
from barnabas.base.enums import Enum
from barnabas.base.named_tuple import NamedTuple
from barnabas.storage.segment import LOG_SUFFIX, SEGMENT_SUFFIXES, file_stem
from barnabas.storage.swap_files import CLEANED_SUFFIX, SWAP_SUFFIX

SEGMENTS_PER_STEP = 32
"""Segments, old or new, whose files are renamed in one turn of the loop: about a millisecond."""


class NewSegment(NamedTuple):
    """A segment that was written anew, and those it replaces.

    Attributes:
        base_offset: of the new one: the first one's that it replaces.
        replaced: base offsets of the old ones, ascending.
    """

    base_offset: int
    replaced: Sequence[int]


class NextStep(Enum):
    """What a replacement needs next."""

    STEP = "step"
    """Another call of `step`, in a later turn."""
    SYNC = "sync"
    """`run`, then `synced`."""
    NOTHING = "nothing"
    """All is in."""


class SegmentReplacement:
    """One set of new segments on their way.

    Args:
        segments: in order; each replaces segments side by side, and they do not overlap.
        swap_in: replaces the old segments by the new one, whose files are `.swap` files now, in the log's own
            view; calls `rename_final` in between.

    Attributes:
        path: the partition's directory.
        is_over: all is in, or undone.
    """

    __slots__ = ("_disk", "_is_synced", "_left", "_swap_in", "_unswapped", "is_over", "path")

    def __init__(
        self, disk: Disk, path: str, segments: Sequence[NewSegment], swap_in: Callable[[NewSegment], None]
    ) -> None:
        self._disk = disk
        self.path = path
        self._unswapped = list(segments)  # files still named `.cleaned`, the next one last
        self._left = list(reversed(segments))  # not in yet, the next one last
        self._swap_in = swap_in
        self._is_synced = False
        self.is_over = not segments

    def step(self) -> NextStep:
        """Do a bounded part of what can be done now; return what comes next.

        Raises:
            OSError: the disk refuses; what is not in yet is not going to be.
        """
        if self.is_over:
            return NextStep.NOTHING
        if self._unswapped:
            for _ in range(min(SEGMENTS_PER_STEP, len(self._unswapped))):
                self._rename(self._unswapped[-1].base_offset, CLEANED_SUFFIX, SWAP_SUFFIX)
                self._unswapped.pop()
            return NextStep.STEP if self._unswapped else NextStep.SYNC
        assert self._is_synced, "a crash now could leave neither the old nor the new segments"
        room = SEGMENTS_PER_STEP
        while self._left and room > 0:
            new = self._left[-1]
            self._swap_in(new)
            self._left.pop()
            room -= 1 + len(new.replaced)
        self.is_over = not self._left
        return NextStep.NOTHING if self.is_over else NextStep.STEP

    def run(self) -> None:
        """Make the names certain; may run on any thread.

        Raises:
            OSError: the sync failed.
        """
        try:
            self._disk.sync_dir(self.path)
        except FileNotFoundError:
            return  # the partition was deleted meanwhile

    def synced(self) -> None:
        """Note that `run` is through."""
        self._is_synced = True

    def rename_final(self, base_offset: int) -> None:
        """Give the files of a new segment their names."""
        self._rename(base_offset, SWAP_SUFFIX, "")

    def undo(self) -> None:
        """Remove what is not in yet, for certain: a start must not bring it back.

        Raises:
            OSError: the disk refuses.
        """
        if self.is_over:
            return
        self.is_over = True
        lowest = file_stem(self.path, self._left[-1].base_offset) + LOG_SUFFIX
        if self._disk.exists(lowest + SWAP_SUFFIX):
            # One change makes all `.swap` files void; half of them would be worse than all or none.
            self._disk.rename(lowest + SWAP_SUFFIX, lowest + CLEANED_SUFFIX)
        left, self._left = self._left, []
        for way in (SWAP_SUFFIX, CLEANED_SUFFIX):
            for new in left:
                for suffix in SEGMENT_SUFFIXES:
                    path = file_stem(self.path, new.base_offset) + suffix + way
                    if self._disk.exists(path):
                        self._disk.unlink(path)
        self._disk.sync_dir(self.path)

    def _rename(self, base_offset: int, before: str, after: str) -> None:
        stem = file_stem(self.path, base_offset)
        for suffix in SEGMENT_SUFFIXES:
            path = stem + suffix
            if suffix == LOG_SUFFIX or self._disk.exists(path + before):
                self._disk.rename(path + before, path + after)
