"""What clients were told, and so what has to be there after the power came back.

A history keeps facts of clients only: what was sent, what was acknowledged and under which promise, what a
consumer has seen. It never looks into the broker. What it says of a disk is an error of the broker.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from barnabas.protocol.control_records import ControlType, parse_end_txn_marker
from barnabas.protocol.record_batch import (
    ATTRIBUTES_POSITION,
    HEADER_BYTES,
    BatchHeader,
    crc_matches,
    iter_batches,
    parse_header,
    parse_records,
)
from barnabas.protocol.records import Record


class RuleBrokenError(AssertionError):
    """What must never happen did."""


def expect(holds: bool, what: str) -> None:
    """Raise unless a rule holds."""
    if not holds:
        raise RuleBrokenError(what)


class StoredBatch(NamedTuple):
    """A batch as it lies in a log."""

    header: BatchHeader
    raw: bytes

    @property
    def base_offset(self) -> int:
        return self.header.base_offset

    @property
    def next_offset(self) -> int:
        return self.header.last_offset + 1

    @property
    def tail(self) -> bytes:
        """What its producer made: everything that the checksum covers."""
        return self.raw[ATTRIBUTES_POSITION:]

    @property
    def records(self) -> list[Record]:
        """Its records, with their offsets."""
        return parse_records(self.raw, 0, self.header)

    @property
    def committed(self) -> bool | None:
        """What a marker says; None for what is no marker, or was emptied by compaction."""
        records = self.records if self.header.is_control else None
        if not records:
            return None
        return parse_end_txn_marker(records[0]).control_type is ControlType.COMMIT


def split_batches(content: bytes) -> list[StoredBatch]:
    """Return the good batches that bytes begin with."""
    found = []
    position = 0
    while len(content) - position >= HEADER_BYTES:
        length = int.from_bytes(content[position + 8 : position + 12], "big") + 12
        if content[position + 16] != 2 or not HEADER_BYTES <= length <= len(content) - position:
            break
        header = parse_header(content, position)
        if not crc_matches(content, position, header):
            break
        found.append(StoredBatch(header, content[position : position + length]))
        position += length
    return found


def fetched_batches(records: Any) -> list[StoredBatch]:
    """Return the whole batches of a fetch's answer; each must be right."""
    content = bytes(records) if records is not None else b""
    found = []
    for position, header in iter_batches(content, allow_partial_tail=True):
        expect(crc_matches(content, position, header), "a fetch got a batch with a wrong checksum")
        found.append(StoredBatch(header, content[position : position + header.size_bytes]))
    return found


@dataclass(kw_only=True, slots=True)
class Transaction:
    """A transaction as its client knows it.

    Attributes:
        outcome: "open", "committing", "aborting", "committed", "aborted", or "lost": nobody will end it.
        is_durable: its decision was acknowledged while that promised to survive.
    """

    name: str
    producer_id: int
    producer_epoch: int
    outcome: str = "open"
    is_durable: bool = False

    @property
    def may_be_committed(self) -> bool:
        return self.outcome in ("committing", "committed", "unsure")

    @property
    def may_be_aborted(self) -> bool:
        return self.outcome != "committed"


@dataclass(kw_only=True, slots=True)
class Attempt:
    """A batch that a client has sent, perhaps several times.

    Attributes:
        tail: what a log keeps of it as it is.
        offset: where it was acknowledged; -1 before that.
        sends: how often.
    """

    tail: bytes
    keys: tuple[bytes, ...]
    values: tuple[bytes, ...]
    producer_id: int
    producer_epoch: int
    sequence: int
    transaction: Transaction | None = None
    offset: int = -1
    sends: int = 0

    @property
    def records(self) -> int:
        return len(self.values)

    @property
    def is_idempotent(self) -> bool:
        return self.producer_id >= 0


