"""Cold reads (F44): what is asked, what helpers are sent for, and that every file is let go of."""

from collections.abc import Callable
from functools import partial

import pytest

from barnabas.base.cold_reads import AHEAD_BYTES_MIN, ColdReadError, ColdReads
from barnabas.base.limits import COLD_STREAM_FILES_MAX
from barnabas.base.region import LeasedFile
from barnabas.base.worker_pool import WorkerPool
from barnabas.sim.clock import ManualClock
from barnabas.sim.disk import MemoryDisk, MemoryFile

KIB = 1024
RANGE_BYTES = 64 * KIB


class Helpers:
    """Threads whose every step the test takes."""

    def __init__(self) -> None:
        self.given: list[tuple[Callable[[], None], Callable[[OSError | None], None]]] = []
        self.lengths: list[int] = []  # of all ranges they were sent for

    def run(self, work: Callable[[], None], done: Callable[[OSError | None], None]) -> None:
        self.given.append((work, done))
        self.lengths.append(work.__self__.length)  # type: ignore[attr-defined]

    def step(self, at: int = 0) -> None:
        """Let one helper do its work and come back."""
        work, done = self.given.pop(at)
        error: OSError | None = None
        try:
            work()
        except OSError as raised:
            error = raised
        done(error)

    def finish(self) -> None:
        while self.given:
            self.step()


class Setting:
    """A cold file of `size` bytes, and who reads it."""

    def __init__(self, size: int = 64 * 1024 * KIB, *, ahead_bytes_max: int = 1024 * KIB) -> None:
        self.clock = ManualClock()
        self.disk = MemoryDisk()
        self.size = size
        self.operations: list[str] = []
        self.disk.on_operation = lambda what, _path: self.operations.append(what)
        self.leased = self.cold_file("/log")
        self.helpers = Helpers()
        self.reads = ColdReads(self.helpers.run, clock=self.clock, threads=4, ahead_bytes_max=ahead_bytes_max)
        self.ready: list[OSError | None] = []

    def cold_file(self, path: str) -> LeasedFile:
        file: MemoryFile = self.disk.open(path, create=True)
        file.write_at(0, [bytes(self.size)])
        self.disk.evict(path)
        return LeasedFile(file)

    def read(self, position: int, length: int = RANGE_BYTES) -> None:
        self.reads.read(self.leased, position, length, self.ready.append)

    def read_in_order(self, ranges: int, start: int = 0) -> int:
        """Read ranges one behind the other as a connection does; return how often it had to wait."""
        waits = 0
        for number in range(ranges):
            position = start + number * RANGE_BYTES
            if not self.reads.is_ready(self.leased, position, RANGE_BYTES):
                waits += 1
                self.read(position)
            self.helpers.finish()
        return waits


def test_f44_what_is_cold_is_told_without_waiting() -> None:
    setting = Setting()
    assert not setting.reads.is_ready(setting.leased, 0, RANGE_BYTES)
    assert "read" not in setting.operations
    assert "stall" not in setting.operations
    setting.read(0)
    assert setting.ready == []
    assert not setting.reads.is_ready(setting.leased, 0, RANGE_BYTES), "nothing moves before a helper does"
    setting.helpers.finish()
    assert setting.ready == [None]
    assert setting.reads.is_ready(setting.leased, 0, RANGE_BYTES)
    found = setting.reads.statistics()
    assert (found.hits, found.misses, found.waits, found.waiting) == (1, 2, 1, 0)
    assert found.read_bytes == RANGE_BYTES


def test_f44_the_wait_is_measured() -> None:
    setting = Setting()
    setting.read(0)
    setting.clock.advance_ms(7)
    assert setting.reads.statistics().waiting == 1
    setting.helpers.finish()
    found = setting.reads.statistics()
    assert (found.wait_us, found.wait_us_max, found.waiting) == (7000, 7000, 0)


def test_f44_a_single_read_reads_nothing_ahead() -> None:
    setting = Setting()
    for position in (0, 20 * 1024 * KIB, 40 * 1024 * KIB):
        setting.read(position)
        setting.helpers.finish()
    assert setting.reads.statistics().ahead_bytes == 0


def test_f44_a_sequential_reader_is_read_ahead_of_and_waits_no_more() -> None:
    setting = Setting()
    waits = setting.read_in_order(200)
    assert waits == 2, "the first range, and the second which makes it a stream"
    found = setting.reads.statistics()
    assert found.ahead_bytes >= 198 * RANGE_BYTES
    assert found.streams == 1


def test_f44_read_ahead_grows_up_to_its_bound() -> None:
    setting = Setting(ahead_bytes_max=1024 * KIB)
    setting.read_in_order(100)
    ahead = [length for length in setting.helpers.lengths if length != RANGE_BYTES]
    assert ahead[:4] == [AHEAD_BYTES_MIN, 512 * KIB, 1024 * KIB, 1024 * KIB]
    assert max(ahead) == 1024 * KIB


def test_f44_nothing_is_read_ahead_when_that_is_switched_off() -> None:
    setting = Setting(ahead_bytes_max=0)
    assert setting.read_in_order(10) == 10
    assert setting.reads.statistics().ahead_bytes == 0


