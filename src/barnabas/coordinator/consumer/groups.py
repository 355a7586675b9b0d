"""The consumer groups of one shard (KIP-848): requests come in here and go to the file of their own rules.

An operation reads the state, says which records would bring it on, and changes nothing but timers; `replay`
alone changes groups, so that a live coordinator and one that loads take one path. The files, in the order to
read them:

    consumer_group_member.py      a member, a value
    consumer_group.py             the group, and counts over its members
    consumer_group_heartbeat.py   the request
    consumer_group_update.py      what it makes of the group: epoch, targets, the member's next step
    consumer_group_reconcile.py   that step
    consumer_group_core.py        deadlines, and members that go
    consumer_group_resolution.py  regular expressions
    consumer_group_classic.py     members of the classic protocol
    consumer_group_migration.py   groups that change their protocol
    consumer_group_replay.py      records back into state
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from barnabas.base.dataclass import dataclass
from barnabas.base.hints import TYPE_CHECKING
from barnabas.coordinator.consumer import classic as consumer_group_classic
from barnabas.coordinator.consumer import heartbeat as consumer_group_heartbeat
from barnabas.coordinator.consumer import replay as consumer_group_replay
from barnabas.coordinator.consumer.core import ConsumerGroupCore
from barnabas.coordinator.consumer.description import describe
from barnabas.coordinator.consumer.group import ConsumerGroup, ConsumerGroupState
from barnabas.coordinator.consumer.member import MemberState
from barnabas.coordinator.groups.group import Group, GroupClient, GroupContext
from barnabas.coordinator.runtime.outcome import Outcome, Reply
from barnabas.protocol import messages
from barnabas.protocol.structures import Message

if TYPE_CHECKING:
    from barnabas.coordinator.classic.groups import ClassicGroups
    from barnabas.metadata.image_types import MetadataDelta


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupStatistics:
    """What the consumer groups of a shard are and did.

    Attributes:
        groups: how many there are in each state.
        members: in all of them.
        rebalances: new epochs of groups since the shard was loaded.
    """

    groups: dict[ConsumerGroupState, int]
    members: int
    rebalances: int


class ConsumerGroups:
    """The consumer groups of a shard, and the classic members among them.

    Args:
        groups: all groups of the shard by id, those of other types too.
        classic: brings groups to life that become classic ones.
    """

    __slots__ = ("_core", "_is_loaded", "_rebalances")

    def __init__(self, context: GroupContext, groups: dict[str, Group], classic: ClassicGroups) -> None:
        self._core = ConsumerGroupCore(context, groups, classic)
        self._is_loaded = False
        self._rebalances = 0

    # Requests. What is wrong with one is raised, as an ApiError with the message for the response.

    def heartbeat(
        self,
        client: GroupClient,
        request: messages.ConsumerGroupHeartbeatRequest,
        api_version: int,
        now_ms: int,
    ) -> Outcome[messages.ConsumerGroupHeartbeatResponse]:
        """Join (epoch 0), go on, or leave (-1; -2 for a static member that will be back); KIP-848.

        Raises:
            ApiError: INVALID_REQUEST, UNSUPPORTED_ASSIGNOR, GROUP_ID_NOT_FOUND, GROUP_MAX_SIZE_REACHED,
                UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, UNRELEASED_INSTANCE_ID, FENCED_INSTANCE_ID,
                INVALID_REGULAR_EXPRESSION.
        """
        return consumer_group_heartbeat.heartbeat(self._core, client, request, api_version, now_ms)

    def describe(
        self, group_ids: Sequence[str]
    ) -> list[messages.ConsumerGroupDescribeResponseDescribedGroup]:
        """Describe consumer groups, in the order asked; GROUP_ID_NOT_FOUND in place of any other."""
        return describe(self._core, group_ids)

    def join(
        self,
        client: GroupClient,
        request: messages.JoinGroupRequest,
        api_version: int,
        now_ms: int,
        reply: Reply[messages.JoinGroupResponse],  # noqa: ARG002 - classic groups answer later, these do not
    ) -> Outcome[messages.JoinGroupResponse]:
        """Answer a JoinGroup that reaches a ConsumerGroup: a member of the classic protocol in it.

        Raises:
            ApiError: INCONSISTENT_GROUP_PROTOCOL, GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID,
                FENCED_INSTANCE_ID.
        """
        return consumer_group_classic.join(self._core, client, request, api_version, now_ms)

    def sync(
        self,
        client: GroupClient,  # noqa: ARG002
        request: messages.SyncGroupRequest,
        api_version: int,  # noqa: ARG002
        now_ms: int,  # noqa: ARG002
        reply: Reply[messages.SyncGroupResponse],  # noqa: ARG002
    ) -> Outcome[messages.SyncGroupResponse]:
        """Answer a SyncGroup that reaches a ConsumerGroup.

        Raises:
            ApiError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION, INCONSISTENT_GROUP_PROTOCOL,
                REBALANCE_IN_PROGRESS.
        """
        return consumer_group_classic.sync(self._core, request)

    def classic_heartbeat(
        self,
        client: GroupClient,  # noqa: ARG002
        request: messages.HeartbeatRequest,
        api_version: int,  # noqa: ARG002
        now_ms: int,  # noqa: ARG002
    ) -> Outcome[messages.HeartbeatResponse]:
        """Answer a Heartbeat that reaches a ConsumerGroup.

        Raises:
            ApiError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION.
        """
        return consumer_group_classic.heartbeat(self._core, request)

    def leave(
        self,
        client: GroupClient,  # noqa: ARG002
        request: messages.LeaveGroupRequest,
        api_version: int,  # noqa: ARG002
        now_ms: int,
    ) -> Outcome[messages.LeaveGroupResponse]:
        """Answer a LeaveGroup that reaches a ConsumerGroup; tools remove members so, of either protocol."""
        return consumer_group_classic.leave(self._core, request, now_ms)

    # The shard's life

    def replay(self, key: Message, value: Message | None) -> None:
        """Apply a record of api key 3 to 8 or 16, when loading or when it was just appended.

        Raises:
            ValueError: it contradicts what came before.
        """
        consumer_group_replay.replay(self._core.groups, key, value)
        if self._is_loaded and isinstance(value, messages.ConsumerGroupMetadataValue):
            self._rebalances += 1

    def loaded(self, now_ms: int) -> None:  # noqa: ARG002 - as all parts of a shard
        """Begin: every member gets a full session, since nobody could heartbeat meanwhile."""
        self._is_loaded = True
        for group in self._consumers():
            for member in group.members.values():
                classic = member.classic
                self._core.start_session(
                    group.group_id, member.member_id, None if classic is None else classic.session_timeout_ms
                )
                if member.state is MemberState.UNREVOKED_PARTITIONS:
                    self._core.start_rebalance(group.group_id, member)

    def metadata_changed(self, delta: MetadataDelta, now_ms: int) -> None:  # noqa: ARG002
        """Have groups look at their topics again at their next heartbeat when these changed."""
        self._core.topics_created += len(delta.topics_created)
        names = {topic.name for topic in (*delta.topics_created.values(), *delta.topics_deleted.values())}
        for topic in delta.topics_deleted.values():
            self._core.topics.forget(topic.name)
        by_id = self._core.context.image.topics_by_id
        names.update(by_id[topic_id].name for topic_id, _ in delta.partitions_changed if topic_id in by_id)
        if not names:
            return
        for group in self._consumers():
            topics = group.subscriptions.topics
            if any(name in topics for name in names):
                group.checked_at_epoch = None

    @property
    def rebalances(self) -> int:
        """New epochs of groups since the shard was loaded."""
        return self._rebalances

    def statistics(self) -> ConsumerGroupStatistics:
        """Return gauges and counts."""
        groups = dict.fromkeys(ConsumerGroupState, 0)
        members = 0
        for group in self._consumers():
            groups[group.state] += 1
            members += len(group.members)
        return ConsumerGroupStatistics(groups=groups, members=members, rebalances=self._rebalances)

    def _consumers(self) -> Iterator[ConsumerGroup]:
        for group in self._core.groups.values():
            if isinstance(group, ConsumerGroup):
                yield group
