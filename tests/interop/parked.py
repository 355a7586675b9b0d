"""Consumers that wait at the end of two topics: when a record of the second reaches them, and how they close.

Each function gives (milliseconds from sending a record to having it, milliseconds of close()) of one client,
with partition 0 of both topics assigned, both empty, and a fetch that may wait `max_wait_ms`.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioTopicPartition
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as ConfluentTopicPartition
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as KafkaTopicPartition

from tests.interop.client import DEADLINE_S
from tests.interop.client_java import JavaClient

PARKING_S = 1.0
"""Long enough for a client to have its fetch waiting at the broker."""

NAMES = ("librdkafka", "java", "aiokafka", "kafka-python")

Parked = Callable[[str, Sequence[str], int], tuple[float, float]]


def librdkafka(bootstrap: str, topics: Sequence[str], max_wait_ms: int) -> tuple[float, float]:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    producer.list_topics(topics[1], timeout=DEADLINE_S)
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused: partitions are assigned",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": max_wait_ms,
            "socket.timeout.ms": 60_000,
        }
    )
    consumer.assign([ConfluentTopicPartition(topic, 0, 0) for topic in topics])
    assert consumer.poll(PARKING_S) is None
    sent = time.perf_counter()
    producer.produce(topics[1], value=b"woken", partition=0)
    producer.poll(0)
    message = consumer.poll(DEADLINE_S)
    arrived = time.perf_counter()
    assert message is not None
    assert message.error() is None
    assert consumer.poll(PARKING_S) is None
    closing = time.perf_counter()
    consumer.close()
    closed = time.perf_counter()
    producer.flush(DEADLINE_S)
    return (arrived - sent) * 1000, (closed - closing) * 1000


def kafka_python(bootstrap: str, topics: Sequence[str], max_wait_ms: int) -> tuple[float, float]:
    producer = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=0)
    producer.partitions_for(topics[1])
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        enable_auto_commit=False,
        fetch_max_wait_ms=max_wait_ms,
        request_timeout_ms=max_wait_ms + 30_000,
    )
    partitions = [KafkaTopicPartition(topic, 0) for topic in topics]
    consumer.assign(partitions)
    consumer.seek_to_end(*partitions)
    for partition in partitions:
        consumer.position(partition)
    assert not consumer.poll(timeout_ms=int(PARKING_S * 1000))
    sent = time.perf_counter()
    producer.send(topics[1], value=b"woken", partition=0)
    found = consumer.poll(timeout_ms=DEADLINE_S * 1000)
    arrived = time.perf_counter()
    assert found
    assert not consumer.poll(timeout_ms=int(PARKING_S * 1000))
    closing = time.perf_counter()
    consumer.close()
    closed = time.perf_counter()
    producer.close(timeout=5)
    return (arrived - sent) * 1000, (closed - closing) * 1000


def aiokafka(bootstrap: str, topics: Sequence[str], max_wait_ms: int) -> tuple[float, float]:
    return asyncio.run(_aiokafka(bootstrap, topics, max_wait_ms))


async def _aiokafka(bootstrap: str, topics: Sequence[str], max_wait_ms: int) -> tuple[float, float]:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        enable_auto_commit=False,
        fetch_max_wait_ms=max_wait_ms,
        request_timeout_ms=max_wait_ms + 30_000,
    )
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=0) as producer:
        await producer.partitions_for(topics[1])
        await consumer.start()
        partitions = [AioTopicPartition(topic, 0) for topic in topics]
        consumer.assign(partitions)
        await consumer.seek_to_end(*partitions)
        for partition in partitions:
            await consumer.position(partition)
        assert not await consumer.getmany(timeout_ms=int(PARKING_S * 1000))
        sent = time.perf_counter()
        await producer.send(topics[1], value=b"woken", partition=0)
        found = await consumer.getmany(timeout_ms=DEADLINE_S * 1000)
        arrived = time.perf_counter()
        assert found
        assert not await consumer.getmany(timeout_ms=int(PARKING_S * 1000))
        closing = time.perf_counter()
        await consumer.stop()
        closed = time.perf_counter()
    return (arrived - sent) * 1000, (closed - closing) * 1000


@contextmanager
def clients() -> Iterator[dict[str, Parked]]:
    """Give each client by name. The JVM is kept, since its first consumer is slow for reasons of its own.

    Raises:
        ToolchainMissingError: the Java client is asked for and cannot be had.
    """
    started: list[JavaClient] = []

    def java(bootstrap: str, topics: Sequence[str], max_wait_ms: int) -> tuple[float, float]:
        if not started:
            started.append(JavaClient())
        arrived, closed = started[0].ask("parked", bootstrap, *topics, max_wait_ms).split()
        return float(arrived), float(closed)

    try:
        yield dict(zip(NAMES, (librdkafka, java, aiokafka, kafka_python), strict=True))
    finally:
        for client in started:
            client.close()
