"""The indexes of a segment, compared with its batches as these go by: one pass, and no list of batches in
memory.

Each file gives one finding at most: its first wrong entry, and how many there are. All of it is made anew
anyway.
"""

from array import array
from collections.abc import Iterator
from struct import Struct

from barnabas.base.disk import Disk
from barnabas.base.errors import DecodeError
from barnabas.cli.doctor.batches import GoodBatch
from barnabas.cli.doctor.findings import Finding, Fix, Severity
from barnabas.cli.doctor.producers import Known
from barnabas.protocol.record_batch import parse_records
from barnabas.storage.indexes.transaction_index import AbortedTransaction

INDEX_BYTES_MAX = 256 * 1024 * 1024
"""An index is read whole; Kafka's are at most segment.index.bytes long, 10 MiB unless set."""

_OFFSET_ENTRY = Struct(">II")
_TIME_ENTRY = Struct(">qI")
_TRANSACTION_ENTRY = Struct(">hqqqq")


class _IndexCheck:
    """What the three have in common: a file, and its first fault."""

    kind = ""
    entry_bytes = 0

    def __init__(self, disk: Disk, path: str) -> None:
        self.path = path
        self.content = b""
        self.exists = disk.exists(path)
        self._faults = 0
        self._first: tuple[int, str] = (0, "")
        if not self.exists:
            return
        if disk.size(path) > INDEX_BYTES_MAX:
            self.fault(0, f"{disk.size(path)} bytes are too many for an index")
            return
        file = disk.open_readonly(path)
        try:
            self.content = file.read_at(0, file.size())
        finally:
            file.close()

    def fault(self, position: int, cause: str) -> None:
        """Note that an entry is wrong."""
        if not self._faults:
            self._first = position, cause
        self._faults += 1

    def findings(self) -> Iterator[Finding]:
        """Return what is wrong, once all batches went by."""
        if self._faults:
            position, cause = self._first
            more = f", and {self._faults - 1} more" if self._faults > 1 else ""
            yield self.finding(cause + more, position)

    def finding(self, cause: str, position: int | None = None) -> Finding:
        return Finding(
            severity=Severity.DERIVED,
            kind=self.kind,
            file=self.path,
            position=position,
            cause=cause,
            fix=Fix.REBUILD,
        )

    def _unpadded(self, *, clean: bool) -> bytes:
        """Return the entries before the zeros that a running Kafka leaves behind them; note what is wrong.

        A running Kafka's index is 10 MiB of mostly zeros, so those are cut off before entries are looked at.
        """
        size, entry = len(self.content), self.entry_bytes
        if size % entry:
            self.fault(size - size % entry, f"{size} bytes are no multiple of an entry's {entry}")
        whole = size // entry
        used_bytes = len(self.content[: whole * entry].rstrip(b"\0"))
        count = -(-used_bytes // entry)
        if count < whole and clean:
            self.fault(count * entry, "empty entries at the end, which a clean stop cuts off")
        return self.content[: count * entry]


class OffsetIndexCheck(_IndexCheck):
    """`.index`: last offset of a batch -> where the batch begins."""

    kind = "offset-index"
    entry_bytes = _OFFSET_ENTRY.size

    def __init__(self, disk: Disk, path: str, base_offset: int, *, clean: bool) -> None:
        super().__init__(disk, path)
        used = self._unpadded(clean=clean)
        words = array("I", (w for entry in _OFFSET_ENTRY.iter_unpack(used) for w in entry))
        self._offsets, self._positions = words[0::2], words[1::2]
        self._base = base_offset
        self._at = 0
        for number in range(len(self._offsets)):
            after = number == 0 or (
                self._offsets[number] > self._offsets[number - 1]
                and self._positions[number] > self._positions[number - 1]
            )
            if not after or self._positions[number] == 0:
                self.fault(number * self.entry_bytes, f"entry {self._entry(number)} does not rise")

    def _entry(self, number: int) -> str:
        return f"{self._base + self._offsets[number]} -> byte {self._positions[number]}"

    def batch(self, batch: GoodBatch) -> None:
        """A batch goes by."""
        positions = self._positions
        while self._at < len(positions) and positions[self._at] <= batch.position:
            number = self._at
            self._at += 1
            if positions[number] < batch.position:
                self.fault(number * self.entry_bytes, f"entry {self._entry(number)}: no batch begins there")
            elif self._base + self._offsets[number] != batch.header.last_offset:
                self.fault(
                    number * self.entry_bytes,
                    f"entry {self._entry(number)}: that batch ends with offset {batch.header.last_offset}",
                )

    def finish(self) -> None:
        """All batches went by."""
        for number in range(self._at, len(self._positions)):
            self.fault(number * self.entry_bytes, f"entry {self._entry(number)}: no batch begins there")


class TimeIndexCheck(_IndexCheck):
    """`.timeindex`: largest timestamp so far -> last offset of its batch."""

    kind = "time-index"
    entry_bytes = _TIME_ENTRY.size

    def __init__(self, disk: Disk, path: str, base_offset: int, *, clean: bool, sealed: bool) -> None:
        super().__init__(disk, path)
        # One entry of zeros is that of records with timestamp 0.
        is_one = len(self.content) == self.entry_bytes
        used = self.content if is_one else self._unpadded(clean=clean)
        self._entries = list(_TIME_ENTRY.iter_unpack(used))
        self._base = base_offset
        self._must_end = sealed or clean
        self._at = 0
        self._largest = (-1, base_offset)
        for number in range(1, len(self._entries)):
            before, this = self._entries[number - 1], self._entries[number]
            if this[0] <= before[0] or this[1] < before[1]:
                self.fault(number * self.entry_bytes, f"entry {self._entry(number)} does not rise")

    def _entry(self, number: int) -> str:
        timestamp, relative = self._entries[number]
        return f"{timestamp} -> offset {self._base + relative}"

    def batch(self, batch: GoodBatch) -> None:
        """A batch goes by."""
        header = batch.header
        if header.max_timestamp > self._largest[0]:
            self._largest = header.max_timestamp, header.last_offset
        while self._at < len(self._entries) and self._base + self._entries[self._at][1] <= header.last_offset:
            number = self._at
            self._at += 1
            timestamp, relative = self._entries[number]
            offset = self._base + relative
            if (timestamp, offset) != self._largest and not _is_record(batch, offset, timestamp):
                self.fault(
                    number * self.entry_bytes,
                    f"entry {self._entry(number)}: up to there the largest is {self._largest[0]}",
                )

    def finish(self) -> None:
        """All batches went by."""
        for number in range(self._at, len(self._entries)):
            self.fault(number * self.entry_bytes, f"entry {self._entry(number)}: the segment ends before")
        last = self._entries[-1][0] if self._entries else -1
        if self._must_end and last < self._largest[0] and self.exists:
            self.fault(
                len(self.content),
                f"the largest timestamp, {self._largest[0]}, is not in it: retention would go by {last}",
            )


def _is_record(batch: GoodBatch, offset: int, timestamp: int) -> bool:
    """Whether an entry names the very record, as brokers before Kafka 3 wrote it."""
    if not batch.header.base_offset <= offset <= batch.header.last_offset:
        return False
    try:
        records = parse_records(batch.content, 0, batch.header)
    except DecodeError:
        return False
    return any(record.offset == offset and record.timestamp == timestamp for record in records)


class TransactionIndexCheck(_IndexCheck):
    """`.txnindex`: the transactions that were aborted in this segment."""

    kind = "transaction-index"
    entry_bytes = _TRANSACTION_ENTRY.size

    def __init__(self, disk: Disk, path: str, base_offset: int) -> None:
        super().__init__(disk, path)
        size = len(self.content) - len(self.content) % self.entry_bytes
        if len(self.content) != size:
            self.fault(size, f"{len(self.content)} bytes are no multiple of an entry's {self.entry_bytes}")
        self._found: list[AbortedTransaction] = []
        last = base_offset - 1
        for number, fields in enumerate(_TRANSACTION_ENTRY.iter_unpack(self.content[:size])):
            version, entry = fields[0], AbortedTransaction(*fields[1:])
            if version != 0 or entry.first_offset > entry.last_offset or entry.last_offset <= last:
                self.fault(number * self.entry_bytes, f"entry {number} is none: version {version}, {entry}")
            last = entry.last_offset
            self._found.append(entry)

    def finish(
        self, expected: list[tuple[AbortedTransaction, Known]], *, may_lack: bool, may_keep: bool
    ) -> None:
        """Compare with the aborted transactions that the batches tell.

        Args:
            may_lack: entries may not be written yet: of the active segment, before a clean stop.
            may_keep: there may be entries whose markers are gone: of a compacted topic.
        """
        by_offset = {entry.last_offset: (entry, known) for entry, known in expected}
        for number, found in enumerate(self._found):
            position = number * self.entry_bytes
            entry, known = by_offset.pop(found.last_offset, (None, Known.MAYBE))
            if entry is None:
                if not may_keep:
                    self.fault(position, f"{found}: nothing was aborted at that offset")
            elif found.producer_id != entry.producer_id or (known is Known.ALL and found != entry):
                self.fault(position, f"{found} where {entry} was aborted")
        if not may_lack:
            for entry, known in by_offset.values():
                if known is not Known.MAYBE:
                    self.fault(len(self.content), f"the aborted transaction {entry} is not in it")
