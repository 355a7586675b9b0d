"""Compaction under power loss: what a reader makes of the log is what was written, whatever was cleaned when.

Each seed appends records with few keys, tombstones and transactions, flushes, truncates, moves the log's
start, and lets the cleaner's helpers be as late as they like, on a MemoryDisk that loses power at a random
operation.
After each restart everything flushed must be there or rightly gone: the newest value of each key, committed
or not, is the one that was appended, offsets ascend, and nothing is there that nobody appended.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from barnabas.protocol.record_batch import iter_batches, parse_records
from barnabas.protocol.record_batch_builder import BatchBuilder
from barnabas.storage.compaction.cleaning import InProcessCleaning
from barnabas.storage.compaction.task import CleaningTask
from barnabas.storage.log import Log
from barnabas.storage.log_cleaner.cleaner import LogCleaner
from barnabas.storage.log_cleaner.config import CleanerConfig
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_manager import LogManager
from barnabas.storage.producer_state.states import AppendOrigin
from barnabas.storage.topic_partition import TopicPartition
from tests.crash.power import FailingMachine, PowerLossError
from tests.seeded_entropy import SeededEntropy
from tests.storage_setup import TOPIC_ID, marker

CI_SEEDS = 40
SLOW_SEEDS = 3000
ROUNDS = 6
KEYS = 5
TRANSACTIONAL = 9
CONFIG = LogConfig(
    cleanup_policy=frozenset({"compact"}),
    segment_bytes=900,
    index_interval_bytes=200,
    delete_retention_ms=60_000,
    min_cleanable_dirty_ratio=0.0,
    file_delete_delay_ms=1_000,
)
KEY = TopicPartition("t", 0)


@dataclass(frozen=True)
class Appended:
    """A record; `in_transaction` of the transactional producer, `commit` only of a marker."""

    key: bytes
    value: bytes | None
    in_transaction: bool = False
    commit: bool | None = None


@dataclass
class Model:
    """Every record as appended, by offset, and up to where nothing may be lost."""

    records: dict[int, Appended] = field(default_factory=dict)
    flushed_end: int = 0
    start: int = 0  # the log's start may be anywhere up to here
    decided_to: int = 0  # cleanings have gone by what lies below

    def truncate(self, end: int) -> None:
        self.records = {offset: one for offset, one in self.records.items() if offset < end}
        self.flushed_end = min(self.flushed_end, end)

    def acceptable(self, key: bytes, end: int, *, committed: bool) -> tuple[list[bytes | None], int]:
        """Return what a reader of [0, end) may take for a key's newest value, and from which offset that is.

        Records of aborted transactions may be gone or not, for whoever reads what is not committed.
        """
        values: list[bytes | None] = []
        for offset in sorted(self.records, reverse=True):
            one = self.records[offset]
            if offset >= end or one.commit is not None or one.key != key:
                continue
            aborted = one.in_transaction and self._decision(offset) is False
            if not (committed and aborted):
                values.append(one.value)
            if not aborted:
                return values, offset
        return [*values, None], -1

    def _decision(self, offset: int) -> bool | None:
        """Whether the transaction of a record was committed; None while it is open."""
        later = [at for at, one in self.records.items() if at > offset and one.commit is not None]
        return self.records[min(later)].commit if later else None


class Machine(FailingMachine):
    """Logs and their cleaner on a disk that fails after a number of operations."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.model = Model()
        self.epoch = 0
        self.cleaned = 0

    def start(self) -> tuple[LogManager, LogCleaner]:
        manager = LogManager(
            disk=self.disk, clock=self.clock, entropy=SeededEntropy(self.random), directories=["/a"],
            config_for=lambda _: CONFIG,
        )  # fmt: skip
        manager.start()
        if manager.directories[0].online:
            manager.checkpoints.load_cleaner_offsets(manager.directories[0])
        if not manager.directories[0].online:
            raise PowerLossError(5, "power lost while starting")
        manager.retention_high_watermark = lambda key: manager.logs[key].log_end_offset
        self.soon: list[Callable[[], None]] = []
        self.works: list[tuple[Callable[[], None], Callable[[OSError | None], None]]] = []
        cleaner = LogCleaner(
            manager,
            config=CleanerConfig(
                # A map of a few keys is full early.
                dedupe_buffer_bytes=self.random.choice([200, 100_000]),
                io_buffer_bytes=300,
            ),
            clock=self.clock,
            entropy=SeededEntropy(self.random),
            make_cleaning=self.make_cleaning,
            run_cleaning=lambda work, done: self.works.append((work, done)),
            run_blocking=lambda work, done: self.works.append((work, done)),
            call_later=lambda _, call: self.soon.append(call),
            call_soon=self.soon.append,
            expire=lambda _: None,
        )
        cleaner.start()
        return manager, cleaner

    def work(self, manager: LogManager, cleaner: LogCleaner) -> None:
        """Do things until the power goes, or stop cleanly."""
        log = manager.get_or_create("t", 0, TOPIC_ID, CONFIG)
        self.check(log)
        self.epoch += 1
        for _ in range(self.random.randrange(1, 120)):
            self.step(manager, log)
        self.cleaned += cleaner.statistics().cleaned
        if self.random.randrange(3) == 0:
            cleaner.stop()
            self.check(log)
            if manager.shutdown():
                self.model.flushed_end = log.log_end_offset

    def step(self, manager: LogManager, log: Log) -> None:
        action = self.random.randrange(32)
        self.clock.advance_ms(self.random.randrange(4_000))
        if action < 12:
            self.append(log)
        elif action < 16:
            log.flush()
            self.model.flushed_end = log.log_end_offset
        elif action < 28:
            self.let_cleaner_go_on()
        elif action == 28 and self.random.randrange(4) == 0 and log.log_end_offset > self.lowest_cut(log):
            target = self.random.randrange(self.lowest_cut(log), log.log_end_offset)
            # A crash in the middle may leave either, and a batch across the target goes whole.
            self.model.flushed_end = min(self.model.flushed_end, max(target - 4, 0))
            log.truncate_to(target)
            self.model.truncate(log.log_end_offset)
        elif action == 29 and self.random.randrange(8) == 0:
            target = self.random.randrange(log.log_start_offset, log.log_end_offset + 1)
            self.model.start = max(self.model.start, target)
            log.advance_log_start(target)
        elif action == 30:
            manager.checkpoints.write_recovery_points()
        else:
            log.high_watermark_advanced(log.log_end_offset)
            manager.handle_timer(self.clock.monotonic_ms())
        if not log.directory.online:
            raise PowerLossError(5, "power lost")

    def lowest_cut(self, log: Log) -> int:
        """Return from where on a truncation may come: what is below the high watermark is never cut."""
        return max(log.log_start_offset, self.model.decided_to)

    def make_cleaning(self, task: CleaningTask) -> InProcessCleaning:
        assert task.high_watermark is not None
        self.model.flushed_end = max(self.model.flushed_end, task.first_uncleanable_offset)
        self.model.decided_to = max(self.model.decided_to, task.high_watermark)
        return InProcessCleaning(task, self.disk, self.clock, lambda _: None)

    def let_cleaner_go_on(self) -> None:
        for _ in range(self.random.randrange(1, 4)):
            if self.soon:
                self.soon.pop(0)()
            if self.works and self.random.randrange(2):
                work, done = self.works.pop(0)
                error: OSError | None = None
                try:
                    work()
                except OSError as raised:
                    error = raised
                done(error)

    def append(self, log: Log) -> None:
        first = log.log_end_offset
        state = log.producers.producers.get(TRANSACTIONAL)
        is_open = state is not None and state.txn_first_offset is not None
        in_transaction = self.random.randrange(3) == 0
        if is_open and self.random.randrange(3) == 0:
            commit = self.random.randrange(2) == 0
            self.model.records[first] = Appended(b"", None, True, commit)
            log.append(
                [marker(TRANSACTIONAL, commit=commit)],
                leader_epoch=self.epoch, origin=AppendOrigin.COORDINATOR,
            )  # fmt: skip
            log.high_watermark_advanced(log.log_end_offset)
            return
        options = {}
        if in_transaction:
            sequence = state.last_sequence + 1 if state is not None else 0
            options = {"producer_id": TRANSACTIONAL, "producer_epoch": 0, "base_sequence": sequence,
                       "is_transactional": True}  # fmt: skip
        builder = BatchBuilder(**options)  # type: ignore[arg-type]
        for number in range(self.random.randrange(1, 4)):
            key = b"key-%d" % self.random.randrange(KEYS)
            value = None if self.random.randrange(4) == 0 else b"value-%d" % (first + number)
            builder.append(timestamp=self.clock.wall_ms(), key=key, value=value)
            self.model.records[first + number] = Appended(key, value, in_transaction)
        log.append([bytes(builder.build())], leader_epoch=self.epoch)

    # Checking ----------------------------------------------------------------------------------

    def check(self, log: Log) -> None:
        """Compare a log with the model, and take over what was lost."""
        model = self.model
        assert log.log_end_offset >= model.flushed_end, "flushed records are lost"
        assert log.log_start_offset <= model.start
        model.truncate(log.log_end_offset)
        log.high_watermark_advanced(log.log_end_offset)
        raw = self.read(log, log.log_end_offset, committed=False)
        markers = self.markers(log)
        for offset in [at for at in model.records if at >= max(model.flushed_end, model.decided_to)]:
            # Beside the swap of a moment ago a start takes a loss for a gap, as Apache Kafka always does.
            if offset not in raw and offset not in markers:
                del model.records[offset]
        for committed in (False, True):
            end = log.log_end_offset
            if committed and log.first_unstable_offset is not None:
                end = log.first_unstable_offset.message_offset
            found = self.read(log, end, committed=committed)
            assert list(found) == sorted(found), "offsets ascend"
            for offset, record in found.items():
                known = model.records.get(offset)
                assert known is not None, f"offset {offset} was never appended"
                assert (known.key, known.value) == record, f"offset {offset} is another record"
            self.compare(found, end, committed=committed)

    def compare(self, found: dict[int, tuple[bytes, bytes | None]], end: int, *, committed: bool) -> None:
        state = dict(found.values())
        for key in (b"key-%d" % number for number in range(KEYS)):
            values, offset = self.model.acceptable(key, end, committed=committed)
            if offset >= self.model.start:  # what lies before the log's start may be there or not
                assert state.get(key) in values, f"{key!r} is {state.get(key)!r}, not of {values}"

    @staticmethod
    def markers(log: Log) -> set[int]:
        """Return where transactions end."""
        found = set()
        for segment in log.segments:
            content = segment.leased.file.read_at(0, segment.size)
            found |= {header.base_offset for _, header in iter_batches(content) if header.is_control}
        return found

    @staticmethod
    def read(log: Log, end: int, *, committed: bool) -> dict[int, tuple[bytes, bytes | None]]:
        """Read as a consumer does, of this isolation, across segments and gaps."""
        found: dict[int, tuple[bytes, bytes | None]] = {}
        offset, bound = log.log_start_offset, log.offset_metadata(end)
        aborting: set[int] = set()
        while offset < end:
            data = log.read(offset, bound, 10_000, min_one_message=True, include_aborted=committed)
            if data.records is None:
                break
            content = data.records.read()
            data.records.release()
            aborted = sorted((one.first_offset, one.producer_id) for one in data.aborted_transactions or ())
            for position, header in iter_batches(content, allow_partial_tail=True):
                while aborted and aborted[0][0] <= header.last_offset:
                    aborting.add(aborted.pop(0)[1])
                offset = header.next_offset
                if header.is_control:
                    aborting.discard(header.producer_id)
                elif not (committed and header.is_transactional and header.producer_id in aborting):
                    for record in parse_records(content, position, header):
                        assert record.key is not None
                        if record.offset >= log.log_start_offset:
                            found[record.offset] = (record.key, record.value)
        return found


def run(seed: int) -> int:
    """Play a seed; return how many cleanings were completed."""
    machine = Machine(seed)
    for _ in range(ROUNDS):
        machine.live_once(lambda: machine.work(*machine.start()), 1_000)
    manager, cleaner = machine.start()
    log = manager.logs.get(KEY)
    if log is not None:
        machine.check(log)
        machine.append(log)
        log.flush()
        for _ in range(50):
            machine.let_cleaner_go_on()
            machine.clock.advance_ms(1_000)
        machine.check(log)
        cleaner.stop()
    assert manager.shutdown()
    return machine.cleaned


@pytest.mark.parametrize("seed", range(CI_SEEDS))
def test_after_power_loss_each_key_has_its_newest_value(seed: int) -> None:
    run(seed)


def test_the_seeds_do_compact() -> None:
    assert sum(run(seed) for seed in range(10)) > 10


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_power_losses_while_compacting() -> None:
    for seed in range(CI_SEEDS, SLOW_SEEDS):
        try:
            run(seed)
        except BaseException:
            print(f"failing seed: {seed}")
            raise
