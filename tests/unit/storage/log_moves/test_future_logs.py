"""Logs that move between directories while they are in use (KIP-113): copies, the last step, crashes at any
point."""

import random
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from barnabas.base.errors import ApiError
from barnabas.sim.clock import ManualClock
from barnabas.sim.disk import MemoryDisk
from barnabas.storage.deletions import PendingDeletions
from barnabas.storage.loading import directory_check
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_manager import LogManager
from barnabas.storage.log_moves.future_logs import FutureLogs
from barnabas.storage.log_moves.quota import DELAY_MS_MAX, MoveQuota
from barnabas.storage.producer_state.states import AppendOrigin
from barnabas.storage.topic_partition import TopicPartition
from tests.storage_setup import FIRST_TIMESTAMP, TOPIC_ID, batch, marker

SIZE = len(batch())
KEY = TopicPartition("t", 0)
EIO = OSError(5, "input/output error")


class Counting:
    """Entropy of which no two draws are equal."""

    def __init__(self) -> None:
        self.drawn = 0

    def random_bytes(self, length: int) -> bytes:
        self.drawn += 1
        return self.drawn.to_bytes(length, "big")

    def random_below(self, limit: int) -> int:
        return 0


class Machine:
    """Logs over two directories, with threads and timers that run when a test says so.

    Attributes:
        assigned: what the metadata say of where the log lies; survives restarts, as they do.
    """

    def __init__(self, **config: Any) -> None:
        self.clock = ManualClock(FIRST_TIMESTAMP)
        self.disk = MemoryDisk(self.clock)
        self.entropy = Counting()
        self.config = LogConfig(**{"segment_bytes": 3 * SIZE, "retention_ms": -1, **config})
        self.assigned: dict[TopicPartition, str] = {}
        self.manager: LogManager
        self.start()

    def start(self) -> LogManager:
        self.due: deque[Callable[[], None]] = deque()
        self.failed: list[LogDirectory] = []
        self.manager = LogManager(
            disk=self.disk, clock=self.clock, entropy=self.entropy, directories=["/a", "/b"],
            config_for=lambda _: self.config, on_directory_failure=self.failed.append,
        )  # fmt: skip
        self.manager.make_future_logs = self._make
        twins = directory_check.find_twins(self.disk, ("/a", "/b"), self.assigned.get)
        directory_check.set_aside(self.disk, twins, self.entropy)
        self.manager.start()
        self.manager.settle_future_logs(self.assigned.get)
        return self.manager

    def _make(self, deletions: PendingDeletions) -> FutureLogs:
        return FutureLogs(
            self.manager, clock=self.clock, entropy=self.entropy, deletions=deletions,
            config_for=lambda _: self.config, run_blocking=self._run,
            call_later=lambda _, call: self.due.append(call), assign=self._assign, threads_max=1,
        )  # fmt: skip

    def _run(self, work: Callable[[], None], done: Callable[[OSError | None], None]) -> None:
        def run() -> None:
            error: OSError | None = None
            try:
                work()
            except OSError as met:
                error = met
            done(error)

        self.due.append(run)

    def _assign(self, log: Log, directory: LogDirectory) -> None:
        self.assigned[TopicPartition(log.topic, log.partition)] = directory.path

    def log(self, batches: int = 0, **options: Any) -> Log:
        log = self.manager.get_or_create("t", 0, TOPIC_ID, self.config)
        self.append(log, batches, **options)
        return log

    def append(self, log: Log, batches: int, **options: Any) -> None:
        for _ in range(batches):
            log.append([batch(timestamp=self.clock.wall_ms(), **options)], leader_epoch=0)

    def move(self, log: Log, path: str = "/b") -> None:
        (target,) = (one for one in self.manager.directories if one.path == path)
        self.manager.future_logs.move(log, target)

    def step(self) -> None:
        self.clock.advance_ms(1)
        self.due.popleft()()

    def run(self) -> None:
        for _ in range(1000):
            if not self.due:
                return
            self.step()
        pytest.fail("a move comes to no end")

    def partition_dirs(self) -> list[str]:
        """Every directory that is a partition's now or may become one."""
        return [
            f"{root}/{name}"
            for root in ("/a", "/b")
            for name in self.disk.list_dir(root)
            if name.startswith("t-0") and not name.endswith(("-delete", "-stray"))
        ]

    def refuse(self, *refused: tuple[str, str]) -> None:
        """Have operations fail, each given as its name (any when empty) and the beginning of its path."""

        def on_operation(what: str, path: str) -> None:
            for name, start in refused:
                if path.startswith(start) and what == (name or what):
                    raise OSError(*EIO.args, path)

        self.disk.on_operation = on_operation


