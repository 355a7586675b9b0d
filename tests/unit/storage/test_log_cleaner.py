"""The log cleaner as the loop has it: which log when, how many at once, what ends a cleaning, what fails."""

import errno
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.base.dataclass import replace
from barnabas.protocol.record_batch_builder import BatchBuilder
from barnabas.sim.clock import ManualClock
from barnabas.sim.disk import MemoryDisk
from barnabas.storage.checkpoints import TopicPartition
from barnabas.storage.compaction.cleaning import InProcessCleaning
from barnabas.storage.compaction.task import (
    Cleaning,
    CleaningFailure,
    CleaningProgress,
    CleaningResult,
    CleaningStatistics,
    CleaningTask,
    FailureKind,
)
from barnabas.storage.log import Log
from barnabas.storage.log_cleaner import LogCleaner
from barnabas.storage.log_cleaner_config import CleanerConfig
from barnabas.storage.log_cleaner_trouble import RETRY_DELAYS_MS
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_manager import LogManager
from tests.storage_setup import FIRST_TIMESTAMP, TOPIC_ID

COMPACT = LogConfig(cleanup_policy=frozenset({"compact"}), segment_bytes=500)
BACKOFF_MS = 15_000


class Zeros:
    def random_bytes(self, length: int) -> bytes:
        return bytes(length)

    def random_below(self, limit: int) -> int:
        return 0


class FailingCleaning:
    """One that ends with a failure."""

    progress = CleaningProgress(1, 4)

    def __init__(self, task: CleaningTask, failure: CleaningFailure) -> None:
        self._task = task
        self._failure = failure

    def run(self) -> CleaningResult:
        return CleaningResult(
            cleaned_to_offset=self._task.first_dirty_offset,
            groups=(),
            statistics=CleaningStatistics(),
            failure=self._failure,
        )

    def abort(self) -> None:
        """Too late."""


