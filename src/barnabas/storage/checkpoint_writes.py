"""High watermarks on their way to replication-offset-checkpoint, written off the loop.

They are written every few seconds, and each time the disk is waited for twice. On a disk that others keep
busy one sync was seen to take more than a second; on the loop, every client would have waited for it. All
of a directory's go the same way, in order, so that two writers never meet on one temporary file.
"""

from collections.abc import Mapping

from barnabas.storage import checkpoints
from barnabas.storage.checkpoints import TopicPartition
from barnabas.storage.flush_scheduler import RunBlocking, run_inline
from barnabas.storage.log_directory import LogDirectory

WRITES_MAX = 2
"""One under way and one behind it, which writes what is newest by then: a disk that hangs gathers no more."""


class WatermarkCheckpoints:
    """Writes the checkpoints of all directories.

    Args:
        run_blocking: runs work in the order given.
    """

    __slots__ = ("_is_stopping", "_newest", "_run_blocking", "_writes")

    def __init__(self, run_blocking: RunBlocking) -> None:
        self._run_blocking = run_blocking
        self._newest: dict[str, dict[TopicPartition, int]] = {}  # by path of the file
        self._writes: dict[str, int] = {}
        self._is_stopping = False

    def stop(self) -> None:
        """Write at once from now on, save behind a write under way: nobody is held up any more."""
        self._is_stopping = True

    def write(
        self,
        directory: LogDirectory,
        logs: Mapping[TopicPartition, object],
        high_watermarks: Mapping[tuple[str, int], int],
    ) -> None:
        """Have those of a directory's own logs written; a failure takes it offline."""
        path = f"{directory.path}/{checkpoints.HIGH_WATERMARK_FILE}"
        self._newest[path] = {
            TopicPartition(*name): offset for name, offset in high_watermarks.items() if name in logs
        }
        writes = self._writes.get(path, 0)
        if writes >= WRITES_MAX:
            return
        self._writes[path] = writes + 1

        def work() -> None:
            checkpoints.write_offsets(directory.disk, path, self._newest[path])

        def done(error: OSError | None) -> None:
            self._writes[path] -= 1
            if error is not None and directory.online:
                directory.failed(error, "writing high watermarks")

        if self._is_stopping and writes == 0:
            run_inline(work, done)
        else:
            self._run_blocking(work, done)
