"""Group commit in the log manager: what syncs where, what a start does, what a roll costs the loop."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.sim.clock import ManualClock
from barnabas.sim.disk import MemoryDisk
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_manager import LogManager
from tests.storage_setup import FIRST_TIMESTAMP, TOPIC_ID, batch

SIZE = len(batch())
Given = list[tuple[Callable[[], None], Callable[[OSError | None], None]]]


class Zeros:
    def random_bytes(self, length: int) -> bytes:
        return bytes(length)

    def random_below(self, limit: int) -> int:
        return 0


class Machine:
    """A log manager whose helper threads are in the test's hand.

    Attributes:
        others: work that nobody waits for.
        syncs: syncs that appends wait for.
        operations: of the disk, since `watch`.
    """

    def __init__(self, **config: Any) -> None:
        self.clock = ManualClock(FIRST_TIMESTAMP)
        self.disk = MemoryDisk(self.clock)
        self.config = LogConfig(**{"segment_bytes": 3 * SIZE, "flush_messages": 1, **config})
        self.others: Given = []
        self.syncs: Given = []
        self.operations: list[str] = []
        self.released: list[Log] = []
        self.start()

    def start(self) -> None:
        self.manager = LogManager(
            disk=self.disk, clock=self.clock, entropy=Zeros(), directories=["/a"],
            config_for=lambda _: self.config,
            run_blocking=lambda work, done: self.others.append((work, done)),
            run_syncs=lambda work, done: self.syncs.append((work, done)),
        )  # fmt: skip
        self.manager.start()
        self.manager.group_commit.on_released = self.released.append

    def log(self, batches: int = 0) -> Log:
        log = self.manager.get_or_create("t", 0, TOPIC_ID, self.config)
        for _ in range(batches):
            log.append([batch()], leader_epoch=0)
        return log

    def watch(self) -> None:
        self.operations.clear()
        self.disk.on_operation = lambda what, _: self.operations.append(what)

    def chores(self) -> None:
        self.clock.advance_ms(1000)
        self.manager.handle_timer(self.clock.monotonic_ms())


def end(given: Given, number: int = 0) -> None:
    work, done = given.pop(number)
    work()
    done(None)


def end_all(given: Given) -> None:
    while given:
        end(given)


def test_an_append_leaves_syncs_to_others_even_when_it_rolls() -> None:
    machine = Machine()
    log = machine.log(batches=1)  # its partition.metadata is synced at once
    for number in range(10):
        machine.watch()
        log.append([batch()], leader_epoch=0)
        assert not [what for what in machine.operations if "sync" in what]
        machine.disk.on_operation = None
        if number % 2:
            end_all(machine.syncs)
    assert len(log.segments) == 4
    assert log.recovery_point == log.log_end_offset == 11
    assert log.durability.held is None


def test_a_roll_at_an_end_that_a_checkpoint_may_tell_syncs_the_indexes_first() -> None:
    machine = Machine()
    log = machine.log(batches=3)
    end_all(machine.syncs)
    machine.manager.checkpoints.write_recovery_points()
    machine.watch()
    log.append([batch()], leader_epoch=0)
    assert "sync" in machine.operations, "a start would trust the indexes below the point that it is told"
    assert log.recovery_point == 3


def test_a_roll_at_an_end_that_no_checkpoint_tells_takes_the_point_back_into_the_segment() -> None:
    machine = Machine()
    log = machine.log(batches=3)
    end_all(machine.syncs)
    machine.watch()
    log.append([batch()], leader_epoch=0)
    assert "sync" not in machine.operations
    assert log.recovery_point == 2
    end_all(machine.syncs)
    assert log.recovery_point == 4


def test_syncs_that_appends_wait_for_do_not_stand_behind_others() -> None:
    machine = Machine(flush_messages=4)
    log = machine.log(batches=3)
    log.roll()
    machine.chores()
    assert len(machine.others) == 1, "the sealed segment"
    log.append([batch()], leader_epoch=0)
    assert len(machine.syncs) == 1
    end(machine.syncs)
    assert (log.recovery_point, log.durability.held) == (4, None)
    assert machine.released == [log]
    end(machine.others)
    assert log.recovery_point == 4


def test_the_scheduler_leaves_a_log_alone_that_is_being_synced() -> None:
    machine = Machine(flush_ms=0)
    machine.log(batches=4)
    machine.chores()
    assert machine.others == []
    end_all(machine.syncs)
    assert machine.manager.statistics()["logs"] == 1


def test_a_scheduled_flush_releases_what_it_covers() -> None:
    machine = Machine(flush_messages=3, flush_ms=0)
    log = machine.log(batches=2)
    machine.chores()
    log.append([batch()], leader_epoch=0)
    assert log.durability.held is not None
    end(machine.others)
    assert log.recovery_point == 2
    assert log.durability.held is None, "one message is unsynced, and two may be"
    assert machine.released == [log]


@pytest.mark.parametrize("flush_messages", [1, 3, 4])
def test_a_start_syncs_what_a_killed_process_wrote(flush_messages: int) -> None:
    machine = Machine(flush_messages=flush_messages)
    machine.log(batches=3)
    machine.disk.crash(random.Random(0), keep_all=True)
    machine.start()
    log = machine.log()
    assert log.log_end_offset == 3
    assert log.recovery_point == (3 if flush_messages <= 3 else 0)
    if flush_messages == 1:
        for seed in range(20):
            machine.disk.crash(random.Random(seed))
            machine.start()
            assert machine.log().log_end_offset == 3


def test_what_is_under_way_when_the_threads_end_is_let_go_and_synced_by_the_stop() -> None:
    machine = Machine(flush_messages=3)
    log = machine.log(batches=2)
    log.roll()
    machine.chores()
    log.append([batch()], leader_epoch=0)
    assert len(machine.others) == len(machine.syncs) == 1
    files = [segment.leased for segment in log.segments]
    assert machine.manager.shutdown()
    assert [leased.holders for leased in files] == [0, 0]
    machine.disk.crash(random.Random(1))
    machine.start()
    assert machine.log().log_end_offset == 3


def test_durations_and_counts_are_kept() -> None:
    machine = Machine()
    machine.log(batches=2)
    work, done = machine.syncs.pop()
    machine.disk.on_operation = lambda what, _: machine.clock.advance_ms(5) if what == "sync" else None
    work()
    done(None)
    end_all(machine.syncs)
    times = machine.manager.flush_times.statistics()
    assert sum(count for _, count in times.buckets) == 2
    assert times.sum_us == 10_000
    told = machine.manager.group_commit.statistics()
    assert (told.appends, told.syncs, told.syncing, told.due) == (2, 2, 0, 0)
    assert told.files == 4, "the first time the names of the partition and of its file, too"
