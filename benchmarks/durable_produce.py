"""Produce with flush.messages=1: throughput and latency beside Apache Kafka on the same disk.

    python benchmarks/durable_produce.py [--rounds 5] [--seconds 4] [--connections 1,16,64] [--topics 1,8]

Both brokers run side by side with log.flush.interval.messages=1 and their directories on one file system;
one is asked at a time, in turns, a few seconds each, so that both meet the same disk and the same
neighbours. Load is load.c: closed loop, one request in flight a connection, one batch of one record of
1,024 bytes with acks=1. With several topics, each has its share of the connections. Beside them stands the
disk itself: one thread that appends 1,100 bytes to a file and syncs it, again and again.

Told are medians over the rounds and the ratio within each round. Absolute figures belong to the disk and to
whatever else uses it; the ratios are what to look at.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.asking import Asker, batch
from benchmarks.brokers.barnabas import BarnabasServer
from benchmarks.brokers.kafka import KafkaServer
from benchmarks.brokers.server import Server, running
from benchmarks.generators import load
from benchmarks.host import describe

VALUE_BYTES = 1024
SYNCED = {"log.flush.interval.messages": "1"}
DISK_BYTES = VALUE_BYTES + 76
WARM_UP_S = 6.0


def topic_name(number: int) -> str:
    return f"durable-{number}"


def frames(server: Server, topics: int) -> list[bytes]:
    """Make the topics; return the produce that load repeats of each."""
    made = []
    with Asker(server.port) as asker:
        for number in range(topics):
            topic = asker.make_topic(topic_name(number))
            asker.produce(topic, batch(VALUE_BYTES))
            made.append(asker.produce_frame(topic, batch(VALUE_BYTES), acks=1)[0])
    return made


def ask(
    server: Server, produces: list[bytes], folder: Path, connections: int, seconds: float
) -> tuple[float, float, float]:
    """Return requests a second of all topics together, and the worst topic's p50 and p99 in milliseconds."""

    def one(number: int) -> dict[str, float]:
        own = folder / f"{server.name.replace(' ', '-')}-{number}"
        own.mkdir(exist_ok=True)
        return load(
            port=server.port,
            frame=produces[number],
            folder=own,
            connections=connections // len(produces),
            seconds=seconds,
        )

    with ThreadPoolExecutor(len(produces)) as pool:
        found = list(pool.map(one, range(len(produces))))
    return (
        sum(figures["per_second"] for figures in found),
        max(figures["p50_us"] for figures in found) / 1000,
        max(figures["p99_us"] for figures in found) / 1000,
    )


def disk_syncs(folder: Path, seconds: float) -> float:
    """Return how often a second one thread can append a produce's bytes to a file and sync it."""
    fd = os.open(folder / "disk", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    try:
        data, count, began = bytes(DISK_BYTES), 0, time.perf_counter()
        while (spent := time.perf_counter() - began) < seconds:
            os.write(fd, data)
            os.fdatasync(fd)
            count += 1
    finally:
        os.close(fd)
    return count / spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--connections", default="1,16,64")
    parser.add_argument("--topics", default="1,8")
    parser.add_argument("--folder", default=None, help="where the brokers' files go; a temporary one else")
    options = parser.parse_args()
    counts = [int(text) for text in options.connections.split(",")]
    topics = [int(text) for text in options.topics.split(",")]
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-", dir=options.folder) as made:
        folder = Path(made)
        for what, told in describe(folder).items():
            print(f"{what}: {told}", flush=True)
        ours = BarnabasServer(folder / "barnabas", SYNCED)
        theirs = KafkaServer(folder / "kafka", SYNCED)
        with running(ours), running(theirs):
            compare(ours, theirs, folder, [(c, t) for t in topics for c in counts if c >= t], options)


def compare(
    ours: Server, theirs: Server, folder: Path, cases: list[tuple[int, int]], options: argparse.Namespace
) -> None:
    """Measure all cases in turns and print them."""
    servers = (ours, theirs)
    produces = {server.name: frames(server, max(t for _, t in cases)) for server in servers}
    ask(theirs, produces[theirs.name][:1], folder, 16, WARM_UP_S)
    print(
        f"\n{'connections':>11} {'topics':>6}   requests/s (p50, p99 ms)   {'':20} ours to theirs", flush=True
    )
    syncs = []
    for connections, topics in cases:
        found: dict[str, list[tuple[float, float, float]]] = {server.name: [] for server in servers}
        for number in range(options.rounds):
            syncs.append(disk_syncs(folder, 0.5))
            for server in servers if number % 2 else servers[::-1]:
                asked = produces[server.name][:topics]
                found[server.name].append(ask(server, asked, folder, connections, options.seconds))
        told = [
            f"{name} {median(rounds, 0):,.0f} ({median(rounds, 1):.2f}, {median(rounds, 2):.2f})"
            for name, rounds in found.items()
        ]
        ratios = [a[0] / b[0] for a, b in zip(found[ours.name], found[theirs.name], strict=True)]
        ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"
        print(f"{connections:11} {topics:6}   {'   '.join(told)}   {ratio}", flush=True)
    print(f"the disk, one thread: {statistics.median(syncs):,.0f} appends and syncs a second")


def median(rounds: list[tuple[float, float, float]], figure: int) -> float:
    return statistics.median(one[figure] for one in rounds)


if __name__ == "__main__":
    main()