def records(log: Log) -> bytes:
    """All batches, also across segments."""
    content = bytearray()
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        data = log.read(offset, log.log_end_offset_metadata, 1 << 20)
        assert data.records is not None
        read = data.records.read()
        data.records.release()
        content += read
        position = 0
        while position < len(read):
            last_delta = int.from_bytes(read[position + 23 : position + 27], "big")
            offset = int.from_bytes(read[position : position + 8], "big") + last_delta + 1
            position += 12 + int.from_bytes(read[position + 8 : position + 12], "big")
    return bytes(content)


def test_a_log_goes_on_in_the_other_directory_with_all_it_had() -> None:
    machine = Machine()
    log = machine.log(4)
    log.append([batch(producer_id=7, producer_epoch=0, base_sequence=0)], leader_epoch=3)
    before = records(log)
    machine.move(log)
    machine.run()
    assert log.directory.path == "/b"
    assert machine.manager.logs[KEY] is log
    assert machine.partition_dirs() == ["/b/t-0"]
    assert records(log) == before
    machine.append(log, 3)
    whole = records(log)
    assert whole.startswith(before)
    epochs, producers = list(log.leader_epochs.entries), dict(log.producers.producers)
    assert machine.manager.shutdown()
    again = machine.start().logs[KEY]
    assert again.directory.path == "/b"
    assert records(again) == whole
    assert list(again.leader_epochs.entries) == epochs
    assert again.topic_id == TOPIC_ID
    assert set(again.producers.producers) == set(producers) == {7}


def test_the_copy_has_the_names_of_kafka_and_the_same_files() -> None:
    machine = Machine()
    log = machine.log(8)
    machine.move(log)
    while machine.due and len(machine.manager.future_logs.moves) and len(machine.due) < 2:
        (copy,) = [path for path in machine.partition_dirs() if path.startswith("/b")]
        name = copy.removeprefix("/b/t-0.")
        assert len(name) == 32 + len("-future")
        assert name.endswith("-future")
        machine.step()
    machine.run()
    gone = [name for name in machine.disk.list_dir("/a") if name.startswith("t-0.")]
    assert len(gone) == 1
    assert gone[0].endswith("-delete")
    for name in machine.disk.list_dir("/b/t-0"):
        if name.endswith((".log", ".index", ".timeindex", ".snapshot")):
            assert content(machine, f"/a/{gone[0]}/{name}") == content(machine, f"/b/t-0/{name}"), name
    machine.clock.advance_ms(60_000)
    machine.manager.handle_timer(machine.clock.monotonic_ms())
    assert not [name for name in machine.disk.list_dir("/a") if name.endswith("-delete")]


def content(machine: Machine, path: str) -> bytes:
    file = machine.disk.open_readonly(path)
    return file.read_at(0, file.size())


@pytest.mark.parametrize("seed", range(20))
def test_a_move_follows_what_happens_to_the_log_meanwhile(seed: int) -> None:
    dice = random.Random(seed)
    machine = Machine()
    log = machine.log(dice.randrange(1, 20))
    machine.move(log)
    for _ in range(500):
        if not machine.due:
            break
        match dice.randrange(6) if log.directory.path == "/a" else 5:
            case 0:
                machine.append(log, dice.randrange(1, 4))
            case 1:
                log.roll()
            case 2:
                log.delete_records(
                    dice.randrange(log.log_start_offset, log.log_end_offset + 1), log.log_end_offset
                )
            case 3:
                log.truncate_to(dice.randrange(log.log_start_offset, log.log_end_offset + 1))
            case 4:
                log.flush()
            case _:
                pass
        machine.step()
    machine.run()
    assert log.directory.path == "/b"
    start, end, before = log.log_start_offset, log.log_end_offset, records(log)
    machine.disk.crash(dice)  # all of it was synced before the log went over
    again = machine.start().logs[KEY]
    assert (again.log_start_offset, again.log_end_offset) == (start, end)
    assert records(again) == before


