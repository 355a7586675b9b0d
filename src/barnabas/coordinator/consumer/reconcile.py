"""Brings one member a step nearer to its target: give up first, take when others have let go (KIP-848).

A member moves alone, at its own heartbeats. It is told what to give up and stays in its epoch until it says
that it has; then it moves to the target's epoch and gets those of its partitions that nobody has. The rest it
gets later, when they are released. No moment exists in which all members must stand still, and at no moment
do two members have a partition.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from barnabas.base.dataclass import dataclass, replace
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Final
from barnabas.coordinator.assignors.assignments import Partitions
from barnabas.coordinator.consumer.member import (
    NO_PARTITIONS,
    ConsumerGroupMember,
    MemberState,
    PartitionEpochs,
)

_NONE: Final[Mapping[int, int]] = {}

OwnedPartitions = Mapping[bytes, Collection[int]]
"""What a client says it has, by topic id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What a member is to be brought to.

    Attributes:
        target_epoch: of the group's targets.
        topic_ids: existing topics that the member subscribes to now; the target may be older than that.
        subscription_changed: by this very request.
        partition_epoch: member epoch of whoever has a partition (topic id, partition); -1 when nobody has.
    """

    target_epoch: int
    target: Partitions
    topic_ids: frozenset[bytes]
    subscription_changed: bool
    partition_epoch: Callable[[bytes, int], int]


def reconcile(member: ConsumerGroupMember, goal: Goal, owned: OwnedPartitions | None) -> ConsumerGroupMember:
    """Return the member after its next step; the same one when there is none to take.

    Args:
        owned: from the request; None when it does not say, which confirms nothing.
    Raises:
        ApiError: FENCED_MEMBER_EPOCH, the member's state is of a newer broker and it still has partitions.
    """
    if member.state is MemberState.STABLE:
        if member.member_epoch != goal.target_epoch:
            return _next_assignment(member, goal, owned)
        return _without_unsubscribed(member, goal, owned) if goal.subscription_changed else member
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        if not _has_any(owned, member.pending_revocation):
            return _next_assignment(member, goal, owned)
        return _without_unsubscribed(member, goal, owned) if goal.subscription_changed else member
    if member.state is MemberState.UNRELEASED_PARTITIONS:
        return _next_assignment(member, goal, owned)
    if owned is None or owned:
        raise ApiError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            "The consumer group member is in a unknown state. "
            "The member must abandon all its partitions and rejoin.",
        )
    return _next_assignment(member, goal, owned)


def _has_any(owned: OwnedPartitions | None, partitions: PartitionEpochs) -> bool:
    """Whether a client may still have some of these."""
    if owned is None:
        return True
    return any(
        partition in partitions.get(topic_id, _NONE)
        for topic_id, numbers in owned.items()
        for partition in numbers
    )


def _moved(
    member: ConsumerGroupMember,
    epoch: int,
    state: MemberState,
    assigned: PartitionEpochs,
    pending: PartitionEpochs = NO_PARTITIONS,
) -> ConsumerGroupMember:
    return replace(
        member,
        member_epoch=epoch,
        previous_member_epoch=member.member_epoch,
        state=state,
        assigned=assigned,
        pending_revocation=pending,
    )


def _without_unsubscribed(
    member: ConsumerGroupMember, goal: Goal, owned: OwnedPartitions | None
) -> ConsumerGroupMember:
    """Take away topics that the member has just unsubscribed from, before there is a target that says so."""
    leaving = member.assigned.keys() - goal.topic_ids
    if not leaving:
        return member
    kept = {topic_id: epochs for topic_id, epochs in member.assigned.items() if topic_id not in leaving}
    pending = dict(member.pending_revocation)
    for topic_id in leaving:
        pending[topic_id] = {**pending.get(topic_id, {}), **member.assigned[topic_id]}
    if _has_any(owned, pending):
        return _moved(member, member.member_epoch, MemberState.UNREVOKED_PARTITIONS, kept, pending)
    return _moved(member, member.member_epoch, member.state, kept, member.pending_revocation)


def _next_assignment(
    member: ConsumerGroupMember, goal: Goal, owned: OwnedPartitions | None
) -> ConsumerGroupMember:
    """Give up what is not in the target; when that is done take what is free of it."""
    kept: dict[bytes, Mapping[int, int]] = {}
    revoked: dict[bytes, Mapping[int, int]] = {}
    free: dict[bytes, list[int]] = {}
    some_unreleased = False
    for topic_id in goal.target.keys() | member.assigned.keys():
        wanted = goal.target.get(topic_id, frozenset()) if topic_id in goal.topic_ids else frozenset()
        has = member.assigned.get(topic_id, _NONE)
        keeps = {partition: epoch for partition, epoch in has.items() if partition in wanted}
        if keeps:
            kept[topic_id] = keeps
        if len(keeps) < len(has):
            revoked[topic_id] = {
                partition: epoch for partition, epoch in has.items() if partition not in wanted
            }
        own = member.pending_revocation.get(topic_id, _NONE)
        for partition in wanted - has.keys():
            if goal.partition_epoch(topic_id, partition) == -1 or partition in own:
                free.setdefault(topic_id, []).append(partition)
            else:
                some_unreleased = True
    if revoked and _has_any(owned, revoked):
        return _moved(member, member.member_epoch, MemberState.UNREVOKED_PARTITIONS, kept, revoked)
    for topic_id, partitions in free.items():
        kept[topic_id] = {**kept.get(topic_id, {}), **dict.fromkeys(partitions, goal.target_epoch)}
    state = MemberState.UNRELEASED_PARTITIONS if some_unreleased else MemberState.STABLE
    return _moved(member, goal.target_epoch, state, kept)
