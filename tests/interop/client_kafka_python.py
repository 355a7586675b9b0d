"""kafka-python."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from tests.interop.client import DEADLINE_S, ProduceSettings
from tests.interop.records import PARTITIONS, Consumed, Record


class KafkaPythonClient:
    name = "kafka-python"

    def sendable(self, record: Record) -> Record:
        headers = tuple((key, b"" if value is None else value) for key, value in record.headers)
        value = b"" if record.key is None and record.value is None else record.value
        return record._replace(headers=headers, value=value)

    def seen(self, record: Record) -> Record:
        return record

    def produce(
        self, bootstrap: str, topic: str, records: Sequence[Record], settings: ProduceSettings
    ) -> list[int]:
        producer = KafkaProducer(
            bootstrap_servers=bootstrap,
            compression_type=None if settings.codec == "none" else settings.codec,
            acks=settings.acks,
            enable_idempotence=settings.idempotent,
            linger_ms=5,
            batch_size=64 * 1024,
        )
        try:
            futures = [
                producer.send(
                    topic,
                    value=record.value,
                    key=record.key,
                    headers=list(record.headers),
                    partition=record.partition,
                    timestamp_ms=record.timestamp_ms,
                )
                for record in records
            ]
            producer.flush(timeout=DEADLINE_S)
            return [future.get(timeout=DEADLINE_S).offset for future in futures]
        finally:
            producer.close(timeout=5)

    def consume(self, bootstrap: str, topic: str, count: int, start: Mapping[int, int]) -> list[Consumed]:
        consumer = _consumer(bootstrap)
        try:
            consumer.assign([TopicPartition(topic, partition) for partition in start])
            for partition, offset in start.items():
                consumer.seek(TopicPartition(topic, partition), offset)
            consumed: list[Consumed] = []
            deadline = time.monotonic() + DEADLINE_S
            while len(consumed) < count:
                assert time.monotonic() < deadline, f"kafka-python has {len(consumed)} of {count} records"
                for messages in consumer.poll(timeout_ms=200, max_records=5000).values():
                    consumed.extend(map(_consumed, messages))
            return consumed
        finally:
            consumer.close()

    def offsets_for_time(self, bootstrap: str, topic: str, timestamp_ms: int) -> dict[int, int | None]:
        consumer = _consumer(bootstrap)
        try:
            found = consumer.offsets_for_times(dict.fromkeys(_partitions(topic), timestamp_ms))
            return {tp.partition: None if answer is None else answer.offset for tp, answer in found.items()}
        finally:
            consumer.close()

    def offset_range(self, bootstrap: str, topic: str) -> dict[int, tuple[int, int]]:
        consumer = _consumer(bootstrap)
        try:
            first = consumer.beginning_offsets(_partitions(topic))
            end = consumer.end_offsets(_partitions(topic))
            return {tp.partition: (first[tp], end[tp]) for tp in _partitions(topic)}
        finally:
            consumer.close()

    def close(self) -> None:
        pass


def _partitions(topic: str) -> list[TopicPartition]:
    return [TopicPartition(topic, partition) for partition in range(PARTITIONS)]


def _consumer(bootstrap: str) -> KafkaConsumer:
    return KafkaConsumer(
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
