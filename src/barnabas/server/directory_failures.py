"""What follows for the broker as a whole when a log directory fails (F43), besides its partitions' answers.

The metadata learn that the directory is gone and that its partitions have no leader, as Apache Kafka's broker
tells its controller. Without the metadata log, or without any log directory, there is nothing left to serve:
the broker stops, and its exit code says that it was no clean stop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from barnabas.base.disk import Disk
from barnabas.base.errors import ApiError
from barnabas.base.logger import Logger
from barnabas.metadata.controller import Controller
from barnabas.metadata.formatting import LogDirsPlan, read_meta_properties
from barnabas.metadata.image import DIRECTORY_MIGRATING, DIRECTORY_UNASSIGNED, MetadataImage
from barnabas.metadata.records import MetadataError
from barnabas.storage.loading.directory_loading import LogManagerError
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_manager import LogManager

_log = Logger(__name__)


class DirectoryFailures:
    """Tells the controller, or stops the broker.

    Args:
        directory_ids: path -> id of each log directory that worked at the start.
        call_soon: runs a call in a later turn of the loop: a directory may fail in the middle of anything.
        stop: ends the broker.

    Attributes:
        fatal: why the broker stops; None while it does not for such a reason.
    """

    __slots__ = ("_call_soon", "_controller", "_directory_ids", "_logs", "_metadata_dir", "_stop", "fatal")

    def __init__(
        self,
        *,
        metadata_dir: str,
        logs: LogManager,
        controller: Callable[[], Controller],
        directory_ids: Callable[[], Mapping[str, bytes]],
        call_soon: Callable[[Callable[[], None]], None],
        stop: Callable[[], None],
    ) -> None:
        self._metadata_dir = metadata_dir
        self._logs = logs
        self._controller = controller
        self._directory_ids = directory_ids
        self._call_soon = call_soon
        self._stop = stop
        self.fatal: str | None = None

    def failed(self, directory: LogDirectory) -> None:
        """A directory went offline just now, in the middle of a request or of a change of the metadata."""
        if directory.path == self._metadata_dir:
            self._end(f"the directory of the metadata log, {directory.path}, failed")
        elif not any(one.online for one in self._logs.directories):
            self._end("all log directories have failed")
        else:
            self._call_soon(self._tell_controller)

    def metadata_directory_failed(self, directory: LogDirectory, error: OSError) -> None:
        """The same for a metadata.log.dir that is none of log.dirs."""
        _log.error("%s goes offline: %s: %s", directory.path, directory.failed_while, error)
        self.failed(directory)

    def _end(self, why: str) -> None:
        if self.fatal is None:
            self.fatal = why
            _log.error("the broker stops: %s", why)
            self._stop()

    def _tell_controller(self) -> None:
        if self.fatal is not None:
            return
        ids = self._directory_ids()
        offline = [ids[one.path] for one in self._logs.directories if not one.online and one.path in ids]
        try:
            self._controller().directories_offline(offline)
        except ApiError as error:
            _log.error("the metadata do not say that log directories are offline: %s", error)


def usable_directories(disk: Disk, directories: Sequence[LogDirectory], metadata_dir: str) -> list[str]:
    """Return the directories of log.dirs that can be read at a start; the others go offline.

    Raises:
        LogManagerError: the metadata log's is not among them.
    """
    for directory in directories:
        try:
            if directory.online:
                read_meta_properties(disk, directory.path)
        except OSError as error:
            directory.failed(error, f"reading {directory.path}")
        if directory.path == metadata_dir and directory.failure is not None:
            raise LogManagerError(
                f"{metadata_dir}, where the metadata log lies, does not work: {directory.failure}"
            )
    return [directory.path for directory in directories if directory.online]


def refuse_missing_directory(
    plan: LogDirsPlan, image: MetadataImage, log_dirs: Sequence[LogDirectory]
) -> None:
    """Refuse to take an empty directory for one that holds partitions: its disk is not mounted.

    Raises:
        MetadataError: names the directory, and what to do.
    """
    known = {*plan.log_dirs.directory_ids.values(), DIRECTORY_UNASSIGNED, DIRECTORY_MIGRATING}
    empty = [path for path in plan.log_dirs.formatted if path != plan.log_dirs.metadata_dir]
    if not empty or not all(directory.online for directory in log_dirs):
        return
    missing = [
        f"{topic.name}-{partition.partition}"
        for topic in image.topics.values()
        for partition in topic.partitions.values()
        for replica, directory in zip(partition.replicas, partition.directories, strict=True)
        if replica == plan.node_id and directory not in known
    ]
    if missing:
        raise MetadataError(
            f"{' and '.join(empty)} is empty, but {len(missing)} partitions, {missing[0]} for one, lie in a "
            "log directory that is not there: is its disk mounted? If it is lost for good, start without the "
            "empty directory; these partitions are then offline, and their topics can be deleted"
        )
