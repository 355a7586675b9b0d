"""What consumer groups want to know of topics: ids by name, partition counts, and the hash of it all.

A group keeps a hash of the topics it subscribes to and starts a new epoch when that changes: a topic was
created, deleted, created anew, grew, or its replicas moved to other racks. The hash is in the group's record,
so it must be the one that Apache Kafka computes: XXH3 over fields in little-endian and strings in UTF-16, as
the library hash4j feeds it. `xxhash` computes it at C's speed.

Hashes of topics are kept while the topic's image stays the same object. Racks of brokers are looked at when a
hash is made and not watched, as in Apache Kafka.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

import xxhash

from barnabas.base.hints import Final
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.image_types import TopicImage

_MAGIC: Final = 0
"""Version of the hash."""


class GroupTopics:
    """The topics of the image, for the groups of one shard."""

    __slots__ = ("_hashes", "image")

    def __init__(self, image: MetadataImage) -> None:
        self.image = image
        self._hashes: dict[str, tuple[TopicImage, int]] = {}

    def topic_ids(self, names: Iterable[str]) -> frozenset[bytes]:
        """Return the ids of those topics that exist."""
        topics = self.image.topics
        return frozenset(topics[name].topic_id for name in names if name in topics)

    def metadata_hash(self, names: Iterable[str]) -> int:
        """Return the hash over some topics, signed; 0 when none of them exists."""
        existing = [
            self.image.topics[name] for name in sorted(names, key=_java_order) if name in self.image.topics
        ]
        if not existing:
            return 0
        return _signed(xxhash.xxh3_64_intdigest(b"".join(map(self._packed_hash, existing))))

    def forget(self, name: str) -> None:
        """Drop what is kept of a topic that no longer exists."""
        self._hashes.pop(name, None)

    def _packed_hash(self, topic: TopicImage) -> bytes:
        kept = self._hashes.get(topic.name)
        if kept is None or kept[0] is not topic:
            kept = self._hashes[topic.name] = (topic, topic_hash(topic, self.image))
        return struct.pack("<Q", kept[1])


def topic_hash(topic: TopicImage, image: MetadataImage) -> int:
    """Return the hash of one topic, unsigned: its id, name, and the racks of every partition's replicas."""
    most, least = struct.unpack(">QQ", topic.topic_id)
    count = len(topic.partitions)
    parts = [struct.pack("<BQQ", _MAGIC, most, least), _string(topic.name), struct.pack("<i", count)]
    for number in range(count):
        parts.append(struct.pack("<i", number))
        for rack in sorted(_racks(topic, number, image), key=_java_order):
            parts.append(struct.pack("<i", len(_utf16(rack)) // 2) + _string(rack))
    return xxhash.xxh3_64_intdigest(b"".join(parts))


def _racks(topic: TopicImage, number: int, image: MetadataImage) -> list[str]:
    partition = topic.partitions.get(number)
    if partition is None:
        return []
    brokers = [image.brokers[replica] for replica in partition.replicas if replica in image.brokers]
    return [broker.rack for broker in brokers if broker.rack is not None]


def _string(text: str) -> bytes:
    units = _utf16(text)
    return units + struct.pack("<i", len(units) // 2)


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")


def _java_order(text: str) -> bytes:
    """Key to sort strings as Java does."""
    return text.encode("utf-16-be", "surrogatepass")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
