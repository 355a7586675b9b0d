"""One KIP-848 group: its members, their targets, and all that follows from these.

State changes by replay alone: `update_member`, `set_target` and their like are called for records, and keep
the counts that operations ask for (who subscribes to what, who has which partition). Operations compute what
would be from those counts and a changed member, without changing anything; see `consumer/update.py`.

Keeping the counts costs a little at each record and makes a heartbeat that changes nothing independent of the
size of the group, which is the case that matters: 10,000 members heartbeat every few seconds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from barnabas.base.enums import Enum
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Final
from barnabas.coordinator.assignors.assignments import Partitions
from barnabas.coordinator.consumer import records
from barnabas.coordinator.consumer.commits import check_commit
from barnabas.coordinator.consumer.member import ConsumerGroupMember, PartitionEpochs
from barnabas.coordinator.consumer.regex import ResolvedRegex
from barnabas.coordinator.consumer.subscriptions import Counts, Subscriptions
from barnabas.coordinator.groups.group import GroupType, OffsetCommitCheck
from barnabas.coordinator.runtime.outcome import CoordinatorRecord

FIRST_EPOCH: Final = 1
"""Of a group without records; the first member makes it 2."""

NO_EPOCH: Final = -1

CONSUMER_PROTOCOL: Final = "consumer"

_NO_TARGET: Final[Partitions] = {}


class ConsumerGroupState(Enum):
    """What a group is about; the values are what ListGroups and ConsumerGroupDescribe tell.

    It is not kept but seen: see `ConsumerGroup.state`.
    """

    EMPTY = "Empty"
    """No members."""
    ASSIGNING = "Assigning"
    """The group's epoch is ahead of its targets'."""
    RECONCILING = "Reconciling"
    """Some members are not where their targets are."""
    STABLE = "Stable"
    DEAD = "Dead"


class ConsumerGroup:
    """A consumer group; a `Group` for those who do not care how it rebalances.

    Attributes:
        group_epoch: raised when members or topics change.
        metadata_hash: of the topics when it was raised.
        assignment_epoch: the group epoch that the targets are for; -1 once their record is gone.
        assigned_at_ms: wall time when the targets were computed; 0 when the next may come at once.
        static_members: member id by instance id.
        targets: what each member is to have; of members without any there may be no entry.
        subscriptions: counts over all members.
        resolved_regexes: topics by expression.
        has_partition_metadata_record: of a broker before 4.1; to be deleted at the next change.
        checked_at_epoch: the epoch at which the topics were last looked at; None to look again. Not kept.
        resolved_topics_created: how many topics had ever been created when expressions were last resolved,
            as ConsumerGroups counts; None to resolve again. Not kept.
    """

    __slots__ = (
        "_partition_epochs",
        "_state",
        "assigned_at_ms",
        "assignment_epoch",
        "checked_at_epoch",
        "classic_member_count",
        "classic_protocols",
        "group_epoch",
        "group_id",
        "has_partition_metadata_record",
        "members",
        "metadata_hash",
        "resolved_regexes",
        "resolved_topics_created",
        "static_members",
        "subscriptions",
        "targets",
    )

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.group_epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = FIRST_EPOCH
        self.assigned_at_ms = 0
        self.members: dict[str, ConsumerGroupMember] = {}
        self.static_members: dict[str, str] = {}
        self.targets: dict[str, Partitions] = {}
        self.subscriptions = Subscriptions()
        self.classic_member_count = 0
        self.classic_protocols = Counts()
        """How many members of the classic protocol support each of its protocols."""
        self.resolved_regexes: dict[str, ResolvedRegex] = {}
        self.has_partition_metadata_record = False
        self.checked_at_epoch: int | None = None
        self.resolved_topics_created: int | None = None
        self._partition_epochs: dict[bytes, dict[int, int]] = {}
        self._state: ConsumerGroupState | None = None

    # What it is asked

    @property
    def type(self) -> GroupType:
        return GroupType.CONSUMER

    @property
    def state(self) -> ConsumerGroupState:
        """What it is about. Found again only after a change: it takes a look at every member."""
        if self._state is None:
            self._state = self._find_state()
        return self._state

    def _find_state(self) -> ConsumerGroupState:
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.group_epoch > self.assignment_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(member.is_reconciled_to(self.assignment_epoch) for member in self.members.values()):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    @property
    def state_name(self) -> str:
        return str(self.state.value)

    @property
    def protocol_type(self) -> str:
        return CONSUMER_PROTOCOL

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def member_count(self) -> int:
        return len(self.members)

    @property
    def is_homogeneous(self) -> bool:
        """Whether all members subscribe to the same topics."""
        return self.subscriptions.are_homogeneous(len(self.members))

    def member(self, member_id: str) -> ConsumerGroupMember:
        """Return a member.

        Raises:
            ApiError: UNKNOWN_MEMBER_ID.
        """
        found = self.members.get(member_id)
        if found is None:
            raise ApiError(
                ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self.group_id}."
            )
        return found

    def static_member(self, instance_id: str | None) -> ConsumerGroupMember | None:
        """Return the member that has an instance id; None when nobody has."""
        member_id = None if instance_id is None else self.static_members.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def target(self, member_id: str) -> Partitions:
        """Return what a member is to have."""
        return self.targets.get(member_id, _NO_TARGET)

    def target_for(self, member_id: str, instance_id: str | None) -> Partitions:
        """Return what a member, or the static member it is about to replace, is to have."""
        if instance_id is None:
            return self.target(member_id)
        return self.target(self.static_members.get(instance_id, ""))

    def partition_epoch(self, topic_id: bytes, partition: int) -> int:
        """Return the epoch of the member that has a partition, or gives it up; -1 when nobody does."""
        return self._partition_epochs.get(topic_id, {}).get(partition, NO_EPOCH)

    def waits_for_others(self, member: ConsumerGroupMember) -> bool:
        """Whether some of a member's target is still with another member."""
        return any(
            partition not in member.assigned.get(topic_id, ())
            and self.partition_epoch(topic_id, partition) != NO_EPOCH
            for topic_id, partitions in self.target(member.member_id).items()
            for partition in partitions
        )

    # What offsets and admin ask (Group)

    def check_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_id_or_member_epoch: int,
        *,
        is_transactional: bool,
        api_version: int,
    ) -> OffsetCommitCheck | None:
        return check_commit(
            self.members,
            self.group_id,
            member_id,
            group_instance_id,
            generation_id_or_member_epoch,
            is_transactional=is_transactional,
            api_version=api_version,
        )

    def check_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        if member_id is None and member_epoch < 0:
            return
        member = self.member(member_id or "")
        if member.member_epoch == member_epoch:
            return
        if member.uses_classic_protocol:
            raise ApiError(
                ErrorCode.ILLEGAL_GENERATION,
                f"The received generation id {member_epoch} does not match the expected member epoch "
                f"{member.member_epoch}.",
            )
        raise ApiError(
            ErrorCode.STALE_MEMBER_EPOCH,
            f"The received member epoch {member_epoch} does not match the expected member epoch "
            f"{member.member_epoch}.",
        )

    def check_offset_delete(self) -> None:
        """Offsets of topics that nobody subscribes to may go at any time."""

    def check_delete(self) -> None:
        if self.members:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP)

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.subscriptions.topics

    def offsets_expire_since_ms(self, commit_ms: int) -> int | None:
        """From the commit, of a topic that nobody subscribes to; the others are not asked about."""
        return commit_ms

    def tombstones(self) -> list[CoordinatorRecord]:
        return self.tombstones_for(self.members)

    def tombstones_for(self, member_ids: Collection[str]) -> list[CoordinatorRecord]:
        """Return what ends the group when these are its members by then."""
        group_id = self.group_id
        return [
            *(records.current_assignment_tombstone(group_id, member_id) for member_id in member_ids),
            *(records.target_tombstone(group_id, member_id) for member_id in member_ids),
            records.target_epoch_tombstone(group_id),
            *(records.member_tombstone(group_id, member_id) for member_id in member_ids),
            *(records.regex_tombstone(group_id, regex) for regex in self.resolved_regexes),
            records.partition_metadata_tombstone(group_id),
            records.group_epoch_tombstone(group_id),
        ]

    def heartbeat_noted(self, member_id: str) -> None:
        """A commit is no sign of life in this protocol: heartbeats come from a thread of their own."""

    # What replay changes

    def set_group_epoch(self, epoch: int, metadata_hash: int) -> None:
        self.group_epoch = epoch
        self.metadata_hash = metadata_hash
        self._state = None

    def set_assignment_epoch(self, epoch: int, assigned_at_ms: int) -> None:
        self.assignment_epoch = epoch
        self.assigned_at_ms = assigned_at_ms
        self._state = None

    def set_target(self, member_id: str, target: Partitions) -> None:
        self.targets[member_id] = target

    def remove_target(self, member_id: str) -> None:
        self.targets.pop(member_id, None)

    def set_regex(self, regex: str, resolved: ResolvedRegex | None) -> None:
        """Note what an expression came to; None when nobody uses it any more."""
        before = self.resolved_regexes.pop(regex, None)
        if resolved is not None:
            self.resolved_regexes[regex] = resolved
        self.subscriptions.count_regex_topics(
            frozenset() if before is None else before.topics,
            frozenset() if resolved is None else resolved.topics,
        )

    def update_member(self, member: ConsumerGroupMember) -> None:
        """Put a member, or its next state, in."""
        before = self.members.get(member.member_id)
        self.members[member.member_id] = member
        if before is not None and before.instance_id is not None:
            self.static_members.pop(before.instance_id, None)
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        self._count(before, member)

    def remove_member(self, member_id: str) -> None:
        before = self.members.pop(member_id, None)
        if before is None:
            return
        if before.instance_id is not None and self.static_members.get(before.instance_id) == member_id:
            del self.static_members[before.instance_id]
        self._count(before, None)

    def _count(self, before: ConsumerGroupMember | None, after: ConsumerGroupMember | None) -> None:
        self._state = None
        self.subscriptions.count_member(before, after)
        old_classic = None if before is None else before.classic
        new_classic = None if after is None else after.classic
        if old_classic is not new_classic:
            for classic, step in ((old_classic, -1), (new_classic, 1)):
                if classic is not None:
                    self.classic_member_count += step
                    for name in {protocol.name for protocol in classic.protocols}:
                        self.classic_protocols.add(name, step)
        if before is not None:
            self._release(before.assigned, before.member_epoch)
            self._release(before.pending_revocation, before.member_epoch)
        if after is not None:
            self._hold(after.assigned, after.member_epoch)
            self._hold(after.pending_revocation, after.member_epoch)

    def _release(self, partitions: PartitionEpochs, epoch: int) -> None:
        for topic_id, epochs in partitions.items():
            held = self._partition_epochs.get(topic_id)
            if held is None:
                continue
            for partition in epochs:
                # Someone who took it over may be there already: records of one batch come in any order.
                if held.get(partition) == epoch:
                    del held[partition]
            if not held:
                del self._partition_epochs[topic_id]

    def _hold(self, partitions: Mapping[bytes, Mapping[int, int]], epoch: int) -> None:
        for topic_id, epochs in partitions.items():
            held = self._partition_epochs.setdefault(topic_id, {})
            for partition in epochs:
                before = held.get(partition)
                if before is not None and before >= epoch:
                    raise ValueError(
                        f"group {self.group_id}: partition {partition} cannot be held at epoch {epoch}, "
                        f"it is still held at epoch {before}"
                    )
                held[partition] = epoch
