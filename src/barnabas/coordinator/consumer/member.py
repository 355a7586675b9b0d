"""A member of a consumer group, and what its records say of it.

Members are values: an operation makes a changed one, writes the records that say so, and the group takes it
from their replay. So an operation that is not appended has changed nothing, and "did anything change" is a
comparison.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from barnabas.base.dataclass import dataclass, replace
from barnabas.base.enums import Enum
from barnabas.base.hints import Final
from barnabas.protocol import messages

LEAVE_EPOCH: Final = -1
STATIC_LEAVE_EPOCH: Final = -2
"""A static member that has left for a while; its partitions wait for it."""

PartitionEpochs = Mapping[bytes, Mapping[int, int]]
"""Topic id -> partition -> the member epoch since which the member has had it. Never changed once made."""

NO_PARTITIONS: Final[PartitionEpochs] = MappingProxyType({})


class MemberState(Enum):
    """How far a member is with its assignment; the values are those of its record 8."""

    STABLE = 0
    """Has what the target of its epoch says."""
    UNREVOKED_PARTITIONS = 1
    """Has been told to give partitions up and has not confirmed it."""
    UNRELEASED_PARTITIONS = 2
    """Waits for partitions that others still have."""
    UNKNOWN = 127
    """Of a version to come; such a member must join again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicProtocol:
    """A protocol that a member which uses JoinGroup supports, with its subscription in it."""

    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicMetadata:
    """What only a member that uses the classic protocol has."""

    session_timeout_ms: int
    protocols: tuple[ClassicProtocol, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupMember:
    """One member.

    Attributes:
        member_epoch: 0 joining, -2 away for a while (static), else the epoch of the target it follows.
        previous_member_epoch: what its client may still send when a response was lost.
        subscribed_topic_regex: empty for none.
        server_assignor: what it would like; None for no wish.
        assigned: what it has and may keep.
        pending_revocation: what it has and was told to give up.
        classic: set when it uses JoinGroup instead of ConsumerGroupHeartbeat.
    """

    member_id: str
    member_epoch: int = 0
    previous_member_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: frozenset[str] = frozenset()
    subscribed_topic_regex: str = ""
    server_assignor: str | None = None
    assigned: PartitionEpochs = NO_PARTITIONS
    pending_revocation: PartitionEpochs = NO_PARTITIONS
    classic: ClassicMetadata | None = None

    @property
    def uses_classic_protocol(self) -> bool:
        return self.classic is not None

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        """Whether nothing is left to do for it until the next target."""
        return self.state is MemberState.STABLE and self.member_epoch == assignment_epoch

    def assignment_epoch_of(self, topic_id: bytes, partition: int) -> int | None:
        """Since when it has had a partition, to keep or to give up; None when it does not have it."""
        for partitions in (self.assigned, self.pending_revocation):
            epoch = partitions.get(topic_id, {}).get(partition)
            if epoch is not None:
                return epoch
        return None

    def away(self) -> ConsumerGroupMember:
        """Return this static member as it waits for its client to come back.

        The epochs become 0, so that a client which is back with a low one may commit what it owns.
        """
        kept = {topic_id: dict.fromkeys(epochs, 0) for topic_id, epochs in self.assigned.items()}
        return replace(self, member_epoch=STATIC_LEAVE_EPOCH, assigned=kept, pending_revocation=NO_PARTITIONS)

    def with_metadata(self, value: messages.ConsumerGroupMemberMetadataValue) -> ConsumerGroupMember:
        """Return this member as a record 5 describes it."""
        classic = None
        if value.classic_member_metadata is not None:
            classic = ClassicMetadata(
                session_timeout_ms=value.classic_member_metadata.session_timeout_ms,
                protocols=tuple(
                    ClassicProtocol(name=protocol.name, metadata=bytes(protocol.metadata))
                    for protocol in value.classic_member_metadata.supported_protocols
                ),
            )
        return replace(
            self,
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            subscribed_topic_names=frozenset(value.subscribed_topic_names),
            subscribed_topic_regex=value.subscribed_topic_regex or "",
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            server_assignor=value.server_assignor,
            classic=classic,
        )

    def with_current_assignment(
        self, value: messages.ConsumerGroupCurrentMemberAssignmentValue
    ) -> ConsumerGroupMember:
        """Return this member with the epoch, state and partitions of a record 8."""
        try:
            state = MemberState(value.state)
        except ValueError:
            state = MemberState.UNKNOWN
        return replace(
            self,
            member_epoch=value.member_epoch,
            previous_member_epoch=value.previous_member_epoch,
            state=state,
            assigned=_partition_epochs(value.assigned_partitions, value.member_epoch),
            pending_revocation=_partition_epochs(value.partitions_pending_revocation, value.member_epoch),
        )

    def without_current_assignment(self) -> ConsumerGroupMember:
        """Return this member as the tombstone of its record 8 leaves it, on the way out."""
        return replace(
            self,
            member_epoch=LEAVE_EPOCH,
            previous_member_epoch=LEAVE_EPOCH,
            assigned=NO_PARTITIONS,
            pending_revocation=NO_PARTITIONS,
        )


def _partition_epochs(
    topics: list[messages.ConsumerGroupCurrentMemberAssignmentValueTopicPartitions], member_epoch: int
) -> PartitionEpochs:
    """Read a record 8; one from before KIP-1251 has no epochs, and the member's stands in for them."""
    default = max(member_epoch, 0)
    made: dict[bytes, Mapping[int, int]] = {}
    for topic in topics:
        epochs = topic.assignment_epochs
        if epochs is None or len(epochs) != len(topic.partitions):
            made[bytes(topic.topic_id)] = dict.fromkeys(topic.partitions, default)
        else:
            made[bytes(topic.topic_id)] = dict(zip(topic.partitions, epochs, strict=True))
    return made
