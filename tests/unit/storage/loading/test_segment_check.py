"""Scans of segments: what they find is what the appends had made, on however many threads they run."""

import random
import threading
from collections.abc import Callable

import pytest

from barnabas.base.disk import DiskFile
from barnabas.base.errors import ApiError
from barnabas.base.ordered_work import OrderedWork
from barnabas.sim.clock import ManualClock
from barnabas.sim.disk import MemoryDisk
from barnabas.storage.batch_scan import read_heads
from barnabas.storage.leader_epochs import LeaderEpochs
from barnabas.storage.loading import scans as log_scans
from barnabas.storage.loading.scans import LogScans, RecoveryProgress
from barnabas.storage.loading.segment_check import ScanRequest, SegmentScan, apply_scan, scan_segment
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_manager import LogManager
from barnabas.storage.log_manager_config import LogManagerConfig
from barnabas.storage.producer_state.replay import apply_head
from barnabas.storage.producer_state.states import AppendOrigin, ProducerStates, parse_marker
from tests.storage_setup import FIRST_TIMESTAMP, TOPIC_ID, LogHarness, batch, marker


class Zeros:
    def random_bytes(self, length: int) -> bytes:
        return bytes(length)

    def random_below(self, limit: int) -> int:
        return 0


class Producers:
    """Producers that do all that producers do, by a seed."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.epochs = dict.fromkeys(range(1, 4), 0)
        self.sequences = dict.fromkeys(range(1, 4), 0)
        self.open: set[int] = set()
        self.time = FIRST_TIMESTAMP
        self.steps = 0

    def step(self, log: Log) -> None:
        dice = self.dice
        self.time += dice.randrange(-5, 20)
        self.steps += 1
        epoch = self.steps // 20
        producer_id = dice.randrange(4)
        options = {"timestamp": self.time, "count": dice.randrange(1, 4), "value_bytes": dice.randrange(200)}
        if producer_id == 0:
            log.append([batch(**options)], leader_epoch=epoch)
        elif producer_id in self.open and dice.randrange(4) == 0:
            self.open.discard(producer_id)
            end = marker(producer_id, commit=dice.randrange(2) == 0, epoch=self.epochs[producer_id])
            log.append([end], leader_epoch=epoch, origin=AppendOrigin.COORDINATOR)
        else:
            if producer_id not in self.open and dice.randrange(10) == 0:
                self.epochs[producer_id] += 1
                self.sequences[producer_id] = 0
            transactional = producer_id in self.open or dice.randrange(2) == 0
            made = batch(
                **options, producer_id=producer_id, producer_epoch=self.epochs[producer_id],
                base_sequence=self.sequences[producer_id], is_transactional=transactional,
            )  # fmt: skip
            self.sequences[producer_id] += options["count"]
            if transactional:
                self.open.add(producer_id)
            log.append([made], leader_epoch=epoch)


def state(log: Log) -> object:
    """All that a scan makes anew; of a producer's batches a snapshot keeps the last."""
    producers = {
        pid: (
            known.epoch,
            known.last_sequence,
            known.last_offset,
            known.txn_first_offset,
            known.coordinator_epoch,
        )
        for pid, known in log.producers.producers.items()
    }
    segments = [
        (
            segment.base_offset, segment.size, segment.max_timestamp, segment.max_timestamp_offset,
            [segment.offset_index.entry(n) for n in range(len(segment.offset_index))],
            [segment.time_index.entry(n) for n in range(len(segment.time_index))],
            list(segment.transaction_index.entries),
        )
        for segment in log.segments
    ]  # fmt: skip
    return producers, segments, log.leader_epochs.entries, log.log_end_offset


@pytest.mark.parametrize("seed", range(12))
def test_a_scan_finds_what_the_appends_had_made(seed: int) -> None:
    harness = LogHarness(config=LogConfig(segment_bytes=4000, index_interval_bytes=300, retention_ms=-1))
    log, producers = harness.open(), Producers(seed)
    for _ in range(150):
        producers.step(log)
    for segment in log.segments:
        segment.time_index.maybe_append(segment.max_timestamp, segment.max_timestamp_offset)
    before = state(log)
    log.abandon()
    assert state(harness.open()) == before


