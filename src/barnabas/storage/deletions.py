"""Files and directories that were renamed out of the way and are unlinked `file.delete.delay.ms` later.

The delay is Kafka's and lets whoever opened a file by name finish; descriptors need no delay. A list with
due times that the log manager's timer works off was preferred to a timer per file: nobody needs one
to be exact.
"""

import heapq

from barnabas.base.disk import Disk
from barnabas.base.logger import Logger

log = Logger(__name__)


class PendingDeletions:
    """What is to be unlinked, by due time."""

    __slots__ = ("_disk", "_due", "_made")

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._due: list[tuple[int, int, str]] = []
        self._made = 0

    def __len__(self) -> int:
        return len(self._due)

    def add(self, path: str, due_ms: int) -> None:
        """Unlink a file, or a directory with all it holds, at monotonic time `due_ms`."""
        self._made += 1
        heapq.heappush(self._due, (due_ms, self._made, path))

    def next_deadline_ms(self) -> int | None:
        """When `run` has something to do; None for never."""
        return self._due[0][0] if self._due else None

    def run(self, now_ms: int) -> None:
        """Unlink what is due. What cannot be unlinked is logged; the next start removes it.

        A path that was renamed meanwhile, with its directory, is gone from here: whoever renamed the
        directory has queued that.
        """
        while self._due and self._due[0][0] <= now_ms:
            path = heapq.heappop(self._due)[2]
            try:
                remove_tree(self._disk, path)
            except FileNotFoundError:
                continue
            except OSError as error:
                log.warning("%s was not deleted: %s", path, error)


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
