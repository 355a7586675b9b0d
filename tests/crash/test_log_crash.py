"""Power loss under a log: whatever the disk did to what was not synced, the log comes back a prefix.

Each seed appends, flushes, rolls, truncates, deletes records, checkpoints and closes at random on a
MemoryDisk that loses power at a random operation, even in the middle of recovering from the last crash. After
each restart the log must hold a prefix of what was appended that includes everything flushed, its indexes
must agree with its batches, and appending must go on. A failing seed is in the test's name.
"""

from dataclasses import dataclass, field

import pytest

from barnabas.protocol.record_batch import iter_batches
from barnabas.storage.flush import durable_logs
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_manager import LogManager
from barnabas.storage.topic_partition import TopicPartition
from tests.crash.power import FailingMachine, PowerLossError
from tests.index_entries import wrong_entries
from tests.seeded_entropy import SeededEntropy
from tests.storage_setup import TOPIC_ID, batch

CI_SEEDS = 50
SLOW_SEEDS = 2000
ROUNDS = 6
CONFIGS = [
    LogConfig(segment_bytes=2000, index_interval_bytes=200, retention_ms=-1, preallocate=preallocate)
    for preallocate in (False, True)
]
TOPIC = "t"


@dataclass
class Model:
    """What must and may be there.

    Attributes:
        batches: every appended batch as stored, by base offset, in order; cut by truncations.
        flushed_end: nothing below may be lost.
        start: where records were deleted up to at most; the log's start may fall back behind it as long as no
            checkpoint was written, and leader epochs below it are forgotten then.
    """

    batches: dict[int, bytes] = field(default_factory=dict)
    flushed_end: int = 0
    start: int = 0

    @property
    def end(self) -> int:
        return max((next(iter_batches(b))[1].next_offset for b in self.batches.values()), default=0)

    def truncate(self, end: int) -> None:
        self.batches = {base: b for base, b in self.batches.items() if base < end}
        self.flushed_end = min(self.flushed_end, end)


