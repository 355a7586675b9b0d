"""JoinGroup: who becomes a member of a classic group, and who has to wait for a rebalance.

A newcomer is first given an id and sent back for it (KIP-394), so that a client which gives up and tries
again does not leave a member behind each time. A static member is known by its group instance id and takes
its own place again (KIP-345); when that changes nothing for the others they are left alone.

Operations change soft state at once and say what must be written; see `classic/records.py` for how little
that is.
"""

from __future__ import annotations

from barnabas.base.entropy import Entropy
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Any, Final
from barnabas.coordinator.classic.group import (
    ClassicGroup,
    ClassicGroupState,
    ClassicMember,
    GroupProtocols,
)
from barnabas.coordinator.classic.rebalance import ClassicRebalances, described_members, joined_response
from barnabas.coordinator.classic.records import assigned_members, generation_record, member_metadata
from barnabas.coordinator.classic.sessions import NEW_MEMBER_JOIN_TIMEOUT_MS
from barnabas.coordinator.groups.group import GroupClient, GroupContext
from barnabas.coordinator.runtime.outcome import Outcome, Reply
from barnabas.protocol import messages
from barnabas.protocol.codec_runtime import STRING_BYTES_MAX

_EMPTY: Final = ClassicGroupState.EMPTY
_PREPARING: Final = ClassicGroupState.PREPARING_REBALANCE
_COMPLETING: Final = ClassicGroupState.COMPLETING_REBALANCE
_STABLE: Final = ClassicGroupState.STABLE

_PREFIX_BYTES_MAX: Final = STRING_BYTES_MAX - len("-01234567-89ab-cdef-0123-456789abcdef")

_FIRST_WITH_MEMBER_ID_REQUIRED: Final = 4
_FIRST_WITH_SKIP_ASSIGNMENT: Final = 9

_Outcome = Outcome[messages.JoinGroupResponse]


class JoinAttempt:
    """One JoinGroup and who sent it.

    Attributes:
        protocols: copied out of the request's frame.
        rebalance_timeout_ms: version 0 has none and means the session's.
    """

    __slots__ = (
        "api_version",
        "client",
        "group_instance_id",
        "member_id",
        "now_ms",
        "protocol_type",
        "protocols",
        "reason",
        "rebalance_timeout_ms",
        "reply",
        "session_timeout_ms",
    )

    def __init__(
        self,
        client: GroupClient,
        request: messages.JoinGroupRequest,
        api_version: int,
        now_ms: int,
        reply: Reply[messages.JoinGroupResponse],
    ) -> None:
        self.api_version = api_version
        self.client = client
        self.group_instance_id = request.group_instance_id
        self.member_id = request.member_id
        self.now_ms = now_ms
        self.protocol_type = request.protocol_type
        self.protocols: GroupProtocols = tuple(
            (protocol.name, bytes(protocol.metadata)) for protocol in request.protocols
        )
        self.reason = request.reason
        self.rebalance_timeout_ms = (
            request.session_timeout_ms if api_version == 0 else request.rebalance_timeout_ms
        )
        self.reply = reply
        self.session_timeout_ms = request.session_timeout_ms

    def why(self, what: str) -> str:
        """Return a rebalance's reason for the log: what happened, and what the client said of it."""
        return f"{what}; client's reason: {self.reason!r}" if self.reason else what


