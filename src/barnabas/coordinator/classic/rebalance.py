"""How a classic group moves from one generation to the next.

    prepare        all members are to join again: heartbeats tell them, who joins waits
    complete_join  all have, or the rebalance timeout is over: who has not is out, all are answered
    assigned       the leader's assignment is in the log: all who fetch theirs are answered

A group that was empty waits group.initial.rebalance.delay.ms for others, and again as long as more come, up
to the rebalance timeout. Members that were answered but do not fetch their assignment within the rebalance
timeout are out as well.
"""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Any, Final
from barnabas.base.logger import Logger
from barnabas.coordinator.classic.group import ClassicGroup, ClassicGroupState, ClassicMember, told_ids
from barnabas.coordinator.classic.records import empty_group_record
from barnabas.coordinator.classic.sessions import NOTHING, ClassicSessions
from barnabas.coordinator.groups.group import GroupContext
from barnabas.coordinator.runtime.outcome import Outcome
from barnabas.protocol import messages

_log = Logger(__name__)

_EMPTY: Final = ClassicGroupState.EMPTY
_PREPARING: Final = ClassicGroupState.PREPARING_REBALANCE
_COMPLETING: Final = ClassicGroupState.COMPLETING_REBALANCE
_STABLE: Final = ClassicGroupState.STABLE

_RETRY_MS: Final = 500
"""When a group that could not be written as empty tries again."""


