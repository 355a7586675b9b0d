"""Retention and deletion in a broker's process, while clients read what goes.

Segments are a few kilobytes here, so that what takes days takes seconds.
"""

import socket
import struct
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    OffsetSpec,
)

from barnabas.protocol import frames, messages
from barnabas.protocol.record_batch import iter_batches
from tests.broker import BarnabasBroker
from tests.server.asking import Asking
from tests.server.running import broker_in
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("retention")

DEADLINE_S = 60
SEGMENT_BYTES = 20_000
TOPIC = "orders"
CONFIG = {
    "internal.segment.bytes": str(SEGMENT_BYTES),
    "index.interval.bytes": "1000",
    "file.delete.delay.ms": "0",
    "retention.ms": "-1",
}
QUICK = {"log.retention.check.interval.ms": "50", "log.initial.task.delay.ms": "0"}


def admin_of(broker: BarnabasBroker) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap})


def create(broker: BarnabasBroker, **config: str) -> None:
    named = {**CONFIG, **{name.replace("_", "."): value for name, value in config.items()}}
    admin = admin_of(broker)
    admin.create_topics([NewTopic(TOPIC, 1, 1, config=named)])[TOPIC].result()


def alter(broker: BarnabasBroker, values: Mapping[str, str]) -> None:
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in values.items()
    ]
    resource = ConfigResource(ConfigResource.Type.TOPIC, TOPIC, incremental_configs=entries)
    admin = admin_of(broker)
    admin.incremental_alter_configs([resource])[resource].result()


class Source:
    """Produces numbered records of a kilobyte, a few to a batch."""

    def __init__(self, broker: BarnabasBroker) -> None:
        self._producer = Producer({"bootstrap.servers": broker.bootstrap, "batch.num.messages": 4})
        self.next = 0

    def produce(self, size_bytes: int) -> None:
        for _ in range(size_bytes // 1000):
            self._producer.produce(TOPIC, value=(b"%d" % self.next).ljust(900, b"."))
            self.next += 1
        assert self._producer.flush(DEADLINE_S) == 0


def start_offset(broker: BarnabasBroker) -> int:
    partition = TopicPartition(TOPIC, 0)
    admin = admin_of(broker)
    return int(admin.list_offsets({partition: OffsetSpec.earliest()})[partition].result().offset)


def delete_records(broker: BarnabasBroker, offset: int) -> int:
    """Delete what lies before an offset; return the new start."""
    partition = TopicPartition(TOPIC, 0, offset)
    admin = admin_of(broker)
    return int(admin.delete_records([partition])[partition].result().low_watermark)


def segments(broker: BarnabasBroker) -> list[str]:
    return sorted(path.name for path in (broker.data_dir / f"{TOPIC}-0").glob("*.log*"))


def test_a_consumer_that_is_fifty_segments_behind_reads_all_while_retention_runs(tmp_path: Path) -> None:
    with broker_in(tmp_path, QUICK) as broker:
        create(broker, retention_bytes=str(52 * SEGMENT_BYTES))
        source = Source(broker)
        source.produce(60 * SEGMENT_BYTES)
        wait_until(lambda: start_offset(broker) > 0, "retention")
        first = start_offset(broker)
        consumer = Consumer({
            "bootstrap.servers": broker.bootstrap, "group.id": "late", "enable.auto.commit": False,
            "auto.offset.reset": "error", "fetch.message.max.bytes": 4000, "queued.min.messages": 1,
            "queued.max.messages.kbytes": 32, "fetch.queue.backoff.ms": 1,
        })  # fmt: skip
        consumer.assign([TopicPartition(TOPIC, 0, first)])
        seen = first
        while seen < source.next:
            message = consumer.poll(DEADLINE_S)
            assert message is not None, f"nothing behind {seen}"
            assert message.error() is None, message.error()
            assert (message.offset(), int(message.value().rstrip(b"."))) == (seen, seen)
            seen += 1
            if seen - first <= 1000 and (seen - first) % 20 == 0:
                source.produce(SEGMENT_BYTES)  # as fast as the consumer reads
        consumer.close()
        assert seen - first > 1800
        wait_until(lambda: start_offset(broker) > first + 900, "retention")
        wait_until(lambda: len(segments(broker)) <= 58, "retention")  # of a bit less than SEGMENT_BYTES each


def fetch_unread(port: int, offset: int, max_bytes: int) -> socket.socket:
    """Ask for much, and read nothing of the answer yet."""
    peer = socket.socket()
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    peer.settimeout(DEADLINE_S)
    peer.connect(("127.0.0.1", port))
    partition = messages.FetchRequestFetchPartition(
        partition=0, fetch_offset=offset, partition_max_bytes=max_bytes
    )
    topic = messages.FetchRequestFetchTopic(topic=TOPIC, partitions=[partition])
    request = messages.FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=max_bytes, topics=[topic])
    frame = frames.encode_request_header(1, 12, 1, "test") + request.encode(12)
    peer.sendall(struct.pack(">i", len(frame)) + frame)
    return peer