class Machine:
    """Logs and their cleaner, with the loop and the helpers in hand.

    Attributes:
        works: cleanings that wait for their helper.
        syncs: blocking work that waits for the other helper.
        tasks: what cleanings were told.
        failures: what cleanings of a topic end with.
    """

    def __init__(self, *, directories: tuple[str, ...] = ("/a",), threads: int = 1) -> None:
        self.clock = ManualClock(FIRST_TIMESTAMP)
        self.disk = MemoryDisk(self.clock)
        self.configs: dict[str, LogConfig] = {}
        self.offline: list[LogDirectory] = []
        self.works: list[tuple[Callable[[], None], Callable[[OSError | None], None]]] = []
        self.syncs: list[tuple[Callable[[], None], Callable[[OSError | None], None]]] = []
        self.tasks: list[CleaningTask] = []
        self.failures: dict[str, CleaningFailure] = {}
        self.expired: list[TopicPartition] = []
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._soon: list[Callable[[], None]] = []
        self.config = CleanerConfig(threads=threads, backoff_ms=BACKOFF_MS)
        self.manager = self._make_manager(directories)
        self.cleaner = self._make_cleaner()

    def _make_manager(self, directories: tuple[str, ...]) -> LogManager:
        manager = LogManager(
            disk=self.disk, clock=self.clock, entropy=Zeros(), directories=directories,
            config_for=lambda topic: self.configs.get(topic, COMPACT),
            on_directory_failure=self.offline.append,
        )  # fmt: skip
        manager.start()
        for directory in manager.directories:
            manager.checkpoints.load_cleaner_offsets(directory)
        manager.retention_high_watermark = lambda key: manager.logs[key].log_end_offset
        return manager

    def _make_cleaner(self) -> LogCleaner:
        return LogCleaner(
            self.manager,
            config=self.config,
            clock=self.clock,
            entropy=Zeros(),
            make_cleaning=self._make_cleaning,
            run_cleaning=lambda work, done: self.works.append((work, done)),
            run_blocking=lambda work, done: self.syncs.append((work, done)),
            call_later=lambda delay_ms, call: self._timers.append(
                (self.clock.monotonic_ms() + delay_ms, len(self._timers), call)
            ),
            call_soon=self._soon.append,
            expire=self.expired.append,
        )

    def _make_cleaning(self, task: CleaningTask) -> Cleaning:
        self.tasks.append(task)
        failure = self.failures.get(self.topic_of(task))
        if failure is not None:
            return FailingCleaning(task, failure)
        return InProcessCleaning(task, self.disk, self.clock, lambda _: None)

    @staticmethod
    def topic_of(task: CleaningTask) -> str:
        return task.path.rpartition("/")[2].rpartition("-")[0]

    def log(self, topic: str, records: int = 0, *, keys: int = 3, **config: Any) -> Log:
        self.configs[topic] = replace(COMPACT, **config)
        log = self.manager.get_or_create(topic, 0, TOPIC_ID, self.configs[topic])
        self.append(log, records, keys)
        log.flush()
        return log

    def append(self, log: Log, records: int, keys: int = 3) -> None:
        for number in range(records):
            builder = BatchBuilder()
            builder.append(timestamp=self.clock.wall_ms(), key=b"%d" % (number % keys), value=b"v" * 40)
            log.append([bytes(builder.build())], leader_epoch=0)

    # The loop

    def turn(self) -> None:
        """Run what is due, until nothing is."""
        while self._soon:
            self._soon.pop(0)()

    def sleep(self, duration_ms: int) -> None:
        """Let time pass, timer by timer."""
        end_ms = self.clock.monotonic_ms() + duration_ms
        while due := sorted(timer for timer in self._timers if timer[0] <= end_ms):
            self._timers.remove(due[0])
            self.clock.advance_ms(max(0, due[0][0] - self.clock.monotonic_ms()))
            due[0][2]()
            self.turn()
        self.clock.advance_ms(end_ms - self.clock.monotonic_ms())

    def work(self) -> None:
        """Let the helpers do what waits, cleanings and syncs, and the loop go on with it."""
        while self.works or self.syncs:
            work, done = (self.works or self.syncs).pop(0)
            error: OSError | None = None
            try:
                work()
            except OSError as raised:
                error = raised
            done(error)
            self.turn()

    def start(self) -> None:
        self.cleaner.start()
        self.turn()

    @property
    def cleaned_topics(self) -> list[str]:
        return [self.topic_of(task) for task in self.tasks]

    def text(self, path: str) -> str:
        file = self.disk.open_readonly(path)
        return file.read_at(0, file.size()).decode()

    def names(self, log: Log) -> list[str]:
        return [name for name in self.disk.list_dir(log.path) if not name.endswith(".deleted")]


def test_the_dirtiest_log_is_cleaned_first_and_then_the_next() -> None:
    machine = Machine()
    machine.log("half", 40)
    machine.manager.checkpoints.cleaner_offsets[TopicPartition("half", 0)] = 15
    machine.log("whole", 40)
    machine.log("plain", 40, cleanup_policy=frozenset({"delete"}))
    machine.start()
    assert machine.cleaned_topics == ["whole"], "one at a time"
    machine.work()
    assert machine.cleaned_topics == ["whole", "half"], "nothing rests while there is something to do"
    assert not machine.cleaner.running


def test_as_many_logs_as_there_are_threads_are_cleaned_at_once_and_share_what_there_is() -> None:
    machine = Machine(threads=2)
    for topic in "abc":
        machine.log(topic, 40)
    machine.start()
    assert len(machine.tasks) == 2
    assert machine.tasks[0].dedupe_buffer_bytes == machine.config.dedupe_buffer_bytes // 2
    assert machine.tasks[0].io_bytes_per_second_max == machine.config.io_bytes_per_second_max / 2
    machine.work()
    assert sorted(machine.cleaned_topics) == ["a", "b", "c"]


def test_a_log_that_is_not_dirty_enough_waits_for_more() -> None:
    machine = Machine()
    log = machine.log("t", 40, min_cleanable_dirty_ratio=0.5)
    machine.start()
    machine.work()
    assert machine.cleaner.statistics().cleaned == 1
    kept = log.segments.size
    machine.sleep(BACKOFF_MS)
    assert len(machine.tasks) == 1
    machine.append(log, 40)
    log.flush()
    machine.sleep(BACKOFF_MS - 1)
    assert len(machine.tasks) == 1, "it is looked at every log.cleaner.backoff.ms"
    machine.sleep(1)
    machine.work()
    assert len(machine.tasks) == 2
    assert machine.tasks[1].first_dirty_offset == machine.tasks[0].first_uncleanable_offset
    assert log.segments.size < kept + 40 * 110


