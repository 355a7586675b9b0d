"""A disk over another one that is only ever read: what is written stays in memory.

With it the code that opens, recovers and reads logs runs on a data directory without changing a byte of it,
whatever it believes to repair: so a stopped, crashed or running broker's files can be looked at by the very
code that serves them. A copy of the directory was rejected: it may be terabytes.

What is kept of a changed file is where it differs: how much of the file below still counts, and what was
written over or behind it.
"""

import errno
import os
from collections.abc import Callable, Sequence

from barnabas.base.disk import Buffer, Disk, DiskFile


def _missing(path: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


class OverlayDisk:
    """A Disk whose changes nobody else sees.

    Args:
        below: what is read. Another process may change it meanwhile: files are looked at as they come.
        is_hidden: paths that listings leave out, to look at a part of a large directory only.
    """

    __slots__ = ("_below", "_changed", "_is_hidden", "_made_dirs")

    def __init__(self, below: Disk, is_hidden: Callable[[str], bool] = lambda _: False) -> None:
        self._below = below
        self._is_hidden = is_hidden
        # None: gone, whatever lies below.
        self._changed: dict[str, _Content | None] = {}
        self._made_dirs: set[str] = set()

    def open(self, path: str, *, create: bool = False, exclusive: bool = False) -> "OverlayFile":
        """Open for reading and writing; see Disk."""
        known = self.exists(path)
        if known and create and exclusive:
            raise FileExistsError(path)
        if not known and not create:
            raise _missing(path)
        content = self._changed.get(path)
        if content is None:
            content = _Content(self._below.open_readonly(path) if known else None)
            self._changed[path] = content
        elif not content.handles:
            content.reopen(self._below)
        content.handles += 1
        return OverlayFile(path, content, self)

    def open_readonly(self, path: str) -> DiskFile:
        """Open for reading."""
        if path in self._changed:
            return self.open(path)
        return self._below.open_readonly(path)

    def closed(self, path: str, content: "_Content") -> None:
        """Forget a file that was not changed, so that what lies below is seen again."""
        content.handles -= 1
        if not content.handles:
            content.close()
            if not content.is_changed and self._changed.get(path) is content:
                del self._changed[path]

    def exists(self, path: str) -> bool:
        if path in self._changed:
            return self._changed[path] is not None
        return path in self._made_dirs or self._below.exists(path)

    def list_dir(self, path: str) -> list[str]:
        """Return the names in a directory, sorted."""
        names = set(self._below.list_dir(path)) if self._below.is_dir(path) else set()
        for changed, content in self._changed.items():
            parent, name = os.path.split(changed)
            if parent == path:
                (names.discard if content is None else names.add)(name)
        names |= {os.path.basename(made) for made in self._made_dirs if os.path.dirname(made) == path}
        return sorted(name for name in names if not self._is_hidden(f"{path}/{name}"))

    def is_dir(self, path: str) -> bool:
        return path in self._made_dirs or (path not in self._changed and self._below.is_dir(path))

    def make_dirs(self, path: str) -> None:
        """Make a directory and its parents, in memory."""
        while path and not self.is_dir(path):
            self._made_dirs.add(path)
            path = os.path.dirname(path)

    def make_dir(self, path: str) -> None:
        """Make a directory, in memory."""
        self.make_dirs(path)

    def rename(self, source: str, target: str) -> None:
        """Replace a file.

        Raises:
            OSError: `source` is a directory of the disk below.
        """
        if self._below.is_dir(source):
            raise PermissionError(f"{source} is only looked at")
        if not self.exists(source):
            raise _missing(source)
        content = self._changed.get(source)
        if content is None:
            content = _Content(self._below.open_readonly(source))
            content.close()
        content.moved = True
        self._changed[source] = None
        self._changed[target] = content

    def unlink(self, path: str) -> None:
        if not self.exists(path):
            raise _missing(path)
        self._changed[path] = None

    def remove_dir(self, path: str) -> None:
        """Remove a directory that was made here."""
        if path not in self._made_dirs:
            raise PermissionError(f"{path} is only looked at")
        self._made_dirs.discard(path)

    def sync_dir(self, path: str) -> None:
        """Nothing is durable here, and nothing has to be."""

    def mtime_ms(self, path: str) -> int:
        """Return the time of the file below; 0 for one made here."""
        if self.exists(path) and self._below.exists(path):
            return self._below.mtime_ms(path)
        if not self.exists(path):
            raise _missing(path)
        return 0

    def set_mtime_ms(self, path: str, mtime_ms: int) -> None:
        """Nothing here goes by it: see `mtime_ms`."""

    def size(self, path: str) -> int:
        """Return a file's length."""
        if not self.exists(path):
            raise _missing(path)
        content = self._changed.get(path)
        if content is None or content.kept_bytes is None:
            return self._below.size(path if content is None else content.path_below)
        return content.size_own

    def identity(self, path: str) -> tuple[int, int]:
        """Return what the disk below has there."""
        return self._below.identity(path)

    def space(self, path: str) -> tuple[int, int]:
        """Return how large the volume below is, and how much of it is free."""
        return self._below.space(path)

    def lock(self, path: str) -> DiskFile | None:
        """Lock nothing: nobody else can see what is done here."""
        return self.open(path, create=True)


class _Content:
    """One changed file.

    Attributes:
        path_below: where it lies below; empty for one made here.
        kept_bytes: how much of the file below still counts; None: as much as it has.
        pieces: (position, bytes) written since, the later over the earlier.
        moved: whether it has another name than below.
    """

    __slots__ = ("_below", "_is_new", "handles", "kept_bytes", "moved", "path_below", "pieces", "size_own")

    def __init__(self, below: DiskFile | None) -> None:
        self._below = below
        self.path_below = below.path if below is not None else ""
        self._is_new = below is None
        self.handles = 0
        self.kept_bytes: int | None = None if below is not None else 0
        self.pieces: list[tuple[int, bytes]] = []
        self.size_own = 0
        self.moved = False

    @property
    def is_changed(self) -> bool:
        """Whether it differs from the file below of its name."""
        return self._is_new or self.moved or self.kept_bytes is not None

    @property
    def below(self) -> DiskFile | None:
        """The file it is made of, open."""
        return self._below

    def reopen(self, disk: Disk) -> None:
        if self.path_below:
            self._below = disk.open_readonly(self.path_below)

    def close(self) -> None:
        if self._below is not None:
            self._below.close()
            self._below = None

    def size(self) -> int:
        if self.kept_bytes is None and self._below is not None:
            return self._below.size()
        return self.size_own

    def part(self) -> None:
        """Let the file differ from here on: later growth of the one below does not count."""
        if self.kept_bytes is None:
            self.kept_bytes = self.size_own = self.size()

    def write(self, position: int, data: bytes) -> None:
        self.part()
        self.pieces.append((position, data))
        self.size_own = max(self.size_own, position + len(data))

    def truncate(self, size: int) -> None:
        self.part()
        assert self.kept_bytes is not None
        self.kept_bytes = min(self.kept_bytes, size)
        self.pieces = [(at, data[: size - at]) for at, data in self.pieces if at < size]
        self.size_own = size

    def read_into(self, position: int, buffer: memoryview) -> int:
        kept = self.size() if self.kept_bytes is None else self.kept_bytes
        if self._below is not None and not self.pieces and position + len(buffer) <= kept:
            return self._below.read_into(position, buffer)
        wanted = max(0, min(len(buffer), self.size() - position))
        got = 0
        if self._below is not None and position < kept:
            got = self._below.read_into(position, buffer[: min(wanted, kept - position)])
        buffer[got:wanted] = bytes(wanted - got)
        for at, data in self.pieces:
            first, last = max(at, position), min(at + len(data), position + wanted)
            if first < last:
                buffer[first - position : last - position] = data[first - at : last - at]
        return wanted


class OverlayFile:
    """An open file of an OverlayDisk; see DiskFile."""

    __slots__ = ("_content", "_disk", "_is_open", "path")

    def __init__(self, path: str, content: _Content, disk: OverlayDisk) -> None:
        self.path = path
        self._content = content
        self._disk = disk
        self._is_open = True

    def fileno(self) -> int:
        """The descriptor of the file below.

        Raises:
            OSError: it was changed, so no descriptor has its bytes.
        """
        if self._content.is_changed or self._content.below is None:
            raise OSError(f"{self.path} was changed in memory only")
        return self._content.below.fileno()

    def size(self) -> int:
        return self._content.size()

    def read_at(self, position: int, length: int) -> bytes:
        length = max(0, min(length, self._content.size() - position))
        buffer = bytearray(length)
        got = self._content.read_into(position, memoryview(buffer))
        return bytes(buffer[:got])

    def read_into(self, position: int, buffer: memoryview) -> int:
        return self._content.read_into(position, buffer)

    def try_read_at(self, position: int, length: int) -> Buffer | None:
        """As `read_at`: whoever looks at files may wait."""
        return self.read_at(position, length)

    def try_read_into(self, position: int, buffer: memoryview) -> int | None:
        """As `read_into`: whoever looks at files may wait."""
        return self.read_into(position, buffer)

    def is_cached(self, position: int, length: int) -> bool:
        """As the file below says, unless it was changed: what was written here is in memory."""
        if self._content.is_changed or self._content.below is None:
            return position + length <= self.size()
        return self._content.below.is_cached(position, length)

    def bring_in(self, position: int, length: int) -> int:
        return len(self.read_at(position, length))

    def write_at(self, position: int, parts: Sequence[Buffer]) -> int:
        data = b"".join(parts)
        self._content.write(position, data)
        return len(data)

    def truncate(self, size: int) -> None:
        self._content.truncate(size)

    def sync(self) -> None:
        """Nothing is durable here."""

    def sync_volume(self) -> bool:
        """Nothing is durable here, and nothing is promised."""
        return False

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._disk.closed(self.path, self._content)
