"""The log cleaner as a broker has it: made when there is a log to clean, with its processes, configs and end.

A start of a broker and a broker without compacted topics load nothing of it: until a compacted log has a
sealed segment, all that happens is a look at the logs every so often. Each cleaning is a process of its own
(`storage/compaction/`), which a thread of this one waits for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from barnabas.base.clock import Clock
from barnabas.base.disk import Disk, OsDisk
from barnabas.base.entropy import Entropy
from barnabas.base.hints import TYPE_CHECKING, Final
from barnabas.base.worker import RunBlocking
from barnabas.metadata.controller import Controller
from barnabas.metadata.image import ConfigResourceType, MetadataDelta, MetadataImage
from barnabas.net.reactor import Reactor
from barnabas.server.settings import Settings
from barnabas.storage.log_manager import LogManager

if TYPE_CHECKING:
    from barnabas.base.worker_pool import WorkerPool
    from barnabas.storage.compaction.task import Cleaning, CleaningTask
    from barnabas.storage.log_cleaner.cleaner import LogCleaner
    from barnabas.storage.log_cleaner.config import CleanerConfig

THREADS_MAX: Final = 64
"""Cleanings at one time; more of `log.cleaner.threads` wait for each other."""

FIRST_LOOK_MS: Final = 1_000
"""After a start, at most: what was left to clean need not wait for the whole `log.cleaner.backoff.ms`."""


class LogCleaning:
    """Has a broker's logs cleaned.

    Args:
        current_settings: as they are now, dynamic configs included.
        run_blocking: where directories are synced.
    """

    def __init__(
        self,
        *,
        current_settings: Callable[[], Settings],
        logs: LogManager,
        controller: Controller,
        reactor: Reactor,
        clock: Clock,
        entropy: Entropy,
        disk: Disk,
        run_blocking: RunBlocking,
    ) -> None:
        self._current_settings = current_settings
        self._logs = logs
        self._controller = controller
        self._reactor = reactor
        self._clock = clock
        self._entropy = entropy
        self._disk = disk
        self._run_blocking = run_blocking
        self._cleaner: LogCleaner | None = None
        self._threads: WorkerPool | None = None
        self._is_stopped = False
        self._looks = 0

    def start(self) -> None:
        """Read how far logs are clean, and look after them from now on; the logs are open."""
        for directory in self._logs.directories:
            if directory.online:
                self._logs.checkpoints.load_cleaner_offsets(directory)
        settings = self._current_settings()
        if settings.boolean("log.cleaner.enable"):
            self._reactor.add_stopping_hook(self.stop)
            self._controller.subscribe(self._metadata_changed)
            self._look_later(min(FIRST_LOOK_MS, settings.integer("log.cleaner.backoff.ms")))

    def stop(self) -> None:
        """End all cleanings; on the loop, when the broker begins to stop."""
        self._is_stopped = True
        if self._cleaner is not None:
            self._cleaner.stop()

    def close(self) -> None:
        """Wait for the threads of cleanings that were ended; when the loop and other threads run no more."""
        self.stop()
        if self._threads is not None:
            self._threads.close()
        if self._cleaner is not None:
            self._cleaner.abandon()

    def _look_later(self, delay_ms: int) -> None:
        self._looks += 1
        self._reactor.call_later(max(1, delay_ms), partial(self._look, self._looks))

    def _look(self, number: int) -> None:
        """Make the cleaner once a log may have to be cleaned; of the looks that are due the last counts."""
        if self._is_stopped or number != self._looks:
            return
        logs = self._logs.logs.values()
        if any("compact" in log.config.cleanup_policy and len(log.segments) > 1 for log in logs):
            self._cleaner = self._logs.cleaner = self._make()
            self._cleaner.start()
        else:
            self._look_later(self._current_settings().integer("log.cleaner.backoff.ms"))

    def _make(self) -> LogCleaner:
        from barnabas.base.worker_pool import WorkerPool  # noqa: PLC0415 - see above
        from barnabas.storage.log_cleaner.cleaner import LogCleaner  # noqa: PLC0415

        self._threads = WorkerPool(
            self._reactor.call_soon_threadsafe, threads_max=THREADS_MAX, name="barnabas-cleaner"
        )
        return LogCleaner(
            self._logs,
            config=_config(self._current_settings()),
            clock=self._clock,
            entropy=self._entropy,
            make_cleaning=self._make_cleaning,
            run_cleaning=self._threads.run,
            run_blocking=self._run_blocking,
            call_later=self._reactor.call_later,
            call_soon=self._reactor.call_soon,
            expire=self._logs.retention.look_at_soon,
        )

    def _make_cleaning(self, task: CleaningTask) -> Cleaning:
        if isinstance(self._disk, OsDisk):
            from barnabas.storage.compaction.cleaning_process import ProcessCleaning  # noqa: PLC0415

            return ProcessCleaning(task, self._disk)
        # No other process sees a simulated disk, and its time does not pass by sleeping.
        from barnabas.storage.compaction.cleaning import InProcessCleaning  # noqa: PLC0415

        return InProcessCleaning(task, self._disk, self._clock, lambda _: None)

    def _metadata_changed(self, delta: MetadataDelta, _: MetadataImage) -> None:
        if not delta.configs_changed:
            return
        concerns_broker = any(kind is ConfigResourceType.BROKER for kind, _ in delta.configs_changed)
        if self._cleaner is not None:
            # Later: the logs have not heard of their new configs yet.
            self._reactor.call_soon(self._cleaner.policies_changed)
            if concerns_broker:
                self._cleaner.reconfigure(_config(self._current_settings()))
        elif concerns_broker:
            self._look_later(self._current_settings().integer("log.cleaner.backoff.ms"))


def _config(settings: Settings) -> CleanerConfig:
    from barnabas.storage.log_cleaner.config import CleanerConfig  # noqa: PLC0415

    return CleanerConfig(
        threads=settings.integer("log.cleaner.threads"),
        backoff_ms=settings.integer("log.cleaner.backoff.ms"),
        dedupe_buffer_bytes=settings.integer("log.cleaner.dedupe.buffer.size"),
        dedupe_load_factor=settings.number("log.cleaner.io.buffer.load.factor"),
        io_buffer_bytes=settings.integer("log.cleaner.io.buffer.size"),
        io_bytes_per_second_max=settings.number("log.cleaner.io.max.bytes.per.second"),
    )
