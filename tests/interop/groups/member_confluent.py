"""A member by confluent-kafka: `python -m tests.interop.groups.member_confluent name=value ...`."""

import sys
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tests.interop.groups.talk import POLL_MS, Commands, Settings, say, say_committed, settings_of


def consumer_of(settings: Settings) -> Consumer:
    configuration: dict[str, object] = {
        "bootstrap.servers": settings.bootstrap,
        "group.id": settings.group,
        "group.protocol": settings.protocol,
        "max.poll.interval.ms": settings.max_poll_ms,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "reconnect.backoff.max.ms": 500,
        "topic.metadata.refresh.interval.ms": 1000,
    }
    if settings.protocol == "classic":
        configuration["session.timeout.ms"] = settings.session_ms
        configuration["heartbeat.interval.ms"] = settings.heartbeat_ms
        if settings.strategy:
            configuration["partition.assignment.strategy"] = settings.strategy
    elif settings.strategy:
        configuration["group.remote.assignor"] = settings.strategy
    if settings.instance:
        configuration["group.instance.id"] = settings.instance
    return Consumer(configuration)


def numbers(partitions: list[TopicPartition]) -> list[int]:
    return sorted(one.partition for one in partitions)


def take(consumer: Consumer, topic: str, positions: dict[int, int]) -> None:
    """Tell and commit one batch."""
    batch: dict[int, int] = {}
    for message in consumer.consume(500, timeout=POLL_MS / 1000):
        if usable(message):
            partition, offset, value = message.partition(), message.offset(), message.value()
            assert partition is not None
            assert offset is not None
            assert value is not None
            say("record", partition=partition, offset=offset, value=value.decode())
            batch[partition] = offset + 1
    positions.update(batch)
    commit(consumer, topic, batch)


def usable(message: Message) -> bool:
    error = message.error()
    if error is None:
        return True
    if error.code() == KafkaError._MAX_POLL_EXCEEDED or error.retriable() or not error.fatal():
        return False
    raise KafkaException(error)


def commit(consumer: Consumer, topic: str, offsets: dict[int, int]) -> None:
    if not offsets:
        return
    asked = [TopicPartition(topic, partition, offset) for partition, offset in offsets.items()]
    try:
        answers = consumer.commit(offsets=asked, asynchronous=False)
    except KafkaException as failed:
        say_committed(offsets, failed)
        return
    errors = [answer.error for answer in answers or () if answer.error is not None]
    say_committed(offsets, errors[0] if errors else None)


def main(settings: Settings) -> None:
    commands = Commands()
    positions: dict[int, int] = {}
    consumer = consumer_of(settings)
    say("started")
    consumer.subscribe(
        [settings.topic],
        on_assign=lambda _, partitions: say("assigned", partitions=numbers(partitions)),
        on_revoke=lambda _, partitions: say("revoked", partitions=numbers(partitions)),
        on_lost=lambda _, partitions: say("lost", partitions=numbers(partitions)),
    )
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
        take(consumer, settings.topic, positions)


if __name__ == "__main__":
    main(settings_of(sys.argv[1:]))
