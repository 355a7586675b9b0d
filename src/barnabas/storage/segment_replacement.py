"""Cleaned segments on their way into a log that is read and appended to meanwhile.

A cleaning leaves complete, synced `.cleaned` files. One new segment after the other gets into the log, the
lowest offsets first, as in Apache Kafka; a crash at any moment leaves a log that opens (`swap_files.py`):

1. `step` renames its files to `.swap`. As long as one of them is still named `.cleaned` they count for
   nothing.
2. `run`, on any thread, syncs the directory. From here on a crash goes forward.
3. The next `step` renames the old files to `.deleted` and the new ones to their final names, the `.log` file
   first: a `.log.swap` file is what tells a start that old ones must go. File systems keep the order of
   changes within a directory, so the new names are never there without the old ones being gone.

In between the log is as it would be had the cleaning ended there. All at once was rejected: a start could not
tell which old segments go with which new ones, and a value without the tombstone behind it would be back.
"""

from collections.abc import Callable, Sequence

from barnabas.base.disk import Disk
from barnabas.base.hints import Protocol
from barnabas.storage.segment import LOG_SUFFIX, SEGMENT_SUFFIXES, file_stem
from barnabas.storage.swap_files import CLEANED_SUFFIX, SWAP_SUFFIX


class NewSegment(Protocol):
    """A segment that was written anew, and those it replaces."""

    @property
    def base_offset(self) -> int:
        """The first one's that it replaces."""

    @property
    def replaced(self) -> Sequence[int]:
        """Base offsets of the old ones, ascending."""


class SegmentReplacement:
    """One set of new segments on their way.

    Args:
        path: the partition's directory.
        segments: in order; each replaces segments side by side, and they do not overlap.
        swap_in: puts a new segment, whose files are named `.swap` now, in the place of the old ones, in names
            and in the log's memory.

    Attributes:
        is_over: all is in, or undone.
    """

    __slots__ = ("_disk", "_is_synced", "_is_waiting", "_left", "_path", "_swap_in", "is_over")

    def __init__(
        self, disk: Disk, path: str, segments: Sequence[NewSegment], swap_in: Callable[[NewSegment], None]
    ) -> None:
        self._disk = disk
        self._path = path
        self._left = list(reversed(segments))  # not in yet, the next one last
        self._swap_in = swap_in
        self._is_waiting = False  # the next one's files are named `.swap`
        self._is_synced = False
        self.is_over = not segments

    def step(self) -> bool:
        """Put the next segment in its place; return whether to call `run`, `synced` and this again.

        Raises:
            OSError: the disk refuses; what is not in yet is not going to be.
        """
        if self._is_waiting:
            assert self._is_synced, "a crash now could leave neither the old nor the new segments"
            self._swap_in(self._left[-1])
            self._left.pop()
            self._is_waiting = self._is_synced = False
            self.is_over = not self._left
        if self.is_over:
            return False
        rename_segment(self._disk, self._path, self._left[-1].base_offset, CLEANED_SUFFIX, SWAP_SUFFIX)
        self._is_waiting = True
        return True

    def run(self) -> None:
        """Make the names certain; may run on any thread.

        Raises:
            OSError: the sync failed.
        """
        try:
            self._disk.sync_dir(self._path)
        except FileNotFoundError:
            return  # the partition was deleted meanwhile

    def synced(self) -> None:
        """Note that `run` is through."""
        self._is_synced = True

    def undo(self) -> None:
        """Remove what is not in yet, for certain: a start must not bring it back.

        Raises:
            OSError: the disk refuses.
        """
        if self.is_over:
            return
        self.is_over = True
        left, self._left = self._left, []
        log_path = file_stem(self._path, left[-1].base_offset) + LOG_SUFFIX
        if self._disk.exists(log_path + SWAP_SUFFIX):
            # One change makes all `.swap` files void; half of them would be worse than all or none.
            self._disk.rename(log_path + SWAP_SUFFIX, log_path + CLEANED_SUFFIX)
        for way in (SWAP_SUFFIX, CLEANED_SUFFIX):
            for new in left:
                for suffix in SEGMENT_SUFFIXES:
                    path = file_stem(self._path, new.base_offset) + suffix + way
                    if self._disk.exists(path):
                        self._disk.unlink(path)
        self._disk.sync_dir(self._path)


def rename_segment(disk: Disk, path: str, base_offset: int, before: str, after: str) -> None:
    """Rename the files of a segment, the log file first; it need not have all indexes.

    Raises:
        OSError: the disk refuses.
    """
    stem = file_stem(path, base_offset)
    for suffix in SEGMENT_SUFFIXES:
        name = stem + suffix
        if suffix == LOG_SUFFIX or disk.exists(name + before):
            disk.rename(name + before, name + after)