def test_how_far_a_log_is_clean_is_checkpointed_and_read_again() -> None:
    machine = Machine(directories=("/a", "/b"))
    log = machine.log("t", 40)
    machine.start()
    machine.work()
    reached = machine.tasks[0].first_uncleanable_offset
    directory = log.directory.path
    assert machine.text(f"{directory}/cleaner-offset-checkpoint") == f"0\n1\nt 0 {reached}\n"
    assert machine.manager.shutdown()
    again = machine._make_manager(("/a", "/b"))
    assert again.checkpoints.cleaner_offsets == {TopicPartition("t", 0): reached}


def test_a_log_made_anew_under_an_old_name_is_dirty_from_its_start() -> None:
    machine = Machine()
    machine.log("t", 40)
    machine.start()
    machine.work()
    machine.manager.delete("t", 0)
    assert machine.text("/a/cleaner-offset-checkpoint") == "0\n0\n"
    machine.log("t", 40)
    assert TopicPartition("t", 0) not in machine.manager.checkpoints.cleaner_offsets


def test_a_checkpoint_beyond_the_end_of_a_log_is_not_read() -> None:
    machine = Machine()
    machine.log("t", 40)
    machine.manager.checkpoints.cleaned_to(TopicPartition("t", 0), machine.manager.directories[0], 41)
    assert machine.manager.shutdown()
    assert machine._make_manager(("/a",)).checkpoints.cleaner_offsets == {}


def test_a_truncation_makes_dirty_what_comes_next() -> None:
    machine = Machine()
    log = machine.log("t", 40)
    machine.start()
    machine.work()
    key = TopicPartition("t", 0)
    assert machine.manager.checkpoints.cleaner_offsets[key] > 20
    log.truncate_to(20)
    assert machine.manager.checkpoints.cleaner_offsets[key] <= 20


def test_a_log_is_synced_to_its_end_before_it_is_cleaned() -> None:
    """What supersedes a record, or ends its transaction, may not be lost when the record is gone."""
    machine = Machine()
    log = machine.log("t")
    machine.append(log, 40)
    assert log.recovery_point == 0
    machine.start()
    assert machine.tasks == []
    sync, done = machine.syncs.pop()
    machine.append(log, 1)
    sync()
    done(None)
    assert machine.cleaned_topics == ["t"]
    assert log.recovery_point >= machine.tasks[0].first_uncleanable_offset


def test_a_sync_before_a_cleaning_may_fail_or_come_too_late() -> None:
    machine = Machine(directories=("/a", "/b"))
    log, other = machine.log("t"), machine.log("u")
    for one in (log, other):
        machine.append(one, 40)
    machine.start()
    for one, error in ((log, None), (other, OSError(errno.EIO, "input/output error"))):
        _, done = machine.syncs.pop()
        if error is None:
            one.truncate_to(0)
        done(error)
        machine.turn()
    assert machine.tasks == []
    assert [directory.path for directory in machine.offline] == [other.directory.path]


def test_nothing_is_cleaned_of_a_partition_that_is_not_hosted() -> None:
    machine = Machine()
    machine.log("t", 40)
    machine.manager.retention_high_watermark = lambda _: None
    machine.start()
    assert machine.tasks == []


def test_a_log_with_nothing_but_its_active_segment_is_passed_over() -> None:
    machine = Machine()
    machine.log("t", 2)
    machine.start()
    assert machine.tasks == []
    assert machine.cleaner.statistics().max_dirty_ratio == 0.0


def test_retention_is_asked_of_logs_that_are_deleted_from_as_well() -> None:
    machine = Machine()
    machine.log("both", 40, cleanup_policy=frozenset({"compact", "delete"}))
    machine.log("compacted", 40)
    machine.start()
    assert machine.expired == [("both", 0)]
    machine.work()
    assert ("compacted", 0) in machine.expired, "what had to wait for the cleaning"


