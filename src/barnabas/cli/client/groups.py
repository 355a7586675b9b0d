"""Groups, as an administrator asks for them: who is in them, what they committed, and changing that.

A group is known to its coordinator alone, so every question begins by asking who that is. The two protocols
have an API each to describe a group; here both come out as one `GroupInfo`.
"""

from collections.abc import Callable, Iterable, Mapping

from barnabas.base.dataclass import dataclass
from barnabas.base.errors import DecodeError, ErrorCode
from barnabas.base.hints import Any, TypeVar
from barnabas.cli.client.cluster import Cluster
from barnabas.cli.client.errors import BrokerError, ClientError, UnsupportedByBrokerError
from barnabas.protocol import messages

OFFSET_COMMIT = 8
OFFSET_FETCH = 9
FIND_COORDINATOR = 10
DESCRIBE_GROUPS = 15
LIST_GROUPS = 16
DELETE_GROUPS = 42
OFFSET_DELETE = 47
CONSUMER_GROUP_DESCRIBE = 69

CONSUMER_PROTOCOL = "consumer"
EMPTY, DEAD = "Empty", "Dead"

_FIRST_BATCHED_FIND = 4
_FIRST_BATCHED_FETCH = 8
_FIRST_WITH_STATES = 4
_FIRST_WITH_TYPES = 5
_NO_GENERATION = -1
_NO_OFFSET = -1
_ASSIGNMENT_VERSIONS = messages.ConsumerProtocolAssignment.valid_versions

TopicPartition = tuple[str, int]
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedGroup:
    """A group in a list."""

    group_id: str
    kind: str
    protocol_type: str
    state: str
    coordinator: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMember:
    """A member; `partitions` is None where its assignment is not of consumers' kind.

    Attributes:
        epoch: of a consumer (KIP-848); None for classic members.
        target: what a consumer shall have in the end; None when that is not told.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    epoch: int | None
    partitions: tuple[TopicPartition, ...] | None
    target: tuple[TopicPartition, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupInfo:
    """A group with its members.

    Attributes:
        kind: `classic` or `consumer`.
        assignor: the protocol that classic members chose, or a consumer group's assignor.
        epoch: of a consumer group; None for classic ones.
    """

    group_id: str
    kind: str
    state: str
    protocol_type: str
    assignor: str
    epoch: int | None
    coordinator: int
    members: tuple[GroupMember, ...]

    @property
    def is_active(self) -> bool:
        """Whether it has members, so that nobody else may set its offsets."""
        return self.state not in (EMPTY, DEAD)


def list_groups(cluster: Cluster, states: Iterable[str] = (), kinds: Iterable[str] = ()) -> list[ListedGroup]:
    """Return the groups of all brokers, by name.

    Args:
        states, kinds: only these, in any case; all when empty.
    """
    wanted_states = {state.lower() for state in states}
    wanted_kinds = {kind.lower() for kind in kinds}
    found: dict[str, ListedGroup] = {}

    def ask(broker: int) -> None:
        version = cluster.connection(broker).version_of(LIST_GROUPS)
        request = messages.ListGroupsRequest()
        if version >= _FIRST_WITH_STATES:
            request.states_filter = sorted(wanted_states)
        if version >= _FIRST_WITH_TYPES:
            request.types_filter = sorted(wanted_kinds)
        response = cluster.request_broker(broker, LIST_GROUPS, request)
        if response.error_code:
            raise BrokerError(response.error_code, f"groups of broker {broker}")
        for group in response.groups:
            listed = ListedGroup(
                group_id=group.group_id,
                kind=group.group_type.lower(),
                protocol_type=group.protocol_type,
                state=group.group_state,
                coordinator=broker,
            )
            # Brokers that do not know a filter answer with everything.
            if (not wanted_states or listed.state.lower() in wanted_states) and (
                not wanted_kinds or listed.kind in wanted_kinds
            ):
                found[listed.group_id] = listed

    for broker in cluster.broker_ids():
        cluster.retry.run(lambda broker=broker: ask(broker), lambda: None)  # type: ignore[misc]
    return [found[group_id] for group_id in sorted(found)]


def describe_group(cluster: Cluster, group_id: str) -> GroupInfo:
    """Return a group with its members.

    Raises:
        BrokerError: GROUP_ID_NOT_FOUND ...
    """
    try:
        return _ask_coordinator(
            cluster, group_id, lambda broker: _describe_consumer(cluster, broker, group_id)
        )
    except UnsupportedByBrokerError:
        pass
    except BrokerError as error:
        if error.code not in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION):
            raise
    return _ask_coordinator(cluster, group_id, lambda broker: _describe_classic(cluster, broker, group_id))


def committed_offsets(cluster: Cluster, group_id: str) -> dict[TopicPartition, int]:
    """Return everything a group has committed."""

    def ask(broker: int) -> dict[TopicPartition, int]:
        version = cluster.connection(broker).version_of(OFFSET_FETCH)
        request = messages.OffsetFetchRequest()
        if version >= _FIRST_BATCHED_FETCH:
            request.groups = [
                messages.OffsetFetchRequestOffsetFetchRequestGroup(group_id=group_id, topics=None)
            ]
        else:
            request.group_id, request.topics = group_id, None
        response = cluster.request_broker(broker, OFFSET_FETCH, request)
        answer = response.groups[0] if version >= _FIRST_BATCHED_FETCH else response
        _check(answer.error_code, group_id)
        return _offsets_of(cluster, group_id, answer)

    return _ask_coordinator(cluster, group_id, ask)


def commit_offsets(cluster: Cluster, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Set offsets of a group without members.

    Raises:
        BrokerError: UNKNOWN_MEMBER_ID when it has members, UNKNOWN_TOPIC_OR_PARTITION ...
    """

    def ask(broker: int) -> None:
        topics = []
        for name, numbers in _by_topic(offsets).items():
            topic = messages.OffsetCommitRequestOffsetCommitRequestTopic(
                name=name,
                topic_id=cluster.topic(name).topic_id,
                partitions=[
                    messages.OffsetCommitRequestOffsetCommitRequestPartition(
                        partition_index=number, committed_offset=offsets[name, number], committed_metadata=""
                    )
                    for number in numbers
                ],
            )
            topics.append(topic)
        request = messages.OffsetCommitRequest(
            group_id=group_id, generation_id_or_member_epoch=_NO_GENERATION, topics=topics
        )
        response = cluster.request_broker(broker, OFFSET_COMMIT, request)
        for answered in response.topics:
            for partition in answered.partitions:
                _check(partition.error_code, group_id)

    _ask_coordinator(cluster, group_id, ask)


