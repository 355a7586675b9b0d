"""A flush of one log in three steps, so that the middle one may run on a helper thread.

`Log.begin_flush` collects what must reach the disk and writes index entries still in memory; `run` syncs and
touches nothing of the log; `Log.finish_flush` moves the recovery point. A recovery point therefore never
exceeds what was synced, however appends and flushes interleave.
"""

from collections.abc import Sequence

from barnabas.base.disk import Disk
from barnabas.base.region import LeasedFile


class FlushWork:
    """Files and directories to sync, in order.

    Attributes:
        up_to_offset: everything below it is durable once `run` returns.
        cuts_before: how often the log had been cut when it was begun.
        sealed: base offsets of the sealed segments whose indexes are as well.
    """

    __slots__ = ("_directories", "_disk", "_files", "_paths", "cuts_before", "sealed", "up_to_offset")

    def __init__(
        self,
        *,
        disk: Disk,
        up_to_offset: int,
        cuts_before: int,
        sealed: Sequence[int],
        files: Sequence[LeasedFile],
        paths: Sequence[str],
        directories: Sequence[str],
    ) -> None:
        self._disk = disk
        self._files = list(files)
        self._paths = list(paths)
        self._directories = list(directories)
        self.up_to_offset = up_to_offset
        self.cuts_before = cuts_before
        self.sealed = list(sealed)
        for leased in self._files:
            leased.acquire()

    def run(self) -> None:
        """Sync everything; may run on any thread.

        Raises:
            OSError: a sync failed; what was written may be lost, so the directory must go offline.
        """
        for leased in self._files:
            leased.file.sync()
        for path in self._paths:
            try:
                file = self._disk.open(path)
            except FileNotFoundError:
                continue  # deleted or truncated away meanwhile
            try:
                file.sync()
            finally:
                file.close()
        for directory in self._directories:
            try:
                self._disk.sync_dir(directory)
            except FileNotFoundError:
                continue  # the partition was deleted meanwhile

    def release(self) -> None:
        """Give the leases back; on the loop, once `run` is over."""
        for leased in self._files:
            leased.release()
        self._files.clear()
