"""Offset checkpoints of log directories on their way to the disk, written off the loop.

They are written every few seconds or every minute, and each time the disk is waited for twice. On a disk
that others keep busy one sync was seen to take more than a second; on the loop, every client would have
waited for it. A recovery point that is lowered must be on the disk before the log is cut, and a log that gets
a deleted one's name must not inherit its offsets: these writes are made at once, and a helper that comes
late with older offsets does not undo them (`base/file_turns.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from barnabas.base.file_turns import FileTurns
from barnabas.base.worker import RunBlocking, run_inline
from barnabas.storage.checkpoints import checkpoint_file
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.topic_partition import TopicPartition

WRITES_MAX = 2
"""One under way and one behind it, which writes what is newest by then: a disk that hangs gathers no more."""


class CheckpointWrites:
    """Writes the checkpoints of all directories.

    Args:
        run_blocking: runs work in the order given.
    """

    __slots__ = ("_files", "_is_stopping", "_run_blocking")

    def __init__(self, run_blocking: RunBlocking) -> None:
        self._run_blocking = run_blocking
        self._files: dict[str, _File] = {}  # by path
        self._is_stopping = False

    def stop(self) -> None:
        """Write at once from now on: nobody is held up any more."""
        self._is_stopping = True

    def write_later(
        self,
        directory: LogDirectory,
        name: str,
        offsets: Mapping[TopicPartition, int],
        then: Callable[[], None] | None = None,
    ) -> None:
        """Have offsets written that nobody will change; a failure takes the directory offline.

        Args:
            then: called when these offsets, or newer ones, are on the disk, or the directory is offline.
        """
        file = self._file(directory, name)
        number = file.turns.take_number()
        file.content = number, offsets
        if then is not None:
            file.waiting.append((number, then))
        if not self._is_stopping and file.writes >= WRITES_MAX:
            return
        file.writes += 1
        written = 0

        def work() -> None:
            nonlocal written
            written = file.write(directory)

        def done(error: OSError | None) -> None:
            file.writes -= 1
            if error is not None and directory.online:
                directory.failed(error, f"writing {name}")
            file.tell_waiting(written if directory.online else None)

        run = run_inline if self._is_stopping else self._run_blocking
        run(work, done)

    def write_now(self, directory: LogDirectory, name: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Write offsets before this returns.

        Raises:
            OSError: the disk refuses.
        """
        file = self._file(directory, name)
        file.content = file.turns.take_number(), offsets
        file.write(directory)

    def _file(self, directory: LogDirectory, name: str) -> _File:
        path = f"{directory.path}/{name}"
        file = self._files.get(path)
        if file is None:
            file = self._files[path] = _File(path)
        return file


class _File:
    """One checkpoint: what is newest of it, and the writes that were given away."""

    __slots__ = ("content", "path", "turns", "waiting", "writes")

    def __init__(self, path: str) -> None:
        self.path = path
        self.turns = FileTurns()
        self.content: tuple[int, Mapping[TopicPartition, int]] = (0, {})
        self.writes = 0
        self.waiting: list[tuple[int, Callable[[], None]]] = []

    def write(self, directory: LogDirectory) -> int:
        """Write what is newest, and return its number."""
        directory.require_in_place()
        number, offsets = self.content
        self.turns.write(number, lambda: checkpoint_file.write_offsets(directory.disk, self.path, offsets))
        return number

    def tell_waiting(self, written: int | None) -> None:
        """Tell those who wait for contents up to a number; None for all of them."""
        told = [then for number, then in self.waiting if written is None or number <= written]
        self.waiting = [entry for entry in self.waiting if written is not None and entry[0] > written]
        for then in told:
            then()
