"""`partition.metadata`: which topic id a partition directory belongs to (KIP-516).

It is written and synced before the first append, so that records can never turn up under another topic
of the same name that was made later. That first append waits for the disk twice, on the loop, once in a
partition's life; Apache Kafka's waits as well unless a thread of its own was there before.

Rejected: holding the acknowledgement back instead (`group_commit.py`), since the kernel may bring records to
the disk before the id, and a power failure then leaves records that a later topic of that name would take
over. Writing it on a helper thread as soon as the log is made: ten thousand partitions would pay twenty
thousand syncs for what most of them never need, and a thread that knows a directory by its path may write
the id of a topic just deleted into the directory of the one made after it. Writing in place, without the
rename, saves one sync; but what a power failure leaves of that, an empty file, Apache Kafka refuses.
"""

from barnabas.base.disk import Disk, write_file_durably
from barnabas.base.uuids import uuid_from_text, uuid_text

FILE_NAME = "partition.metadata"
_VERSION = "0"
_HEAD = b"version: 0\ntopic_id: "
_UUID_CHARS = 22


class PartitionMetadataError(ValueError):
    """A partition.metadata file that is none."""


class TornPartitionMetadataError(PartitionMetadataError):
    """One that says nothing, as a power failure may leave what was not synced."""


def read_topic_id(disk: Disk, directory: str) -> bytes | None:
    """Return the topic id of a partition directory, or None when it has no such file.

    Raises:
        PartitionMetadataError: the file is damaged or of a later version.
        TornPartitionMetadataError: it says nothing; that is no loss for a log without records.
    """
    path = f"{directory}/{FILE_NAME}"
    try:
        file = disk.open_readonly(path)
    except FileNotFoundError:
        return None
    try:
        content = file.read_at(0, 1024)
    finally:
        file.close()
    if not content:
        return None  # as a power failure leaves what was not synced
    try:
        if content.startswith(_HEAD) and len(content) == len(_HEAD) + _UUID_CHARS:
            return uuid_from_text(content[len(_HEAD) :].decode("ascii"))  # as we and Apache Kafka write it
        fields = dict(line.split(": ", 1) for line in content.decode("utf-8").splitlines() if line)
        version = fields["version"]
        if version.isdecimal() and version != _VERSION:
            raise PartitionMetadataError(f"{path} has version {version!r}, only 0 is known")
        return uuid_from_text(fields["topic_id"])
    except PartitionMetadataError:
        raise
    except (ValueError, KeyError):
        raise TornPartitionMetadataError(f"{path} names no topic id") from None


def write_topic_id(disk: Disk, directory: str, topic_id: bytes, *, durable: bool = True) -> None:
    """Write the file, durably unless no record depends on it."""
    path = f"{directory}/{FILE_NAME}"
    text = f"version: {_VERSION}\ntopic_id: {uuid_text(topic_id)}"
    if durable:
        write_file_durably(disk, path, text.encode("utf-8"))
        return
    file = disk.open(path, create=True)
    try:
        file.write_at(0, [text.encode("utf-8")])
    finally:
        file.close()
