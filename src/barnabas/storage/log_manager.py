"""All logs of a broker: the directories of `log.dirs`, what lies in their roots, and the logs' chores.

A directory is locked, its clean-stop marker is taken away, its checkpoints are read, and every partition
in it is opened; a directory that fails goes offline and the others go on. Chores (checkpoints, retention,
unlinking, flushing rolled segments) run from `handle_timer`, so that a test scripts the clock; syncs go
through an injected `run_blocking`, so that they may run on a helper thread.
"""

from collections.abc import Callable, Mapping, Sequence

from barnabas.base.clock import Clock
from barnabas.base.dataclass import dataclass
from barnabas.base.disk import Disk, DiskFile
from barnabas.base.entropy import Entropy
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import TYPE_CHECKING
from barnabas.base.logger import Logger
from barnabas.storage import directory_checkpoints, durable_logs, retention
from barnabas.storage.checkpoints import TopicPartition
from barnabas.storage.deletions import PendingDeletions
from barnabas.storage.flush_scheduler import FlushScheduler, RunBlocking, run_inline
from barnabas.storage.log import Log
from barnabas.storage.log_checkpoints import LogCheckpoints
from barnabas.storage.log_config import INT64_MAX, LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_loading import LoadedDirectory, LogManagerError, LogOpening, load_directory
from barnabas.storage.log_placement import LogPlacement
from barnabas.storage.partition_directory import FUTURE_SUFFIX, delete_name, stray_name
from barnabas.storage.recovery import PRODUCER_ID_EXPIRATION_MS, Progress, open_log
from barnabas.storage.segment_cache import SegmentCache

if TYPE_CHECKING:  # imported when a log moves
    from barnabas.storage.future_logs import FutureLogs
    from barnabas.storage.log_cleaner import LogCleaner

log = Logger(__name__)

LOCK_FILE = ".lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogManagerConfig:
    """Broker configs; each attribute is Kafka's `log.*` or `producer.*` name."""

    flush_offset_checkpoint_interval_ms: int = 60_000
    flush_start_offset_checkpoint_interval_ms: int = 60_000
    flush_scheduler_interval_ms: int = INT64_MAX
    retention_check_interval_ms: int = 300_000
    producer_id_expiration_ms: int = PRODUCER_ID_EXPIRATION_MS
    producer_id_expiration_check_interval_ms: int = 600_000
    sealed_index_bytes_max: int = 64 * 1024 * 1024
    sealed_files_max: int = 512


