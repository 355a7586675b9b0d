"""What all operations on consumer groups share: finding groups, deadlines of members, and removing members.

Deadlines are those of KIP-848: a session that heartbeats keep alive, a time to give partitions up in, and for
members of the classic protocol a time to join again and one to sync. Whoever misses one is fenced: it is out
of the group, and its next heartbeat tells it so.
"""

from __future__ import annotations

from collections.abc import Collection

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import TYPE_CHECKING, Any, Final
from barnabas.base.logger import Logger
from barnabas.coordinator.consumer import records
from barnabas.coordinator.consumer.group import ConsumerGroup
from barnabas.coordinator.consumer.member import ConsumerGroupMember
from barnabas.coordinator.consumer.migration import downgrade, may_downgrade, staying
from barnabas.coordinator.consumer.topics import GroupTopics
from barnabas.coordinator.groups.config import GroupConfig
from barnabas.coordinator.groups.group import Group, GroupContext
from barnabas.coordinator.runtime.outcome import CoordinatorRecord, Outcome

if TYPE_CHECKING:
    from barnabas.coordinator.classic.groups import ClassicGroups

_log = Logger(__name__)

SESSION: Final = "consumer session"
REBALANCE: Final = "consumer rebalance"
JOIN: Final = "consumer join"
SYNC: Final = "consumer sync"
_MEMBER_TIMERS: Final = (SESSION, REBALANCE, JOIN, SYNC)


class ConsumerGroupCore:
    """Groups of one shard, and what operations do to them.

    Attributes:
        topics_created: how many topics were created since the shard was made; tells regular expressions
            that were resolved since from those that were not.
    """

    __slots__ = ("classic", "context", "groups", "topics", "topics_created")

    def __init__(self, context: GroupContext, groups: dict[str, Group], classic: ClassicGroups) -> None:
        self.context = context
        self.groups = groups
        self.classic = classic
        self.topics = GroupTopics(context.image)
        self.topics_created = 0

    def group(self, group_id: str, kind: str = "Group") -> ConsumerGroup:
        """Return a consumer group.

        Args:
            kind: what the message calls it when it is not there.
        Raises:
            ApiError: GROUP_ID_NOT_FOUND.
        """
        found = self.groups.get(group_id)
        if found is None:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"{kind} {group_id} not found.")
        if not isinstance(found, ConsumerGroup):
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
        return found

    def config(self, group_id: str) -> GroupConfig:
        return self.context.config_of(group_id)

    # Deadlines

    def start_session(self, group_id: str, member_id: str, timeout_ms: int | None = None) -> None:
        """Begin a member's session anew.

        Args:
            timeout_ms: of a member of the classic protocol, which chooses it; else the group's.
        """
        if timeout_ms is None:
            timeout_ms = self.config(group_id).consumer_session_timeout_ms
        self.fence_after(SESSION, group_id, member_id, timeout_ms, "its session expired")

    def start_rebalance(self, group_id: str, member: ConsumerGroupMember) -> None:
        """Give a member its rebalance timeout to give partitions up in."""
        epoch = member.member_epoch
        timeout_ms = member.rebalance_timeout_ms

        def fence(now_ms: int) -> Outcome[None]:
            group = self.groups.get(group_id)
            found = group.members.get(member.member_id) if isinstance(group, ConsumerGroup) else None
            if found is None or found.member_epoch != epoch:
                return Outcome()
            reason = f"it did not give up its partitions of epoch {epoch} within {timeout_ms} ms"
            return self._fence(group_id, member.member_id, reason, now_ms)

        self.context.timers.schedule((REBALANCE, group_id, member.member_id), timeout_ms, fence)

    def end_rebalance(self, group_id: str, member_id: str) -> None:
        self.context.timers.cancel((REBALANCE, group_id, member_id))

    def fence_after(self, timer: str, group_id: str, member_id: str, timeout_ms: int, reason: str) -> None:
        """Remove a member after a while, unless the timer is set again or cancelled before."""
        self.context.timers.schedule(
            (timer, group_id, member_id),
            timeout_ms,
            lambda now_ms: self._fence(group_id, member_id, reason, now_ms),
        )

    def cancel_timers(self, group_id: str, member_id: str) -> None:
        """Forget all deadlines of a member."""
        for timer in _MEMBER_TIMERS:
            self.context.timers.cancel((timer, group_id, member_id))

    # Members that go

    def _fence(self, group_id: str, member_id: str, reason: str, now_ms: int) -> Outcome[None]:
        group = self.groups.get(group_id)
        member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
        if not isinstance(group, ConsumerGroup) or member is None:
            return Outcome()
        _log.info("group %r: member %r is fenced: %s", group_id, member_id, reason)
        return self.remove_members(group, [member], now_ms)

    def remove_members(
        self, group: ConsumerGroup, members: Collection[ConsumerGroupMember], now_ms: int
    ) -> Outcome[Any]:
        """Return what removes some members, with a new epoch for those that stay.

        When only members of the classic protocol stay, the group becomes a classic one if that is allowed.
        """
        if not members:
            return Outcome()
        group_id = group.group_id
        if may_downgrade(group, members, self.config(group_id)):
            return downgrade(
                self,
                group,
                group.tombstones(),
                staying(group, members),
                now_ms,
                reason="its last consumer is gone",
            )
        made: list[CoordinatorRecord] = []
        after = group.subscriptions.copy()
        for member in members:
            made.extend(records.member_tombstones(group_id, member.member_id))
            after.count_member(member, None)
        for regex, resolved in group.resolved_regexes.items():
            if regex not in after.regexes and regex in group.subscriptions.regexes:
                made.append(records.regex_tombstone(group_id, regex))
                after.count_regex_topics(resolved.topics, ())
        epoch = group.group_epoch + 1
        made.append(records.group_epoch_record(group_id, epoch, self.topics.metadata_hash(after.topics)))
        if len(members) == len(group.members):
            # Nobody is left to compute targets for; whoever comes next need not wait for them either.
            made.append(records.target_epoch_record(group_id, epoch, 0))
        _log.debug("group %r: epoch %d, %d members removed", group_id, epoch, len(members))

        def appended(error: ApiError | None) -> None:
            for member in members:
                # One of the same id may be back already, by a request that came after this one.
                if error is None and member.member_id not in group.members:
                    self.cancel_timers(group_id, member.member_id)

        return Outcome(records=made, appended=appended)
