"""The one record that classic groups have, GroupMetadata: made of a group, and turned back into one.

It is written when a group is made, when the leader's assignment comes in, when a static member comes back
under a new id, and when nobody is left. Members that join or leave in between are not in it: after a restart
the sessions of those that are gone run out, and newcomers find the coordinator and join again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from barnabas.base.clock import Clock
from barnabas.base.hints import Final
from barnabas.coordinator.classic.group import ClassicGroup, ClassicGroupState, ClassicMember
from barnabas.coordinator.runtime.outcome import CoordinatorRecord
from barnabas.protocol import messages

VALUE_VERSION: Final = 3
"""What Apache Kafka 4.4 writes; 4 only makes the record flexible."""


def new_group_record(group: ClassicGroup) -> CoordinatorRecord:
    """Return what says that a group exists; its first members are not agreed on anything yet."""
    return _record(
        group.group_id,
        messages.GroupMetadataValue(
            protocol_type="",
            generation=0,
            protocol=None,
            leader=None,
            current_state_timestamp=group.state_since_ms,
            members=[],
        ),
    )


def empty_group_record(group: ClassicGroup, now_ms: int) -> CoordinatorRecord:
    """Return what says that nobody is left, which is a generation of its own; offsets expire from now on."""
    return _record(
        group.group_id,
        messages.GroupMetadataValue(
            protocol_type=group.protocol_type,
            generation=group.generation_id + 1,
            protocol=None,
            leader=None,
            current_state_timestamp=now_ms,
            members=[],
        ),
    )


def generation_record(
    group: ClassicGroup, members: Sequence[messages.GroupMetadataValueMemberMetadata], leader: str | None
) -> CoordinatorRecord:
    """Return what says who got what in the present generation."""
    return _record(
        group.group_id,
        messages.GroupMetadataValue(
            protocol_type=group.protocol_type,
            generation=group.generation_id,
            protocol=group.protocol_name,
            leader=leader,
            current_state_timestamp=group.state_since_ms,
            members=list(members),
        ),
    )


def assigned_members(
    group: ClassicGroup, assignments: Mapping[str, bytes]
) -> list[messages.GroupMetadataValueMemberMetadata]:
    """Return all members with what each is assigned by its id; nothing when that is missing."""
    return [
        member_metadata(group, member, assignments.get(name, b"")) for name, member in group.members.items()
    ]


def member_metadata(
    group: ClassicGroup, member: ClassicMember, assignment: bytes
) -> messages.GroupMetadataValueMemberMetadata:
    """Return a member as records know it: of its protocols only the selected one."""
    return messages.GroupMetadataValueMemberMetadata(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout=member.rebalance_timeout_ms,
        session_timeout=member.session_timeout_ms,
        subscription=member.metadata(group.protocol_name or ""),
        assignment=assignment,
    )


def group_of_record(group_id: str, value: messages.GroupMetadataValue, clock: Clock) -> ClassicGroup:
    """Return the group that a record tells of: Stable, or Empty without members."""
    state = ClassicGroupState.STABLE if value.members else ClassicGroupState.EMPTY
    group = ClassicGroup(group_id, clock, state=state)
    group.generation_id = value.generation
    group.protocol_type = value.protocol_type
    group.protocol_name = value.protocol
    group.state_since_ms = value.current_state_timestamp
    for told in value.members:
        group.add(_member_of_record(told, value))
    if value.leader in group.members:
        group.leader_id = value.leader
    group.note_subscriptions()
    return group


def _member_of_record(
    told: messages.GroupMetadataValueMemberMetadata, value: messages.GroupMetadataValue
) -> ClassicMember:
    # Records before version 1 have no rebalance timeout: it was the session's then.
    rebalance_timeout_ms = told.session_timeout if told.rebalance_timeout < 0 else told.rebalance_timeout
    return ClassicMember(
        member_id=told.member_id,
        group_instance_id=told.group_instance_id,
        client_id=told.client_id,
        client_host=told.client_host,
        rebalance_timeout_ms=rebalance_timeout_ms,
        session_timeout_ms=told.session_timeout,
        protocol_type=value.protocol_type,
        protocols=((value.protocol or "", bytes(told.subscription)),),
        assignment=bytes(told.assignment),
    )


def _record(group_id: str, value: messages.GroupMetadataValue) -> CoordinatorRecord:
    return CoordinatorRecord(
        key=messages.GroupMetadataKey(group=group_id), value=value, value_version=VALUE_VERSION
    )
