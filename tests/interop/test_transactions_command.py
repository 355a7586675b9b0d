"""`barnabas transactions` and kafka-transactions of Apache Kafka, over transactions that are open or hang."""

import json
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

from barnabas.protocol import messages as m
from tests import toolchain
from tests.broker import BarnabasBroker
from tests.interop.first_slice.asker import Asker
from tests.oracle.jvm import java
from tests.unit.replica.broker_setup import batch

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("transactions")]

Run = Callable[..., str]
KAFKA_TOOL = "org.apache.kafka.tools.TransactionsCommand"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasBroker]:
    overrides = {
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.num.partitions": "2",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.partition.verification.enable": "false",
    }
    with BarnabasBroker(tmp_path_factory.mktemp("transactions"), overrides=overrides) as started:
        yield started


@pytest.fixture
def run(broker: BarnabasBroker) -> Run:
    def run_command(*arguments: str, code: int = 0) -> str:
        line = [sys.executable, "-m", "barnabas", "transactions", *arguments]
        line += ["--bootstrap-server", broker.bootstrap]
        done = subprocess.run(line, check=False, capture_output=True, text=True, timeout=60)
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    return run_command


@pytest.fixture
def topic(broker: BarnabasBroker) -> str:
    name = f"topic-{uuid.uuid4().hex[:8]}"
    asker = Asker(broker.port)
    asker.make_topic(name, 2)
    asker.close()
    return name


@pytest.fixture
def ongoing(broker: BarnabasBroker, topic: str) -> Iterator[str]:
    """The transactional id of a producer with an open transaction in the first partition."""
    name = f"id-{uuid.uuid4().hex[:8]}"
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": name})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, value=b"v", partition=0)
    producer.flush(30)
    yield name
    producer.abort_transaction(30)


@pytest.fixture
def hanging(broker: BarnabasBroker, topic: str) -> int:
    """The producer id of a transaction in the second partition that no coordinator knows of."""
    asker = Asker(broker.port)
    records = batch(2, producer_id=4_711_000, producer_epoch=3, base_sequence=0, is_transactional=True)
    data = m.ProduceRequestPartitionProduceData(index=1, records=records)
    asked = m.ProduceRequestTopicProduceData(name=topic, partition_data=[data])
    request = m.ProduceRequest(transactional_id="lost", acks=-1, timeout_ms=10_000, topic_data=[asked])
    answer = asker.exchange(9, request)
    asker.close()
    assert isinstance(answer, m.ProduceResponse)
    assert answer.responses[0].partition_responses[0].error_code == 0
    return 4_711_000


def found(run: Run, *arguments: str) -> Any:
    return json.loads(run(*arguments, "--output", "json"))


def test_transactions_are_listed_and_described(run: Run, ongoing: str, topic: str) -> None:
    listed = {one["id"]: one for one in found(run, "list")}
    assert listed[ongoing]["state"] == "Ongoing"
    assert ongoing in [one["id"] for one in found(run, "list", "--state", "ongoing")]
    assert ongoing not in [one["id"] for one in found(run, "list", "--state", "Empty")]
    (described,) = found(run, "describe", ongoing)
    assert described["partitions"] == [f"{topic}-0"]
    assert described["producer_id"] == listed[ongoing]["producer_id"]
    assert 0 <= described["open_ms"] < 120_000
    assert ongoing in run("list")
    assert f"{topic}-0" in run("describe", ongoing)
    assert "TRANSACTIONAL_ID_NOT_FOUND" in run("describe", "nobody", code=1)


def test_what_hangs_is_found_and_aborted(
    run: Run, ongoing: str, hanging: int, topic: str, broker: BarnabasBroker
) -> None:
    # Its batch is of 2023.
    search = ("find-hanging", "--topic", topic)
    assert found(run, *search, "--longer-than", "100000000") == []
    (one,) = found(run, *search)
    assert (one["topic"], one["partition"], one["producer_id"]) == (topic, 1, hanging)
    assert str(hanging) in run(*search)
    assert "began at offset 1" in run("abort", topic, "1", "--start-offset", "1", code=1)
    run("abort", topic, "1", "--start-offset", "0")
    assert found(run, *search) == []
    # The one that is only open stays so.
    (described,) = found(run, "describe", ongoing)
    assert described["state"] == "Ongoing"


@pytest.mark.java
@pytest.mark.timeout(180)
def test_apache_kafkas_tool_finds_the_same(
    run: Run, ongoing: str, hanging: int, topic: str, broker: BarnabasBroker
) -> None:
    def tool(*arguments: str) -> str:
        try:
            line = java(KAFKA_TOOL, "--bootstrap-server", broker.bootstrap, *arguments)
        except toolchain.ToolchainMissingError as missing:
            toolchain.unavailable(str(missing))
        done = subprocess.run(line, check=False, capture_output=True, text=True, timeout=90)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert ongoing in tool("list")
    assert f"{topic}-0" in tool("describe", "--transactional-id", ongoing)
    assert str(hanging) in tool("describe-producers", "--topic", topic, "--partition", "1")
    tool("abort", "--topic", topic, "--partition", "1", "--start-offset", "0")
    assert found(run, "find-hanging", "--topic", topic) == []
