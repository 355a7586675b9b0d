"""Files, injected, so that a simulated disk can lose, tear or reorder what was not synced.

The interface is what a log needs and no more: positioned reads and writes on open files, and the few
directory operations whose order matters for a crash. Every write is complete or raises OSError.
"""

import fcntl
import os
from collections.abc import Sequence
from typing import Protocol

Buffer = bytes | bytearray | memoryview

_IOV_MAX = 1024
_FILE_MODE = 0o644


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

    def write_at(self, position: int, parts: Sequence[Buffer]) -> int:
        """Write all parts one behind the other and return their length."""

    def truncate(self, size: int) -> None:
        """Cut or zero-extend to `size`."""

    def sync(self) -> None:
        """Make the content and length durable (fdatasync)."""

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

    def rename(self, source: str, target: str) -> None:
        """Replace `target` atomically. Durable only after sync_dir."""

    def unlink(self, path: str) -> None: ...

    def remove_dir(self, path: str) -> None:
        """Remove an empty directory."""

    def sync_dir(self, path: str) -> None:
        """Make the directory's entries durable."""

    def mtime_ms(self, path: str) -> int: ...

    def space(self, path: str) -> tuple[int, int]:
        """Return how large the volume of a path is, and how much of it may still be used, in bytes."""

    def lock(self, path: str) -> DiskFile | None:
        """Create and lock a file exclusively; None when another process holds it. Closing releases it."""


class OsFile:
    """A file of the operating system."""

    __slots__ = ("_fd", "path")

    def __init__(self, path: str, fd: int) -> None:
        self.path = path
        self._fd = fd

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

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


class OsDisk:
    """The operating system's file system."""

    __slots__ = ()

    def open(self, path: str, *, create: bool = False, exclusive: bool = False) -> OsFile:
        flags = os.O_RDWR | os.O_CLOEXEC
        if create:
            flags |= os.O_CREAT
            if exclusive:
                flags |= os.O_EXCL
        return OsFile(path, os.open(path, flags, _FILE_MODE))

    def open_readonly(self, path: str) -> OsFile:
        return OsFile(path, os.open(path, os.O_RDONLY | os.O_CLOEXEC))

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def list_dir(self, path: str) -> list[str]:
        return sorted(os.listdir(path))

    def is_dir(self, path: str) -> bool:
        return os.path.isdir(path)

    def make_dirs(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

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


def write_file_durably(disk: Disk, path: str, content: bytes) -> None:
    """Replace a small file so that a crash leaves the old or the new content, whole.

    Writes `path`.tmp, syncs it, renames it over `path` and syncs the directory.
    """
    temporary = path + ".tmp"
    file = disk.open(temporary, create=True)
    try:
        file.truncate(0)
        file.write_at(0, [content])
        file.sync()
    finally:
        file.close()
    disk.rename(temporary, path)
    disk.sync_dir(os.path.dirname(path))
