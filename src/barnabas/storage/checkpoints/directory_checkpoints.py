"""The files in the root of a log directory: offset checkpoints of its logs and the marker of a clean stop.

The marker is taken away before anything else is written, and written after everything else: a crash in
between is never taken for a clean stop.
"""

import os
from collections.abc import Mapping

from barnabas.base.disk import Disk, write_file_durably
from barnabas.base.logger import Logger
from barnabas.storage.checkpoints import checkpoint_file
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.topic_partition import TopicPartition

log = Logger(__name__)

CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown"


def read(directory: LogDirectory, name: str) -> dict[TopicPartition, int]:
    """Read a checkpoint; a damaged one counts as absent, which is always safe: more is checked then."""
    return read_if_there(directory, name) or {}


def read_if_there(directory: LogDirectory, name: str) -> dict[TopicPartition, int] | None:
    """Read a checkpoint; None when there is none, or only a damaged one."""
    path = f"{directory.path}/{name}"
    if not directory.disk.exists(path):
        return None
    try:
        return checkpoint_file.read_offsets(directory.disk, path)
    except checkpoint_file.CheckpointError as error:
        log.warning("%s; it is taken for absent", error)
        return None


def recovery_points(directory: LogDirectory, logs: Mapping[TopicPartition, Log]) -> dict[TopicPartition, int]:
    """Return the recovery points of a directory's logs; writes the leader epochs that changed below them.

    Epochs from there on are made anew of the batches; thousands of logs that got a first batch since the last
    time need no sync each.
    """
    for known in logs.values():
        known.leader_epochs.persist(directory.disk, known.recovery_point)
        durability = known.durability
        durability.checkpointed_point = max(durability.checkpointed_point, durability.recovery_point)
    return {key: known.recovery_point for key, known in logs.items()}


def log_starts(
    logs: Mapping[TopicPartition, Log], unopened: Mapping[TopicPartition, int | None]
) -> dict[TopicPartition, int]:
    """Return the log start offsets that are not 0.

    Apache Kafka leaves out those that the first segment tells. But a segment that was deleted is back when
    its renaming is lost with the power; its records must not be.

    Args:
        unopened: what the checkpoint said of logs that are not open.
    """
    starts = {key: known.log_start_offset for key, known in logs.items() if known.log_start_offset > 0}
    starts.update({key: offset for key, offset in unopened.items() if offset is not None})
    return starts


def high_watermarks(
    logs: Mapping[TopicPartition, Log], known: Mapping[tuple[str, int], int]
) -> dict[TopicPartition, int]:
    """Return the high watermarks of those that are a directory's logs."""
    return {TopicPartition(*name): offset for name, offset in known.items() if name in logs}


def take_clean_marker(directory: LogDirectory) -> bool:
    """Return whether the last stop was clean, and remove what says so, durably."""
    path = f"{directory.path}/{CLEAN_SHUTDOWN_FILE}"
    if not directory.disk.exists(path):
        return False
    directory.disk.unlink(path)
    directory.disk.sync_dir(directory.path)
    return True


def write_clean_marker(directory: LogDirectory, broker_epoch: int) -> None:
    """Say that all logs of the directory were closed."""
    marker = f'{{"version":0,"brokerEpoch":{broker_epoch}}}'
    path = f"{directory.path}/{CLEAN_SHUTDOWN_FILE}"
    write_file_durably(directory.disk, path, marker.encode("ascii"))


def make_dirs_durably(disk: Disk, path: str) -> None:
    """Make a directory and its parents such that none of them is lost in a power failure."""
    target, missing = path, []
    while path and not disk.is_dir(path):
        missing.append(path)
        path = os.path.dirname(path)
    if missing:
        disk.make_dirs(target)
        for made in reversed(missing):
            disk.sync_dir(os.path.dirname(made) or ".")
