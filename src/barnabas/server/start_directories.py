"""The log directories at a start: whose they are, whether this broker may go on with them, what they lack.

All is read and checked before anything is written in any of them: they may be another release's, or an empty
mount point.
"""

from __future__ import annotations

from barnabas.base.clock import Clock
from barnabas.base.disk import Disk
from barnabas.base.entropy import Entropy
from barnabas.base.logger import Logger
from barnabas.metadata.directory_changes import directory_of
from barnabas.metadata.formatting import LogDirsPlan, inspect_log_dirs, prepare_log_dirs
from barnabas.metadata.image import MetadataImage
from barnabas.server import component_configs as configs
from barnabas.server.directory_failures import refuse_missing_directory, usable_directories
from barnabas.server.settings import Settings
from barnabas.storage.loading import directory_check
from barnabas.storage.log_manager import LogManager
from barnabas.storage.topic_partition import TopicPartition

_log = Logger(__name__)


class StartDirectories:
    """Looks at directories that are locked, and prepares them.

    Args:
        logs: their manager; its directories that do not work are passed over, or go offline.
    """

    __slots__ = ("_clock", "_disk", "_entropy", "_logs", "_settings", "_twins")

    def __init__(
        self, settings: Settings, *, disk: Disk, clock: Clock, entropy: Entropy, logs: LogManager
    ) -> None:
        self._settings = settings
        self._disk = disk
        self._clock = clock
        self._entropy = entropy
        self._logs = logs
        self._twins: list[tuple[str, TopicPartition]] = []

    def inspect(self, metadata_dir: str) -> LogDirsPlan:
        """Find out whose directories these are and what they lack; changes nothing.

        Raises:
            MetadataError, LogManagerError: they cannot be used together, or the metadata log's does not work.
        """
        return inspect_log_dirs(
            disk=self._disk,
            log_dirs=usable_directories(self._disk, self._logs.directories, metadata_dir),
            metadata_dir=metadata_dir,
            node_id=self._settings.node_id,
            entropy=self._entropy,
        )

    def check(self, plan: LogDirsPlan, image: MetadataImage) -> None:
        """See that what lies in them can be served; changes nothing.

        Args:
            image: as the metadata log has it.

        Raises:
            MetadataError, LogManagerError, UnsupportedLogError: it cannot; the text says what to do.
        """
        roots = [directory.path for directory in self._logs.directories if directory.online]
        places = {directory_id: path for path, directory_id in plan.log_dirs.directory_ids.items()}

        def assigned(key: TopicPartition) -> str | None:
            partition = image.partition(*key)
            directory = None if partition is None else directory_of(partition, self._settings.node_id)
            return None if directory is None else places.get(directory)

        self._twins = directory_check.find_twins(self._disk, roots, assigned)
        known = image.brokers.get(self._settings.node_id)
        if not directory_check.used_here_last(self._logs.locks, known.broker_epoch if known else -1):
            directory_check.check_formats(self._disk, roots)
            _log.info(
                "another broker used %s last; taking over %d topics at metadata.version %d",
                ", ".join(roots), len(image.topics), image.metadata_version,
            )  # fmt: skip
        refuse_missing_directory(plan, image, self._logs.directories)

    def prepare(self, plan: LogDirsPlan) -> None:
        """Format what is empty, set aside what is a partition's twin.

        Raises:
            OSError: a disk refuses.
        """
        prepare_log_dirs(
            self._disk,
            plan,
            controller_endpoint=configs.controller_endpoint(self._settings),
            now_ms=self._clock.wall_ms(),
        )
        directory_check.set_aside(self._disk, self._twins, self._entropy)
