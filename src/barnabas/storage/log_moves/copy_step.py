"""One step of copying a log into another directory: files to remove, ranges and files to copy, files to sync.

A step is put together on the loop, from what the log is then, and run by a helper thread, which sees open
files and paths and nothing of the log. It tells apart which of the two disks refused: only that one's
directory goes offline.
"""

from collections.abc import Iterable

from barnabas.base.disk import Disk, DiskFile
from barnabas.base.region import LeasedFile

PIECE_BYTES = 256 * 1024


class SourceReadError(OSError):
    """What was to be copied could not be read; the target's disk is fine. The disk's error is its cause."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error.errno, error.strerror, error.filename)


class CopyStep:
    """What to do next in the target's directory; `release` must follow, on the loop.

    Attributes:
        copied_bytes: of ranges; what counts against a quota.
        missing: the file that ended before what was to be copied of it: the log was cut meanwhile. The step
        was
            not finished then.
    """

    __slots__ = (
        "_contents",
        "_disk",
        "_files",
        "_ranges",
        "_removals",
        "_sync_dirs",
        "_syncs",
        "copied_bytes",
        "missing",
    )

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._removals: list[str] = []
        self._ranges: list[tuple[LeasedFile, int, int, str]] = []
        self._files: list[tuple[str, str]] = []
        self._contents: list[tuple[str, bytes]] = []
        self._syncs: dict[str, None] = {}
        self._sync_dirs: list[str] = []
        self.copied_bytes = 0
        self.missing: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self._removals or self._ranges or self._files or self._contents or self._syncs)

    def remove(self, paths: Iterable[str]) -> None:
        """Unlink files, before all else; missing ones are fine."""
        self._removals.extend(paths)

    def copy_range(self, leased: LeasedFile, position: int, length: int, target: str) -> None:
        """Copy bytes to the same position of another file, which is made when there is none."""
        leased.acquire()
        self._ranges.append((leased, position, length, target))
        self.copied_bytes += length

    def copy_file(self, source: str, target: str) -> None:
        """Copy a file whole, behind the ranges; a missing source leaves no target."""
        self._files.append((source, target))

    def write(self, target: str, content: bytes) -> None:
        """Make a file of these bytes."""
        self._contents.append((target, content))

    def sync(self, paths: Iterable[str]) -> None:
        """Make files durable, at last; missing ones are fine."""
        self._syncs.update(dict.fromkeys(paths))

    def sync_dir(self, path: str) -> None:
        """Make a directory's names durable, behind the files."""
        self._sync_dirs.append(path)

    def run(self) -> None:
        """Do it; may run on any thread.

        Raises:
            SourceReadError: the source cannot be read.
            OSError: the target refuses.
        """
        for path in self._removals:
            try:
                self._disk.unlink(path)
            except FileNotFoundError:
                continue
        for leased, position, length, target in self._ranges:
            if not self._copy_range(leased.file, position, length, target):
                self.missing = leased.file.path
                return
        for source, target in self._files:
            self._copy_file(source, target)
        for target, content in self._contents:
            self._replace(target, content)
        for path in self._syncs:
            try:
                file = self._disk.open(path)
            except FileNotFoundError:
                continue
            try:
                file.sync()
            finally:
                file.close()
        for path in self._sync_dirs:
            self._disk.sync_dir(path)

    def release(self) -> None:
        """Let go of the files that are read; on the loop, once `run` is over or will not be run."""
        ranges, self._ranges = self._ranges, []
        for leased, _, _, _ in ranges:
            leased.release()

    def _copy_range(self, source: DiskFile, position: int, length: int, target: str) -> bool:
        piece = memoryview(bytearray(min(length, PIECE_BYTES)))
        end = position + length
        into = self._disk.open(target, create=True)
        try:
            while position < end:
                part = piece[: end - position]
                got = _read(source, position, part)
                if not got:
                    return False
                into.write_at(position, [part[:got]])
                position += got
        finally:
            into.close()
        return True

    def _copy_file(self, source: str, target: str) -> None:
        try:
            file = self._disk.open_readonly(source)
        except FileNotFoundError:
            return
        except OSError as error:
            raise SourceReadError(error) from error
        try:
            content = file.read_at(0, file.size())
        except OSError as error:
            raise SourceReadError(error) from error
        finally:
            file.close()
        self._replace(target, content)

    def _replace(self, target: str, content: bytes) -> None:
        file = self._disk.open(target, create=True)
        try:
            file.truncate(0)
            if content:
                file.write_at(0, [content])
        finally:
            file.close()


def _read(source: DiskFile, position: int, part: memoryview) -> int:
    try:
        return source.read_into(position, part)
    except OSError as error:
        raise SourceReadError(error) from error
