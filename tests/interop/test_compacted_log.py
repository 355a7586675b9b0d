"""A log that this broker has compacted, as Apache Kafka reads it: its consumer, and its look at segments."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.broker import BarnabasBroker
from tests.oracle.kafka_tools import KafkaTools, dump_log
from tests.toolchain import ToolchainMissingError

pytestmark = [pytest.mark.interop, pytest.mark.java]

DEADLINE_S = 60
RECORDS = 6_000
KEYS = 50
CONFIG = {
    "cleanup.policy": "compact",
    "internal.segment.bytes": "20000",
    "index.interval.bytes": "500",
    "min.cleanable.dirty.ratio": "0.1",
}


@pytest.fixture(scope="module")
def compacted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasBroker]:
    """A broker whose topic `table` was compacted."""
    overrides = {"log.cleaner.backoff.ms": "100"}
    with BarnabasBroker(tmp_path_factory.mktemp("compacted"), overrides=overrides) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic("table", 1, 1, config=CONFIG)])["table"].result()
        producer = Producer(
            {"bootstrap.servers": broker.bootstrap, "compression.type": "lz4", "batch.num.messages": 20}
        )
        for number in range(RECORDS):
            producer.produce("table", key=b"k%d" % (number % KEYS), value=b"%06d" % number)
            if number % 100 == 0:
                producer.flush()
        producer.flush()
        checkpoint = broker.data_dir / "cleaner-offset-checkpoint"
        deadline = time.monotonic() + DEADLINE_S
        while not checkpoint.exists() or int(checkpoint.read_text().split()[-1]) < RECORDS // 2:
            assert time.monotonic() < deadline, "it was not compacted"
            time.sleep(0.1)
        yield broker


def test_the_console_consumer_reads_across_the_gaps_to_the_end(
    compacted: BarnabasBroker, tools: KafkaTools
) -> None:
    said = tools.run(
        ".consumer.ConsoleConsumer", "--bootstrap-server", compacted.bootstrap, "--topic", "table",
        "--from-beginning", "--timeout-ms", "5000", "--formatter-property", "print.key=true",
        "--formatter-property", "key.separator=:",
    )  # fmt: skip
    lines = said.out.split()
    newest = dict(line.split(":") for line in lines)
    assert newest == {f"k{key}": f"{RECORDS - KEYS + key:06d}" for key in range(KEYS)}
    assert len(lines) < RECORDS / 2


def test_apache_kafka_finds_nothing_wrong_with_segments_and_indexes(compacted: BarnabasBroker) -> None:
    directory: Path = compacted.data_dir / "table-0"
    names = sorted(name for name in os.listdir(directory) if name.endswith((".log", ".index", ".timeindex")))
    sealed = sorted(name for name in names if name.endswith(".log"))[:-1]
    stems = {name.removesuffix(".log") for name in sealed}
    files = [directory / name for name in names if name.partition(".")[0] in stems]
    assert len(files) >= 6
    try:
        dump_log(*files, index_sanity=True)
    except ToolchainMissingError as missing:
        pytest.skip(str(missing))
