"""Kafka Streams counts words with exactly_once_v2 while its broker and it are killed: no word twice."""

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests import toolchain
from tests.broker import BarnabasBroker
from tests.interop.groups.member import INTEROP
from tests.interop.test_stream_processing import PARTITIONS, Processor, lines_of, produce, words_in
from tests.interop.test_transactions import Topic
from tests.oracle.jvm import SIMPLE_LOGGER
from tests.oracle.kafka import KafkaBroker
from tests.under_test import make_broker

pytestmark = [
    pytest.mark.interop,
    pytest.mark.java,
    pytest.mark.xdist_group("transactions"),
    pytest.mark.timeout(400),
]

Broker = BarnabasBroker | KafkaBroker


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    overrides = {
        "offsets.topic.num.partitions": "3",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.num.partitions": "3",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
    }
    with make_broker(tmp_path / "broker", overrides) as started:
        yield started


class Counts:
    """Every count that was committed: each word's must go up by one, from 1, whoever is killed."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._topic = Topic(bootstrap, topic, "read_committed")

    def read(self) -> Counter[str]:
        """Return the last count of each word."""
        self._topic.read()
        last: Counter[str] = Counter()
        for values in self._topic.records.values():
            for key, value in values:
                word = key.decode()
                assert int(value) == last[word] + 1, f"{word} goes from {last[word]} to {int(value)}"
                last[word] += 1
        return last

    def close(self) -> None:
        self._topic.close()


def test_words_are_counted_exactly_once_whoever_is_killed(broker: Broker, tmp_path: Path) -> None:
    try:
        classes = toolchain.compiled_java(INTEROP / "streams", toolchain.streams_classpath)
        java = toolchain.java_command()
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(str(missing))
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    topics = [NewTopic(name, PARTITIONS, 1) for name in ("lines", "counts")]
    for made in admin.create_topics(topics).values():
        made.result(30)
    state = tmp_path / "state"
    command = [
        java, "-Xmx256m", *toolchain.JVM_FLAGS, f"{SIMPLE_LOGGER}.defaultLogLevel=warn",
        "-cp", f"{toolchain.streams_classpath()}:{classes}",
        "WordCount", broker.bootstrap, "counting", str(state), "lines", "counts", "exactly_once_v2",
    ]  # fmt: skip
    parts = [lines_of(seed) for seed in (1, 2, 3)]
    counts = Counts(broker.bootstrap, "counts")
    produce(broker.bootstrap, "lines", parts[0])
    processor = Processor(command, tmp_path / "streams.log")
    try:
        processor.wait(lambda: counts.read().total() > 0, "the first counts")
        broker.kill()
        broker.start()
        processor.wait(lambda: counts.read() == words_in(parts[0]), "the counts of before the broker's end")

        produce(broker.bootstrap, "lines", parts[1])
        before = counts.read().total()
        processor.wait(lambda: counts.read().total() > before, "some more")
        processor.kill()
        # Without its directory it has to read its changelog, of which only what was committed counts.
        shutil.rmtree(state)
        produce(broker.bootstrap, "lines", parts[2])
        processor = Processor(command, tmp_path / "streams.log")
        wanted = words_in([line for part in parts for line in part])
        processor.wait(lambda: counts.read() == wanted, "all counts")
        processor.close()
    finally:
        processor.kill()
        counts.close()
