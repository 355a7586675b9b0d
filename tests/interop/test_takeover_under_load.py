"""Brokers that are killed in the middle of everything, and the other one goes on: at the same port, at once.

Producers, a transactional one among them, do not know that their broker changes; topics come and go, configs
change, logs are compacted, trimmed and moved between two directories while it happens. In the end every
acknowledged record is there once, in order.
"""

import random
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import NewTopic, ResourceType

from barnabas.protocol import messages as m
from tests import toolchain
from tests.broker import BarnabasBroker
from tests.crash.stream import Stream, check, read_partition
from tests.interop.round_trip import cluster_state
from tests.interop.test_transaction_takeover import Broker
from tests.net.wire import Wire
from tests.oracle.kafka import KafkaBroker
from tests.oracle.kafka_tools import dump_log

pytestmark = [pytest.mark.interop, pytest.mark.java, pytest.mark.slow, pytest.mark.timeout(1200)]

TOPIC = "stream"
CODECS = ("none", "zstd", "lz4")
CONFIGS = {
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.num.partitions": "5",
    "log.cleaner.backoff.ms": "200",
    "log.flush.offset.checkpoint.interval.ms": "1000",
}
COMPACTED = {
    "cleanup.policy": "compact",
    "segment.bytes": "1048576",
    "min.cleanable.dirty.ratio": "0.01",
}
JUDGED = (".log", ".txnindex", ".snapshot")


class Churn:
    """Does to a cluster what administrators and other clients do, and does not mind that it goes away."""

    def __init__(self, broker: Broker, directories: list[Path], rng: random.Random) -> None:
        self._broker = broker
        self._directories = directories
        self._rng = rng
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(work,), daemon=True)
            for work in (self._administer, self._move, self._overwrite, self._transact)
        ]
        self.done: dict[str, int] = {}
        for thread in self._threads:
            thread.start()

    def _run(self, work: Callable[[int], None]) -> None:
        number = 0
        while not self._stopping.is_set():
            number += 1
            try:
                work(number)
                self.done[work.__name__] = self.done.get(work.__name__, 0) + 1
            except (KafkaException, OSError, AssertionError):
                time.sleep(0.1)

    def _administer(self, number: int) -> None:
        name = f"churn-{self._rng.randrange(20)}"
        admin = cluster_state.admin_of(self._broker)
        admin.create_topics([NewTopic(name, 3, 1)])[name].result(2)
        cluster_state.set_config(self._broker, ResourceType.TOPIC, name, "retention.ms", str(10**9 + number))
        cluster_state.set_config(
            self._broker, ResourceType.BROKER, "", "log.retention.ms", str(10**9 + number)
        )
        if number % 3:
            admin.delete_topics([name])[name].result(2)

    def _move(self, number: int) -> None:
        """Move the partitions of the stream to one of the directories."""
        topic = m.AlterReplicaLogDirsRequestAlterReplicaLogDirTopic(name=TOPIC, partitions=[number % 3])
        path = str(self._directories[self._rng.randrange(2)])
        asked = m.AlterReplicaLogDirsRequestAlterReplicaLogDir(path=path, topics=[topic])
        with Wire(self._broker.port, timeout_s=2) as wire:
            wire.ask(m.AlterReplicaLogDirsRequest(dirs=[asked]), 2)
        time.sleep(0.5)

    def _overwrite(self, number: int) -> None:
        """Give the cleaner something to do, and delete records."""
        producer = Producer({"bootstrap.servers": self._broker.bootstrap, "log_level": 0})
        for key in range(2000):
            producer.produce("compacted", b"v" * 1000, b"%d" % (key % 50))
        producer.produce("trimmed", b"x" * 10_000)
        producer.flush(2)
        place = TopicPartition("trimmed", 0, -1)
        admin = cluster_state.admin_of(self._broker)
        admin.delete_records([place])[place].result(2)

    def _transact(self, number: int) -> None:
        producer = Producer(
            {"bootstrap.servers": self._broker.bootstrap, "transactional.id": "churn", "log_level": 0}
        )
        producer.init_transactions(5)
        for step in range(20):
            producer.begin_transaction()
            producer.produce("transactional", b"%d/%d" % (number, step))
            if step % 3:
                producer.commit_transaction(5)
            else:
                producer.abort_transaction(5)

    def stop(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join(30)


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[tuple[BarnabasBroker, KafkaBroker, list[Path]]]:
    try:
        toolchain.kafka_classpath()
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(str(missing))
    roots = [tmp_path / "one", tmp_path / "two"]
    configs = {**CONFIGS, "log.dirs": ",".join(map(str, roots))}
    theirs = KafkaBroker(tmp_path / "theirs", data_dir=roots[0], overrides=configs)
    ours = BarnabasBroker(tmp_path / "ours", data_dir=roots[0], overrides={"node.id": "1", **configs})
    ours.port = theirs.port
    yield ours, theirs, roots
    ours.kill()
    theirs.kill()


def test_killed_brokers_take_over_from_each_other_under_load(
    brokers: tuple[BarnabasBroker, KafkaBroker, list[Path]],
) -> None:
    seed = secrets.randbelow(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    ours, theirs, roots = brokers
    theirs.start()
    cluster_state.make_topics(
        theirs,
        {
            TOPIC: (len(CODECS), {"segment.bytes": "1048576"}),
            "compacted": (1, COMPACTED),
            "trimmed": (1, {}),
            "transactional": (1, {}),
        },
    )
    streams = [Stream(theirs.bootstrap, TOPIC, number, codec) for number, codec in enumerate(CODECS)]
    order: list[Broker] = [theirs, ours, ours, theirs, ours]
    for number, broker in enumerate(order):
        if number:
            broker.start()
        churn = Churn(broker, roots, rng)
        for stream in streams:
            stream.wait_for_acknowledged(200)
        time.sleep(rng.uniform(1, 5))
        broker.kill()
        churn.stop()
        print(type(broker).__name__, churn.done)
    ours.start()
    for stream in streams:
        stream.finish()
    for stream in streams:
        check(stream, read_partition(ours.bootstrap, TOPIC, stream.partition))
    ours.stop()
    dump_log(*(path for root in roots for path in sorted(root.glob("*-[0-9]/*")) if path.suffix in JUDGED))
