"""A directory with transactions changes hands, to Apache Kafka and to us: each ends as it would have at home.

Some are finished, some open, and one is decided without anybody knowing yet: what a broker writes behind its
decision is cut off again, as if it had died just there.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from barnabas.protocol import messages as m
from barnabas.protocol.record_batch import iter_batches
from barnabas.protocol.record_batch_builder import BatchBuilder
from tests import toolchain
from tests.broker import BarnabasBroker
from tests.interop.group_situations.line import Line
from tests.oracle.kafka import KafkaBroker

pytestmark = [pytest.mark.interop, pytest.mark.java, pytest.mark.slow, pytest.mark.timeout(300)]

TOPIC = "handed-over"
DEADLINE_S = 60
RETRIABLE = (14, 15, 16, 51)
"""Still loading, not there yet, or ending what was open."""

FORGOTTEN_AFTER_S = 20
WITH_MARKER = 2
"""Where a partition ends that holds a record and the marker of its transaction."""

LONG_MS = 600_000
SHORT_MS = 8_000

Broker = BarnabasBroker | KafkaBroker


class Producing:
    """A producer with a transactional id that goes on wherever its broker is.

    Every one has a partition to itself, so that it can be read what became of it.
    """

    def __init__(self, name: str, partition: int, timeout_ms: int = LONG_MS) -> None:
        self.name = name
        self.partition = partition
        self.timeout_ms = timeout_ms
        self.producer_id = -1
        self.epoch = -1
        self.sequence = 0

    def begin(self, broker: Broker) -> None:
        """Get an id and the next epoch; what was open before is aborted."""
        found = ask(
            broker,
            5,
            m.InitProducerIdRequest(transactional_id=self.name, transaction_timeout_ms=self.timeout_ms),
        )
        assert found.error_code == 0, found
        self.producer_id, self.epoch, self.sequence = found.producer_id, found.producer_epoch, 0

    def write(self, broker: Broker, value: str) -> None:
        """Write one record, by which its partition becomes a part of the transaction (KIP-890)."""
        builder = BatchBuilder(
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=self.sequence,
            is_transactional=True,
        )
        builder.append(timestamp=int(time.time() * 1000), key=None, value=f"{self.name} {value}".encode())
        partition = m.ProduceRequestPartitionProduceData(index=self.partition, records=builder.build())
        topic = m.ProduceRequestTopicProduceData(name=TOPIC, partition_data=[partition])
        request = m.ProduceRequest(transactional_id=self.name, acks=-1, timeout_ms=30_000, topic_data=[topic])
        deadline = time.monotonic() + DEADLINE_S
        while (code := self._produce(broker, request)) in RETRIABLE:
            assert time.monotonic() < deadline, f"{self.name} is answered {code}"
            time.sleep(0.1)
        assert code == 0, f"{self.name} is answered {code}"
        self.sequence += 1

    @staticmethod
    def _produce(broker: Broker, request: m.ProduceRequest) -> int:
        answer = ask(broker, 12, request)
        return int(answer.responses[0].partition_responses[0].error_code)

    def end(self, broker: Broker, *, commit: bool) -> None:
        found = ask(
            broker,
            5,
            m.EndTxnRequest(
                transactional_id=self.name,
                producer_id=self.producer_id,
                producer_epoch=self.epoch,
                committed=commit,
            ),
        )
        assert found.error_code == 0, found
        self.producer_id, self.epoch, self.sequence = found.producer_id, found.producer_epoch, 0


def ask(broker: Broker, version: int, request: m.Message) -> m.Message:
    """Ask until the answer is no reason to ask again."""
    deadline = time.monotonic() + DEADLINE_S
    line = Line(int(broker.bootstrap.rpartition(":")[2]))
    try:
        while True:
            line.send(version, request)
            heard = line.receive()
            assert heard is not None, f"hung up upon {request}"
            if getattr(heard[1], "error_code", 0) not in RETRIABLE:
                return heard[1]
            assert time.monotonic() < deadline, heard[1]
            time.sleep(0.1)
    finally:
        line.close()


def find(broker: Broker, transactional_id: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    request = m.FindCoordinatorRequest(key_type=1, coordinator_keys=[transactional_id])
    while ask(broker, 4, request).coordinators[0].error_code:
        assert time.monotonic() < deadline, "no coordinator"
        time.sleep(0.1)


def read_committed(broker: Broker, partition: int, until: str) -> list[str]:
    """All committed values of a partition, up to a certain one."""
    reader = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    reader.assign([TopicPartition(TOPIC, partition, 0)])
    values: list[str] = []
    deadline = time.monotonic() + DEADLINE_S
    try:
        while until not in values:
            assert time.monotonic() < deadline, f"{until!r} does not come; {values}"
            message = reader.poll(0.2)
            if message is not None and message.error() is None:
                values.append(message.value().decode())
    finally:
        reader.close()
    return values


def end_offset(broker: Broker, partition: int, level: IsolationLevel) -> int:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    asked = {TopicPartition(TOPIC, partition): OffsetSpec.latest()}
    (found,) = admin.list_offsets(asked, isolation_level=level).values()
    offset: int = found.result(30).offset
    return offset


def wait_until_nothing_is_open(broker: Broker, partition: int) -> None:
    """Wait until a transaction that nobody ends has been aborted, and keeps readers back no more."""
    deadline = time.monotonic() + DEADLINE_S
    while end_offset(broker, partition, IsolationLevel.READ_COMMITTED) < WITH_MARKER:
        assert time.monotonic() < deadline, "readers are kept back"
        time.sleep(0.2)


def forgets_marker(broker: Broker, partition: int) -> bool:
    """Whether Apache Kafka takes a partition for deleted that has no leader yet, as it may when it starts.

    The transaction is complete for it then, without a marker; the next one of the same producer ends both.
    """
    if isinstance(broker, BarnabasBroker):
        return False
    deadline = time.monotonic() + FORGOTTEN_AFTER_S
    while end_offset(broker, partition, IsolationLevel.READ_UNCOMMITTED) < WITH_MARKER:
        if time.monotonic() > deadline:
            return "these partitions are likely deleted already" in broker.log_path.read_text()
        time.sleep(0.2)
    return False


def cut_last_batch(directory: Path) -> None:
    """Cut the last batch off a log that nobody has open, and what was noted about the log's end."""
    segment = max(directory.glob("*.log"))
    data = segment.read_bytes()
    *_, (last, _) = iter_batches(data)
    segment.write_bytes(data[:last])
    for checkpoint in directory.parent.glob("*-offset-checkpoint"):
        checkpoint.unlink()


