"""A stream of numbered records that goes on while its broker dies and comes back.

Each partition has its own idempotent librdkafka producer in its own thread, so each keeps one producer
id and its sequence numbers over all crashes: a broker that forgets what it acknowledged, stores a
retried batch twice, or loses a producer's state, is found out at the end, whichever kill it was.
"""

import struct
import threading
import time
import zlib

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

DELIVERY_TIMEOUT_S = 120
BURST_RECORDS = 40
PAUSE_S = 0.005

_NUMBER = struct.Struct(">iq")


def make_value(partition: int, number: int) -> bytes:
    """The value of a partition's record `number`: recognisable, and of 12 to about 1500 bytes."""
    filler = zlib.crc32(_NUMBER.pack(partition, number))
    return _NUMBER.pack(partition, number) + filler.to_bytes(4, "big") * (filler % 372)


class Stream:
    """Produces to one partition from a thread of its own until finish().

    Args:
        pause_s: between bursts of BURST_RECORDS.

    Attributes:
        acknowledged: offset by record number.
    """

    def __init__(
        self, bootstrap: str, topic: str, partition: int, codec: str, *, pause_s: float = PAUSE_S
    ) -> None:
        self.partition = partition
        self.sent = 0
        self.acknowledged: dict[int, int] = {}
        self.failures: list[str] = []
        self._topic = topic
        self._pause_s = pause_s
        self._stopping = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "enable.gapless.guarantee": True,
                "compression.type": codec,
                "linger.ms": 2,
                "batch.num.messages": 60,
                "message.timeout.ms": DELIVERY_TIMEOUT_S * 1000,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 200,
                "retry.backoff.ms": 20,
                "retry.backoff.max.ms": 200,
                "queue.buffering.max.messages": 2000,
                "log_level": 0,
                "error_cb": self._note_error,
            }
        )
        self._thread = threading.Thread(target=self._run, name=f"stream-{partition}", daemon=True)
        self._thread.start()

    def _note_error(self, error: KafkaError) -> None:
        if error.fatal():
            self.failures.append(f"fatal: {error}")

    def _run(self) -> None:
        while not self._stopping.is_set() and not self.failures:
            for _ in range(BURST_RECORDS):
                try:
                    self._send(self.sent)
                except BufferError:
                    break
                self.sent += 1
            self._producer.poll(self._pause_s)

    def _send(self, number: int) -> None:
        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                self.failures.append(f"record {number}: {error}")
                return
            offset = message.offset()
            assert offset is not None
            self.acknowledged[number] = offset

        value = make_value(self.partition, number)
        self._producer.produce(self._topic, value=value, partition=self.partition, on_delivery=delivered)

    def wait_for_acknowledged(self, count: int) -> None:
        """Return once `count` more records than now are acknowledged."""
        wanted = len(self.acknowledged) + count
        deadline = time.monotonic() + DELIVERY_TIMEOUT_S
        while len(self.acknowledged) < wanted:
            assert not self.failures, f"partition {self.partition}: {self.failures[0]}"
            assert time.monotonic() < deadline, (
                f"partition {self.partition}: nothing is acknowledged any more"
            )
            time.sleep(0.002)

    def finish(self) -> None:
        """Stop sending and wait until all that was sent is acknowledged."""
        self._stopping.set()
        self._thread.join()
        left = self._producer.flush(DELIVERY_TIMEOUT_S)
        assert not self.failures, f"partition {self.partition}: {self.failures[0]}"
        assert left == 0, f"partition {self.partition}: {left} records were never acknowledged"


def read_partition(bootstrap: str, topic: str, partition: int) -> list[tuple[int, bytes]]:
    """Return (offset, value) of everything in a partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "auto.offset.reset": "error",
            "enable.auto.commit": False,
        }
    )
    try:
        _, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)
        consumer.assign([TopicPartition(topic, partition, 0)])
        seen: list[tuple[int, bytes]] = []
        deadline = time.monotonic() + DELIVERY_TIMEOUT_S
        while not seen or seen[-1][0] < end - 1:
            assert time.monotonic() < deadline, f"partition {partition}: read {len(seen)}, end offset {end}"
            for message in consumer.consume(2000, timeout=0.2):
                error = message.error()
                if error is not None:
                    raise KafkaException(error)
                offset, value = message.offset(), message.value()
                assert offset is not None
                assert isinstance(value, bytes)
                seen.append((offset, value))
        return seen
    finally:
        consumer.close()


def check(stream: Stream, seen: list[tuple[int, bytes]]) -> None:
    """Check that every record is there once, in order, where its acknowledgement said.

    Raises:
        AssertionError: naming the first record that is not.
    """
    where = f"partition {stream.partition}"
    assert len(stream.acknowledged) == stream.sent, f"{where}: sent {stream.sent}"
    offsets = [offset for offset, _ in seen]
    assert offsets == list(range(len(seen))), f"{where}: offsets are not contiguous"
    for number, (offset, value) in enumerate(seen):
        found = _NUMBER.unpack_from(value)
        assert found == (stream.partition, number), (
            f"{where}: offset {offset} holds record {found}, not {number}"
        )
        assert value == make_value(stream.partition, number), f"{where}: record {number} is damaged"
        assert stream.acknowledged[number] == offset, (
            f"{where}: record {number} was acknowledged at {stream.acknowledged[number]}, lies at {offset}"
        )
    assert len(seen) == stream.sent, f"{where}: {stream.sent} acknowledged, {len(seen)} there"