def read_answer(peer: socket.socket) -> bytes:
    """Return the records of the answer."""
    with peer, peer.makefile("rb") as stream:
        (length,) = struct.unpack(">i", stream.read(4))
        answer = memoryview(stream.read(length))
    assert len(answer) == length
    _, at = frames.decode_response_header(answer, 1, 12)
    (part,) = messages.FetchResponse.decode(answer, 12, at).responses[0].partitions
    assert part.error_code == 0
    return bytes(part.records)


@pytest.mark.parametrize("manner", ["retention", "records", "topic"])
def test_f22_an_answer_in_flight_is_whole_although_its_segments_are_unlinked(
    tmp_path: Path, manner: str
) -> None:
    with broker_in(tmp_path, QUICK) as broker:
        create(broker, internal_segment_bytes="4000000")
        source = Source(broker)
        source.produce(3_900_000)
        alter(broker, {"internal.segment.bytes": str(SEGMENT_BYTES)})
        source.produce(2 * SEGMENT_BYTES)
        path = broker.data_dir / f"{TOPIC}-0" / f"{0:020d}.log"
        expected = path.read_bytes()
        assert len(expected) > 3_500_000, "more than sockets hold"
        peer = fetch_unread(broker.port, 0, 8_000_000)
        time.sleep(0.2)
        match manner:
            case "retention":
                alter(broker, {"retention.bytes": str(SEGMENT_BYTES)})
            case "records":
                delete_records(broker, -1)
            case "topic":
                admin = admin_of(broker)
                admin.delete_topics([TOPIC])[TOPIC].result()
        wait_until(lambda: not list(broker.data_dir.glob(f"{TOPIC}-0*/{0:020d}.log*")), manner)
        records = read_answer(peer)
        assert records == expected[: len(records)]
        assert len(list(iter_batches(records))) > 500


def test_deleted_records_stay_deleted_when_the_broker_is_killed_at_once(tmp_path: Path) -> None:
    with broker_in(tmp_path, QUICK) as broker:
        create(broker)
        Source(broker).produce(5 * SEGMENT_BYTES)
        for offset in (17, 30):
            assert delete_records(broker, offset) == offset
            broker.kill()
            broker.start()
            assert start_offset(broker) == offset
            asking = Asking(broker.port)
            wanted = messages.FetchRequestFetchPartition(
                partition=0, fetch_offset=offset - 1, partition_max_bytes=1000
            )
            topic = messages.FetchRequestFetchTopic(topic=TOPIC, partitions=[wanted])
            answer = asking.ask(messages.FetchRequest(max_bytes=1000, topics=[topic]), 12)
            asking.close()
            assert answer.responses[0].partitions[0].error_code == 1, "OFFSET_OUT_OF_RANGE"


def test_many_segments_that_expire_together_all_go(tmp_path: Path) -> None:
    with broker_in(tmp_path, QUICK) as broker:
        create(broker)
        source = Source(broker)
        source.produce(120 * SEGMENT_BYTES)
        broker.stop()
        broker.start()
        alter(broker, {"retention.ms": "1"})
        wait_until(lambda: start_offset(broker) == source.next, "retention")
        wait_until(lambda: len(segments(broker)) == 1, "unlinking")
