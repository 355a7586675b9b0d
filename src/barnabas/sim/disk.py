"""A file system in memory that can lose power.

It keeps two states: what a reader sees now, and what is certain to survive. Writes and truncations of a file
become certain by its `sync`, names of a directory by `sync_dir`; `crash` decides by a seed what happened to
the rest, which is everything a real disk may do:

- of a file's unsynced writes each is kept, dropped, or torn, independently, so they also come in another
  order. A torn one ends at a byte, or lacks some of its sectors, or has but grown the file, with zeros;
- of each directory's unsynced changes a prefix is kept, as journaling file systems do, independently of other
  directories and of what is in the files. Of the later ones those may be kept that name a file which was
  synced since, as file systems do that log a synced file with its name;
- a synced file whose name was not synced may be gone, a name may be there whose content is not.

A sync that returned is never lost: disks that lie about that are not in the model.

It has a page cache to play with, too: what `evict` takes out of it must be brought in again, and
`on_operation` hears "stall" when somebody reads it without.

Rejected: a real file system with failpoints, which cannot reorder and is too slow for thousands of seeds.
"""

import os
from collections.abc import Callable, Sequence

from barnabas.base.clock import Clock
from barnabas.base.disk import Buffer
from barnabas.base.hints import Protocol

SPACE_BYTES = 1 << 40
"""What a MemoryDisk says it has."""

PAGE_BYTES = 4096
"""The grain in which content is in memory or not."""

SECTOR_BYTES = 512
"""The grain in which a write that was under way reached the disk."""


class SeededRandom(Protocol):
    """What `crash` draws from; `random.Random` is one."""

    def randrange(self, stop: int, /) -> int: ...


class _Inode:
    """A file's content, now and for certain."""

    __slots__ = ("cold_pages", "content", "durable", "locked", "mtime_ms", "pending", "syncs")

    def __init__(self, mtime_ms: int) -> None:
        self.content = bytearray()
        self.durable = bytearray()
        # (position, data) for a write, (size, None) for a truncation, since the last sync
        self.pending: list[tuple[int, bytes | None]] = []
        self.mtime_ms = mtime_ms
        self.locked = False
        self.cold_pages: set[int] = set()  # not in memory
        self.syncs = 0


class _Directory:
    """A directory's names, now and for certain."""

    __slots__ = ("durable", "entries", "pending")

    def __init__(self) -> None:
        self.entries: dict[str, _Inode | _Directory] = {}
        self.durable: dict[str, _Inode | _Directory] = {}
        # Each change is the names it sets (None removes) in this directory, and how often the file it names
        # had been synced.
        self.pending: list[tuple[dict[str, _Inode | _Directory | None], int]] = []

    def change(self, names: dict[str, "_Inode | _Directory | None"]) -> None:
        _apply(self.entries, names)
        self.pending.append((names, _syncs(names)))


def _syncs(names: dict[str, _Inode | _Directory | None]) -> int:
    """How often the file that a change names was synced."""
    return sum(node.syncs for node in names.values() if isinstance(node, _Inode))


def _apply(entries: dict[str, _Inode | _Directory], names: dict[str, _Inode | _Directory | None]) -> None:
    for name, node in names.items():
        if node is None:
            entries.pop(name, None)
        else:
            entries[name] = node


