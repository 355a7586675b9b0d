"""Which segments expire, and that looking for them holds nobody up."""

import random
from collections import deque
from typing import Any

import pytest

from barnabas.base.worker import Done, Work
from barnabas.sim.clock import ManualClock
from barnabas.sim.disk import MemoryDisk
from barnabas.storage import retention
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_manager import LogManager, LogManagerConfig
from barnabas.storage.segment_age import read_age
from tests.storage_setup import FIRST_TIMESTAMP, TOPIC_ID, batch

SIZE = len(batch())
DAY_MS = 86_400_000
WEEK_MS = 7 * DAY_MS


class Zeros:
    def random_bytes(self, length: int) -> bytes:
        return bytes(length)

    def random_below(self, limit: int) -> int:
        return 0


class Machine:
    """Logs whose helpers run when the test says so."""

    def __init__(self, **config: Any) -> None:
        self.clock = ManualClock(FIRST_TIMESTAMP)
        self.disk = MemoryDisk(self.clock)
        self.config = LogConfig(**{"segment_bytes": 2 * SIZE, "retention_ms": WEEK_MS, **config})
        self.given: deque[tuple[Work, Done]] = deque()
        self.stalls: list[str] = []
        self.manager = self.start()

    def start(self, **config: Any) -> LogManager:
        manager = LogManager(
            disk=self.disk, clock=self.clock, entropy=Zeros(), directories=("/a",),
            config_for=lambda _: self.config, config=LogManagerConfig(**config),
            run_housekeeping=lambda work, done: self.given.append((work, done)),
        )  # fmt: skip
        manager.start()
        manager.retention_high_watermark = lambda key: manager.logs[key].log_end_offset
        self.manager = manager
        return manager

    def restart(self, **config: Any) -> LogManager:
        self.manager.shutdown()
        self.given.clear()
        return self.start(**config)

    def log(self, partition: int = 0, batches: int = 0, step_ms: int = 0) -> Log:
        log = self.manager.get_or_create("t", partition, TOPIC_ID, self.config)
        for _ in range(batches):
            log.append([batch(timestamp=self.clock.wall_ms())], leader_epoch=0)
            self.clock.advance_ms(step_ms)
        return log

    def help(self) -> int:
        """Let the helpers do one piece of work; return how many pieces there were."""
        count = len(self.given)
        if self.given:
            work, done = self.given.popleft()
            work()
            done(None)
        return count

    def search(self) -> None:
        """Search through all logs."""
        self.manager.retention.begin()
        while self.manager.retention.wants_turn or self.given:
            self.manager.retention.take_turn()
            self.help()


def test_segments_go_when_their_youngest_record_is_older_than_retention_ms() -> None:
    machine = Machine(retention_ms=9 * DAY_MS, segment_ms=100 * DAY_MS)
    log = machine.log(batches=10, step_ms=DAY_MS)
    assert log.segments.base_offsets == [0, 2, 4, 6, 8]
    machine.search()
    assert log.log_start_offset == 0
    machine.clock.advance_ms(1)
    machine.search()
    assert (log.log_start_offset, log.segments.base_offsets) == (2, [2, 4, 6, 8])


def test_a_search_reads_what_it_must_know_of_sealed_segments_off_the_loop() -> None:
    machine = Machine()
    machine.log(batches=9)
    manager = machine.restart()
    log = machine.log()
    machine.clock.advance_ms(WEEK_MS + 1)
    read: list[str] = []
    machine.disk.on_operation = lambda what, path: read.append(path) if what == "read" else None
    manager.retention.begin()
    manager.retention.take_turn()
    assert not [path for path in read if "timeindex" in path]
    assert log.log_start_offset == 0
    assert not manager.retention.wants_turn, "it goes on by itself"
    machine.search()
    assert (log.log_start_offset, log.size) == (9, 0)
    whole = [path for path in read if path.endswith(".timeindex")]
    assert len(whole) <= 5