def test_a_slice_in_flight_ends_well_and_open_transactions_go_along() -> None:
    machine = Machine()
    log = machine.log(2)
    log.append(
        [batch(producer_id=9, producer_epoch=0, base_sequence=0, is_transactional=True)], leader_epoch=0
    )
    data = log.read(0, log.log_end_offset_metadata, 1 << 20)
    unstable = log.first_unstable_offset
    machine.move(log)
    machine.run()
    machine.clock.advance_ms(60_000)
    machine.manager.handle_timer(machine.clock.monotonic_ms())
    assert data.records is not None
    assert len(data.records.read()) == data.records.length
    assert log.first_unstable_offset == unstable
    log.append([marker(9, commit=False)], leader_epoch=0, origin=AppendOrigin.COORDINATOR)
    log.high_watermark_advanced(log.log_end_offset)
    assert log.first_unstable_offset is None
    aborted = log.read(0, log.log_end_offset_metadata, 1 << 20, include_aborted=True).aborted_transactions
    assert [entry.producer_id for entry in aborted or ()] == [9]


def test_asking_for_its_own_directory_calls_the_move_off() -> None:
    machine = Machine()
    log = machine.log(30)
    machine.move(log)
    machine.step()
    machine.move(log, "/a")
    assert not machine.manager.moving
    machine.run()
    assert log.directory.path == "/a"
    assert machine.partition_dirs() == ["/a/t-0"]
    assert [directory.log_count for directory in machine.manager.directories] == [1, 0]
    machine.move(log)
    machine.run()
    assert log.directory.path == "/b"
    assert [directory.log_count for directory in machine.manager.directories] == [0, 1]


def test_a_deleted_log_takes_its_copy_along() -> None:
    machine = Machine()
    log = machine.log(30)
    machine.move(log)
    machine.step()
    machine.manager.delete("t", 0)
    machine.run()
    assert machine.partition_dirs() == []
    assert not machine.manager.moving


def test_f43_a_source_that_cannot_be_read_goes_offline_and_not_the_target() -> None:
    machine = Machine()
    log = machine.log(30)
    machine.move(log)
    machine.refuse(("read", "/a"))
    machine.run()
    assert [directory.path for directory in machine.failed] == ["/a"]
    assert not machine.manager.moving


def test_f43_a_target_that_cannot_be_written_goes_offline_and_the_log_goes_on() -> None:
    machine = Machine()
    log = machine.log(30)
    machine.move(log)
    machine.refuse(("write", "/b"))
    machine.run()
    assert [directory.path for directory in machine.failed] == ["/b"]
    machine.append(log, 1)
    assert (log.directory.path, log.log_end_offset) == ("/a", 31)
    with pytest.raises(ApiError):
        machine.move(log)


def test_a_stop_leaves_no_half_copy_and_the_next_start_goes_on() -> None:
    machine = Machine()
    log = machine.log(30)
    machine.move(log)
    for _ in range(2):
        machine.step()
    before = records(log)
    assert machine.manager.shutdown()
    (copy,) = [path for path in machine.partition_dirs() if path.startswith("/b")]
    assert machine.disk.list_dir(copy) == ["partition.metadata"]
    again = machine.start().logs[KEY]
    assert again.directory.path == "/a"
    machine.run()
    assert again.directory.path == "/b"
    assert machine.partition_dirs() == ["/b/t-0"]
    assert records(again) == before


def operations_of_a_move() -> int:
    """How many operations on the disk a whole move takes."""
    machine = Machine()
    log = machine.log(20)
    log.delete_records(2, 20)
    count = 0

    def on_operation(what: str, path: str) -> None:
        nonlocal count
        count += 1

    machine.disk.on_operation = on_operation
    machine.move(log)
    machine.run()
    return count


class Gone(BaseException):
    """The process, or the machine, stops here."""


