"""confluent-kafka, that is librdkafka."""

import time
from collections.abc import Mapping, Sequence

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from tests.interop.client import DEADLINE_S, ProduceSettings
from tests.interop.records import PARTITIONS, Consumed, Record


class ConfluentClient:
    name = "librdkafka"

    def sendable(self, record: Record) -> Record:
        return record

    def seen(self, record: Record) -> Record:
        return record

    def produce(
        self, bootstrap: str, topic: str, records: Sequence[Record], settings: ProduceSettings
    ) -> list[int]:
        producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "compression.type": settings.codec,
                "acks": settings.acks,
                "enable.idempotence": settings.idempotent,
                "linger.ms": 5,
                "queue.buffering.max.messages": 0,
                "message.timeout.ms": DEADLINE_S * 1000,
            }
        )
        offsets = [-1] * len(records)
        failures: list[KafkaError] = []

        def delivered(error: KafkaError | None, message: Message, i: int) -> None:
            if error is not None:
                failures.append(error)
            offset = message.offset()
            offsets[i] = -1 if offset is None or settings.acks == 0 else offset

        for i, record in enumerate(records):
            producer.produce(
                topic,
                value=record.value,
                key=record.key,
                partition=record.partition,
                timestamp=record.timestamp_ms,
                headers=list(record.headers) or None,
                on_delivery=lambda error, message, i=i: delivered(error, message, i),
            )
            producer.poll(0)
        left = producer.flush(DEADLINE_S)
        assert not failures, f"librdkafka could not deliver {len(failures)}: {failures[0]}"
        assert left == 0, f"librdkafka still holds {left} records"
        return offsets

    def consume(self, bootstrap: str, topic: str, count: int, start: Mapping[int, int]) -> list[Consumed]:
        consumer = _consumer(bootstrap)
        try:
            consumer.assign([TopicPartition(topic, partition, offset) for partition, offset in start.items()])
            consumed: list[Consumed] = []
            deadline = time.monotonic() + DEADLINE_S
            while len(consumed) < count:
                assert time.monotonic() < deadline, f"librdkafka has {len(consumed)} of {count} records"
                consumed.extend(_consumed(message) for message in consumer.consume(1000, timeout=0.2))
            return consumed
        finally:
            consumer.close()

    def offsets_for_time(self, bootstrap: str, topic: str, timestamp_ms: int) -> dict[int, int | None]:
        consumer = _consumer(bootstrap)
        try:
            asked = [TopicPartition(topic, partition, timestamp_ms) for partition in range(PARTITIONS)]
            answers = consumer.offsets_for_times(asked, timeout=DEADLINE_S)
            for answer in answers:
                if answer.error is not None:
                    raise KafkaException(answer.error)
            # librdkafka's word for "no such record" is OFFSET_END.
            return {answer.partition: answer.offset if answer.offset >= 0 else None for answer in answers}
        finally:
            consumer.close()

    def offset_range(self, bootstrap: str, topic: str) -> dict[int, tuple[int, int]]:
        consumer = _consumer(bootstrap)
        try:
            return {
                partition: consumer.get_watermark_offsets(
                    TopicPartition(topic, partition), timeout=DEADLINE_S
                )
                for partition in range(PARTITIONS)
            }
        finally:
            consumer.close()

    def close(self) -> None:
        pass


def _consumer(bootstrap: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused: partitions are assigned",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "check.crcs": True,
        }
    )


def _consumed(message: Message) -> Consumed:
    error = message.error()
    if error is not None:
        raise KafkaException(error)
    offset, partition = message.offset(), message.partition()
    assert offset is not None
    assert partition is not None
    record = Record(
        partition=partition,
        timestamp_ms=message.timestamp()[1],
        key=message.key(),
        value=message.value(),
        headers=tuple(message.headers() or ()),
    )
    return Consumed(offset, record)
