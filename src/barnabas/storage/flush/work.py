"""A flush of one log in three steps, so that the middle one may run on a helper thread.

`Log.begin_flush` collects what must reach the disk and writes index entries still in memory; `run` syncs and
touches nothing of the log; `Log.finish_flush` moves the recovery point. A recovery point therefore never
exceeds what was synced, however appends and flushes interleave.
"""

from collections.abc import Callable, Iterable

from barnabas.base.disk import Disk
from barnabas.base.region import LeasedFile
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.offset_metadata import LogOffsetMetadata


class FlushWork:
    """Files and directories to sync, in order.

    Args:
        now_us: reads the monotonic clock; from any thread.

    Attributes:
        directory: where the log lay when it was begun; its disk is to blame for what fails.
        up_to_offset: everything below it is durable once `run` returns.
        log_end: the log's end when it was begun, if everything up to there is synced.
        cuts_before: how often the log had been cut when it was begun.
        names_before: how often names in its directory had changed by then.
        sealed: base offsets of the sealed segments whose indexes are as well.
        took_us: how long `run` took.
    """

    __slots__ = (
        "_directories",
        "_disk",
        "_files",
        "_now_us",
        "_paths",
        "cuts_before",
        "directory",
        "log_end",
        "names_before",
        "sealed",
        "took_us",
        "up_to_offset",
    )

    def __init__(
        self,
        *,
        disk: Disk,
        now_us: Callable[[], int],
        up_to_offset: int,
        cuts_before: int,
        names_before: int,
    ) -> None:
        self._disk = disk
        self._now_us = now_us
        self._files: list[LeasedFile] = []
        self._paths: list[str] = []
        self._directories: list[str] = []
        self.directory: LogDirectory | None = None
        self.up_to_offset = up_to_offset
        self.log_end: LogOffsetMetadata | None = None
        self.cuts_before = cuts_before
        self.names_before = names_before
        self.sealed: list[int] = []
        self.took_us = 0

    @property
    def sync_count(self) -> int:
        """Files and directories that it syncs."""
        return len(self._files) + len(self._paths) + len(self._directories)

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
        began_us = self._now_us()
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
        self.took_us = self._now_us() - began_us

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