@pytest.mark.parametrize("keep_all", [True, False], ids=["killed", "power-lost"])
def test_a_crash_at_any_step_leaves_one_log_with_all_records(keep_all: bool, slow: bool) -> None:
    for stop_at in range(keep_all, operations_of_a_move() + 1, 1 if slow else 3):
        machine = Machine()
        log = machine.log(20)
        log.delete_records(2, 20)
        log.flush()
        machine.manager.checkpoints.write_all_now(log.directory, {KEY: 20})
        before = records(log)
        left = stop_at

        def on_operation(what: str, path: str) -> None:
            nonlocal left
            if left == 0:
                raise Gone
            left -= 1

        machine.disk.on_operation = on_operation
        try:
            machine.move(log)
            machine.run()
        except Gone:
            pass
        machine.disk.on_operation = None
        machine.disk.crash(random.Random(stop_at), keep_all=keep_all)
        machine.start()
        assert list(machine.manager.logs) == [KEY], stop_at
        again = machine.manager.logs[KEY]
        assert (again.log_start_offset, again.log_end_offset) == (2, 20), stop_at
        assert records(again) == before, stop_at
        machine.run()
        machine.append(again, 1)
        assert len(machine.partition_dirs()) == 1, (stop_at, machine.partition_dirs())
        assert machine.partition_dirs() == [again.path]
        if machine.assigned:
            assert machine.assigned[KEY] == again.directory.path


@pytest.mark.parametrize("number", [5, 28, 30], ids=["EIO", "ENOSPC", "EROFS"])
def test_f43_a_disk_that_fails_at_any_step_of_a_move_loses_nothing(number: int, slow: bool) -> None:
    for fail_at in range(number % 4, operations_of_a_move(), 1 if slow else 4):
        machine = Machine()
        log = machine.log(20)
        log.delete_records(2, 20)
        log.flush()
        machine.manager.checkpoints.write_all_now(log.directory, {KEY: 20})
        before = records(log)
        left, broken = fail_at, None

        def on_operation(what: str, path: str) -> None:
            nonlocal left, broken
            if left == 0 and broken is None:
                broken = path[:2]
            if broken is not None and path.startswith(broken):
                raise OSError(number, "injected", path)
            left -= 1

        machine.disk.on_operation = on_operation
        with suppress(ApiError):
            machine.move(log)
        machine.run()
        offline = [directory.path for directory in machine.manager.directories if not directory.online]
        assert len(offline) <= 1, fail_at
        if offline and log.directory.path not in offline:
            machine.append(log, 1)  # the other directory is as good as ever
            log.truncate_to(20)
            assert records(log) == before
        machine.disk.on_operation = None
        machine.disk.crash(random.Random(fail_at))
        again = machine.start().logs[KEY]
        assert (again.log_start_offset, again.log_end_offset) == (2, 20), fail_at
        assert records(again) == before, fail_at
        machine.run()
        assert len(machine.partition_dirs()) == 1, (fail_at, machine.partition_dirs())


def test_moves_take_turns_and_new_logs_count_copies() -> None:
    machine = Machine()
    logs = [machine.manager.get_or_create("t", n, TOPIC_ID, machine.config) for n in range(4)]
    for log in logs:
        machine.append(log, 4)
    in_a = [log for log in logs if log.directory.path == "/a"]
    assert len(in_a) == 2
    for log in in_a:
        machine.move(log)
    assert len(machine.manager.moving) == 2
    assert len(machine.due) == 1, "one thread, one move at a time"
    new = machine.manager.get_or_create("new", 0, TOPIC_ID, machine.config)
    assert new.directory.path == "/a"
    machine.run()
    assert {log.directory.path for log in logs} == {"/b"}
    figures = machine.manager.statistics()
    assert (figures["moving"], figures["moved"], figures["moving_lag_max"]) == (0, 2, 0)


def test_a_log_is_made_where_it_was_asked_for() -> None:
    machine = Machine()
    for number in range(3):
        machine.manager.placement.prefer(TopicPartition("p", number), machine.manager.directories[1])
    made = [machine.manager.get_or_create("p", number, TOPIC_ID, machine.config) for number in range(3)]
    assert {log.directory.path for log in made} == {"/b"}
    assert machine.manager.get_or_create("p", 3, TOPIC_ID, machine.config).directory.path == "/a"


def test_the_quota_is_paid_off_by_time_and_may_be_changed_meanwhile() -> None:
    clock = ManualClock(FIRST_TIMESTAMP)
    quota = MoveQuota(clock)
    quota.spend(1 << 30)
    assert quota.delay_ms() == 0
    quota.bytes_per_second = 1000
    assert quota.step_bytes(1 << 20) == 64 * 1024
    quota.spend(2000)
    assert quota.delay_ms() == DELAY_MS_MAX
    clock.advance_ms(1900)
    assert 90 <= quota.delay_ms() <= 100
    clock.advance_ms(100)
    assert quota.delay_ms() == 0
    quota.spend(1_000_000)
    quota.bytes_per_second = None
    assert quota.delay_ms() == 0
