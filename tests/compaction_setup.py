"""Logs to compact: on a disk in memory, made by hand or by a seed, cleaned and read back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from barnabas.base.dataclass import replace
from barnabas.protocol.compression import Codec
from barnabas.protocol.control_records import ControlType, build_end_txn_batch, parse_control_type
from barnabas.protocol.record_batch import BatchHeader, iter_batches, parse_records
from barnabas.protocol.record_batch_builder import BatchBuilder
from barnabas.protocol.records import Record
from barnabas.sim.clock import ManualClock
from barnabas.sim.disk import MemoryDisk
from barnabas.storage.compaction.cleaning import InProcessCleaning
from barnabas.storage.compaction.task import (
    ActiveProducer,
    CleaningResult,
    CleaningTask,
    SegmentToClean,
)
from barnabas.storage.indexes.offset_index import OffsetIndex
from barnabas.storage.indexes.time_index import TimeIndex
from barnabas.storage.indexes.transaction_index import AbortedTransaction, TransactionIndex
from barnabas.storage.segment import SEGMENT_SUFFIXES, file_stem

PATH = "/data/t-0"
NOW_MS = 1_700_000_100_000
FIRST_TIMESTAMP = 1_700_000_000_000
DELETE_RETENTION_MS = 1000

Batches = list[tuple[BatchHeader, list[Record]]]


def key_batch(base_offset: int, *pairs: tuple[str | None, str | None], **options: Any) -> bytes:
    """One batch of (key, value), where None is null, from `base_offset`; record n is n ms later."""
    timestamp = options.pop("timestamp", FIRST_TIMESTAMP)
    builder = BatchBuilder(base_offset=base_offset, **options)
    for number, (key, value) in enumerate(pairs):
        builder.append(
            timestamp=timestamp + number,
            key=None if key is None else key.encode(),
            value=None if value is None else value.encode(),
        )
    return bytes(builder.build())


def end_marker(base_offset: int, producer_id: int, *, commit: bool, epoch: int = 0) -> bytes:
    """A transaction's end."""
    return build_end_txn_batch(
        control_type=ControlType.COMMIT if commit else ControlType.ABORT,
        coordinator_epoch=0,
        producer_id=producer_id,
        producer_epoch=epoch,
        timestamp=FIRST_TIMESTAMP,
        base_offset=base_offset,
    )


