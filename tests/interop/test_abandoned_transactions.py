"""A transactional client that is gone: tools see what it left open, a timeout ends it, and readers go on."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from tests import toolchain
from tests.broker import BarnabasBroker
from tests.oracle.jvm import java
from tests.waiting import wait_until

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("transactions")]

TOPIC = "left"
TRANSACTIONAL_ID = "gone"
TIMEOUT_MS = 12_000
DEADLINE_S = 60
KAFKA_TOOL = "org.apache.kafka.tools.TransactionsCommand"

ABANDONS = f"""
import sys, time
from confluent_kafka import Producer
producer = Producer({{
    "bootstrap.servers": sys.argv[1], "transactional.id": "{TRANSACTIONAL_ID}",
    "transaction.timeout.ms": {TIMEOUT_MS},
}})
producer.init_transactions(30)
producer.begin_transaction()
producer.produce("{TOPIC}", value=b"never")
producer.flush(30)
print("open", flush=True)
time.sleep(600)
"""


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BarnabasBroker]:
    overrides = {
        "transaction.state.log.num.partitions": "1",
    }
    with BarnabasBroker(tmp_path / "broker", overrides=overrides) as started:
        yield started


@pytest.fixture
def abandoned(broker: BarnabasBroker) -> float:
    """Leave a transaction open in a topic; return when its client was killed."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(DEADLINE_S)
    line = [sys.executable, "-c", ABANDONS, broker.bootstrap]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == "open\n"
        began = time.monotonic()
        client.send_signal(signal.SIGKILL)
    return began


def transactions(broker: BarnabasBroker, *arguments: str) -> Any:
    line = [sys.executable, "-m", "barnabas", "transactions", *arguments, "--output", "json"]
    line += ["--bootstrap-server", broker.bootstrap]
    done = subprocess.run(line, check=True, capture_output=True, text=True, timeout=DEADLINE_S)
    return json.loads(done.stdout)


def end_offset(broker: BarnabasBroker, isolation: IsolationLevel) -> int:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    asked = {TopicPartition(TOPIC, 0): OffsetSpec.latest()}
    (found,) = admin.list_offsets(asked, isolation_level=isolation).values()
    return int(found.result(DEADLINE_S).offset)


def write_plain(broker: BarnabasBroker, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce(TOPIC, value=value)
    assert producer.flush(DEADLINE_S) == 0


def test_what_a_dead_client_left_open_is_seen_ended_by_its_timeout_and_holds_nobody_up(
    broker: BarnabasBroker, abandoned: float
) -> None:
    write_plain(broker, b"later")
    (seen,) = [one for one in transactions(broker, "list") if one["id"] == TRANSACTIONAL_ID]
    assert seen["state"] == "Ongoing"
    (described,) = transactions(broker, "describe", TRANSACTIONAL_ID)
    assert described["partitions"] == [f"{TOPIC}-0"]
    assert end_offset(broker, IsolationLevel.READ_UNCOMMITTED) == 2
    assert end_offset(broker, IsolationLevel.READ_COMMITTED) == 0, "the transaction holds the LSO"
    assert time.monotonic() - abandoned < TIMEOUT_MS / 1000, "too slow to have looked while it was open"

    reader = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": "unused", "isolation.level": "read_committed"}
    )
    reader.assign([TopicPartition(TOPIC, 0, 0)])
    message = reader.poll(DEADLINE_S)
    ended = time.monotonic()
    reader.close()
    assert message is not None
    assert message.error() is None
    assert message.value() == b"later"
    # The transaction began a moment before its client was killed, so its time was up a moment sooner.
    assert ended - abandoned >= TIMEOUT_MS / 1000 - 1
    wait_until(
        lambda: transactions(broker, "describe", TRANSACTIONAL_ID)[0]["state"] == "CompleteAbort",
        "the transaction is aborted",
    )
    # never, later, and the marker of the abort
    assert end_offset(broker, IsolationLevel.READ_COMMITTED) == 3
    assert transactions(broker, "find-hanging", "--topic", TOPIC) == []


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.timeout(180)
def test_apache_kafkas_tool_sees_what_a_dead_client_left_open(
    broker: BarnabasBroker, abandoned: float
) -> None:
    try:
        line = java(KAFKA_TOOL, "--bootstrap-server", broker.bootstrap, "list")
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(str(missing))

    def state() -> str:
        done = subprocess.run(line, check=True, capture_output=True, text=True, timeout=90)
        (row,) = [row.split() for row in done.stdout.splitlines() if row.startswith(TRANSACTIONAL_ID)]
        return row[3]

    assert state() == "Ongoing" or time.monotonic() - abandoned > TIMEOUT_MS / 1000
    wait_until(lambda: state() == "CompleteAbort", "the transaction is aborted")
