"""From the partitions a Fetch names to those the replica layer reads.

Apart from the handler, since a fetch session keeps such partitions and changes them (see fetch_session.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from barnabas.base.errors import ErrorCode
from barnabas.base.hints import TYPE_CHECKING, Final, TypeVar
from barnabas.replica.fetch import NO_LEADER_EPOCH, FetchPartition

if TYPE_CHECKING:
    from barnabas.metadata.image import MetadataImage
    from barnabas.protocol import messages

P = TypeVar("P", bound=FetchPartition)

PartitionKey = tuple[str | bytes, int]
"""(topic id or name, partition): which of the two depends on the request's version."""

_UNKNOWN_ID: Final = ErrorCode.UNKNOWN_TOPIC_ID
_UNKNOWN_PARTITION: Final = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def asked_partitions(
    topics: Iterable[messages.FetchRequestFetchTopic], make: type[P], *, with_ids: bool
) -> Sequence[P]:
    """Return what is asked, in order; of a partition named twice the last, where the first stood (F6).

    Args:
        make: FetchPartition, or the session's kind of it.
        with_ids: whether topics are named by id; the names are then "" until they are looked up.
    """
    asked = [
        make(
            topic.topic,
            topic.topic_id,
            part.partition,
            part.fetch_offset,
            part.partition_max_bytes,
            part.current_leader_epoch if part.current_leader_epoch >= 0 else NO_LEADER_EPOCH,
            part.last_fetched_epoch if part.last_fetched_epoch >= 0 else NO_LEADER_EPOCH,
            part.log_start_offset,
        )
        for topic in topics
        for part in topic.partitions
    ]
    if len(asked) <= 1:
        return asked
    return list({(one.topic_id if with_ids else one.topic, one.partition): one for one in asked}.values())


def change_partition(partition: FetchPartition, part: messages.FetchRequestFetchPartition) -> None:
    """Give a partition what a later request of its session says of it."""
    partition.fetch_offset = part.fetch_offset
    partition.max_bytes = part.partition_max_bytes
    partition.current_leader_epoch = (
        part.current_leader_epoch if part.current_leader_epoch >= 0 else NO_LEADER_EPOCH
    )
    partition.last_fetched_epoch = (
        part.last_fetched_epoch if part.last_fetched_epoch >= 0 else NO_LEADER_EPOCH
    )
    partition.log_start_offset = part.log_start_offset


def sort_out(
    partitions: Iterable[P], image: MetadataImage, *, with_ids: bool, in_order: bool
) -> tuple[list[P], list[tuple[P, ErrorCode]]]:
    """Return what can be read and what is not there (F8, F9); a topic known by id only gets its name.

    Args:
        in_order: for followers, whose missing partitions are told as they were asked; consumers are told
            of unknown ids first.
    """
    topics, topics_by_id = image.topics, image.topics_by_id
    readable: list[P] = []
    unknown: list[tuple[P, ErrorCode]] = []
    missing: list[tuple[P, ErrorCode]] = unknown if in_order else []
    for partition in partitions:
        if partition.topic or not with_ids:
            topic = topics.get(partition.topic)
        else:
            topic = topics_by_id.get(partition.topic_id)
            if topic is None:
                unknown.append((partition, _UNKNOWN_ID))
                continue
            partition.topic = topic.name
        if topic is None or partition.partition not in topic.partitions:
            missing.append((partition, _UNKNOWN_PARTITION))
        else:
            readable.append(partition)
    if not in_order:
        unknown += missing
    return readable, unknown
