"""The committed offsets of a shard's groups, and those of transactions that are not decided yet.

Both are nested tables: group, topic, partition. A flat table by (group, topic, partition) was rejected: a
group's offsets are fetched, expired and deleted together, and its topics are asked for by name.
"""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.protocol import messages

NO_EXPIRE_TIMESTAMP = -1

PartitionOffsets = dict[int, "CommittedOffset"]
TopicOffsets = dict[str, PartitionOffsets]


class CommittedOffset:
    """What a group committed for one partition.

    Attributes:
        record_offset: of the record that says so.
        commit_timestamp_ms: wall time of the commit.
        expire_timestamp_ms: when it expires by the client's own wish (OffsetCommit v2-4); -1: by the
            broker's.
        topic_id: zeros when the record is of an older broker's.
    """

    __slots__ = (
        "commit_timestamp_ms",
        "committed_offset",
        "expire_timestamp_ms",
        "leader_epoch",
        "metadata",
        "record_offset",
        "topic_id",
    )

    def __init__(self, value: messages.OffsetCommitValue, record_offset: int) -> None:
        self.record_offset = record_offset
        self.committed_offset = value.offset
        self.leader_epoch = value.leader_epoch
        self.metadata = value.metadata
        self.commit_timestamp_ms = value.commit_timestamp
        self.expire_timestamp_ms = value.expire_timestamp
        self.topic_id = value.topic_id


class OffsetTable:
    """Offsets by group, topic and partition; tables that become empty go.

    Attributes:
        by_group: to be read only.
        count: of all offsets.
    """

    __slots__ = ("by_group", "count")

    def __init__(self) -> None:
        self.by_group: dict[str, TopicOffsets] = {}
        self.count = 0

    def get(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        """Return an offset; None when there is none."""
        topics = self.by_group.get(group_id)
        if topics is None:
            return None
        partitions = topics.get(topic)
        return None if partitions is None else partitions.get(partition)

    def put(self, group_id: str, topic: str, partition: int, offset: CommittedOffset) -> None:
        """Set an offset."""
        topics = self.by_group.get(group_id)
        if topics is None:
            topics = self.by_group[group_id] = {}
        partitions = topics.get(topic)
        if partitions is None:
            partitions = topics[topic] = {}
        if partition not in partitions:
            self.count += 1
        partitions[partition] = offset

    def remove(self, group_id: str, topic: str, partition: int) -> None:
        """Forget an offset; nothing happens when there is none."""
        topics = self.by_group.get(group_id, {})
        partitions = topics.get(topic, {})
        if partitions.pop(partition, None) is None:
            return
        self.count -= 1
        if not partitions:
            del topics[topic]
            if not topics:
                del self.by_group[group_id]

    def __iter__(self) -> Iterator[tuple[str, str, int, CommittedOffset]]:
        for group_id, topics in self.by_group.items():
            for topic, partitions in topics.items():
                for partition, offset in partitions.items():
                    yield group_id, topic, partition, offset


class PendingOffsets:
    """Offsets of open transactions, which count when their transaction is committed (KIP-98).

    Several transactions may have one for the same partition. The table by group answers, in constant time,
    whether a partition waits for any.
    """

    __slots__ = ("_by_producer", "_producers")

    def __init__(self) -> None:
        self._by_producer: dict[int, OffsetTable] = {}
        self._producers: dict[str, dict[tuple[str, int], set[int]]] = {}

    def add(
        self, producer_id: int, group_id: str, topic: str, partition: int, offset: CommittedOffset
    ) -> None:
        """Note what a transaction would commit."""
        self._by_producer.setdefault(producer_id, OffsetTable()).put(group_id, topic, partition, offset)
        group = self._producers.setdefault(group_id, {})
        group.setdefault((topic, partition), set()).add(producer_id)

    def has_group(self, group_id: str) -> bool:
        """Whether a group has any."""
        return group_id in self._producers

    def partitions(self, group_id: str) -> dict[tuple[str, int], set[int]]:
        """Return (topic, partition) -> producer ids of a group; to be read only."""
        return self._producers.get(group_id, {})

    def drop(self, group_id: str, topic: str, partition: int) -> None:
        """Forget what any transaction would commit for a partition."""
        group = self._producers.get(group_id, {})
        for producer_id in group.pop((topic, partition), ()):
            self._by_producer[producer_id].remove(group_id, topic, partition)
        if not group:
            self._producers.pop(group_id, None)

    def take(self, producer_id: int) -> OffsetTable:
        """Remove and return what a transaction would commit, when it has ended."""
        table = self._by_producer.pop(producer_id, OffsetTable())
        for group_id, topic, partition, _ in table:
            group = self._producers[group_id]
            producers = group[topic, partition]
            producers.discard(producer_id)
            if not producers:
                del group[topic, partition]
                if not group:
                    del self._producers[group_id]
        return table

    def tables(self) -> Iterator[OffsetTable]:
        """Yield the offsets of each open transaction."""
        yield from self._by_producer.values()
