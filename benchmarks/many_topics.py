"""What 1,000 topics with 10 partitions each cost: to make, to tell of, to start with, to delete.

A broker runs in a process of its own on a fresh directory; the client is our codecs on one connection, its
decoding not counted. Run: `python -m benchmarks.many_topics [--topics N] [--partitions N]`.
"""

from __future__ import annotations

import argparse
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from barnabas.protocol import messages as m
from barnabas.protocol.frames import encode_request_header
from tests.broker import BarnabasBroker

TOPICS_PER_REQUEST = 100
REPEATS = 20
METADATA_VERSIONS = (1, 4, 7, 9, 12, 13)


class Client:
    """One connection; `ask` returns the seconds until the whole answer was there."""

    def __init__(self, port: int) -> None:
        self._sock = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.answer = memoryview(b"")

    def ask(self, request: m.Message, version: int) -> float:
        assert request.api_key is not None
        frame = encode_request_header(request.api_key, version, 1, "bench") + request.encode(version)
        began = time.perf_counter()
        self._sock.sendall(len(frame).to_bytes(4, "big") + frame)
        self.answer = self._receive(int.from_bytes(self._receive(4), "big"))
        return time.perf_counter() - began

    def _receive(self, length: int) -> memoryview:
        buffer = memoryview(bytearray(length))
        got = 0
        while got < length:
            count = self._sock.recv_into(buffer[got:])
            assert count, "the broker closed the connection"
            got += count
        return buffer

    def close(self) -> None:
        self._sock.close()


def names(count: int) -> list[str]:
    """Return the topics' names."""
    return [f"topic-{number:05d}" for number in range(count)]


def chunks(items: list[str]) -> Iterator[list[str]]:
    """Yield what goes into one request."""
    for start in range(0, len(items), TOPICS_PER_REQUEST):
        yield items[start : start + TOPICS_PER_REQUEST]


def create(client: Client, topics: list[str], partitions: int) -> float:
    """Create all topics; return the seconds."""
    topic = m.CreateTopicsRequestCreatableTopic
    return sum(
        client.ask(
            m.CreateTopicsRequest(
                topics=[topic(name=name, num_partitions=partitions, replication_factor=1) for name in some],
                timeout_ms=60_000,
            ),
            7,
        )
        for some in chunks(topics)
    )


def delete(client: Client, topics: list[str]) -> float:
    """Delete all topics; return the seconds."""
    state = m.DeleteTopicsRequestDeleteTopicState
    return sum(
        client.ask(m.DeleteTopicsRequest(topics=[state(name=name) for name in some], timeout_ms=60_000), 6)
        for some in chunks(topics)
    )


def describe(client: Client, topics: list[str]) -> None:
    """Print what telling of all topics costs."""
    everything = m.MetadataRequest(topics=None)
    for version in METADATA_VERSIONS:
        first = client.ask(everything, version)
        size = len(client.answer)
        again = [client.ask(everything, version) for _ in range(REPEATS)]
        print(
            f"Metadata v{version:<2} of all     first {first * 1000:7.1f} ms, then "
            f"{statistics.median(again) * 1000:6.2f} ms ({size / 1024:.0f} KiB)"
        )
    resource = m.DescribeConfigsRequestDescribeConfigsResource
    configs = m.DescribeConfigsRequest(
        resources=[resource(resource_type=2, resource_name=name, configuration_keys=None) for name in topics]
    )
    show("DescribeConfigs of all", lambda: client.ask(configs, 4), client)
    page = m.DescribeTopicPartitionsRequest(topics=[], response_partition_limit=2000)
    show("DescribeTopicPartitions, a page", lambda: client.ask(page, 0), client)
    show("DescribeLogDirs", lambda: client.ask(m.DescribeLogDirsRequest(topics=None), 4), client)


def show(what: str, ask: Callable[[], float], client: Client) -> None:
    """Print how long one request takes."""
    seconds = ask()
    print(f"{what:<34} {seconds * 1000:7.1f} ms ({len(client.answer) / 1024:.0f} KiB)")


def main() -> None:
    """Measure everything once and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topics", type=int, default=1000)
    parser.add_argument("--partitions", type=int, default=10)
    options = parser.parse_args()
    topics = names(options.topics)
    with tempfile.TemporaryDirectory(prefix="many-topics-") as directory:
        broker = BarnabasBroker(Path(directory))
        broker.start(timeout_s=60)
        print(f"{len(topics)} topics x {options.partitions} partitions; empty start {broker.start_s:.2f} s")
        client = Client(broker.port)
        print(f"created in {create(client, topics, options.partitions):.2f} s")
        describe(client, topics)
        print(f"resident {broker.rss_bytes() / 1024 / 1024:.0f} MiB")
        client.close()
        print(f"stopped in {broker.stop(timeout_s=60):.2f} s")
        broker.start(timeout_s=60)
        print(f"started with them in {broker.start_s:.2f} s")
        broker.kill()
        broker.start(timeout_s=60)
        print(f"started after a kill in {broker.start_s:.2f} s")
        client = Client(broker.port)
        describe(client, topics)
        print(f"deleted in {delete(client, topics):.2f} s")
        client.close()
        broker.stop(timeout_s=60)


if __name__ == "__main__":
    main()
