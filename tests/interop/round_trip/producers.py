"""Producers that go on from one broker to the next, and know what every partition must hold."""

import random
import time
from dataclasses import dataclass, field

from confluent_kafka import Message, Producer

from barnabas.protocol import messages as m
from barnabas.protocol.compression import Codec
from barnabas.protocol.record_batch_builder import BatchBuilder
from tests.interop.round_trip.contents import Contents, Headers, Place, digest, digest_of
from tests.interop.test_takeover import new_producer_id
from tests.interop.test_transaction_takeover import Broker, ask
from tests.net.wire import Wire

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
LONG_MS = 600_000
FLUSH_S = 300
_RETRIABLE = (3, 5, 6, 14, 15, 16, 51)
_DEADLINE_S = 60


def now_ms() -> int:
    return int(time.time() * 1000)


@dataclass(kw_only=True)
class Expected:
    """What clients must read.

    Attributes:
        uncommitted, committed: by isolation level.
    """

    uncommitted: Contents = field(default_factory=dict)
    committed: Contents = field(default_factory=dict)

    def stored(self, place: Place, offset: int, record: bytes, *, committed: bool = True) -> None:
        """A record was acknowledged at an offset."""
        assert offset not in self.uncommitted.setdefault(place, {}), f"{place} has two records at {offset}"
        self.uncommitted[place][offset] = record
        self.committed.setdefault(place, {})
        if committed:
            self.committed[place][offset] = record

    def trimmed(self, place: Place, start: int) -> None:
        """Records below an offset were deleted."""
        for contents in (self.uncommitted, self.committed):
            contents[place] = {offset: one for offset, one in contents[place].items() if offset >= start}


class Sequenced:
    """One producer id for all brokers: its sequences go on where the last broker has them.

    Every batch is sent twice; and the first thing a broker hears is the last batch of the one before.
    """

    def __init__(self, topic: str, partitions: int, expected: Expected) -> None:
        self.topic = topic
        self._partitions = partitions
        self._expected = expected
        self._producer_id = -1
        self._sequences = [0] * partitions
        self._last: list[tuple[bytes, int] | None] = [None] * partitions

    def write(self, broker: Broker, batches: int) -> None:
        """Repeat each partition's last batch, then write some more, of every codec in turn."""
        with Wire(broker.port) as wire:
            if self._producer_id < 0:
                self._producer_id = new_producer_id(wire)
            for partition, last in enumerate(self._last):
                if last is not None:
                    self._send(wire, partition, *last)
            for number in range(batches):
                for partition in range(self._partitions):
                    self._write_one(wire, partition, tuple(Codec)[number % len(Codec)])

    def _write_one(self, wire: Wire, partition: int, codec: Codec) -> None:
        place = self.topic, partition
        end = max(self._expected.uncommitted.get(place, {}), default=-1) + 1
        builder = BatchBuilder(
            codec=codec,
            producer_id=self._producer_id,
            producer_epoch=0,
            base_sequence=self._sequences[partition],
        )
        for offset in range(end, end + 3):
            headers: Headers = [("header", b"%d" % offset), ("none", None)]
            key = b"key-%d" % offset if offset % 3 else None
            value = (b"%08d" % offset) * 500 if offset % 5 else None
            timestamp = now_ms()
            builder.append(timestamp=timestamp, key=key, value=value, headers=headers)
            self._expected.stored(place, offset, digest(key, value, headers, timestamp))
        batch = builder.build()
        for _ in range(2):
            self._send(wire, partition, batch, end)
        self._sequences[partition] += 3
        self._last[partition] = batch, end

    def _send(self, wire: Wire, partition: int, batch: bytes, offset: int) -> None:
        deadline = time.monotonic() + _DEADLINE_S
        while (answer := wire.produce(self.topic, batch, partition)).error_code in _RETRIABLE:
            assert time.monotonic() < deadline, answer
            time.sleep(0.1)
        assert (answer.error_code, answer.base_offset) == (0, offset), answer


