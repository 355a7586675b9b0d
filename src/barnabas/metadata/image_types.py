"""What a metadata image is made of: topics, partitions, registrations, and the delta that tells of a change.

Values are replaced, never changed, so whoever keeps one sees it stay as it was.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from barnabas.base.dataclass import dataclass, field
from barnabas.base.enums import IntEnum
from barnabas.base.hints import Final
from barnabas.base.uuids import NULL_UUID, uuid_text

NO_LEADER: Final = -1
NO_LEADER_CHANGE: Final = -2
DIRECTORY_MIGRATING: Final = NULL_UUID
"""Stands for the directory of a replica from before directories were recorded (KIP-858)."""
DIRECTORY_UNASSIGNED: Final = bytes(15) + b"\x01"
"""Stands for the directory of a replica its broker has not told about yet."""
DIRECTORY_LOST: Final = bytes(15) + b"\x02"
"""Stands for a directory that went offline."""

METADATA_VERSION: Final = "metadata.version"
METADATA_VERSION_MIN: Final = 7
METADATA_VERSION_MAX: Final = 33
"""3.3-IV3 to 4.4-IV2, what Apache Kafka 4.4 supports in production."""


class ConfigResourceType(IntEnum):
    """What a config belongs to; the numbers of the protocol and of ConfigRecord."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


ConfigResource = tuple[ConfigResourceType, str]
"""Type and name; a broker's name is its id in digits, or empty for the default of all brokers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionImage:
    """One partition's replicas and leadership."""

    partition: int
    replicas: tuple[int, ...]
    directories: tuple[bytes, ...]
    isr: tuple[int, ...]
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    eligible_leader_replicas: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    leader: int
    leader_recovery_state: int = 0
    leader_epoch: int
    partition_epoch: int


class TopicImage:
    """A topic; partitions by number. Replaced as a whole when anything in it changes.

    `encoded` holds what handlers made of this topic (a Metadata response's bytes): it dies with the image it
    was made from, so it is never stale. See MetadataImage.encoded_topic.
    """

    __slots__ = ("encoded", "encoded_for", "name", "partitions", "topic_id")

    def __init__(self, name: str, topic_id: bytes, partitions: dict[int, PartitionImage]) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = partitions
        self.encoded: dict[Hashable, bytes] = {}
        self.encoded_for = -1

    def __repr__(self) -> str:
        return f"TopicImage({self.name!r}, {uuid_text(self.topic_id)}, {len(self.partitions)} partitions)"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TopicImage)
            and self.name == other.name
            and self.topic_id == other.topic_id
            and self.partitions == other.partitions
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a listener is reached; `security_protocol` is Kafka's number (0 PLAINTEXT, 1 SSL, 2, 3 SASL)."""

    name: str
    host: str
    port: int
    security_protocol: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistration:
    """A broker as it registered. Its epoch is the offset of its registration record."""

    broker_id: int
    broker_epoch: int
    incarnation_id: bytes
    endpoints: tuple[Endpoint, ...]
    features: Mapping[str, tuple[int, int]]
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    is_migrating_zk_broker: bool = False
    log_dirs: tuple[bytes, ...] = ()
    cordoned_log_dirs: tuple[bytes, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerRegistration:
    """A controller as it registered (KIP-919)."""

    controller_id: int
    incarnation_id: bytes
    zk_migration_ready: bool
    endpoints: tuple[Endpoint, ...]
    features: Mapping[str, tuple[int, int]]


@dataclass(slots=True, kw_only=True)
class MetadataDelta:
    """What a run of records changed; handed to subscribers after the image holds it.

    A topic that was created and deleted in the same run is in neither map. Partitions of a deleted topic are
    only in `topics_deleted`; those of a created one are in `partitions_changed` too.
    """

    topics_created: dict[bytes, TopicImage] = field(default_factory=dict)
    topics_deleted: dict[bytes, TopicImage] = field(default_factory=dict)
    topic_ids_deleted: set[bytes] = field(default_factory=set)
    """Of all topics that were deleted, those that the same run had created included."""
    partitions_changed: dict[tuple[bytes, int], PartitionImage | None] = field(default_factory=dict)
    """(topic id, partition) -> what it was before; None when it is new. What it is now: the image."""
    configs_changed: dict[ConfigResource, set[str]] = field(default_factory=dict)
    """Resource -> names that were set or deleted."""
    features_changed: set[str] = field(default_factory=set)
    brokers_changed: set[int] = field(default_factory=set)
    controllers_changed: set[int] = field(default_factory=set)
    record_count: int = 0
    topics_touched: set[bytes] = field(default_factory=set)
    """Topics whose image was made within this delta; the image's own note."""