def delete_group(cluster: Cluster, group_id: str) -> None:
    """Delete a group without members, and what it committed.

    Raises:
        BrokerError: NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND ...
    """

    def ask(broker: int) -> None:
        request = messages.DeleteGroupsRequest(groups_names=[group_id])
        for result in cluster.request_broker(broker, DELETE_GROUPS, request).results:
            _check(result.error_code, group_id)

    _ask_coordinator(cluster, group_id, ask)


def delete_offsets(
    cluster: Cluster, group_id: str, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, int]:
    """Delete committed offsets; return each partition's error code.

    Raises:
        BrokerError: GROUP_ID_NOT_FOUND ...
    """
    wanted = _by_topic(dict.fromkeys(partitions, 0))

    def ask(broker: int) -> dict[TopicPartition, int]:
        request = messages.OffsetDeleteRequest(
            group_id=group_id,
            topics=[
                messages.OffsetDeleteRequestOffsetDeleteRequestTopic(
                    name=name,
                    partitions=[
                        messages.OffsetDeleteRequestOffsetDeleteRequestPartition(partition_index=number)
                        for number in numbers
                    ],
                )
                for name, numbers in wanted.items()
            ],
        )
        response = cluster.request_broker(broker, OFFSET_DELETE, request)
        _check(response.error_code, group_id)
        return {
            (topic.name, partition.partition_index): partition.error_code
            for topic in response.topics
            for partition in topic.partitions
        }

    return _ask_coordinator(cluster, group_id, ask)


# How it is asked ---------------------------------------------------------------------------------------


def _ask_coordinator(cluster: Cluster, group_id: str, ask: Callable[[int], Answer]) -> Answer:
    """Ask a group's coordinator, whoever that is by now."""
    return cluster.retry.run(lambda: ask(_coordinator_of(cluster, group_id)), lambda: None)


