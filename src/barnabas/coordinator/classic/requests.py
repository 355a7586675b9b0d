"""SyncGroup, Heartbeat and LeaveGroup: what members of a classic group do once they have joined."""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Final
from barnabas.base.logger import Logger
from barnabas.coordinator.classic.group import ClassicGroup, ClassicGroupState, ClassicMember, told_ids
from barnabas.coordinator.classic.rebalance import ClassicRebalances, assignment_response
from barnabas.coordinator.classic.records import assigned_members, generation_record
from barnabas.coordinator.classic.sessions import NOTHING
from barnabas.coordinator.runtime.outcome import Outcome, Reply
from barnabas.protocol import messages

_log = Logger(__name__)

_EMPTY: Final = ClassicGroupState.EMPTY
_PREPARING: Final = ClassicGroupState.PREPARING_REBALANCE
_COMPLETING: Final = ClassicGroupState.COMPLETING_REBALANCE
_STABLE: Final = ClassicGroupState.STABLE
_DEAD: Final = ClassicGroupState.DEAD

_FIRST_WITH_PROTOCOL: Final = 5


def sync(
    group: ClassicGroup,
    rebalances: ClassicRebalances,
    request: messages.SyncGroupRequest,
    api_version: int,
    reply: Reply[messages.SyncGroupResponse],
) -> Outcome[messages.SyncGroupResponse]:
    """Give a member its assignment, at once or when the leader's is in the log; take the leader's."""
    error_code = _check_sync(group, request, api_version)
    if error_code is ErrorCode.NONE and group.state is _PREPARING:
        error_code = ErrorCode.REBALANCE_IN_PROGRESS
    if error_code is not ErrorCode.NONE:
        return sync_refused(error_code)
    member = group.members[request.member_id]
    rebalances.sync_received(group, request.member_id)
    if group.state is _STABLE:
        return Outcome(response=assignment_response(group, member))
    before, member.sync_reply = member.sync_reply, reply
    if before is not None:
        # The same member over another connection: whoever reads the old one need not wait for ever.
        before(messages.SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
    if group.is_leader(request.member_id):
        return _assign(group, rebalances, member, request)
    return Outcome()


def sync_refused(error_code: ErrorCode) -> Outcome[messages.SyncGroupResponse]:
    """Return the outcome of a SyncGroup that changes nothing."""
    return Outcome(response=messages.SyncGroupResponse(error_code=error_code))


def _check_sync(group: ClassicGroup, request: messages.SyncGroupRequest, api_version: int) -> ErrorCode:
    if api_version >= _FIRST_WITH_PROTOCOL and (
        request.protocol_type is None or request.protocol_name is None
    ):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if group.state is _DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    try:
        group.check_member(request.member_id, request.group_instance_id)
    except ApiError as error:
        return error.code
    if request.generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    for told, agreed in (
        (request.protocol_type, group.protocol_type),
        (request.protocol_name, group.protocol_name),
    ):
        if told is not None and agreed and told != agreed:
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return ErrorCode.NONE


def _assign(
    group: ClassicGroup,
    rebalances: ClassicRebalances,
    leader: ClassicMember,
    request: messages.SyncGroupRequest,
) -> Outcome[messages.SyncGroupResponse]:
    """Have the leader's assignment written; the replay makes the group stable, then all are answered."""
    assignments = {told.member_id: bytes(told.assignment) for told in request.assignments}
    left_out = [name for name in group.members if name not in assignments]
    if left_out:
        _log.warning("group %r: the leader assigned nothing to %s", group.group_id, told_ids(left_out))
    generation_id = group.generation_id

    def appended(error: ApiError | None) -> None:
        if error is None:
            rebalances.assigned(group, generation_id)
            return
        leader.sync_reply = None  # a request whose records cannot be appended is answered by who ran it
        rebalances.not_assigned(group, generation_id, error)

    return Outcome(
        records=[generation_record(group, assigned_members(group, assignments), group.leader_id)],
        appended=appended,
    )


def heartbeat(
    group: ClassicGroup, rebalances: ClassicRebalances, request: messages.HeartbeatRequest
) -> Outcome[messages.HeartbeatResponse]:
    """Restart a member's session and tell it when to join again.

    Raises:
        ApiError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION, COORDINATOR_NOT_AVAILABLE.
    """
    if group.state is _DEAD:
        raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    group.check_member(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation_id:
        raise ApiError(ErrorCode.ILLEGAL_GENERATION)
    rebalances.sessions.restart(group, group.members[request.member_id])
    if group.state is _PREPARING:
        return Outcome(response=messages.HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
    return Outcome(response=messages.HeartbeatResponse())


def leave(
    group: ClassicGroup,
    rebalances: ClassicRebalances,
    request: messages.LeaveGroupRequest,
    now_ms: int,
) -> Outcome[messages.LeaveGroupResponse]:
    """Remove members, each with its own answer; then the others share what these had."""
    if group.state is _DEAD:
        return Outcome(response=messages.LeaveGroupResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE))
    answers = []
    gone = []
    for identity in request.members:
        error_code = _leave_one(group, rebalances, identity)
        answers.append(_left(identity, error_code))
        if error_code is ErrorCode.NONE:
            gone.append(identity.member_id or identity.group_instance_id or "")
    outcome: Outcome[None] = NOTHING
    if gone and group.state is not _EMPTY:
        reason = f"members left: {told_ids(gone)}"
        outcome = rebalances.prepare_or_complete(group, reason, now_ms)
    return Outcome(
        records=outcome.records,
        response=messages.LeaveGroupResponse(members=answers),
        appended=outcome.appended,
    )


def all_unknown(request: messages.LeaveGroupRequest) -> messages.LeaveGroupResponse:
    """Return the answer to a LeaveGroup that found no group."""
    return messages.LeaveGroupResponse(
        members=[_left(identity, ErrorCode.UNKNOWN_MEMBER_ID) for identity in request.members]
    )


def _leave_one(
    group: ClassicGroup,
    rebalances: ClassicRebalances,
    identity: messages.LeaveGroupRequestMemberIdentity,
) -> ErrorCode:
    member_id = identity.member_id
    if not member_id:
        # A tool that removes a static member knows only its instance id.
        owner = group.static_members.get(identity.group_instance_id or "")
        if identity.group_instance_id is None or owner is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        member_id = owner
    elif member_id in group.pending_join:
        rebalances.sessions.stop_pending(group.group_id, member_id)
        group.remove(member_id)
        return ErrorCode.NONE
    else:
        try:
            group.check_member(member_id, identity.group_instance_id)
        except ApiError as error:
            return error.code
    _log.info("group %r: member %r leaves (%r)", group.group_id, member_id, identity.reason)
    rebalances.remove(group, group.members[member_id])
    return ErrorCode.NONE


def _left(
    identity: messages.LeaveGroupRequestMemberIdentity, error_code: ErrorCode
) -> messages.LeaveGroupResponseMemberResponse:
    return messages.LeaveGroupResponseMemberResponse(
        member_id=identity.member_id, group_instance_id=identity.group_instance_id, error_code=error_code
    )
