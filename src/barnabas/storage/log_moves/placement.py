"""In which log directory a new log is made: where it was asked for (KIP-113), else where the fewest are.

Logs are counted, not bytes, as Apache Kafka does: a new log is empty, and nobody knows what it will come to.
Copies of logs that are on their way to a directory count as logs of it.
"""

from collections.abc import Sequence

from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.topic_partition import TopicPartition

PREFERRED_MAX = 100_000
"""Partitions that are not made yet whose directory is remembered; whoever asks for more is not heard."""


class LogPlacement:
    """Chooses directories for logs that are made.

    Args:
        directories: all of them, also those that failed.
    """

    __slots__ = ("_directories", "_preferred")

    def __init__(self, directories: Sequence[LogDirectory]) -> None:
        self._directories = directories
        self._preferred: dict[TopicPartition, LogDirectory] = {}

    def prefer(self, key: TopicPartition, directory: LogDirectory) -> None:
        """Have a log that is not there yet be made in a directory."""
        if len(self._preferred) < PREFERRED_MAX or key in self._preferred:
            self._preferred[key] = directory

    def candidates(self, key: TopicPartition) -> list[LogDirectory]:
        """Return the directories that work, the one to try first at the front."""
        preferred = self._preferred.pop(key, None)
        if preferred is not None:
            return [preferred] if preferred.online else []
        online = [directory for directory in self._directories if directory.online]
        # A cordoned one still is better than none (KIP-1066): the metadata have the partition already.
        return sorted(online, key=lambda directory: (directory.cordoned, directory.log_count))