def _coordinator_of(cluster: Cluster, group_id: str) -> int:
    broker = cluster.broker_ids()[0]
    if cluster.connection(broker).version_of(FIND_COORDINATOR) >= _FIRST_BATCHED_FIND:
        request = messages.FindCoordinatorRequest(coordinator_keys=[group_id])
    else:
        request = messages.FindCoordinatorRequest(key=group_id)
    response = cluster.request_broker(broker, FIND_COORDINATOR, request)
    found = response.coordinators[0] if response.coordinators else response
    _check(found.error_code, group_id, found.error_message)
    return int(found.node_id)


def _check(error_code: int, group_id: str, message: str | None = None) -> None:
    if error_code:
        raise BrokerError(error_code, f"group {group_id}", message)


def _describe_consumer(cluster: Cluster, broker: int, group_id: str) -> GroupInfo:
    request = messages.ConsumerGroupDescribeRequest(group_ids=[group_id])
    found = cluster.request_broker(broker, CONSUMER_GROUP_DESCRIBE, request).groups[0]
    _check(found.error_code, group_id, found.error_message)
    return GroupInfo(
        group_id=group_id,
        kind="consumer",
        state=found.group_state,
        protocol_type=CONSUMER_PROTOCOL,
        assignor=found.assignor_name,
        epoch=found.group_epoch,
        coordinator=broker,
        members=tuple(
            GroupMember(
                member_id=member.member_id,
                instance_id=member.instance_id,
                client_id=member.client_id,
                host=member.client_host,
                epoch=member.member_epoch,
                partitions=_partitions(member.assignment.topic_partitions),
                target=_partitions(member.target_assignment.topic_partitions),
            )
            for member in found.members
        ),
    )


def _describe_classic(cluster: Cluster, broker: int, group_id: str) -> GroupInfo:
    request = messages.DescribeGroupsRequest(groups=[group_id])
    found = cluster.request_broker(broker, DESCRIBE_GROUPS, request).groups[0]
    _check(found.error_code, group_id, found.error_message)
    if found.group_state == DEAD:
        _check(ErrorCode.GROUP_ID_NOT_FOUND, group_id)
    return GroupInfo(
        group_id=group_id,
        kind="classic",
        state=found.group_state,
        protocol_type=found.protocol_type,
        assignor=found.protocol_data,
        epoch=None,
        coordinator=broker,
        members=tuple(
            GroupMember(
                member_id=member.member_id,
                instance_id=member.group_instance_id,
                client_id=member.client_id,
                host=member.client_host,
                epoch=None,
                partitions=decode_assignment(found.protocol_type, member.member_assignment),
                target=None,
            )
            for member in found.members
        ),
    )


def decode_assignment(protocol_type: str, data: bytes) -> tuple[TopicPartition, ...] | None:
    """Return the partitions of a classic member's assignment; None when it is not of consumers' kind."""
    if not data:
        return ()
    if protocol_type != CONSUMER_PROTOCOL or len(data) < 2:
        return None
    version = min(int.from_bytes(data[:2], "big"), _ASSIGNMENT_VERSIONS[-1])
    try:
        told = messages.ConsumerProtocolAssignment.decode(data, version, 2)
    except DecodeError:
        return None
    return tuple(sorted((topic.topic, n) for topic in told.assigned_partitions for n in topic.partitions))


def _partitions(topics: Iterable[Any]) -> tuple[TopicPartition, ...]:
    return tuple(sorted((topic.topic_name, number) for topic in topics for number in topic.partitions))


def _offsets_of(cluster: Cluster, group_id: str, answer: Any) -> dict[TopicPartition, int]:
    """Return the offsets of an answer, whose topics have ids instead of names from version 10 on."""
    names: dict[bytes, str] = {}
    if any(not getattr(topic, "name", "") for topic in answer.topics):
        names = {bytes(topic.topic_id): topic.name for topic in cluster.topics()}
    offsets = {}
    for topic in answer.topics:
        name = topic.name or names.get(bytes(topic.topic_id))
        if name is None:
            raise ClientError(f"group {group_id}: a topic with an id that nobody knows")
        for partition in topic.partitions:
            _check(partition.error_code, group_id)
            if partition.committed_offset != _NO_OFFSET:
                offsets[name, partition.partition_index] = partition.committed_offset
    return dict(sorted(offsets.items()))


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for name, number in sorted(partitions):
        found.setdefault(name, []).append(number)
    return found
