"""Moves of logs between log directories while they are served (KIP-113, AlterReplicaLogDirs).

Each move is a FutureLog that helper threads fill, step by step, few moves at a time and within a quota. When
nearly nothing is left the log goes over, in one turn of the loop:

1. the rest is copied and all of the copy synced;
2. the metadata say that the partition lies in the other directory (KIP-858);
3. the old directory is renamed to `-delete`, the copy's to the partition's own name, each for certain;
4. the log goes on there, and the old files go as those of a deleted log do.

A crash before 2 leaves a copy that is no use, and the move begins anew with the next start; a stop leaves it
empty for the same end. After 2 the next start finishes what is left of 3 (`settle`). So there is exactly one
log that is the partition's, whenever the power fails.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from barnabas.base.clock import Clock
from barnabas.base.entropy import Entropy
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import TYPE_CHECKING
from barnabas.base.logger import Logger
from barnabas.base.worker import RunBlocking
from barnabas.storage.checkpoints import checkpoint_file, directory_checkpoints
from barnabas.storage.deletions import PendingDeletions
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_moves.copy_step import CopyStep
from barnabas.storage.log_moves.future_log import STEP_BYTES, FutureLog
from barnabas.storage.log_moves.quota import MoveQuota
from barnabas.storage.partition_directory import delete_name, future_name, parse_future_name, stray_name
from barnabas.storage.topic_partition import TopicPartition

if TYPE_CHECKING:
    from barnabas.storage.log_manager import LogManager

_log = Logger(__name__)

Assign = Callable[[Log, LogDirectory], None]
"""Tells the metadata, durably, where a log lies; raises ApiError."""


class Move:
    """A log on its way.

    Attributes:
        is_over: it is done or given up; a helper that is still at it changes nothing any more.
    """

    __slots__ = ("future", "is_over", "key")

    def __init__(self, key: TopicPartition, future: FutureLog) -> None:
        self.key = key
        self.future = future
        self.is_over = False


class FutureLogs:
    """The moves of a broker. For the loop's thread.

    Args:
        logs: whose logs move.
        config_for: the effective LogConfig of a topic, by name.
        run_blocking: where steps run.
        call_later: runs a call on the loop after some milliseconds.
        assign: see Assign.

    Attributes:
        threads_max: moves that copy at once; the others wait for their turn.
        quota: bounds what all of them copy.
        moves: by partition, in the order they were asked for; not to be changed.
        moved: how many are done.
        pause_cleaning: called with the partition before its log is copied.
        resume_cleaning: called with the partition, and with the directories it left and went to, or None when
            it stays.
    """

    def __init__(
        self,
        logs: LogManager,
        *,
        clock: Clock,
        entropy: Entropy,
        deletions: PendingDeletions,
        config_for: Callable[[str], LogConfig],
        run_blocking: RunBlocking,
        call_later: Callable[[int, Callable[[], None]], object],
        assign: Assign,
        threads_max: int,
    ) -> None:
        self._logs = logs
        self._clock = clock
        self._entropy = entropy
        self._deletions = deletions
        self._config_for = config_for
        self._run_blocking = run_blocking
        self._call_later = call_later
        self._assign = assign
        self.threads_max = threads_max
        self.quota = MoveQuota(clock)
        self.moves: dict[TopicPartition, Move] = {}
        self.moved = 0
        self.pause_cleaning: Callable[[TopicPartition], None] = lambda _: None
        self.resume_cleaning: Callable[[TopicPartition, tuple[LogDirectory, LogDirectory] | None], None] = (
            lambda *_: None
        )
        self._waiting: deque[Move] = deque()
        self._running = 0
        self._is_stopping = False

    # What is asked for ---------------------------------------------------------------------------

    def move(self, log: Log, target: LogDirectory) -> None:
        """Have a log lie in a directory: begin a move, change where one goes, or with its own call it off.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR; a directory is offline, which may hold an earlier copy.
        """
        key = TopicPartition(log.topic, log.partition)
        under_way = self.moves.get(key)
        if under_way is not None and under_way.future.directory is not target:
            self._give_up(under_way, "another directory is asked for")
            under_way = None
        if log.directory is target or under_way is not None:
            return
        for directory in self._logs.directories:
            directory.check()
        name = future_name(key, self._entropy.random_bytes(16).hex())
        self._begin(key, FutureLog(log, target, f"{target.path}/{name}"))

    def _begin(self, key: TopicPartition, future: FutureLog) -> None:
        # Should they have it in the other directory, half a copy would pass for the log after a crash.
        self._assign(future.source, future.source.directory)
        self.pause_cleaning(key)
        future.make()
        _log.info("%s begins to move from %s to %s", key, future.source.directory.path, future.directory.path)
        move = self.moves[key] = Move(key, future)
        future.directory.log_count += 1
        self._waiting.append(move)
        self._start_waiting()

    def forget(self, key: TopicPartition) -> None:
        """Its log is deleted: the copy goes, too."""
        move = self.moves.get(key)
        if move is not None:
            self._give_up(move, "the log is deleted")

    def directory_failed(self, directory: LogDirectory) -> None:
        """Give up what comes from or goes to a directory that is offline; what is on its disk stays."""
        for move in list(self.moves.values()):
            if directory in (move.future.directory, move.future.source.directory):
                self._give_up(move, f"{directory.path} is offline")

    def stop(self) -> None:
        """Begin no step any more, and leave no half copies: a clean stop says that all there is is whole."""
        self._is_stopping = True
        for move in self.moves.values():
            move.is_over = True
            try:
                if move.future.directory.online:
                    move.future.clear()
            except OSError as error:
                move.future.directory.failed(error, f"clearing {move.future.path}")
        self.moves.clear()

    def futures_in(self, directory: LogDirectory) -> dict[TopicPartition, FutureLog]:
        """Return the copies that grow in a directory."""
        return {key: move.future for key, move in self.moves.items() if move.future.directory is directory}

    def statistics(self) -> dict[str, int]:
        """Figures for metrics."""
        futures = [move.future for move in self.moves.values()]
        lags = [future.source.log_end_offset - future.end_offset for future in futures]
        return {"moving": len(futures), "moved": self.moved, "moving_lag_max": max(lags, default=0)}

    # Copying -------------------------------------------------------------------------------------

    def _start_waiting(self) -> None:
        while self._waiting and self._running < self.threads_max:
            move = self._waiting.popleft()
            if not move.is_over:
                self._running += 1
                self._call_later(0, lambda move=move: self._go_on(move))  # type: ignore[misc]

    def _go_on(self, move: Move) -> None:
        if move.is_over or self._is_stopping:
            self._has_ended()
            return
        delay_ms = self.quota.delay_ms()
        if delay_ms:
            self._call_later(delay_ms, lambda: self._go_on(move))
            return
        try:
            step = move.future.next_step(self.quota.step_bytes(STEP_BYTES))
        except ApiError as error:
            self._give_up(move, str(error))
            step = None
        if self.moves.get(move.key) is not move:
            self._has_ended()  # given up just now
        elif step is None:
            self._go_over(move)
            self._has_ended()
        else:
            self.quota.spend(step.copied_bytes)
            self._run_blocking(step.run, lambda error: self._is_run(move, step, error))

    def _is_run(self, move: Move, step: CopyStep, error: OSError | None) -> None:
        if move.is_over:
            step.release()
            self._remove_copy(move)  # the helper may have made files in it after it was given up
        elif error is None:
            try:
                move.future.step_is_done(step)
            except ApiError as failure:
                self._give_up(move, str(failure))
        else:
            step.release()
            move.future.failed(error)
        self._go_on(move)

    def _has_ended(self) -> None:
        self._running -= 1
        self._start_waiting()

    def _give_up(self, move: Move, why: str) -> None:
        if move.is_over:
            return
        _log.warning("%s does not move to %s: %s", move.key, move.future.directory.path, why)
        self._end(move)
        self.resume_cleaning(move.key, None)
        self._remove_copy(move)

    def _end(self, move: Move) -> None:
        move.is_over = True
        move.future.directory.log_count -= 1
        del self.moves[move.key]

    def _remove_copy(self, move: Move) -> None:
        """Rename the copy out of the way, to be unlinked later."""
        future = move.future
        directory, disk = future.directory, future.directory.disk
        if not directory.online or not disk.is_dir(future.path):
            return
        gone = f"{directory.path}/{delete_name(move.key, self._entropy.random_bytes(16).hex())}"
        try:
            disk.rename(future.path, gone)
        except OSError as error:
            directory.failed(error, f"removing {future.path}")
            return
        self._deletions.add(gone, self._clock.monotonic_ms())

    # Going over ----------------------------------------------------------------------------------

    def _go_over(self, move: Move) -> None:
        future = move.future
        log, origin, target = future.source, future.source.directory, future.directory
        try:
            future.finish()
            self._write_log_start(log, target)
            self._assign(log, target)
        except ApiError as error:
            self._give_up(move, str(error))
            return
        self._end(move)
        old_path, new_path = log.path, f"{target.path}/{move.key}"
        gone = f"{origin.path}/{delete_name(move.key, self._entropy.random_bytes(16).hex())}"
        try:
            _rename(origin, old_path, gone)
        except ApiError as error:
            # Its partition is offline now; the copy is whole and the metadata's, so a start goes on with it.
            _log.error("%s could not leave %s: %s", move.key, origin.path, error)
            self.resume_cleaning(move.key, None)
            return
        try:
            _rename(target, future.path, new_path)
        except ApiError as error:
            self._go_back(move, gone, old_path, error)
            return
        self.moved += 1
        log.continue_in(target, new_path)
        origin.log_count -= 1
        target.log_count += 1
        self.resume_cleaning(move.key, (origin, target))
        self._deletions.add(gone, self._clock.monotonic_ms() + log.config.file_delete_delay_ms)
        self._logs.checkpoints.write_recovery_points()
        self._logs.checkpoints.write_log_starts()
        _log.info("%s has moved from %s to %s", move.key, origin.path, target.path)

    def _write_log_start(self, log: Log, target: LogDirectory) -> None:
        """Have a log start that the segments alone do not tell on the disk before the log is there."""
        if log.log_start_offset > log.segments.first.base_offset:
            also = {TopicPartition(log.topic, log.partition): log.log_start_offset}
            try:
                self._logs.checkpoints.write_log_starts_now(target, also)
            except OSError as error:
                raise target.failed(error, f"writing {checkpoint_file.LOG_START_OFFSET_FILE}") from error

    def _go_back(self, move: Move, gone: str, old_path: str, why: ApiError) -> None:
        """The target refused the last step, and is offline: all goes on where it was."""
        log = move.future.source
        try:
            _rename(log.directory, gone, old_path)
            self._assign(log, log.directory)
        except ApiError as error:
            _log.error("%s cannot stay in %s: %s", move.key, log.directory.path, error)
        _log.warning("%s does not move: %s", move.key, why)
        self.resume_cleaning(move.key, None)

    # Start ---------------------------------------------------------------------------------------

    def settle(self, assigned: Callable[[TopicPartition], str | None]) -> None:
        """Finish or begin anew what was under way when the last run ended; call once, when logs are loaded.

        Args:
            assigned: the path of the directory that the metadata have a partition in, "" for none of these;
            None
                for a partition that is not this broker's.
        """
        for directory in self._logs.directories:
            if directory.online:
                try:
                    self._settle_in(directory, assigned)
                except OSError as error:
                    directory.failed(error, f"looking for moves in {directory.path}")
                except ApiError as error:
                    if error.code is not ErrorCode.KAFKA_STORAGE_ERROR:
                        raise
                    _log.error("%s: a move cannot go on: %s", directory.path, error)

    def _settle_in(self, directory: LogDirectory, assigned: Callable[[TopicPartition], str | None]) -> None:
        for name in directory.disk.list_dir(directory.path):
            key = parse_future_name(name)
            if key is None:
                continue
            path = f"{directory.path}/{name}"
            log = self._logs.logs.get(key)
            where = assigned(key)
            if where is None:
                _log.warning("%s is unknown to the metadata, its copy %s is set aside", key, path)
                stray = stray_name(key, self._entropy.random_bytes(16).hex())
                _rename(directory, path, f"{directory.path}/{stray}")
            elif where == directory.path and (log is None or log.directory is not directory):
                self._finish_going_over(key, directory, path, log)
            elif log is not None and log.directory is not directory and key not in self.moves:
                self._begin(key, FutureLog(log, directory, path))
            elif log is not None:
                _log.warning("%s is a copy of no use and is deleted", path)
                gone = f"{directory.path}/{delete_name(key, self._entropy.random_bytes(16).hex())}"
                _rename(directory, path, gone)
                self._deletions.add(gone, self._clock.monotonic_ms())
            else:
                _log.warning("%s is left as it is: its log lies in a directory that is offline", path)

    def _finish_going_over(
        self, key: TopicPartition, directory: LogDirectory, path: str, before: Log | None
    ) -> None:
        """The metadata have the partition here, so the copy is whole: it becomes the log."""
        starts = directory_checkpoints.read(directory, checkpoint_file.LOG_START_OFFSET_FILE)
        config = self._config_for(key.topic)
        copy = self._logs.open_in(directory, key, path, config, log_start_offset=starts.get(key, 0))
        if before is not None and copy.log_end_offset < before.log_end_offset:
            # Nothing we or Apache Kafka leave looks like this; records are worth more than what is assigned.
            _log.error("%s has fewer records than %r, which stays the log", path, before)
            copy.abandon()
            self._begin(key, FutureLog(before, directory, path))
            return
        _log.warning("%s had not quite moved to %s; that is finished now", key, directory.path)
        self._logs.delete(*key)
        copy.move_directory(f"{directory.path}/{key}")
        self._logs.add(key, copy)
        self._logs.checkpoints.write_recovery_points()
        try:
            directory.disk.sync_dir(directory.path)
        except OSError as error:
            raise directory.failed(error, f"renaming {path}") from error


def _rename(directory: LogDirectory, source: str, target: str) -> None:
    """Rename within a log directory, durably.

    Raises:
        ApiError: KAFKA_STORAGE_ERROR; the directory is offline.
    """
    try:
        directory.disk.rename(source, target)
        directory.disk.sync_dir(directory.path)
    except OSError as error:
        raise directory.failed(error, f"renaming {source}") from error
