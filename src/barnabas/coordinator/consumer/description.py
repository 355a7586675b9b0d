"""What ConsumerGroupDescribe tells of a group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from barnabas.base.errors import ApiError
from barnabas.base.hints import TYPE_CHECKING, Final
from barnabas.coordinator.assignors.assignments import Partitions
from barnabas.coordinator.consumer.group import ConsumerGroup
from barnabas.coordinator.consumer.member import ConsumerGroupMember, PartitionEpochs
from barnabas.metadata.image import MetadataImage
from barnabas.protocol import messages

if TYPE_CHECKING:
    from barnabas.coordinator.consumer.core import ConsumerGroupCore

_CLASSIC_MEMBER: Final = 0
_CONSUMER_MEMBER: Final = 1


def describe(
    core: ConsumerGroupCore, group_ids: Iterable[str]
) -> list[messages.ConsumerGroupDescribeResponseDescribedGroup]:
    """Describe groups; those that are not consumer groups by what is wrong."""
    described = []
    for group_id in group_ids:
        try:
            group = core.group(group_id)
        except ApiError as error:
            described.append(
                messages.ConsumerGroupDescribeResponseDescribedGroup(
                    group_id=group_id, error_code=error.code, error_message=error.message
                )
            )
        else:
            assignors = core.config(group_id).group_consumer_assignors
            described.append(_described(group, assignors, core.context.image))
    return described


def _described(
    group: ConsumerGroup, assignors: Sequence[str], image: MetadataImage
) -> messages.ConsumerGroupDescribeResponseDescribedGroup:
    return messages.ConsumerGroupDescribeResponseDescribedGroup(
        group_id=group.group_id,
        group_state=group.state_name,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.subscriptions.assignors.most_frequent(assignors) or assignors[0],
        members=[_member(member, group.target(member.member_id), image) for member in group.members.values()],
    )


def _member(
    member: ConsumerGroupMember, target: Partitions, image: MetadataImage
) -> messages.ConsumerGroupDescribeResponseMember:
    return messages.ConsumerGroupDescribeResponseMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.subscribed_topic_names),
        subscribed_topic_regex=member.subscribed_topic_regex,
        assignment=_assignment([member.assigned, member.pending_revocation], image),
        target_assignment=_assignment([target], image),
        member_type=_CLASSIC_MEMBER if member.uses_classic_protocol else _CONSUMER_MEMBER,
    )


def _assignment(
    several: Sequence[PartitionEpochs | Partitions], image: MetadataImage
) -> messages.ConsumerGroupDescribeResponseAssignment:
    """Return partitions as one list, without those of topics that are gone."""
    numbers: dict[bytes, set[int]] = {}
    for partitions in several:
        for topic_id, some in partitions.items():
            numbers.setdefault(topic_id, set()).update(some)
    return messages.ConsumerGroupDescribeResponseAssignment(
        topic_partitions=[
            messages.ConsumerGroupDescribeResponseTopicPartitions(
                topic_id=topic_id, topic_name=image.topics_by_id[topic_id].name, partitions=sorted(some)
            )
            for topic_id, some in numbers.items()
            if topic_id in image.topics_by_id
        ]
    )
