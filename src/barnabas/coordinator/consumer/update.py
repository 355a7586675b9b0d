"""What a changed member makes of its group: its epoch, its targets, the member's next step, and the records.

A heartbeat and a classic member's JoinGroup do the same four things one after the other, each of which looks
at what the one before came to although nothing is written yet. ConsumerGroupUpdate is that chain; it ends
with the records of all of it, appended as one batch.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.base.logger import Logger
from barnabas.coordinator.assignors.assignments import MemberSpec, Partitions
from barnabas.coordinator.assignors.assignor import ASSIGNORS
from barnabas.coordinator.consumer import records
from barnabas.coordinator.consumer.core import ConsumerGroupCore
from barnabas.coordinator.consumer.group import ConsumerGroup
from barnabas.coordinator.consumer.member import ConsumerGroupMember, MemberState
from barnabas.coordinator.consumer.reconcile import Goal, OwnedPartitions, reconcile
from barnabas.coordinator.consumer.regex import ResolvedRegex
from barnabas.coordinator.runtime.outcome import CoordinatorRecord

_log = Logger(__name__)


class ConsumerGroupUpdate:
    """One member's change on its way through its group.

    Attributes:
        before: the member as it is; one of epoch 0 when it is new.
        member: as it is to be; changes with each step.
        records: so far.
        group_epoch: of the group as it is to be.
    """

    __slots__ = ("_core", "_is_homogeneous", "_now_ms", "before", "group", "group_epoch", "member", "records")

    def __init__(  # noqa: PLR0917 - the place of each is plain
        self,
        core: ConsumerGroupCore,
        group: ConsumerGroup,
        before: ConsumerGroupMember,
        member: ConsumerGroupMember,
        made: list[CoordinatorRecord],
        now_ms: int,
    ) -> None:
        """
        Args:
            made: records that come first; those of this update are added to it.
            now_ms: wall time.
        """
        self._core = core
        self.group = group
        self.before = before
        self.member = member
        self.records = made
        self.group_epoch = group.group_epoch
        self._is_homogeneous: bool | None = None
        self._now_ms = now_ms

    def note_member(self) -> bool:
        """Record who the member is, if that is new; return whether it names other topics than before."""
        if self.member is self.before or self.member == self.before:
            return False
        self.records.append(records.member_record(self.group.group_id, self.member))
        return self.member.subscribed_topic_names != self.before.subscribed_topic_names

    def wishes_other_assignor(self) -> bool:
        """Whether the group's assignor changes by what the member wishes."""
        if self.member.server_assignor == self.before.server_assignor:
            return False
        candidates = self._core.config(self.group.group_id).group_consumer_assignors
        now = self.group.subscriptions.assignors.most_frequent(candidates) or candidates[0]
        return now != self._assignor_name()

    def _assignor_name(self) -> str:
        candidates = self._core.config(self.group.group_id).group_consumer_assignors
        counts = self.group.subscriptions.assignors.copy()
        if self.before.server_assignor is not None:
            counts.add(self.before.server_assignor, -1)
        if self.member.server_assignor is not None:
            counts.add(self.member.server_assignor, 1)
        return counts.most_frequent(candidates) or candidates[0]

    def raise_epoch(self, *, bump: bool) -> None:
        """Give the group a new epoch if `bump` says so or its topics have changed; else only look at them."""
        group = self.group
        if not bump and group.checked_at_epoch is not None and group.checked_at_epoch <= group.group_epoch:
            return
        after = group.subscriptions.copy()
        after.count_member(self.before, self.member)
        old_regex = self.before.subscribed_topic_regex
        if old_regex and old_regex not in after.regexes and old_regex in group.resolved_regexes:
            after.count_regex_topics(group.resolved_regexes[old_regex].topics, ())
        metadata_hash = self._core.topics.metadata_hash(after.topics)
        is_new = self.member.member_id not in group.members and (
            self.member.instance_id is None or self.member.instance_id not in group.static_members
        )
        self._is_homogeneous = after.are_homogeneous(len(group.members) + is_new)
        if bump or metadata_hash != group.metadata_hash:
            self.group_epoch += 1
            self.records.append(records.group_epoch_record(group.group_id, self.group_epoch, metadata_hash))
            _log.debug("group %r: epoch %d", group.group_id, self.group_epoch)
        group.checked_at_epoch = self.group_epoch
        if group.has_partition_metadata_record:
            self.records.append(records.partition_metadata_tombstone(group.group_id))

    def find_target(self) -> tuple[int, Partitions]:
        """Return the epoch of the targets and the member's own, computed anew when the group is ahead.

        Targets are not computed more often than `group.consumer.assignment.interval.ms` allows, so that many
        members which come or go at once cost few assignments (KIP-1263); until then the old ones hold.
        """
        group = self.group
        member = self.member
        if group.assignment_epoch >= self.group_epoch or not self._may_assign():
            return group.assignment_epoch, group.target_for(member.member_id, member.instance_id)
        targets = self._assign()
        old = self._old_targets()
        for member_id, target in targets.items():
            if target != old.get(member_id):
                self.records.append(records.target_record(group.group_id, member_id, target))
        self.records.append(records.target_epoch_record(group.group_id, self.group_epoch, self._now_ms))
        return self.group_epoch, targets[member.member_id]

    def _may_assign(self) -> bool:
        interval_ms = self._core.config(self.group.group_id).group_consumer_assignment_interval_ms
        # A clock that was set back must not keep the group waiting until it has caught up.
        return not 0 <= self._now_ms - self.group.assigned_at_ms < interval_ms

    def _members(self) -> dict[str, ConsumerGroupMember]:
        """The members as they are to be."""
        members = dict(self.group.members)
        replaced = self.group.static_members.get(self.member.instance_id or "")
        if replaced is not None and replaced != self.member.member_id:
            del members[replaced]
        members[self.member.member_id] = self.member
        return members

    def _old_targets(self) -> Mapping[str, Partitions]:
        """The targets as they are once a static member has taken the place of its predecessor."""
        replaced = self.group.static_members.get(self.member.instance_id or "")
        if replaced is None or replaced == self.member.member_id:
            return self.group.targets
        targets = dict(self.group.targets)
        if replaced in targets:
            targets[self.member.member_id] = targets.pop(replaced)
        return targets

    def _assign(self) -> dict[str, Partitions]:
        core = self._core
        old = self._old_targets()
        topic_ids: dict[tuple[frozenset[str], str], frozenset[bytes]] = {}
        specs = {}
        for member_id, member in self._members().items():
            key = (member.subscribed_topic_names, member.subscribed_topic_regex)
            if key not in topic_ids:
                topic_ids[key] = subscribed_topic_ids(core, member, self.group.resolved_regexes)
            specs[member_id] = MemberSpec(
                topic_ids=topic_ids[key],
                target=old.get(member_id, {}),
                instance_id=member.instance_id,
            )
        wanted = frozenset().union(*topic_ids.values())
        counts = {topic_id: len(core.context.image.topics_by_id[topic_id].partitions) for topic_id in wanted}
        name = self._assignor_name()
        started_us = core.context.clock.monotonic_us()
        is_homogeneous = self._is_homogeneous
        if is_homogeneous is None:
            is_homogeneous = self.group.is_homogeneous
        targets = ASSIGNORS[name](specs, is_homogeneous, counts)
        _log.debug(
            "group %r: targets for epoch %d by %s in %d us",
            self.group.group_id,
            self.group_epoch,
            name,
            core.context.clock.monotonic_us() - started_us,
        )
        return targets

    def move_member(
        self,
        target_epoch: int,
        target: Partitions,
        *,
        subscription_changed: bool,
        owned: OwnedPartitions | None,
    ) -> None:
        """Take the member's next step, and watch that it gives up what it must.

        Raises:
            ApiError: FENCED_MEMBER_EPOCH, see `reconcile`.
        """
        member = self.member
        if not subscription_changed and member.is_reconciled_to(target_epoch):
            return
        group = self.group
        goal = Goal(
            target_epoch=target_epoch,
            target=target,
            topic_ids=subscribed_topic_ids(self._core, member, group.resolved_regexes),
            subscription_changed=subscription_changed,
            partition_epoch=group.partition_epoch,
        )
        moved = reconcile(member, goal, owned)
        if moved == member:
            return
        self.member = moved
        self.records.append(records.current_assignment_record(group.group_id, moved))
        if moved.uses_classic_protocol:
            return
        if moved.state is MemberState.UNREVOKED_PARTITIONS:
            self._core.start_rebalance(group.group_id, moved)
        else:
            self._core.end_rebalance(group.group_id, moved.member_id)


def subscribed_topic_ids(
    core: ConsumerGroupCore, member: ConsumerGroupMember, resolved: Mapping[str, ResolvedRegex]
) -> frozenset[bytes]:
    """Return the existing topics that a member names or its expression is known to match."""
    names = member.subscribed_topic_names
    found = resolved.get(member.subscribed_topic_regex)
    return core.topics.topic_ids(names if found is None else names | found.topics)
