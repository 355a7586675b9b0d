"""The groups of one partition of `__consumer_offsets`: who may commit, join and be listed there.

It holds the groups and the parts that know their rules, and hands each record to the part that understands
it: offsets, classic groups, consumer groups. A record of an offset whose group is not known makes an empty
classic group, which is what a consumer that only commits has (a "simple" group).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Any
from barnabas.coordinator.classic.groups import ClassicGroups
from barnabas.coordinator.consumer.groups import ConsumerGroups
from barnabas.coordinator.groups.group import Group, GroupContext
from barnabas.coordinator.offsets.cleanup import schedule_drop, schedule_expiry
from barnabas.coordinator.offsets.group_offsets import GroupOffsets
from barnabas.coordinator.runtime.outcome import CoordinatorRecord
from barnabas.coordinator.runtime.record_codec import UnknownRecordError
from barnabas.metadata.image import MetadataDelta

_LEGACY_OFFSET_COMMIT = 0
_OFFSET_COMMIT = 1
_GROUP_METADATA = 2
_CONSUMER_GROUP_METADATA = 3
_CONSUMER_GROUP_RECORDS = (3, 4, 5, 6, 7, 8, 16)


class GroupShard:
    """The state machine of one partition (`shard.Shard`).

    Attributes:
        groups: by id; both kinds.
        classic, consumers, offsets: the parts. An operation is a method of a part that returns an Outcome.
    """

    __slots__ = (
        "_consumer_group_end",
        "_replays",
        "classic",
        "consumers",
        "context",
        "groups",
        "offsets",
        "partition",
    )

    def __init__(self, context: GroupContext, partition: int) -> None:
        self.context = context
        self.partition = partition
        self.groups: dict[str, Group] = {}
        self.classic = ClassicGroups(context, self.groups)
        self.consumers = ConsumerGroups(context, self.groups, self.classic)
        self._consumer_group_end = ("", -1)
        self.offsets = GroupOffsets(context, self.groups, self.classic.make_empty)
        self._replays: Mapping[int, Callable[[Any, Any], None]] = {
            **dict.fromkeys(_CONSUMER_GROUP_RECORDS, self.consumers.replay),
        }

    def group(self, group_id: str) -> Group:
        """Return a group.

        Raises:
            ApiError: GROUP_ID_NOT_FOUND.
        """
        found = self.groups.get(group_id)
        if found is None:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return found

    # What the runtime calls

    def replay(self, record: CoordinatorRecord, offset: int, producer_id: int) -> None:
        """Change the state by one record (`Shard.replay`).

        Raises:
            UnknownRecordError: of a share or streams group.
        """
        record_type = record.key.api_key
        if record_type in (_OFFSET_COMMIT, _LEGACY_OFFSET_COMMIT):
            self.offsets.replay(record.key, record.value, offset, producer_id)
            return
        assert record_type is not None
        if record_type == _GROUP_METADATA:
            key: Any = record.key
            value: Any = record.value
            # What ends a group of the one kind and begins that of the other is in one batch.
            is_downgrade = self._consumer_group_end == (key.group, offset - 1)
            self.classic.replay_group_metadata(key, value, is_downgrade=is_downgrade)
            return
        if record_type == _CONSUMER_GROUP_METADATA and record.value is None:
            ended: Any = record.key
            self._consumer_group_end = (ended.group_id, offset)
        replay = self._replays.get(record_type)
        if replay is None:
            raise UnknownRecordError(f"record type {record_type}")
        replay(record.key, record.value)

    def replay_transaction_end(self, producer_id: int, *, committed: bool) -> None:
        """Make a transaction's offsets count, or drop them."""
        self.offsets.replay_transaction_end(producer_id, committed=committed)

    def loaded(self, now_ms: int) -> None:
        """Everything was replayed: members' sessions and the clean-up of offsets begin to run."""
        self.classic.loaded(now_ms)
        self.consumers.loaded(now_ms)
        schedule_expiry(self.offsets, self.partition)

    def unloaded(self) -> None:
        """Answer who waits."""
        self.classic.unloaded()

    # What the coordinator calls

    def metadata_changed(self, delta: MetadataDelta, now_ms: int) -> None:
        """Topics came, grew or went; what that makes of groups is brought about by timers."""
        self.consumers.metadata_changed(delta, now_ms)
        if delta.topics_deleted:
            schedule_drop(
                self.offsets, {topic.name: topic_id for topic_id, topic in delta.topics_deleted.items()}
            )
