"""All logs of a broker: the directories of `log.dirs`, what lies in their roots, and the logs' chores.

A directory is locked, its clean-stop marker is taken away, its checkpoints are read, and every partition
in it is opened; a directory that fails goes offline and the others go on. Chores (checkpoints, retention,
unlinking, flushing rolled segments) run from `handle_timer`, so that a test scripts the clock; syncs go
through an injected `run_blocking`, so that they may run on a helper thread.
"""

import errno
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial

from barnabas.base.clock import Clock
from barnabas.base.disk import Disk, DiskFile
from barnabas.base.entropy import Entropy
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import TYPE_CHECKING
from barnabas.base.logger import Logger
from barnabas.base.worker import RunBlocking, run_inline
from barnabas.storage.checkpoints import directory_checkpoints
from barnabas.storage.flush import durable_logs
from barnabas.storage.flush.scheduler import FlushScheduler
from barnabas.storage.loading.directory_loading import (
    DirectoryLoading,
    LoadedDirectory,
    LogManagerError,
    LogOpening,
)
from barnabas.storage.loading.scans import RecoveryProgress
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_manager_config import LogManagerConfig
from barnabas.storage.partition_logs import PartitionLogs
from barnabas.storage.retention import Retention
from barnabas.storage.topic_partition import TopicPartition

if TYPE_CHECKING:  # imported when a log moves, and when one is to be compacted
    from barnabas.storage.log_cleaner.cleaner import LogCleaner

log = Logger(__name__)

LOCK_FILE = ".lock"


