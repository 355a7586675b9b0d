"""What is written of all logs into the checkpoints: recovery points, starts, high watermarks, clean parts.

`directory_checkpoints.py` knows what the files of one directory say, `checkpoint_writes.py` brings them to
the disk; this one knows which logs there are, and decides what is said of those that could not be opened.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from barnabas.base.worker import RunBlocking
from barnabas.storage.checkpoints import checkpoint_file, directory_checkpoints
from barnabas.storage.checkpoints.checkpoint_writes import CheckpointWrites
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.topic_partition import TopicPartition


class LogCheckpoints:
    """The offset checkpoints of all directories.

    Args:
        logs: the open logs, as they are from now on; read whenever something is written.
        run_blocking: where writes run that nobody waits for.

    Attributes:
        writes: brings them to the disk; to be told when the broker stops.
        unopened_starts: by directory, the log starts that were checkpointed of logs that could not be opened:
            said again with every write, or they would be lost.
        read_cleaner_offsets: by directory, what its checkpoint said at the start of clean parts.
        cleaner_offsets: the first dirty offsets of logs that were compacted.
    """

    def __init__(
        self,
        directories: Sequence[LogDirectory],
        logs: Mapping[TopicPartition, Log],
        run_blocking: RunBlocking,
    ) -> None:
        self._directories = directories
        self._logs = logs
        self.writes = CheckpointWrites(run_blocking)
        self._awaited_starts: dict[str, list[Callable[[], None]]] = {}  # by directory, who waits for a write
        self._writing_starts: set[str] = set()  # directories whose log starts are being written for somebody
        self.unopened_starts: dict[str, dict[TopicPartition, int | None]] = {
            directory.path: {} for directory in directories
        }
        self.read_cleaner_offsets: dict[str, Mapping[TopicPartition, int]] = {}
        self.cleaner_offsets: dict[TopicPartition, int] = {}
        self._cleaned: set[str] = set()  # directories whose cleaner checkpoint names some logs

    def load_cleaner_offsets(self, directory: LogDirectory) -> None:
        """Take over how far the logs of a directory are clean; call once, when its logs are open.

        What is said of a log that ends before that is not taken over: new records would count as clean.
        """
        offsets = self.read_cleaner_offsets.pop(directory.path, {})
        if offsets:
            self._cleaned.add(directory.path)
        unopened = self.unopened_starts[directory.path]
        for key, offset in offsets.items():
            known = self._logs.get(key)
            if key in unopened or (
                known is not None and known.directory is directory and offset <= known.log_end_offset
            ):
                self.cleaner_offsets[key] = offset
        if any(key not in self.cleaner_offsets for key in offsets):
            self._write_cleaner_offsets(directory)  # or a log made anew under the name would pass for clean

    def cleaned_to(self, key: TopicPartition, directory: LogDirectory, offset: int) -> None:
        """Note, and have written, up to where a log of a directory is clean."""
        self.cleaner_offsets[key] = offset
        self._write_cleaner_offsets(directory)

    def forget_cleaned(self, key: TopicPartition, directory: LogDirectory) -> None:
        """Note, and have written, that a log has left a directory or is gone."""
        if self.cleaner_offsets.pop(key, None) is not None:
            self._write_cleaner_offsets(directory)

    def cleaned_part_moved(self, key: TopicPartition, origin: LogDirectory, target: LogDirectory) -> None:
        """Have written that a log has gone from one directory to another."""
        if key in self.cleaner_offsets:
            self._write_cleaner_offsets(target)
            self._write_cleaner_offsets(origin)

    def _write_cleaner_offsets(self, directory: LogDirectory) -> None:
        self._cleaned.add(directory.path)
        if directory.online:
            try:
                name = checkpoint_file.CLEANER_OFFSET_FILE
                self.writes.write_later(directory, name, self._cleaner_offsets(directory))
            except OSError as error:
                directory.failed(error, f"writing {checkpoint_file.CLEANER_OFFSET_FILE}")

    def _cleaner_offsets(self, directory: LogDirectory) -> dict[TopicPartition, int]:
        here = (*self.logs_of(directory), *self.unopened_starts[directory.path])
        return {key: self.cleaner_offsets[key] for key in here if key in self.cleaner_offsets}

    def write_recovery_points(self) -> None:
        """Have recovery points, and leader epochs that changed, of every directory written."""
        self._each_directory(self._recovery_points, checkpoint_file.RECOVERY_POINT_FILE)

    def write_log_starts(self) -> None:
        """Have the log start offsets written that the segments alone do not tell."""
        self._each_directory(self._log_starts, checkpoint_file.LOG_START_OFFSET_FILE)

    def when_log_starts_are_written(self, changed: Iterable[LogDirectory], then: Callable[[], None]) -> None:
        """Call back once the log starts of some directories, as they are now, are on the disk.

        A directory that fails meanwhile is offline by then. Whoever asks while a write is under way shares
        the next one with all others who do.
        """
        left = {directory.path: directory for directory in changed if directory.online}
        if not left:
            then()
            return
        missing = set(left)

        def written(path: str) -> None:
            missing.discard(path)
            if not missing:
                then()

        for directory in left.values():
            waiting = self._awaited_starts.setdefault(directory.path, [])
            waiting.append(partial(written, directory.path))
            if len(waiting) == 1 and directory.path not in self._writing_starts:
                self._write_awaited_starts(directory)

    def _write_awaited_starts(self, directory: LogDirectory) -> None:
        served = self._awaited_starts.pop(directory.path)
        self._writing_starts.add(directory.path)

        def done() -> None:
            self._writing_starts.discard(directory.path)
            if self._awaited_starts.get(directory.path):
                self._write_awaited_starts(directory)
            for tell in served:
                tell()

        self.writes.write_later(
            directory, checkpoint_file.LOG_START_OFFSET_FILE, self._log_starts(directory), done
        )

    def write_high_watermarks(self, high_watermarks: Mapping[tuple[str, int], int]) -> None:
        """Have high watermarks written, each into its log's directory; a failure takes that offline."""
        of = directory_checkpoints.high_watermarks
        self._each_directory(
            lambda d: of(self.logs_of(d), high_watermarks), checkpoint_file.HIGH_WATERMARK_FILE
        )

    def write_all_now(self, directory: LogDirectory, marks: Mapping[tuple[str, int], int] | None) -> None:
        """Write all checkpoints of a directory before returning.

        Args:
            marks: high watermarks; None leaves that file as it is.

        Raises:
            OSError: the disk refuses.
        """
        self.write_recovery_points_now(directory)
        self.writes.write_now(directory, checkpoint_file.LOG_START_OFFSET_FILE, self._log_starts(directory))
        if directory.path in self._cleaned:
            cleaned = self._cleaner_offsets(directory)
            self.writes.write_now(directory, checkpoint_file.CLEANER_OFFSET_FILE, cleaned)
        if marks is not None:
            known = directory_checkpoints.high_watermarks(self.logs_of(directory), marks)
            self.writes.write_now(directory, checkpoint_file.HIGH_WATERMARK_FILE, known)

    def write_recovery_points_now(self, directory: LogDirectory) -> None:
        """Write the recovery points of a directory before returning.

        Raises:
            OSError: the disk refuses.
        """
        points = self._recovery_points(directory)
        self.writes.write_now(directory, checkpoint_file.RECOVERY_POINT_FILE, points)

    def write_log_starts_now(self, directory: LogDirectory, also: Mapping[TopicPartition, int]) -> None:
        """Write the log starts of a directory before returning.

        Args:
            also: of logs that are about to lie in it.

        Raises:
            OSError: the disk refuses.
        """
        starts = {**self._log_starts(directory), **also}
        self.writes.write_now(directory, checkpoint_file.LOG_START_OFFSET_FILE, starts)

    def recovery_point_lowered(self, changed: Log) -> None:
        """Write, before a log is cut, that less of it is trusted.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        directory = changed.directory
        key = TopicPartition(changed.topic, changed.partition)
        if self.cleaner_offsets.get(key, 0) > changed.recovery_point:
            self.cleaned_to(key, directory, changed.recovery_point)
        try:
            self.write_recovery_points_now(directory)
        except OSError as error:
            raise directory.failed(error, f"writing {checkpoint_file.RECOVERY_POINT_FILE}") from error

    def logs_of(self, directory: LogDirectory) -> dict[TopicPartition, Log]:
        """Return the logs of one directory."""
        return {key: known for key, known in self._logs.items() if known.directory is directory}

    def _each_directory(self, of: Callable[[LogDirectory], dict[TopicPartition, int]], name: str) -> None:
        for directory in self._directories:
            if directory.online:
                try:
                    self.writes.write_later(directory, name, of(directory))
                except OSError as error:
                    directory.failed(error, f"writing {name}")

    def _recovery_points(self, directory: LogDirectory) -> dict[TopicPartition, int]:
        return directory_checkpoints.recovery_points(directory, self.logs_of(directory))

    def _log_starts(self, directory: LogDirectory) -> dict[TopicPartition, int]:
        unopened = self.unopened_starts[directory.path]
        return directory_checkpoints.log_starts(self.logs_of(directory), unopened)
