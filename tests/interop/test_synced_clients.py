"""Clients of a broker that syncs everything before it says so: transactions, groups, idempotence, a kill.

`log.flush.interval.messages=1` is for all topics, those of groups and transactions too, so that every answer
that tells of an append waits for a helper thread.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from tests.broker import BarnabasBroker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(200)]

TIMEOUT_S = 60
TRANSACTIONS = 12
ABORT_EVERY = 4
EACH = 3


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BarnabasBroker]:
    overrides = {"log.flush.interval.messages": "1", "group.initial.rebalance.delay.ms": "0"}
    with BarnabasBroker(tmp_path, overrides=overrides) as running:
        yield running


def create(broker: BarnabasBroker, *topics: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for made in admin.create_topics([NewTopic(topic, 2, 1) for topic in topics]).values():
        made.result(TIMEOUT_S)


def reader(broker: BarnabasBroker, group: str, *topics: str) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(list(topics))
    return consumer


def values(consumer: Consumer, count: int) -> list[bytes]:
    found = []
    while len(found) < count:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None, f"{len(found)} of {count} records came"
        assert message.error() is None, message.error()
        found.append(message.value())
    return sorted(found)


def test_what_was_acknowledged_with_everything_synced_is_there_after_a_kill(broker: BarnabasBroker) -> None:
    create(broker, "in", "out")
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "synced"})
    producer.init_transactions(TIMEOUT_S)
    committed = []
    for number in range(TRANSACTIONS):
        producer.begin_transaction()
        sent = [f"{number}-{one}".encode() for one in range(EACH)]
        for value in sent:
            producer.produce("in", value)
        if number % ABORT_EVERY:
            producer.commit_transaction(TIMEOUT_S)
            committed += sent
        else:
            producer.abort_transaction(TIMEOUT_S)
    consumer = reader(broker, "synced", "in")
    assert values(consumer, len(committed)) == sorted(committed)
    producer.begin_transaction()
    positions = consumer.position(consumer.assignment())
    producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), TIMEOUT_S)
    producer.produce("out", b"done")
    producer.commit_transaction(TIMEOUT_S)
    consumer.close()
    broker.kill()
    broker.start()
    again = reader(broker, "other", "in", "out")
    assert values(again, len(committed) + 1) == sorted([*committed, b"done"])
    again.close()
    asking = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "synced"})
    told = asking.committed([TopicPartition("in", one.partition) for one in positions], TIMEOUT_S)
    assert {(one.partition, one.offset) for one in told} == {
        (one.partition, one.offset) for one in positions if one.offset >= 0
    }
    asking.close()


def test_an_idempotent_producer_goes_on_while_the_setting_changes_and_the_broker_is_killed(
    broker: BarnabasBroker,
) -> None:
    create(broker, "changing")
    producer = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True, "linger.ms": 0})
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    acknowledged: list[bytes] = []

    def delivered(error: object, message: object) -> None:
        assert error is None, error
        acknowledged.append(message.value())  # type: ignore[attr-defined]

    number = 0
    for setting in ("1000000", "1", "7"):
        entry = ConfigEntry("flush.messages", setting, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, "changing", incremental_configs=[entry])
        for _ in range(50):
            producer.produce("changing", str(number).encode(), on_delivery=delivered)
            producer.poll(0)
            number += 1
        for changed in admin.incremental_alter_configs([resource]).values():
            changed.result(TIMEOUT_S)
    broker.kill()
    broker.start()
    assert producer.flush(TIMEOUT_S) == 0
    assert len(acknowledged) == number
    consumer = reader(broker, "all", "changing")
    assert values(consumer, number) == sorted(str(one).encode() for one in range(number))
    assert consumer.poll(0.5) is None, "a record twice"
    consumer.close()
