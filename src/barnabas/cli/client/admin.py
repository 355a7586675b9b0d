"""Creating, growing and deleting topics, and asking for offsets."""

from collections.abc import Iterable, Mapping

from barnabas.base.hints import Any
from barnabas.cli.client.cluster import Cluster
from barnabas.cli.client.errors import BrokerError
from barnabas.protocol import messages

LIST_OFFSETS = 2
CREATE_TOPICS = 19
DELETE_TOPICS = 20
CREATE_PARTITIONS = 37

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3

_EXTRA_WAIT_S = 5.0
_DELETE_BY_STATE = 6


def create_topic(
    cluster: Cluster,
    name: str,
    *,
    partitions: int = -1,
    replication_factor: int = -1,
    configs: Mapping[str, str] | None = None,
    validate_only: bool = False,
) -> None:
    """Create a topic (KIP-464: -1 takes the broker's default).

    Raises:
        BrokerError: TOPIC_ALREADY_EXISTS, INVALID_PARTITIONS, INVALID_CONFIG ...
    """
    request = messages.CreateTopicsRequest(
        topics=[
            messages.CreateTopicsRequestCreatableTopic(
                name=name,
                num_partitions=partitions,
                replication_factor=replication_factor,
                configs=[
                    messages.CreateTopicsRequestCreatableTopicConfig(name=key, value=value)
                    for key, value in (configs or {}).items()
                ],
            )
        ],
        timeout_ms=int(cluster.timeout_s * 1000),
        validate_only=validate_only,
    )
    cluster.request_controller(CREATE_TOPICS, request, _check_created, _EXTRA_WAIT_S)


def _check_created(response: Any) -> None:
    for result in response.topics:
        if result.error_code:
            raise BrokerError(result.error_code, f"topic {result.name}", result.error_message)


def delete_topic(cluster: Cluster, name: str) -> None:
    """Delete a topic.

    Raises:
        BrokerError: UNKNOWN_TOPIC_OR_PARTITION, TOPIC_DELETION_DISABLED ...
    """

    def check(response: Any) -> None:
        for result in response.responses:
            if result.error_code:
                raise BrokerError(result.error_code, f"topic {name}", result.error_message)

    by_state = cluster.connection(cluster.controller()).version_of(DELETE_TOPICS) >= _DELETE_BY_STATE
    request = messages.DeleteTopicsRequest(timeout_ms=int(cluster.timeout_s * 1000))
    if by_state:
        request.topics = [messages.DeleteTopicsRequestDeleteTopicState(name=name)]
    else:
        request.topic_names = [name]
    cluster.request_controller(DELETE_TOPICS, request, check, _EXTRA_WAIT_S)
    cluster.forget_topic(name)


def create_partitions(cluster: Cluster, name: str, count: int, *, validate_only: bool = False) -> None:
    """Grow a topic (KIP-195).

    Args:
        count: of all partitions afterwards, not of the new ones.

    Raises:
        BrokerError: INVALID_PARTITIONS when it has as many or more, UNKNOWN_TOPIC_OR_PARTITION ...
    """

    def check(response: Any) -> None:
        for result in response.results:
            if result.error_code:
                raise BrokerError(result.error_code, f"topic {name}", result.error_message)

    request = messages.CreatePartitionsRequest(
        topics=[
            messages.CreatePartitionsRequestCreatePartitionsTopic(name=name, count=count, assignments=None)
        ],
        timeout_ms=int(cluster.timeout_s * 1000),
        validate_only=validate_only,
    )
    cluster.request_controller(CREATE_PARTITIONS, request, check, _EXTRA_WAIT_S)
    cluster.forget_topic(name)


def list_offsets(
    cluster: Cluster,
    topic: str,
    partitions: Iterable[int],
    timestamp: int,
    *,
    read_committed: bool = False,
) -> dict[int, int]:
    """Return the offset of each partition at a time.

    Args:
        timestamp: milliseconds, for the first record at or after it; or LATEST, EARLIEST, MAX_TIMESTAMP.
    Returns:
        partition -> offset; -1 where no record is that late.
    """
    left = set(partitions)
    found: dict[int, int] = {}

    def attempt() -> None:
        by_leader: dict[int, list[int]] = {}
        for partition in sorted(left):
            by_leader.setdefault(cluster.leader_of(topic, partition).leader, []).append(partition)
        for leader, led in by_leader.items():
            offsets = _offsets_from(cluster, leader, topic, led, timestamp, read_committed=read_committed)
            found.update(offsets)
            left.difference_update(offsets)

    cluster.retry.run(attempt, lambda: cluster.forget_topic(topic))
    return found


def _offsets_from(
    cluster: Cluster, leader: int, topic: str, partitions: list[int], timestamp: int, *, read_committed: bool
) -> dict[int, int]:
    request = messages.ListOffsetsRequest(
        replica_id=-1,
        isolation_level=int(read_committed),
        topics=[
            messages.ListOffsetsRequestListOffsetsTopic(
                name=topic,
                partitions=[
                    messages.ListOffsetsRequestListOffsetsPartition(
                        partition_index=partition, timestamp=timestamp
                    )
                    for partition in partitions
                ],
            )
        ],
        timeout_ms=int(cluster.timeout_s * 1000),
    )
    response = cluster.request_broker(leader, LIST_OFFSETS, request)
    answers = response.topics[0].partitions
    for answer in answers:
        if answer.error_code:
            raise BrokerError(answer.error_code, f"{topic}-{answer.partition_index}")
    return {answer.partition_index: answer.offset for answer in answers}