class Machine(FailingMachine):
    """A log manager on a disk that fails after a number of operations."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.model = Model()
        # Every other two machines preallocate: what was never written must not be taken for batches.
        self.config = CONFIGS[seed // 2 % 2]
        self.sequence = 0
        self.epoch = 0

    def start(self) -> LogManager:
        manager = LogManager(
            disk=self.disk, clock=self.clock, entropy=SeededEntropy(self.random), directories=["/a"],
            config_for=lambda _: self.config,
        )  # fmt: skip
        manager.start()
        if not manager.directories[0].online:
            raise PowerLossError(5, "power lost while starting")
        return manager

    def work(self, manager: LogManager) -> None:
        """Do things until the power goes, or stop cleanly."""
        log = manager.get_or_create(TOPIC, 0, TOPIC_ID, self.config)
        self.check(log)
        self.epoch += 1
        for _ in range(self.random.randrange(1, 60)):
            self.step(manager, log)
        if self.random.randrange(3) == 0 and manager.shutdown():
            self.model.flushed_end = self.model.end

    def step(self, manager: LogManager, log: Log) -> None:
        action = self.random.randrange(24)
        self.clock.advance_ms(self.random.randrange(40_000))
        if action < 16:
            self.append(log)
        elif action < 18:
            log.flush()
            self.model.flushed_end = log.log_end_offset
        elif action == 18:
            log.roll()
        elif action == 19 and self.random.randrange(3) == 0 and log.log_end_offset > log.log_start_offset:
            target = self.random.randrange(log.log_start_offset, log.log_end_offset + 1)
            # From the call on: a crash in the middle may leave either. A batch across the target goes whole.
            across = max((base for base in self.model.batches if base <= target), default=0)
            self.model.flushed_end = min(self.model.flushed_end, across)
            log.truncate_to(target)
            self.model.truncate(log.log_end_offset)
        elif action == 20 and self.random.randrange(3) == 0:
            target = self.random.randrange(log.log_start_offset, log.log_end_offset + 1)
            self.model.start = max(self.model.start, target)
            log.delete_records(target, log.log_end_offset)
        elif action == 21:
            manager.checkpoints.write_recovery_points()
        elif action == 22:
            manager.checkpoints.write_log_starts()
        else:
            manager.handle_timer(self.clock.monotonic_ms())
        if not log.directory.online:
            raise PowerLossError(5, "power lost")

    def append(self, log: Log) -> None:
        count = self.random.randrange(1, 4)
        known = log.producers.producers.get(5)
        sequence = known.last_sequence + 1 if known is not None else self.sequence
        made = batch(
            count, timestamp=self.clock.wall_ms(), value_bytes=self.random.randrange(120),
            producer_id=5, producer_epoch=0, base_sequence=sequence,
        )  # fmt: skip
        base = log.log_end_offset
        stored = base.to_bytes(8, "big") + made[8:12] + self.epoch.to_bytes(4, "big") + made[16:]
        self.model.batches[base] = stored
        log.append([made], leader_epoch=self.epoch)
        self.sequence = sequence + count

    def check(self, log: Log) -> None:
        """Compare a log that was just opened with the model, and take over what was lost."""
        model = self.model
        assert log.log_end_offset >= model.flushed_end, "flushed records are lost"
        assert log.recovery_point <= log.log_end_offset
        found = b""
        for segment in log.segments:
            content = segment.leased.file.read_at(0, segment.size + self.config.segment_bytes)
            if self.config.preallocate and not segment.size and len(content) == self.config.segment_bytes:
                assert segment is log.segments.active, "a sealed segment is longer than its batches"
                assert not any(content)
                content = b""
            assert len(content) == segment.size, "bytes are left behind the last batch"
            found += content
            assert not list(wrong_entries(segment, content))
        expected = [model.batches[base] for base in sorted(model.batches)]
        first = next(iter_batches(found))[1].base_offset if found else log.log_end_offset
        position = 0
        for stored in [b for b in expected if int.from_bytes(b[:8], "big") >= first]:
            if position == len(found):
                break
            assert found[position : position + len(stored)] == stored, f"not a prefix at byte {position}"
            position += len(stored)
        assert position == len(found), "batches that nobody appended"
        assert first <= max(log.log_start_offset, 0) or not found
        model.truncate(log.log_end_offset)
        heads = [header for _, header in iter_batches(found)]
        if heads and 5 in log.producers.producers:
            assert log.producers.producers[5].last_offset == heads[-1].last_offset
            assert log.producers.producers[5].last_sequence == heads[-1].last_sequence
        elif heads:
            assert log.log_start_offset >= log.log_end_offset, "the producer is forgotten"
        for header in heads:
            epoch = log.leader_epochs.epoch_for(header.base_offset)
            assert header.base_offset < max(log.log_start_offset, model.start) or (
                epoch == header.partition_leader_epoch
            )


def run(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(seed)
    # Half of the machines sync the volume at a stop, as brokers with many logs do.
    monkeypatch.setattr(durable_logs, "TOGETHER_FROM", 1 + seed % 2)
    for _ in range(ROUNDS):
        machine.live_once(lambda: machine.work(machine.start()), 300)
    manager = machine.start()
    log = manager.get(TOPIC, 0)
    if log is not None:
        machine.check(log)
        machine.append(log)
    assert manager.shutdown()
    again = machine.start()
    assert log is None or again.logs[TopicPartition(TOPIC, 0)].log_end_offset == log.log_end_offset


@pytest.mark.parametrize("seed", range(CI_SEEDS))
def test_after_power_loss_the_log_is_a_prefix_with_all_that_was_flushed(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(seed, monkeypatch)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_power_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(CI_SEEDS, SLOW_SEEDS):
        try:
            run(seed, monkeypatch)
        except BaseException:
            print(f"failing seed: {seed}")
            raise
