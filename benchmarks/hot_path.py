"""What a Fetch and a Produce cost, in this process without sockets or end to end.

    python benchmarks/hot_path.py [--requests N] [--runs N] [--profile] [--end-to-end] [--seconds N]

In process: a whole broker is started, but its loop never runs. Each request's frame is handed straight to the
dispatcher, and the answer's parts are thrown away (slices released), so `net` and the kernel's sockets do not
count. Requests have the shape most clients send: one topic, one partition, ids instead of names. The runs of
the cases take turns, so that a noisy machine disturbs all alike; of each the median and the best run's CPU
time per request are told. A produce writes to a file in the page cache.

--end-to-end starts a broker in a process of its own and loads it with the C generator of `load/`: answers per
second, and the broker's CPU per request, user and system, so with the kernel's work for its sockets. The load
runs on the same machine.

--profile prints where the time goes, by cProfile, which makes calls look dearer than they are.
"""

import argparse
import cProfile
import json
import os
import pstats
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from net import build
from start import serve, stop

from barnabas.base.region import FileSlice
from barnabas.cli.client.admin import create_topic
from barnabas.cli.client.cluster import Cluster
from barnabas.handlers.dispatch import Dispatcher
from barnabas.metadata.topic_changes import TopicCreation
from barnabas.protocol import frames, messages
from barnabas.protocol.api_keys import ApiKey
from barnabas.protocol.record_batch_builder import BatchBuilder
from barnabas.server.broker import Broker
from barnabas.server.settings import load_settings

FETCH_VERSION = 17
PRODUCE_VERSION = 13
VALUE_BYTES = 1024


class Sink:
    """A connection that takes every answer and sends none."""

    listener_name = "PLAINTEXT"
    peer_host = "127.0.0.1"
    id = "127.0.0.1:9092-127.0.0.1:50000-1"
    context = None
    request_in_hand = False

    def __init__(self) -> None:
        self.answered = 0
        self.answer_bytes = 0

    def respond(self, parts: list[bytes | memoryview | FileSlice]) -> None:
        self.answered += 1
        if len(parts) > 1:
            self.answer_bytes = sum(map(len, parts))
            for part in parts:
                if part.__class__ is FileSlice:
                    part.release()

    def close(self, reason: str) -> None:
        raise AssertionError(reason)


def batch(value_bytes: int, now_ms: int) -> bytes:
    """Return one record batch of one record."""
    builder = BatchBuilder()
    builder.append(timestamp=now_ms, key=None, value=os.urandom(value_bytes))
    return bytes(builder.build())


def frame(api_key: int, version: int, request: messages.Message) -> memoryview:
    header = frames.encode_request_header(api_key, version, 7, "benchmark")
    return memoryview(bytearray(header + request.encode(version)))


def fetch_frame(topic_id: bytes, offset: int) -> memoryview:
    """Return a fetch as a consumer sends it, which is answered at once."""
    asked = messages.FetchRequestFetchPartition(
        partition=0, current_leader_epoch=0, fetch_offset=offset, partition_max_bytes=1 << 20
    )
    topic = messages.FetchRequestFetchTopic(topic_id=topic_id, partitions=[asked])
    request = messages.FetchRequest(
        max_wait_ms=0, min_bytes=1, max_bytes=50 << 20, session_epoch=-1, topics=[topic]
    )
    return frame(ApiKey.FETCH, FETCH_VERSION, request)


def produce_frame(topic_id: bytes, acks: int) -> memoryview:
    data = messages.ProduceRequestPartitionProduceData(index=0, records=batch(VALUE_BYTES, wall_ms()))
    topic = messages.ProduceRequestTopicProduceData(topic_id=topic_id, partition_data=[data])
    request = messages.ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=[topic])
    return frame(ApiKey.PRODUCE, PRODUCE_VERSION, request)


def wall_ms() -> int:
    return time.time_ns() // 1_000_000


def cases(broker: Broker) -> list[tuple[str, memoryview]]:
    """Make the topics; return name and request of each case."""
    ids = {}
    for name in ("read", "written"):
        created = broker._controller.create_topics([TopicCreation(name=name, num_partitions=1)])
        assert created[0].message is None, created
        ids[name] = broker.image.topics[name].topic_id
    sink = Sink()
    broker._dispatcher.request_received(sink, produce_frame(ids["read"], -1))
    assert sink.answered == 1
    return frames_of_cases(ids)


