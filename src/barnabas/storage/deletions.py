"""Files and directories that were renamed out of the way and are unlinked `file.delete.delay.ms` later.

The delay is Kafka's and lets whoever opened a file by name finish; descriptors need no delay. A list with
due times that the log manager's timer works off was preferred to a timer per file: nobody needs one
to be exact. Unlinking runs off the loop, since the file system frees a gigabyte's blocks before it
returns; and not behind the syncs that producers wait for, but on a thread of its own.
"""

import errno
import heapq
from collections.abc import Callable

from barnabas.base.disk import Disk
from barnabas.base.logger import Logger
from barnabas.base.worker import RunBlocking, run_inline

log = Logger(__name__)

PATHS_AT_ONCE = 32
"""Given away together: a stop waits for no more than these."""


class PendingDeletions:
    """What is to be unlinked, by due time.

    Args:
        run_blocking: where unlinking runs.

    Attributes:
        on_error: told of what the disk refused, with the path.
    """

    __slots__ = ("_busy", "_disk", "_due", "_in_run", "_made", "_now_ms", "_run_blocking", "on_error")

    def __init__(self, disk: Disk, run_blocking: RunBlocking = run_inline) -> None:
        self._disk = disk
        self._run_blocking = run_blocking
        self._due: list[tuple[int, int, str]] = []
        self._made = 0
        self._now_ms = 0
        self._busy = False
        self._in_run = False
        self.on_error: Callable[[str, OSError], None] = lambda *_: None

    def __len__(self) -> int:
        return len(self._due)

    def add(self, path: str, due_ms: int) -> None:
        """Unlink a file, or a directory with all it holds, at monotonic time `due_ms`."""
        self._made += 1
        heapq.heappush(self._due, (due_ms, self._made, path))

    def next_deadline_ms(self) -> int | None:
        """When `run` has something to do; None for never, or as long as it goes on by itself."""
        if not self._due or (self._busy and self._due[0][0] <= self._now_ms):
            return None
        return self._due[0][0]

    def run(self, now_ms: int) -> None:
        """Have unlinked what is due. What cannot be unlinked is logged; the next start removes it.

        A path that was renamed meanwhile, with its directory, is gone from here: whoever renamed the
        directory has queued that.
        """
        self._now_ms = now_ms
        self._in_run = True
        while not self._busy and self._due and self._due[0][0] <= now_ms:
            self._give_away()
        self._in_run = False

    def _give_away(self) -> None:
        paths: list[str] = []
        while len(paths) < PATHS_AT_ONCE and self._due and self._due[0][0] <= self._now_ms:
            paths.append(heapq.heappop(self._due)[2])
        disk = self._disk
        errors: list[tuple[str, OSError]] = []

        def work() -> None:
            for path in paths:
                try:
                    remove_tree(disk, path)
                except FileNotFoundError:
                    continue
                except OSError as error:
                    errors.append((path, error))

        self._busy = True
        self._run_blocking(work, lambda _: self._given_done(errors))

    def _given_done(self, errors: list[tuple[str, OSError]]) -> None:
        self._busy = False
        for path, error in errors:
            log.warning("%s was not deleted: %s", path, error)
            if error.errno != errno.ENOTEMPTY:  # somebody has put a file there meanwhile
                self.on_error(path, error)
        if not self._in_run:  # else its loop goes on
            self.run(self._now_ms)


def remove_tree(disk: Disk, path: str) -> None:
    """Unlink a file, or a directory of files and directories.

    Raises:
        OSError: something could not be removed.
    """
    if not disk.is_dir(path):
        disk.unlink(path)
        return
    for name in disk.list_dir(path):
        remove_tree(disk, f"{path}/{name}")
    disk.remove_dir(path)