class Transaction:
    """A transactional producer with a partition to itself, which goes on wherever its broker is."""

    def __init__(self, name: str, topic: str, partition: int, expected: Expected) -> None:
        self.name = name
        self._place = topic, partition
        self._expected = expected
        self._producer_id = self._epoch = -1
        self._sequence = 0
        self._open: dict[int, bytes] = {}

    def begin(self, broker: Broker) -> None:
        """Get an id and the next epoch; what was open before is aborted."""
        request = m.InitProducerIdRequest(transactional_id=self.name, transaction_timeout_ms=LONG_MS)
        found = ask(broker, 5, request)
        assert found.error_code == 0, found
        self._producer_id, self._epoch, self._sequence = found.producer_id, found.producer_epoch, 0
        self._open = {}

    def write(self, broker: Broker, count: int) -> None:
        """Write records within the transaction, each a batch of its own."""
        topic, partition = self._place
        for number in range(count):
            timestamp, value = now_ms(), f"{self.name} {number}".encode()
            builder = BatchBuilder(
                producer_id=self._producer_id,
                producer_epoch=self._epoch,
                base_sequence=self._sequence,
                is_transactional=True,
            )
            builder.append(timestamp=timestamp, key=None, value=value)
            data = m.ProduceRequestPartitionProduceData(index=partition, records=builder.build())
            asked = m.ProduceRequestTopicProduceData(name=topic, partition_data=[data])
            request = m.ProduceRequest(
                transactional_id=self.name, acks=-1, timeout_ms=30_000, topic_data=[asked]
            )
            offset = self._produce(broker, request)
            self._sequence += 1
            record = digest(None, value, None, timestamp)
            self._expected.stored(self._place, offset, record, committed=False)
            self._open[offset] = record

    @staticmethod
    def _produce(broker: Broker, request: m.ProduceRequest) -> int:
        deadline = time.monotonic() + _DEADLINE_S
        while True:
            answer = ask(broker, 12, request).responses[0].partition_responses[0]
            if answer.error_code == 0:
                return int(answer.base_offset)
            assert answer.error_code in _RETRIABLE, answer
            assert time.monotonic() < deadline, answer
            time.sleep(0.1)

    def end(self, broker: Broker, *, commit: bool) -> None:
        request = m.EndTxnRequest(
            transactional_id=self.name,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            committed=commit,
        )
        found = ask(broker, 5, request)
        assert found.error_code == 0, found
        self._producer_id, self._epoch, self._sequence = found.producer_id, found.producer_epoch, 0
        if commit:
            self._expected.committed[self._place].update(self._open)
        self._open = {}


def write_bulk(
    broker: Broker, topic: str, partitions: int, total_bytes: int, expected: Expected, *, seed: int
) -> None:
    """Write records of 4 KiB by librdkafka, one codec for each partition."""
    source = random.Random(seed)
    pool = [source.randbytes(2048) for _ in range(61)]
    failed: list[object] = []

    def stored(error: object, message: Message) -> None:
        if error is not None:
            failed.append(error)
            return
        place = message.topic(), message.partition()
        # A delivery report has no headers.
        expected.stored(place, message.offset(), digest_of(message, headers))

    headers: Headers = [("seed", b"%d" % seed)]
    count = total_bytes // 4096 // partitions
    for partition in range(partitions):
        producer = Producer(
            {
                "bootstrap.servers": broker.bootstrap,
                "enable.idempotence": True,
                "compression.type": CODECS[partition % len(CODECS)],
                "linger.ms": 20,
                "batch.size": 200_000,
                "queue.buffering.max.kbytes": 65536,
                "log_level": 0,
            }
        )
        for number in range(count):
            value = b"%d/%d/%d " % (seed, partition, number) + pool[number % 61] + b"." * 2048
            while True:
                try:
                    producer.produce(topic, value, b"%d" % number, partition, stored, headers=headers)
                except BufferError:
                    producer.poll(0.1)
                else:
                    break
            producer.poll(0)
        assert producer.flush(FLUSH_S) == 0
    assert not failed, failed[:3]


def write_keyed(broker: Broker, topic: str, count: int, expected: Expected, *, seed: int) -> None:
    """Write records of few keys, some of them tombstones, to partition 0 of a compacted topic."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True, "log_level": 0})

    def stored(error: object, message: Message) -> None:
        assert error is None, error
        expected.stored((topic, 0), message.offset(), digest_of(message))

    for number in range(count):
        value = None if number % 17 == 16 else b"%d-%d" % (seed, number) + b"v" * 1000
        producer.produce(topic, value, b"key-%d" % (number % 40), 0, stored)
        producer.poll(0)
    assert producer.flush(FLUSH_S) == 0
