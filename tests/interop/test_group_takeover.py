"""A directory with groups changes hands, ours to Apache Kafka and back: the same groups, the same offsets.

kafka-consumer-groups describes all groups on each side; what it prints has to be equal, line by line.
"""

import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.broker import BarnabasBroker
from tests.oracle.kafka import KafkaBroker, running
from tests.oracle.kafka_tools import KafkaTools, dump_log

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.java, pytest.mark.timeout(300)]

TOPICS = ("first", "second")
PARTITIONS = 3
RECORDS = 20
DEADLINE_S = 60

Broker = BarnabasBroker | KafkaBroker


def make_topics(broker: Broker) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    for made in admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in TOPICS]).values():
        made.result(30)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True, "log_level": 0})
    for name in TOPICS:
        for number in range(RECORDS * PARTITIONS):
            producer.produce(name, value=b"%d" % number, partition=number % PARTITIONS)
    assert producer.flush(DEADLINE_S) == 0


def commit(broker: Broker, group: str, offsets: dict[str, list[int]]) -> None:
    """Commit as one who manages partitions by himself, with metadata."""
    simple = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group, "log_level": 0})
    asked = [
        TopicPartition(topic, partition, offset, metadata=f"by {group}")
        for topic, some in offsets.items()
        for partition, offset in enumerate(some)
    ]
    simple.commit(offsets=asked, asynchronous=False)
    simple.close()


def consume(broker: Broker, group: str, count: int, **options: object) -> None:
    """Be a group's only member, take `count` records, commit, leave."""
    member = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,
            **{name.replace("_", "."): value for name, value in options.items()},
        }
    )
    member.subscribe(list(TOPICS))
    taken = 0
    while taken < count:
        messages = member.consume(min(50, count - taken), timeout=DEADLINE_S)
        assert messages, f"{group} got {taken} of {count} records"
        taken += sum(message.error() is None for message in messages)
    member.commit(asynchronous=False)
    member.close()


def make_groups(broker: Broker, prefix: str) -> None:
    """Groups of every kind: simple, classic, static, of the consumer protocol, deleted, moved."""
    commit(broker, f"{prefix}-simple", {"first": [1, 2, 3], "second": [4, 5, 6]})
    consume(broker, f"{prefix}-classic", 2 * RECORDS * PARTITIONS)
    consume(broker, f"{prefix}-static", 30, group_instance_id="seat")
    consume(broker, f"{prefix}-consumer", 2 * RECORDS * PARTITIONS, group_protocol="consumer")
    commit(broker, f"{prefix}-deleted", {"first": [1]})
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    admin.delete_consumer_groups([f"{prefix}-deleted"])[f"{prefix}-deleted"].result(30)
    for offset in range(1, 15):
        commit(broker, f"{prefix}-moved", {"second": [offset, 15 - offset]})


def described(tools: KafkaTools, broker: Broker) -> list[str]:
    """What the tool says of all groups: their offsets, members, states and types."""
    found: list[str] = []
    for what in (("--describe", "--all-groups", "--offsets"), ("--list", "--state"), ("--list", "--type")):
        said = ask(tools, broker, *what)
        found += [" ".join(line.split()) for line in said.splitlines() if line.strip()]
    return sorted(found)


def ask(tools: KafkaTools, broker: Broker, *what: str) -> str:
    deadline = time.monotonic() + DEADLINE_S
    server = ("--bootstrap-server", broker.bootstrap)
    while True:
        said = tools.run(".consumer.group.ConsumerGroupCommand", *server, *what)
        # Apache Kafka answers clients before it has loaded its groups; the tool ends with 0 all the same.
        if said.status == 0 and "Error:" not in said.out:
            return said.out
        assert time.monotonic() < deadline, said
        time.sleep(0.2)


def check_described(tools: KafkaTools, broker: Broker, expected: list[str]) -> None:
    """Check what the tool says of a broker that just started: Kafka lists what it has loaded so far."""
    deadline = time.monotonic() + DEADLINE_S
    while (said := described(tools, broker)) != expected:
        assert time.monotonic() < deadline, sorted(set(said) ^ set(expected))


def names(said: list[str]) -> set[str]:
    return {line.split()[0] for line in said} - {"GROUP", "Consumer"}


def judge(data: Path) -> None:
    """Let kafka-dump-log read every record of __consumer_offsets with its own decoder."""
    segments = sorted(data.glob("__consumer_offsets-*/*.log"))
    assert segments
    dump_log(*segments, extra=("--offsets-decoder",))


def test_groups_go_to_apache_kafka_and_back(tmp_path: Path, tools: KafkaTools) -> None:
    data = tmp_path / "data"
    ours = BarnabasBroker(tmp_path / "ours", data_dir=data, overrides={"node.id": "1"})
    ours.start()
    make_topics(ours)
    make_groups(ours, "ours")
    before = described(tools, ours)
    assert {"ours-simple", "ours-classic", "ours-consumer", "ours-moved"} <= names(before)
    assert "ours-deleted" not in names(before)
    ours.stop()
    judge(data)
    # Its partition count has to be the one that the offsets topic was made with.
    overrides = {"offsets.topic.num.partitions": "50"}
    with running(tmp_path / "kafka", data_dir=data, overrides=overrides) as theirs:
        check_described(tools, theirs, before)
        consume(theirs, "ours-classic-2", 10)
        make_groups(theirs, "theirs")
        between = described(tools, theirs)
        assert {"theirs-simple", "theirs-classic", "theirs-consumer", "ours-simple"} <= names(between)
    ours.start()
    try:
        check_described(tools, ours, between)
        make_groups(ours, "again")
        after = described(tools, ours)
        ours.kill()
        ours.start()
        check_described(tools, ours, after)
        ours.stop()
    finally:
        ours.kill()
    judge(data)


def test_groups_of_apache_kafka_come_to_us(tmp_path: Path, tools: KafkaTools) -> None:
    data = tmp_path / "data"
    with running(tmp_path / "kafka", data_dir=data) as theirs:
        make_topics(theirs)
        make_groups(theirs, "theirs")
        before = described(tools, theirs)
    with BarnabasBroker(tmp_path / "ours", data_dir=data, overrides={"node.id": "1"}) as ours:
        check_described(tools, ours, before)
        make_groups(ours, "ours")
        consume(ours, "theirs-classic-2", 10)
    judge(data)
