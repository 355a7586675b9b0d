"""Files, injected, so that a simulated disk can lose, tear or reorder what was not synced.

The interface is what a log needs and no more: positioned reads and writes on open files, and the few
directory operations whose order matters for a crash. Every write is complete or raises OSError.
"""

import fcntl
import os
from collections.abc import Sequence
from contextlib import suppress

from barnabas.base.hints import Protocol
from barnabas.base.page_cache import NOT_SUPPORTED, PageCache

Buffer = bytes | bytearray | memoryview

_IOV_MAX = 1024
_FILE_MODE = 0o644
_TEMPORARY_SUFFIX = ".tmp"


class DiskFile(Protocol):
    """An open file. Positions and lengths are bytes; it knows no current position."""

    path: str

    def fileno(self) -> int:
        """The descriptor, for sendfile and helpers; a simulated file has none and raises OSError."""

    def size(self) -> int:
        """The file's length now."""

    def read_at(self, position: int, length: int) -> bytes:
        """Return up to `length` bytes; fewer only at the end of the file."""

    def read_into(self, position: int, buffer: memoryview) -> int:
        """Fill `buffer` and return how many bytes there were; fewer only at the end of the file."""

    def try_read_at(self, position: int, length: int) -> Buffer | None:
        """As `read_at`, but None when that would wait for the disk, which then begins to load some."""

    def try_read_into(self, position: int, buffer: memoryview) -> int | None:
        """As `read_into`, but None when that would wait for the disk, which then begins to load some."""

    def is_cached(self, position: int, length: int) -> bool:
        """Tell whether a range within the file could be read without waiting for the disk.

        True where that cannot be found out. Beyond the end of the file: False. For the loop's thread only.
        """

    def bring_in(self, position: int, length: int) -> int:
        """Wait until a range is in memory; return its bytes, fewer at the end of the file.

        The one call that any thread may make, as long as the file stays open.
        """

    def write_at(self, position: int, parts: Sequence[Buffer]) -> int:
        """Write all parts one behind the other and return their length."""

    def truncate(self, size: int) -> None:
        """Cut or zero-extend to `size`."""

    def sync(self) -> None:
        """Make the content and length durable (fdatasync)."""

    def sync_volume(self) -> bool:
        """Make everything that was written to the file's volume durable, names of files included (syncfs).

        Returns:
            False when the system has no such call, or one that tells no errors: nothing is promised then.

        Raises:
            OSError: something written to the volume since this file was opened, by whomever, may be lost.
        """

    def close(self) -> None:
        """Close; closing twice is harmless."""


class Disk(Protocol):
    """A file system."""

    def open(self, path: str, *, create: bool = False, exclusive: bool = False) -> DiskFile:
        """Open for reading and writing.

        Args:
            create: make an empty file when there is none.
            exclusive: with create, FileExistsError when there is one.
        """

    def open_readonly(self, path: str) -> DiskFile:
        """Open for reading."""

    def exists(self, path: str) -> bool: ...

    def list_dir(self, path: str) -> list[str]:
        """Return the names in a directory, sorted."""

    def is_dir(self, path: str) -> bool: ...

    def make_dirs(self, path: str) -> None:
        """Make a directory and its parents; present ones are fine."""

    def make_dir(self, path: str) -> None:
        """Make a directory whose parent is there; a present one is fine."""

    def rename(self, source: str, target: str) -> None:
        """Replace `target` atomically. Durable only after sync_dir."""

    def unlink(self, path: str) -> None: ...

    def remove_dir(self, path: str) -> None:
        """Remove an empty directory."""

    def sync_dir(self, path: str) -> None:
        """Make the directory's entries durable."""

    def mtime_ms(self, path: str) -> int: ...

    def set_mtime_ms(self, path: str, mtime_ms: int) -> None:
        """Say when a file was last modified: a copy is as old as what it was made of."""

    def size(self, path: str) -> int:
        """Return a file's length without opening it."""

    def identity(self, path: str) -> tuple[int, int]:
        """Return what tells a file or directory from another that gets its name later."""

    def space(self, path: str) -> tuple[int, int]:
        """Return how large the volume of a path is, and how much of it may still be used, in bytes."""

    def lock(self, path: str) -> DiskFile | None:
        """Create and lock a file exclusively; None when another process holds it. Closing releases it."""


