"""Creating, growing and deleting topics: checked requests in, records and answers out; nothing changes here.

Checks, their order and their words follow Apache Kafka's controller, since clients show them to people and
tests compare them. Placement is that of one broker: every partition has this node as its only replica.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from barnabas.base.dataclass import dataclass, field
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Final
from barnabas.base.uuids import NULL_UUID
from barnabas.metadata.config_changes import validate_topic_configs
from barnabas.metadata.config_definitions import BrokerConfigs, ConfigEntry, describe_topic
from barnabas.metadata.image import (
    DIRECTORY_UNASSIGNED,
    ConfigResourceType,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from barnabas.metadata.records import VersionedRecord
from barnabas.metadata.snapshot_records import partition_record, partition_record_version
from barnabas.metadata.topic_names import collision_form, validate_topic_name
from barnabas.protocol import messages

PARTITIONS_PER_REQUEST_MAX: Final = 10_000
RECORDS_PER_REQUEST_MAX: Final = 10_000
"""What one request may write: it goes to disk and takes effect as a whole."""

_ALL_CORDONED: Final = "All brokers are currently fenced, or have all their log directories cordoned."

METADATA_TOPIC: Final = "__cluster_metadata"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCreation:
    """A topic that is asked for.

    Args:
        num_partitions, replication_factor: -1 takes the broker's default.
        assignments: partition -> brokers; empty leaves the placement to the controller.
        configs: name -> value as text; a null value is refused.
    """

    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    assignments: Mapping[int, Sequence[int]] = field(default_factory=dict)
    configs: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCreationResult:
    """How it went; without error what the topic is, or would be when only validating."""

    name: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    topic_id: bytes = NULL_UUID
    num_partitions: int = -1
    replication_factor: int = -1
    configs: tuple[ConfigEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDeletionResult:
    """How a deletion went, for one name or id."""

    name: str | None
    topic_id: bytes
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsCreation:
    """A topic to grow to `count` partitions; `assignments`, one for each new partition, may be None."""

    name: str
    count: int
    assignments: Sequence[Sequence[int]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedResult:
    """How a change to one named thing went."""

    name: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The one broker there is, and where new replicas lie.

    Args:
        directory: the id of the log directory, or DIRECTORY_UNASSIGNED when there are several.
        is_cordoned: no log directory may get new replicas (KIP-1066).
    """

    node_id: int
    directory: bytes = DIRECTORY_UNASSIGNED
    is_cordoned: bool = False


def refuse_all(creations: Sequence[TopicCreation], why: str) -> list[TopicCreationResult]:
    """Return POLICY_VIOLATION for every topic of a request that asks for too much."""
    return [
        TopicCreationResult(name=creation.name, error=ErrorCode.POLICY_VIOLATION, message=why)
        for creation in creations
    ]


class NewTopicConfigs:
    """The effective configs of the topics of one request, made once for all that set the same.

    A request may ask for thousands of topics, and answers tell some forty configs of each.

    Args:
        brokers: what is set for this broker now.
    """

    __slots__ = ("_described", "brokers")

    def __init__(self, brokers: BrokerConfigs) -> None:
        self.brokers = brokers
        self._described: dict[frozenset[tuple[str, str]], tuple[ConfigEntry, ...]] = {}

    def described(self, overrides: Mapping[str, str]) -> tuple[ConfigEntry, ...]:
        """Return every config of a topic with these overrides."""
        same = frozenset(overrides.items())
        known = self._described.get(same)
        if known is None:
            known = self._described[same] = tuple(describe_topic(overrides, self.brokers))
        return known


def plan_topic(
    creation: TopicCreation,
    *,
    image: MetadataImage,
    effective: NewTopicConfigs,
    placement: Placement,
    topic_id: bytes,
    collisions: Mapping[str, str],
) -> tuple[list[VersionedRecord], TopicCreationResult]:
    """Return the records that create a topic, and its answer.

    Args:
        collisions: existing names by their form with dots made underscores.
    Raises:
        ApiError: it cannot be created.
    """
    if creation.name == METADATA_TOPIC:
        raise ApiError(
            ErrorCode.INVALID_REQUEST, f"Creation of internal topic {METADATA_TOPIC} is prohibited."
        )
    validate_topic_name(creation.name)
    if creation.name in image.topics:
        raise ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{creation.name}' already exists.")
    other = collisions.get(collision_form(creation.name))
    if other is not None:
        raise ApiError(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"Topic '{creation.name}' collides with existing topic: {other}",
        )
    brokers = effective.brokers
    configs: dict[str, str] = {}
    for name, value in creation.configs.items():
        if value is None:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {name}")
        configs[name] = value
    validate_topic_configs(configs, brokers)
    count, factor = _size(creation, brokers, placement)
    topic = TopicImage(creation.name, topic_id, {})
    records = [VersionedRecord(messages.TopicRecord(name=creation.name, topic_id=topic_id))]
    records += [
        VersionedRecord(
            messages.ConfigRecord(
                resource_type=ConfigResourceType.TOPIC, resource_name=creation.name, name=name, value=value
            )
        )
        for name, value in sorted(configs.items())
    ]
    version = partition_record_version(image.metadata_version)
    records += [partition_record(topic, new_partition(number, placement), version) for number in range(count)]
    return records, TopicCreationResult(
        name=creation.name,
        topic_id=topic_id,
        num_partitions=count,
        replication_factor=factor,
        configs=effective.described(configs),
    )


