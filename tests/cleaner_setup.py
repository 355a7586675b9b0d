"""Logs on a disk in memory and their cleaner, with the loop and the helpers in the test's hand."""

from collections.abc import Callable
from typing import Any

from barnabas.base.dataclass import replace
from barnabas.protocol.record_batch_builder import BatchBuilder
from barnabas.sim.clock import ManualClock
from barnabas.sim.disk import MemoryDisk
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
from barnabas.storage.log_cleaner.cleaner import LogCleaner
from barnabas.storage.log_cleaner.config import CleanerConfig
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_manager import LogManager
from barnabas.storage.topic_partition import TopicPartition
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
        self.manager = self.make_manager(directories)
        self.cleaner = self._make_cleaner()

    def make_manager(self, directories: tuple[str, ...]) -> LogManager:
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


def failure(kind: FailureKind, error: int = 0) -> CleaningFailure:
    return CleaningFailure(kind=kind, message="as told", errno=error)