class ClassicJoins:
    """JoinGroup of the classic groups of a shard."""

    __slots__ = ("_context", "_rebalances")

    def __init__(self, context: GroupContext, rebalances: ClassicRebalances) -> None:
        self._context = context
        self._rebalances = rebalances

    def join(self, group: ClassicGroup, attempt: JoinAttempt) -> _Outcome:
        """Answer, or keep the attempt's reply in a member."""
        if not self._has_room(group, attempt.member_id):
            member = group.members.get(attempt.member_id)
            if member is not None:
                self._rebalances.remove(group, member)
            return _refused(ErrorCode.GROUP_MAX_SIZE_REACHED, "")
        if group.state is ClassicGroupState.DEAD:
            return _refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, attempt.member_id)
        if not group.supports(attempt.protocol_type, [name for name, _ in attempt.protocols]):
            return _refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, attempt.member_id)
        if attempt.member_id:
            return self._join_known(group, attempt)
        if attempt.group_instance_id is not None:
            return self._join_static(group, attempt, attempt.group_instance_id)
        member_id = new_member_id(attempt.client.client_id, self._context.entropy)
        if attempt.api_version < _FIRST_WITH_MEMBER_ID_REQUIRED:
            return self._add(group, attempt, member_id)
        group.pending_join.add(member_id)
        self._rebalances.sessions.start_pending(
            group.group_id,
            member_id,
            attempt.session_timeout_ms,
            lambda now_ms: self._rebalances.pending_expired(group, member_id, now_ms),
        )
        return _refused(ErrorCode.MEMBER_ID_REQUIRED, member_id)

    def _has_room(self, group: ClassicGroup, member_id: str) -> bool:
        """Whether group.max.size lets this one in. During a rebalance it is first come, first served."""
        size_max = self._context.config_of(group.group_id).group_max_size
        member = group.members.get(member_id)
        if group.state is _PREPARING:
            return (member is not None and member.join_reply is not None) or group.awaiting_join < size_max
        if group.state in (_COMPLETING, _STABLE):
            return member is not None or len(group.members) < size_max
        return True

    # Members that are new

    def _join_static(self, group: ClassicGroup, attempt: JoinAttempt, group_instance_id: str) -> _Outcome:
        member_id = new_member_id(group_instance_id, self._context.entropy)
        old_member_id = group.static_members.get(group_instance_id)
        if old_member_id is None:
            return self._add(group, attempt, member_id)
        member = group.members[old_member_id]
        if group.state is _STABLE and self._selects_the_same(group, member, attempt):
            return self._replace_quietly(group, member, member_id, attempt)
        member = self._replace(group, member, member_id, attempt)
        reason = attempt.why(f"static member {group_instance_id!r} came back as {member.member_id!r}")
        return self._rebalances.prepare_or_complete(group, reason, attempt.now_ms)

    def _add(self, group: ClassicGroup, attempt: JoinAttempt, member_id: str) -> _Outcome:
        member = ClassicMember(
            member_id=member_id,
            group_instance_id=attempt.group_instance_id,
            client_id=attempt.client.client_id,
            client_host=attempt.client.host,
            rebalance_timeout_ms=attempt.rebalance_timeout_ms,
            session_timeout_ms=attempt.session_timeout_ms,
            protocol_type=attempt.protocol_type,
            protocols=attempt.protocols,
            is_new=True,
            join_reply=attempt.reply,
        )
        if group.state is _PREPARING and group.previous_state is _EMPTY:
            group.new_member_added = True
        group.add(member)
        self._rebalances.sessions.restart_for(group, member, NEW_MEMBER_JOIN_TIMEOUT_MS)
        reason = attempt.why(f"member {member_id!r} joins")
        return self._rebalances.prepare_or_complete(group, reason, attempt.now_ms)

    def _selects_the_same(self, group: ClassicGroup, member: ClassicMember, attempt: JoinAttempt) -> bool:
        """Whether the group would select its present protocol with what this one says now."""
        before = member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms
        group.update(member, attempt.protocols, *before[1:])
        selected = group.select_protocol()
        group.update(member, *before)
        return selected == group.protocol_name

    def _replace(
        self, group: ClassicGroup, member: ClassicMember, member_id: str, attempt: JoinAttempt
    ) -> ClassicMember:
        """Let a new incarnation take a static member's place; the old one's requests are fenced."""
        self._rebalances.sessions.stop(group, member)  # it waits to join now, which has no deadline
        fence(group, member)
        member = group.replace_static(member.member_id, member_id)
        self._update(group, member, attempt)
        return member

    def _replace_quietly(
        self, group: ClassicGroup, old: ClassicMember, member_id: str, attempt: JoinAttempt
    ) -> _Outcome:
        """Have the new id written, which the replay makes the member's; nobody else takes notice."""
        old_leader = group.leader_id
        is_leader = group.is_leader(old.member_id)
        told = {name: member.assignment for name, member in group.members.items()}
        members = assigned_members(group, told)
        index = list(group.members).index(old.member_id)
        members[index] = _successor(group, old, member_id, attempt)

        def appended(error: ApiError | None) -> None:
            member = group.members.get(member_id)
            if error is not None or member is None:
                return
            group.update(member, attempt.protocols, attempt.rebalance_timeout_ms, attempt.session_timeout_ms)
            self._rebalances.sessions.restart(group, member)
            attempt.reply(_quiet_response(group, member_id, attempt.api_version, is_leader, old_leader))

        return Outcome(
            records=[generation_record(group, members, member_id if is_leader else old_leader)],
            appended=appended,
        )

    # Members that are known

    def _join_known(self, group: ClassicGroup, attempt: JoinAttempt) -> _Outcome:
        member_id = attempt.member_id
        if member_id in group.pending_join and attempt.group_instance_id is None:
            return self._add(group, attempt, member_id)
        try:
            group.check_member(member_id, attempt.group_instance_id)
        except ApiError as error:
            return Outcome(
                response=messages.JoinGroupResponse(
                    error_code=error.code, member_id=member_id, protocol_type=None, protocol_name=None
                )
            )
        member = group.members[member_id]
        if group.state is _PREPARING:
            return self._rejoin(group, member, attempt, "joins again")
        is_leader = group.is_leader(member_id)
        has_changed = member.protocols != attempt.protocols
        if group.state is _COMPLETING and not has_changed:
            # Its answer got lost, or the client restarts the join: it is told the same again.
            members = described_members(group) if is_leader else []
            return Outcome(response=joined_response(group, member_id, members=members))
        if group.state is _COMPLETING or (group.state is _STABLE and has_changed):
            return self._rejoin(group, member, attempt, "joins with other metadata")
        if group.state is _STABLE and is_leader:
            # The leader saw something that members do not tell, a topic's new partitions for example.
            return self._rejoin(group, member, attempt, "leads and joins again")
        if group.state is _STABLE:
            return Outcome(response=joined_response(group, member_id, members=[]))
        return _refused(ErrorCode.UNKNOWN_MEMBER_ID, member_id)

    def _rejoin(
        self, group: ClassicGroup, member: ClassicMember, attempt: JoinAttempt, what: str
    ) -> _Outcome:
        self._update(group, member, attempt)
        reason = attempt.why(f"member {member.member_id!r} {what}")
        return self._rebalances.prepare_or_complete(group, reason, attempt.now_ms)

    def _update(self, group: ClassicGroup, member: ClassicMember, attempt: JoinAttempt) -> None:
        group.update(member, attempt.protocols, attempt.rebalance_timeout_ms, attempt.session_timeout_ms)
        before = group.await_join(member, attempt.reply)
        if before is not None:
            # The same member over another connection: whoever still reads the old one need not wait for ever.
            before(_error(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id))


