"""Which logs a broker has: opened, made, deleted, set aside, moved between directories.

The half of LogManager that is about single logs; starting, stopping and chores are the other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from barnabas.base.clock import Clock
from barnabas.base.disk import Disk
from barnabas.base.durations import DurationHistogram
from barnabas.base.entropy import Entropy
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import TYPE_CHECKING
from barnabas.base.logger import Logger
from barnabas.base.worker import RunBlocking
from barnabas.storage.checkpoints.log_checkpoints import LogCheckpoints
from barnabas.storage.deletions import PendingDeletions
from barnabas.storage.flush.group_commit import GroupCommit
from barnabas.storage.loading.recovery import OpeningLog, open_log
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_manager_config import LogManagerConfig
from barnabas.storage.log_moves.placement import LogPlacement
from barnabas.storage.partition_directory import FUTURE_SUFFIX, delete_name, stray_name
from barnabas.storage.segment_cache import SegmentCache
from barnabas.storage.topic_partition import TopicPartition

if TYPE_CHECKING:  # imported when a log moves
    from barnabas.storage.log_moves.future_logs import FutureLogs

log = Logger(__name__)


class PartitionLogs:
    """The logs of a broker. Arguments and attributes are those of LogManager."""

    def __init__(
        self,
        *,
        disk: Disk,
        clock: Clock,
        entropy: Entropy,
        directories: Sequence[LogDirectory],
        config: LogManagerConfig,
        run_blocking: RunBlocking,
        run_syncs: RunBlocking,
        run_housekeeping: RunBlocking,
        call_at_turn_end: Callable[[Callable[[], None]], None] | None,
    ) -> None:
        self._clock = clock
        self._entropy = entropy
        self.config = config
        self.directories = directories
        self.logs: dict[TopicPartition, Log] = {}
        self.unopened: dict[TopicPartition, str] = {}
        self.high_watermarks: dict[tuple[str, int], int] = {}
        self.placement = LogPlacement(directories)
        self.flush_times = DurationHistogram()
        self.group_commit = GroupCommit(self.logs, run_syncs, call_at_turn_end, self.flush_times)
        self.checkpoints = LogCheckpoints(directories, self.logs, run_blocking)
        self.make_future_logs: Callable[[PendingDeletions], FutureLogs] | None = None
        self.made_future_logs: FutureLogs | None = None
        self._cache = SegmentCache(config.sealed_index_bytes_max, config.sealed_files_max)
        self._deletions = PendingDeletions(disk, run_housekeeping)
        self._deletions.on_error = self._not_deleted
        self._stale: set[TopicPartition] = set()  # on disk in a checkpoint, but their logs are gone

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
            known.directory.check()
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
        opening = OpeningLog(
            directory=directory, path=path, topic=key.topic, partition=key.partition,
            config=config, clock=self._clock, cache=self._cache, deletions=self._deletions,
            random_below=self._entropy.random_below, topic_id=topic_id, log_start_offset=log_start_offset,
            producer_expiration_ms=self.config.producer_id_expiration_ms,
        )  # fmt: skip
        return open_log(opening).log

    def add(self, key: TopicPartition, opened: Log) -> None:
        """Take a log over that was opened."""
        self.logs[key] = opened
        opened.flushes = self.group_commit
        opened.directory.log_count += 1
        opened.durability.on_lowered = lambda: self.checkpoints.recovery_point_lowered(opened)

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

    def logs_of(self, directory: LogDirectory) -> dict[TopicPartition, Log]:
        """Return the logs of one directory."""
        return self.checkpoints.logs_of(directory)

    def _not_deleted(self, path: str, error: OSError) -> None:
        """What cannot be unlinked lies on a disk that fails, as Apache Kafka takes it."""
        for directory in self.directories:
            if path.startswith(f"{directory.path}/") and directory.online:
                directory.failed(error, f"deleting {path}")

    # Moves -------------------------------------------------------------------------------------

    @property
    def future_logs(self) -> FutureLogs:
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
