"""The operations of KIP-848 groups in one shard: what a ConsumerGroupHeartbeat and its timers come to.

Each reads the state, says which records would bring it on, and changes nothing but timers; `replay` alone
changes groups, so that a live coordinator and one that loads take one path.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.base.hints import TYPE_CHECKING
from barnabas.coordinator.group import Group, GroupClient, GroupContext
from barnabas.coordinator.outcome import Outcome, Reply
from barnabas.protocol import messages
from barnabas.protocol.structures import Message

if TYPE_CHECKING:
    from barnabas.metadata.image_types import MetadataDelta


class ConsumerGroups:
    """The consumer groups of a shard, and the classic members among them."""

    __slots__ = ("_context", "_groups")

    def __init__(self, context: GroupContext, groups: dict[str, Group]) -> None:
        self._context = context
        self._groups = groups

    def heartbeat(
        self,
        client: GroupClient,
        request: messages.ConsumerGroupHeartbeatRequest,
        api_version: int,
        now_ms: int,
    ) -> Outcome[messages.ConsumerGroupHeartbeatResponse]:
        """Join (epoch 0), go on, or leave (-1; -2 for a static member that will be back); KIP-848."""
        raise NotImplementedError

    def describe(
        self, group_ids: Sequence[str]
    ) -> list[messages.ConsumerGroupDescribeResponseDescribedGroup]:
        """Describe consumer groups, in the order asked; GROUP_ID_NOT_FOUND for any other."""
        raise NotImplementedError

    def join(
        self,
        client: GroupClient,
        request: messages.JoinGroupRequest,
        api_version: int,
        now_ms: int,
        reply: Reply[messages.JoinGroupResponse],
    ) -> Outcome[messages.JoinGroupResponse]:
        """A JoinGroup that reaches a ConsumerGroup: a member with the classic protocol in it."""
        raise NotImplementedError

    def sync(
        self,
        client: GroupClient,
        request: messages.SyncGroupRequest,
        api_version: int,
        now_ms: int,
        reply: Reply[messages.SyncGroupResponse],
    ) -> Outcome[messages.SyncGroupResponse]:
        """A SyncGroup that reaches a ConsumerGroup."""
        raise NotImplementedError

    def classic_heartbeat(
        self, client: GroupClient, request: messages.HeartbeatRequest, api_version: int, now_ms: int
    ) -> Outcome[messages.HeartbeatResponse]:
        """A Heartbeat that reaches a ConsumerGroup."""
        raise NotImplementedError

    def leave(
        self, client: GroupClient, request: messages.LeaveGroupRequest, api_version: int, now_ms: int
    ) -> Outcome[messages.LeaveGroupResponse]:
        """A LeaveGroup that reaches a ConsumerGroup; the tools' way to remove members, of either protocol."""
        raise NotImplementedError

    def replay(self, key: Message, value: Message | None) -> None:
        """Apply a record of api key 3 to 8 or 16; groups come and go with their records 3 and 5."""
        raise NotImplementedError

    def loaded(self, now_ms: int) -> None:
        """Arm the timers of all members, with whole sessions: nobody could heartbeat meanwhile."""

    def metadata_changed(self, delta: MetadataDelta, now_ms: int) -> None:
        """Have groups look at their topics again at the next heartbeat when these changed."""
