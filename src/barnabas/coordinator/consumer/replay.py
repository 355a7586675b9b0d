"""Replays the records of consumer groups: the one way in which these change.

Records come in the order they were written, but after compaction some are missing: tombstones of what never
came are passed over, and a group begins with whatever record of it comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from barnabas.base.hints import Any, Final
from barnabas.coordinator.classic.group import ClassicGroup
from barnabas.coordinator.consumer.group import NO_EPOCH, ConsumerGroup
from barnabas.coordinator.consumer.member import LEAVE_EPOCH, ConsumerGroupMember
from barnabas.coordinator.consumer.regex import ResolvedRegex
from barnabas.coordinator.groups.group import Group
from barnabas.protocol import messages
from barnabas.protocol.structures import Message

Groups = dict[str, Group]

_GROUP_EPOCH: Final = 3


def replay(groups: Groups, key: Any, value: Message | None) -> None:
    """Apply a record; its key is one of those with a group id and api key 3 to 8 or 16.

    Raises:
        ValueError: it contradicts what came before, so that the log cannot be of one history.
    """
    group = _group(groups, key.group_id, value)
    if group is None:
        return
    if value is None and key.api_key == _GROUP_EPOCH:
        _check_ended(group)
        del groups[group.group_id]
    else:
        _REPLAYS[key.api_key](group, key, value)


def _group(groups: Groups, group_id: str, value: Message | None) -> ConsumerGroup | None:
    """Return a group for one of its records; None when it is a tombstone for a group that is not there."""
    found = groups.get(group_id)
    if isinstance(found, ConsumerGroup):
        return found
    if found is None or (isinstance(found, ClassicGroup) and found.is_simple):
        if value is None:
            return None
        # Offsets of a group may come before it: what they made was a place to keep them.
        made = groups[group_id] = ConsumerGroup(group_id)
        return made
    if value is None:
        return None
    raise ValueError(f"group {group_id} is not a consumer group")


def _check_ended(group: ConsumerGroup) -> None:
    if group.members or group.targets or group.assignment_epoch != NO_EPOCH:
        raise ValueError(f"group {group.group_id} ends while it has members or targets")


def _replay_group_epoch(
    group: ConsumerGroup,
    key: messages.ConsumerGroupMetadataKey,  # noqa: ARG001
    value: messages.ConsumerGroupMetadataValue,
) -> None:
    group.set_group_epoch(value.epoch, value.metadata_hash)


def _replay_partition_metadata(
    group: ConsumerGroup,
    key: messages.ConsumerGroupPartitionMetadataKey,  # noqa: ARG001
    value: Message | None,
) -> None:
    group.has_partition_metadata_record = value is not None


def _replay_member(
    group: ConsumerGroup,
    key: messages.ConsumerGroupMemberMetadataKey,
    value: messages.ConsumerGroupMemberMetadataValue | None,
) -> None:
    member = group.members.get(key.member_id)
    if value is not None:
        member = member or ConsumerGroupMember(member_id=key.member_id)
        group.update_member(member.with_metadata(value))
    elif member is not None:
        if member.member_epoch != LEAVE_EPOCH or key.member_id in group.targets:
            raise ValueError(f"member {key.member_id} of group {key.group_id} ends while it has assignments")
        group.remove_member(key.member_id)


def _replay_target_epoch(
    group: ConsumerGroup,
    key: messages.ConsumerGroupTargetAssignmentMetadataKey,
    value: messages.ConsumerGroupTargetAssignmentMetadataValue | None,
) -> None:
    if value is not None:
        group.set_assignment_epoch(value.assignment_epoch, value.assignment_timestamp)
        return
    if group.targets:
        raise ValueError(f"the targets of group {key.group_id} end while some members have theirs")
    group.set_assignment_epoch(NO_EPOCH, 0)


def _replay_target(
    group: ConsumerGroup,
    key: messages.ConsumerGroupTargetAssignmentMemberKey,
    value: messages.ConsumerGroupTargetAssignmentMemberValue | None,
) -> None:
    if value is None:
        group.remove_target(key.member_id)
        return
    target = {bytes(topic.topic_id): frozenset(topic.partitions) for topic in value.topic_partitions}
    group.set_target(key.member_id, target)


def _replay_current_assignment(
    group: ConsumerGroup,
    key: messages.ConsumerGroupCurrentMemberAssignmentKey,
    value: messages.ConsumerGroupCurrentMemberAssignmentValue | None,
) -> None:
    member = group.members.get(key.member_id)
    if value is not None:
        member = member or ConsumerGroupMember(member_id=key.member_id)
        group.update_member(member.with_current_assignment(value))
    elif member is not None:
        group.update_member(member.without_current_assignment())


def _replay_regex(
    group: ConsumerGroup,
    key: messages.ConsumerGroupRegularExpressionKey,
    value: messages.ConsumerGroupRegularExpressionValue | None,
) -> None:
    resolved = None
    if value is not None:
        resolved = ResolvedRegex(
            topics=frozenset(value.topics), version=value.version, resolved_at_ms=value.timestamp
        )
    group.set_regex(key.regular_expression, resolved)


_REPLAYS: Final[Mapping[int, Callable[[ConsumerGroup, Any, Any], None]]] = MappingProxyType(
    {
        _GROUP_EPOCH: _replay_group_epoch,
        4: _replay_partition_metadata,
        5: _replay_member,
        6: _replay_target_epoch,
        7: _replay_target,
        8: _replay_current_assignment,
        16: _replay_regex,
    }
)
