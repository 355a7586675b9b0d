"""`./dev demo stream`: something real through the broker, read by two clients, across a restart.

Streams the source text of Python's own standard library (tens of megabytes), one record a line with the
file's name as key: librdkafka writes it, aiokafka reads it back, the broker is stopped and started, and
Barnabas' own client reads it again. Every reader computes a digest of each partition over keys and values
in order; all must equal the one computed while writing. Lines make many small records, which is what is
hard for a broker and its clients; whole files would flatter the megabytes a second.
"""

import argparse
import asyncio
import hashlib
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.demo_broker import Broker, DemoError

TOPIC = "python-source"
FLUSH_TIMEOUT_S = 120.0
IDLE_TIMEOUT_S = 60.0


class Digests:
    """One SHA-256 a partition over all keys and values in order, with their lengths in between."""

    def __init__(self, partitions: int) -> None:
        self._hashes = [hashlib.sha256() for _ in range(partitions)]
        self.records = 0
        self.bytes = 0

    def add(self, partition: int, key: bytes, value: bytes) -> None:
        self._hashes[partition].update(b"%d %d " % (len(key), len(value)) + key + value)
        self.records += 1
        self.bytes += len(key) + len(value)

    def hexdigests(self) -> list[str]:
        return [made.hexdigest() for made in self._hashes]

    def sum(self) -> str:
        """The digest of all partitions' digests."""
        return hashlib.sha256("".join(self.hexdigests()).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One line of the table."""

    what: str
    seconds: float
    digests: Digests | None = None


def source_lines(bytes_max: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield (file name, line) of the standard library, up to about `bytes_max`."""
    root = Path(sysconfig.get_path("stdlib"))
    total = 0
    for path in sorted(root.rglob("*.py")):
        if "site-packages" in path.parts or "dist-packages" in path.parts:
            continue
        name = str(path.relative_to(root)).encode()
        for line in path.read_bytes().split(b"\n"):
            total += len(name) + len(line)
            yield name, line
        if total >= bytes_max:
            return


def produce(address: str, partitions: int, bytes_max: int) -> Digests:
    """Write with librdkafka; the partition of a file is the CRC-32 of its name."""
    from confluent_kafka import Producer

    producer = Producer(
        {
            "bootstrap.servers": address,
            "acks": "all",
            "enable.idempotence": True,
            "linger.ms": 20,
            "compression.type": "lz4",
            "queue.buffering.max.messages": 200_000,
        }
    )
    failures: list[str] = []

    def delivered(error: object, message: object) -> None:
        del message
        if error is not None:
            failures.append(str(error))

    digests = Digests(partitions)
    for key, value in source_lines(bytes_max):
        partition = zlib.crc32(key) % partitions
        while True:
            try:
                producer.produce(TOPIC, value, key, partition, on_delivery=delivered)
                break
            except BufferError:
                producer.poll(0.1)
        digests.add(partition, key, value)
        if digests.records % 1000 == 0:
            producer.poll(0)
    left = producer.flush(FLUSH_TIMEOUT_S)
    if failures or left:
        raise DemoError(f"librdkafka could not deliver {len(failures) + left} records: {failures[:1]}")
    return digests


def read_with_aiokafka(address: str, partitions: int, records: int) -> Digests:
    """Read everything with aiokafka."""

    async def read() -> Digests:
        from aiokafka import AIOKafkaConsumer, TopicPartition

        consumer = AIOKafkaConsumer(bootstrap_servers=address, max_partition_fetch_bytes=4 << 20)
        await consumer.start()
        digests = Digests(partitions)
        try:
            assigned = [TopicPartition(TOPIC, partition) for partition in range(partitions)]
            consumer.assign(assigned)
            await consumer.seek_to_beginning(*assigned)
            idle_since = time.monotonic()
            while digests.records < records:
                for at, found in (await consumer.getmany(timeout_ms=1000, max_records=20_000)).items():
                    idle_since = time.monotonic()
                    for record in found:
                        digests.add(at.partition, record.key, record.value)
                if time.monotonic() - idle_since > IDLE_TIMEOUT_S:
                    raise DemoError(f"aiokafka got {digests.records} of {records} records and no more")
        finally:
            await consumer.stop()
        return digests

    return asyncio.run(read())


def read_with_barnabas(address: str, partitions: int, records: int) -> Digests:
    """Read everything with the client of the `barnabas` command."""
    from barnabas.cli.client.address import parse_bootstrap
    from barnabas.cli.client.cluster import Cluster
    from barnabas.cli.client.consumer import Consumer

    digests = Digests(partitions)
    with Cluster(parse_bootstrap(address)) as cluster:
        consumer = Consumer(cluster, TOPIC, dict.fromkeys(range(partitions), 0))
        idle_since = time.monotonic()
        while digests.records < records:
            before = digests.records
            for record in consumer.poll():
                digests.add(record.partition, record.key or b"", record.value or b"")
            if digests.records > before:
                idle_since = time.monotonic()
            elif time.monotonic() - idle_since > IDLE_TIMEOUT_S:
                raise DemoError(f"barnabas got {digests.records} of {records} records and no more")
    return digests


def create_topic(address: str, partitions: int) -> None:
    from barnabas.cli.client import admin
    from barnabas.cli.client.address import parse_bootstrap
    from barnabas.cli.client.cluster import Cluster

    with Cluster(parse_bootstrap(address)) as cluster:
        admin.create_topic(cluster, TOPIC, partitions=partitions)


def run(broker: Broker, partitions: int, bytes_max: int) -> list[Step]:
    """Do all steps; each is announced, since some take seconds."""
    steps: list[Step] = []

    def step(what: str, act: Callable[[], Digests | float]) -> Digests | None:
        print(f"  {what} ...", flush=True)
        began = time.monotonic()
        result = act()
        digests = result if isinstance(result, Digests) else None
        seconds = time.monotonic() - began if digests else float(result)  # type: ignore[arg-type]
        steps.append(Step(what=what, seconds=seconds, digests=digests))
        return digests

    step("start the broker", broker.start)
    create_topic(broker.address, partitions)
    sent = step("write with librdkafka", lambda: produce(broker.address, partitions, bytes_max))
    assert sent is not None
    step("read with aiokafka", lambda: read_with_aiokafka(broker.address, partitions, sent.records))
    step("stop the broker", broker.stop)
    step("start it again", broker.start)
    step("read with barnabas", lambda: read_with_barnabas(broker.address, partitions, sent.records))
    step("stop the broker", broker.stop)
    for taken in steps:
        if taken.digests is not None and taken.digests.hexdigests() != sent.hexdigests():
            raise DemoError(f"{taken.what}: the records are not the ones that were written")
    return steps


def show(steps: list[Step]) -> None:
    from barnabas.cli.output import Column, print_table

    columns = [
        Column(heading="step"),
        Column(heading="seconds", number=True),
        Column(heading="records", number=True),
        Column(heading="MB", number=True),
        Column(heading="MB/s", number=True),
        Column(heading="records/s", number=True),
        Column(heading="digest"),
    ]
    rows = []
    for taken in steps:
        row: list[str | int | None] = [taken.what, f"{taken.seconds:.2f}"]
        if taken.digests is None:
            row += [""] * 5
        else:
            megabytes = taken.digests.bytes / 1e6
            row += [
                f"{taken.digests.records:,}",
                f"{megabytes:.1f}",
                f"{megabytes / taken.seconds:.1f}",
                f"{taken.digests.records / taken.seconds:,.0f}",
                taken.digests.sum()[:16],
            ]
        rows.append(row)
    print_table(columns, rows)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare what this demo can be told."""
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument(
        "--megabytes", type=int, default=1000, help="stop reading source after so much; default: all of it"
    )


def main(options: argparse.Namespace) -> int:
    """Run it and return the exit code."""
    with tempfile.TemporaryDirectory(prefix="barnabas-demo-") as directory:
        broker = Broker(os.path.join(directory, "data"))
        try:
            steps = run(broker, options.partitions, options.megabytes * 1_000_000)
        except (DemoError, subprocess.TimeoutExpired) as error:
            print(f"demo: {error}\nThe broker's log ends:\n{broker.log_tail()}", file=sys.stderr)
            return 1
        finally:
            broker.kill()
    show(steps)
    print("\nEvery reader saw exactly what was written, before and after the restart.")
    return 0
