"""fetch.verify.crc in a whole broker: what is damaged on disk is refused over TLS and plaintext, and no more.

The files are changed under the running broker. It reads them through the page cache, as it would read what a
disk has changed.
"""

import os
import random
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition

from barnabas.net.local_client import ask, socket_path
from barnabas.protocol.record_batch import iter_batches, parse_records
from barnabas.protocol.record_batch_builder import BatchBuilder
from tests.certificates import Certificates
from tests.net.wire import Wire
from tests.server.test_broker import Running

DAMAGED, SOUND = "damaged", "sound"
BATCHES = 60
RECORDS = 3
CORRUPT_MESSAGE = 2
FLIPS, FLIPS_SLOW = 60, 1500
SEED = 4711

Batches = list[tuple[int, int]]  # position and length of each in the log file


class Served:
    """A broker with two topics of the same content, one of them to be damaged."""

    def __init__(self, running: Running, data: Path, certificates: Certificates) -> None:
        self.port = running.port
        self.tls_port = next(a.port for a in running.broker.addresses if a.name == "SSL")
        self.certificates = certificates
        self.data = data
        self.log = data / f"{DAMAGED}-0" / f"{0:020d}.log"
        source = random.Random(SEED)
        with Wire(self.port) as wire:
            for topic in (DAMAGED, SOUND):
                wire.make_topic(topic)
            for number in range(BATCHES):
                builder = BatchBuilder()
                for record in range(RECORDS):
                    # Some larger than what is checked on the loop.
                    value = source.randbytes(source.choice((10, 500, 80_000)))
                    builder.append(timestamp=number, key=b"%d" % (number * RECORDS + record), value=value)
                batch = bytes(builder.build())
                for topic in (DAMAGED, SOUND):
                    assert wire.produce(topic, batch).error_code == 0
        self.content = self.log.read_bytes()
        self.batches: Batches = [(at, header.size_bytes) for at, header in iter_batches(self.content)]
        self.records = dict(records_of(self.content))

    def write(self, position: int, content: bytes) -> None:
        with self.log.open("r+b", buffering=0) as file:
            os.pwrite(file.fileno(), content, position)

    def statistics(self) -> dict[str, Any]:
        found: dict[str, Any] = ask(socket_path(str(self.data)), "statistics")["fetch_verification"]
        return found


def records_of(content: bytes) -> Iterator[tuple[int, tuple[bytes | None, bytes | None]]]:
    for at, header in iter_batches(content, allow_partial_tail=True):
        for record in parse_records(content, at, header):
            yield record.offset, (record.key, record.value)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    directory = tmp_path_factory.mktemp("verify")
    certificates = Certificates(directory / "certificates")
    tls = [f"{name}={value}" for name, value in certificates.broker_overrides().items()]
    listeners = "listeners=PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0"
    with Running(directory / "data", listeners, "fetch.verify.crc=true", *tls) as running:
        yield Served(running, directory / "data", certificates)


def read_by_tls(served: Served, topic: str, *, until_s: float = 20) -> tuple[dict[int, Any], bool]:
    """Return what librdkafka gets over TLS, and whether it was told of damage."""
    consumer = Consumer(
        {
            "bootstrap.servers": f"localhost:{served.tls_port}",
            "security.protocol": "SSL",
            "ssl.ca.location": str(served.certificates.truststore),
            "group.id": "verify",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "check.crcs": False,
            "auto.offset.reset": "error",
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    got: dict[int, Any] = {}
    deadline = time.monotonic() + until_s
    try:
        while time.monotonic() < deadline:
            message = consumer.poll(0.2)
            if message is None:
                continue
            error = message.error()
            if error is None:
                got[message.offset()] = (message.key(), message.value())
            elif error.code() == KafkaError._PARTITION_EOF:
                return got, False
            elif error.code() == CORRUPT_MESSAGE:
                return got, True
        raise AssertionError(f"neither the end nor an error after {len(got)} records")
    finally:
        consumer.close()


def test_damage_is_refused_with_the_batches_before_it_served(served: Served) -> None:
    number = 20
    position, length = served.batches[number]
    byte = position + length - 5
    before = served.statistics()
    served.write(byte, bytes([served.content[byte] ^ 1]))
    try:
        with Wire(served.port) as wire:
            for _ in range(2):
                got, offset = {}, 0
                while True:
                    found = wire.fetch(DAMAGED, offset)
                    if found.error_code:
                        break
                    assert offset < len(served.records), "damage was served"
                    got.update(records_of(bytes(found.records)))
                    offset = max(got) + 1
                assert (found.error_code, offset) == (CORRUPT_MESSAGE, number * RECORDS)
                assert got == {at: served.records[at] for at in range(offset)}
            behind = wire.fetch(DAMAGED, offset + RECORDS)
            assert behind.error_code == 0
            assert min(dict(records_of(bytes(behind.records)))) == offset + RECORDS
            assert wire.fetch(SOUND, offset).error_code == 0
        assert read_by_tls(served, DAMAGED) == (got, True)
        assert read_by_tls(served, SOUND) == (served.records, False)
        after = served.statistics()
        assert after["damaged"] == before["damaged"] + 1, "damage is told of once"
        assert after["refused"] >= before["refused"] + 2
        assert after["on_helper_bytes"] > 0
    finally:
        served.write(byte, served.content[byte : byte + 1])
    assert read_by_tls(served, DAMAGED) == (served.records, False)


def test_what_lies_outside_of_the_checksum_is_refused_too(served: Served) -> None:
    position, _ = served.batches[30]
    for at, content in (
        (0, struct.pack(">q", 30 * RECORDS + 1)),
        (0, struct.pack(">q", 30 * RECORDS - 2)),
        (8, struct.pack(">i", 70)),
        (12, struct.pack(">i", 77)),
        (16, b"\1"),
    ):
        served.write(position + at, content)
        try:
            got, told = read_by_tls(served, DAMAGED)
        finally:
            served.write(position, served.content[position : position + 61])
        assert told, (at, content)
        assert got == {offset: served.records[offset] for offset in range(30 * RECORDS)}, (at, content)


def test_bits_that_flip_while_it_is_read_are_never_served(served: Served, slow: bool) -> None:
    source = random.Random(SEED)
    is_over = threading.Event()

    def flip() -> None:
        for _ in range(FLIPS_SLOW if slow else FLIPS):
            byte = source.randrange(len(served.content))
            served.write(byte, bytes([served.content[byte] ^ (1 << source.randrange(8))]))
            time.sleep(0.02)
            served.write(byte, served.content[byte : byte + 1])
            time.sleep(0.01)
        is_over.set()

    flipping = threading.Thread(target=flip)
    flipping.start()
    try:
        while not is_over.is_set():
            got, _ = read_by_tls(served, DAMAGED)
            assert all(served.records[offset] == record for offset, record in got.items())
    finally:
        flipping.join()
    assert read_by_tls(served, DAMAGED) == (served.records, False)