@dataclass(kw_only=True, slots=True)
class PartitionHistory:
    """What clients know of a partition.

    Attributes:
        attempts: everything sent, by tail.
        values: the same by each record's value, for compacted logs, whose batches are made anew.
        is_durable: what is acknowledged now survives everything.
        is_settled: so does what consumers see: nothing is left of a time when that was not promised.
        durable_end: nothing below may be lost, whatever happens.
        acked: offset -> attempt; what a power loss took is taken out.
        start_deleted: the deletion of all below was acknowledged.
        start_asked: records below it may be deleted.
        seen_end: consumers have seen what lies below.
        has_lost: a power loss took something that was written, though not promised.
        is_gone: its topic was deleted, or may have been.
        may_expire: retention may have deleted records.
    """

    topic: str
    topic_id: bytes
    partition: int
    is_durable: bool
    is_compacted: bool
    attempts: dict[bytes, Attempt] = field(default_factory=dict)
    values: dict[bytes, Attempt] = field(default_factory=dict)
    is_settled: bool = False
    durable_end: int = 0
    acked: dict[int, Attempt] = field(default_factory=dict)
    start_deleted: int = 0
    start_asked: int = 0
    seen_end: int = 0
    has_lost: bool = False
    is_gone: bool = False
    may_expire: bool = False

    @property
    def may_be_out_of_range(self) -> bool:
        """Whether an offset that was there may be below the log's start now."""
        return self.start_asked > 0 or self.may_expire

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"

    def sent(self, attempt: Attempt) -> None:
        """A batch goes out."""
        attempt.sends += 1
        self.attempts[attempt.tail] = attempt
        if self.is_compacted:
            self.values.update(dict.fromkeys(attempt.values, attempt))

    def acknowledged(self, attempt: Attempt, offset: int) -> None:
        """A batch was answered without an error."""
        expect(offset >= 0, f"{self.name}: acknowledged at offset {offset}")
        if attempt.offset >= 0:
            expect(attempt.offset == offset or offset not in self.acked, f"{self.name}: moved")
        other = self.acked.get(offset)
        expect(other is None or other is attempt, f"{self.name}: offset {offset} was given twice")
        attempt.offset = offset
        self.acked[offset] = attempt
        self.is_settled = self.is_settled or self.is_durable
        self.seen(offset + attempt.records)

    def seen(self, end: int) -> None:
        """A client knows of records below `end`."""
        self.seen_end = max(self.seen_end, end)
        if self.is_settled:
            self.durable_end = max(self.durable_end, end)

    def promise(self, is_durable: bool) -> None:
        """From now on acknowledged records survive everything, or do not."""
        self.is_durable = is_durable
        self.is_settled = self.is_settled and is_durable

    def cut(self, end: int) -> None:
        """A power loss took what lies at or beyond `end`."""
        for offset in [o for o, attempt in self.acked.items() if o + attempt.records > end]:
            self.acked.pop(offset).offset = -1
        self.seen_end = min(self.seen_end, end)

    # Checks ------------------------------------------------------------------------------------------

    def check_content(self, batches: list[StoredBatch], log_start: int) -> None:
        """Check what a log holds: only what was sent, once, in order, where it was acknowledged."""
        if self.is_compacted:
            self._check_compacted(batches)
            return
        counts: dict[bytes, int] = {}
        last_sequence: dict[tuple[int, int], int] = {}
        by_base = {}
        for before, batch in zip([None, *batches], batches, strict=False):
            base = batch.base_offset
            by_base[base] = batch
            expect(before is None or base == before.next_offset, f"{self.name}: a hole before offset {base}")
            if batch.header.is_control:
                continue
            attempt = self.attempts.get(batch.tail)
            expect(attempt is not None, f"{self.name}: nobody sent the batch at {base}")
            assert attempt is not None
            counts[batch.tail] = counts.get(batch.tail, 0) + 1
            most = 1 if attempt.is_idempotent else attempt.sends
            expect(counts[batch.tail] <= most, f"{self.name}: the batch at {base} is there twice")
            if attempt.is_idempotent:
                key = (attempt.producer_id, attempt.producer_epoch)
                expect(
                    attempt.sequence > last_sequence.get(key, -1),
                    f"{self.name}: sequence {attempt.sequence} at {base} is out of order",
                )
                last_sequence[key] = attempt.sequence
        end = batches[-1].next_offset if batches else log_start
        for offset, attempt in self.acked.items():
            if log_start <= offset < end:
                found = by_base.get(offset)
                expect(
                    found is not None and found.tail == attempt.tail,
                    f"{self.name}: offset {offset} does not hold what was acknowledged there",
                )

    def _check_compacted(self, batches: list[StoredBatch]) -> None:
        """Check a compacted log by records: each was sent, none twice; the last one of each key is there."""
        found = [record for batch in batches for record in batch.records]
        counts: dict[bytes, int] = {}
        for record in found:
            attempt = self.values.get(record.value or b"")
            expect(attempt is not None, f"{self.name}: nobody sent the record at {record.offset}")
            assert attempt is not None
            counts[record.value or b""] = count = counts.get(record.value or b"", 0) + 1
            expect(
                count <= (1 if attempt.is_idempotent else attempt.sends),
                f"{self.name}: the record at {record.offset} is there twice",
            )
        there = {record.offset: record for record in found}
        last_of_key = {record.key: record.offset for record in found}
        end = batches[-1].next_offset if batches else 0
        for offset, attempt in self.acked.items():
            for number, (key, value) in enumerate(zip(attempt.keys, attempt.values, strict=True)):
                at = offset + number
                kept = there.get(at)
                expect(
                    at >= end
                    or (kept is not None and kept.value == value)
                    or (kept is None and last_of_key.get(key, -1) > at),
                    f"{self.name}: what was acknowledged at {at} is gone, and nothing took its place",
                )

    def check_end(self, end: int, *, all_kept: bool) -> None:
        """Check that nothing that was promised is behind the log's end."""
        expect(
            end >= self.durable_end,
            f"{self.name}: ends at {end}, but {self.durable_end} was promised to stay",
        )
        last_acked = max((o + a.records for o, a in self.acked.items()), default=0)
        expect(
            not all_kept or end >= last_acked,
            f"{self.name}: ends at {end}, but {last_acked} was acknowledged",
        )


