"""What is wrong with a ConsumerGroupHeartbeat, before and after its member is known.

Texts are Apache Kafka's: they reach the logs of clients, where people search for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Final
from barnabas.coordinator.consumer.group import ConsumerGroup
from barnabas.coordinator.consumer.member import (
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    ConsumerGroupMember,
    PartitionEpochs,
)
from barnabas.coordinator.consumer.reconcile import OwnedPartitions
from barnabas.coordinator.groups.config import GroupConfig
from barnabas.protocol import messages

JOIN_EPOCH: Final = 0
_FIRST_VERSION_WITH_CLIENTS_MEMBER_ID: Final = 1


def check_heartbeat(
    request: messages.ConsumerGroupHeartbeatRequest, api_version: int, assignors: Sequence[str]
) -> None:
    """Let a request pass that makes sense whoever sent it.

    Raises:
        ApiError: INVALID_REQUEST, UNSUPPORTED_ASSIGNOR.
    """
    epoch = request.member_epoch
    if api_version >= _FIRST_VERSION_WITH_CLIENTS_MEMBER_ID or epoch > 0 or epoch == LEAVE_EPOCH:
        _check_text(request.member_id, "MemberId can't be empty.")
    _check_text(request.group_id, "GroupId can't be empty.")
    _check_text(request.instance_id, "InstanceId can't be empty.")
    _check_text(request.rack_id, "RackId can't be empty.")
    if epoch == JOIN_EPOCH:
        if request.rebalance_timeout_ms == -1:
            raise _invalid("RebalanceTimeoutMs must be provided in first request.")
        if request.topic_partitions is None or request.topic_partitions:
            raise _invalid("TopicPartitions must be empty when (re-)joining.")
        if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
            raise _invalid(
                "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
            )
    elif epoch == STATIC_LEAVE_EPOCH:
        if request.instance_id is None:
            raise _invalid("InstanceId can't be null.")
    elif epoch < STATIC_LEAVE_EPOCH:
        raise _invalid("MemberEpoch is invalid.")
    if request.server_assignor is not None and request.server_assignor not in assignors:
        raise ApiError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. "
            f"Supported assignors: {', '.join(assignors)}.",
        )


def _check_text(text: str | None, message: str) -> None:
    if text is not None and not text.strip():
        raise _invalid(message)


def _invalid(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, message)


def check_room(group: ConsumerGroup, config: GroupConfig, member_id: str, instance_id: str | None) -> None:
    """Let a member in that is in already, or for whom there is room.

    Raises:
        ApiError: GROUP_MAX_SIZE_REACHED.
    """
    if instance_id is not None and instance_id in group.static_members:
        return
    if len(group.members) >= config.group_consumer_max_size and member_id not in group.members:
        raise ApiError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            "The consumer group has reached its maximum capacity of "
            f"{config.group_consumer_max_size} members.",
        )


def check_epoch(member: ConsumerGroupMember, epoch: int, owned: OwnedPartitions | None) -> None:
    """Let a member go on that is in its epoch, or in the one before when the last answer was lost.

    The latter must not own more than it has been given, or it is an old client that lives on.

    Raises:
        ApiError: FENCED_MEMBER_EPOCH.
    """
    if epoch in (JOIN_EPOCH, member.member_epoch):
        return
    if epoch == member.previous_member_epoch < member.member_epoch and _is_within(owned, member.assigned):
        return
    relation = "greater" if epoch > member.member_epoch else "smaller"
    raise ApiError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {relation} member epoch ({epoch}) than the one known by the group "
        f"coordinator ({member.member_epoch}). The member must abandon all its partitions and rejoin.",
    )


def _is_within(owned: OwnedPartitions | None, assigned: PartitionEpochs) -> bool:
    nothing: Mapping[int, int] = {}
    return owned is not None and all(
        topic_id in assigned and all(partition in assigned.get(topic_id, nothing) for partition in partitions)
        for topic_id, partitions in owned.items()
    )


def check_released(existing: ConsumerGroupMember, member_id: str, instance_id: str) -> None:
    """Let a new client take an instance id over when the one before has left.

    Raises:
        ApiError: UNRELEASED_INSTANCE_ID.
    """
    if existing.member_epoch != STATIC_LEAVE_EPOCH:
        raise ApiError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} cannot join the group because the "
            f"instance id is owned by {existing.member_id} member.",
        )


def known_static_member(group: ConsumerGroup, member_id: str, instance_id: str) -> ConsumerGroupMember:
    """Return the static member that this client is.

    Raises:
        ApiError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
    """
    member = group.static_member(instance_id)
    if member is None:
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    check_not_fenced(member, member_id, instance_id)
    return member


def check_not_fenced(member: ConsumerGroupMember, member_id: str, instance_id: str) -> None:
    """Let a client go on that is the one which has its instance id.

    Raises:
        ApiError: FENCED_INSTANCE_ID.
    """
    if member.member_id != member_id:
        raise ApiError(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member "
            f"{member.member_id}.",
        )