@pytest.mark.parametrize("seed", range(12))
def test_producers_are_as_if_every_batch_had_been_applied(seed: int) -> None:
    harness = LogHarness(config=LogConfig(segment_bytes=4000, retention_ms=-1))
    log, producers = harness.open(), Producers(seed)
    for _ in range(150):
        producers.step(log)
    outcomes = []
    for scanned in (False, True):
        states = ProducerStates(harness.disk, "/nowhere", 2**60)
        for segment in log.segments:
            if scanned:
                request = ScanRequest(
                    harness.disk, segment.path(".log"), segment.base_offset, segment.size, 4096, None
                )
                apply_scan(segment, scan_segment(request, lambda _: None), LeaderEpochs("x"), states)
                continue
            for head in read_heads(segment.leased.file, 0, segment.size):
                if head.producer_id >= 0:
                    content = segment.leased.file.read_at(head.position, head.size)
                    end = parse_marker(content) if head.is_control else None
                    apply_head(segment, states, head, marker=end, indexed=False)
        outcomes.append((
            {pid: (p.epoch, list(p.batches), p.txn_first_offset, p.coordinator_epoch, p.last_timestamp)
             for pid, p in states.producers.items()},
            states.first_unstable(),
        ))  # fmt: skip
    assert outcomes[0] == outcomes[1]
    assert len(outcomes[0][0]) == 3


def test_of_many_batches_of_a_producer_only_those_are_kept_that_matter() -> None:
    harness = LogHarness()
    log = harness.open()
    for number in range(1000):
        log.append([batch(producer_id=7, producer_epoch=0, base_sequence=number)], leader_epoch=0)
    segment = log.segments.active
    found = scan_segment(
        ScanRequest(harness.disk, segment.path(".log"), 0, segment.size, 4096, None), lambda _: None
    )
    assert len(found.producer_batches) < 1000


class Manager:
    """Ten logs on two directories of one machine, killed."""

    def __init__(self) -> None:
        self.clock = ManualClock(FIRST_TIMESTAMP)
        self.disk = MemoryDisk(self.clock)
        self.config = LogConfig(segment_bytes=4000, retention_ms=-1)
        manager = self.start(1)
        for number in range(10):
            log, producers = manager.get_or_create("t", number, TOPIC_ID, self.config), Producers(number)
            for _ in range(60):
                producers.step(log)
        manager.get_or_create("t", 4, TOPIC_ID, self.config).flush()
        self.kill()

    def start(self, threads: int, progress: Callable[[RecoveryProgress], None] | None = None) -> LogManager:
        manager = LogManager(
            disk=self.disk, clock=self.clock, entropy=Zeros(), directories=("/a", "/b"),
            config_for=lambda _: self.config,
            config=LogManagerConfig(recovery_threads_per_data_dir=threads),
        )  # fmt: skip
        manager.start(progress)
        return manager

    def kill(self) -> None:
        self.disk.crash(random.Random(0), keep_all=True)

    def damage(self, path: str, position: int) -> None:
        file = self.disk.open(path)
        file.write_at(position, [b"\xff\xff"])
        file.close()

    def content(self) -> dict[str, bytes]:
        found = {}
        for root in ("/a", "/b"):
            for folder in self.disk.list_dir(root):
                if self.disk.is_dir(f"{root}/{folder}"):
                    for name in self.disk.list_dir(f"{root}/{folder}"):
                        path = f"{root}/{folder}/{name}"
                        file = self.disk.open_readonly(path)
                        found[path] = file.read_at(0, file.size())
        return found