def visible_batches(batches: list[StoredBatch]) -> tuple[list[StoredBatch], list[StoredBatch], int | None]:
    """Return what committed readers see of a log, what was aborted, and where an open transaction begins."""
    open_from: dict[int, list[StoredBatch]] = {}
    committed: list[StoredBatch] = []
    aborted: list[StoredBatch] = []
    for batch in batches:
        producer_id = batch.header.producer_id
        decision = batch.committed
        if decision is not None:
            ended = open_from.pop(producer_id, [])
            (committed if decision else aborted).extend(ended)
        elif batch.header.is_transactional:
            open_from.setdefault(producer_id, []).append(batch)
        else:
            committed.append(batch)
    first_open = min((ended[0].base_offset for ended in open_from.values()), default=None)
    committed.sort(key=lambda batch: batch.base_offset)
    return committed, aborted, first_open


class CommittedOffset:
    """What may be the committed offset of a group on a partition.

    Attributes:
        is_durable: what is acknowledged now survives everything.
        acked: the last one acknowledged, -1 for none.
        later: sent after that, and not answered: each may hold as well.
        history: everything that ever held or may have.
    """

    __slots__ = ("acked", "history", "is_durable", "later", "promised")

    def __init__(self, *, is_durable: bool) -> None:
        self.is_durable = is_durable
        self.acked = -1
        self.promised = -1
        self.later: list[int] = []
        self.history: list[int] = [-1]

    def sent(self, offset: int) -> None:
        """A commit goes out."""
        self.later.append(offset)
        self.history.append(offset)

    def acknowledged(self, offset: int) -> None:
        """It was answered without an error; those sent before it are overtaken."""
        del self.later[: self.later.index(offset) + 1]
        self.acked = offset
        if self.is_durable:
            self.promised = offset

    def withdrawn(self, offset: int) -> None:
        """It was refused, or its transaction aborted."""
        if offset in self.later:
            self.later.remove(offset)
            self.history.remove(offset)

    def check(self, found: int, *, all_kept: bool, what: str) -> None:
        """Check what a group is told after a restart, and go on from there."""
        if all_kept or (self.is_durable and self.promised == self.acked):
            allowed = {self.acked, *self.later}
        else:
            # Offsets ascend, so what lies before the last promise in history is older.
            allowed = {offset for offset in self.history if offset >= self.promised}
        expect(found in allowed, f"{what} is {found}, allowed are {sorted(allowed)}")
        self.acked = found
        self.history = [offset for offset in self.history if offset <= found]
        if found not in self.history:
            self.history.append(found)
        self.later.clear()