def frames_of_cases(ids: dict[str, bytes]) -> list[tuple[str, memoryview]]:
    """Return name and request of each case; `ids` are those of the topics `read` and `written`."""
    return [
        ("empty fetch", fetch_frame(ids["read"], 1)),
        ("1-KiB fetch", fetch_frame(ids["read"], 0)),
        ("1-KiB produce, acks=1", produce_frame(ids["written"], 1)),
        ("1-KiB produce, acks=all", produce_frame(ids["written"], -1)),
    ]


def end_to_end(seconds: float) -> None:
    """Print what a broker of its own serves to 1 and to 16 connections, one request in flight each."""
    with tempfile.TemporaryDirectory() as folder:
        load, body = build("load", Path(folder)), Path(folder) / "request"
        broker, port, _ = serve(f"{folder}/data")
        try:
            cluster = Cluster([("127.0.0.1", port)])
            for name in ("read", "written"):
                create_topic(cluster, name, partitions=1)
            ids = {name: cluster.topic(name).topic_id for name in ("read", "written")}
            with socket.create_connection(("127.0.0.1", port)) as connection:
                request = produce_frame(ids["read"], -1)
                connection.sendall(len(request).to_bytes(4, "big") + request)
                assert connection.recv(4096)
            for name, request in frames_of_cases(ids):
                body.write_bytes(request)
                for connections in (1, 16):
                    before_s = cpu_s(broker.pid)
                    arguments = ["127.0.0.1", port, connections, 1, seconds, len(request), body]
                    ran = subprocess.run(
                        [load, *map(str, arguments)], check=True, capture_output=True, text=True
                    )
                    figures = json.loads(ran.stdout)
                    cpu_us = (cpu_s(broker.pid) - before_s) / figures["answers"] * 1e6
                    print(
                        f"{name:26} {connections:3} connections {figures['per_second']:7.0f}/s"
                        f" {cpu_us:6.1f} us CPU p50 {figures['p50_us']:.0f} p99 {figures['p99_us']:.0f} us",
                        flush=True,
                    )
        finally:
            stop(broker)


def cpu_s(pid: int) -> float:
    """Return the CPU seconds a process has used, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(dispatcher: Dispatcher, request: memoryview, requests: int) -> float:
    """Return microseconds of CPU per request."""
    sink = Sink()
    received: Callable[[Sink, memoryview], None] = dispatcher.request_received
    started = time.process_time_ns()
    for _ in range(requests):
        received(sink, request)
    spent = time.process_time_ns() - started
    assert sink.answered == requests
    return spent / requests / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--requests", type=int, default=2000, help="per run and case")
    parser.add_argument("--runs", type=int, default=25)
    parser.add_argument("--only", default="")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--end-to-end", action="store_true")
    parser.add_argument("--seconds", type=float, default=3, help="per case, end to end")
    options = parser.parse_args()
    if options.end_to_end:
        end_to_end(options.seconds)
        return
    with tempfile.TemporaryDirectory() as directory:
        settings = load_settings(
            files=[], environ={}, overrides=[f"log.dirs={directory}", "listeners=PLAINTEXT://127.0.0.1:0"]
        )
        broker = Broker(settings)
        broker.start()
        listed = [case for case in cases(broker) if options.only in case[0]]
        figures: dict[str, list[float]] = {name: [] for name, _ in listed}
        for _ in range(options.runs):
            for name, request in listed:
                figures[name].append(run(broker._dispatcher, request, options.requests))
        for name, runs in figures.items():
            print(f"{name:26} {statistics.median(runs):6.1f} us median {min(runs):6.1f} best", flush=True)
        if options.profile:
            for name, request in listed:
                print(f"\n{name}")
                with cProfile.Profile() as profile:
                    run(broker._dispatcher, request, options.requests)
                pstats.Stats(profile).sort_stats("tottime").print_stats(30)
        broker.stop(now=True)
        broker.run()


if __name__ == "__main__":
    main()
