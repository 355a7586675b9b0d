"""Whether a member of a consumer group may commit offsets, and for which partitions.

A commit carries the member's epoch. The client may be an epoch behind when it commits, since the coordinator
moves it on with the answer to a heartbeat that is on its way. So an older epoch is good for those partitions
that the member has had since that epoch or before (KIP-1251): nobody else can have committed for them.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Final
from barnabas.coordinator.consumer.member import ConsumerGroupMember
from barnabas.coordinator.groups.group import OffsetCommitCheck

_FIRST_VERSION_WITH_MEMBER_EPOCH: Final = 9


def check_commit(
    members: Mapping[str, ConsumerGroupMember],
    group_id: str,
    member_id: str,
    instance_id: str | None,
    epoch: int,
    *,
    is_transactional: bool,
    api_version: int,
) -> OffsetCommitCheck | None:
    """Let a member commit; see `Group.check_offset_commit`."""
    if epoch < 0 and not members:
        return None  # the admin client, or a consumer that assigns partitions itself
    if is_transactional and epoch == -1 and not member_id and instance_id is None:
        return None  # a producer that does not tell the group's metadata
    member = members.get(member_id)
    if member is None:
        raise ApiError(
            ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group_id}."
        )
    if (
        not is_transactional
        and not member.uses_classic_protocol
        and api_version < _FIRST_VERSION_WITH_MEMBER_EPOCH
    ):
        raise ApiError(
            ErrorCode.UNSUPPORTED_VERSION,
            "OffsetCommit version 9 or above must be used by members using the consumer group protocol",
        )
    if epoch == member.member_epoch:
        return None
    if epoch > member.member_epoch:
        raise _stale(member, epoch, f"is newer than current member epoch {member.member_epoch}.")
    return _check_by_assignment_epoch(member, epoch)


def _check_by_assignment_epoch(member: ConsumerGroupMember, epoch: int) -> OffsetCommitCheck:
    def check(topic: str, topic_id: bytes, partition: int) -> None:
        since = member.assignment_epoch_of(topic_id, partition)
        if since is None:
            raise ApiError(
                _code(member),
                f"Partition {topic}-{partition} is not assigned or pending revocation for member.",
            )
        if epoch < since:
            raise _stale(
                member, epoch, f"is older than assignment epoch {since} for partition {topic}-{partition}."
            )

    return check


def _code(member: ConsumerGroupMember) -> ErrorCode:
    return ErrorCode.ILLEGAL_GENERATION if member.uses_classic_protocol else ErrorCode.STALE_MEMBER_EPOCH


def _stale(member: ConsumerGroupMember, epoch: int, what: str) -> ApiError:
    name = "generation id" if member.uses_classic_protocol else "member epoch"
    return ApiError(_code(member), f"Received {name} {epoch} {what}")