class CompactedLog:
    """A log's files on a disk of its own; the last segment is the active one.

    Args:
        segments: (base offset, content), in order.
        index_interval_bytes: with which the segments' indexes were made.
    """

    def __init__(
        self, segments: Iterable[tuple[int, bytes]], disk: Any = None, *, index_interval_bytes: int = 4096
    ) -> None:
        self.clock = ManualClock(NOW_MS)
        self.disk: Any = disk or MemoryDisk(self.clock)
        self.disk.make_dirs(PATH)
        for parent in ("/", "/data"):
            self.disk.sync_dir(parent)
        self.bases: list[int] = []
        self._aborted: dict[int, list[AbortedTransaction]] = {}
        for number, (base_offset, content) in enumerate(segments):
            self.bases.append(base_offset)
            self._write(file_stem(PATH, base_offset) + ".log", content)
            self.disk.set_mtime_ms(file_stem(PATH, base_offset) + ".log", FIRST_TIMESTAMP + number)
            self._write_indexes(base_offset, index_interval_bytes)
        self._write_transaction_indexes()

    def _write(self, path: str, content: bytes) -> None:
        file = self.disk.open(path, create=True)
        file.write_at(0, [content])
        file.sync()
        file.close()

    def content(self, base_offset: int, suffix: str = ".log") -> bytes:
        path = file_stem(PATH, base_offset) + suffix
        if not self.disk.exists(path):
            return b""
        file = self.disk.open_readonly(path)
        return bytes(file.read_at(0, file.size()))

    def _write_indexes(self, base_offset: int, interval_bytes: int) -> None:
        offsets, times = OffsetIndex(base_offset), TimeIndex(base_offset)
        since_entry, latest, latest_offset = 0, -1, base_offset
        for position, header in iter_batches(self.content(base_offset)):
            if header.max_timestamp > latest:
                latest, latest_offset = header.max_timestamp, header.last_offset
            if since_entry > interval_bytes:
                offsets.append(header.last_offset, position)
                times.maybe_append(latest, latest_offset)
                since_entry = 0
            since_entry += header.size_bytes
        times.maybe_append(latest, latest_offset)
        stem = file_stem(PATH, base_offset)
        offsets.write(self.disk, stem + ".index")
        times.write(self.disk, stem + ".timeindex")

    def _write_transaction_indexes(self) -> None:
        first_offsets: dict[int, int] = {}
        for base_offset in self.bases:
            index = TransactionIndex()
            for header, records in self.batches([base_offset]):
                if not header.is_transactional:
                    continue
                if not header.is_control:
                    first_offsets.setdefault(header.producer_id, header.base_offset)
                    continue
                first = first_offsets.pop(header.producer_id, header.base_offset)
                if records and parse_control_type(records[0].key) is ControlType.ABORT:
                    last = header.base_offset
                    stable = min(first_offsets.values(), default=last + 1)
                    index.append(AbortedTransaction(header.producer_id, first, last, stable))
            index.write(self.disk, file_stem(PATH, base_offset) + ".txnindex")
            self._aborted[base_offset] = index.entries

    # What there is -------------------------------------------------------------------------------

    def batches(self, bases: Sequence[int] | None = None) -> Batches:
        """All batches of all segments, or of some."""
        found: Batches = []
        for base_offset in self.bases if bases is None else bases:
            content = self.content(base_offset)
            for position, header in iter_batches(content):
                found.append((header, parse_records(content, position, header)))
        return found

    def records(self) -> list[Record]:
        """All records that are none of a control batch."""
        return [record for header, records in self.batches() for record in records if not header.is_control]

    def active_producers(self) -> tuple[ActiveProducer, ...]:
        """What a log's producer state would know of all of them."""
        found: dict[int, ActiveProducer] = {}
        for header, _ in self.batches():
            if header.producer_id < 0:
                continue
            known = found.get(header.producer_id)
            last = known.last_data_offset if known is not None else -1
            if known is not None and header.producer_epoch != known.producer_epoch:
                last = -1
            if not header.is_control:
                last = header.last_offset
            found[header.producer_id] = ActiveProducer(header.producer_id, header.producer_epoch, last)
        return tuple(found.values())

    def indexes(self, base_offset: int) -> tuple[OffsetIndex, TimeIndex]:
        stem = file_stem(PATH, base_offset)
        return (
            OffsetIndex.load(self.disk, stem + ".index", base_offset),
            TimeIndex.load(self.disk, stem + ".timeindex", base_offset),
        )

    # Cleaning --------------------------------------------------------------------------------------

    def task(self, **changes: Any) -> CleaningTask:
        """A cleaning of all but the last segment."""
        cleaned, active = self.bases[:-1], self.bases[-1]
        task = CleaningTask(
            path=PATH,
            segments=tuple(
                SegmentToClean(
                    base,
                    self.disk.size(file_stem(PATH, base) + ".log"),
                    self.disk.mtime_ms(file_stem(PATH, base) + ".log"),
                )
                for base in cleaned
            ),
            first_dirty_offset=cleaned[0],
            first_uncleanable_offset=active,
            now_ms=NOW_MS,
            delete_retention_ms=DELETE_RETENTION_MS,
            segment_bytes=1 << 20,
            segment_index_bytes=1 << 20,
            index_interval_bytes=4096,
            max_message_bytes=1 << 20,
            dedupe_buffer_bytes=24 * 100_000,
            active_producers=self.active_producers(),
            aborted_beyond=tuple(
                entry for entry in self._aborted.get(active, []) if entry.first_offset < active
            ),
        )
        return replace(task, **changes)

    def cleaning(self, **changes: Any) -> InProcessCleaning:
        return InProcessCleaning(self.task(**changes), self.disk, self.clock, self.clock.advance_ms)

    def clean(self, **changes: Any) -> CleaningResult:
        """Clean and swap in what came out, which has to be a success."""
        result = self.cleaning(**changes).run()
        assert result.failure is None, result.failure
        self.swap(result)
        return result

    def swap(self, result: CleaningResult) -> None:
        """Put the new segments into the places of the old ones."""
        for group in result.groups:
            for base_offset in group.replaced:
                self.bases.remove(base_offset)
                for suffix in SEGMENT_SUFFIXES:
                    if self.disk.exists(file_stem(PATH, base_offset) + suffix):
                        self.disk.unlink(file_stem(PATH, base_offset) + suffix)
            self.bases = sorted([*self.bases, group.base_offset])
            for suffix in SEGMENT_SUFFIXES:
                path = file_stem(PATH, group.base_offset) + suffix
                if self.disk.exists(path + ".cleaned"):
                    self.disk.rename(path + ".cleaned", path)
            entries = TransactionIndex.load(
                self.disk, file_stem(PATH, group.base_offset) + ".txnindex"
            ).entries
            self._aborted[group.base_offset] = entries


