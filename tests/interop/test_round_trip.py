"""A data directory goes ours -> Apache Kafka's -> ours -> Apache Kafka's, stopped or killed each time.

Each broker first answers for everything that was there: every record of every partition under both isolation
levels, topic ids, configs, groups, log starts; then it adds to all of it. Apache Kafka's kafka-dump-log,
our own and the doctor judge the files of each step.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import ResourceType

from tests import toolchain
from tests.broker import BarnabasBroker
from tests.interop.round_trip import cluster_state, contents
from tests.interop.round_trip.cluster_state import ClusterState
from tests.interop.round_trip.producers import (
    CODECS,
    Expected,
    Sequenced,
    Transaction,
    write_bulk,
    write_keyed,
)
from tests.interop.test_group_takeover import commit, consume
from tests.interop.test_transaction_takeover import Broker, find
from tests.oracle.kafka import KafkaBroker
from tests.oracle.kafka_tools import dump_log

pytestmark = [pytest.mark.interop, pytest.mark.java, pytest.mark.timeout(3600)]

SMALL_SEGMENTS = {"segment.bytes": "1048576"}
TOPICS: dict[str, tuple[int, dict[str, str]]] = {
    "bulk": (len(CODECS), SMALL_SEGMENTS),
    "sequenced": (3, SMALL_SEGMENTS),
    "transactional": (3, {}),
    "trimmed": (1, SMALL_SEGMENTS),
    "compacted": (
        1,
        {
            "cleanup.policy": "compact",
            "segment.bytes": "1048576",
            "min.cleanable.dirty.ratio": "0.01",
            "delete.retention.ms": "100",
        },
    ),
    "first": (3, {}),
    "second": (3, {}),
}
BROKER_CONFIGS = {
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.num.partitions": "5",
    "log.cleaner.backoff.ms": "500",
}
SMALL_BYTES = 5_000_000
FULL_BYTES = 256 << 20
INDEXES = (".index", ".timeindex")
DUMPED_AT_ONCE = 400
OTHERS = (".log", ".txnindex", ".snapshot")


class Trip:
    """One directory, whoever has it."""

    def __init__(self, directory: Path, *, step_bytes: int, log_dirs: int = 1) -> None:
        self.roots = [directory / f"data-{number}" for number in range(log_dirs)]
        self.expected = Expected()
        self.sequenced = Sequenced("sequenced", 3, self.expected)
        self.transactions = [
            Transaction(name, "transactional", number, self.expected)
            for number, name in enumerate(("finished", "dropped", "goes-on"))
        ]
        self.groups: list[str] = []
        self.state: ClusterState | None = None
        self.step = 0
        self._step_bytes = step_bytes
        configs = {**BROKER_CONFIGS, "log.dirs": ",".join(map(str, self.roots))}
        self.ours = BarnabasBroker(
            directory / "ours", data_dir=self.roots[0], overrides={"node.id": "1", **configs}
        )
        self.theirs = KafkaBroker(directory / "theirs", data_dir=self.roots[0], overrides=configs)

    def make(self, broker: Broker) -> None:
        cluster_state.make_topics(broker, TOPICS)

    def check(self, broker: Broker) -> None:
        """Have a broker answer for all that the one before left."""
        partitions = {name: count for name, (count, _) in TOPICS.items()}
        find(broker, "any")
        for isolation, expected in (
            (contents.UNCOMMITTED, self.expected.uncommitted),
            (contents.COMMITTED, self.expected.committed),
        ):
            found = contents.read_all(broker.bootstrap, partitions, isolation)
            for place, records in found.items():
                wanted = expected.get(place, {})
                if place[0] == "compacted":
                    assert records.items() <= wanted.items(), (
                        f"{place}: {contents.difference(records, wanted)}"
                    )
                    assert max(records, default=-1) == max(wanted, default=-1)
                else:
                    assert records == wanted, f"{place}, {isolation}: {contents.difference(records, wanted)}"
        if self.state is not None:
            state = cluster_state.state_of(broker, self.groups)
            for before, now in zip(self.state, state, strict=True):
                assert now == before

    def add(self, broker: Broker) -> None:
        """Add to everything there is."""
        self.step += 1
        self.sequenced.write(broker, 20)
        write_bulk(broker, "bulk", len(CODECS), self._step_bytes, self.expected, seed=self.step)
        write_keyed(broker, "compacted", 2000, self.expected, seed=self.step)
        write_keyed(broker, "trimmed", 300, self.expected, seed=self.step)
        start = max(self.expected.uncommitted["trimmed", 0]) - 100 - self.step
        cluster_state.trim(broker, "trimmed", start)
        self.expected.trimmed(("trimmed", 0), start)
        self._transact(broker)
        self._administer(broker)
        self._group(broker)
        self.state = cluster_state.state_of(broker, self.groups)

    def _transact(self, broker: Broker) -> None:
        finished, dropped, goes_on = self.transactions
        for transaction, commits in ((finished, True), (dropped, False)):
            transaction.begin(broker)
            transaction.write(broker, 5)
            transaction.end(broker, commit=commits)
        # One is always open when the brokers change, and every other one ends it.
        if self.step % 2:
            goes_on.begin(broker)
            goes_on.write(broker, 3)
        else:
            goes_on.write(broker, 3)
            goes_on.end(broker, commit=True)
            goes_on.begin(broker)
            goes_on.write(broker, 2)

    def _administer(self, broker: Broker) -> None:
        for name, wanted in (("kept", True), ("gone", False)):
            made = f"{name}-{self.step}"
            cluster_state.make_topics(broker, {made: (2, {"retention.ms": str(10**9 + self.step)})})
            if not wanted:
                cluster_state.delete_topic(broker, made)
        topic, brokers = ResourceType.TOPIC, ResourceType.BROKER
        cluster_state.set_config(broker, topic, "bulk", "max.message.bytes", str(2_000_000 + self.step))
        cluster_state.set_config(broker, brokers, "", "log.retention.ms", str(10**10 + self.step))
        cluster_state.set_config(broker, brokers, "1", "max.connections.per.ip", str(1000 + self.step))

    def _group(self, broker: Broker) -> None:
        names = [f"{kind}-{self.step}" for kind in ("simple", "classic", "consumer")]
        if self.step == 1:
            write_keyed(broker, "first", 40, self.expected, seed=1)
        commit(broker, names[0], {"first": [1, 2, 3], "second": [4, 5, self.step]})
        consume(broker, names[1], 30)
        consume(broker, names[2], 30, group_protocol="consumer")
        self.groups += names

    def judge(self, *, clean: bool) -> None:
        """Let both dump-logs read every file; indexes that are still open say nothing when one is killed."""
        # Indexes of logs that are being deleted are as they were when that began.
        files = [path for root in self.roots for path in sorted(root.glob("*-[0-9]/*"))]
        # kafka-dump-log has it that a batch which compaction has emptied has no timestamp.
        files = [path for path in files if (path.parent.name, path.suffix) != ("compacted-0", ".timeindex")]
        metadata = [path for path in files if path.parent.name.startswith("__cluster_metadata")]
        rest = [path for path in files if path not in metadata]
        dump_portions([path for path in rest if path.suffix in OTHERS + (INDEXES if clean else ())])
        if clean:
            dump_portions([path for path in rest if path.suffix in INDEXES], index_sanity=True)
        dump_log(
            *(path for path in metadata if path.suffix in (".log", ".checkpoint")),
            extra=("--cluster-metadata-decoder",),
        )
        for command in (["dump-log", "--check-only", "--deep-iteration"], ["doctor", "--quiet"]):
            done = subprocess.run(
                [sys.executable, "-m", "barnabas", *command, *map(str, self.roots)],
                capture_output=True,
                text=True,
                check=False,
                timeout=1800,
            )
            assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def dump_portions(files: list[Path], *, index_sanity: bool = False) -> None:
    """Let kafka-dump-log read many files: one argument of a program has its limit."""
    for first in range(0, len(files), DUMPED_AT_ONCE):
        dump_log(*files[first : first + DUMPED_AT_ONCE], index_sanity=index_sanity)


@pytest.fixture
def made(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Trip]:
    try:
        toolchain.kafka_classpath()
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(str(missing))
    trip = Trip(tmp_path, **request.param)
    yield trip
    trip.ours.kill()
    trip.theirs.kill()


def travel(trip: Trip, endings: str) -> None:
    """Go from broker to broker, ours first; `endings` says of each: stopped (s) or killed (k)."""
    for number, ending in enumerate(endings):
        broker: Broker = trip.theirs if number % 2 else trip.ours
        broker.start()
        if number == 0:
            trip.make(broker)
        trip.check(broker)
        trip.add(broker)
        trip.check(broker)
        if ending == "k":
            broker.kill()
        else:
            broker.stop()
        trip.judge(clean=ending == "s")


@pytest.mark.slow
@pytest.mark.parametrize("made", [{"step_bytes": SMALL_BYTES}], indirect=True)
def test_a_directory_goes_there_and_back_twice(made: Trip) -> None:
    travel(made, "skks")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "endings"),
    [
        ({"step_bytes": FULL_BYTES}, "skks"),
        ({"step_bytes": SMALL_BYTES}, "kssk"),
        ({"step_bytes": SMALL_BYTES, "log_dirs": 3}, "skksk"),
    ],
    ids=["1-gib", "the-other-way-round", "three-directories"],
    indirect=["made"],
)
def test_larger_and_other_trips(made: Trip, endings: str) -> None:
    travel(made, endings)
