"""The names of partition directories: `topic-N`, and what they become when they leave.

Renaming is the first step of deleting: the partition's name is free at once, and a crash before the
unlinking leaves a directory whose name says that it may go.
"""

from barnabas.storage.topic_partition import TopicPartition

DELETE_SUFFIX = "-delete"
STRAY_SUFFIX = "-stray"
FUTURE_SUFFIX = "-future"
_NAME_BYTES_MAX = 255
_UNIQUE_DIGITS = 32
_PARTITION_MAX = 2**31 - 1


def parse_name(name: str) -> TopicPartition | None:
    """Return the partition of a directory name, or None when it names none."""
    topic, dash, number = name.rpartition("-")
    if not dash or not topic or not number.isascii() or not number.isdigit():
        return None
    partition = int(number)
    return TopicPartition(topic, partition) if partition <= _PARTITION_MAX else None


def delete_name(key: TopicPartition, unique: str) -> str:
    """Return the name a partition is deleted under; `unique` is 32 hexadecimal digits."""
    return _unique_name(key, unique, DELETE_SUFFIX)


def stray_name(key: TopicPartition, unique: str) -> str:
    """Return the name a partition without metadata is set aside under."""
    return _unique_name(key, unique, STRAY_SUFFIX)


def future_name(key: TopicPartition, unique: str) -> str:
    """Return the name of a copy that is to become the partition's log (KIP-113); never shortened."""
    return f"{key}.{unique}{FUTURE_SUFFIX}"


def fits_future_name(key: TopicPartition) -> bool:
    """Whether a topic's name leaves room for that of a copy (KAFKA-4893)."""
    return len(future_name(key, "0" * _UNIQUE_DIGITS)) <= _NAME_BYTES_MAX


def parse_future_name(name: str) -> TopicPartition | None:
    """Return whose copy a directory is, or None when its name is no copy's."""
    if not name.endswith(FUTURE_SUFFIX):
        return None
    partition, dot, unique = name.removesuffix(FUTURE_SUFFIX).rpartition(".")
    return parse_name(partition) if dot and len(unique) == _UNIQUE_DIGITS else None


def _unique_name(key: TopicPartition, unique: str, suffix: str) -> str:
    rest = f".{unique}{suffix}"
    return f"{key}"[: _NAME_BYTES_MAX - len(rest)] + rest
