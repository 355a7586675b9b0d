"""Partitions over two log directories, with clients and tools of others: moved, and one directory lost.

BARNABAS_TEST_BROKER=kafka proves the first test.
"""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests import under_test
from tests.broker import BarnabasBroker
from tests.oracle.kafka import KafkaBroker
from tests.oracle.kafka_tools import KafkaTools
from tests.waiting import wait_until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(180)]

TOPIC = "orders"
DEADLINE_S = 60
RECORDS = 60
RECORD_BYTES = 100_000
BYTES_PER_SECOND = 2_000_000


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BarnabasBroker | KafkaBroker]:
    dirs = {"log.dirs": f"{tmp_path / 'data'},{tmp_path / 'other'}", "node.id": "1"}
    with under_test.make_broker(tmp_path, overrides=dirs) as running:
        yield running


def create(broker: BarnabasBroker | KafkaBroker, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(TOPIC, partitions, 1)])[TOPIC].result(DEADLINE_S)


def consumed(bootstrap: str, partition: int, count: int) -> list[bytes]:
    """The first records of a partition, in the order in which they came."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "enable.auto.commit": False})
    consumer.assign([TopicPartition(TOPIC, partition, 0)])
    found: list[bytes] = []
    deadline = time.monotonic() + DEADLINE_S
    while len(found) < count and time.monotonic() < deadline:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            found.append(message.value())
    consumer.close()
    return found


@pytest.mark.java
def test_kafkas_tools_move_a_partition_within_a_quota(
    broker: BarnabasBroker | KafkaBroker, tools: KafkaTools, tmp_path: Path
) -> None:
    create(broker, 1)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(RECORDS):
        producer.produce(TOPIC, b"%06d" % number + bytes(RECORD_BYTES), partition=0)
    assert producer.flush(DEADLINE_S) == 0

    def described() -> dict[str, list[tuple[bool, int]]]:
        """By directory, whether each replica of the topic there is a copy, and its size."""
        said = tools.run(".LogDirsCommand", "--bootstrap-server", broker.bootstrap, "--describe")
        (told,) = json.loads(said.out.strip().splitlines()[-1])["brokers"]
        return {
            Path(one["logDir"]).name: [
                (found["isFuture"], found["size"])
                for found in one["partitions"]
                if found["partition"] == f"{TOPIC}-0"
            ]
            for one in told["logDirs"]
        }

    def reassign(*arguments: str) -> str:
        name = ".reassign.ReassignPartitionsCommand"
        said = tools.run(name, "--bootstrap-server", broker.bootstrap, *arguments)
        assert said.status == 0, said
        return said.out

    (origin,) = (name for name, found in described().items() if found)
    target = "other" if origin == "data" else "data"
    plan = tmp_path / "plan.json"
    moved = {"topic": TOPIC, "partition": 0, "replicas": [1], "log_dirs": [str(tmp_path / target)]}
    plan.write_text(json.dumps({"version": 1, "partitions": [moved]}))
    file = ("--reassignment-json-file", str(plan))
    throttle = ("--replica-alter-log-dirs-throttle", str(BYTES_PER_SECOND))
    said = reassign(*file, "--execute", *throttle)
    assert f"Successfully started moving log directory to {tmp_path / target}" in said
    told = described()
    assert [is_future for is_future, _ in told[origin]] == [False]
    assert [is_future for is_future, _ in told[target]] == [True]
    assert told[target][0][1] < RECORDS * RECORD_BYTES, "it was to take its time"
    assert "is still in progress" in reassign(*file, "--verify", "--preserve-throttles")
    producer.produce(TOPIC, b"%06d" % RECORDS + b"meanwhile", partition=0)
    assert producer.flush(DEADLINE_S) == 0
    wait_until(lambda: "completed successfully" in reassign(*file, "--verify"), "the partition arrives")
    told = described()
    assert told[origin] == []
    assert [is_future for is_future, _ in told[target]] == [False]
    found = consumed(broker.bootstrap, 0, RECORDS + 1)
    assert [value[:6] for value in found] == [b"%06d" % number for number in range(RECORDS + 1)]


def test_f43_clients_go_on_with_the_other_directory(tmp_path: Path) -> None:
    mount = tmp_path / "other"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "barnabas-test", str(mount)]
    tried = subprocess.run(command, capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no file system can be mounted here: {tried.stderr.strip()}")
    try:
        dirs = {"log.dirs": f"{tmp_path / 'data'},{mount}"}
        with BarnabasBroker(tmp_path, overrides=dirs) as broker:
            lose_a_directory(broker, mount)
    finally:
        subprocess.run(["umount", "-l", str(mount)], check=False, capture_output=True)


def lose_a_directory(broker: BarnabasBroker, mount: Path) -> None:
    create(broker, 2)
    full = next(number for number in range(2) if (mount / f"{TOPIC}-{number}").is_dir())
    fine = 1 - full
    told: dict[int, list[bool]] = {0: [], 1: []}

    def note(partition: int) -> Callable[[KafkaError | None, Message], None]:
        return lambda error, _: told[partition].append(error is None)

    producer = Producer({"bootstrap.servers": broker.bootstrap, "message.timeout.ms": 3000})
    for number in range(200):
        for partition in range(2):
            producer.produce(
                TOPIC, b"%06d" % number + bytes(30_000), partition=partition, on_delivery=note(partition)
            )
        producer.poll(0.01)
    producer.flush(DEADLINE_S)
    assert told[fine] == [True] * 200
    acknowledged = sum(told[full])
    assert 0 < acknowledged < 200
    assert told[full] == [True] * acknowledged + [False] * (200 - acknowledged)
    assert len(consumed(broker.bootstrap, fine, 200)) == 200

    broker.kill()
    subprocess.run(["mount", "-o", "remount,size=64m", str(mount)], check=True)
    broker.start()
    found = consumed(broker.bootstrap, full, acknowledged)
    assert [value[:6] for value in found] == [b"%06d" % number for number in range(acknowledged)]
    producer.produce(TOPIC, b"again", partition=full, on_delivery=note(full))
    assert producer.flush(DEADLINE_S) == 0
    assert told[full][-1]
