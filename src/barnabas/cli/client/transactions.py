"""Transactions, as an administrator asks for them (KIP-664): who coordinates what, and what hangs.

A transaction is known in two places: its coordinator knows its id and partitions, the leaders of these know
which producer has a transaction open. One that is open in a partition and that no coordinator knows of will
never be ended; that is what is called hanging.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from barnabas.base.dataclass import dataclass
from barnabas.base.errors import ErrorCode
from barnabas.base.hints import TypeVar
from barnabas.cli.client.cluster import Cluster, PartitionInfo
from barnabas.cli.client.errors import BrokerError, ClientError
from barnabas.protocol import messages

FIND_COORDINATOR = 10
WRITE_TXN_MARKERS = 27
DESCRIBE_PRODUCERS = 61
DESCRIBE_TRANSACTIONS = 65
LIST_TRANSACTIONS = 66

_TRANSACTION = 1
_FIRST_BATCHED_FIND = 4

TopicPartition = tuple[str, int]
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTransaction:
    """A transactional id in a list."""

    transactional_id: str
    producer_id: int
    state: str
    coordinator: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionInfo:
    """What its coordinator knows of a transactional id.

    Attributes:
        start_ms: wall time; -1 without a transaction.
    """

    transactional_id: str
    coordinator: int
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_ms: int
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTransaction:
    """A transaction that is open in a partition, as the partition's leader knows it.

    Attributes:
        last_ms: wall time of the producer's last batch.
    """

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    start_offset: int
    last_ms: int


def list_transactions(
    cluster: Cluster, states: Sequence[str] = (), producer_ids: Sequence[int] = ()
) -> list[ListedTransaction]:
    """Return the ids of all brokers that have one of the states and producer ids, all when none is given."""
    found: list[ListedTransaction] = []

    def ask(broker: int) -> None:
        request = messages.ListTransactionsRequest(
            state_filters=list(states), producer_id_filters=list(producer_ids)
        )
        response = cluster.request_broker(broker, LIST_TRANSACTIONS, request)
        if response.error_code:
            raise BrokerError(response.error_code, f"transactions of broker {broker}")
        found.extend(
            ListedTransaction(
                transactional_id=one.transactional_id,
                producer_id=one.producer_id,
                state=one.transaction_state,
                coordinator=broker,
            )
            for one in response.transaction_states
        )

    for broker in cluster.broker_ids():
        cluster.retry.run(lambda broker=broker: ask(broker), lambda: None)  # type: ignore[misc]
    return sorted(found, key=lambda one: one.transactional_id)


def describe_transaction(cluster: Cluster, transactional_id: str) -> TransactionInfo:
    """Return what its coordinator knows of an id.

    Raises:
        BrokerError: TRANSACTIONAL_ID_NOT_FOUND ...
    """

    def ask() -> TransactionInfo:
        broker = _coordinator_of(cluster, transactional_id)
        request = messages.DescribeTransactionsRequest(transactional_ids=[transactional_id])
        (found,) = cluster.request_broker(broker, DESCRIBE_TRANSACTIONS, request).transaction_states
        _check(found.error_code, transactional_id)
        return TransactionInfo(
            transactional_id=transactional_id,
            coordinator=broker,
            state=found.transaction_state,
            producer_id=found.producer_id,
            producer_epoch=found.producer_epoch,
            timeout_ms=found.transaction_timeout_ms,
            start_ms=found.transaction_start_time_ms,
            partitions=tuple((topic.topic, number) for topic in found.topics for number in topic.partitions),
        )

    return cluster.retry.run(ask, lambda: None)


def open_transactions(cluster: Cluster, partitions: Iterable[TopicPartition]) -> Iterator[OpenTransaction]:
    """Yield the transactions that are open in partitions."""
    for topic, number in partitions:
        request = messages.DescribeProducersRequest(
            topics=[messages.DescribeProducersRequestTopicRequest(name=topic, partition_indexes=[number])]
        )

        def ask(leader: PartitionInfo, request: messages.DescribeProducersRequest = request) -> object:
            response = cluster.request_broker(leader.leader, DESCRIBE_PRODUCERS, request)
            (described,) = response.topics[0].partitions
            if described.error_code:
                raise BrokerError(described.error_code, f"{leader.topic}-{leader.partition}")
            return described.active_producers

        for state in _ask_leader(cluster, topic, number, ask):  # type: ignore[attr-defined]
            if state.current_txn_start_offset >= 0:
                yield OpenTransaction(
                    topic=topic,
                    partition=number,
                    producer_id=state.producer_id,
                    producer_epoch=state.producer_epoch,
                    coordinator_epoch=state.coordinator_epoch,
                    start_offset=state.current_txn_start_offset,
                    last_ms=state.last_timestamp,
                )


def hanging_transactions(
    cluster: Cluster,
    partitions: Iterable[TopicPartition],
    longer_than_ms: int,
    *,
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
) -> list[OpenTransaction]:
    """Return the transactions that have been open in partitions for long, and that no coordinator will end.

    Args:
        longer_than_ms: since the producer's last batch; at least what producers may ask for as a time-out, or
            transactions are taken for hanging that only just began.
    """
    begun = now_ms()
    suspected = [
        one for one in open_transactions(cluster, partitions) if begun - one.last_ms > longer_than_ms
    ]
    if not suspected:
        return []
    listed = list_transactions(cluster, producer_ids=sorted({one.producer_id for one in suspected}))
    ids = {one.producer_id: one.transactional_id for one in listed}
    return [one for one in suspected if not _is_coordinated(cluster, one, ids.get(one.producer_id))]


def abort_transaction(cluster: Cluster, transaction: OpenTransaction) -> None:
    """End a transaction in one partition, whatever its coordinator says.

    Raises:
        BrokerError: INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED ...
    """
    topic, number = transaction.topic, transaction.partition
    marker = messages.WriteTxnMarkersRequestWritableTxnMarker(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_result=False,
        coordinator_epoch=max(transaction.coordinator_epoch, 0),
        topics=[
            messages.WriteTxnMarkersRequestWritableTxnMarkerTopic(name=topic, partition_indexes=[number])
        ],
    )

    def ask(leader: PartitionInfo) -> None:
        request = messages.WriteTxnMarkersRequest(markers=[marker])
        response = cluster.request_broker(leader.leader, WRITE_TXN_MARKERS, request)
        for result in response.markers[0].topics[0].partitions:
            if result.error_code:
                raise BrokerError(result.error_code, f"{topic}-{number}")

    _ask_leader(cluster, topic, number, ask)


def _is_coordinated(cluster: Cluster, transaction: OpenTransaction, transactional_id: str | None) -> bool:
    if transactional_id is None:
        return False
    try:
        known = describe_transaction(cluster, transactional_id)
    except BrokerError as error:
        if error.code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            return False
        raise
    return (
        known.producer_id == transaction.producer_id
        and (transaction.topic, transaction.partition) in known.partitions
    )


def _ask_leader(cluster: Cluster, topic: str, number: int, ask: Callable[[PartitionInfo], Answer]) -> Answer:
    return cluster.retry.run(
        lambda: ask(cluster.leader_of(topic, number)), lambda: cluster.forget_topic(topic)
    )


def _coordinator_of(cluster: Cluster, transactional_id: str) -> int:
    broker = cluster.broker_ids()[0]
    if cluster.connection(broker).version_of(FIND_COORDINATOR) >= _FIRST_BATCHED_FIND:
        request = messages.FindCoordinatorRequest(key_type=_TRANSACTION, coordinator_keys=[transactional_id])
    else:
        request = messages.FindCoordinatorRequest(key_type=_TRANSACTION, key=transactional_id)
    response = cluster.request_broker(broker, FIND_COORDINATOR, request)
    found = response.coordinators[0] if response.coordinators else response
    _check(found.error_code, transactional_id, found.error_message)
    return int(found.node_id)


def _check(error_code: int, transactional_id: str, message: str | None = None) -> None:
    if error_code:
        raise BrokerError(error_code, f"transactional id {transactional_id}", message)


def transaction_at(cluster: Cluster, topic: str, number: int, start_offset: int) -> OpenTransaction:
    """Return the transaction that began at an offset of a partition.

    Raises:
        ClientError: none did, or it is not open any more.
    """
    for one in open_transactions(cluster, [(topic, number)]):
        if one.start_offset == start_offset:
            return one
    raise ClientError(f"no open transaction of {topic}-{number} began at offset {start_offset}")
