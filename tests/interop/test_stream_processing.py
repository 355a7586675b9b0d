"""Stream processors count words over a broker: Kafka Streams, and one in Python on aiokafka; both restart."""

import random
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from tests import toolchain
from tests.interop.groups.member import INTEROP
from tests.oracle.jvm import SIMPLE_LOGGER

pytestmark = [pytest.mark.interop, pytest.mark.timeout(240)]

PARTITIONS = 3
WORDS = ("broker", "log", "offset", "epoch", "leader", "batch", "record", "segment", "index", "replica")
LINES = 300
DEADLINE_S = 90

MakeTopic = Callable[..., str]


class Processor:
    """A stream processor's process: what it says, line by line."""

    def __init__(self, command: list[str], log: Path) -> None:
        self._log = log
        self.said: list[str] = []
        with log.open("ab") as file:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, text=True,
                cwd=INTEROP.parents[1],
            )  # fmt: skip
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line.strip())

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            alive = self.process.poll() is None
            if not alive or time.monotonic() > deadline:
                tail = self._log.read_text(errors="replace")[-3000:]
                raise AssertionError(f"{what}: alive {alive}, said {self.said[-5:]}\n{tail}")
            time.sleep(0.05)

    def done(self) -> int:
        """How many words it says to have counted and committed."""
        return sum(int(line.split()[1]) for line in self.said if line.startswith("done"))

    def close(self) -> None:
        """End it cleanly, by the end of its standard input."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(DEADLINE_S) == 0, self._log.read_text(errors="replace")[-3000:]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def lines_of(seed: int) -> list[tuple[int, str]]:
    """Lines with their partitions; each partition has words of its own."""
    rng = random.Random(seed)
    found = []
    for number in range(LINES):
        partition = number % PARTITIONS
        own = [f"{word}{partition}" for word in WORDS]
        found.append((partition, " ".join(rng.choices(own, k=rng.randrange(1, 9)))))
    return found


def words_in(lines: Iterable[tuple[int, str]]) -> Counter[str]:
    return Counter(word for _, line in lines for word in line.split())


def produce(bootstrap: str, topic: str, lines: list[tuple[int, str]]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for partition, line in lines:
        producer.produce(topic, value=line.encode(), partition=partition)
    assert producer.flush(DEADLINE_S) == 0


class Counts:
    """What the topic of counts says: the last count of each word."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._reader = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "log_level": 0})
        self._reader.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
        self.last: Counter[str] = Counter()

    def read(self) -> Counter[str]:
        for message in self._reader.consume(1000, timeout=0.1):
            key, value = message.key(), message.value()
            if message.error() is None and key is not None and value is not None:
                self.last[key.decode()] = int(value)
        return self.last

    def close(self) -> None:
        self._reader.close()


@pytest.mark.java
@pytest.mark.slow
def test_kafka_streams_counts_words_and_restores_its_counts(
    bootstrap: str, make_topic: MakeTopic, tmp_path: Path
) -> None:
    try:
        classes = toolchain.compiled_java(INTEROP / "streams", toolchain.streams_classpath)
        java = toolchain.java_command()
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(str(missing))
    source, target = make_topic("lines", PARTITIONS), make_topic("word-counts", PARTITIONS)
    application = f"application-{source}"
    state = tmp_path / "state"
    command = [
        java, "-Xmx256m", *toolchain.JVM_FLAGS, f"{SIMPLE_LOGGER}.defaultLogLevel=warn",
        "-cp", f"{toolchain.streams_classpath()}:{classes}",
        "WordCount", bootstrap, application, str(state), source, target,
    ]  # fmt: skip
    first, second = lines_of(1), lines_of(2)
    counts = Counts(bootstrap, target)
    produce(bootstrap, source, first)
    processor = Processor(command, tmp_path / "streams.log")
    try:
        processor.wait(lambda: counts.read() == words_in(first), "the first counts")
        processor.close()
        # Without its directory it has to read its changelog.
        shutil.rmtree(state)
        produce(bootstrap, source, second)
        processor = Processor(command, tmp_path / "streams.log")
        processor.wait(lambda: counts.read() == words_in([*first, *second]), "all counts")
        restored = [int(line.split()[1]) for line in processor.said if line.startswith("restored")]
        assert sum(restored) >= len(words_in(first)), processor.said
        processor.close()
    finally:
        processor.kill()
        counts.close()
    admin = AdminClient({"bootstrap.servers": bootstrap})
    made = [name for name in admin.list_topics(timeout=30).topics if name.startswith(application)]
    assert sorted(made) == [f"{application}-counts-changelog", f"{application}-words-repartition"]
    resource = ConfigResource(ResourceType.TOPIC, f"{application}-counts-changelog")
    configs = admin.describe_configs([resource])[resource].result(30)
    assert configs["cleanup.policy"].value == "compact"


@pytest.mark.slow
def test_a_python_stream_processor_counts_words_at_least_once(
    bootstrap: str, make_topic: MakeTopic, tmp_path: Path
) -> None:
    source, target = make_topic("lines", PARTITIONS), make_topic("counts", PARTITIONS)
    words = ("tests.interop.groups.word_count", bootstrap, f"counting-{source}", source, target)
    command = [sys.executable, "-m", *words]
    first, second, third = lines_of(3), lines_of(4), lines_of(5)
    counts = Counts(bootstrap, target)
    produce(bootstrap, source, first)
    processor = Processor(command, tmp_path / "processor.log")
    try:
        processor.wait(lambda: counts.read() == words_in(first), "the first counts")
        processor.wait(lambda: processor.done() == words_in(first).total(), "commits")
        processor.kill()
        # Nothing was under way, so another goes on from exactly there, table and offsets.
        produce(bootstrap, source, second)
        processor = Processor(command, tmp_path / "processor.log")
        processor.wait(lambda: counts.read() == words_in([*first, *second]), "all counts")

        # Killed somewhere in between: what was not committed is counted again, nothing is left out.
        before = processor.done()
        produce(bootstrap, source, third)
        processor.wait(lambda: processor.done() > before, "some more")
        processor.kill()
        processor = Processor(command, tmp_path / "processor.log")
        wanted = words_in([*first, *second, *third])
        # Every count of one counter is there, and at least as high.
        processor.wait(lambda: counts.read() >= wanted, "the rest")
        assert set(counts.last) == set(wanted)
    finally:
        processor.kill()
        counts.close()
