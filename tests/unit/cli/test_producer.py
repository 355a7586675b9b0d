"""Batches, sequences, and what is sent again in which order, against a scripted cluster."""

from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.cli.client.cluster import PartitionInfo, Retry, TopicInfo
from barnabas.cli.client.errors import BrokerError, ConnectionLostError
from barnabas.cli.client.producer import Accumulator, PendingBatch, Producer
from barnabas.protocol import messages
from barnabas.protocol.record_batch import parse_header, parse_records

PARTITIONS = 2


def partition_info(partition: int) -> PartitionInfo:
    return PartitionInfo(
        topic="t",
        topic_id=bytes(16),
        partition=partition,
        leader=0,
        leader_epoch=0,
        replicas=(0,),
        isr=(0,),
        offline=(),
    )


TOPIC = TopicInfo(
    name="t", topic_id=bytes(16), internal=False, partitions=tuple(map(partition_info, range(PARTITIONS)))
)

Answer = Callable[[int, bytes], int | None]
"""(partition, batch) -> error code; None loses the connection."""


class ScriptedCluster:
    """One broker that keeps the batches it accepted and answers as told."""

    timeout_s = 5.0

    def __init__(self, answer: Answer) -> None:
        self._now = 0.0
        self.retry = Retry(self.timeout_s, sleep=self._sleep, now_s=lambda: self._now)
        self.accepted: list[tuple[int, bytes]] = []
        self.sent: list[list[tuple[int, bytes]]] = []
        self._answer = answer
        self._waiting: deque[list[tuple[int, bytes]]] = deque()

    def _sleep(self, seconds: float) -> None:
        self._now += seconds

    def topic(self, name: str, *, create: bool = False) -> TopicInfo:
        return TOPIC

    def leader_of(self, topic: str, partition: int) -> PartitionInfo:
        return TOPIC.partitions[partition]

    def connection(self, node_id: int) -> "ScriptedCluster":
        return self

    def drop(self, node_id: int) -> None:
        self._waiting.clear()

    def forget_topic(self, name: str) -> None:
        pass

    def version_of(self, api_key: int) -> int:
        return 13

    def request_any(self, api_key: int, request: Any) -> Any:
        return messages.InitProducerIdResponse(producer_id=7, producer_epoch=1)

    def send(self, api_key: int, request: Any) -> None:
        batches = [(part.index, bytes(part.records)) for part in request.topic_data[0].partition_data]
        self.sent.append(batches)
        if request.acks:
            self._waiting.append(batches)

    def receive(self, extra_wait_s: float = 0.0) -> Any:
        answers = []
        for partition, batch in self._waiting.popleft():
            code = self._answer(partition, batch)
            if code is None:
                raise ConnectionLostError("gone")
            if code == 0:
                self.accepted.append((partition, batch))
            answers.append(
                messages.ProduceResponsePartitionProduceResponse(
                    index=partition, error_code=code, base_offset=0
                )
            )
        return messages.ProduceResponse(
            responses=[messages.ProduceResponseTopicProduceResponse(partition_responses=answers)]
        )

    def values(self, partition: int) -> list[bytes | None]:
        found = []
        for at, batch in self.accepted:
            if at == partition:
                found += [record.value for record in parse_records(batch, 0, parse_header(batch))]
        return found


def producer_over(answer: Answer, **options: Any) -> tuple[Producer, ScriptedCluster]:
    cluster = ScriptedCluster(answer)
    return Producer(cluster, TOPIC, batch_bytes=1, **options), cluster  # type: ignore[arg-type]


def send_numbers(producer: Producer, count: int) -> None:
    for number in range(count):
        producer.send(None, b"%d" % number, timestamp_ms=0, partition=number % PARTITIONS)
    producer.flush()


def numbers(partition: int, count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count) if number % PARTITIONS == partition]


def accept(partition: int, batch: bytes) -> int:
    return 0


