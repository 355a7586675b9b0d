"""Members of the classic protocol in a consumer group: their JoinGroup, SyncGroup, Heartbeat and LeaveGroup.

To such a client the group looks like a classic one in which it never leads. A heartbeat that answers
REBALANCE_IN_PROGRESS makes it give up what it must and join again; JoinGroup takes the step that a heartbeat
of the new protocol would take, at once and without waiting for others; SyncGroup tells its partitions. Its
generation is its member epoch. So consumers of both protocols share a group while it is being upgraded.
"""

from __future__ import annotations

from barnabas.base.dataclass import replace
from barnabas.base.errors import ApiError, DecodeError, ErrorCode
from barnabas.base.hints import TYPE_CHECKING, Final
from barnabas.base.logger import Logger
from barnabas.base.uuids import random_uuid, uuid_text
from barnabas.coordinator.consumer.checks import check_not_fenced, check_room, known_static_member
from barnabas.coordinator.consumer.core import JOIN, SYNC
from barnabas.coordinator.consumer.group import ConsumerGroup
from barnabas.coordinator.consumer.heartbeat import replace_static_member
from barnabas.coordinator.consumer.member import (
    ClassicMetadata,
    ClassicProtocol,
    ConsumerGroupMember,
    MemberState,
)
from barnabas.coordinator.consumer.migration import (
    allows_classic_members,
    downgrade,
    held,
    may_downgrade_for,
    staying,
)
from barnabas.coordinator.consumer.resolution import RegexChange, note_regex
from barnabas.coordinator.consumer.update import ConsumerGroupUpdate
from barnabas.coordinator.groups.consumer_protocol import (
    CONSUMER_PROTOCOL_TYPE,
    named,
    protocol_version,
    read_subscription,
    write_assignment,
)
from barnabas.coordinator.groups.group import GroupClient
from barnabas.coordinator.runtime.outcome import CoordinatorRecord, Outcome
from barnabas.protocol import messages

if TYPE_CHECKING:
    from barnabas.coordinator.consumer.core import ConsumerGroupCore
    from barnabas.metadata.image import MetadataImage

_log = Logger(__name__)

_FIRST_WITH_MEMBER_ID_REQUIRED: Final = 4


def join(
    core: ConsumerGroupCore,
    client: GroupClient,
    request: messages.JoinGroupRequest,
    api_version: int,
    now_ms: int,
) -> Outcome[messages.JoinGroupResponse]:
    """Answer a JoinGroup to a consumer group that has members.

    Raises:
        ApiError: INCONSISTENT_GROUP_PROTOCOL, GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
    """
    group = core.group(request.group_id)
    config = core.config(group.group_id)
    if not allows_classic_members(config):
        raise _inconsistent(
            f"Cannot join the consumer group {group.group_id} with the classic protocol because the group "
            "migration is disabled."
        )
    instance_id = request.group_instance_id
    member_id = request.member_id or uuid_text(random_uuid(core.context.entropy))
    check_room(group, config, member_id, instance_id)
    _check_protocols(group, member_id, request)
    if not request.member_id and instance_id is None and api_version >= _FIRST_WITH_MEMBER_ID_REQUIRED:
        return Outcome(
            response=messages.JoinGroupResponse(member_id=member_id, error_code=ErrorCode.MEMBER_ID_REQUIRED)
        )
    made: list[CoordinatorRecord] = []
    replaced = group.static_member(instance_id)
    before = _find_member(group, member_id, request, made)
    subscription = _subscription(request)
    member = _joined(before, client, request, subscription)
    update = ConsumerGroupUpdate(core, group, before, member, made, now_ms)
    names_changed = update.note_member()
    changed = note_regex(core, update, now_ms) is not RegexChange.NONE or names_changed
    update.raise_epoch(bump=changed)
    owned = {
        core.context.image.topics[topic.topic].topic_id: topic.partitions
        for topic in subscription.owned_partitions
        if topic.topic in core.context.image.topics
    }
    if may_downgrade_for(group, replaced, config):
        assert replaced is not None
        return _join_downgraded(core, update, replaced, changed, owned, now_ms)
    epoch, target = update.find_target()
    update.move_member(epoch, target, subscription_changed=changed, owned=owned)
    return Outcome(
        records=made,
        response=_response(update.member),
        appended=lambda error: _start_sync(core, group.group_id, update.member, error),
    )