# Others change logs meanwhile ----------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["before", "during", "swapping"])
def test_the_deletion_of_a_topic_ends_its_cleaning(stage: str) -> None:
    machine = Machine()
    log = machine.log("t", 40)
    machine.log("u", 40)
    machine.start()
    if stage != "before":
        work, done = machine.works.pop()
        work()
        if stage == "swapping":
            done(None)
            assert machine.syncs, "the names are being synced"
        else:
            machine.works.append((lambda: None, done))
    machine.manager.delete("t", 0)
    machine.work()
    assert machine.cleaned_topics == ["t", "u"]
    assert not machine.cleaner.running
    assert log.cleaning is None
    assert TopicPartition("t", 0) not in machine.manager.checkpoints.cleaner_offsets
    assert machine.offline == []


def test_a_truncation_ends_the_cleaning_and_the_log_is_cleaned_again() -> None:
    machine = Machine()
    log = machine.log("t", 40)
    machine.start()
    work, done = machine.works.pop()
    work()
    log.truncate_to(30)
    done(None)
    machine.turn()
    machine.work()
    assert len(machine.tasks) == 2
    assert not [name for name in machine.names(log) if name.endswith((".cleaned", ".swap"))]
    assert machine.tasks[1].first_uncleanable_offset < machine.tasks[0].first_uncleanable_offset


def test_a_log_that_moves_is_left_alone() -> None:
    machine = Machine()
    log = machine.log("t", 40)
    machine.start()
    machine.cleaner.abort(TopicPartition("t", 0))
    assert log.cleaning is None

    class Moves:
        moves = (TopicPartition("t", 0),)

    machine.manager.made_future_logs = Moves()  # type: ignore[assignment]
    machine.work()
    machine.sleep(BACKOFF_MS)
    assert len(machine.tasks) == 1
    machine.manager.made_future_logs = None
    machine.sleep(BACKOFF_MS)
    machine.work()
    assert machine.cleaner.statistics().cleaned == 1


def test_a_directory_that_fails_ends_its_cleanings() -> None:
    machine = Machine(directories=("/a", "/b"), threads=2)
    logs = [machine.log("t", 40), machine.log("u", 40)]
    assert {log.directory.path for log in logs} == {"/a", "/b"}
    machine.start()
    failed = logs[0].directory
    failed.failed(OSError(errno.EIO, "input/output error"), "appending")
    machine.cleaner.directory_failed(failed)
    machine.work()
    assert machine.cleaner.statistics().cleaned == 1
    machine.sleep(10 * BACKOFF_MS)
    assert len(machine.tasks) == 2


def test_a_stop_ends_all_cleanings_and_leaves_logs_that_open() -> None:
    machine = Machine()
    log = machine.log("t", 40)
    machine.start()
    work, done = machine.works.pop()
    work()
    done(None)
    assert machine.syncs
    machine.cleaner.stop()
    assert not [name for name in machine.names(log) if name.endswith((".cleaned", ".swap"))]
    assert machine.manager.shutdown()
    again = machine._make_manager(("/a",))
    assert again.logs["t", 0].segments.base_offsets == log.segments.base_offsets  # type: ignore[index]


def test_new_configs_hold_for_cleanings_that_begin_anew() -> None:
    machine = Machine()
    machine.log("t", 40)
    machine.start()
    machine.cleaner.reconfigure(machine.config)
    assert machine.cleaner.statistics().running, "nothing has changed"
    machine.cleaner.reconfigure(replace(machine.config, io_bytes_per_second_max=1000.0, threads=2))
    machine.work()
    assert [task.io_bytes_per_second_max for task in machine.tasks][-1] == 500.0
    assert machine.cleaner.statistics().cleaned == 1


def test_no_thread_cleans_nothing() -> None:
    machine = Machine(threads=0)
    machine.log("t", 40)
    machine.start()
    machine.sleep(10 * BACKOFF_MS)
    assert machine.tasks == []


# Failures ------------------------------------------------------------------------------------------


def failure(kind: FailureKind, error: int = 0) -> CleaningFailure:
    return CleaningFailure(kind=kind, message="as told", errno=error)


