"""Many logs made durable at once: how many syncs it takes, and that nothing less is durable then."""

import random
from collections import Counter

import pytest

from barnabas.sim.clock import ManualClock
from barnabas.sim.disk import MemoryDisk
from barnabas.storage.flush.durable_logs import TOGETHER_FROM
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_manager import LogManager
from tests.storage_setup import FIRST_TIMESTAMP, TOPIC_ID, batch

SIZE = len(batch())
CONFIG = LogConfig(segment_bytes=2 * SIZE, retention_ms=-1)
MANY = TOGETHER_FROM + 8


class Zeros:
    def random_bytes(self, length: int) -> bytes:
        return bytes(length)

    def random_below(self, limit: int) -> int:
        return 0


class Machine:
    def __init__(self) -> None:
        self.clock = ManualClock(FIRST_TIMESTAMP)
        self.disk = MemoryDisk(self.clock)
        self.counts: Counter[str] = Counter()
        self.disk.on_operation = lambda what, _: self.counts.update([what])

    def start(self) -> LogManager:
        manager = LogManager(
            disk=self.disk,
            clock=self.clock,
            entropy=Zeros(),
            directories=["/a"],
            config_for=lambda _: CONFIG,
        )
        manager.start()
        return manager

    def fill(self, manager: LogManager, logs: int, batches: int = 3) -> None:
        for number in range(logs):
            log = manager.get_or_create("t", number, TOPIC_ID, CONFIG)
            for _ in range(batches):
                log.append([batch(timestamp=self.clock.wall_ms())], leader_epoch=number)
        self.counts.clear()


@pytest.mark.parametrize("closing", [False, True])
def test_many_logs_share_the_syncs_of_their_volume(closing: bool) -> None:
    machine = Machine()
    manager = machine.start()
    machine.fill(manager, MANY)
    if closing:
        assert manager.shutdown()
    else:
        manager.flush()
        assert all(log.recovery_point == 3 for log in manager.logs.values())
    assert machine.counts["sync_volume"] <= 3
    assert machine.counts["sync"] + machine.counts["sync_dir"] <= 6, "the root's own files, and no log's"
    machine.disk.crash(random.Random(1))
    again = machine.start()
    assert {log.log_end_offset for log in again.logs.values()} == {3}
    assert [again.logs["t", number].leader_epochs.latest_epoch for number in range(MANY)] == list(range(MANY))  # type: ignore[index]


def test_a_few_logs_do_not_wait_for_what_others_wrote_to_the_volume() -> None:
    machine = Machine()
    manager = machine.start()
    machine.fill(manager, TOGETHER_FROM - 1)
    assert manager.shutdown()
    assert machine.counts["sync_volume"] == 0
    assert machine.counts["sync"] >= TOGETHER_FROM - 1


def test_without_a_sync_of_volumes_each_log_is_synced() -> None:
    machine = Machine()
    machine.disk.syncs_volumes = False
    manager = machine.start()
    machine.fill(manager, MANY)
    assert manager.shutdown()
    assert machine.counts["sync"] >= MANY
    machine.disk.crash(random.Random(1))
    assert {log.log_end_offset for log in machine.start().logs.values()} == {3}


def test_logs_that_hold_nothing_new_cost_a_stop_no_sync() -> None:
    machine = Machine()
    manager = machine.start()
    machine.fill(manager, MANY, batches=0)
    manager.flush()
    assert not {what for what in machine.counts if what.startswith("sync")}


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_volume_that_reports_lost_writes_takes_the_directory_offline(failing: int) -> None:
    machine = Machine()
    manager = machine.start()
    machine.fill(manager, MANY)

    def lose(what: str, path: str) -> None:
        machine.counts.update([what])
        if what == "sync_volume" and machine.counts[what] == failing:
            raise OSError(5, "input/output error", path)

    machine.disk.on_operation = lose
    assert manager.shutdown() is False
    assert not manager.directories[0].online
    assert not machine.disk.exists("/a/.kafka_cleanshutdown")


def test_a_stop_of_many_logs_that_runs_out_of_time_leaves_no_marker() -> None:
    machine = Machine()
    manager = machine.start()
    machine.fill(manager, MANY)
    assert manager.shutdown(deadline_ms=machine.clock.monotonic_ms()) is False
    assert not machine.disk.exists("/a/.kafka_cleanshutdown")
    assert {log.log_end_offset for log in machine.start().logs.values()} == {3}


def test_checkpoints_of_many_changed_logs_sync_no_leader_epochs() -> None:
    machine = Machine()
    manager = machine.start()
    machine.fill(manager, MANY, batches=1)
    manager.checkpoints.write_recovery_points()
    assert machine.counts["sync"] == 1