def _join_downgraded(  # noqa: PLR0917
    core: ConsumerGroupCore,
    update: ConsumerGroupUpdate,
    replaced: ConsumerGroupMember,
    changed: bool,
    owned: dict[bytes, list[int]],
    now_ms: int,
) -> Outcome[messages.JoinGroupResponse]:
    """A static member was the last of the new protocol, and comes back with the classic one."""
    group = update.group
    epoch = group.assignment_epoch
    reason = None
    if epoch < update.group_epoch:
        reason = "its assignment is stale"
    else:
        target = group.target(replaced.member_id)
        update.move_member(epoch, target, subscription_changed=changed, owned=owned)
    member = update.member
    stay = [*staying(group, [replaced]), (member, held(member))]
    if reason is None and not all(one.is_reconciled_to(epoch) for one, _ in stay):
        reason = "its members are not reconciled"
    ids = [member.member_id if name == replaced.member_id else name for name in group.members]
    outcome = downgrade(
        core,
        group,
        [*update.records, *group.tombstones_for(ids)],
        stay,
        now_ms,
        reason=reason,
    )
    return replace(outcome, response=_response(member))


def _inconsistent(message: str) -> ApiError:
    _log.info("%r", message)
    return ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, message)


def _check_protocols(group: ConsumerGroup, member_id: str, request: messages.JoinGroupRequest) -> None:
    """Let in who speaks a protocol that all classic members speak, and that of consumers."""
    everybody = group.classic_member_count
    fits = request.protocol_type == CONSUMER_PROTOCOL_TYPE and any(
        group.classic_protocols.get(protocol.name) == everybody for protocol in request.protocols
    )
    if not fits:
        raise _inconsistent(f"Member {member_id}'s protocols are not supported.")


def _find_member(
    group: ConsumerGroup,
    member_id: str,
    request: messages.JoinGroupRequest,
    made: list[CoordinatorRecord],
) -> ConsumerGroupMember:
    instance_id = request.group_instance_id
    if instance_id is not None and request.member_id:
        return known_static_member(group, member_id, instance_id)
    existing = group.static_member(instance_id)
    if existing is not None:
        return replace_static_member(group, existing, member_id, made)
    return group.members.get(member_id) or ConsumerGroupMember(member_id=member_id)


def _subscription(request: messages.JoinGroupRequest) -> messages.ConsumerProtocolSubscription:
    try:
        return read_subscription(bytes(request.protocols[0].metadata))
    except DecodeError:
        raise _inconsistent("Malformed embedded consumer protocol in subscription deserialization.") from None


def _joined(
    before: ConsumerGroupMember,
    client: GroupClient,
    request: messages.JoinGroupRequest,
    subscription: messages.ConsumerProtocolSubscription,
) -> ConsumerGroupMember:
    """Return the member with what its JoinGroup says."""
    timeout_ms = request.rebalance_timeout_ms
    return replace(
        before,
        instance_id=before.instance_id if request.group_instance_id is None else request.group_instance_id,
        rack_id=subscription.rack_id or before.rack_id,
        rebalance_timeout_ms=before.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        subscribed_topic_names=frozenset(subscription.topics),
        subscribed_topic_regex="",
        client_id=client.client_id,
        client_host=client.host,
        classic=ClassicMetadata(
            session_timeout_ms=request.session_timeout_ms,
            protocols=tuple(
                ClassicProtocol(name=protocol.name, metadata=bytes(protocol.metadata))
                for protocol in request.protocols
            ),
        ),
    )


def _response(member: ConsumerGroupMember) -> messages.JoinGroupResponse:
    return messages.JoinGroupResponse(
        member_id=member.member_id,
        generation_id=member.member_epoch,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocol_name=_classic(member).protocols[0].name,
    )


def _classic(member: ConsumerGroupMember) -> ClassicMetadata:
    """Return what a member of the classic protocol has.

    Raises:
        ApiError: UNKNOWN_MEMBER_ID, it uses the new one.
    """
    if member.classic is None:
        raise ApiError(
            ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member.member_id} does not use the classic protocol."
        )
    return member.classic


def _start_sync(
    core: ConsumerGroupCore, group_id: str, member: ConsumerGroupMember, error: ApiError | None
) -> None:
    """The member has joined: it lives, and has its rebalance timeout to fetch its assignment in."""
    if error is not None:
        return
    member_id = member.member_id
    core.context.timers.cancel((JOIN, group_id, member_id))
    core.start_session(group_id, member_id, _classic(member).session_timeout_ms)
    core.fence_after(SYNC, group_id, member_id, member.rebalance_timeout_ms, "it did not sync in time")


# Members that are in


def _known_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation_id: int
) -> ConsumerGroupMember:
    """Return the classic member that a request is of.

    Raises:
        ApiError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION.
    """
    if instance_id is None:
        member = group.member(member_id)
    else:
        found = group.static_member(instance_id)
        if found is None:
            raise ApiError(
                ErrorCode.UNKNOWN_MEMBER_ID,
                f"Member with instance id {instance_id} is not a member of group {group.group_id}.",
            )
        check_not_fenced(found, member_id, instance_id)
        member = found
    _classic(member)
    if member.member_epoch != generation_id:
        raise ApiError(
            ErrorCode.ILLEGAL_GENERATION,
            f"The request generation id {generation_id} is not equal to the member epoch "
            f"{member.member_epoch} of member {member.member_id}.",
        )
    return member


