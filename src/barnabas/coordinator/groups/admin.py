"""What administrators ask of the groups of one shard, whatever their protocol: list, describe, delete.

Consumer groups are described in `consumer/groups.py`, by an API of their own.
"""

from __future__ import annotations

from collections.abc import Collection

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Final
from barnabas.coordinator.classic.group import ClassicGroup, ClassicGroupState
from barnabas.coordinator.groups.shard import GroupShard
from barnabas.coordinator.runtime.outcome import CoordinatorRecord, Outcome
from barnabas.protocol import messages

_DEAD: Final = ClassicGroupState.DEAD.value


def list_groups(
    shard: GroupShard, states: Collection[str], types: Collection[str]
) -> list[messages.ListGroupsResponseListedGroup]:
    """Return the groups in one of these states and of one of these types.

    Args:
        states, types: in lower case; empty for all.
    """
    listed = []
    for group in shard.groups.values():
        state, kind = group.state_name, str(group.type.value).lower()
        if (not states or state.lower() in states) and (not types or kind in types):
            listed.append(
                messages.ListGroupsResponseListedGroup(
                    group_id=group.group_id,
                    protocol_type=group.protocol_type,
                    group_state=state,
                    group_type=kind,
                )
            )
    return listed


def describe_classic_group(shard: GroupShard, group_id: str) -> messages.DescribeGroupsResponseDescribedGroup:
    """Return state and members of a classic group.

    What a member said when it joined belongs to a protocol, which is chosen for one generation: it is told
    while the group is stable only.

    Raises:
        ApiError: GROUP_ID_NOT_FOUND.
    """
    group = shard.groups.get(group_id)
    if group is None:
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
    if not isinstance(group, ClassicGroup):
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a classic group.")
    is_stable = group.state is ClassicGroupState.STABLE
    protocol = (group.protocol_name or "") if is_stable else ""
    return messages.DescribeGroupsResponseDescribedGroup(
        group_id=group_id,
        group_state=group.state_name,
        protocol_type=group.protocol_type,
        protocol_data=protocol,
        members=[
            messages.DescribeGroupsResponseDescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata(protocol) if is_stable else b"",
                member_assignment=member.assignment,
            )
            for member in group.members.values()
        ],
    )


def dead_group(group_id: str, error: ApiError | None) -> messages.DescribeGroupsResponseDescribedGroup:
    """Return how a group is described that is not there, as an error or as a group without members."""
    described = messages.DescribeGroupsResponseDescribedGroup(group_id=group_id, group_state=_DEAD)
    if error is not None:
        described.error_code = error.code
        described.error_message = error.message
    return described


def delete_group(
    shard: GroupShard, group_id: str
) -> Outcome[messages.DeleteGroupsResponseDeletableGroupResult]:
    """Forget a group and everything it committed.

    Raises:
        ApiError: NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND.
    """
    group = shard.group(group_id)
    group.check_delete()
    return Outcome(
        records=[*_offset_tombstones(shard, group_id), *group.tombstones()],
        response=messages.DeleteGroupsResponseDeletableGroupResult(group_id=group_id),
    )


def _offset_tombstones(shard: GroupShard, group_id: str) -> list[CoordinatorRecord]:
    committed = shard.offsets.committed.by_group.get(group_id, {})
    partitions = {(topic, partition) for topic, numbers in committed.items() for partition in numbers}
    partitions.update(shard.offsets.pending.partitions(group_id))
    return [
        CoordinatorRecord(
            key=messages.OffsetCommitKey(group=group_id, topic=topic, partition=partition), value=None
        )
        for topic, partition in sorted(partitions)
    ]