class LogManager(PartitionLogs):
    """The logs of a broker.

    Args:
        directories: `log.dirs`, in order.
        config_for: the effective LogConfig of a topic, by name.
        on_directory_failure: called once for each directory that goes offline, after start.
        run_blocking: where syncs and writes run that nobody waits for, in the order given.
        run_syncs: where syncs run that appends wait for, several at once; None: as all others.
        call_at_turn_end: see GroupCommit.
        run_housekeeping: where files are unlinked and old segments looked at, which no write should stand
            behind; None: as `run_blocking`.

    Attributes:
        group_commit: syncs logs whose `flush.messages` is reached; to be told of a stop.
        flush_times: how long syncs of logs take.
        was_clean: the last stop was, of every directory; known after `start`.
        high_watermarks: as checkpointed before this start, by (topic, partition); an entry goes with its log.
        config: replaced when the broker's configs change.
        logs: the open logs, by (topic, partition); not to be changed.
        unopened: logs on disk that could not be opened, with the reason; they are left as they are.
        checkpoints: what is written of all logs every so often; its `writes` are to be told of a stop.
        cleaner: what compacts logs, set by whoever makes it; None while there is nothing to compact.
        placement: where new logs are made.
        make_future_logs: set by whoever has threads for it; called once, when first a log is to move.
        made_future_logs: what it made; None until then.
        recovery: how far the check of logs after a crash is, or was.
    """

    def __init__(
        self,
        *,
        disk: Disk,
        clock: Clock,
        entropy: Entropy,
        directories: Sequence[str],
        config_for: Callable[[str], LogConfig],
        config: LogManagerConfig | None = None,
        on_directory_failure: Callable[[LogDirectory], None] | None = None,
        run_blocking: RunBlocking = run_inline,
        run_syncs: RunBlocking | None = None,
        call_at_turn_end: Callable[[Callable[[], None]], None] | None = None,
        run_housekeeping: RunBlocking | None = None,
    ) -> None:
        super().__init__(
            disk=disk,
            clock=clock,
            entropy=entropy,
            directories=[LogDirectory(disk, path, self._directory_failed) for path in directories],
            config=config or LogManagerConfig(),
            run_blocking=run_blocking,
            run_syncs=run_syncs or run_blocking,
            run_housekeeping=run_housekeeping or run_blocking,
            call_at_turn_end=call_at_turn_end,
        )
        self._disk = disk
        self._config_for = config_for
        self._on_directory_failure = on_directory_failure
        self._flushes = FlushScheduler(run_blocking, self.flush_times)
        # By path; open from the start on, so that a volume's sync tells all errors.
        self._locks: dict[str, DiskFile] = {}
        self.cleaner: LogCleaner | None = None
        self._started = False
        self.was_clean = True
        self.recovery = RecoveryProgress()
        now_ms = clock.monotonic_ms()
        self._due_ms = {chore: now_ms + interval_ms for chore, interval_ms in self._chores()}
        first_ms = now_ms + self.config.initial_task_delay_ms
        self._due_ms["retention"] = min(self._due_ms["retention"], first_ms)
        # Set by whoever knows high watermarks; None for a partition means that nothing of it expires.
        self.retention_high_watermark: Callable[[TopicPartition], int | None] = lambda _: None
        self.retention = Retention(
            disk=disk,
            clock=clock,
            logs=self.logs,
            high_watermark=lambda key: self.retention_high_watermark(key),  # noqa: PLW0108 - set later
            run_blocking=run_housekeeping or run_blocking,
        )

    def _chores(self) -> list[tuple[str, int]]:
        config = self.config
        return [
            ("recovery_points", config.flush_offset_checkpoint_interval_ms),
            ("log_starts", config.flush_start_offset_checkpoint_interval_ms),
            ("retention", config.retention_check_interval_ms),
            ("producers", config.producer_id_expiration_check_interval_ms),
            ("flush", min(config.flush_scheduler_interval_ms, 1000)),
        ]

    # Start -------------------------------------------------------------------------------------

    def lock_directories(self) -> None:
        """Make and lock the directories; `start` does it when it was not done before.

        Raises:
            LogManagerError: another process holds one, or none can be used.
        """
        if self._locks:
            return
        for directory in self.directories:
            try:
                directory_checkpoints.make_dirs_durably(self._disk, directory.path)
                lock = self._disk.lock(f"{directory.path}/{LOCK_FILE}")
                directory.remember_place()
            except OSError as error:
                directory.failed(error, f"locking {directory.path}")
                continue
            if lock is None:
                self._unlock()
                raise LogManagerError(
                    f"{directory.path} is in use by another process; stop it, or name another directory"
                )
            self._locks[directory.path] = lock
        if not self._locks:
            raise LogManagerError(f"none of the log directories works: {_why(self.directories[0].failure)}")

    def start(self, progress: Callable[[RecoveryProgress], None] | None = None) -> None:
        """Lock the directories and open every log in them.

        Args:
            progress: called every now and then while logs are checked after a crash.

        Raises:
            LogManagerError: a directory is locked by another process, or none works.
        """
        self.lock_directories()
        self.recovery = RecoveryProgress(progress)
        opening = self._opening()
        loadings = {
            directory.path: DirectoryLoading(directory, LoadedDirectory(), opening, self.recovery)
            for directory in self.directories
        }
        seen: dict[TopicPartition, str] = {}
        try:
            for directory in self.directories:
                self._load(directory, partial(loadings[directory.path].prepare, seen))
            for directory in self.directories:
                self._load(directory, partial(self._open_logs, directory, loadings[directory.path]))
        finally:
            for loading in loadings.values():
                loading.close()
        for directory in self.directories:
            self._load(directory, partial(self._sync_recovered, directory))
        for directory in self.directories:
            if directory.failure is not None:
                self._drop_logs_of(directory)
        if not any(directory.online for directory in self.directories):
            failure = self.directories[0].failure
            raise LogManagerError(f"none of the log directories works: {_why(failure)}") from failure
        self._started = True

    def _load(self, directory: LogDirectory, step: Callable[[], None]) -> None:
        """Take one step of loading a directory, if that works; a failure takes it offline."""
        try:
            if directory.online:
                step()
        except OSError as error:
            directory.failed(error, f"loading {directory.path}")
        except ApiError as error:
            if error.code is not ErrorCode.KAFKA_STORAGE_ERROR:
                raise

    def _open_logs(self, directory: LogDirectory, loading: DirectoryLoading) -> None:
        loaded = loading.loaded
        self.was_clean = self.was_clean and loading.was_clean
        try:
            loading.finish()
        finally:
            for key, opened in loaded.logs.items():
                self.add(key, opened)
        self.unopened.update(loaded.unopened)
        self.checkpoints.read_cleaner_offsets[directory.path] = loaded.cleaner_offsets
        self.checkpoints.unopened_starts[directory.path] = loaded.unopened_starts
        self.high_watermarks.update(loaded.high_watermarks)
        if loaded.recovery_points_unknown:
            # All was checked but for gaps, and of what lies behind a recovery point gaps count as losses.
            durable_logs.flush_logs(directory, loaded.logs.values(), self._locks.get(directory.path))
        if loaded.recovery_points_lowered or loaded.recovery_points_unknown:
            # What was cut off is appended anew, unsynced: the next start must not trust it.
            self.checkpoints.write_recovery_points_now(directory)
        self._stale.update(
            key for key in loaded.checkpointed if key not in self.logs and key not in self.unopened
        )

    def _sync_recovered(self, directory: LogDirectory) -> None:
        """Keep `flush.messages` for what a killed process wrote, before anybody sees or acknowledges it."""
        due = [
            known for known in self.logs_of(directory).values() if known.flush_is_due and not known.is_idle
        ]
        durable_logs.flush_logs(directory, due, self._locks.get(directory.path))

    def _opening(self) -> LogOpening:
        return LogOpening(
            config_for=self._config_for,
            clock=self._clock,
            cache=self._cache,
            deletions=self._deletions,
            random_below=self._entropy.random_below,
            producer_expiration_ms=self.config.producer_id_expiration_ms,
            recovery_threads=self.config.recovery_threads_per_data_dir,
            logs_move=len(self.directories) > 1,
        )

    @property
    def locks(self) -> Collection[DiskFile]:
        """The lock files of the directories that work."""
        return self._locks.values()

    # Logs --------------------------------------------------------------------------------------

    def checkpoint_high_watermarks(self, high_watermarks: Mapping[tuple[str, int], int]) -> None:
        """Have high watermarks written, each into its log's directory; a failure takes that offline."""
        self.checkpoints.write_high_watermarks(high_watermarks)

    def when_log_starts_are_written(self, changed: Iterable[LogDirectory], then: Callable[[], None]) -> None:
        """Call back once the log starts of directories, as they are now, are on the disk."""
        self.checkpoints.when_log_starts_are_written(changed, then)

    def _logs_by_directory(self) -> list[tuple[LogDirectory, list[Log]]]:
        held: dict[str, list[Log]] = {directory.path: [] for directory in self.directories}
        for known in self.logs.values():
            held[known.directory.path].append(known)
        return [(directory, held[directory.path]) for directory in self.directories]

    def _directory_failed(self, directory: LogDirectory, error: OSError) -> None:
        log.error("%s goes offline: %s: %s", directory.path, directory.failed_while, error)
        if self.made_future_logs is not None:
            self.made_future_logs.directory_failed(directory)
        if self._started and self._on_directory_failure is not None:
            self._on_directory_failure(directory)

    def _drop_logs_of(self, directory: LogDirectory) -> None:
        for key, known in self.logs_of(directory).items():
            known.abandon()
            del self.logs[key]
        directory.log_count = 0

    # Chores ------------------------------------------------------------------------------------

    def next_deadline_ms(self) -> int:
        """When `handle_timer` has something to do, in monotonic time."""
        if self.retention.wants_turn:
            return 0
        deletion_ms = self._deletions.next_deadline_ms()
        deadline_ms = min(self._due_ms.values())
        return deadline_ms if deletion_ms is None else min(deadline_ms, deletion_ms)

    def handle_timer(self, now_ms: int) -> None:
        """Do the chores due at monotonic `now_ms`. I/O errors take directories offline and are not raised."""
        for directory in self.directories:
            absence = directory.absence() if directory.online else None
            if absence is not None:
                directory.failed(absence, f"looking at {directory.path}")
        self._deletions.run(now_ms)
        run: dict[str, Callable[[], object]] = {
            "recovery_points": self.checkpoints.write_recovery_points,
            "log_starts": self.checkpoints.write_log_starts,
            "retention": self.retention.begin,
            "producers": self._expire_producers,
            "flush": lambda: self._flushes.flush_due(self.logs, now_ms),
        }
        for chore, interval_ms in self._chores():
            if now_ms >= self._due_ms[chore]:
                self._due_ms[chore] = now_ms + interval_ms
                run[chore]()
        if self.retention.wants_turn:
            self.retention.trusts_future = self.config.trusts_future_timestamps
            self.retention.take_turn()

    def _expire_producers(self) -> None:
        now_ms = self._clock.wall_ms()
        for known in self.logs.values():
            known.producers.remove_expired(now_ms)

    # Stop --------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Sync every log; one whose disk fails takes its directory offline."""
        for directory, logs in self._logs_by_directory():
            if directory.online:
                durable_logs.flush_logs(directory, logs, self._locks.get(directory.path))

    def shutdown(
        self,
        high_watermarks: Mapping[tuple[str, int], int] | None = None,
        *,
        broker_epoch: int = -1,
        deadline_ms: int | None = None,
    ) -> bool:
        """Stop cleanly: flush every log, write the checkpoints, then the marker; return whether all have one.

        Args:
            high_watermarks: written with the other checkpoints; None leaves the file as it is.
            broker_epoch: goes into the marker (KIP-966).
            deadline_ms: monotonic time after which no further log is flushed; no marker is written then.
        """
        self.group_commit.abandon()
        self._flushes.abandon()
        all_clean = True
        if self.made_future_logs is not None:
            self.made_future_logs.stop()
        for directory, logs in self._logs_by_directory():
            volume = self._locks.get(directory.path)
            clean = durable_logs.close_logs(directory, logs, volume, lambda: self._out_of_time(deadline_ms))
            if directory.online:
                try:
                    self.checkpoints.write_all_now(directory, high_watermarks)
                    # A marker would say that what was never opened can be trusted.
                    clean = clean and not self.checkpoints.unopened_starts[directory.path]
                    if clean:
                        directory_checkpoints.write_clean_marker(directory, broker_epoch)
                except OSError as error:
                    directory.failed(error, "stopping")
                    clean = False
            all_clean = all_clean and clean and directory.online
        self.logs.clear()
        self._unlock()
        self._started = False
        return all_clean

    def _out_of_time(self, deadline_ms: int | None) -> bool:
        return deadline_ms is not None and self._clock.monotonic_ms() >= deadline_ms

    def _unlock(self) -> None:
        for lock in self._locks.values():
            lock.close()
        self._locks.clear()

    def release(self) -> None:
        """Close everything without flushing or a marker: for a start that failed."""
        for known in self.logs.values():
            known.abandon()
        self.logs.clear()
        self._unlock()

    def statistics(self) -> dict[str, int]:
        """Figures for metrics."""
        return {
            "logs": len(self.logs),
            "offline_directories": sum(not directory.online for directory in self.directories),
            "pending_deletions": len(self._deletions),
            "expired_segments": self.retention.dropped_segments,
            "bytes_checked_at_start": self.recovery.bytes_checked,
            **(self.made_future_logs.statistics() if self.made_future_logs is not None else {}),
            **{f"sealed_{name}": value for name, value in self._cache.statistics().items()},
        }


def _why(failure: OSError | None) -> str:
    """Return what keeps a directory from use, and what would let it be used."""
    if failure is None or failure.filename is None:
        return str(failure)
    text = f"{failure.filename}: {failure.strerror}"
    if failure.errno in (errno.EEXIST, errno.ENOTDIR):
        text += "; a log directory, and all that is above it, must be a directory"
    elif failure.errno in (errno.EACCES, errno.EPERM):
        text += "; whoever runs the broker must be allowed to write there"
    return text