class OsFile:
    """A file of the operating system."""

    __slots__ = ("_can_refuse", "_fd", "_page_cache", "path")

    def __init__(self, path: str, fd: int, page_cache: PageCache) -> None:
        self.path = path
        self._fd = fd
        self._page_cache = page_cache
        self._can_refuse = True  # the file system knows RWF_NOWAIT, as far as is known

    def fileno(self) -> int:
        return self._fd

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def read_at(self, position: int, length: int) -> bytes:
        data = os.pread(self._fd, length, position)
        if len(data) == length or not data:
            return data
        # A short read before the end is legal (signals, 2 GiB limit): go on until none comes.
        pieces = [data]
        got = len(data)
        while got < length:
            data = os.pread(self._fd, length - got, position + got)
            if not data:
                break
            pieces.append(data)
            got += len(data)
        return b"".join(pieces)

    def read_into(self, position: int, buffer: memoryview) -> int:
        got = 0
        while got < len(buffer):
            count = os.preadv(self._fd, [buffer[got:]], position + got)
            if count == 0:
                break
            got += count
        return got

    def try_read_at(self, position: int, length: int) -> Buffer | None:
        data = bytearray(length)
        got = self.try_read_into(position, memoryview(data))
        if got is None or got == length:
            return None if got is None else data
        return data[:got]

    def try_read_into(self, position: int, buffer: memoryview) -> int | None:
        got, length = 0, len(buffer)
        try:
            while self._can_refuse:  # one turn, unless the file ends or turns cold within
                count = os.preadv(self._fd, [buffer[got:] if got else buffer], position + got, os.RWF_NOWAIT)
                got += count
                if got == length or count == 0:
                    return got
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno not in NOT_SUPPORTED:
                raise
            self._can_refuse = False
        return self.read_into(position, buffer)

    def is_cached(self, position: int, length: int) -> bool:
        return self._page_cache.holds(self._fd, position, length)

    def bring_in(self, position: int, length: int) -> int:
        return self._page_cache.bring_in(self._fd, position, length)

    def write_at(self, position: int, parts: Sequence[Buffer]) -> int:
        length = sum(map(len, parts))
        if len(parts) <= _IOV_MAX:
            written = os.pwritev(self._fd, parts, position)
            if written == length:
                return length
        else:
            written = 0
        rest = memoryview(b"".join(parts))
        while written < length:
            written += os.pwrite(self._fd, rest[written:], position + written)
        return length

    def truncate(self, size: int) -> None:
        os.ftruncate(self._fd, size)

    def sync(self) -> None:
        os.fdatasync(self._fd)

    def sync_volume(self) -> bool:
        from barnabas.base.volume import sync_volume  # noqa: PLC0415 - a stop needs it, a start does not

        return sync_volume(self._fd)

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


class OsDisk:
    """The operating system's file system."""

    __slots__ = ("_page_cache",)

    def __init__(self) -> None:
        self._page_cache = PageCache()

    def open(self, path: str, *, create: bool = False, exclusive: bool = False) -> OsFile:
        flags = os.O_RDWR | os.O_CLOEXEC
        if create:
            flags |= os.O_CREAT
            if exclusive:
                flags |= os.O_EXCL
        return OsFile(path, os.open(path, flags, _FILE_MODE), self._page_cache)

    def open_readonly(self, path: str) -> OsFile:
        # Nonblocking, or a pipe in a file's place would hold the caller until somebody writes to it.
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
        return OsFile(path, os.open(path, flags), self._page_cache)

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def list_dir(self, path: str) -> list[str]:
        return sorted(os.listdir(path))

    def is_dir(self, path: str) -> bool:
        return os.path.isdir(path)

    def make_dirs(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def make_dir(self, path: str) -> None:
        with suppress(FileExistsError):
            os.mkdir(path)

    def rename(self, source: str, target: str) -> None:
        os.replace(source, target)

    def unlink(self, path: str) -> None:
        os.unlink(path)

    def remove_dir(self, path: str) -> None:
        os.rmdir(path)

    def sync_dir(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def mtime_ms(self, path: str) -> int:
        return os.stat(path).st_mtime_ns // 1_000_000

    def set_mtime_ms(self, path: str, mtime_ms: int) -> None:
        os.utime(path, ns=(mtime_ms * 1_000_000, mtime_ms * 1_000_000))

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def identity(self, path: str) -> tuple[int, int]:
        found = os.stat(path)
        return found.st_dev, found.st_ino

    def space(self, path: str) -> tuple[int, int]:
        volume = os.statvfs(path)
        return volume.f_blocks * volume.f_frsize, volume.f_bavail * volume.f_frsize

    def lock(self, path: str) -> OsFile | None:
        file = self.open(path, create=True)
        try:
            # lockf is the lock a JVM takes; flock also keeps two brokers of one process apart.
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            return None
        return file


def rewrite(file: DiskFile, content: bytes) -> None:
    """Give an open file this content, not synced; one that has it is left alone.

    Never by cutting it to nothing first: ext4 takes that for somebody who wants the new content on the disk
    at once, and a start that follows a crash does it for each of ten thousand logs.
    """
    size = file.size()
    if size == len(content) and file.read_at(0, size) == content:
        return
    if content:
        file.write_at(0, [content])
    if size > len(content):
        file.truncate(len(content))


class FileReplacements:
    """Small files that are replaced together, so that all of them share their syncs.

    Between `add` and `rename_all` everything must be synced, and again behind it: each file is then, whatever
    happens, the old or the new one, whole. `write_file_durably` does the same for one.
    """

    __slots__ = ("_disk", "_paths")

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._paths: list[str] = []

    def add(self, path: str, content: bytes) -> None:
        """Write `path`.tmp, not synced."""
        _write_whole(self._disk, path + _TEMPORARY_SUFFIX, content, sync=False)
        self._paths.append(path)

    def rename_all(self) -> int:
        """Put the new files into their places and return how many there were."""
        for path in self._paths:
            self._disk.rename(path + _TEMPORARY_SUFFIX, path)
        count = len(self._paths)
        self._paths.clear()
        return count


def write_file_durably(disk: Disk, path: str, content: bytes) -> None:
    """Replace a small file so that a crash leaves the old or the new content, whole.

    Writes `path`.tmp, syncs it, renames it over `path` and syncs the directory.
    """
    replace_file(disk, path, content)
    disk.sync_dir(os.path.dirname(path))


def replace_file(disk: Disk, path: str, content: bytes) -> None:
    """As `write_file_durably`, but the new content is certain only once the directory is synced."""
    temporary = path + _TEMPORARY_SUFFIX
    _write_whole(disk, temporary, content, sync=True)
    disk.rename(temporary, path)


def _write_whole(disk: Disk, path: str, content: bytes, *, sync: bool) -> None:
    file = disk.open(path, create=True)
    try:
        file.truncate(0)
        file.write_at(0, [content])
        if sync:
            file.sync()
    finally:
        file.close()
