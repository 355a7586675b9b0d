"""Topics are copied within transactions, exactly once, while copiers and broker are killed.

Run against Apache Kafka with BARNABAS_TEST_BROKER=kafka: the copiers are right when that passes as well.
"""

import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests import toolchain
from tests.broker import BarnabasBroker
from tests.oracle.jvm import java
from tests.oracle.kafka import KafkaBroker
from tests.under_test import make_broker

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("transactions"), pytest.mark.timeout(1800)]

INTEROP = Path(__file__).parent
PARTITIONS = 3
ABORT_EVERY = 4
DEADLINE_S = 90
RECORDS_BETWEEN = 150
INTERRUPTIONS = 5
INTERRUPTIONS_SLOW = 200

Broker = BarnabasBroker | KafkaBroker


def _java() -> list[str]:
    command = java("Copier", classes=toolchain.compiled_java(INTEROP / "java"))
    return ["-Xmx128m" if word == "-Xmx512m" else word for word in command]


COPIERS: dict[str, Callable[[], list[str]]] = {
    "librdkafka": lambda: [sys.executable, "-m", "tests.interop.transactions.copier_confluent"],
    "java": _java,
    "franz-go": lambda: [str(toolchain.built_go(INTEROP / "go")), "franz-go", "copier"],
}


class Copier:
    """The process of a copier, which comes again when it ends before it is told to."""

    def __init__(self, command: list[str], log: Path) -> None:
        self._command = command
        self._log = log
        self.copied = 0
        self.aborted = 0
        self.start()

    def start(self) -> None:
        """Start it; what it says is counted."""
        with self._log.open("ab") as file:
            self.process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, text=True,
                cwd=INTEROP.parents[1],
            )  # fmt: skip
        threading.Thread(target=self._read, args=[self.process], daemon=True).start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            word, _, number = line.partition(" ")
            if word == "copied":
                self.copied += int(number)
            elif word == "aborted":
                self.aborted += int(number)

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Return when it holds; start the copier again when it gave up."""
        deadline = time.monotonic() + DEADLINE_S
        while not holds():
            if self.process.poll() is not None:
                self.start()
            assert time.monotonic() < deadline, f"{what}\n{self.tail()}"
            time.sleep(0.02)

    def tail(self) -> str:
        """The end of what it wrote to standard error."""
        return self._log.read_text(errors="replace")[-3000:]

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """Let it end its transaction and leave."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(DEADLINE_S) == 0, self.tail()


class Topic:
    """What lies in a topic, read by one isolation level, further with each look."""

    def __init__(self, bootstrap: str, topic: str, isolation: str) -> None:
        self._reader = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "unused",
                "isolation.level": isolation,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        self._reader.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
        self.values: Counter[bytes] = Counter()
        self.records: dict[int, list[tuple[bytes, bytes]]] = {number: [] for number in range(PARTITIONS)}
        """Partition -> (key, value) in the order of the log."""

    def read(self) -> Counter[bytes]:
        """Return how often each value was seen."""
        for message in self._reader.consume(1000, timeout=0.1):
            partition, value = message.partition(), message.value()
            if message.error() is None and value is not None and partition is not None:
                self.values[value] += 1
                self.records[partition].append((message.key() or b"", value))
        return self.values

    def close(self) -> None:
        self._reader.close()


class Source:
    """Writes numbered records to the partitions in turn."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0}
        )
        self._topic = topic
        self.count = 0

    def write(self, count: int) -> None:
        """Write so many more."""
        for number in range(self.count, self.count + count):
            self._producer.produce(self._topic, value=str(number).encode(), partition=number % PARTITIONS)
        self.count += count
        assert self._producer.flush(DEADLINE_S) == 0


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    overrides = {
        "offsets.topic.num.partitions": "3",
        "transaction.state.log.num.partitions": "3",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "offsets.topic.replication.factor": "1",
        "group.initial.rebalance.delay.ms": "0",
    }
    with make_broker(tmp_path / "broker", overrides) as started:
        yield started


@pytest.mark.parametrize("client", COPIERS)
def test_a_topic_is_copied_exactly_once_whatever_is_killed(
    client: str, broker: Broker, tmp_path: Path, slow: bool
) -> None:
    seed = int(os.environ.get("BARNABAS_SEED", "7"))
    print(f"BARNABAS_SEED={seed}")
    rng = random.Random(seed)
    try:
        command = COPIERS[client]()
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(str(missing))
    topics = [NewTopic(name, PARTITIONS, 1) for name in ("source", "target")]
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for made in admin.create_topics(topics).values():
        made.result(30)
    source = Source(broker.bootstrap, "source")
    committed = Topic(broker.bootstrap, "target", "read_committed")
    arguments = [broker.bootstrap, "copiers", "source", "target", str(ABORT_EVERY)]
    copier = Copier([*command, *arguments], tmp_path / "copier.log")
    try:
        for _ in range(INTERRUPTIONS_SLOW if slow else INTERRUPTIONS):
            source.write(RECORDS_BETWEEN)
            seen = committed.values.total()
            copier.until(lambda seen=seen: committed.read().total() > seen, "some more is copied")  # type: ignore[misc]
            _interrupt(rng, copier, broker)
        source.write(RECORDS_BETWEEN)
        copier.until(lambda: committed.read().total() >= source.count, "all is copied")
        before = copier.aborted
        source.write(RECORDS_BETWEEN * 3)
        copier.until(lambda: committed.read().total() >= source.count, "the rest is copied")
        copier.until(lambda: copier.aborted > before, "a transaction is aborted")
        copier.close()
    finally:
        copier.kill()
    _check(broker.bootstrap, committed, source.count, aborted=copier.aborted)


def _interrupt(rng: random.Random, copier: Copier, broker: Broker) -> None:
    time.sleep(rng.random() * 0.2)
    chosen = rng.choice(("copier", "copier", "broker", "both", "restart"))
    if chosen in ("copier", "both"):
        copier.kill()
    if chosen in ("broker", "both"):
        broker.kill()
        broker.start()
    if chosen == "restart":
        broker.stop()
        broker.start()


def _check(bootstrap: str, committed: Topic, count: int, *, aborted: int) -> None:
    """Output equals input, in order, once; who reads all sees what was aborted, too."""
    expected = Counter(str(number).encode() for number in range(count))
    committed.read()
    committed.close()
    assert committed.values - expected == Counter()
    assert committed.values == expected
    for number, records in committed.records.items():
        assert records == [(b"", str(value).encode()) for value in range(number, count, PARTITIONS)]
    everything = Topic(bootstrap, "target", "read_uncommitted")
    deadline = time.monotonic() + DEADLINE_S
    # A copier that was killed tells nobody what it had aborted: there may be more than was counted.
    while not (everything.read() >= expected and everything.values.total() >= count + aborted):
        assert time.monotonic() < deadline, everything.values.total()
    everything.close()
    assert aborted
