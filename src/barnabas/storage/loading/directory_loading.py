"""Opening every log of one directory at start: which names are partitions, what the checkpoints say of them.

`recovery.py` opens one log; this one finds them, and tells apart what is waiting to be deleted, what was set
aside, and what is none of ours. A log that cannot be opened is left as it is, and the others go on.
`__cluster_metadata-0` belongs to the metadata layer and is passed over.
"""

from collections.abc import Callable, Mapping, Sequence

from barnabas.base.clock import Clock
from barnabas.base.dataclass import dataclass
from barnabas.base.logger import Logger
from barnabas.storage.checkpoints import checkpoint_file, directory_checkpoints
from barnabas.storage.deletions import PendingDeletions
from barnabas.storage.loading.recovery import OpeningLog
from barnabas.storage.loading.scans import LogScans, RecoveryProgress
from barnabas.storage.loading.segment_check import ScanRequest, UnsupportedLogError
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.partition_directory import DELETE_SUFFIX, FUTURE_SUFFIX, STRAY_SUFFIX, parse_name
from barnabas.storage.segment_cache import SegmentCache
from barnabas.storage.topic_partition import TopicPartition

log = Logger(__name__)

METADATA_PARTITION = TopicPartition("__cluster_metadata", 0)


class LogManagerError(Exception):
    """The log directories cannot be used: locked by another process, or none is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOpening:
    """What opening a log needs besides the log.

    Attributes:
        config_for: the effective LogConfig of a topic, by name.
        random_below: draws the segment jitter (Entropy.random_below).
        recovery_threads: that scan segments of one directory.
        logs_move: there are other directories that a log may just have come from.
    """

    config_for: Callable[[str], LogConfig]
    clock: Clock
    cache: SegmentCache
    deletions: PendingDeletions
    random_below: Callable[[int], int]
    producer_expiration_ms: int
    recovery_threads: int = 1
    logs_move: bool = False


class LoadedDirectory:
    """What was found in a directory.

    Attributes:
        logs: open.
        unopened: why logs could not be opened.
        unopened_starts: what the log start checkpoint says of those, None for nothing.
        high_watermarks: what the checkpoint says of the open logs.
        recovery_points_lowered: a log ends before its checkpointed recovery point.
        recovery_points_unknown: there is no checkpoint of them.
        checkpointed: partitions that a checkpoint names, open or not.
        cleaner_offsets: what the cleaner's checkpoint says.
    """

    __slots__ = (
        "checkpointed",
        "cleaner_offsets",
        "high_watermarks",
        "logs",
        "recovery_points_lowered",
        "recovery_points_unknown",
        "unopened",
        "unopened_starts",
    )

    def __init__(self) -> None:
        self.logs: dict[TopicPartition, Log] = {}
        self.unopened: dict[TopicPartition, str] = {}
        self.unopened_starts: dict[TopicPartition, int | None] = {}
        self.high_watermarks: dict[tuple[str, int], int] = {}
        self.recovery_points_lowered = False
        self.recovery_points_unknown = False
        self.checkpointed: set[TopicPartition] = set()
        self.cleaner_offsets: Mapping[TopicPartition, int] = {}


class DirectoryLoading:
    """A directory whose logs are being opened: `prepare`, then `finish`, then `close` in any case.

    In two steps, so that the logs of several directories are scanned side by side after a crash.

    Args:
        loaded: filled in; after an error it has what was opened until then.

    Attributes:
        was_clean: the last stop left its marker.
    """

    __slots__ = (
        "_directory", "_high_watermarks", "_opening", "_openings", "_progress", "_scans", "_starts",
        "loaded", "was_clean",
    )  # fmt: skip

    def __init__(
        self,
        directory: LogDirectory,
        loaded: LoadedDirectory,
        opening: LogOpening,
        progress: RecoveryProgress,
    ) -> None:
        self.loaded = loaded
        self._directory = directory
        self._opening = opening
        self._progress = progress
        self._openings: list[tuple[TopicPartition, OpeningLog, int]] = []  # with its recovery point
        self._scans: LogScans | None = None
        self._starts: dict[TopicPartition, int] = {}
        self._high_watermarks: dict[TopicPartition, int] = {}
        self.was_clean = False

    def prepare(self, seen: dict[TopicPartition, str]) -> None:
        """Take the clean marker away, look at every log, and begin to scan what must be checked.

        Args:
            seen: logs and their directories, of directories that were prepared before; added to.

        Raises:
            LogManagerError: a log lies in two directories.
            OSError, ApiError: the directory failed.
        """
        directory, loaded, opening = self._directory, self.loaded, self._opening
        disk, root = directory.disk, directory.path
        self.was_clean = directory_checkpoints.take_clean_marker(directory)
        known_points = directory_checkpoints.read_if_there(directory, checkpoint_file.RECOVERY_POINT_FILE)
        recovery_points = known_points or {}
        loaded.recovery_points_unknown = known_points is None
        starts = self._starts = directory_checkpoints.read(directory, checkpoint_file.LOG_START_OFFSET_FILE)
        high_watermarks = directory_checkpoints.read(directory, checkpoint_file.HIGH_WATERMARK_FILE)
        cleaned = directory_checkpoints.read(directory, checkpoint_file.CLEANER_OFFSET_FILE)
        loaded.cleaner_offsets = cleaned
        loaded.checkpointed = {*recovery_points, *starts, *high_watermarks}
        self._high_watermarks = high_watermarks
        topic, config = "", opening.config_for("")
        for name in disk.list_dir(root):
            key = parse_name(name)
            if key is None:
                _pass_over(directory, name, opening)
            if key is None or key == METADATA_PARTITION:
                continue
            try:
                names = disk.list_dir(f"{root}/{name}")
            except NotADirectoryError:
                continue
            if key.topic != topic:
                topic, config = key.topic, opening.config_for(key.topic)
            if key in seen:
                raise LogManagerError(f"{key} lies in {root} and in {seen[key]}")
            seen[key] = root
            recovery_point = recovery_points.get(key, 0)
            log_opening = OpeningLog(
                directory=directory, path=f"{root}/{name}", topic=key.topic, partition=key.partition,
                config=config, clock=opening.clock, cache=opening.cache, deletions=opening.deletions,
                random_below=opening.random_below, clean=self.was_clean, names=names,
                recovery_point=recovery_point, log_start_offset=starts.get(key, 0),
                producer_expiration_ms=opening.producer_expiration_ms,
                gapless_from=self._gapless_from(key, known_points, cleaned),
            )  # fmt: skip
            try:
                log_opening.prepare()
            except UnsupportedLogError as error:
                self._left_alone(key, error)
                continue
            self._openings.append((key, log_opening, recovery_point))
            self._progress.add_log(root, log_opening.to_scan)
        requests = [request for _, each, _ in self._openings for request in each.to_scan]
        self._scans = LogScans(requests, opening.recovery_threads, self._progress)
        self._say_what_is_checked(requests)

    def _gapless_from(
        self,
        key: TopicPartition,
        recovery_points: Mapping[TopicPartition, int] | None,
        cleaned: Mapping[TopicPartition, int],
    ) -> int | None:
        """See OpeningLog. Only what is synced is compacted, and a checkpoint says so before it is done."""
        if recovery_points is None or (self._opening.logs_move and key not in recovery_points):
            return None
        return max(recovery_points.get(key, 0), cleaned.get(key, 0))

    def _say_what_is_checked(self, requests: Sequence[ScanRequest]) -> None:
        to_check = sum(request.size for request in requests)
        if to_check:
            log.info(
                "%s was not stopped cleanly: %d of its %d logs are checked from their recovery points on, "
                "%d segments, %.0f MB",
                self._directory.path, sum(bool(each.to_scan) for _, each, _ in self._openings),
                len(self._openings), len(requests), to_check / 1e6,
            )  # fmt: skip

    def finish(self) -> None:
        """Open every log.

        Raises:
            OSError, ApiError: the directory failed.
        """
        loaded, root = self.loaded, self._directory.path
        scans = self._scans
        assert scans is not None, "not prepared"
        cut_logs = cut_bytes = 0
        for key, log_opening, recovery_point in self._openings:
            try:
                opened, truncated_bytes, _ = log_opening.finish(scans.scan)
            except UnsupportedLogError as error:
                self._left_alone(key, error)
                continue
            finally:
                self._progress.log_done(root, log_opening.to_scan)
            loaded.logs[key] = opened
            if key in self._high_watermarks:
                loaded.high_watermarks[key] = self._high_watermarks[key]
            if opened.recovery_point < recovery_point:
                loaded.recovery_points_lowered = True
            cut_logs += truncated_bytes > 0
            cut_bytes += truncated_bytes
        if cut_logs:
            log.warning("%s: damaged logs: %d; bytes that were cut off: %d", root, cut_logs, cut_bytes)

    def close(self) -> None:
        """Let go of the threads that scan."""
        if self._scans is not None:
            self._scans.close()

    def _left_alone(self, key: TopicPartition, error: UnsupportedLogError) -> None:
        # Its partition answers KAFKA_STORAGE_ERROR; it is left as it is, and the others go on.
        log.error("%s is not opened: %s", key, error)
        self.loaded.unopened[key] = str(error)
        self.loaded.unopened_starts[key] = self._starts.get(key)


def _pass_over(directory: LogDirectory, name: str, opening: LogOpening) -> None:
    path = f"{directory.path}/{name}"
    if not directory.disk.is_dir(path):
        return
    if name.endswith(DELETE_SUFFIX):
        opening.deletions.add(path, opening.clock.monotonic_ms())
    elif not name.endswith((STRAY_SUFFIX, FUTURE_SUFFIX)):
        log.warning("%s is no partition and is left alone; Apache Kafka would not start on it", path)
