"""A whole broker's directory changes hands: ours, then Apache Kafka's, then ours, and nothing is lost.

Each broker appends to what the other left and reads all of it from the start; Apache Kafka's own tool judges
every file in between. Producers keep their ids and sequences over both changes.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.protocol import messages as m
from barnabas.protocol.compression import Codec
from barnabas.protocol.record_batch import iter_batches, parse_header, parse_records
from barnabas.protocol.record_batch_builder import BatchBuilder
from tests.broker import BarnabasBroker
from tests.net.wire import Wire
from tests.oracle.kafka import KafkaBroker, running
from tests.oracle.kafka_tools import dump_log

pytestmark = [pytest.mark.interop, pytest.mark.java, pytest.mark.timeout(900)]

TOPIC = "handed-over"
PARTITIONS = 3
BATCHES = 12
JUDGED = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
BYTES_OF_VALUE = 60_000
READY_TIMEOUT_S = 30

Record = tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]


class Writer:
    """An idempotent producer to every partition, which keeps what it was told was stored."""

    def __init__(self) -> None:
        self.producer_id = -1
        self.stored: list[list[Record]] = [[] for _ in range(PARTITIONS)]
        self._sequences = [0] * PARTITIONS

    def write(self, port: int) -> None:
        """Write BATCHES batches to each partition, of every codec; then the last one once more."""
        with Wire(port) as wire:
            if self.producer_id < 0:
                self.producer_id = new_producer_id(wire)
            for number in range(BATCHES):
                for partition in range(PARTITIONS):
                    self._write_one(wire, partition, tuple(Codec)[number % len(Codec)])

    def _write_one(self, wire: Wire, partition: int, codec: Codec) -> None:
        builder = BatchBuilder(
            codec=codec,
            producer_id=self.producer_id,
            producer_epoch=0,
            base_sequence=self._sequences[partition],
        )
        records: list[Record] = []
        for number in range(3):
            at = len(self.stored[partition]) + number
            headers = (("header", b"%d" % at), ("none", None))
            key = b"key-%d" % at if at % 3 else None
            # One codec's output is small, so the others make the log roll.
            value = (b"%08d" % at) * (BYTES_OF_VALUE // 8) if at % 5 else None
            timestamp = int(time.time() * 1000)
            builder.append(timestamp=timestamp, key=key, value=value, headers=headers)
            records.append((timestamp, key, value, headers))
        data = builder.build()
        expected = len(self.stored[partition])
        for _ in range(2):  # a repeated batch is told where it lies
            answer = wire.produce(TOPIC, data, partition)
            assert (answer.error_code, answer.base_offset) == (0, expected), answer
        self.stored[partition] += records
        self._sequences[partition] += 3


def new_producer_id(wire: Wire) -> int:
    deadline = time.monotonic() + READY_TIMEOUT_S
    while True:
        answer = wire.ask(m.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000), 4)
        if answer.error_code == 0:
            return int(answer.producer_id)
        # Apache Kafka has its first block of ids a moment after it answers.
        assert time.monotonic() < deadline, answer
        time.sleep(0.05)


def wait_for_leaders(port: int) -> None:
    """Return when every partition can be asked for its end: Apache Kafka answers clients before that."""
    deadline = time.monotonic() + READY_TIMEOUT_S
    with Wire(port) as wire:
        while True:
            try:
                for partition in range(PARTITIONS):
                    wire.end_offset(TOPIC, partition)
            except AssertionError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                return


def read_all(port: int, partition: int) -> Iterator[Record]:
    """Yield every record of a partition; its offsets must be 0, 1, 2..."""
    with Wire(port) as wire:
        end, offset = wire.end_offset(TOPIC, partition), 0
        while offset < end:
            data = wire.fetch(TOPIC, offset, partition=partition)
            assert data.error_code == 0, data
            records = data.records
            for position, _ in iter_batches(records, 0, len(records), allow_partial_tail=True):
                for record in parse_records(records, position, parse_header(records, position)):
                    if record.offset < offset:
                        continue
                    assert record.offset == offset
                    headers = tuple(
                        (name, None if value is None else bytes(value)) for name, value in record.headers
                    )
                    key = None if record.key is None else bytes(record.key)
                    value = None if record.value is None else bytes(record.value)
                    yield record.timestamp, key, value, headers
                    offset += 1


def check_all(port: int, writer: Writer) -> None:
    wait_for_leaders(port)
    for partition in range(PARTITIONS):
        assert list(read_all(port, partition)) == writer.stored[partition]


def topic_id(port: int) -> bytes:
    asked = [m.MetadataRequestMetadataRequestTopic(name=TOPIC)]
    with Wire(port) as wire:
        answer = wire.ask(m.MetadataRequest(topics=asked, allow_auto_topic_creation=False), 12)
    assert answer.topics[0].error_code == 0
    return bytes(answer.topics[0].topic_id)


def judge(data: Path) -> None:
    """Let kafka-dump-log read every file of every partition."""
    files = [path for path in sorted(data.glob("*-*/*")) if path.suffix in JUDGED]
    partitions = [path for path in files if not path.parent.name.startswith("__cluster_metadata")]
    assert sum(path.suffix == ".log" for path in partitions) > PARTITIONS, "nothing has rolled"
    dump_log(*partitions)
    dump_log(*(path for path in partitions if path.suffix in (".index", ".timeindex")), index_sanity=True)


def test_a_directory_goes_to_apache_kafka_and_back(tmp_path: Path) -> None:
    data = tmp_path / "data"
    ours = BarnabasBroker(tmp_path / "ours", data_dir=data, overrides={"node.id": "1"})
    writer = Writer()
    ours.start()
    with Wire(ours.port) as wire:
        wire.make_topic(TOPIC, PARTITIONS, segment_bytes="1048576")
        wire.make_topic("left-empty")
        wire.make_topic("deleted")
        asked = m.DeleteTopicsRequest(topic_names=["deleted"], timeout_ms=10_000)
        assert wire.ask(asked, 5).responses[0].error_code == 0
    writer.write(ours.port)
    identity = topic_id(ours.port)
    check_all(ours.port, writer)
    ours.stop()
    judge(data)

    with running(tmp_path / "kafka", data_dir=data) as theirs:
        check_all(theirs.port, writer)
        assert topic_id(theirs.port) == identity
        writer.write(theirs.port)
        check_all(theirs.port, writer)
        with Wire(theirs.port) as wire:
            assert new_producer_id(wire) > writer.producer_id
        said = theirs.log_path.read_text(errors="replace")
        # Its own metadata log it always recovers.
        assert f"recovered for {TOPIC}" not in said, "a clean stop needs no recovery"
    judge(data)

    ours.start()
    try:
        check_all(ours.port, writer)
        assert topic_id(ours.port) == identity
        writer.write(ours.port)
        check_all(ours.port, writer)
        ours.stop()
    finally:
        ours.kill()
    judge(data)


@pytest.mark.slow
def test_apache_kafka_recovers_what_a_killed_broker_left(tmp_path: Path) -> None:
    data = tmp_path / "data"
    ours = BarnabasBroker(tmp_path / "ours", data_dir=data, overrides={"node.id": "1"})
    writer = Writer()
    ours.start()
    with Wire(ours.port) as wire:
        wire.make_topic(TOPIC, PARTITIONS, segment_bytes="1048576")
    writer.write(ours.port)
    ours.kill()
    theirs = KafkaBroker(tmp_path / "kafka", data_dir=data)
    theirs.start()
    try:
        check_all(theirs.port, writer)
        writer.write(theirs.port)
        theirs.kill()
        ours.start()
        check_all(ours.port, writer)
        writer.write(ours.port)
        ours.stop()
        judge(data)
    finally:
        theirs.kill()
        ours.kill()
