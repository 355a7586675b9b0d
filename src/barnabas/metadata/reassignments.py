"""Reassigning partitions, as a single node can: onto itself, at once (KIP-455).

A directory that came from a larger cluster may hold partitions with replicas elsewhere; naming this node as
the only replica drops those. Anything that would need another broker is refused as Apache Kafka refuses it
while no such broker is registered.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.base.dataclass import dataclass, replace
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.metadata.image import MetadataImage, PartitionImage
from barnabas.metadata.records import VersionedRecord
from barnabas.metadata.snapshot_records import partition_record_version
from barnabas.metadata.topic_changes import Placement, validate_assignment
from barnabas.protocol import messages


@dataclass(frozen=True, slots=True, kw_only=True)
class Reassignment:
    """A partition and the brokers its replicas shall lie on; None cancels what is going on."""

    topic: str
    partition: int
    replicas: Sequence[int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReassignmentResult:
    """How it went."""

    topic: str
    partition: int
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


def plan_reassignments(
    wanted: Sequence[Reassignment], *, image: MetadataImage, placement: Placement, may_change_factor: bool
) -> tuple[list[VersionedRecord], list[ReassignmentResult]]:
    """Return the records that reassign partitions, and a result for each.

    Args:
        may_change_factor: whether the number of replicas may become another (KIP-860).
    """
    records: list[VersionedRecord] = []
    results = []
    for one in wanted:
        try:
            records += _plan(one, image, placement, may_change_factor)
        except ApiError as error:
            result = ReassignmentResult(
                topic=one.topic, partition=one.partition, error=error.code, message=error.message
            )
        else:
            result = ReassignmentResult(topic=one.topic, partition=one.partition)
        results.append(result)
    return records, results


def _plan(
    wanted: Reassignment, image: MetadataImage, placement: Placement, may_change_factor: bool
) -> list[VersionedRecord]:
    topic = image.topics.get(wanted.topic)
    if topic is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {wanted.topic}.")
    partition = topic.partitions.get(wanted.partition)
    if partition is None:
        raise ApiError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"Unable to find partition {wanted.topic}:{wanted.partition}.",
        )
    if wanted.replicas is None:
        return _cancel(partition, topic.topic_id, image)
    validate_assignment(wanted.replicas, replace(placement, is_cordoned=False))
    before, after = len(partition.replicas), len(wanted.replicas)
    if before != after and not may_change_factor:
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {before} to {after}",
        )
    if partition.replicas == tuple(wanted.replicas) and not _ongoing(partition):
        return []
    if placement.node_id not in partition.isr:
        raise ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Broker {placement.node_id} is not in sync with this partition, "
            "so it cannot be the only replica.",
        )
    own = partition.directories[partition.replicas.index(placement.node_id)]
    change = messages.PartitionChangeRecord(
        partition_id=partition.partition,
        topic_id=topic.topic_id,
        replicas=list(wanted.replicas),
        isr=list(wanted.replicas),
        removing_replicas=[],
        adding_replicas=[],
        leader=placement.node_id,
    )
    version = partition_record_version(image.metadata_version)
    if version >= 1:
        change.directories = [own]
    return [VersionedRecord(change, version)]


def _ongoing(partition: PartitionImage) -> bool:
    return bool(partition.adding_replicas or partition.removing_replicas)


def _cancel(partition: PartitionImage, topic_id: bytes, image: MetadataImage) -> list[VersionedRecord]:
    if not _ongoing(partition):
        raise ApiError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    kept = [
        (replica, directory)
        for replica, directory in zip(partition.replicas, partition.directories, strict=True)
        if replica not in partition.adding_replicas
    ]
    version = partition_record_version(image.metadata_version)
    change = messages.PartitionChangeRecord(
        partition_id=partition.partition,
        topic_id=topic_id,
        replicas=[replica for replica, _ in kept],
        isr=[replica for replica in partition.isr if replica not in partition.adding_replicas] or None,
        removing_replicas=[],
        adding_replicas=[],
    )
    if version >= 1:
        change.directories = [directory for _, directory in kept]
    return [VersionedRecord(change, version)]