# Random logs ---------------------------------------------------------------------------------------


@dataclass
class _Producer:
    """A producer of a random log."""

    producer_id: int
    is_transactional: bool
    epoch: int = 0
    sequence: int = 0
    is_open: bool = False


@dataclass
class LogMaker:
    """Makes a log by a seed: keys, tombstones, nulls, headers, codecs, producers, transactions.

    Attributes:
        codecs: to choose from for each batch.
        keys: how many different ones there are.
        keyless: whether some records have no key, which a compacted topic refuses today.
    """

    seed: int
    segments: int = 5
    batches_per_segment: int = 12
    keys: int = 12
    codecs: Sequence[Codec] = (Codec.NONE,)
    keyless: bool = False
    next_offset: int = 0
    _producers: list[_Producer] = field(default_factory=list)

    def make(self) -> list[tuple[int, bytes]]:
        """Return (base offset, content) of each segment."""
        random = self._random = Random(self.seed)
        self._producers = [_Producer(100 + number, number % 2 == 0) for number in range(4)]
        made = []
        for _ in range(self.segments):
            base_offset = self.next_offset
            count = random.randrange(1, self.batches_per_segment * 2)
            made.append((base_offset, b"".join(self._batch() for _ in range(count))))
        return made

    def _batch(self) -> bytes:
        random = self._random
        choice = random.random()
        open_ones = [producer for producer in self._producers if producer.is_open]
        if open_ones and choice < 0.25:
            return self._end(random.choice(open_ones))
        producer = random.choice(self._producers) if choice < 0.75 else None
        options: dict[str, Any] = {}
        if producer is not None:
            options = {
                "producer_id": producer.producer_id,
                "producer_epoch": producer.epoch,
                "base_sequence": producer.sequence,
                "is_transactional": producer.is_transactional,
            }
            producer.is_open = producer.is_transactional
        if random.random() < 0.15:
            options["log_append_time_ms"] = FIRST_TIMESTAMP + self.next_offset
        builder = BatchBuilder(
            base_offset=self.next_offset,
            codec=random.choice(self.codecs),
            partition_leader_epoch=self.next_offset // 50,
            **options,
        )
        count = random.choice((1, 1, 2, 3, 5, 8, 40))
        for number in range(count):
            self._append(builder, number)
        self.next_offset += count
        if producer is not None:
            producer.sequence += count
        return bytes(builder.build())

    def _append(self, builder: BatchBuilder, number: int) -> None:
        random = self._random
        key: bytes | None = b"key-%d" % random.randrange(self.keys)
        if self.keyless and random.random() < 0.1:
            key = None
        value = (
            None if random.random() < 0.2 else b"v%05d" % self.next_offset * random.choice((0, 1, 1, 12, 33))
        )
        timestamp = FIRST_TIMESTAMP + self.next_offset + number
        if builder.log_append_time_ms is not None:
            timestamp = builder.log_append_time_ms
        elif random.random() < 0.2:
            timestamp += random.randrange(-5000, 5000)
        builder.append(
            timestamp=timestamp,
            key=key,
            value=value,
            headers=[("h", random.randbytes(3)), ("n", None)] if random.random() < 0.2 else [],
        )

    def _end(self, producer: _Producer) -> bytes:
        random = self._random
        marker = end_marker(
            self.next_offset, producer.producer_id, commit=random.random() < 0.5, epoch=producer.epoch
        )
        producer.is_open = False
        if random.random() < 0.2:
            producer.epoch += 1
            producer.sequence = 0
        self.next_offset += 1
        return marker