def test_everything_arrives_in_order() -> None:
    producer, cluster = producer_over(accept)
    send_numbers(producer, 40)
    assert [cluster.values(0), cluster.values(1)] == [numbers(0, 40), numbers(1, 40)]
    assert producer.delivered == 40


def test_batches_carry_producer_and_rising_sequences() -> None:
    producer, cluster = producer_over(accept)
    send_numbers(producer, 6)
    headers = [parse_header(batch) for partition, batch in cluster.accepted if partition == 0]
    assert [(header.producer_id, header.producer_epoch, header.base_sequence) for header in headers] == [
        (7, 1, 0),
        (7, 1, 1),
        (7, 1, 2),
    ]


def check_sequences(lose_every: int) -> Answer:
    """A broker that checks sequences as P4 has it, and loses the connection now and then before or after."""
    expected = dict.fromkeys(range(PARTITIONS), 0)
    count = 0

    def answer(partition: int, batch: bytes) -> int | None:
        nonlocal count
        count += 1
        if count % lose_every == 0:
            return None
        sequence = parse_header(batch).base_sequence
        if sequence < expected[partition]:
            return int(ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
        if sequence > expected[partition]:
            return int(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        if count % 5 == 0:
            return int(ErrorCode.NOT_ENOUGH_REPLICAS)
        expected[partition] += 1
        return 0

    return answer


@pytest.mark.parametrize("lose_every", [3, 7, 11])
def test_failures_lose_nothing_and_keep_the_order(lose_every: int) -> None:
    producer, cluster = producer_over(check_sequences(lose_every))
    send_numbers(producer, 60)
    assert [cluster.values(0), cluster.values(1)] == [numbers(0, 60), numbers(1, 60)]
    assert producer.delivered == 60


def test_a_refusal_that_cannot_heal_is_raised() -> None:
    producer, _ = producer_over(lambda partition, batch: int(ErrorCode.MESSAGE_TOO_LARGE))
    with pytest.raises(BrokerError, match="MESSAGE_TOO_LARGE"):
        send_numbers(producer, 2)


def test_acks_0_awaits_no_answer() -> None:
    producer, cluster = producer_over(lambda partition, batch: pytest.fail("an answer was awaited"), acks=0)
    send_numbers(producer, 4)
    assert not producer.idempotent
    assert producer.delivered == 4
    assert len([batch for request in cluster.sent for batch in request]) == 4


def test_a_batch_is_sealed_before_it_exceeds_its_size() -> None:
    accumulator = Accumulator(1, batch_bytes=1000)
    for _ in range(30):
        accumulator.add(0, 0, None, bytes(100), ())
    accumulator.seal_all()
    sizes = []
    while batch := accumulator.take(0):
        sizes.append(len(batch.records))
    assert sum(sizes) > 3000
    assert max(sizes) <= 1000


def test_keyless_records_move_on_with_each_batch() -> None:
    accumulator = Accumulator(3, batch_bytes=1)
    seen = []
    for _ in range(7):
        partition = accumulator.choose_partition(None)
        seen.append(partition)
        accumulator.add(partition, 0, None, b"x", ())
    assert set(seen) == {0, 1, 2}


def test_sequences_wrap_to_zero() -> None:
    accumulator = Accumulator(1, batch_bytes=1, producer=(1, 0))
    accumulator._partitions[0].next_sequence = 0x7FFFFFFF
    for _ in range(2):
        accumulator.add(0, 0, None, b"x", ())
    accumulator.seal_all()
    batches = [accumulator.take(0), accumulator.take(0)]
    assert [parse_header(batch.records).base_sequence for batch in batches if batch] == [0x7FFFFFFF, 0]


def test_put_back_keeps_order_and_bytes() -> None:
    accumulator = Accumulator(1)
    first, second, third = (PendingBatch(partition=0, records=bytes(i), count=1) for i in (1, 2, 3))
    accumulator.put_back([third])
    accumulator.put_back([first, second])
    assert accumulator.ready_bytes == 6
    assert [accumulator.take(0), accumulator.take(0), accumulator.take(0)] == [first, second, third]
    assert accumulator.ready_bytes == 0