def new_partition(number: int, placement: Placement) -> PartitionImage:
    """Return a new partition with this node as its only replica and leader."""
    node = (placement.node_id,)
    return PartitionImage(
        partition=number,
        replicas=node,
        directories=(placement.directory,),
        isr=node,
        leader=placement.node_id,
        leader_epoch=0,
        partition_epoch=0,
    )


def _size(creation: TopicCreation, brokers: BrokerConfigs, placement: Placement) -> tuple[int, int]:
    """Return partition count and replication factor, checked."""
    if creation.assignments:
        return _assigned_size(creation, placement), 1
    factor = creation.replication_factor
    if factor < -1 or factor == 0:
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    count = creation.num_partitions
    if count < -1 or count == 0:
        raise ApiError(
            ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."
        )
    if count == -1:
        count = _broker_number(brokers, "num.partitions")
    if factor == -1:
        factor = _broker_number(brokers, "default.replication.factor")
    if placement.is_cordoned:
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {factor} time(s): {_ALL_CORDONED}",
        )
    if factor > 1:
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {factor} time(s): The target replication factor of {factor} "
            "cannot be reached because only 1 broker(s) are registered or some brokers have all their log "
            "directories cordoned.",
        )
    return count, factor


def _broker_number(brokers: BrokerConfigs, name: str) -> int:
    value = brokers.value(name)[0]
    assert isinstance(value, int)
    return value


def _assigned_size(creation: TopicCreation, placement: Placement) -> int:
    what = "A manual partition assignment was specified, but"
    if creation.replication_factor != -1:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"{what} replication factor was not set to -1.")
    if creation.num_partitions != -1:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"{what} numPartitions was not set to -1.")
    for replicas in creation.assignments.values():
        validate_assignment(replicas, placement)
    if sorted(creation.assignments) != list(range(len(creation.assignments))):
        raise ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "partitions should be a consecutive 0-based integer sequence",
        )
    return len(creation.assignments)


def validate_assignment(replicas: Sequence[int], placement: Placement) -> None:
    """Check the brokers somebody chose for a partition.

    Raises:
        ApiError: INVALID_REPLICA_ASSIGNMENT.
    """
    what = "The manual partition assignment includes"
    if not replicas:
        raise ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"{what} an empty replica list.")
    seen: set[int] = set()
    for broker in sorted(replicas):
        if broker in seen:
            raise ApiError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"{what} the broker {broker} more than once."
            )
        seen.add(broker)
        if broker != placement.node_id:
            raise ApiError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"{what} broker {broker}, but no such broker is registered.",
            )
    if placement.is_cordoned:
        raise ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{what} broker {placement.node_id}, but all its log directories are cordoned.",
        )


def plan_partitions(
    growth: PartitionsCreation, *, image: MetadataImage, placement: Placement
) -> list[VersionedRecord]:
    """Return the records that add partitions to a topic.

    Raises:
        ApiError: it cannot grow so.
    """
    topic = image.topics.get(growth.name)
    if topic is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    present = len(topic.partitions)
    if growth.count == present:
        raise ApiError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {present} partition(s).")
    if growth.count < present:
        raise ApiError(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {growth.name} currently has {present} partition(s); {growth.count} would not be an "
            "increase.",
        )
    added = growth.count - present
    if growth.assignments is not None:
        if len(growth.assignments) != added:
            raise ApiError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Attempted to add {added} additional partition(s), but only {len(growth.assignments)} "
                "assignment(s) were specified.",
            )
        for replicas in growth.assignments:
            validate_assignment(replicas, placement)
    elif placement.is_cordoned:
        raise ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, _ALL_CORDONED)
    version = partition_record_version(image.metadata_version)
    return [
        partition_record(topic, new_partition(number, placement), version)
        for number in range(present, growth.count)
    ]


def plan_deletions(
    image: MetadataImage, names: Sequence[str], ids: Sequence[bytes]
) -> tuple[dict[bytes, TopicImage], list[TopicDeletionResult]]:
    """Return the topics to delete, by id, and the results: those of the names, then those of the ids.

    A topic named both ways is not deleted and has one result.
    """
    results: list[TopicDeletionResult] = []
    doomed: dict[bytes, TopicImage] = {}
    for name in names:
        topic = image.topics.get(name)
        if topic is None:
            results.append(
                TopicDeletionResult(
                    name=name,
                    topic_id=NULL_UUID,
                    error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                    message="This server does not host this topic-partition.",
                )
            )
        elif topic.topic_id in ids:
            results.append(
                TopicDeletionResult(
                    name=name,
                    topic_id=topic.topic_id,
                    error=ErrorCode.INVALID_REQUEST,
                    message="The provided topic name maps to an ID that was already supplied.",
                )
            )
        else:
            doomed[topic.topic_id] = topic
            results.append(TopicDeletionResult(name=name, topic_id=topic.topic_id))
    named = {result.topic_id for result in results}
    for topic_id in ids:
        topic = image.topics_by_id.get(topic_id)
        if topic is None:
            results.append(
                TopicDeletionResult(
                    name=None,
                    topic_id=topic_id,
                    error=ErrorCode.UNKNOWN_TOPIC_ID,
                    message="This server does not host this topic ID.",
                )
            )
        elif topic_id in named:
            continue
        else:
            doomed[topic_id] = topic
            results.append(TopicDeletionResult(name=topic.name, topic_id=topic_id))
    return doomed, results
