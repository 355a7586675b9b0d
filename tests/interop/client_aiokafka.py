"""aiokafka."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from tests.interop.client import DEADLINE_S, ProduceSettings
from tests.interop.records import PARTITIONS, Consumed, Record


class AiokafkaClient:
    name = "aiokafka"

    def sendable(self, record: Record) -> Record:
        if record.key is None and record.value is None:
            return record._replace(value=b"")
        return record

    def seen(self, record: Record) -> Record:
        return record

    def produce(
        self, bootstrap: str, topic: str, records: Sequence[Record], settings: ProduceSettings
    ) -> list[int]:
        return _run(_produce(bootstrap, topic, records, settings))

    def consume(self, bootstrap: str, topic: str, count: int, start: Mapping[int, int]) -> list[Consumed]:
        return _run(_consume(bootstrap, topic, count, start))

    def offsets_for_time(self, bootstrap: str, topic: str, timestamp_ms: int) -> dict[int, int | None]:
        async def ask() -> dict[int, int | None]:
            async with _consumer(bootstrap) as consumer:
                found = await consumer.offsets_for_times(dict.fromkeys(_partitions(topic), timestamp_ms))
                return {
                    tp.partition: None if answer is None else answer.offset for tp, answer in found.items()
                }

        return _run(ask())

    def offset_range(self, bootstrap: str, topic: str) -> dict[int, tuple[int, int]]:
        async def ask() -> dict[int, tuple[int, int]]:
            async with _consumer(bootstrap) as consumer:
                first = await consumer.beginning_offsets(_partitions(topic))
                end = await consumer.end_offsets(_partitions(topic))
                return {tp.partition: (first[tp], end[tp]) for tp in _partitions(topic)}

        return _run(ask())

    def close(self) -> None:
        pass


def _run(coroutine: Any) -> Any:
    return asyncio.run(asyncio.wait_for(coroutine, DEADLINE_S))


async def _produce(
    bootstrap: str, topic: str, records: Sequence[Record], settings: ProduceSettings
) -> list[int]:
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap,
        compression_type=None if settings.codec == "none" else settings.codec,
        acks=settings.acks,
        enable_idempotence=settings.idempotent,
        linger_ms=5,
        max_batch_size=64 * 1024,
    )
    async with producer:
        futures = [
            await producer.send(
                topic,
                value=record.value,
                key=record.key,
                partition=record.partition,
                timestamp_ms=record.timestamp_ms,
                headers=list(record.headers),
            )
            for record in records
        ]
        answers = await asyncio.gather(*futures)
        return [-1 if answer is None else answer.offset for answer in answers]


async def _consume(bootstrap: str, topic: str, count: int, start: Mapping[int, int]) -> list[Consumed]:
    async with _consumer(bootstrap) as consumer:
        consumer.assign([TopicPartition(topic, partition) for partition in start])
        for partition, offset in start.items():
            consumer.seek(TopicPartition(topic, partition), offset)
        consumed: list[Consumed] = []
        while len(consumed) < count:
            for messages in (await consumer.getmany(timeout_ms=200, max_records=5000)).values():
                consumed.extend(map(_consumed, messages))
        return consumed


def _partitions(topic: str) -> list[TopicPartition]:
    return [TopicPartition(topic, partition) for partition in range(PARTITIONS)]


def _consumer(bootstrap: str) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        bootstrap_servers=bootstrap, enable_auto_commit=False, auto_offset_reset="none", check_crcs=True
    )


def _consumed(message: Any) -> Consumed:
    record = Record(
        partition=message.partition,
        timestamp_ms=message.timestamp,
        key=message.key,
        value=message.value,
        headers=tuple(message.headers),
    )
    return Consumed(message.offset, record)