def test_a_segment_that_is_young_enough_ends_the_look_at_its_log() -> None:
    machine = Machine()
    machine.log(batches=101)
    manager = machine.restart()
    read: set[str] = set()
    machine.disk.on_operation = lambda what, path: read.add(path[-30:]) if what == "read" else None
    machine.search()
    assert {path for path in read if path.endswith(".timeindex")} == {f"{0:020d}.timeindex"[-30:]}
    assert manager.logs


def test_turns_are_bounded_in_logs_and_in_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "LOGS_PER_TURN", 3)
    monkeypatch.setattr(retention, "SEGMENTS_PER_TURN", 4)
    machine = Machine()
    logs = [machine.log(partition, batches=21) for partition in range(4)]
    machine.clock.advance_ms(WEEK_MS + 1)
    manager = machine.manager
    manager.retention.begin()
    turns = []
    while manager.retention.wants_turn:
        before = manager.retention.dropped_segments
        manager.retention.take_turn()
        turns.append(manager.retention.dropped_segments - before)
    assert max(turns) <= 3 + 4, "a log is begun when there is room for one"
    assert sum(turns) == 4 * 11
    assert all(log.size == 0 for log in logs)


def test_the_timer_takes_a_turn_each_time_and_asks_for_the_next() -> None:
    machine = Machine()
    log = machine.log(batches=9)
    manager = machine.restart(initial_task_delay_ms=30_000)
    log = machine.log()
    machine.clock.advance_ms(29_999)
    manager.handle_timer(machine.clock.monotonic_ms())
    assert not machine.given, "the first search comes after log.initial.task.delay.ms"
    log.config = LogConfig(segment_bytes=2 * SIZE, retention_ms=10)
    machine.clock.advance_ms(1)
    manager.handle_timer(machine.clock.monotonic_ms())
    while machine.help():
        pass
    manager.handle_timer(machine.clock.monotonic_ms())
    assert log.size == 0


def test_nothing_goes_at_or_beyond_the_high_watermark() -> None:
    machine = Machine()
    log = machine.log(batches=8)
    machine.manager.retention_high_watermark = lambda _: 5
    machine.clock.advance_ms(2 * WEEK_MS)
    machine.search()
    assert log.log_start_offset == 4
    machine.manager.retention_high_watermark = lambda _: None  # not hosted
    log.config = LogConfig(segment_bytes=2 * SIZE, retention_ms=0)
    machine.search()
    assert log.log_start_offset == 4


def test_a_padded_time_index_deletes_nothing_alive() -> None:
    machine = Machine()
    machine.log(batches=6)
    machine.manager.shutdown()
    path = f"/a/t-0/{0:020d}.timeindex"
    machine.disk.open(path).truncate(1200)  # zeros behind the entries, as a killed Kafka leaves it
    machine.start()
    machine.search()
    assert machine.log().log_start_offset == 0


@pytest.mark.parametrize("damage", ["missing", "short", "old", "torn", "empty"])
def test_a_time_index_that_cannot_be_true_is_not_believed(damage: str) -> None:
    machine = Machine()
    machine.log(batches=6)
    machine.manager.shutdown()
    path = f"/a/t-0/{0:020d}.timeindex"
    file = machine.disk.open(path)
    match damage:
        case "missing":
            machine.disk.unlink(path)
        case "short":
            file.truncate(7)
        case "old":
            file.write_at(0, [(1_000_000).to_bytes(8, "big") + bytes((0, 0, 0, 1))])
        case "torn":
            file.write_at(file.size(), [b"\x00\x00\x00"])
        case "empty":
            file.truncate(0)
    age = read_age(machine.disk, "/a/t-0", 0, 2 * SIZE)
    assert age == (FIRST_TIMESTAMP, 0)
    machine.start()
    machine.search()
    assert machine.log().log_start_offset == 0


def test_a_damaged_segment_without_an_index_is_as_old_as_its_file() -> None:
    machine = Machine()
    machine.log(batches=6)
    machine.manager.shutdown()
    machine.disk.unlink(f"/a/t-0/{0:020d}.timeindex")
    machine.disk.open(f"/a/t-0/{0:020d}.log").write_at(SIZE, [bytes(20)])
    assert read_age(machine.disk, "/a/t-0", 0, 2 * SIZE).max_timestamp == -1