def new_member_id(prefix: str, entropy: Entropy) -> str:
    """Return an id nobody has: the client's or instance's own, and a random uuid.

    What is too long to be told with a uuid behind it is cut: an id that fits no answer would keep the
    leader of its group from hearing of any member.
    """
    encoded = prefix.encode()
    if len(encoded) > _PREFIX_BYTES_MAX:
        prefix = encoded[:_PREFIX_BYTES_MAX].decode(errors="ignore")
    raw = bytearray(entropy.random_bytes(16))
    raw[6] = (raw[6] & 0x0F) | 0x40
    raw[8] = (raw[8] & 0x3F) | 0x80
    text = raw.hex()
    return f"{prefix}-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def fence(group: ClassicGroup, member: ClassicMember) -> None:
    """Answer what a static member waits for whose place is taken."""
    reply = group.await_join(member, None)
    sync_reply, member.sync_reply = member.sync_reply, None
    if reply is not None:
        reply(
            messages.JoinGroupResponse(
                error_code=ErrorCode.FENCED_INSTANCE_ID,
                member_id=member.member_id,
                protocol_type=None,
                protocol_name=None,
            )
        )
    if sync_reply is not None:
        sync_reply(messages.SyncGroupResponse(error_code=ErrorCode.FENCED_INSTANCE_ID))


def _successor(
    group: ClassicGroup, old: ClassicMember, member_id: str, attempt: JoinAttempt
) -> messages.GroupMetadataValueMemberMetadata:
    written = member_metadata(group, old, old.assignment)
    written.member_id = member_id
    written.subscription = dict(attempt.protocols)[group.protocol_name or ""]
    written.rebalance_timeout = attempt.rebalance_timeout_ms
    written.session_timeout = attempt.session_timeout_ms
    return written


def _quiet_response(
    group: ClassicGroup, member_id: str, api_version: int, is_leader: bool, old_leader: str | None
) -> messages.JoinGroupResponse:
    """Return the answer to a static member that is back in a generation which goes on.

    It must not assign anew. Clients that can be told so are (KIP-814); others are told that their former id
    leads, which they do not know for theirs.
    """
    if api_version >= _FIRST_WITH_SKIP_ASSIGNMENT:
        members = described_members(group) if is_leader else []
        return joined_response(group, member_id, members=members, skip_assignment=is_leader)
    return joined_response(group, member_id, members=[], leader=old_leader)


def _error(error_code: ErrorCode, member_id: str) -> messages.JoinGroupResponse:
    return messages.JoinGroupResponse(error_code=error_code, member_id=member_id)


def _refused(error_code: ErrorCode, member_id: str) -> Outcome[Any]:
    return Outcome(response=_error(error_code, member_id))
