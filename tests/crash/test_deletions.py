"""Power loss while records are deleted: what was answered as deleted stays so, and no log gets a hole.

Each seed appends, deletes records, lets retention drop segments, deletes topics and unlinks on a MemoryDisk
that loses power at a random operation. After each restart the log starts no lower than the last DeleteRecords
that was answered, and holds all from there to its end without a gap. A failing seed is in the test's name.
"""

import random

import pytest

from barnabas.base.errors import ApiError
from barnabas.protocol.record_batch import iter_batches
from barnabas.sim.clock import ManualClock
from barnabas.sim.disk import MemoryDisk
from barnabas.storage.loading.directory_loading import LogManagerError
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_manager import LogManager
from tests.seeded_entropy import SeededEntropy
from tests.storage_setup import FIRST_TIMESTAMP, TOPIC_ID, batch

CI_SEEDS = 60
SLOW_SEEDS = 2000
ROUNDS = 5
SIZE = len(batch())
CONFIG = LogConfig(
    segment_bytes=3 * SIZE, index_interval_bytes=0, retention_ms=-1, flush_messages=1, file_delete_delay_ms=0
)


class Machine:
    """A log manager on a disk that fails after a number of operations.

    Attributes:
        deleted_to: what the last DeleteRecords said that was answered.
        next_offset: behind the last append that returned; all is synced then.
    """

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.clock = ManualClock(FIRST_TIMESTAMP)
        self.disk = MemoryDisk(self.clock)
        self.disk.on_operation = self.count
        self.left = 10**9
        self.deleted_to = 0
        self.next_offset = 0

    def count(self, what: str, path: str) -> None:
        self.left -= what != "read"
        if self.left < 0:
            raise OSError(5, "no power", path)

    def start(self) -> LogManager:
        manager = LogManager(
            disk=self.disk, clock=self.clock, entropy=SeededEntropy(self.dice), directories=("/a",),
            config_for=lambda _: CONFIG,
        )  # fmt: skip
        manager.start()
        manager.retention_high_watermark = lambda key: manager.logs[key].log_end_offset
        return manager

    def crash(self) -> None:
        self.left = 10**9
        self.disk.crash(self.dice)

    def delete_records(self, manager: LogManager, log: Log) -> None:
        offset = self.dice.randrange(log.log_start_offset, log.log_end_offset + 1)
        log.delete_records(offset, log.log_end_offset)
        answered = []
        manager.when_log_starts_are_written([log.directory], lambda: answered.append(offset))
        if answered and log.directory.online:
            self.deleted_to = offset

    def step(self, manager: LogManager, log: Log) -> None:
        match self.dice.randrange(8):
            case 0:
                self.delete_records(manager, log)
            case 1:
                log.config = LogConfig(
                    segment_bytes=3 * SIZE, retention_ms=-1, retention_bytes=self.dice.randrange(20) * SIZE,
                    flush_messages=1, file_delete_delay_ms=0,
                )  # fmt: skip
                manager.retention.begin()
                while manager.retention.wants_turn:
                    manager.retention.take_turn()
                log.config = CONFIG
            case 2:
                self.clock.advance_ms(self.dice.randrange(70_000))
                manager.handle_timer(self.clock.monotonic_ms())
            case 3:
                manager.get_or_create("other", 0, TOPIC_ID, CONFIG).append([batch()], leader_epoch=0)
                manager.delete("other", 0)
            case _:
                log.append([batch(timestamp=self.clock.wall_ms())], leader_epoch=0)
                if log.recovery_point == log.log_end_offset:
                    self.next_offset = log.log_end_offset


def check(machine: Machine, log: Log) -> None:
    assert log.log_start_offset >= machine.deleted_to
    assert log.log_end_offset >= machine.next_offset
    with pytest.raises(ApiError):
        log.read(log.log_start_offset - 1, log.log_end_offset_metadata, SIZE)
    expected = log.log_start_offset
    while expected < log.log_end_offset:
        found = log.read(expected, log.log_end_offset_metadata, SIZE)
        assert found.records is not None
        content = bytes(found.records.read())
        found.records.release()
        (_, header), *_ = iter_batches(content)
        assert header.base_offset == expected, "a hole"
        expected = header.next_offset


@pytest.mark.parametrize(
    "seed",
    [
        *range(CI_SEEDS),
        *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(CI_SEEDS, SLOW_SEEDS)),
    ],
)
def test_what_was_deleted_stays_deleted_and_nothing_else_goes(seed: int) -> None:
    machine = Machine(seed)
    for _ in range(ROUNDS):
        try:
            manager = machine.start()
            log = manager.get_or_create("t", 0, TOPIC_ID, CONFIG)
            check(machine, log)
            machine.left = machine.dice.randrange(150)
            while True:
                machine.step(manager, log)
        except (ApiError, LogManagerError, OSError):
            machine.crash()
    manager = machine.start()
    check(machine, manager.get_or_create("t", 0, TOPIC_ID, CONFIG))
    others = [name for name in machine.disk.list_dir("/a") if name.startswith("other-0.")]
    assert all(name.endswith("-delete") for name in others)