@pytest.mark.parametrize(("trusts", "start"), [(True, 0), (False, 5)])
def test_a_timestamp_of_the_future_keeps_its_segment_unless_the_files_time_is_to_count(
    caplog: pytest.LogCaptureFixture, trusts: bool, start: int
) -> None:
    machine = Machine()
    log = machine.log()
    ahead_ms = machine.clock.wall_ms() + 100 * WEEK_MS
    log.append([batch(timestamp=ahead_ms)], leader_epoch=0)
    machine.log(batches=4)
    machine.clock.advance_ms(WEEK_MS + 1)
    machine.log(batches=1)
    manager = machine.restart(trusts_future_timestamps=trusts)
    machine.clock.advance_ms(300_000)
    manager.handle_timer(machine.clock.monotonic_ms())
    while machine.help():
        manager.handle_timer(machine.clock.monotonic_ms())
    assert machine.log().log_start_offset == start
    assert ("in the future" in caplog.text) is trusts


def test_a_disk_that_refuses_takes_its_directory_offline() -> None:
    machine = Machine()
    machine.log(batches=6)
    manager = machine.restart()

    def refuse(what: str, path: str) -> None:
        if what == "read":
            raise OSError(5, "input/output error", path)

    machine.disk.on_operation = refuse
    manager.retention.begin()
    manager.retention.take_turn()
    machine.help()
    assert not manager.directories[0].online
    assert not manager.retention.wants_turn


@pytest.mark.parametrize("meanwhile", ["dropped", "deleted"])
def test_what_goes_while_its_age_is_read_is_no_fault(meanwhile: str) -> None:
    machine = Machine()
    machine.log(batches=6)
    manager = machine.restart()
    log = machine.log()
    manager.retention.begin()
    manager.retention.take_turn()
    if meanwhile == "dropped":
        log.delete_records(4, 6)
    else:
        manager.delete("t", 0)
    machine.search()
    assert manager.directories[0].online


def test_retention_bytes_spares_what_the_log_needs_to_have_that_much() -> None:
    machine = Machine(retention_ms=-1)
    log = machine.log(batches=10)
    for retention_bytes, start in ((10 * SIZE, 0), (8 * SIZE + 1, 0), (8 * SIZE, 2), (3 * SIZE, 6), (0, 10)):
        log.config = LogConfig(segment_bytes=2 * SIZE, retention_ms=-1, retention_bytes=retention_bytes)
        machine.search()
        assert log.log_start_offset == start, retention_bytes


def test_both_policies_delete_and_a_log_without_any_keeps_all() -> None:
    machine = Machine()
    both, none = machine.log(0, batches=6), machine.log(1, batches=6)
    for log, policies in ((both, {"compact", "delete"}), (none, set[str]())):
        log.config = LogConfig(
            segment_bytes=2 * SIZE, retention_ms=WEEK_MS, cleanup_policy=frozenset(policies)
        )
    machine.clock.advance_ms(2 * WEEK_MS)
    machine.search()
    assert (both.log_start_offset, none.log_start_offset) == (6, 0)


def test_a_reader_goes_on_while_segments_before_it_and_under_it_go() -> None:
    machine = Machine(retention_ms=-1)
    log = machine.log(batches=120)
    dice = random.Random(3)
    held = log.read(0, log.log_end_offset_metadata, 2 * SIZE).records
    assert held is not None
    before = bytes(held.read())
    at = 10
    while at < 120:
        keep = max(120 - at + dice.randrange(4), 0)
        log.config = LogConfig(segment_bytes=2 * SIZE, retention_ms=-1, retention_bytes=(keep + 2) * SIZE)
        machine.search()
        assert log.log_start_offset <= at
        found = log.read(at, log.log_end_offset_metadata, SIZE)
        assert found.offset_metadata.message_offset == at
        assert found.records is not None
        found.records.release()
        at += 1
    machine.clock.advance_ms(60_000)
    machine.manager.handle_timer(machine.clock.monotonic_ms())
    while machine.help():
        pass
    assert not [name for name in machine.disk.list_dir("/a/t-0") if name.endswith(".deleted")]
    assert bytes(held.read()) == before, "F22: a response in flight has its file"
    held.release()