def test_a_damaged_log_is_told_of_once_and_left_alone_while_others_go_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    machine = Machine()
    log = machine.log("bad", 60)
    machine.log("good", 40)
    machine.failures["bad"] = failure(FailureKind.CORRUPT)
    machine.start()
    machine.work()
    machine.sleep(5 * BACKOFF_MS)
    assert machine.cleaned_topics.count("bad") == 1
    assert "good" in machine.cleaned_topics
    assert caplog.text.count("is not cleaned any more") == 1
    figures = machine.cleaner.statistics().figures()
    sealed = sum(segment.size for segment in list(log.segments)[:-1])
    assert figures["uncleanable"] == [["/a", 1, sealed]]
    assert machine.offline == []
    machine.manager.delete("bad", 0)
    machine.sleep(BACKOFF_MS)
    assert machine.cleaner.statistics().figures()["uncleanable"] == [["/a", 0, 0]]


@pytest.mark.parametrize(
    ("kind", "error"),
    [(FailureKind.CRASHED, 0), (FailureKind.IO, errno.ENOSPC), (FailureKind.IO, errno.EMFILE)],
)
def test_what_is_no_fault_of_the_log_is_tried_again_later_and_told_once(
    kind: FailureKind, error: int, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine()
    machine.log("t", 40)
    machine.failures["t"] = failure(kind, error)
    machine.start()
    machine.work()
    tries = 1
    for delay_ms in RETRY_DELAYS_MS:
        assert len(machine.tasks) == tries
        machine.sleep(delay_ms - 1)
        machine.work()
        assert len(machine.tasks) == tries, delay_ms
        machine.sleep(1)
        machine.work()
        tries += 1
    assert machine.cleaner.statistics().figures()["dead_thread_count"] == 1
    assert caplog.text.count("could not be cleaned and is tried again") == 1
    del machine.failures["t"]
    machine.sleep(RETRY_DELAYS_MS[-1])
    machine.work()
    assert machine.cleaner.statistics().cleaned == 1
    assert machine.cleaner.statistics().figures()["dead_thread_count"] == 0
    assert machine.offline == []


def test_an_error_of_the_disk_takes_its_directory_offline() -> None:
    machine = Machine()
    machine.log("t", 40)
    machine.failures["t"] = failure(FailureKind.IO, errno.EIO)
    machine.start()
    machine.work()
    assert [directory.path for directory in machine.offline] == ["/a"]


def test_a_sync_that_fails_takes_the_directory_offline() -> None:
    machine = Machine()
    machine.log("t", 40)
    machine.start()
    work, done = machine.works.pop()
    work()
    done(None)
    _, synced = machine.syncs.pop()
    synced(OSError(errno.EIO, "input/output error"))
    machine.turn()
    assert [directory.path for directory in machine.offline] == ["/a"]
    assert not machine.cleaner.running


def test_the_helper_itself_may_fail() -> None:
    machine = Machine()
    machine.log("t", 40)
    machine.start()
    _, done = machine.works.pop()
    done(OSError(errno.EAGAIN, "no thread"))
    machine.turn()
    assert machine.offline == []
    machine.sleep(RETRY_DELAYS_MS[0])
    machine.work()
    assert machine.cleaner.statistics().cleaned == 1


# What is told --------------------------------------------------------------------------------------


def test_kafkas_figures_are_told() -> None:
    machine = Machine()
    machine.log("t", 40)
    machine.start()
    machine.work()
    machine.sleep(2_000)
    figures = machine.cleaner.statistics().figures()
    assert figures["cleaned"] == 1
    assert 0 < figures["recopy_percent"] < 20  # type: ignore[operator]
    assert figures["max_dirty_percent"] == 0, "all is clean by now"
    assert figures["time_since_last_run_ms"] == 2_000
    assert figures["running"] == []


def test_the_progress_of_a_cleaning_is_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    machine = Machine()
    machine.log("t", 40)
    machine.failures["t"] = failure(FailureKind.ABORTED)
    machine.start()
    assert machine.cleaner.statistics().figures()["running"] == [
        {"log": "t-0", "elapsed_ms": 0, "bytes_done": 1, "bytes_expected": 4}
    ]
    machine.sleep(60_000)
    assert "cleaning t-0: 25% of 4 bytes after 60 s" in caplog.text


def test_what_a_cleaning_did_is_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    machine = Machine()
    machine.log("t", 40)
    machine.start()
    machine.work()
    assert "cleaned t-0 from offset 0 to" in caplog.text
    assert "3 keys were compared" in caplog.text
