"""A flush of one log in three steps, so that the middle one may run on a helper thread.

`Log.begin_flush` collects what must reach the disk and writes index entries still in memory; `run` syncs and
touches nothing of the log; `Log.finish_flush` moves the recovery point. A recovery point therefore never
exceeds what was synced, however appends and flushes interleave.
"""

from collections.abc import Iterable

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

    def __init__(self, *, disk: Disk, up_to_offset: int, cuts_before: int) -> None:
        self._disk = disk
        self._files: list[LeasedFile] = []
        self._paths: list[str] = []
        self._directories: list[str] = []
        self.up_to_offset = up_to_offset
        self.cuts_before = cuts_before
        self.sealed: list[int] = []

    def add_file(self, leased: LeasedFile) -> None:
        """Sync an open file; it is held open from now on, since looking at the next one may close it."""
        leased.acquire()
        self._files.append(leased)

    def add_file_paths(self, paths: Iterable[str]) -> None:
        """Sync files by their paths; a missing one is fine."""
        self._paths.extend(paths)

    def add_directory(self, path: str) -> None:
        """Sync a directory's names, after the files."""
        self._directories.append(path)

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

    def try_run(self) -> OSError | None:
        """Run it here and return what went wrong."""
        try:
            self.run()
        except OSError as error:
            return error
        return None

    def release(self) -> None:
        """Give the leases back; on the loop, once `run` is over."""
        for leased in self._files:
            leased.release()
        self._files.clear()
