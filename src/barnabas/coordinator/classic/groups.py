"""The classic groups of one shard: what JoinGroup, SyncGroup, Heartbeat and LeaveGroup do.

Requests come in here and go to the file of their own rules. This one finds the group, replays the records
that classic groups have, and begins and ends with the shard.

A record that was just appended meets a group that knows more than it says: who waits, who joined since. So it
is laid over that group, and makes a new one only while loading. Rejected: replaying into a second, persisted
half of each group, which every rule would have to compare with the first.
"""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.base.dataclass import dataclass, replace
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Any
from barnabas.base.logger import Logger
from barnabas.coordinator.classic import requests as classic_requests
from barnabas.coordinator.classic.group import ClassicGroup, ClassicGroupState
from barnabas.coordinator.classic.join import ClassicJoins, JoinAttempt
from barnabas.coordinator.classic.rebalance import ClassicRebalances
from barnabas.coordinator.classic.records import group_of_record, new_group_record
from barnabas.coordinator.groups.group import Group, GroupClient, GroupContext
from barnabas.coordinator.runtime.outcome import Outcome, Reply
from barnabas.protocol import messages

_log = Logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicGroupStatistics:
    """What the classic groups of a shard are and did.

    Attributes:
        groups: how many there are in each state.
        members: in all of them.
        rebalances: begun since the shard was loaded.
        completed_rebalances: of those, generations that became stable.
    """

    groups: dict[ClassicGroupState, int]
    members: int
    rebalances: int
    completed_rebalances: int


