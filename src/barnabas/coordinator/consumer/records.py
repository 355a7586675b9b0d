"""The records of a consumer group, as Apache Kafka 4.4 writes them.

Lists are sorted where Apache Kafka leaves them to a hash table, so that the same change gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.coordinator.assignors.assignments import Partitions
from barnabas.coordinator.consumer.member import ConsumerGroupMember, PartitionEpochs
from barnabas.coordinator.runtime.outcome import CoordinatorRecord
from barnabas.protocol import messages


def group_epoch_record(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    """Record 3: the group's epoch, and the hash of its topics that it was raised for."""
    return CoordinatorRecord(
        messages.ConsumerGroupMetadataKey(group_id=group_id),
        messages.ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash),
    )


def group_epoch_tombstone(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(messages.ConsumerGroupMetadataKey(group_id=group_id), None)


def partition_metadata_tombstone(group_id: str) -> CoordinatorRecord:
    """Record 4 is of brokers before 4.1, which kept a group's topics in it; the hash replaced it."""
    return CoordinatorRecord(messages.ConsumerGroupPartitionMetadataKey(group_id=group_id), None)


def member_record(group_id: str, member: ConsumerGroupMember) -> CoordinatorRecord:
    """Record 5: who a member is and what it subscribes to."""
    classic = None
    if member.classic is not None:
        classic = messages.ConsumerGroupMemberMetadataValueClassicMemberMetadata(
            session_timeout_ms=member.classic.session_timeout_ms,
            supported_protocols=[
                messages.ConsumerGroupMemberMetadataValueClassicProtocol(
                    name=protocol.name, metadata=protocol.metadata
                )
                for protocol in member.classic.protocols
            ],
        )
    return CoordinatorRecord(
        messages.ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id),
        messages.ConsumerGroupMemberMetadataValue(
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=sorted(member.subscribed_topic_names),
            subscribed_topic_regex=member.subscribed_topic_regex,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            server_assignor=member.server_assignor,
            classic_member_metadata=classic,
        ),
    )


def member_tombstone(group_id: str, member_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(
        messages.ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None
    )


def target_epoch_record(group_id: str, epoch: int, assigned_at_ms: int) -> CoordinatorRecord:
    """Record 6: the group epoch that the targets were computed for.

    Args:
        assigned_at_ms: wall time; 0 lets the next target be computed at once.
    """
    return CoordinatorRecord(
        messages.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id),
        messages.ConsumerGroupTargetAssignmentMetadataValue(
            assignment_epoch=epoch, assignment_timestamp=assigned_at_ms
        ),
    )


def target_epoch_tombstone(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(messages.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None)


def target_record(group_id: str, member_id: str, target: Partitions) -> CoordinatorRecord:
    """Record 7: what a member is to have."""
    return CoordinatorRecord(
        messages.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id),
        messages.ConsumerGroupTargetAssignmentMemberValue(
            topic_partitions=[
                messages.ConsumerGroupTargetAssignmentMemberValueTopicPartition(
                    topic_id=topic_id, partitions=sorted(partitions)
                )
                for topic_id, partitions in sorted(target.items())
            ]
        ),
    )


def target_tombstone(group_id: str, member_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(
        messages.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None
    )


def current_assignment_record(group_id: str, member: ConsumerGroupMember) -> CoordinatorRecord:
    """Record 8: what a member has, since when, and what it gives up."""
    return CoordinatorRecord(
        messages.ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id),
        messages.ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=member.member_epoch,
            previous_member_epoch=member.previous_member_epoch,
            state=member.state.value,
            assigned_partitions=_with_epochs(member.assigned),
            partitions_pending_revocation=_with_epochs(member.pending_revocation),
        ),
    )


def current_assignment_tombstone(group_id: str, member_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(
        messages.ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None
    )


def regex_record(
    group_id: str, regex: str, topics: Iterable[str], version: int, resolved_at_ms: int
) -> CoordinatorRecord:
    """Record 16: the topics that a regular expression matched.

    Args:
        version: offset of the metadata log that these topics were of.
        resolved_at_ms: wall time.
    """
    return CoordinatorRecord(
        messages.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex),
        messages.ConsumerGroupRegularExpressionValue(
            topics=sorted(topics), version=version, timestamp=resolved_at_ms
        ),
    )


def regex_tombstone(group_id: str, regex: str) -> CoordinatorRecord:
    return CoordinatorRecord(
        messages.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex), None
    )


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """Return what makes a group forget a member, in the order that its replay insists on."""
    return [
        current_assignment_tombstone(group_id, member_id),
        target_tombstone(group_id, member_id),
        member_tombstone(group_id, member_id),
    ]


def _with_epochs(
    assigned: PartitionEpochs,
) -> list[messages.ConsumerGroupCurrentMemberAssignmentValueTopicPartitions]:
    made = []
    for topic_id, epochs in sorted(assigned.items()):
        partitions = sorted(epochs)
        made.append(
            messages.ConsumerGroupCurrentMemberAssignmentValueTopicPartitions(
                topic_id=topic_id,
                partitions=partitions,
                assignment_epochs=[epochs[partition] for partition in partitions],
            )
        )
    return made