@pytest.mark.parametrize("threads", [2, 5])
def test_what_threads_find_is_what_one_finds(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    outcomes = []
    for count in (1, threads):
        monkeypatch.setattr(log_scans, "LARGE_BYTES", 1 if count > 1 else 2**40)
        machine = Manager()
        segments = sorted(path for path in machine.content() if path.endswith(".log"))
        for path in (segments[1], segments[-2], segments[len(segments) // 2]):
            machine.damage(path, machine.disk.size(path) // 2)
        manager = machine.start(count)
        states = {key: state(log) for key, log in sorted(manager.logs.items())}
        outcomes.append((states, machine.content(), manager.recovery.bytes_checked))
    assert outcomes[0] == outcomes[1]


def test_progress_counts_logs_and_segments_down_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_scans, "LARGE_BYTES", 2**40)
    machine = Manager()
    told: list[tuple[int, int, int, int]] = []

    def note(progress: RecoveryProgress) -> None:
        told.append((
            sum(progress.logs_left.values()), sum(progress.segments_left.values()),
            progress.bytes_checked, progress.bytes_to_check,
        ))  # fmt: skip

    manager = machine.start(1, note)
    assert told[0][0] == 10
    assert told[0][1] > 10
    assert [entry[2] for entry in told] == sorted(entry[2] for entry in told)
    assert len({entry[3] for entry in told}) == 1, "the sum is known from the beginning"
    assert set(manager.recovery.logs_left.values()) | set(manager.recovery.segments_left.values()) == {0}
    assert manager.recovery.bytes_checked == manager.recovery.bytes_to_check


def test_a_scan_that_fails_fails_where_its_outcome_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_scans, "LARGE_BYTES", 1)
    machine = Manager()
    victim = next(path for path in machine.content() if path.startswith("/b/") and path.endswith(".log"))

    def refuse(what: str, path: str) -> None:
        if what == "read" and path == victim:
            raise OSError(5, "input/output error", path)

    machine.disk.on_operation = refuse
    manager = machine.start(2)
    assert [directory.online for directory in manager.directories] == [True, False]
    assert {log.directory.path for log in manager.logs.values()} == {"/a"}


def test_scans_not_asked_for_do_not_stand_in_the_way() -> None:
    calls = [(lambda number=number: number * number) for number in range(50)]
    work = OrderedWork(calls, threads=3, ahead_max=4)
    assert [work.take(number, lambda: None) for number in (0, 1, 17, 18, 49)] == [0, 1, 289, 324, 2401]
    work.close()


def test_no_more_outcomes_wait_than_may() -> None:
    begun: list[int] = []
    gate = threading.Event()

    def call(number: int) -> int:
        begun.append(number)
        if number == 5:
            gate.set()
        return number

    work = OrderedWork([lambda number=number: call(number) for number in range(100)], threads=2, ahead_max=6)
    assert gate.wait(20)
    assert work.take(0, lambda: None) == 0
    work.close()
    assert max(begun) <= 7
    assert threading.active_count() == len([t for t in threading.enumerate() if "recovery" not in t.name])


def test_an_error_is_raised_where_the_outcome_is_taken_and_the_others_go_on() -> None:
    def fail() -> int:
        raise ApiError(2, "broken")  # type: ignore[arg-type]

    work: OrderedWork[int] = OrderedWork([lambda: 1, fail, lambda: 3], threads=1, ahead_max=3)
    assert work.take(0, lambda: None) == 1
    with pytest.raises(ApiError):
        work.take(1, lambda: None)
    assert work.take(2, lambda: None) == 3
    work.close()


def test_what_is_on_the_disk_only_is_brought_in_by_large_pieces() -> None:
    harness = LogHarness()
    log = harness.open()
    for _ in range(40):
        log.append([batch(value_bytes=300_000)], leader_epoch=0)
    segment = log.segments.active
    harness.disk.evict(segment.path(".log"))
    seen: list[str] = []
    harness.disk.on_operation = lambda what, _: seen.append(what)
    request = ScanRequest(harness.disk, segment.path(".log"), 0, segment.size, 4096, None)
    assert scan_segment(request, lambda _: None).damage is None
    assert seen.count("bring_in") == 2
    assert "stall" not in seen


def test_a_start_that_is_given_up_ends_its_threads_in_the_middle_of_a_segment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log_scans, "LARGE_BYTES", 1)
    harness = LogHarness()
    log = harness.open()
    for _ in range(40):
        log.append([batch(value_bytes=300_000)], leader_epoch=0)
    segment = log.segments.active
    begun, closing = threading.Event(), threading.Event()
    read: list[str] = []

    def on_operation(what: str, path: str) -> None:
        if what == "read":
            read.append(path)
            begun.set()
            assert closing.wait(20)

    harness.disk.on_operation = on_operation
    request = ScanRequest(harness.disk, segment.path(".log"), 0, segment.size, 4096, None)
    scans = LogScans([request, request], 2, RecoveryProgress())
    assert begun.wait(20)
    close = OrderedWork.close
    monkeypatch.setattr(OrderedWork, "close", lambda work: (closing.set(), close(work)))
    scans.close()
    assert len(read) < 10, "of forty"


def test_small_segments_are_scanned_where_they_are_asked_for() -> None:
    harness = LogHarness()
    log = harness.open()
    log.append([batch()], leader_epoch=0)
    segment = log.segments.active
    request = ScanRequest(harness.disk, segment.path(".log"), 0, segment.size, 4096, None)
    scans = LogScans([request, request], 4, RecoveryProgress())
    found: SegmentScan = scans.scan(request)
    assert found.next_offset == 1
    assert not [thread for thread in threading.enumerate() if "recovery" in thread.name]
    scans.close()


def test_the_file_of_a_scan_is_closed_whatever_happens() -> None:
    harness = LogHarness()
    log = harness.open()
    log.append([batch()], leader_epoch=0)
    segment = log.segments.active
    opened: list[DiskFile] = []
    open_readonly = harness.disk.open_readonly
    harness.disk.open_readonly = lambda path: opened.append(open_readonly(path)) or opened[-1]
    harness.disk.on_operation = lambda what, path: (_ for _ in ()).throw(OSError(5, "no", path))
    with pytest.raises(OSError, match="no"):
        scan_segment(
            ScanRequest(harness.disk, segment.path(".log"), 0, segment.size, 4096, None), lambda _: None
        )
    harness.disk.on_operation = None
    with pytest.raises(OSError, match="closed"):
        opened[0].read_at(0, 1)