class ClassicRebalances:
    """Rebalances of the classic groups of a shard.

    Attributes:
        sessions: of all members.
        begun, completed: rebalances since the shard was loaded.
    """

    __slots__ = ("_context", "begun", "completed", "sessions")

    def __init__(self, context: GroupContext) -> None:
        self._context = context
        self.begun = 0
        self.completed = 0
        self.sessions = ClassicSessions(context, self.session_expired)

    # From any state to PreparingRebalance, and from there on.

    def prepare_or_complete(self, group: ClassicGroup, reason: str, now_ms: int) -> Outcome[Any]:
        """Begin a rebalance, or end the one under way when this was what it waited for."""
        if group.state in (_STABLE, _COMPLETING, _EMPTY):
            return self.prepare(group, reason, now_ms)
        return self.complete_if_all_joined(group, now_ms)

    def prepare(self, group: ClassicGroup, reason: str, now_ms: int) -> Outcome[Any]:
        """Begin a rebalance."""
        if group.state is _COMPLETING:
            for member in group.members.values():
                member.assignment = b""
        self.answer_syncs(group, ErrorCode.REBALANCE_IN_PROGRESS)
        group.pending_sync.clear()
        self._context.timers.cancel(_sync_key(group))
        is_initial = group.state is _EMPTY
        _log.info(
            "group %r: rebalance in state %s with old generation %d (%s)",
            group.group_id,
            group.state_name,
            group.generation_id,
            reason,
        )
        group.transition_to(_PREPARING, now_ms)
        self.begun += 1
        if is_initial:
            delay_ms = self._initial_delay_ms(group)
            self._wait_for_first(group, delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
            return NOTHING
        if group.all_joined:
            return self.complete_join(group, now_ms)
        self._wait_for_joins(group)
        return NOTHING

    def complete_if_all_joined(self, group: ClassicGroup, now_ms: int) -> Outcome[Any]:
        """End the first step when nobody is missing. A group that was empty waits for its delay anyhow."""
        if group.state is _PREPARING and group.previous_state is not _EMPTY and group.all_joined:
            return self.complete_join(group, now_ms)
        return NOTHING

    def complete_join(self, group: ClassicGroup, now_ms: int) -> Outcome[Any]:
        """End the first step: dynamic members that did not join are out, all others are answered.

        The outcome has a record when nobody is left.
        """
        if group.state is not _PREPARING:
            return NOTHING
        self._context.timers.cancel(_join_key(group))
        self._drop_absent(group)
        if not group.members:
            return Outcome(
                records=[empty_group_record(group, now_ms)],
                appended=lambda error: self._emptied(group, error),
            )
        if not group.elect_joined_leader():
            # Only static members are left, and away: they may be back any time.
            self._wait_for_joins(group)
            return NOTHING
        group.generation_id += 1
        group.protocol_name = group.select_protocol()
        group.note_subscriptions()
        group.transition_to(_COMPLETING, now_ms)
        group.pending_sync.clear()
        _log.info(
            "group %r: generation %d has %d members",
            group.group_id,
            group.generation_id,
            len(group.members),
        )
        self._answer_joins(group)
        self._wait_for_syncs(group)
        return NOTHING

    def _initial_delay_ms(self, group: ClassicGroup) -> int:
        return self._context.config_of(group.group_id).group_initial_rebalance_delay_ms

    def _wait_for_first(self, group: ClassicGroup, delay_ms: int, remaining_ms: int) -> None:
        """Wait for more members; `remaining_ms` is what may be added to this delay."""

        def look(now_ms: int) -> Outcome[None]:
            if not group.new_member_added or remaining_ms == 0:
                return self.complete_join(group, now_ms)
            group.new_member_added = False
            self._wait_for_first(
                group, min(self._initial_delay_ms(group), remaining_ms), max(remaining_ms - delay_ms, 0)
            )
            return NOTHING

        self._context.timers.schedule(_join_key(group), delay_ms, look)

    def _wait_for_joins(self, group: ClassicGroup) -> None:
        self._context.timers.schedule(
            _join_key(group),
            max(group.rebalance_timeout_ms, 0),
            lambda now_ms: self.complete_join(group, now_ms),
        )

    def _wait_for_syncs(self, group: ClassicGroup) -> None:
        generation_id = group.generation_id
        self._context.timers.schedule(
            _sync_key(group),
            max(group.rebalance_timeout_ms, 0),
            lambda now_ms: self._sync_expired(group, generation_id, now_ms),
        )

    def _drop_absent(self, group: ClassicGroup) -> None:
        absent = [
            member for member in group.members.values() if member.join_reply is None and not member.is_static
        ]
        for member in absent:
            self.remove(group, member)
        if absent:
            names = told_ids([member.member_id for member in absent])
            _log.info("group %r: members that did not join again are out: %s", group.group_id, names)

    def _answer_joins(self, group: ClassicGroup) -> None:
        described = described_members(group)
        for member in list(group.members.values()):
            reply = group.await_join(member, None)
            self.sessions.restart(group, member)
            member.is_new = False
            group.pending_sync.add(member.member_id)
            if reply is not None:
                reply(
                    joined_response(
                        group,
                        member.member_id,
                        members=described if group.is_leader(member.member_id) else [],
                    )
                )

    def _emptied(self, group: ClassicGroup, error: ApiError | None) -> None:
        if error is None:
            _log.info("group %r: generation %d is empty", group.group_id, group.generation_id)
            return
        _log.warning("group %r could not be written as empty: %s", group.group_id, error)
        self._context.timers.schedule(
            _join_key(group), _RETRY_MS, lambda now_ms: self.complete_join(group, now_ms)
        )

    # From CompletingRebalance to Stable.

    def sync_received(self, group: ClassicGroup, member_id: str) -> None:
        """A member fetches its assignment: it need not be waited for any more."""
        group.pending_sync.discard(member_id)
        if not group.pending_sync:
            self._context.timers.cancel(_sync_key(group))

    def assigned(self, group: ClassicGroup, generation_id: int) -> None:
        """The leader's assignment is in the log and committed: answer all who wait for theirs."""
        if group.state is _STABLE and group.generation_id == generation_id:
            self.completed += 1
            self.answer_syncs(group, ErrorCode.NONE)

    def not_assigned(self, group: ClassicGroup, generation_id: int, error: ApiError) -> None:
        """The leader's assignment could not be written: tell all who wait, and try from the beginning."""
        if group.state is not _COMPLETING or group.generation_id != generation_id:
            return
        for member in group.members.values():
            member.assignment = b""
        self.answer_syncs(group, error.code)
        # Nobody waits to join, so this only begins to wait: there is no record to append.
        self.prepare(group, f"the assignment could not be written: {error}", self._context.clock.wall_ms())

    def answer_syncs(self, group: ClassicGroup, error_code: ErrorCode) -> None:
        """Answer every SyncGroup that waits: with the assignment, or an error and nothing else."""
        is_good = error_code is ErrorCode.NONE
        for member in list(group.members.values()):
            reply = member.sync_reply
            if reply is None:
                continue
            member.sync_reply = None
            self.sessions.restart(group, member)
            if is_good:
                reply(assignment_response(group, member))
            else:
                reply(messages.SyncGroupResponse(error_code=error_code))

    def _sync_expired(self, group: ClassicGroup, generation_id: int, now_ms: int) -> Outcome[Any]:
        if (
            group.state not in (_COMPLETING, _STABLE)
            or group.generation_id != generation_id
            or not group.pending_sync
        ):
            return NOTHING
        late = sorted(group.pending_sync)
        for member_id in late:
            member = group.members.get(member_id)
            if member is not None:
                self.remove(group, member)
        return self.prepare(group, f"no SyncGroup from {told_ids(late)}", now_ms)

    # Members that go.

    def remove(self, group: ClassicGroup, member: ClassicMember) -> None:
        """Take a member out; should it wait for something, it hears that it is no member."""
        self.sessions.stop(group, member)
        reply = group.await_join(member, None)
        sync_reply, member.sync_reply = member.sync_reply, None
        group.remove(member.member_id)
        if reply is not None:
            reply(messages.JoinGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
        if sync_reply is not None:
            sync_reply(messages.SyncGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))

    def session_expired(self, group: ClassicGroup, member: ClassicMember, now_ms: int) -> Outcome[Any]:
        """A member did not show up in time. One that waits for us is not to blame, unless it is new."""
        is_waiting = member.join_reply is not None or member.sync_reply is not None
        if is_waiting and not member.is_new:
            return NOTHING
        _log.info("group %r: member %r is out: its session expired", group.group_id, member.member_id)
        self.remove(group, member)
        if group.state in (_STABLE, _COMPLETING):
            return self.prepare_or_complete(group, f"the session of {member.member_id!r} expired", now_ms)
        return self._complete_without(group, now_ms)

    def pending_expired(self, group: ClassicGroup, member_id: str, now_ms: int) -> Outcome[Any]:
        """An id that was given out was not used in time."""
        if member_id not in group.pending_join:
            return NOTHING
        group.remove(member_id)
        return self._complete_without(group, now_ms)

    def _complete_without(self, group: ClassicGroup, now_ms: int) -> Outcome[Any]:
        if group.state is _PREPARING and group.all_joined:
            return self.complete_join(group, now_ms)
        return NOTHING

    def forget(self, group: ClassicGroup, error_code: ErrorCode) -> None:
        """End a group: its timers, and with an error whoever waits."""
        timers = self._context.timers
        timers.cancel(_join_key(group))
        timers.cancel(_sync_key(group))
        for member_id in group.pending_join:
            self.sessions.stop_pending(group.group_id, member_id)
        for member in list(group.members.values()):
            self.sessions.stop(group, member)
            reply = group.await_join(member, None)
            sync_reply, member.sync_reply = member.sync_reply, None
            if reply is not None:
                reply(messages.JoinGroupResponse(error_code=error_code, member_id=member.member_id))
            if sync_reply is not None:
                sync_reply(messages.SyncGroupResponse(error_code=error_code))


def described_members(group: ClassicGroup) -> list[messages.JoinGroupResponseJoinGroupResponseMember]:
    """Return what the leader is told of all members."""
    name = group.protocol_name or ""
    return [
        messages.JoinGroupResponseJoinGroupResponseMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            metadata=member.metadata(name),
        )
        for member in group.members.values()
    ]


def joined_response(
    group: ClassicGroup,
    member_id: str,
    *,
    members: list[messages.JoinGroupResponseJoinGroupResponseMember],
    leader: str | None = None,
    skip_assignment: bool = False,
) -> messages.JoinGroupResponse:
    """Return the good answer to a JoinGroup in the present generation.

    Args:
        leader: another than the group's.
    """
    return messages.JoinGroupResponse(
        generation_id=group.generation_id,
        protocol_type=group.protocol_type or None,
        protocol_name=group.protocol_name,
        leader=(group.leader_id if leader is None else leader) or "",
        skip_assignment=skip_assignment,
        member_id=member_id,
        members=members,
    )


def assignment_response(group: ClassicGroup, member: ClassicMember) -> messages.SyncGroupResponse:
    """Return the good answer to a SyncGroup."""
    return messages.SyncGroupResponse(
        protocol_type=group.protocol_type or None,
        protocol_name=group.protocol_name,
        assignment=member.assignment,
    )


def _join_key(group: ClassicGroup) -> tuple[str, str]:
    return ("classic join", group.group_id)


def _sync_key(group: ClassicGroup) -> tuple[str, str]:
    return ("classic sync", group.group_id)