class LogManager:
    """The logs of a broker.

    Args:
        directories: `log.dirs`, in order.
        config_for: the effective LogConfig of a topic, by name.
        on_directory_failure: called once for each directory that goes offline, after start.
        run_blocking: where syncs run.

    Attributes:
        high_watermarks: as checkpointed before this start, by (topic, partition); an entry goes with its log.
        config: replaced when the broker's configs change.
        logs: the open logs, by (topic, partition); not to be changed.
        unopened: logs on disk that could not be opened, with the reason; they are left as they are.
        checkpoints: what is written of all logs every so often; its `writes` are to be told of a stop.
        placement: where new logs are made.
        make_future_logs: set by whoever has threads for it; called once, when first a log is to move.
        made_future_logs: what it made; None until then.
        cleaner: what compacts logs, set by whoever makes it; None while there is nothing to compact.
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
    ) -> None:
        self._disk = disk
        self._clock = clock
        self._entropy = entropy
        self._config_for = config_for
        self.config = config or LogManagerConfig()
        self._on_directory_failure = on_directory_failure
        self._flushes = FlushScheduler(run_blocking)
        self.directories = [LogDirectory(disk, path, self._directory_failed) for path in directories]
        self.placement = LogPlacement(self.directories)
        self.make_future_logs: Callable[[PendingDeletions], FutureLogs] | None = None
        self.made_future_logs: FutureLogs | None = None
        self.cleaner: LogCleaner | None = None
        self.logs: dict[TopicPartition, Log] = {}
        self.checkpoints = LogCheckpoints(self.directories, self.logs, run_blocking)
        self.high_watermarks: dict[tuple[str, int], int] = {}
        # By path; open from the start on, so that a volume's sync tells all errors.
        self._locks: dict[str, DiskFile] = {}
        self._cache = SegmentCache(self.config.sealed_index_bytes_max, self.config.sealed_files_max)
        self._deletions = PendingDeletions(disk)
        self.unopened: dict[TopicPartition, str] = {}
        self._stale: set[TopicPartition] = set()  # on disk in a checkpoint, but their logs are gone
        self._started = False
        now_ms = clock.monotonic_ms()
        self._due_ms = {chore: now_ms + interval_ms for chore, interval_ms in self._chores()}
        # Set by whoever knows high watermarks; None for a partition means that nothing of it expires.
        self.retention_high_watermark: Callable[[TopicPartition], int | None] = lambda _: None

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
                raise LogManagerError(f"{directory.path} is in use by another process")
            self._locks[directory.path] = lock
        if not self._locks:
            raise LogManagerError(f"none of the log directories works: {self.directories[0].failure}")

    def start(self, progress: Progress | None = None) -> None:
        """Lock the directories and open every log in them.

        Raises:
            LogManagerError: a directory is locked by another process, or none works.
        """
        self.lock_directories()
        for directory in self.directories:
            try:
                if directory.online:
                    self._load(directory, progress)
            except OSError as error:
                directory.failed(error, f"loading {directory.path}")
            except ApiError as error:
                if error.code is not ErrorCode.KAFKA_STORAGE_ERROR:
                    raise
        for directory in self.directories:
            if directory.failure is not None:
                log.error("%s is offline: %s", directory.path, directory.failure)
                self._drop_logs_of(directory)
        if not any(directory.online for directory in self.directories):
            failure = self.directories[0].failure
            raise LogManagerError(f"none of the log directories works: {failure}") from failure
        self._started = True

    def _load(self, directory: LogDirectory, progress: Progress | None) -> None:
        loaded = LoadedDirectory()
        try:
            load_directory(directory, loaded, self._opening(), self.logs, progress)
        finally:
            for key, opened in loaded.logs.items():
                self.add(key, opened)
        self.unopened.update(loaded.unopened)
        self.checkpoints.unopened_starts[directory.path] = loaded.unopened_starts
        self.high_watermarks.update(loaded.high_watermarks)
        if loaded.recovery_points_lowered:
            # What was cut off is appended anew, unsynced: the next start must not trust it.
            self.checkpoints.write_recovery_points_now(directory)
        self._stale.update(
            key for key in loaded.checkpointed if key not in self.logs and key not in self.unopened
        )

    def _opening(self) -> LogOpening:
        return LogOpening(
            config_for=self._config_for,
            clock=self._clock,
            cache=self._cache,
            deletions=self._deletions,
            random_below=self._entropy.random_below,
            producer_expiration_ms=self.config.producer_id_expiration_ms,
        )

    def add(self, key: TopicPartition, opened: Log) -> None:
        """Take a log over that was opened."""
        self.logs[key] = opened
        opened.directory.log_count += 1
        opened.durability.on_lowered = lambda: self.checkpoints.recovery_point_lowered(opened)

    # Logs --------------------------------------------------------------------------------------

    def get(self, topic: str, partition: int) -> Log | None:
        """Return an open log; one on a directory that failed answers KAFKA_STORAGE_ERROR to everything."""
        return self.logs.get(TopicPartition(topic, partition))

    def get_or_create(
        self, topic: str, partition: int, topic_id: bytes | None, config: LogConfig, *, is_new: bool = True
    ) -> Log:
        """Return a log, made in the directory with the fewest logs when there is none.

        Args:
            is_new: the partition was just made, so it cannot lie on a directory that is offline.

        Raises:
            ApiError: INCONSISTENT_TOPIC_ID when the log on disk belongs to another topic of that name,
                KAFKA_STORAGE_ERROR.
        """
        key = TopicPartition(topic, partition)
        known = self.logs.get(key)
        if known is not None:
            if topic_id is not None and known.topic_id not in (None, topic_id):
                raise ApiError(ErrorCode.INCONSISTENT_TOPIC_ID, f"{key} on disk belongs to another topic id")
            if topic_id is not None:
                known.assign_topic_id(topic_id)
            known.config = config
            return known
        if key in self.unopened:
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, self.unopened[key])
        if not is_new and not all(directory.online for directory in self.directories):
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, f"{key} may lie on a directory that is offline")
        for directory in self.placement.candidates(key):
            path = f"{directory.path}/{key}"
            try:
                self._forget_stale(key)
                directory.require_in_place()
                made = self.open_in(directory, key, path, config, topic_id=topic_id)
            except OSError as error:
                directory.failed(error, f"creating {key}")
            except ApiError:
                if directory.online or directory.disk.exists(path):
                    raise  # made again elsewhere, it would be there twice when the directory is back
            else:
                self.add(key, made)
                return made
        raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, f"no log directory works that {key} could be made in")

    def open_in(
        self,
        directory: LogDirectory,
        key: TopicPartition,
        path: str,
        config: LogConfig,
        *,
        topic_id: bytes | None = None,
        log_start_offset: int = 0,
    ) -> Log:
        """Open a log of which no checkpoint tells, or make it; `add` is to follow.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR; the directory is offline.
        """
        return open_log(
            directory=directory, path=path, topic=key.topic, partition=key.partition,
            config=config, clock=self._clock, cache=self._cache, deletions=self._deletions,
            random_below=self._entropy.random_below, topic_id=topic_id, log_start_offset=log_start_offset,
            producer_expiration_ms=self.config.producer_id_expiration_ms,
        ).log  # fmt: skip

    @property
    def future_logs(self) -> "FutureLogs":
        """What moves logs between directories (KIP-113); its code is imported when this is first read."""
        if self.made_future_logs is None:
            assert self.make_future_logs is not None, "these logs were made without moves"
            self.made_future_logs = self.make_future_logs(self._deletions)
        return self.made_future_logs

    @property
    def moving(self) -> Collection[TopicPartition]:
        """Partitions whose logs move between directories now."""
        return () if self.made_future_logs is None else self.made_future_logs.moves

    def settle_future_logs(self, assigned: Callable[[TopicPartition], str | None]) -> None:
        """Go on with moves that the last run had not finished; see FutureLogs.settle."""
        if any(
            name.endswith(FUTURE_SUFFIX)
            for directory in self.directories
            if directory.online
            for name in directory.disk.list_dir(directory.path)
        ):
            self.future_logs.settle(assigned)

    def _forget_stale(self, key: TopicPartition) -> None:
        """A new log must not inherit the checkpointed offsets of an older one of its name."""
        if key in self._stale:
            for directory in self.directories:
                if directory.online:
                    self.checkpoints.write_all_now(directory, self.high_watermarks)
            self._stale.clear()

    def delete(self, topic: str, partition: int) -> None:
        """Take a log away: its directory is renamed at once and unlinked after file.delete.delay.ms.

        Slices in flight end well. An unknown log is fine.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        key = TopicPartition(topic, partition)
        gone = self.logs.pop(key, None)
        if gone is None:
            return
        self._move_away(key, gone, delete_name(key, self._entropy.random_bytes(16).hex()))
        self._deletions.add(gone.path, self._clock.monotonic_ms() + gone.config.file_delete_delay_ms)

    def set_aside(self, topic: str, partition: int) -> None:
        """Rename a log that the metadata does not know to `-stray`, as Kafka does; its records are kept.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        key = TopicPartition(topic, partition)
        gone = self.logs.pop(key, None)
        if gone is not None:
            log.warning("%s is unknown to the metadata and is set aside", key)
            self._move_away(key, gone, stray_name(key, self._entropy.random_bytes(16).hex()))

    def _move_away(self, key: TopicPartition, gone: Log, name: str) -> None:
        if self.made_future_logs is not None:
            self.made_future_logs.forget(key)
        self.high_watermarks.pop(key, None)
        self.checkpoints.forget_cleaned(key, gone.directory)
        self._stale.add(key)
        gone.directory.log_count -= 1
        gone.directory.check()
        gone.move_directory(f"{gone.directory.path}/{name}")
        gone.abandon()

    def checkpoint_high_watermarks(self, high_watermarks: Mapping[tuple[str, int], int]) -> None:
        """Have high watermarks written, each into its log's directory; a failure takes that offline."""
        self.checkpoints.write_high_watermarks(high_watermarks)

    def logs_of(self, directory: LogDirectory) -> dict[TopicPartition, Log]:
        """Return the logs of one directory."""
        return self.checkpoints.logs_of(directory)

    def _logs_by_directory(self) -> list[tuple[LogDirectory, list[Log]]]:
        held: dict[str, list[Log]] = {directory.path: [] for directory in self.directories}
        for known in self.logs.values():
            held[known.directory.path].append(known)
        return [(directory, held[directory.path]) for directory in self.directories]

    def _directory_failed(self, directory: LogDirectory, error: OSError) -> None:
        log.error("%s goes offline: %s", directory.path, error)
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
        deletion_ms = self._deletions.next_deadline_ms()
        deadline_ms = min(self._due_ms.values())
        return deadline_ms if deletion_ms is None else min(deadline_ms, deletion_ms)

    def handle_timer(self, now_ms: int) -> None:
        """Do the chores due at monotonic `now_ms`. I/O errors take directories offline and are not raised."""
        self._deletions.run(now_ms)
        run: dict[str, Callable[[], object]] = {
            "recovery_points": self.checkpoints.write_recovery_points,
            "log_starts": self.checkpoints.write_log_starts,
            "retention": self.delete_expired_segments,
            "producers": self._expire_producers,
            "flush": lambda: self._flushes.flush_due(self.logs, now_ms),
        }
        for chore, interval_ms in self._chores():
            if now_ms >= self._due_ms[chore]:
                self._due_ms[chore] = now_ms + interval_ms
                run[chore]()

    def delete_expired_segments(self) -> int:
        """Apply retention by time and size to every log; return the segments dropped."""
        dropped = 0
        for key, known in list(self.logs.items()):
            high_watermark = self.retention_high_watermark(key)
            if known.directory.online and high_watermark is not None:
                try:
                    dropped += retention.delete_expired(known, high_watermark, self._clock.wall_ms())
                except ApiError as error:
                    log.error("retention of %s: %s", key, error)
        return dropped

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
            all_clean = all_clean and clean
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
            **{f"sealed_{name}": value for name, value in self._cache.statistics().items()},
        }
