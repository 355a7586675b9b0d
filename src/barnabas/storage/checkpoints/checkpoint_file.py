"""Kafka's small text checkpoints: a version line, a count line, then one line per entry.

Every one is replaced whole by way of a temporary file, so a reader finds the old or the new one. What
does not parse is refused as a whole, never read halfway: each caller knows what its absence means.
"""

from collections.abc import Iterable, Mapping

from barnabas.base.disk import Disk, write_file_durably
from barnabas.storage.topic_partition import TopicPartition

_VERSION = "0"
_BYTES_MAX = 64 * 1024 * 1024
"""A million partitions with the longest topic names; a larger file is no checkpoint."""

RECOVERY_POINT_FILE = "recovery-point-offset-checkpoint"
LOG_START_OFFSET_FILE = "log-start-offset-checkpoint"
HIGH_WATERMARK_FILE = "replication-offset-checkpoint"
CLEANER_OFFSET_FILE = "cleaner-offset-checkpoint"
OFFSET_MAX = 2**63 - 1
LEADER_EPOCH_FILE = "leader-epoch-checkpoint"


class CheckpointError(ValueError):
    """A checkpoint file that is none."""


def read_lines(disk: Disk, path: str) -> list[str] | None:
    """Return a checkpoint's entry lines, or None when there is no such file.

    Raises:
        CheckpointError: wrong version, wrong count, or not text.
    """
    try:
        file = disk.open_readonly(path)
    except FileNotFoundError:
        return None
    try:
        size = file.size()
        if size > _BYTES_MAX:
            raise CheckpointError(f"{path} is {size} bytes long, more than any checkpoint")
        content = file.read_at(0, size)
    finally:
        file.close()
    if not size:
        return []  # Apache Kafka makes the files before it has anything to say
    try:
        lines = content.decode("utf-8").splitlines()
        version, count, entries = lines[0], int(lines[1]), lines[2:]
    except (UnicodeDecodeError, IndexError, ValueError):
        raise CheckpointError(f"{path} is no checkpoint") from None
    if version != _VERSION:
        raise CheckpointError(f"{path} has version {version!r}, only {_VERSION} is known")
    if count != len(entries):
        raise CheckpointError(f"{path} announces {count} entries and has {len(entries)}")
    return entries


def write_lines(disk: Disk, path: str, entries: Iterable[str]) -> None:
    """Replace a checkpoint durably.

    Raises:
        OSError: the disk refuses; the old one is whole then.
    """
    write_file_durably(disk, path, content_of(entries))


def content_of(entries: Iterable[str]) -> bytes:
    """Return a checkpoint's content."""
    lines = list(entries)
    return ("\n".join([_VERSION, str(len(lines)), *lines]) + "\n").encode("utf-8")


def read_offsets(disk: Disk, path: str) -> dict[TopicPartition, int]:
    """Return an offset checkpoint of a log directory; empty when there is none.

    Raises:
        CheckpointError: the file is damaged.
    """
    offsets: dict[TopicPartition, int] = {}
    for line in read_lines(disk, path) or ():
        try:
            topic, partition, offset = line.split()
            key, value = TopicPartition(topic, int(partition)), int(offset)
        except ValueError:
            raise CheckpointError(f"{path} holds the line {line!r}") from None
        if value > OFFSET_MAX:
            # Taken for an offset it would empty the log, to begin where none can be counted.
            raise CheckpointError(f"{path} holds the line {line!r}, whose offset is none")
        if key in offsets or key.partition < 0:
            raise CheckpointError(f"{path} holds the line {line!r} a second time")
        offsets[key] = value
    return offsets


def write_offsets(disk: Disk, path: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Replace an offset checkpoint of a log directory durably."""
    write_lines(disk, path, (f"{key[0]} {key[1]} {offset}" for key, offset in offsets.items()))
