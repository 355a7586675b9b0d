"""The aborted transactions of a segment: `.txnindex`, 34 bytes an entry (KIP-98).

An entry is made when an abort marker is appended, in the segment that holds the marker, and tells
read_committed consumers which records to skip (F17). Aborts are rare, so entries are a plain list; the
file is made with the first entry and written when the segment rolls, flushes or closes.
"""

from struct import Struct

from barnabas.base.disk import Disk
from barnabas.base.named_tuple import NamedTuple
from barnabas.storage.indexes.index_file import read_entries, write_entries

ENTRY = Struct(">hqqqq")
_VERSION = 0


class AbortedTransaction(NamedTuple):
    """A transaction that ended with an abort marker.

    Attributes:
        first_offset: of its first record in the partition.
        last_offset: of its marker.
        last_stable_offset: after the marker; lets a search stop early.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    """The entries of one segment, ascending by last offset."""

    __slots__ = ("_entries", "_written")

    def __init__(self) -> None:
        self._entries: list[AbortedTransaction] = []
        self._written = 0

    @classmethod
    def load(cls, disk: Disk, path: str) -> "TransactionIndex":
        """Read a file; one that does not exist is empty.

        Raises:
            ValueError: it holds something else than whole entries of version 0 in order.
        """
        index = cls()
        if not disk.exists(path):
            return index
        content = read_entries(disk, path)
        if len(content) % ENTRY.size:
            raise ValueError(f"{path} is {len(content)} bytes long, entries are {ENTRY.size}")
        last = -1
        for version, producer_id, first_offset, last_offset, stable in ENTRY.iter_unpack(content):
            if version != _VERSION or last_offset < last or first_offset > last_offset:
                raise ValueError(f"{path} holds no aborted transaction at offset {last_offset}")
            last = last_offset
            index._entries.append(AbortedTransaction(producer_id, first_offset, last_offset, stable))
        index._written = len(index._entries)
        return index

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def entries(self) -> list[AbortedTransaction]:
        """All entries; not to be changed."""
        return self._entries

    def append(self, entry: AbortedTransaction) -> None:
        """Add an entry behind all others."""
        assert not self._entries or entry.last_offset > self._entries[-1].last_offset, entry
        self._entries.append(entry)

    def collect(self, fetch_offset: int, upper_offset: int, found: list[AbortedTransaction]) -> bool:
        """Add to `found` what a read of [fetch_offset, upper_offset) must know.

        Returns:
            True when no later segment can add more.
        """
        for entry in self._entries:
            if entry.last_offset >= fetch_offset and entry.first_offset < upper_offset:
                found.append(entry)
            if entry.last_stable_offset >= upper_offset:
                return True
        return False

    def truncate_to(self, offset: int) -> None:
        """Drop every transaction whose marker lies at or beyond `offset`."""
        kept = [entry for entry in self._entries if entry.last_offset < offset]
        if len(kept) != len(self._entries):
            self._entries = kept
            self._written = -1

    def clear(self) -> None:
        """Drop all entries."""
        self._entries = []
        self._written = -1

    @property
    def unwritten(self) -> bool:
        """Whether the file differs from what is here."""
        return self._written != len(self._entries)

    def write(self, disk: Disk, path: str) -> None:
        """Bring the file up to date; none is made for an empty index."""
        first = max(self._written, 0)
        if self._entries or disk.exists(path):
            content = b"".join([ENTRY.pack(_VERSION, *entry) for entry in self._entries[first:]])
            write_entries(disk, path, content, self._written * ENTRY.size)
        self._written = len(self._entries)