class MemoryFile:
    """An open file; goes on working after its name is gone, until a crash."""

    __slots__ = ("_disk", "_generation", "_inode", "_open", "_unlock", "path")

    def __init__(self, disk: "MemoryDisk", path: str, inode: _Inode, *, unlock: bool = False) -> None:
        self.path = path
        self._disk = disk
        self._generation = disk.generation
        self._inode = inode
        self._open = True
        self._unlock = unlock

    def _use(self) -> _Inode:
        if not self._open:
            raise OSError(9, "file is closed", self.path)
        if self._generation != self._disk.generation:
            raise OSError(5, "the machine crashed", self.path)
        return self._inode

    def fileno(self) -> int:
        raise OSError(95, "a simulated file has no descriptor", self.path)

    def size(self) -> int:
        return len(self._use().content)

    def read_at(self, position: int, length: int) -> bytes:
        self._disk.operation("read", self.path)
        if not self.is_cached(position, length):
            self._disk.operation("stall", self.path)
            self._use().cold_pages.difference_update(_pages(position, length))
        return bytes(self._use().content[position : position + length])

    def read_into(self, position: int, buffer: memoryview) -> int:
        data = self.read_at(position, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def try_read_at(self, position: int, length: int) -> bytes | None:
        if not self.is_cached(position, length):
            self._disk.operation("refuse", self.path)
            return None
        return self.read_at(position, length)

    def try_read_into(self, position: int, buffer: memoryview) -> int | None:
        data = self.try_read_at(position, len(buffer))
        if data is None:
            return None
        buffer[: len(data)] = data
        return len(data)

    def is_cached(self, position: int, length: int) -> bool:
        cold_pages = self._use().cold_pages
        return not cold_pages or cold_pages.isdisjoint(_pages(position, length))

    def bring_in(self, position: int, length: int) -> int:
        inode = self._use()
        self._disk.operation("bring_in", self.path)
        inode.cold_pages.difference_update(_pages(position, length))
        return max(0, min(length, len(inode.content) - position))

    def write_at(self, position: int, parts: Sequence[Buffer]) -> int:
        inode = self._use()
        data = b"".join(parts)
        self._disk.operation("write", self.path)
        content = inode.content
        if position > len(content):
            content.extend(bytes(position - len(content)))
        content[position : position + len(data)] = data
        inode.pending.append((position, data))
        inode.mtime_ms = self._disk.now_ms()
        return len(data)

    def truncate(self, size: int) -> None:
        inode = self._use()
        self._disk.operation("truncate", self.path)
        _resize(inode.content, size)
        inode.pending.append((size, None))
        inode.mtime_ms = self._disk.now_ms()

    def sync(self) -> None:
        inode = self._use()
        self._disk.operation("sync", self.path)
        inode.syncs += 1
        _keep_file(inode)

    def sync_volume(self) -> bool:
        self._use()
        if not self._disk.syncs_volumes:
            return False
        self._disk.operation("sync_volume", self.path)
        self._disk.keep_all()
        return True

    def close(self) -> None:
        self._open = False
        if self._unlock and self._generation == self._disk.generation:
            self._inode.locked = False


def _pages(position: int, length: int) -> range:
    return range(position // PAGE_BYTES, (position + length - 1) // PAGE_BYTES + 1)


def _keep_file(inode: _Inode) -> None:
    inode.durable = bytearray(inode.content)
    inode.pending.clear()


def _keep_names(directory: _Directory) -> None:
    directory.durable = dict(directory.entries)
    directory.pending.clear()


def _resize(content: bytearray, size: int) -> None:
    if size < len(content):
        del content[size:]
    else:
        content.extend(bytes(size - len(content)))


class MemoryDisk:
    """A Disk in memory.

    Args:
        clock: gives files their mtime; None leaves them all at 0.

    Attributes:
        on_operation: called before each read, write, truncate, sync, create, make_dirs, rename, unlink,
            sync_dir, sync_volume and bring_in, and for a "stall" and a "refuse" (see `evict`), with
            (what, path); may raise OSError to make it fail. For failing disks and for counting.
        syncs_volumes: whether it knows `sync_volume`.
        generation: how many times it crashed; files opened before fail with EIO.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock
        self._root = _Directory()
        self.generation = 0
        self.on_operation: Callable[[str, str], None] | None = None
        self.syncs_volumes = True

    def operation(self, what: str, path: str) -> None:
        """Tell `on_operation`; for MemoryFile."""
        if self.on_operation is not None:
            self.on_operation(what, path)

    def now_ms(self) -> int:
        """The mtime a change gets; for MemoryFile."""
        return self._clock.wall_ms() if self._clock is not None else 0

    def keep_all(self) -> None:
        """Make everything durable; for MemoryFile."""
        left: list[_Inode | _Directory] = [self._root]
        while left:
            node = left.pop()
            if isinstance(node, _Directory):
                _keep_names(node)
                left.extend(node.entries.values())
            else:
                _keep_file(node)

    # Look-ups ----------------------------------------------------------------------------------

    def _find(self, path: str) -> _Inode | _Directory | None:
        node: _Inode | _Directory = self._root
        for name in _names(path):
            if not isinstance(node, _Directory) or name not in node.entries:
                return None
            node = node.entries[name]
        return node

    def _directory(self, path: str) -> _Directory:
        node = self._find(path)
        if node is None:
            raise FileNotFoundError(2, "no such directory", path)
        if not isinstance(node, _Directory):
            raise NotADirectoryError(20, "not a directory", path)
        return node

    def _file(self, path: str) -> _Inode:
        node = self._find(path)
        if node is None:
            raise FileNotFoundError(2, "no such file", path)
        if not isinstance(node, _Inode):
            raise IsADirectoryError(21, "is a directory", path)
        return node

    # Disk ----------------------------------------------------------------------------------------

    def open(self, path: str, *, create: bool = False, exclusive: bool = False) -> MemoryFile:
        node = self._find(path)
        if node is None and create:
            self.operation("create", path)
            node = _Inode(self.now_ms())
            self._directory(os.path.dirname(path)).change({os.path.basename(path): node})
        elif node is not None and create and exclusive:
            raise FileExistsError(17, "file exists", path)
        return MemoryFile(self, path, self._file(path))

    def open_readonly(self, path: str) -> MemoryFile:
        return MemoryFile(self, path, self._file(path))

    def exists(self, path: str) -> bool:
        return self._find(path) is not None

    def list_dir(self, path: str) -> list[str]:
        return sorted(self._directory(path).entries)

    def is_dir(self, path: str) -> bool:
        return isinstance(self._find(path), _Directory)

    def make_dirs(self, path: str) -> None:
        node = self._root
        if self._find(path) is None:
            self.operation("make_dirs", path)
        for name in _names(path):
            if name not in node.entries:
                node.change({name: _Directory()})
            below = node.entries[name]
            if not isinstance(below, _Directory):
                raise FileExistsError(17, "a file is in the way", path)
            node = below

    def make_dir(self, path: str) -> None:
        if self._find(path) is None:
            self.operation("make_dirs", path)
            self._directory(os.path.dirname(path)).change({os.path.basename(path): _Directory()})

    def rename(self, source: str, target: str) -> None:
        self.operation("rename", source)
        node = self._find(source)
        if node is None:
            raise FileNotFoundError(2, "no such file", source)
        source_parent, target_parent = os.path.dirname(source), os.path.dirname(target)
        gone: dict[str, _Inode | _Directory | None] = {os.path.basename(source): None}
        come: dict[str, _Inode | _Directory | None] = {os.path.basename(target): node}
        if source_parent == target_parent:
            self._directory(source_parent).change({**gone, **come})
        else:
            self._directory(target_parent).change(come)
            self._directory(source_parent).change(gone)

    def unlink(self, path: str) -> None:
        self.operation("unlink", path)
        self._file(path)
        self._directory(os.path.dirname(path)).change({os.path.basename(path): None})

    def remove_dir(self, path: str) -> None:
        self.operation("unlink", path)
        if self._directory(path).entries:
            raise OSError(39, "directory is not empty", path)
        self._directory(os.path.dirname(path)).change({os.path.basename(path): None})

    def sync_dir(self, path: str) -> None:
        directory = self._directory(path)
        self.operation("sync_dir", path)
        _keep_names(directory)

    def mtime_ms(self, path: str) -> int:
        return self._file(path).mtime_ms

    def set_mtime_ms(self, path: str, mtime_ms: int) -> None:
        self._file(path).mtime_ms = mtime_ms

    def size(self, path: str) -> int:
        return len(self._file(path).content)

    def identity(self, path: str) -> tuple[int, int]:
        node = self._find(path)
        if node is None:
            raise FileNotFoundError(2, "no such file or directory", path)
        return 0, id(node)

    def space(self, path: str) -> tuple[int, int]:
        self._find(path)
        return SPACE_BYTES, SPACE_BYTES

    def lock(self, path: str) -> MemoryFile | None:
        file = self.open(path, create=True)
        inode = self._file(path)
        if inode.locked:
            return None
        inode.locked = True
        return MemoryFile(self, file.path, inode, unlock=True)

    # Page cache ----------------------------------------------------------------------------------

    def evict(self, path: str) -> None:
        """Let a file be on the disk only: a plain read of such a page stalls, a try is refused."""
        inode = self._file(path)
        inode.cold_pages.update(_pages(0, len(inode.content)))

    # Crashing ------------------------------------------------------------------------------------

    def crash(self, random: SeededRandom, *, keep_all: bool = False) -> None:
        """Lose power, or with `keep_all` only the process: what is there afterwards is durable.

        Args:
            random: decides about everything that was not synced.
            keep_all: the kernel lives on, so every write is kept; open files and locks are still gone.
        """
        self.generation += 1
        _settle(self._root, random, keep_all, set())


def _settle(directory: _Directory, random: SeededRandom, keep_all: bool, seen: set[int]) -> None:
    kept = len(directory.pending) if keep_all else random.randrange(len(directory.pending) + 1)
    for number, (names, syncs_before) in enumerate(directory.pending):
        if number < kept or (_syncs(names) > syncs_before and random.randrange(2)):
            _apply(directory.durable, names)
    directory.pending.clear()
    directory.entries = dict(directory.durable)
    for name in sorted(directory.entries):
        node = directory.entries[name]
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, _Directory):
            _settle(node, random, keep_all, seen)
        else:
            _settle_file(node, random, keep_all)


def _settle_file(inode: _Inode, random: SeededRandom, keep_all: bool) -> None:
    inode.locked = False
    if not keep_all and inode.pending:
        content = inode.durable
        # Most crashes lose everything or nothing of a file; the mixed ones find the bugs.
        manner = random.randrange(4)
        for position, data in inode.pending:
            fate = 0 if manner == 0 else 1 if manner == 1 else random.randrange(6)
            if fate == 1 or (fate == 2 and data is None):
                continue
            if data is None:
                _resize(content, position)
            else:
                _settle_write(content, position, data, fate, random)
        inode.content = bytearray(content)
    inode.durable = bytearray(inode.content)
    inode.pending.clear()


def _settle_write(content: bytearray, position: int, data: bytes, fate: int, random: SeededRandom) -> None:
    """Bring to the disk what is left of a write.

    Args:
        fate: 2 and 3 tear it at a byte, 4 lets sectors go, 5 leaves the file's new length and nothing else.
    """
    end = position + len(data)
    if fate in (2, 3):
        end = position + random.randrange(len(data) + 1)
    if fate != 4:
        _resize(content, max(len(content), end))
        if fate != 5:
            content[position:end] = data[: end - position]
        return
    for start in range(position - position % SECTOR_BYTES, end, SECTOR_BYTES):
        if random.randrange(2):
            first, last = max(start, position), min(start + SECTOR_BYTES, end)
            _resize(content, max(len(content), last))
            content[first:last] = data[first - position : last - position]


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name]
