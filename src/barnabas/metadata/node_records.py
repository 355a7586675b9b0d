"""The records with which a node begins: a new log's first ones, its registration, and its leaderships.

They are those that Apache Kafka's combined node writes, in its order, so that it finds what it expects.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from barnabas.base.dataclass import dataclass, field
from barnabas.base.entropy import Entropy
from barnabas.base.uuids import random_uuid
from barnabas.metadata.config_changes import ELR_FEATURE, MIN_INSYNC_REPLICAS
from barnabas.metadata.features import SUPPORTED_FEATURES
from barnabas.metadata.image import (
    DIRECTORY_MIGRATING,
    DIRECTORY_UNASSIGNED,
    METADATA_VERSION,
    BrokerRegistration,
    ConfigResourceType,
    ControllerRegistration,
    Endpoint,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from barnabas.metadata.records import VersionedRecord
from barnabas.metadata.snapshot_records import (
    CONTROLLER_REGISTRATION_SINCE,
    CORDONED_SINCE,
    TRANSACTIONS_SINCE,
    partition_record_version,
    register_broker_record,
    register_controller_record,
)
from barnabas.protocol import messages


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeIdentity:
    """What this node registers as.

    Attributes:
        endpoints: advertised listeners for clients.
        log_dirs: directory ids in the order of log.dirs.
        static_configs: what was set in properties, environment and overrides, as texts.
    """

    node_id: int
    endpoints: tuple[Endpoint, ...]
    controller_endpoint: Endpoint
    log_dirs: tuple[bytes, ...]
    rack: str | None = None
    static_configs: Mapping[str, str] = field(default_factory=dict)


def first_records(features: Sequence[VersionedRecord], node: NodeIdentity) -> list[VersionedRecord]:
    """Return what a new log begins with: features, and min.insync.replicas, which ELR needs (KIP-966)."""
    records = list(features)
    levels = {r.message.name: r.message.feature_level for r in records if r.type_name == "FeatureLevelRecord"}
    if levels.get(ELR_FEATURE):
        records.append(
            VersionedRecord(
                messages.ConfigRecord(
                    resource_type=ConfigResourceType.BROKER,
                    resource_name="",
                    name=MIN_INSYNC_REPLICAS,
                    value=node.static_configs.get(MIN_INSYNC_REPLICAS, "1"),
                )
            )
        )
    if levels.get(METADATA_VERSION, 0) >= TRANSACTIONS_SINCE:
        begin = messages.BeginTransactionRecord(name="Bootstrap records")
        records = [VersionedRecord(begin), *records, VersionedRecord(messages.EndTransactionRecord())]
    return records


def registration_records(
    node: NodeIdentity, *, metadata_version: int, next_offset: int, entropy: Entropy
) -> tuple[list[VersionedRecord], int]:
    """Return the records that register and unfence this node, and its broker epoch.

    Args:
        next_offset: where the first record will lie; a broker's epoch is the offset of its registration.
    """
    records: list[VersionedRecord] = []
    if metadata_version >= CONTROLLER_REGISTRATION_SINCE:
        controller = ControllerRegistration(
            controller_id=node.node_id,
            incarnation_id=random_uuid(entropy),
            zk_migration_ready=False,
            endpoints=(node.controller_endpoint,),
            features=SUPPORTED_FEATURES,
        )
        records.append(register_controller_record(controller))
    broker_epoch = next_offset + len(records)
    registration = BrokerRegistration(
        broker_id=node.node_id,
        broker_epoch=broker_epoch,
        incarnation_id=random_uuid(entropy),
        endpoints=node.endpoints,
        features=SUPPORTED_FEATURES,
        rack=node.rack,
        fenced=True,
        log_dirs=node.log_dirs,
    )
    records.append(register_broker_record(registration, metadata_version))
    if metadata_version >= CORDONED_SINCE:
        records.append(cordon_record(node, broker_epoch, ()))
    change = messages.BrokerRegistrationChangeRecord(
        broker_id=node.node_id, broker_epoch=broker_epoch, fenced=-1
    )
    records.append(VersionedRecord(change))
    return records, broker_epoch


def cordon_record(node: NodeIdentity, broker_epoch: int, log_dirs: Sequence[bytes]) -> VersionedRecord:
    """Return the record that says which log directories get no new replicas (KIP-1066)."""
    change = messages.BrokerRegistrationChangeRecord(
        broker_id=node.node_id, broker_epoch=broker_epoch, cordoned_log_dirs=list(log_dirs)
    )
    return VersionedRecord(change, 3)


def farewell_records(node: NodeIdentity, broker_epoch: int) -> list[VersionedRecord]:
    """Return the records of a node that goes in good order."""
    shutdown = messages.BrokerRegistrationChangeRecord(
        broker_id=node.node_id, broker_epoch=broker_epoch, in_controlled_shutdown=1
    )
    fence = messages.BrokerRegistrationChangeRecord(
        broker_id=node.node_id, broker_epoch=broker_epoch, fenced=1
    )
    return [VersionedRecord(shutdown, 1), VersionedRecord(fence)]


def election_records(
    image: MetadataImage, node_id: int, *, was_clean: bool, log_dirs: Collection[bytes] = ()
) -> Iterator[VersionedRecord]:
    """Yield the records that make a node lead all its partitions.

    After an unclean stop every leader epoch is bumped: records above what was synced may be gone, and what
    takes their offsets must not look the same to a client.

    Args:
        log_dirs: ids of the directories that work, when some may not: what lies elsewhere gets no leader.
    """
    version = partition_record_version(image.metadata_version)
    lost: set[bytes] = set()
    if log_dirs:
        known = {*log_dirs, DIRECTORY_MIGRATING, DIRECTORY_UNASSIGNED}
        lost = {
            one
            for topic in image.topics.values()
            for partition in topic.partitions.values()
            for replica, one in zip(partition.replicas, partition.directories, strict=True)
            if replica == node_id and one not in known
        }
    if lost:
        from barnabas.metadata.directory_changes import leaderless_records  # noqa: PLC0415 - rarely needed

        yield from leaderless_records(image, node_id, lost)
    for topic in image.topics.values():
        for partition in topic.partitions.values():
            if node_id not in partition.replicas:
                continue
            if lost and partition.directories[partition.replicas.index(node_id)] in lost:
                continue
            if was_clean and partition.leader == node_id and partition.isr == (node_id,):
                continue
            yield _election(topic, partition, node_id, version)


def _election(topic: TopicImage, partition: PartitionImage, node_id: int, version: int) -> VersionedRecord:
    has_elr = version >= 2 and bool(partition.eligible_leader_replicas or partition.last_known_elr)
    return VersionedRecord(
        messages.PartitionChangeRecord(
            partition_id=partition.partition,
            topic_id=topic.topic_id,
            leader=node_id,
            isr=[node_id] if partition.isr != (node_id,) else None,
            eligible_leader_replicas=[] if has_elr else None,
            last_known_elr=[] if has_elr else None,
        ),
        version,
    )
