"""The classic groups of one shard: what JoinGroup, SyncGroup, Heartbeat and LeaveGroup do.

Requests come in here and go to the file of their own rules. This one finds the group, replays the records
that classic groups have, and begins and ends with the shard.
"""

from __future__ import annotations

from barnabas.base.dataclass import dataclass
from barnabas.base.hints import Any
from barnabas.coordinator.classic_group import ClassicGroup, ClassicGroupState
from barnabas.coordinator.group import Group, GroupClient, GroupContext
from barnabas.coordinator.outcome import Outcome, Reply
from barnabas.protocol import messages


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

    __slots__ = ("_context", "_groups")

    def __init__(self, context: GroupContext, groups: dict[str, Group]) -> None:
        self._context = context
        self._groups = groups

    def join(
        self,
        client: GroupClient,
        request: messages.JoinGroupRequest,
        api_version: int,
        now_ms: int,
        reply: Reply[messages.JoinGroupResponse],
    ) -> Outcome[messages.JoinGroupResponse]:
        """Answer a JoinGroup that reached no group, a classic one, or an empty one of another type.

        A request that waits for a rebalance keeps `reply`; the outcome then has no response.
        """
        raise NotImplementedError

    def sync(
        self,
        client: GroupClient,
        request: messages.SyncGroupRequest,
        api_version: int,
        now_ms: int,
        reply: Reply[messages.SyncGroupResponse],
    ) -> Outcome[messages.SyncGroupResponse]:
        """Answer a SyncGroup, or keep `reply` until the leader's assignment is in the log."""
        raise NotImplementedError

    def heartbeat(
        self, client: GroupClient, request: messages.HeartbeatRequest, api_version: int, now_ms: int
    ) -> Outcome[messages.HeartbeatResponse]:
        """Restart a member's session and tell it of a rebalance."""
        raise NotImplementedError

    def leave(
        self, client: GroupClient, request: messages.LeaveGroupRequest, api_version: int, now_ms: int
    ) -> Outcome[messages.LeaveGroupResponse]:
        """Remove members; `request.members` holds the one of versions 0 to 2 as well."""
        raise NotImplementedError

    # For those who keep other things of groups.

    def make_empty(self, group_id: str) -> Group:
        """Make a group that only holds offsets; nothing is written for it but those."""
        raise NotImplementedError

    def resume(self, group: ClassicGroup, now_ms: int) -> None:
        """Let a group live that a record has just made: arm the sessions of its members.

        For consumer groups that became classic, once their records are replayed (`Outcome.appended`).
        """
        raise NotImplementedError

    def prepare_rebalance(self, group: ClassicGroup, reason: str, now_ms: int) -> Outcome[Any]:
        """Have all members join again; nothing when that is under way.

        The outcome has records only when the group has no members.
        """
        raise NotImplementedError

    # The shard's life.

    def replay_group_metadata(
        self, key: messages.GroupMetadataKey, value: messages.GroupMetadataValue | None
    ) -> None:
        """Take over a record, when loading or when it was just appended.

        A tombstone ends the group if it is a classic one: timers are cancelled and who waits is told to
        join again (REBALANCE_IN_PROGRESS), to find the consumer group in its place. A value whose group
        is no classic one makes a new group, which `resume` then lets live.
        """
        raise NotImplementedError

    def loaded(self, now_ms: int) -> None:
        """Begin: every member gets a full session, and groups above group.max.size rebalance."""
        raise NotImplementedError

    def unloaded(self) -> None:
        """End: whoever waits is answered NOT_COORDINATOR."""
        raise NotImplementedError

    def statistics(self) -> ClassicGroupStatistics:
        raise NotImplementedError
