"""The offsets part of a shard: what is committed, and the operations on it.

What each operation does stands in a file of its own: committing, fetching, cleaning up. Here is the state
    they work on, and the replay that alone changes it.
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.base.hints import Any, Final
from barnabas.coordinator.groups.group import Group, GroupContext
from barnabas.coordinator.offsets.committed import CommittedOffset, OffsetTable, PendingOffsets
from barnabas.coordinator.runtime.outcome import CoordinatorRecord
from barnabas.coordinator.runtime.shard import NO_PRODUCER_ID
from barnabas.protocol import messages

_LEGACY: Final = 0


class GroupOffsets:
    """The offsets of one shard's groups.

    Args:
        groups: all groups of the shard.
        get_or_create: makes the group that is asked for, when there is none, as one that only holds offsets.

    Attributes:
        committed: offsets that count.
        pending: offsets of transactions that are not decided.
        deleted_topics: name -> topic id of those whose offsets are still to be dropped.
        commits, expirations, deletions: offsets, counted since the shard was loaded.
    """

    __slots__ = (
        "_get_or_create",
        "commits",
        "committed",
        "context",
        "deleted_topics",
        "deletions",
        "expirations",
        "groups",
        "pending",
    )

    def __init__(
        self, context: GroupContext, groups: dict[str, Group], get_or_create: Callable[[str], Group]
    ) -> None:
        self.context = context
        self.groups = groups
        self._get_or_create = get_or_create
        self.committed = OffsetTable()
        self.pending = PendingOffsets()
        self.deleted_topics: dict[str, bytes] = {}
        self.commits = 0
        self.expirations = 0
        self.deletions = 0

    def tombstones(self, group_id: str) -> list[CoordinatorRecord]:
        """Return the records that drop all offsets of a group, those of open transactions too."""
        topics = self.committed.by_group.get(group_id, {})
        partitions = {(topic, number): None for topic, numbers in topics.items() for number in numbers}
        partitions |= dict.fromkeys(self.pending.partitions(group_id))
        return [offset_tombstone(group_id, topic, number) for topic, number in partitions]

    # What changes the state

    def replay(self, key: Any, value: Any, offset: int, producer_id: int) -> None:
        """Take over the record of a commit, or its tombstone.

        Args:
            key, value: of record types 0 or 1.
            producer_id: of an open transaction, or -1.
        """
        group_id, topic, partition = key.group, key.topic, key.partition
        if value is None:
            self.committed.remove(group_id, topic, partition)
            self.pending.drop(group_id, topic, partition)
            return
        if group_id not in self.groups:
            self._get_or_create(group_id)
        if key.api_key == _LEGACY:
            value = messages.OffsetCommitValue(
                offset=value.offset, metadata=value.metadata, commit_timestamp=value.commit_timestamp
            )
        if producer_id == NO_PRODUCER_ID:
            self.committed.put(group_id, topic, partition, CommittedOffset(value, offset))
        else:
            self.pending.add(producer_id, group_id, topic, partition, CommittedOffset(value, offset))

    def replay_transaction_end(self, producer_id: int, *, committed: bool) -> None:
        """Let a transaction's offsets count, unless a later record said otherwise; or drop them."""
        ended = self.pending.take(producer_id)
        if not committed:
            return
        for group_id, topic, partition, offset in ended:
            present = self.committed.get(group_id, topic, partition)
            if present is None or offset.record_offset > present.record_offset:
                self.committed.put(group_id, topic, partition, offset)


def offset_tombstone(group_id: str, topic: str, partition: int) -> CoordinatorRecord:
    """Return the record that drops one offset."""
    return CoordinatorRecord(messages.OffsetCommitKey(group=group_id, topic=topic, partition=partition), None)
