"""The single-node controller: the only writer of the metadata log and of the image.

A request is planned (pure functions that return records), committed (appended and synced), replayed into the
image, and only then answered; subscribers hear of it in between. A plan that fails has written nothing. What
a start finds in the log takes the same way, so that a running broker and a restarted one hold the same image.

Batching several requests into one sync was rejected: administration is rare, and one request already is one
append whatever it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from barnabas.base.clock import Clock
from barnabas.base.dataclass import replace
from barnabas.base.entropy import Entropy
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import TYPE_CHECKING, Final
from barnabas.base.uuids import random_uuid
from barnabas.metadata.config_changes import ConfigContext, ResourceAlteration, ResourceResult, plan_resource
from barnabas.metadata.config_definitions import BrokerConfigs
from barnabas.metadata.features import bootstrap_feature_records
from barnabas.metadata.image import (
    DIRECTORY_UNASSIGNED,
    ConfigResourceType,
    MetadataDelta,
    MetadataImage,
)
from barnabas.metadata.metadata_log import MetadataLog
from barnabas.metadata.node_records import (
    NodeIdentity,
    cordon_record,
    election_records,
    farewell_records,
    first_records,
    registration_records,
)
from barnabas.metadata.records import VersionedRecord
from barnabas.metadata.snapshot_records import partition_record_version
from barnabas.metadata.topic_changes import (
    PARTITIONS_PER_REQUEST_MAX,
    RECORDS_PER_REQUEST_MAX,
    NamedResult,
    NewTopicConfigs,
    PartitionsCreation,
    Placement,
    TopicCreation,
    TopicCreationResult,
    TopicDeletionResult,
    plan_deletions,
    plan_partitions,
    plan_topic,
    refuse_all,
)
from barnabas.metadata.topic_names import collision_form
from barnabas.protocol import messages

if TYPE_CHECKING:  # imported with their first request
    from barnabas.metadata.elections import ElectionResult
    from barnabas.metadata.feature_changes import FeatureUpdate
    from barnabas.metadata.reassignments import Reassignment, ReassignmentResult

PRODUCER_ID_BLOCK: Final = 1000
PRODUCER_ID_MAX: Final = 2**63 - 1

__all__ = ["Controller", "NodeIdentity", "Subscriber", "TopicCreation", "TopicCreationResult"]

Subscriber = Callable[[MetadataDelta, MetadataImage], None]


class Controller:
    """Plans, commits and replays every change of the metadata.

    Attributes:
        image: the state; read it at any time on the loop.
        broker_epoch: of this node's registration; -1 before start().
    """

    def __init__(self, *, log: MetadataLog, node: NodeIdentity, clock: Clock, entropy: Entropy) -> None:
        self.image = MetadataImage()
        self.broker_epoch = -1
        self._log = log
        self._node = node
        self._clock = clock
        self._entropy = entropy
        self._subscribers: list[Subscriber] = []
        self._loaded: MetadataDelta | None = None
        self._collisions: dict[str, str] = {}
        self.check_listeners: Callable[[BrokerConfigs], None] | None = None
        directory = node.log_dirs[0] if len(node.log_dirs) == 1 else DIRECTORY_UNASSIGNED
        self._placement = Placement(node_id=node.node_id, directory=directory)

    @property
    def metadata_offset(self) -> int:
        """The offset of the last record in the image; what ApiVersions calls the features' epoch."""
        return self._log.end_offset - 1

    @property
    def log(self) -> MetadataLog:
        """The log, for what describes the quorum."""
        return self._log

    def broker_configs(self) -> BrokerConfigs:
        """Return what is set for this broker now, static and dynamic."""
        kind = ConfigResourceType.BROKER
        return BrokerConfigs(
            broker=self.image.config(kind, str(self._node.node_id)),
            cluster=self.image.config(kind, ""),
            static=self._node.static_configs,
        )

    def subscribe(self, subscriber: Subscriber) -> None:
        """Call `subscriber(delta, image)` after each change; it must not raise."""
        self._subscribers.append(subscriber)

    # Start and stop ------------------------------------------------------------------------------

    def load(self, bootstrap: Sequence[VersionedRecord] = ()) -> None:
        """Read the metadata log into the image and check that this node can go on with it; changes nothing.

        Args:
            bootstrap: records to begin an empty log with, when its directory has no first checkpoint.
        Raises:
            MetadataError: it cannot; the text is one line that says what to do.
            ApiError: KAFKA_STORAGE_ERROR.
        """
        self._loaded = self._log.load(self.image, bootstrap)

    def start(self) -> MetadataDelta:
        """Load the log unless load() did, lead it, register this node; return all there is as one delta.

        Subscribers are not called: whoever starts applies the returned delta once, with everything in it.

        Raises:
            MetadataError: the log cannot be used; nothing was written.
            ApiError: KAFKA_STORAGE_ERROR.
        """
        if self._loaded is None:
            self.load()
        delta, self._loaded = self._loaded, None
        assert delta is not None
        was_clean = self._was_stopped_cleanly()
        self._log.open()
        self._log.become_leader()
        if self.image.in_transaction:
            abort = messages.AbortTransactionRecord(reason="the controller was restarted")
            self._write([VersionedRecord(abort)], delta)
        if not self.image.features:
            features = self._log.bootstrap_records or bootstrap_feature_records()
            self._write(first_records(features, self._node), delta)
        for name in self.image.topics:
            self._collisions[collision_form(name)] = name
        self._register(delta, was_clean)
        self._log.flush()  # once for all of it: nobody was told of any before
        return delta

    def _was_stopped_cleanly(self) -> bool:
        before = self.image.brokers.get(self._node.node_id)
        return before is not None and before.fenced

    def _register(self, delta: MetadataDelta, was_clean: bool) -> None:
        records, self.broker_epoch = registration_records(
            self._node,
            metadata_version=self.image.metadata_version,
            next_offset=self._log.end_offset,
            entropy=self._entropy,
        )
        records += election_records(
            self.image, self._node.node_id, was_clean=was_clean, log_dirs=self._node.log_dirs
        )
        self._write(records, delta)

    def stop(self) -> None:
        """Note in the log that this node goes in good order, and close it. Call after all logs are flushed.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR; then no clean marker may be written.
        """
        if self.broker_epoch >= 0:
            records = farewell_records(self._node, self.broker_epoch)
            self._commit(records, MetadataDelta())
        self._log.close(self.image)

    def abandon(self) -> None:
        """Close the log without a word, after an error."""
        self._log.close()

    # Committing ----------------------------------------------------------------------------------

    def commit(self, records: Sequence[VersionedRecord]) -> MetadataDelta:
        """Append records durably, replay them, tell the subscribers; return what changed.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR; nothing was replayed.
        """
        delta = MetadataDelta()
        if records:
            self._commit(records, delta)
            for subscriber in self._subscribers:
                subscriber(delta, self.image)
            if self._log.snapshot_due() and not self.image.in_transaction:
                self._log.write_snapshot(self.image)
        return delta

    def _commit(self, records: Sequence[VersionedRecord], delta: MetadataDelta) -> None:
        self._log.append(records)
        self._replay(records, delta)

    def _write(self, records: Sequence[VersionedRecord], delta: MetadataDelta) -> None:
        self._log.write(records)
        self._replay(records, delta)

    def _replay(self, records: Sequence[VersionedRecord], delta: MetadataDelta) -> None:
        for record in records:
            self.image.replay(record, delta)

    def tick(self) -> None:
        """Do what is due by time: a snapshot, unlinking old segments. Call every few seconds."""
        if self._log.snapshot_due() and not self.image.in_transaction:
            self._log.write_snapshot(self.image)
        self._log.run_deletions()

    # Topics --------------------------------------------------------------------------------------

    def create_topics(
        self, creations: Sequence[TopicCreation], *, validate_only: bool = False
    ) -> list[TopicCreationResult]:
        """Create topics, each on its own; results are in the order of `creations`.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR; nobody knows which topics exist until the next start.
        """
        asked = sum(len(c.assignments) or max(c.num_partitions, 1) for c in creations)
        if asked > PARTITIONS_PER_REQUEST_MAX:
            return refuse_all(creations, "Excessively large number of partitions per request.")
        effective = NewTopicConfigs(self.broker_configs())
        records: list[VersionedRecord] = []
        results: list[TopicCreationResult] = []
        for creation in creations:
            try:
                planned, result = plan_topic(
                    creation,
                    image=self.image,
                    effective=effective,
                    placement=self._placement,
                    topic_id=self._fresh_topic_id(),
                    collisions=self._collisions,
                )
            except ApiError as error:
                result = TopicCreationResult(name=creation.name, error=error.code, message=error.message)
            else:
                records += planned
            results.append(result)
        if len(records) > RECORDS_PER_REQUEST_MAX:
            return refuse_all(creations, "Unable to perform excessively large batch operation.")
        if not validate_only:
            delta = self.commit(records)
            for topic in delta.topics_created.values():
                self._collisions[collision_form(topic.name)] = topic.name
        return results

    def _fresh_topic_id(self) -> bytes:
        while True:
            topic_id = random_uuid(self._entropy)
            if topic_id not in self.image.topics_by_id:
                return topic_id

    def delete_topics(
        self, *, names: Sequence[str] = (), ids: Sequence[bytes] = ()
    ) -> list[TopicDeletionResult]:
        """Delete topics by name and by id; results are those of the names, then those of the ids.

        A topic named both ways is not deleted and has one result.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        doomed, results = plan_deletions(self.image, names, ids)
        self.commit([VersionedRecord(messages.RemoveTopicRecord(topic_id=topic_id)) for topic_id in doomed])
        for topic in doomed.values():
            if self._collisions.get(collision_form(topic.name)) == topic.name:
                del self._collisions[collision_form(topic.name)]
        return results

    def create_partitions(
        self, growths: Sequence[PartitionsCreation], *, validate_only: bool = False
    ) -> list[NamedResult]:
        """Grow topics, each on its own; results are in the order of `growths`.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        added = 0
        for growth in growths:
            topic = self.image.topics.get(growth.name)
            added += max(growth.count - len(topic.partitions), 0) if topic is not None else 0
        if added > PARTITIONS_PER_REQUEST_MAX:
            why = "Excessively large number of additional partitions per request."
            return [
                NamedResult(name=growth.name, error=ErrorCode.POLICY_VIOLATION, message=why)
                for growth in growths
            ]
        records: list[VersionedRecord] = []
        results = []
        for growth in growths:
            try:
                records += plan_partitions(growth, image=self.image, placement=self._placement)
            except ApiError as error:
                results.append(NamedResult(name=growth.name, error=error.code, message=error.message))
            else:
                results.append(NamedResult(name=growth.name))
        if not validate_only:
            self.commit(records)
        return results

    def assign_directories(self, placed: Mapping[tuple[bytes, int], bytes]) -> None:
        """Record where replicas lie, when there are several log directories (KIP-858).

        Args:
            placed: (topic id, partition) -> directory id; what is recorded already is left out.
        """
        version = partition_record_version(self.image.metadata_version)
        records = []
        for (topic_id, number), directory in placed.items():
            topic = self.image.topics_by_id.get(topic_id)
            partition = None if topic is None else topic.partitions.get(number)
            if version < 1 or partition is None or directory in partition.directories:
                continue
            directories = [
                directory if replica == self._node.node_id else known
                for replica, known in zip(partition.replicas, partition.directories, strict=True)
            ]
            change = messages.PartitionChangeRecord(
                partition_id=number, topic_id=topic_id, directories=directories
            )
            records.append(VersionedRecord(change, version))
        self.commit(records)

    # Configs and features ------------------------------------------------------------------------

    def incremental_alter_configs(
        self, resources: Sequence[ResourceAlteration], *, validate_only: bool = False
    ) -> list[ResourceResult]:
        """Set, delete, append and subtract configs, each resource on its own (KIP-339).

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        return self._alter(resources, replace_all=False, validate_only=validate_only)

    def alter_configs(
        self, resources: Sequence[ResourceAlteration], *, validate_only: bool = False
    ) -> list[ResourceResult]:
        """Replace all configs of each resource by those given; raises as incremental_alter_configs()."""
        return self._alter(resources, replace_all=True, validate_only=validate_only)

    def _alter(
        self, resources: Sequence[ResourceAlteration], *, replace_all: bool, validate_only: bool
    ) -> list[ResourceResult]:
        context = ConfigContext(
            image=self.image,
            node_id=self._node.node_id,
            brokers=self.broker_configs(),
            check_listeners=self.check_listeners,
        )
        counts: dict[tuple[int, str], int] = {}
        for resource in resources:
            key = (resource.resource_type, resource.resource_name)
            counts[key] = counts.get(key, 0) + 1
        records: list[VersionedRecord] = []
        results = []
        for resource in resources:
            kind, name = resource.resource_type, resource.resource_name
            try:
                if counts[kind, name] > 1:
                    raise ApiError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
                records += plan_resource(resource, context, replace_all=replace_all)
            except ApiError as error:
                results.append(
                    ResourceResult(
                        resource_type=kind, resource_name=name, error=error.code, message=error.message
                    )
                )
            else:
                results.append(ResourceResult(resource_type=kind, resource_name=name))
        if not validate_only:
            self.commit(records)
        return results

    def update_features(self, updates: Sequence[FeatureUpdate], *, validate_only: bool = False) -> None:
        """Finalise features, all or none.

        Raises:
            ApiError: INVALID_UPDATE_VERSION, KAFKA_STORAGE_ERROR.
        """
        from barnabas.metadata.feature_changes import plan_features  # noqa: PLC0415

        records = plan_features(
            updates,
            image=self.image,
            node_id=self._node.node_id,
            kraft_version=self._log.quorum.kraft_version,
        )
        if not validate_only:
            self.commit(records)

    # The rest ------------------------------------------------------------------------------------

    def allocate_producer_ids(self) -> range:
        """Reserve a block of producer ids; durable when this returns.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR; UNKNOWN_SERVER_ERROR when all ids are used up.
        """
        first = max(self.image.next_producer_id, 0)
        if first > PRODUCER_ID_MAX - PRODUCER_ID_BLOCK:
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "all producer ids are used up")
        after = first + PRODUCER_ID_BLOCK
        self.commit(
            [
                VersionedRecord(
                    messages.ProducerIdsRecord(
                        broker_id=self._node.node_id, broker_epoch=self.broker_epoch, next_producer_id=after
                    )
                )
            ]
        )
        return range(first, after)

    def elect_leaders(
        self, election_type: int, partitions: Sequence[tuple[str, int]] | None
    ) -> list[ElectionResult]:
        """Answer an election; see elections.answer_election."""
        from barnabas.metadata.elections import answer_election  # noqa: PLC0415

        return answer_election(self.image, election_type, partitions)

    def reassign_partitions(
        self, wanted: Sequence[Reassignment], *, may_change_factor: bool
    ) -> list[ReassignmentResult]:
        """Reassign partitions, each on its own; results are in the order of `wanted` (KIP-455, KIP-860).

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        from barnabas.metadata.reassignments import plan_reassignments  # noqa: PLC0415

        records, results = plan_reassignments(
            wanted, image=self.image, placement=self._placement, may_change_factor=may_change_factor
        )
        self.commit(records)
        return results

    def cordon(self, log_dirs: Sequence[bytes]) -> None:
        """Register which log directories get no new replicas; with all, no topic can be made (KIP-1066).

        Args:
            log_dirs: directory ids.
        """
        cordoned = tuple(one for one in self._node.log_dirs if one in log_dirs)
        self._placement = replace(self._placement, is_cordoned=len(cordoned) == len(self._node.log_dirs))
        registered = self.image.brokers[self._node.node_id].cordoned_log_dirs
        if registered is not None and registered != cordoned:
            self.commit([cordon_record(self._node, self.broker_epoch, cordoned)])

    def directories_offline(self, log_dirs: Sequence[bytes]) -> None:
        """Record that log directories of this node have failed: their partitions have no leader (KIP-858).

        Args:
            log_dirs: directory ids; not all there are.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        from barnabas.metadata.directory_changes import offline_records  # noqa: PLC0415 - rarely needed

        left = [one for one in self._node.log_dirs if one not in log_dirs]
        directory = left[0] if len(left) == 1 else DIRECTORY_UNASSIGNED
        self._placement = replace(self._placement, directory=directory)
        self.commit(offline_records(self.image, self._node, self.broker_epoch, log_dirs))

    def unregister_broker(self, broker_id: int) -> None:
        """Forget a broker that is gone.

        Raises:
            ApiError: BROKER_ID_NOT_REGISTERED; INVALID_REQUEST for this node, which is here to ask.
        """
        broker = self.image.brokers.get(broker_id)
        if broker is None:
            raise ApiError(
                ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker ID {broker_id} is not currently registered"
            )
        if broker_id == self._node.node_id:
            raise ApiError(ErrorCode.INVALID_REQUEST, "the only broker cannot be unregistered while it runs")
        gone = messages.UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker.broker_epoch)
        self.commit([VersionedRecord(gone)])
