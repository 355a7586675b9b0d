"""Opening every log of one directory at start: which names are partitions, what the checkpoints say of them.

`recovery.py` opens one log; this one finds them, and tells apart what is waiting to be deleted, what was set
aside, and what is none of ours. A log that cannot be opened is left as it is, and the others go on.
`__cluster_metadata-0` belongs to the metadata layer and is passed over.
"""

from collections.abc import Callable, Mapping

from barnabas.base.clock import Clock
from barnabas.base.dataclass import dataclass
from barnabas.base.logger import Logger
from barnabas.storage import checkpoints, directory_checkpoints
from barnabas.storage.checkpoints import TopicPartition
from barnabas.storage.deletions import PendingDeletions
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.partition_directory import DELETE_SUFFIX, FUTURE_SUFFIX, STRAY_SUFFIX, parse_name
from barnabas.storage.recovery import Progress, open_log
from barnabas.storage.segment_cache import SegmentCache
from barnabas.storage.segment_check import UnsupportedLogError

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
    """

    config_for: Callable[[str], LogConfig]
    clock: Clock
    cache: SegmentCache
    deletions: PendingDeletions
    random_below: Callable[[int], int]
    producer_expiration_ms: int


class LoadedDirectory:
    """What was found in a directory.

    Attributes:
        logs: open.
        unopened: why logs could not be opened.
        unopened_starts: what the log start checkpoint says of those, None for nothing.
        high_watermarks: what the checkpoint says of the open logs.
        recovery_points_lowered: a log ends before its checkpointed recovery point.
        checkpointed: partitions that a checkpoint names, open or not.
    """

    __slots__ = (
        "checkpointed",
        "high_watermarks",
        "logs",
        "recovery_points_lowered",
        "unopened",
        "unopened_starts",
    )

    def __init__(self) -> None:
        self.logs: dict[TopicPartition, Log] = {}
        self.unopened: dict[TopicPartition, str] = {}
        self.unopened_starts: dict[TopicPartition, int | None] = {}
        self.high_watermarks: dict[tuple[str, int], int] = {}
        self.recovery_points_lowered = False
        self.checkpointed: set[TopicPartition] = set()


def load_directory(
    directory: LogDirectory,
    loaded: LoadedDirectory,
    opening: LogOpening,
    others: Mapping[TopicPartition, Log],
    progress: Progress | None,
) -> None:
    """Take the clean marker away and open every log of a directory.

    Args:
        loaded: filled in; after an error it has what was opened until then.
        others: logs of directories that were loaded before.

    Raises:
        LogManagerError: a log lies in two directories.
        OSError, ApiError: the directory failed.
    """
    disk, root = directory.disk, directory.path
    clean = directory_checkpoints.take_clean_marker(directory)
    recovery_points = directory_checkpoints.read(directory, checkpoints.RECOVERY_POINT_FILE)
    starts = directory_checkpoints.read(directory, checkpoints.LOG_START_OFFSET_FILE)
    high_watermarks = directory_checkpoints.read(directory, checkpoints.HIGH_WATERMARK_FILE)
    loaded.checkpointed = {*recovery_points, *starts, *high_watermarks}
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
        if key in others:
            raise LogManagerError(f"{key} lies in {root} and in {others[key].directory.path}")
        try:
            opened = open_log(
                directory=directory, path=f"{root}/{name}", topic=key.topic, partition=key.partition,
                config=config, clock=opening.clock, cache=opening.cache, deletions=opening.deletions,
                random_below=opening.random_below, clean=clean, names=names,
                recovery_point=recovery_points.get(key, 0), log_start_offset=starts.get(key, 0),
                producer_expiration_ms=opening.producer_expiration_ms, progress=progress,
            ).log  # fmt: skip
        except UnsupportedLogError as error:
            # Its partition answers KAFKA_STORAGE_ERROR; it is left as it is, and the others go on.
            log.error("%s is not opened: %s", key, error)
            loaded.unopened[key] = str(error)
            loaded.unopened_starts[key] = starts.get(key)
            continue
        loaded.logs[key] = opened
        if opened.recovery_point < recovery_points.get(key, 0):
            loaded.recovery_points_lowered = True
        if key in high_watermarks:
            loaded.high_watermarks[key] = high_watermarks[key]


def _pass_over(directory: LogDirectory, name: str, opening: LogOpening) -> None:
    path = f"{directory.path}/{name}"
    if not directory.disk.is_dir(path):
        return
    if name.endswith(DELETE_SUFFIX):
        opening.deletions.add(path, opening.clock.monotonic_ms())
    elif not name.endswith((STRAY_SUFFIX, FUTURE_SUFFIX)):
        log.warning("%s is no partition and is left alone; Apache Kafka would not start on it", path)
