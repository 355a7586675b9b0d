"""Groups that change between the classic and the consumer protocol while they run (KIP-848).

A stable classic group of consumers becomes a consumer group when the first consumer of the new protocol
joins: its members stay in, with the partitions they have, and go on speaking the classic protocol to it
(`consumer/classic.py`). When the last consumer of the new protocol is gone it becomes a classic group
again, and the members that are left rebalance among themselves: its record says what they have, not what
they were to have, which others may still have. `group.consumer.migration.policy` says which
of both may happen.

Either way one batch ends the group of one kind and begins that of the other, so that no crash leaves half of
each.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from barnabas.base.errors import ApiError, DecodeError, ErrorCode
from barnabas.base.hints import TYPE_CHECKING, Any
from barnabas.base.logger import Logger
from barnabas.coordinator.assignors.assignments import Partitions
from barnabas.coordinator.classic.group import ClassicGroup, ClassicGroupState, ClassicMember
from barnabas.coordinator.classic.records import generation_record
from barnabas.coordinator.consumer import records
from barnabas.coordinator.consumer.group import ConsumerGroup
from barnabas.coordinator.consumer.member import (
    ClassicMetadata,
    ClassicProtocol,
    ConsumerGroupMember,
)
from barnabas.coordinator.groups.config import GroupConfig
from barnabas.coordinator.groups.consumer_protocol import (
    CONSUMER_PROTOCOL_TYPE,
    named,
    protocol_version,
    read_assignment,
    read_subscription,
    write_assignment,
)
from barnabas.coordinator.runtime.outcome import CoordinatorRecord, Outcome
from barnabas.metadata.image import MetadataImage
from barnabas.protocol import messages

if TYPE_CHECKING:
    from barnabas.coordinator.consumer.core import ConsumerGroupCore

_log = Logger(__name__)


def allows_upgrade(config: GroupConfig) -> bool:
    """Whether classic groups may become consumer groups."""
    return config.group_consumer_migration_policy.lower() in ("upgrade", "bidirectional")


def allows_downgrade(config: GroupConfig) -> bool:
    """Whether consumer groups may become classic groups."""
    return config.group_consumer_migration_policy.lower() in ("downgrade", "bidirectional")


def allows_classic_members(config: GroupConfig) -> bool:
    """Whether a consumer of the classic protocol may join a consumer group."""
    return config.group_consumer_migration_policy.lower() != "disabled"


# Classic to consumer


def upgrade(core: ConsumerGroupCore, classic: ClassicGroup, made: list[CoordinatorRecord]) -> ConsumerGroup:
    """Return what a classic group becomes, and add the records that say so to `made`.

    Raises:
        ApiError: GROUP_ID_NOT_FOUND, it may not.
    """
    config = core.config(classic.group_id)
    if not allows_upgrade(config):
        raise _cannot_upgrade(classic, "because online upgrade is disabled.")
    if not classic.speaks_consumer_protocol:
        raise _cannot_upgrade(classic, "because the group does not use the consumer embedded protocol.")
    if len(classic.members) > config.group_consumer_max_size:
        raise _cannot_upgrade(classic, "because the group size exceeds the consumer group maximum size.")
    group = ConsumerGroup(classic.group_id)
    epoch = classic.generation_id
    protocol = classic.protocol_name or classic.select_protocol()
    for member in classic.members.values():
        try:
            target = _target_of(member, core.context.image)
            group.update_member(_consumer_member(member, protocol, epoch, target))
        except DecodeError:
            raise _cannot_upgrade(classic, "because the embedded consumer protocol is malformed.") from None
        if target is None:
            raise _cannot_upgrade(
                classic,
                "because an unsupported custom assignor is in use. Please refer to the documentation or "
                "switch to a default assignor before re-attempting the upgrade.",
            )
        group.set_target(member.member_id, target)
    group.set_group_epoch(epoch, core.topics.metadata_hash(group.subscriptions.topics))
    group.set_assignment_epoch(epoch, 0)
    made.extend(classic.tombstones())
    made.extend(_all_records(group))
    for member in classic.members.values():
        core.start_session(group.group_id, member.member_id, member.session_timeout_ms)
    _log.info("group %r becomes a consumer group", group.group_id)
    return group


def _cannot_upgrade(classic: ClassicGroup, reason: str) -> ApiError:
    _log.info("group %r cannot become a consumer group %s", classic.group_id, reason)
    return ApiError(
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Cannot upgrade classic group {classic.group_id} to consumer group {reason}",
    )


def _target_of(member: ClassicMember, image: MetadataImage) -> Partitions | None:
    """Return what a leader gave to a member; None when it also gave data, which would be lost."""
    if not member.assignment:
        return {}
    assignment = read_assignment(member.assignment)
    if assignment.user_data:
        return None
    return {
        image.topics[topic.topic].topic_id: frozenset(topic.partitions)
        for topic in assignment.assigned_partitions
        if topic.topic in image.topics and topic.partitions
    }


def _consumer_member(
    member: ClassicMember, protocol: str, epoch: int, target: Partitions | None
) -> ConsumerGroupMember:
    subscription = read_subscription(member.metadata(protocol))
    return ConsumerGroupMember(
        member_id=member.member_id,
        member_epoch=epoch,
        previous_member_epoch=epoch,
        instance_id=member.group_instance_id,
        rack_id=subscription.rack_id or None,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=frozenset(subscription.topics),
        assigned={topic_id: dict.fromkeys(numbers, epoch) for topic_id, numbers in (target or {}).items()},
        classic=ClassicMetadata(
            session_timeout_ms=member.session_timeout_ms,
            protocols=tuple(
                ClassicProtocol(name=name, metadata=bytes(metadata)) for name, metadata in member.protocols
            ),
        ),
    )


def _all_records(group: ConsumerGroup) -> list[CoordinatorRecord]:
    group_id = group.group_id
    members = group.members.values()
    return [
        *(records.member_record(group_id, member) for member in members),
        records.group_epoch_record(group_id, group.group_epoch, group.metadata_hash),
        *(records.target_record(group_id, name, group.target(name)) for name in group.members),
        records.target_epoch_record(group_id, group.assignment_epoch, group.assigned_at_ms),
        *(records.current_assignment_record(group_id, member) for member in members),
    ]


# Consumer to classic


def may_downgrade(
    group: ConsumerGroup, leaving: Collection[ConsumerGroupMember], config: GroupConfig
) -> bool:
    """Whether without some members only classic ones are left, and the group may become classic for it."""
    left = len(group.members) - len(leaving)
    classic_left = group.classic_member_count - sum(member.uses_classic_protocol for member in leaving)
    return 0 < left == classic_left and _fits_classic(group, left, config)


def may_downgrade_for(
    group: ConsumerGroup, replaced: ConsumerGroupMember | None, config: GroupConfig
) -> bool:
    """Whether the group may become classic when a classic member takes the place of a static one."""
    return (
        replaced is not None
        and not replaced.uses_classic_protocol
        and group.classic_member_count == len(group.members) - 1
        and _fits_classic(group, len(group.members), config)
    )


def _fits_classic(group: ConsumerGroup, member_count: int, config: GroupConfig) -> bool:
    if not allows_downgrade(config):
        _log.info("group %r stays a consumer group: online downgrade is disabled", group.group_id)
        return False
    if member_count > config.group_max_size:
        _log.info("group %r stays a consumer group: it is larger than group.max.size", group.group_id)
        return False
    return True


def staying(
    group: ConsumerGroup, leaving: Collection[ConsumerGroupMember]
) -> list[tuple[ConsumerGroupMember, Partitions]]:
    """Return the members that stay, each with what it has."""
    gone = {member.member_id for member in leaving}
    return [(member, held(member)) for member in group.members.values() if member.member_id not in gone]


def held(member: ConsumerGroupMember) -> Partitions:
    """Return what a member has: to keep, or to give up."""
    assigned, pending = member.assigned, member.pending_revocation
    return {
        topic_id: frozenset(assigned.get(topic_id, ())) | frozenset(pending.get(topic_id, ()))
        for topic_id in assigned.keys() | pending.keys()
    }


def downgrade(
    core: ConsumerGroupCore,
    group: ConsumerGroup,
    made: Sequence[CoordinatorRecord],
    members: Sequence[tuple[ConsumerGroupMember, Partitions]],
    now_ms: int,
    *,
    reason: str | None,
) -> Outcome[Any]:
    """Return what makes a classic group of a consumer group.

    Args:
        made: records that end the consumer group.
        members: those of the classic group with what they have; all of the classic protocol.
        reason: why they rebalance at once; None when they need not.
    Raises:
        ApiError: GROUP_ID_NOT_FOUND, a member's subscription cannot be read.
    """
    classic = ClassicGroup(group.group_id, core.context.clock, state=ClassicGroupState.STABLE)
    for member, _ in members:
        classic.add(_classic_member(member))
    classic.generation_id = group.group_epoch
    classic.protocol_name = classic.select_protocol()
    classic.state_since_ms = now_ms
    described = []
    for member, has in members:
        try:
            described.append(
                _described(classic.members[member.member_id], classic.protocol_name, has, core.context.image)
            )
        except DecodeError as error:
            raise ApiError(
                ErrorCode.GROUP_ID_NOT_FOUND,
                f"Cannot downgrade the classic group {group.group_id}: {error}.",
            ) from None
    member_ids = list(group.members)  # by the replay they are gone
    _log.info("group %r becomes a classic group", group.group_id)
    return Outcome(
        records=[*made, generation_record(classic, described, classic.leader_id)],
        replayed=lambda: _resume_classic(core, group.group_id, member_ids, reason, now_ms),
    )


def _classic_member(member: ConsumerGroupMember) -> ClassicMember:
    assert member.classic is not None
    return ClassicMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=member.classic.session_timeout_ms,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocols=[(protocol.name, protocol.metadata) for protocol in member.classic.protocols],
    )


def _described(
    member: ClassicMember, protocol: str, has: Partitions, image: MetadataImage
) -> messages.GroupMetadataValueMemberMetadata:
    subscription = member.metadata(protocol)
    return messages.GroupMetadataValueMemberMetadata(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout=member.rebalance_timeout_ms,
        session_timeout=member.session_timeout_ms,
        subscription=subscription,
        assignment=write_assignment(named(has, image), protocol_version(subscription)),
    )


def _resume_classic(
    core: ConsumerGroupCore, group_id: str, member_ids: list[str], reason: str | None, now_ms: int
) -> None:
    """Let the classic group live that the records have made, and rebalance.

    That begins before they are committed: the group that they tell of is stable, and nobody would read what
    its members do not have until somebody else comes.
    """
    for member_id in member_ids:
        core.cancel_timers(group_id, member_id)
    classic = core.groups.get(group_id)
    if not isinstance(classic, ClassicGroup):
        return  # its record could not be replayed
    core.classic.resume(classic)
    if reason is not None:
        core.classic.prepare_rebalance(classic, f"downgraded from a consumer group: {reason}", now_ms)
