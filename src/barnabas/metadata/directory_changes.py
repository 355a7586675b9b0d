"""The records that follow when a node's log directories fail, and those that keep it from leading what lies
there.

They are those that Apache Kafka's controller writes when a broker tells of offline directories (KIP-858):
each partition there loses its leader, who stays eligible for it (KIP-966), and the registration lists the
directories that are left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from barnabas.metadata.config_changes import ELR_FEATURE
from barnabas.metadata.image import (
    DIRECTORY_MIGRATING,
    DIRECTORY_UNASSIGNED,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from barnabas.metadata.node_records import NodeIdentity
from barnabas.metadata.records import VersionedRecord
from barnabas.metadata.snapshot_records import partition_record_version
from barnabas.protocol import messages

NO_LEADER = -1


def offline_records(
    image: MetadataImage, node: NodeIdentity, broker_epoch: int, offline: Collection[bytes]
) -> list[VersionedRecord]:
    """Return what is to be written when directories have failed; nothing when all of it is known.

    Args:
        offline: ids of directories.
    """
    registered = image.brokers[node.node_id].log_dirs
    left = [one for one in registered if one not in offline]
    if len(left) == len(registered):
        return []
    records = list(leaderless_records(image, node.node_id, offline))
    change = messages.BrokerRegistrationChangeRecord(
        broker_id=node.node_id, broker_epoch=broker_epoch, log_dirs=left
    )
    return [*records, VersionedRecord(change, 2)]


def leaderless_records(
    image: MetadataImage, node_id: int, offline: Collection[bytes]
) -> Iterator[VersionedRecord]:
    """Yield the records that take a node's lead of partitions that lie in one of the directories."""
    for topic in image.topics.values():
        for partition in topic.partitions.values():
            if partition.leader == node_id and directory_of(partition, node_id) in offline:
                yield _without_leader(image, topic, partition, node_id)


def directory_of(partition: PartitionImage, node_id: int) -> bytes | None:
    """Return the id of the directory that a node's replica lies in; None when that is not known."""
    if node_id not in partition.replicas:
        return None
    directory = partition.directories[partition.replicas.index(node_id)]
    return None if directory in (DIRECTORY_MIGRATING, DIRECTORY_UNASSIGNED) else directory


def _without_leader(
    image: MetadataImage, topic: TopicImage, partition: PartitionImage, node_id: int
) -> VersionedRecord:
    version = partition_record_version(image.metadata_version)
    with_elr = version >= 2 and bool(image.features.get(ELR_FEATURE))
    return VersionedRecord(
        messages.PartitionChangeRecord(
            partition_id=partition.partition,
            topic_id=topic.topic_id,
            leader=NO_LEADER,
            # Without the feature the last in-sync replica stays one, or nobody could ever lead again.
            isr=[] if with_elr else None,
            eligible_leader_replicas=[node_id] if with_elr else None,
            last_known_elr=[node_id] if with_elr else None,
        ),
        version,
    )
