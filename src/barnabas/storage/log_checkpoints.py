"""What the logs of all directories write into the checkpoints: recovery points, log starts, high watermarks.

`directory_checkpoints.py` knows what the files of one directory say, `checkpoint_writes.py` brings them to
the disk; this one knows which logs there are, and decides what is said of those that could not be opened.
"""

from collections.abc import Callable, Mapping, Sequence

from barnabas.storage import checkpoints, directory_checkpoints
from barnabas.storage.checkpoint_writes import CheckpointWrites
from barnabas.storage.checkpoints import TopicPartition
from barnabas.storage.flush_scheduler import RunBlocking
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory


class LogCheckpoints:
    """The offset checkpoints of all directories.

    Args:
        logs: the open logs, as they are from now on; read whenever something is written.
        run_blocking: where writes run that nobody waits for.

    Attributes:
        writes: brings them to the disk; to be told when the broker stops.
        unopened_starts: by directory, the log starts that were checkpointed of logs that could not be opened:
            said again with every write, or they would be lost.
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
        self.unopened_starts: dict[str, dict[TopicPartition, int | None]] = {
            directory.path: {} for directory in directories
        }

    def write_recovery_points(self) -> None:
        """Have recovery points, and leader epochs that changed, of every directory written."""
        self._each_directory(self._recovery_points, checkpoints.RECOVERY_POINT_FILE)

    def write_log_starts(self) -> None:
        """Have the log start offsets written that the segments alone do not tell."""
        self._each_directory(self._log_starts, checkpoints.LOG_START_OFFSET_FILE)

    def write_high_watermarks(self, high_watermarks: Mapping[tuple[str, int], int]) -> None:
        """Have high watermarks written, each into its log's directory; a failure takes that offline."""
        of = directory_checkpoints.high_watermarks
        self._each_directory(lambda d: of(self.logs_of(d), high_watermarks), checkpoints.HIGH_WATERMARK_FILE)

    def write_all_now(self, directory: LogDirectory, marks: Mapping[tuple[str, int], int] | None) -> None:
        """Write all checkpoints of a directory before returning.

        Args:
            marks: high watermarks; None leaves that file as it is.

        Raises:
            OSError: the disk refuses.
        """
        self.write_recovery_points_now(directory)
        self.writes.write_now(directory, checkpoints.LOG_START_OFFSET_FILE, self._log_starts(directory))
        if marks is not None:
            known = directory_checkpoints.high_watermarks(self.logs_of(directory), marks)
            self.writes.write_now(directory, checkpoints.HIGH_WATERMARK_FILE, known)

    def write_recovery_points_now(self, directory: LogDirectory) -> None:
        """Write the recovery points of a directory before returning.

        Raises:
            OSError: the disk refuses.
        """
        points = self._recovery_points(directory)
        self.writes.write_now(directory, checkpoints.RECOVERY_POINT_FILE, points)

    def recovery_point_lowered(self, changed: Log) -> None:
        """Write, before a log is cut, that less of it is trusted.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        directory = changed.directory
        try:
            self.write_recovery_points_now(directory)
        except OSError as error:
            raise directory.failed(error, f"writing {checkpoints.RECOVERY_POINT_FILE}") from error

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