def test_f44_slices_that_end_inside_a_batch_still_make_a_stream() -> None:
    setting = Setting()
    position, waits = 0, 0
    for _ in range(50):
        if not setting.reads.is_ready(setting.leased, position, RANGE_BYTES):
            waits += 1
            setting.read(position)
        setting.helpers.finish()
        position += RANGE_BYTES - 3000
    assert waits == 2


def test_f44_read_ahead_leaves_helpers_to_those_who_wait() -> None:
    setting = Setting()
    files = [setting.cold_file(f"/{number}") for number in range(5)]
    for leased in files:
        setting.reads.read(leased, 0, RANGE_BYTES, setting.ready.append)
    setting.helpers.finish()
    for leased in files:
        setting.reads.read(leased, RANGE_BYTES, RANGE_BYTES, setting.ready.append)
    found = setting.reads.statistics()
    assert (found.ahead_now, found.ahead_max, found.waiting) == (2, 2, 5)
    setting.helpers.finish()
    assert setting.reads.statistics().ahead_now == 0


def test_f44_streams_are_bounded() -> None:
    setting = Setting(size=RANGE_BYTES)
    for number in range(COLD_STREAM_FILES_MAX + 50):
        leased = setting.cold_file(f"/{number}")
        setting.reads.read(leased, 0, RANGE_BYTES, setting.ready.append)
    for position in range(0, 100 * RANGE_BYTES, 50 * RANGE_BYTES):
        setting.read(position)
    assert setting.reads.statistics().streams <= COLD_STREAM_FILES_MAX + 8


def test_f44_the_end_of_the_file_ends_a_stream() -> None:
    setting = Setting(size=10 * RANGE_BYTES)
    setting.read_in_order(10)
    assert setting.reads.statistics().streams == 0
    assert setting.leased.holders == 1


def test_f44_a_helper_holds_the_file_open_until_it_is_back() -> None:
    setting = Setting()
    setting.read(0)
    setting.leased.release()  # the segment is deleted
    assert setting.leased.holders == 1
    setting.helpers.finish()
    assert setting.leased.holders == 0
    assert setting.ready == [None]


def test_f44_a_file_that_was_cut_meanwhile_is_no_error() -> None:
    setting = Setting()
    setting.read(32 * 1024 * KIB)
    setting.leased.file.truncate(KIB)
    setting.helpers.finish()
    assert setting.ready == [None]
    assert setting.reads.statistics().read_bytes == 0


def test_f44_an_error_of_the_disk_comes_back_to_who_waits() -> None:
    setting = Setting()

    def fail(what: str, _path: str) -> None:
        if what == "bring_in":
            raise OSError(5, "the disk is dying")

    setting.disk.on_operation = fail
    setting.read(0)
    setting.read(RANGE_BYTES)
    setting.helpers.finish()
    assert [error is not None and error.errno for error in setting.ready] == [5, 5]
    found = setting.reads.statistics()
    assert (found.failures, found.waiting) == (3, 0)
    assert setting.leased.holders == 1


def test_f44_close_lets_go_of_what_no_helper_brings_back() -> None:
    setting = Setting()
    setting.read(0)
    setting.read(RANGE_BYTES)
    late = [done for _, done in setting.helpers.given]
    setting.reads.close()
    assert setting.leased.holders == 1
    for done in late:
        done(None)
    assert setting.leased.holders == 1
    assert setting.ready == [], "nobody is there any more to go on"


def test_f44_all_ranges_of_a_look_up_are_brought_in_before_it_is_tried_again() -> None:
    setting = Setting()
    cold = ColdReadError(setting.leased, 0, KIB)
    assert cold.joined(ColdReadError(setting.leased, 10 * RANGE_BYTES, KIB)) is cold
    assert setting.leased.holders == 3
    assert setting.reads.statistics().streams == 0, "a look-up is no reader's way through a file"
    again: list[bool] = []
    setting.reads.read_all(cold, partial(again.append, True))
    assert setting.leased.holders == 3
    setting.helpers.step()
    assert again == []
    setting.helpers.finish()
    assert again == [True]
    assert setting.leased.holders == 1
    assert setting.reads.statistics().streams == 0


def test_a_pool_runs_work_and_ends() -> None:
    delivered: list[Callable[[], None]] = []
    pool = WorkerPool(delivered.append, threads_max=3)
    outcomes: list[OSError | None] = []

    def fail() -> None:
        raise OSError(5, "no")

    assert pool.threads == 0
    pool.run(lambda: None, outcomes.append)
    assert pool.threads == 1
    pool.run(fail, outcomes.append)
    for _ in range(4):
        pool.run(lambda: None, outcomes.append)
    assert pool.threads == 3
    pool.close()
    for call in delivered:
        call()
    assert len(outcomes) <= 6
    pool.close()


@pytest.mark.parametrize("free_first", [True, False])
def test_a_pool_makes_a_thread_only_when_no_other_is_free(free_first: bool) -> None:
    delivered: list[Callable[[], None]] = []
    pool = WorkerPool(delivered.append, threads_max=3)
    try:
        pool.run(lambda: None, lambda _: None)
        if free_first:
            pool._given = 0  # as when the first outcome has been delivered
        pool.run(lambda: None, lambda _: None)
        assert pool.threads == (1 if free_first else 2)
    finally:
        pool.close()
