"""The records that say what an image says: the content of a snapshot, and the versions to write records in.

Which version of a record may be written depends on the finalised metadata.version, so that a broker of that
release can read it. Order follows Apache Kafka's snapshots: features first, since they decide how the rest is
read.
"""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.base.hints import Final
from barnabas.metadata.image import (
    METADATA_VERSION,
    BrokerRegistration,
    ControllerRegistration,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from barnabas.metadata.records import VersionedRecord
from barnabas.protocol import messages

DIRECTORIES_SINCE: Final = 17
"""3.7-IV2: log directories in partitions and registrations (KIP-858)."""
ELR_SINCE: Final = 23
"""4.0-IV1: eligible leader replicas (KIP-966)."""
CORDONED_SINCE: Final = 30
"""4.3-IV0: cordoned log directories."""
TRANSACTIONS_SINCE: Final = 13
"""3.6-IV1: metadata transactions (KIP-868)."""
CONTROLLER_REGISTRATION_SINCE: Final = 15
"""3.7-IV0: controllers register (KIP-919)."""


def partition_record_version(metadata_version: int) -> int:
    """Return the version of PartitionRecord and PartitionChangeRecord to write."""
    return (metadata_version >= DIRECTORIES_SINCE) + (metadata_version >= ELR_SINCE)


def register_broker_version(metadata_version: int) -> int:
    """Return the version of RegisterBrokerRecord to write; 1 is 3.3, 2 is 3.4."""
    return (
        1
        + (metadata_version >= 8)
        + (metadata_version >= DIRECTORIES_SINCE)
        + (metadata_version >= CORDONED_SINCE)
    )


def image_records(image: MetadataImage) -> Iterator[VersionedRecord]:
    """Yield records that replay into an equal image."""
    yield from _feature_records(image)
    if image.zk_migration_state:
        yield VersionedRecord(messages.ZkMigrationStateRecord(zk_migration_state=image.zk_migration_state))
    for _, broker in sorted(image.brokers.items()):
        yield register_broker_record(broker, image.metadata_version)
    for _, controller in sorted(image.controllers.items()):
        yield register_controller_record(controller)
    version = partition_record_version(image.metadata_version)
    for topic in image.topics.values():
        yield VersionedRecord(messages.TopicRecord(name=topic.name, topic_id=topic.topic_id))
        for _, partition in sorted(topic.partitions.items()):
            yield partition_record(topic, partition, version)
    for (kind, name), values in image.configs.items():
        for key, value in sorted(values.items()):
            yield VersionedRecord(
                messages.ConfigRecord(resource_type=kind, resource_name=name, name=key, value=value)
            )
    yield from _security_records(image)


def _feature_records(image: MetadataImage) -> Iterator[VersionedRecord]:
    names = sorted(image.features, key=lambda name: (name != METADATA_VERSION, name))
    for name in names:
        yield VersionedRecord(messages.FeatureLevelRecord(name=name, feature_level=image.features[name]))


def _security_records(image: MetadataImage) -> Iterator[VersionedRecord]:
    security = image.security
    for entity, values in security.quotas.items():
        for key, number in sorted(values.items()):
            listed = [
                messages.ClientQuotaRecordEntityData(entity_type=kind, entity_name=name)
                for kind, name in entity
            ]
            yield VersionedRecord(messages.ClientQuotaRecord(entity=listed, key=key, value=number))
    if image.next_producer_id >= 0:
        yield VersionedRecord(
            messages.ProducerIdsRecord(broker_id=-1, broker_epoch=-1, next_producer_id=image.next_producer_id)
        )
    for kept in (security.acls, security.scram_credentials, security.delegation_tokens):
        for message in kept.values():
            yield VersionedRecord(message)


def partition_record(topic: TopicImage, partition: PartitionImage, version: int) -> VersionedRecord:
    """Return the record that creates a partition as it is."""
    elr = partition.eligible_leader_replicas
    last_known = partition.last_known_elr
    return VersionedRecord(
        messages.PartitionRecord(
            partition_id=partition.partition,
            topic_id=topic.topic_id,
            replicas=list(partition.replicas),
            isr=list(partition.isr),
            removing_replicas=list(partition.removing_replicas),
            adding_replicas=list(partition.adding_replicas),
            leader=partition.leader,
            leader_recovery_state=partition.leader_recovery_state,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            directories=list(partition.directories) if version >= 1 else [],
            eligible_leader_replicas=list(elr) if elr and version >= 2 else None,
            last_known_elr=list(last_known) if last_known and version >= 2 else None,
        ),
        version,
    )


def register_broker_record(broker: BrokerRegistration, metadata_version: int) -> VersionedRecord:
    """Return the record that registers a broker."""
    version = register_broker_version(metadata_version)
    cordoned = broker.cordoned_log_dirs
    return VersionedRecord(
        messages.RegisterBrokerRecord(
            broker_id=broker.broker_id,
            is_migrating_zk_broker=broker.is_migrating_zk_broker and version >= 2,
            incarnation_id=broker.incarnation_id,
            broker_epoch=broker.broker_epoch,
            end_points=[
                messages.RegisterBrokerRecordBrokerEndpoint(
                    name=e.name, host=e.host, port=e.port, security_protocol=e.security_protocol
                )
                for e in broker.endpoints
            ],
            features=[
                messages.RegisterBrokerRecordBrokerFeature(
                    name=name, min_supported_version=low, max_supported_version=high
                )
                for name, (low, high) in broker.features.items()
            ],
            rack=broker.rack,
            fenced=broker.fenced,
            in_controlled_shutdown=broker.in_controlled_shutdown,
            log_dirs=list(broker.log_dirs) if version >= 3 else [],
            cordoned_log_dirs=list(cordoned) if cordoned is not None and version >= 4 else None,
        ),
        version,
    )


def register_controller_record(controller: ControllerRegistration) -> VersionedRecord:
    """Return the record that registers a controller."""
    return VersionedRecord(
        messages.RegisterControllerRecord(
            controller_id=controller.controller_id,
            incarnation_id=controller.incarnation_id,
            zk_migration_ready=controller.zk_migration_ready,
            end_points=[
                messages.RegisterControllerRecordControllerEndpoint(
                    name=e.name, host=e.host, port=e.port, security_protocol=e.security_protocol
                )
                for e in controller.endpoints
            ],
            features=[
                messages.RegisterControllerRecordControllerFeature(
                    name=name, min_supported_version=low, max_supported_version=high
                )
                for name, (low, high) in controller.features.items()
            ],
        )
    )