class ClassicGroups:
    """Classic groups of one shard.

    Args:
        groups: all groups of the shard by id, those of other types too.
    """

    __slots__ = ("_context", "_downgraded", "_groups", "_is_loaded", "_joins", "_rebalances")

    def __init__(self, context: GroupContext, groups: dict[str, Group]) -> None:
        self._context = context
        self._groups = groups
        self._is_loaded = False
        self._downgraded: set[str] = set()
        self._rebalances = ClassicRebalances(context)
        self._joins = ClassicJoins(context, self._rebalances)

    # Requests. An operation that keeps its `reply` returns an outcome without response.

    def join(
        self,
        client: GroupClient,
        request: messages.JoinGroupRequest,
        api_version: int,
        now_ms: int,
        reply: Reply[messages.JoinGroupResponse],
    ) -> Outcome[messages.JoinGroupResponse]:
        """Answer a JoinGroup that reached no group, a classic one, or an empty one of another type.

        One that waits for a rebalance keeps `reply`. An empty group of another type gives way to a new
        classic group.
        """
        error_code = self.check_join(request)
        if error_code is not ErrorCode.NONE:
            return _join_refused(error_code, request.member_id)
        attempt = JoinAttempt(client, request, api_version, now_ms, reply)
        group = self._groups.get(request.group_id)
        if isinstance(group, ClassicGroup):
            return self._joins.join(group, attempt)
        if group is not None and not group.is_empty:
            return _join_refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
        if request.member_id:
            # Only newcomers make groups: a member of a group that is gone must know that it is none.
            return _join_refused(ErrorCode.UNKNOWN_MEMBER_ID, request.member_id)
        return self._join_new_group(attempt, request.group_id, group)

    def check_join(self, request: messages.JoinGroupRequest) -> ErrorCode:
        """Return what is wrong with a JoinGroup whatever group it reaches."""
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        config = self._context.config_of(request.group_id)
        least_ms, most_ms = config.group_min_session_timeout_ms, config.group_max_session_timeout_ms
        if not least_ms <= request.session_timeout_ms <= most_ms:
            return ErrorCode.INVALID_SESSION_TIMEOUT
        return ErrorCode.NONE

    def sync(
        self,
        client: GroupClient,  # noqa: ARG002 - all requests of members have the same signature
        request: messages.SyncGroupRequest,
        api_version: int,
        now_ms: int,  # noqa: ARG002
        reply: Reply[messages.SyncGroupResponse],
    ) -> Outcome[messages.SyncGroupResponse]:
        """Answer a SyncGroup, or keep `reply` until the leader's assignment is in the log."""
        if not request.group_id:
            return classic_requests.sync_refused(ErrorCode.INVALID_GROUP_ID)
        group = self._groups.get(request.group_id)
        if not isinstance(group, ClassicGroup) or group.is_empty:
            return classic_requests.sync_refused(ErrorCode.UNKNOWN_MEMBER_ID)
        return classic_requests.sync(group, self._rebalances, request, api_version, reply)

    def heartbeat(
        self,
        client: GroupClient,  # noqa: ARG002
        request: messages.HeartbeatRequest,
        api_version: int,  # noqa: ARG002
        now_ms: int,  # noqa: ARG002
    ) -> Outcome[messages.HeartbeatResponse]:
        """Restart a member's session and tell it of a rebalance.

        Raises:
            ApiError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION, INVALID_GROUP_ID.
        """
        group = self._groups.get(request.group_id)
        if not isinstance(group, ClassicGroup):
            unknown = ErrorCode.UNKNOWN_MEMBER_ID if request.group_id else ErrorCode.INVALID_GROUP_ID
            raise ApiError(unknown)
        return classic_requests.heartbeat(group, self._rebalances, request)

    def leave(
        self,
        client: GroupClient,  # noqa: ARG002
        request: messages.LeaveGroupRequest,
        api_version: int,  # noqa: ARG002
        now_ms: int,
    ) -> Outcome[messages.LeaveGroupResponse]:
        """Remove members; `request.members` holds the one of versions 0 to 2 as well."""
        if not request.group_id:
            return Outcome(response=messages.LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID))
        group = self._groups.get(request.group_id)
        if not isinstance(group, ClassicGroup):
            return Outcome(response=classic_requests.all_unknown(request))
        return classic_requests.leave(group, self._rebalances, request, now_ms)

    # For those who keep other things of groups.

    def make_empty(self, group_id: str) -> Group:
        """Make a group that only holds offsets; nothing is written for it but those."""
        group = ClassicGroup(group_id, self._context.clock)
        self._groups[group_id] = group
        return group

    def resume(self, group: ClassicGroup) -> None:
        """Let a group live that a record has just made: arm the sessions of its members.

        For consumer groups that became classic, once their records are replayed (`Outcome.replayed`).
        """
        for member in group.members.values():
            self._rebalances.sessions.restart(group, member)

    def prepare_rebalance(self, group: ClassicGroup, reason: str, now_ms: int) -> Outcome[Any]:
        """Have all members join again; nothing more than that when it is under way.

        The outcome has records only when the group has no members.
        """
        return self._rebalances.prepare_or_complete(group, reason, now_ms)

    # The shard's life.

    def replay_group_metadata(
        self,
        key: messages.GroupMetadataKey,
        value: messages.GroupMetadataValue | None,
        *,
        is_downgrade: bool = False,
    ) -> None:
        """Take over a record, when loading or when it was just appended.

        A tombstone ends the group if it is a classic one: timers are cancelled and who waits is told to
        join again (REBALANCE_IN_PROGRESS), to find the consumer group in its place. A value whose group
        is no classic one makes a new group, which `resume` then lets live.

        Args:
            is_downgrade: it is of the batch that ends a consumer group of this id.
        """
        if not self._is_loaded:
            # When that is the last that is known, its members have not agreed on anything since.
            if is_downgrade and value is not None and value.members:
                self._downgraded.add(key.group)
            else:
                self._downgraded.discard(key.group)
        group = self._groups.get(key.group)
        if value is None:
            if isinstance(group, ClassicGroup):
                del self._groups[key.group]
                self._rebalances.forget(group, ErrorCode.REBALANCE_IN_PROGRESS)
        elif self._is_loaded and isinstance(group, ClassicGroup):
            self._lay_over(group, value)
        else:
            self._groups[key.group] = group_of_record(key.group, value, self._context.clock)

    def loaded(self, now_ms: int) -> None:
        """Begin: every member gets a full session.

        Groups above group.max.size rebalance, and those that have become classic ones and did not since:
        what the consumers had that are gone would be read by nobody.
        """
        self._is_loaded = True
        for group in self._classic():
            self.resume(group)
            size_max = self._context.config_of(group.group_id).group_max_size
            reason = None
            if len(group.members) > size_max:
                reason = f"it has more than {size_max} members"
            elif group.group_id in self._downgraded and group.members:
                reason = "downgraded from a consumer group"
            if reason is not None:
                # None of them waits to join yet, so this only begins to wait: there is nothing to append.
                self._rebalances.prepare(group, reason, now_ms)
        self._downgraded.clear()

    def unloaded(self) -> None:
        """End: whoever waits is answered NOT_COORDINATOR."""
        now_ms = self._context.clock.wall_ms()
        for group in self._classic():
            self._rebalances.forget(group, ErrorCode.NOT_COORDINATOR)
            group.transition_to(ClassicGroupState.DEAD, now_ms)

    @property
    def completed_rebalances(self) -> int:
        """Generations that became stable since the shard was loaded."""
        return self._rebalances.completed

    def statistics(self) -> ClassicGroupStatistics:
        """Return gauges and counts."""
        groups = dict.fromkeys(ClassicGroupState, 0)
        members = 0
        for group in self._classic():
            groups[group.state] += 1
            members += len(group.members)
        return ClassicGroupStatistics(
            groups=groups,
            members=members,
            rebalances=self._rebalances.begun,
            completed_rebalances=self._rebalances.completed,
        )

    def _classic(self) -> Iterator[ClassicGroup]:
        for group in list(self._groups.values()):
            if isinstance(group, ClassicGroup):
                yield group

    def _join_new_group(
        self, attempt: JoinAttempt, group_id: str, replaced: Group | None
    ) -> Outcome[messages.JoinGroupResponse]:
        group = ClassicGroup(group_id, self._context.clock)
        group.state_since_ms = attempt.now_ms
        outcome = self._joins.join(group, attempt)
        if not group.members and not group.pending_join:
            return outcome
        self._groups[group_id] = group

        def appended(error: ApiError | None) -> None:
            if error is None or self._groups.get(group_id) is not group:
                return
            _log.warning("group %r could not be written: %s", group_id, error)
            self._take_back(group, attempt, error)
            if replaced is not None:
                self._groups[group_id] = replaced

        tombstones = [] if replaced is None else replaced.tombstones()
        return replace(outcome, records=[*tombstones, new_group_record(group)], appended=appended)

    def _take_back(self, group: ClassicGroup, attempt: JoinAttempt, error: ApiError) -> None:
        """Undo a group that could not be written; its first request is answered by who ran it."""
        del self._groups[group.group_id]
        for member in group.members.values():
            if member.join_reply is attempt.reply:
                group.await_join(member, None)
        self._rebalances.forget(group, error.code)

    def _lay_over(self, group: ClassicGroup, value: messages.GroupMetadataValue) -> None:
        if not value.members:
            # A new group's record: its members are not agreed on. Else: nobody was left.
            if not group.members and group.state is ClassicGroupState.PREPARING_REBALANCE:
                group.become_empty(value.generation, value.current_state_timestamp)
            return
        for told in value.members:
            member = group.members.get(told.member_id)
            instance_id = told.group_instance_id
            if member is None and instance_id is not None and instance_id in group.static_members:
                old = group.members[group.static_members[instance_id]]
                self._rebalances.sessions.stop(group, old)
                member = group.replace_static(old.member_id, told.member_id)
                self._rebalances.sessions.restart(group, member)
            if member is not None:
                member.assignment = bytes(told.assignment)
        is_awaited = group.state is ClassicGroupState.COMPLETING_REBALANCE
        if is_awaited and group.generation_id == value.generation:
            group.transition_to(ClassicGroupState.STABLE, self._context.clock.wall_ms())


def _join_refused(error_code: ErrorCode, member_id: str) -> Outcome[messages.JoinGroupResponse]:
    return Outcome(response=messages.JoinGroupResponse(error_code=error_code, member_id=member_id))