def sync(core: ConsumerGroupCore, request: messages.SyncGroupRequest) -> Outcome[messages.SyncGroupResponse]:
    """Tell a classic member its partitions.

    Raises:
        ApiError: as `_known_member`, INCONSISTENT_GROUP_PROTOCOL, REBALANCE_IN_PROGRESS.
    """
    group = core.group(request.group_id)
    member = _known_member(group, request.member_id, request.group_instance_id, request.generation_id)
    classic = _classic(member)
    joined_with = classic.protocols[0].name
    if request.protocol_type not in (None, CONSUMER_PROTOCOL_TYPE):
        raise _inconsistent(
            f"The protocol type {request.protocol_type} from member {member.member_id} request is not equal "
            f"to the group protocol type {CONSUMER_PROTOCOL_TYPE}."
        )
    if request.protocol_name not in (None, joined_with):
        raise _inconsistent(
            f"The protocol name {request.protocol_name} from member {member.member_id} request is not equal "
            f"to the protocol name {joined_with} returned in the join response."
        )
    if group.assignment_epoch > member.member_epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
        _expect_join(core, group.group_id, member)
        raise ApiError(
            ErrorCode.REBALANCE_IN_PROGRESS,
            f"A new rebalance is triggered in group {group.group_id} and member {member.member_id} should "
            "rejoin to catch up.",
        )
    core.context.timers.cancel((SYNC, group.group_id, member.member_id))
    core.start_session(group.group_id, member.member_id, classic.session_timeout_ms)
    return Outcome(
        response=messages.SyncGroupResponse(
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignment=_assignment(member, core.context.image),
        )
    )


def _assignment(member: ConsumerGroupMember, image: MetadataImage) -> bytes:
    version = protocol_version(_classic(member).protocols[0].metadata)
    return write_assignment(named(member.assigned, image), version)


def _expect_join(core: ConsumerGroupCore, group_id: str, member: ConsumerGroupMember) -> None:
    """Give a member its rebalance timeout to join again, from the first time it is told to."""
    if not core.context.timers.is_scheduled((JOIN, group_id, member.member_id)):
        core.fence_after(
            JOIN, group_id, member.member_id, member.rebalance_timeout_ms, "it did not join again in time"
        )


def heartbeat(
    core: ConsumerGroupCore, request: messages.HeartbeatRequest
) -> Outcome[messages.HeartbeatResponse]:
    """Keep a classic member alive, and tell it when there is a step for it to take.

    Raises:
        ApiError: as `_known_member`.
    """
    group = core.group(request.group_id)
    member = _known_member(group, request.member_id, request.group_instance_id, request.generation_id)
    core.start_session(group.group_id, member.member_id, _classic(member).session_timeout_ms)
    should_join = (
        member.member_epoch < group.assignment_epoch
        or member.state is MemberState.UNREVOKED_PARTITIONS
        or (member.state is MemberState.UNRELEASED_PARTITIONS and not group.waits_for_others(member))
    )
    if not should_join:
        return Outcome(response=messages.HeartbeatResponse())
    _expect_join(core, group.group_id, member)
    return Outcome(response=messages.HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))


def leave(
    core: ConsumerGroupCore, request: messages.LeaveGroupRequest, now_ms: int
) -> Outcome[messages.LeaveGroupResponse]:
    """Remove members of either protocol, each with its own answer; so do tools."""
    group = core.group(request.group_id)
    leaving: dict[str, ConsumerGroupMember] = {}
    responses = []
    for identity in request.members:
        error_code = ErrorCode.NONE
        try:
            member = _leaving(group, identity)
        except ApiError as error:
            error_code = error.code
        else:
            leaving[member.member_id] = member
            _log.info("group %r: member %r leaves (%r)", group.group_id, member.member_id, identity.reason)
        responses.append(
            messages.LeaveGroupResponseMemberResponse(
                member_id=identity.member_id,
                group_instance_id=identity.group_instance_id,
                error_code=error_code,
            )
        )
    response = messages.LeaveGroupResponse(members=responses)
    return replace(core.remove_members(group, list(leaving.values()), now_ms), response=response)


def _leaving(group: ConsumerGroup, identity: messages.LeaveGroupRequestMemberIdentity) -> ConsumerGroupMember:
    if identity.group_instance_id is None:
        return group.member(identity.member_id)
    if identity.member_id:
        return known_static_member(group, identity.member_id, identity.group_instance_id)
    member = group.static_member(identity.group_instance_id)
    if member is None:
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {identity.group_instance_id} is unknown.")
    return member
