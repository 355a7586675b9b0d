"""A member by kafka-python: `python -m tests.interop.groups.member_kafka_python name=value ...`."""

import sys
import time
from typing import Any

from kafka import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

from tests.interop.groups.talk import POLL_MS, Commands, Settings, say, say_committed, settings_of


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    def on_partitions_revoked(self, revoked: Any) -> None:
        if revoked:
            say("revoked", partitions=sorted(one.partition for one in revoked))

    def on_partitions_assigned(self, assigned: Any) -> None:
        say("assigned", partitions=sorted(one.partition for one in assigned))

    def on_partitions_lost(self, lost: Any) -> None:
        if lost:
            say("lost", partitions=sorted(one.partition for one in lost))


def consumer_of(settings: Settings) -> KafkaConsumer:
    return KafkaConsumer(
        bootstrap_servers=settings.bootstrap,
        group_id=settings.group,
        group_instance_id=settings.instance,
        session_timeout_ms=settings.session_ms,
        heartbeat_interval_ms=settings.heartbeat_ms,
        max_poll_interval_ms=settings.max_poll_ms,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        reconnect_backoff_max_ms=500,
        metadata_max_age_ms=1000,
    )


def commit(consumer: KafkaConsumer, topic: str, offsets: dict[int, int]) -> None:
    if not offsets:
        return
    asked = {
        TopicPartition(topic, partition): OffsetAndMetadata(offset, "", -1)
        for partition, offset in offsets.items()
    }
    try:
        consumer.commit(asked)
    except KafkaError as failed:
        say_committed(offsets, failed)
    else:
        say_committed(offsets)


def main(settings: Settings) -> None:
    commands = Commands()
    positions: dict[int, int] = {}
    consumer = consumer_of(settings)
    say("started")
    consumer.subscribe([settings.topic], listener=Listener())
    # A leader that assigns before it has heard of the topic assigns nothing, and once left it at that. Heard
    # of before it subscribes, the topic is news to the leader later: it joins a second time, and this may,
    # from Apache Kafka as well, find no end.
    consumer.partitions_for_topic(settings.topic)
    while True:
        match commands.next():
            case ["close"]:
                say("closing")
                consumer.close()
                say("closed")
                return
            case ["commit"]:
                commit(consumer, settings.topic, positions)
            case ["pause", seconds]:
                say("paused")
                time.sleep(float(seconds))
                say("resumed")
        batch: dict[int, int] = {}
        for messages in consumer.poll(timeout_ms=POLL_MS, max_records=500).values():
            for message in messages:
                say(
                    "record",
                    partition=message.partition,
                    offset=message.offset,
                    value=message.value.decode(),
                )
                batch[message.partition] = message.offset + 1
        positions.update(batch)
        commit(consumer, settings.topic, batch)


if __name__ == "__main__":
    main(settings_of(sys.argv[1:]))
