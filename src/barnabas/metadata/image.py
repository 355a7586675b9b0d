"""What the cluster is: topics, partitions, configs, features, brokers, as replayed from KRaft records.

There is one image per broker and one way to change it: replay(record), in log order. A start and a live
change take the same path, so a restart gives the same image. Values inside (TopicImage, PartitionImage,
BrokerRegistration) are replaced, never changed, so a reader may keep one and see it stay as it was; the
maps around them do change, on the loop that owns the broker. Apache Kafka copies a whole persistent map per
batch instead, which lets other threads read it; nothing here runs on another thread, and 10,000 partitions
replay many times faster into plain dicts.

A MetadataDelta collects what one batch changed, for those who must act on it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

from barnabas.base.dataclass import replace
from barnabas.base.hints import Any, Final
from barnabas.base.uuids import uuid_text
from barnabas.metadata.image_types import (
    DIRECTORY_LOST,
    DIRECTORY_MIGRATING,
    DIRECTORY_UNASSIGNED,
    METADATA_VERSION,
    METADATA_VERSION_MAX,
    METADATA_VERSION_MIN,
    NO_LEADER,
    NO_LEADER_CHANGE,
    BrokerRegistration,
    ConfigResource,
    ConfigResourceType,
    ControllerRegistration,
    Endpoint,
    MetadataDelta,
    PartitionImage,
    TopicImage,
)
from barnabas.metadata.records import MetadataError, VersionedRecord
from barnabas.metadata.security_records import SecurityRecords

__all__ = [
    "DIRECTORY_LOST",
    "DIRECTORY_MIGRATING",
    "DIRECTORY_UNASSIGNED",
    "METADATA_VERSION",
    "METADATA_VERSION_MAX",
    "METADATA_VERSION_MIN",
    "NO_LEADER",
    "NO_LEADER_CHANGE",
    "BrokerRegistration",
    "ConfigResource",
    "ConfigResourceType",
    "ControllerRegistration",
    "Endpoint",
    "MetadataDelta",
    "MetadataImage",
    "PartitionImage",
    "TopicImage",
    "merge_partition",
]


class MetadataImage:
    """Everything the metadata log says, up to the last replayed record.

    Attributes:
        topics: by name.
        topics_by_id: the same objects by topic id.
        configs: resource -> name -> value; resources without values are absent.
        features: finalised levels, `metadata.version` among them; level 0 is absent.
        next_producer_id: first id of the next block; -1 before the first block.
        brokers_version: counts changes of brokers and features, which are in every Metadata response.
        topics_version: counts changes of topics and partitions.
    """

    __slots__ = (
        "_pending",
        "brokers",
        "brokers_version",
        "configs",
        "controllers",
        "features",
        "next_producer_id",
        "security",
        "topics",
        "topics_by_id",
        "topics_version",
        "zk_migration_state",
    )

    def __init__(self) -> None:
        self.topics: dict[str, TopicImage] = {}
        self.topics_by_id: dict[bytes, TopicImage] = {}
        self.configs: dict[ConfigResource, dict[str, str]] = {}
        self.features: dict[str, int] = {}
        self.brokers: dict[int, BrokerRegistration] = {}
        self.controllers: dict[int, ControllerRegistration] = {}
        self.next_producer_id = -1
        self.zk_migration_state = 0
        self.security = SecurityRecords()
        self.brokers_version = 0
        self.topics_version = 0
        self._pending: list[VersionedRecord] | None = None

    def config(self, kind: ConfigResourceType, name: str) -> Mapping[str, str]:
        """Return what is set on a resource; empty when nothing is."""
        return self.configs.get((kind, name), _NO_CONFIGS)

    def partition(self, topic: str, partition: int) -> PartitionImage | None:
        """Return a partition by topic name; None when there is none."""
        found = self.topics.get(topic)
        return None if found is None else found.partitions.get(partition)

    @property
    def metadata_version(self) -> int:
        """The finalised level of metadata.version; the oldest supported one when none is recorded."""
        return self.features.get(METADATA_VERSION, METADATA_VERSION_MIN)

    @property
    def in_transaction(self) -> bool:
        """Whether records are held back because their transaction has not ended (KIP-868)."""
        return self._pending is not None

    def encoded_topic(self, topic: TopicImage, key: Hashable, encode: Callable[[TopicImage], bytes]) -> bytes:
        """Return `encode(topic)`, made once for each key while neither topic nor brokers change.

        This keeps a Metadata request for thousands of partitions a matter of joining bytes.

        Args:
            key: what else the bytes depend on: api version, listener.
        """
        if topic.encoded_for != self.brokers_version:
            topic.encoded.clear()
            topic.encoded_for = self.brokers_version
        made = topic.encoded.get(key)
        if made is None:
            made = topic.encoded[key] = encode(topic)
        return made

    def replay(self, record: VersionedRecord, delta: MetadataDelta) -> None:
        """Apply one record and note in `delta` what it changed.

        Records of a metadata transaction are held back until it ends and dropped when it aborts.

        Raises:
            MetadataError: the record makes no sense on this image (an unknown topic, a feature level
                this broker does not support).
        """
        delta.record_count += 1
        name = record.type_name
        if name in _TRANSACTION_RECORDS:
            self._replay_transaction(name, delta)
        elif self._pending is not None:
            self._pending.append(record)
        else:
            _REPLAY[name](self, record.message, delta)

    def _replay_transaction(self, name: str, delta: MetadataDelta) -> None:
        if name == "BeginTransactionRecord":
            if self._pending is not None:
                raise MetadataError("a metadata transaction begins within another")
            self._pending = []
            return
        if self._pending is None:
            raise MetadataError(f"{name} without a metadata transaction")
        held, self._pending = self._pending, None
        if name == "EndTransactionRecord":
            for record in held:
                _REPLAY[record.type_name](self, record.message, delta)

    def _replace_topic(self, topic: TopicImage) -> None:
        self.topics[topic.name] = topic
        self.topics_by_id[topic.topic_id] = topic
        self.topics_version += 1

    def _topic(self, message: Any) -> TopicImage:
        topic = self.topics_by_id.get(bytes(message.topic_id))
        if topic is None:
            kind = type(message).__name__
            raise MetadataError(f"{kind} names the unknown topic id {uuid_text(bytes(message.topic_id))}")
        return topic

    def _touched(self, topic: TopicImage, delta: MetadataDelta) -> TopicImage:
        """Return a topic whose partitions may be changed in place: a copy, once per delta.

        A thousand PartitionRecords of one topic would otherwise copy its partitions a thousand times.
        """
        if topic.topic_id in delta.topics_touched:
            topic.encoded.clear()
            return topic
        copy = TopicImage(topic.name, topic.topic_id, dict(topic.partitions))
        delta.topics_touched.add(topic.topic_id)
        if topic.topic_id in delta.topics_created:
            delta.topics_created[topic.topic_id] = copy
        self._replace_topic(copy)
        return copy

    def _replay_topic(self, message: Any, delta: MetadataDelta) -> None:
        topic_id = bytes(message.topic_id)
        if message.name in self.topics:
            raise MetadataError(f"topic {message.name!r} is created twice")
        topic = TopicImage(message.name, topic_id, {})
        self._replace_topic(topic)
        delta.topics_created[topic_id] = topic
        delta.topics_touched.add(topic_id)

    def _replay_partition(self, message: Any, delta: MetadataDelta) -> None:
        topic = self._touched(self._topic(message), delta)
        replicas = tuple(message.replicas)
        directories = tuple(map(bytes, message.directories)) or (DIRECTORY_MIGRATING,) * len(replicas)
        number = message.partition_id
        before = topic.partitions.get(number)
        topic.partitions[number] = PartitionImage(
            partition=number,
            replicas=replicas,
            directories=directories,
            isr=tuple(message.isr),
            removing_replicas=tuple(message.removing_replicas),
            adding_replicas=tuple(message.adding_replicas),
            eligible_leader_replicas=tuple(message.eligible_leader_replicas or ()),
            last_known_elr=tuple(message.last_known_elr or ()),
            leader=message.leader,
            leader_recovery_state=message.leader_recovery_state,
            leader_epoch=message.leader_epoch,
            partition_epoch=message.partition_epoch,
        )
        delta.partitions_changed.setdefault((topic.topic_id, number), before)

    def _replay_partition_change(self, message: Any, delta: MetadataDelta) -> None:
        topic = self._topic(message)
        before = topic.partitions.get(message.partition_id)
        if before is None:
            raise MetadataError(
                f"PartitionChangeRecord names partition {message.partition_id} of topic {topic.name!r}, "
                "which does not exist"
            )
        self._change_partition(topic, merge_partition(before, message), delta)

    def _change_partition(self, topic: TopicImage, after: PartitionImage, delta: MetadataDelta) -> None:
        topic = self._touched(topic, delta)
        before = topic.partitions[after.partition]
        topic.partitions[after.partition] = after
        self.topics_version += 1
        delta.partitions_changed.setdefault((topic.topic_id, after.partition), before)

    def _replay_clear_elr(self, message: Any, delta: MetadataDelta) -> None:
        names = [message.topic_name] if message.topic_name else list(self.topics)
        for name in names:
            topic = self.topics.get(name)
            if topic is None:
                raise MetadataError(f"ClearElrRecord names the unknown topic {name!r}")
            for partition in list(topic.partitions.values()):
                if partition.eligible_leader_replicas or partition.last_known_elr:
                    cleared = replace(
                        partition,
                        eligible_leader_replicas=(),
                        last_known_elr=(),
                        partition_epoch=partition.partition_epoch + 1,
                    )
                    self._change_partition(self.topics[name], cleared, delta)

    def _replay_remove_topic(self, message: Any, delta: MetadataDelta) -> None:
        topic = self._topic(message)
        del self.topics[topic.name]
        del self.topics_by_id[topic.topic_id]
        self.topics_version += 1
        # A topic's configs end with it; no records say so.
        self.configs.pop((ConfigResourceType.TOPIC, topic.name), None)
        delta.configs_changed.pop((ConfigResourceType.TOPIC, topic.name), None)
        delta.topics_touched.discard(topic.topic_id)
        delta.topic_ids_deleted.add(topic.topic_id)
        for number in topic.partitions:
            delta.partitions_changed.pop((topic.topic_id, number), None)
        if delta.topics_created.pop(topic.topic_id, None) is None:
            delta.topics_deleted[topic.topic_id] = topic

    def _replay_config(self, message: Any, delta: MetadataDelta) -> None:
        try:
            resource = (ConfigResourceType(message.resource_type), message.resource_name)
        except ValueError:
            raise MetadataError(
                f"ConfigRecord sets {message.name} on a resource of the unknown type "
                f"{message.resource_type}: use a broker of the release that wrote it"
            ) from None
        if message.value is None:
            values = self.configs.get(resource)
            if values is not None:
                values.pop(message.name, None)
                if not values:
                    del self.configs[resource]
        else:
            self.configs.setdefault(resource, {})[message.name] = message.value
        delta.configs_changed.setdefault(resource, set()).add(message.name)

    def _replay_feature(self, message: Any, delta: MetadataDelta) -> None:
        level = message.feature_level
        if message.name == METADATA_VERSION and not METADATA_VERSION_MIN <= level <= METADATA_VERSION_MAX:
            raise MetadataError(
                f"metadata.version is at level {level}; this broker supports levels "
                f"{METADATA_VERSION_MIN} to {METADATA_VERSION_MAX}: use a broker of a release that knows it"
            )
        if level == 0:
            self.features.pop(message.name, None)
        else:
            self.features[message.name] = level
        self.brokers_version += 1
        delta.features_changed.add(message.name)

    def _replay_producer_ids(self, message: Any, delta: MetadataDelta) -> None:  # noqa: ARG002
        self.next_producer_id = message.next_producer_id

    def _set_broker(self, registration: BrokerRegistration, delta: MetadataDelta) -> None:
        self.brokers[registration.broker_id] = registration
        self.brokers_version += 1
        delta.brokers_changed.add(registration.broker_id)

    def _replay_register_broker(self, message: Any, delta: MetadataDelta) -> None:
        cordoned = message.cordoned_log_dirs
        registration = BrokerRegistration(
            broker_id=message.broker_id,
            broker_epoch=message.broker_epoch,
            incarnation_id=bytes(message.incarnation_id),
            endpoints=_endpoints(message.end_points),
            features=_features(message.features),
            rack=message.rack,
            fenced=message.fenced,
            in_controlled_shutdown=message.in_controlled_shutdown,
            is_migrating_zk_broker=message.is_migrating_zk_broker,
            log_dirs=tuple(map(bytes, message.log_dirs)),
            cordoned_log_dirs=None if cordoned is None else tuple(map(bytes, cordoned)),
        )
        self._set_broker(registration, delta)

    def _broker(self, kind: str, broker_id: int, epoch: int) -> BrokerRegistration:
        broker = self.brokers.get(broker_id)
        if broker is None or broker.broker_epoch != epoch:
            known = "unknown" if broker is None else f"at epoch {broker.broker_epoch}"
            raise MetadataError(f"{kind} names broker {broker_id} at epoch {epoch}, which is {known}")
        return broker

    def _replay_unregister_broker(self, message: Any, delta: MetadataDelta) -> None:
        self._broker("UnregisterBrokerRecord", message.broker_id, message.broker_epoch)
        del self.brokers[message.broker_id]
        self.brokers_version += 1
        delta.brokers_changed.add(message.broker_id)

    def _replay_fence(self, message: Any, delta: MetadataDelta) -> None:
        broker = self._broker("FenceBrokerRecord", message.id, message.epoch)
        self._set_broker(replace(broker, fenced=True), delta)

    def _replay_unfence(self, message: Any, delta: MetadataDelta) -> None:
        broker = self._broker("UnfenceBrokerRecord", message.id, message.epoch)
        self._set_broker(replace(broker, fenced=False), delta)

    def _replay_broker_change(self, message: Any, delta: MetadataDelta) -> None:
        broker = self._broker("BrokerRegistrationChangeRecord", message.broker_id, message.broker_epoch)
        changes: dict[str, Any] = {}
        if message.fenced:
            changes["fenced"] = message.fenced > 0
        if message.in_controlled_shutdown:
            changes["in_controlled_shutdown"] = True
        if message.log_dirs:
            changes["log_dirs"] = tuple(map(bytes, message.log_dirs))
        if message.cordoned_log_dirs is not None:
            changes["cordoned_log_dirs"] = tuple(map(bytes, message.cordoned_log_dirs))
        self._set_broker(replace(broker, **changes), delta)

    def _replay_register_controller(self, message: Any, delta: MetadataDelta) -> None:
        self.controllers[message.controller_id] = ControllerRegistration(
            controller_id=message.controller_id,
            incarnation_id=bytes(message.incarnation_id),
            zk_migration_ready=message.zk_migration_ready,
            endpoints=_endpoints(message.end_points),
            features=_features(message.features),
        )
        delta.controllers_changed.add(message.controller_id)

    def _replay_unregister_controller(self, message: Any, delta: MetadataDelta) -> None:
        if self.controllers.pop(message.controller_id, None) is None:
            raise MetadataError(
                f"UnregisterControllerRecord names the unknown controller {message.controller_id}"
            )
        delta.controllers_changed.add(message.controller_id)

    def _replay_zk_migration(self, message: Any, delta: MetadataDelta) -> None:  # noqa: ARG002
        self.zk_migration_state = message.zk_migration_state

    def _replay_no_op(self, message: Any, delta: MetadataDelta) -> None:
        """It only proves that the log grows."""

    def _replay_security(self, message: Any, delta: MetadataDelta) -> None:  # noqa: ARG002
        self.security.replay(message)


def merge_partition(before: PartitionImage, change: Any) -> PartitionImage:
    """Return a partition after a PartitionChangeRecord.

    Naming a leader bumps the leader epoch, even when it names the leader there is; every change bumps the
    partition epoch.
    """
    changes: dict[str, Any] = {"partition_epoch": before.partition_epoch + 1}
    for name in (
        "isr",
        "replicas",
        "removing_replicas",
        "adding_replicas",
        "eligible_leader_replicas",
        "last_known_elr",
    ):
        value = getattr(change, name)
        if value is not None:
            changes[name] = tuple(value)
    if change.directories is not None:
        changes["directories"] = tuple(map(bytes, change.directories))
    if change.leader != NO_LEADER_CHANGE:
        changes["leader"] = change.leader
        changes["leader_epoch"] = before.leader_epoch + 1
    if change.leader_recovery_state >= 0:
        changes["leader_recovery_state"] = change.leader_recovery_state
    return replace(before, **changes)


def _endpoints(listed: Any) -> tuple[Endpoint, ...]:
    return tuple(
        Endpoint(name=item.name, host=item.host, port=item.port, security_protocol=item.security_protocol)
        for item in listed
    )


def _features(listed: Any) -> dict[str, tuple[int, int]]:
    return {item.name: (item.min_supported_version, item.max_supported_version) for item in listed}


_NO_CONFIGS: Final[Mapping[str, str]] = {}
_TRANSACTION_RECORDS: Final = frozenset(
    {"BeginTransactionRecord", "EndTransactionRecord", "AbortTransactionRecord"}
)
_Replay = Callable[[MetadataImage, Any, MetadataDelta], None]
_REPLAY: Final[Mapping[str, _Replay]] = {
    "RegisterBrokerRecord": MetadataImage._replay_register_broker,
    "UnregisterBrokerRecord": MetadataImage._replay_unregister_broker,
    "TopicRecord": MetadataImage._replay_topic,
    "PartitionRecord": MetadataImage._replay_partition,
    "ConfigRecord": MetadataImage._replay_config,
    "PartitionChangeRecord": MetadataImage._replay_partition_change,
    "FenceBrokerRecord": MetadataImage._replay_fence,
    "UnfenceBrokerRecord": MetadataImage._replay_unfence,
    "RemoveTopicRecord": MetadataImage._replay_remove_topic,
    "DelegationTokenRecord": MetadataImage._replay_security,
    "UserScramCredentialRecord": MetadataImage._replay_security,
    "FeatureLevelRecord": MetadataImage._replay_feature,
    "ClientQuotaRecord": MetadataImage._replay_security,
    "ProducerIdsRecord": MetadataImage._replay_producer_ids,
    "BrokerRegistrationChangeRecord": MetadataImage._replay_broker_change,
    "AccessControlEntryRecord": MetadataImage._replay_security,
    "RemoveAccessControlEntryRecord": MetadataImage._replay_security,
    "NoOpRecord": MetadataImage._replay_no_op,
    "ZkMigrationStateRecord": MetadataImage._replay_zk_migration,
    "RemoveUserScramCredentialRecord": MetadataImage._replay_security,
    "RemoveDelegationTokenRecord": MetadataImage._replay_security,
    "RegisterControllerRecord": MetadataImage._replay_register_controller,
    "ClearElrRecord": MetadataImage._replay_clear_elr,
    "UnregisterControllerRecord": MetadataImage._replay_unregister_controller,
}
