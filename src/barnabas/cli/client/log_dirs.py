"""The log directories of brokers, as an administrator asks for them (KIP-113, KIP-827): what lies where, what
moves."""

from collections.abc import Iterable

from barnabas.base.dataclass import dataclass
from barnabas.base.errors import ErrorCode
from barnabas.cli.client.cluster import Cluster
from barnabas.cli.client.errors import BrokerError
from barnabas.protocol import messages

ALTER_REPLICA_LOG_DIRS = 34
DESCRIBE_LOG_DIRS = 35

TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaInfo:
    """A replica in a log directory.

    Attributes:
        is_future: it is a copy that will become the replica of this directory.
        offset_lag: what it lacks: to the high watermark, or of the replica that it is a copy of.
    """

    topic: str
    partition: int
    size_bytes: int
    offset_lag: int
    is_future: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirInfo:
    """A log directory of a broker.

    Attributes:
        error: NONE, or why nothing is known of it.
        total_bytes, usable_bytes: of its volume; -1 when unknown.
    """

    broker: int
    path: str
    error: ErrorCode
    is_cordoned: bool
    total_bytes: int
    usable_bytes: int
    replicas: tuple[ReplicaInfo, ...]


def describe_log_dirs(cluster: Cluster, brokers: Iterable[int] = ()) -> list[LogDirInfo]:
    """Return the directories of some brokers, of all when none is given.

    Raises:
        BrokerError: a broker refuses.
    """
    found: list[LogDirInfo] = []
    for broker in list(brokers) or cluster.broker_ids():
        response = cluster.request_broker(
            broker, DESCRIBE_LOG_DIRS, messages.DescribeLogDirsRequest(topics=None)
        )
        if response.error_code:
            raise BrokerError(response.error_code, f"log directories of broker {broker}")
        found.extend(_info(broker, one) for one in response.results)
    return found


def _info(broker: int, told: messages.DescribeLogDirsResponseDescribeLogDirsResult) -> LogDirInfo:
    replicas = [
        ReplicaInfo(
            topic=topic.name,
            partition=one.partition_index,
            size_bytes=one.partition_size,
            offset_lag=one.offset_lag,
            is_future=one.is_future_key,
        )
        for topic in told.topics
        for one in topic.partitions
    ]
    return LogDirInfo(
        broker=broker,
        path=told.log_dir,
        error=ErrorCode(told.error_code),
        is_cordoned=told.is_cordoned,
        total_bytes=told.total_bytes,
        usable_bytes=told.usable_bytes,
        replicas=tuple(sorted(replicas, key=lambda one: (one.topic, one.partition, one.is_future))),
    )


def move_replicas(cluster: Cluster, broker: int, path: str, partitions: Iterable[TopicPartition]) -> None:
    """Have replicas of a broker lie in a directory; returns when they begin to move, not when they are there.

    Raises:
        BrokerError: one is refused; those before it move.
    """
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    wanted = messages.AlterReplicaLogDirsRequestAlterReplicaLogDir(
        path=path,
        topics=[
            messages.AlterReplicaLogDirsRequestAlterReplicaLogDirTopic(name=name, partitions=numbers)
            for name, numbers in topics.items()
        ],
    )
    request = messages.AlterReplicaLogDirsRequest(dirs=[wanted])
    response = cluster.request_broker(broker, ALTER_REPLICA_LOG_DIRS, request)
    for topic in response.results:
        for one in topic.partitions:
            if one.error_code:
                raise BrokerError(
                    one.error_code, f"moving {topic.topic_name}-{one.partition_index} to {path}"
                )