def kill_behind_a_decision(broker: Broker, decided: Producing) -> None:
    """Leave nothing of a commit but that it was decided: neither the marker nor that all is complete."""
    decided.end(broker, commit=True)
    time.sleep(1)  # Apache Kafka answers first
    broker.kill()
    segments = broker.data_dir.glob("__transaction_state-*/*.log")
    (coordinator,) = {one.parent for one in segments if decided.name.encode() in one.read_bytes()}
    cut_last_batch(coordinator)
    cut_last_batch(broker.data_dir / f"{TOPIC}-{decided.partition}")


def brokers(tmp_path: Path, *, to_kafka: bool) -> tuple[Broker, Broker]:
    data = tmp_path / "data"
    overrides = {"transaction.state.log.num.partitions": "50", "offsets.topic.num.partitions": "50"}
    ours = BarnabasBroker(tmp_path / "ours", data_dir=data, overrides={"node.id": "1", **overrides})
    theirs = KafkaBroker(tmp_path / "kafka", data_dir=data, overrides=overrides)
    return (ours, theirs) if to_kafka else (theirs, ours)


@pytest.fixture(params=[True, False], ids=["to_kafka", "from_kafka"])
def both(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Broker, Broker]]:
    try:
        toolchain.kafka_classpath()
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(str(missing))
    pair = brokers(tmp_path, to_kafka=request.param)
    yield pair
    for broker in pair:
        broker.kill()


def test_transactions_end_at_the_next_broker(both: tuple[Broker, Broker]) -> None:
    first, second = both
    names = ("finished", "dropped", "goes-on", "is-fenced", "is-late", "is-decided")
    finished, dropped, goes_on, is_fenced, is_late, is_decided = producers = [
        Producing(name, number, SHORT_MS if name == "is-late" else LONG_MS)
        for number, name in enumerate(names)
    ]
    first.start()
    admin = AdminClient({"bootstrap.servers": first.bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(TOPIC, len(names), 1)])[TOPIC].result(30)
    find(first, "any")
    for producer in producers:
        producer.begin(first)
        producer.write(first, "1")
    finished.end(first, commit=True)
    dropped.end(first, commit=False)
    kill_behind_a_decision(first, is_decided)

    second.start()
    find(second, "any")
    if not forgets_marker(second, is_decided.partition):
        assert read_committed(second, is_decided.partition, "is-decided 1") == ["is-decided 1"]
    goes_on.write(second, "2")
    goes_on.end(second, commit=True)
    is_fenced.begin(second)
    for producer in (finished, dropped, goes_on, is_fenced, is_decided):
        producer.write(second, "3")
        producer.end(second, commit=True)
    expected = {
        finished: ["finished 1", "finished 3"],
        dropped: ["dropped 3"],
        goes_on: ["goes-on 1", "goes-on 2", "goes-on 3"],
        is_fenced: ["is-fenced 3"],
        is_decided: ["is-decided 1", "is-decided 3"],
    }
    for producer, values in expected.items():
        assert read_committed(second, producer.partition, values[-1]) == values
    wait_until_nothing_is_open(second, is_late.partition)
    is_late.begin(second)
    is_late.write(second, "3")
    is_late.end(second, commit=True)
    assert read_committed(second, is_late.partition, "is-late 3") == ["is-late 3"]
