"""What a Fetch, a Produce and an OffsetCommit cost, in this process without sockets.

    python benchmarks/hot_path.py [--requests N] [--runs N] [--profile]

In process: a whole broker is started, but its loop never runs. Each request's frame is handed straight to the
dispatcher, and the answer's parts are thrown away (slices released), so `net` and the kernel's sockets do not
count. Requests have the shape most clients send: one topic, one partition, ids instead of names. The runs of
the cases take turns, so that a noisy machine disturbs all alike; of each the median and the best run's CPU
time per request are told. A produce writes to a file in the page cache.

The same end to end, over sockets and beside other brokers: `./dev bench --workloads small-requests`.

--profile prints where the time goes, by cProfile, which makes calls look dearer than they are.
"""

import argparse
import cProfile
import os
import pstats
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from barnabas.base.region import FileSlice
from barnabas.handlers.dispatch import Dispatcher
from barnabas.metadata.topic_changes import TopicCreation
from barnabas.protocol import messages
from barnabas.protocol.api_keys import ApiKey
from barnabas.server.broker import Broker
from barnabas.server.settings import load_settings
from tools import client_frames

OFFSET_COMMIT_VERSION = 10
OFFSET_FETCH_VERSION = 10
PARTITIONS = 12
"""Of the topic that a group reads."""
VALUE_BYTES = 1024


TOPICS = {"read": 1, "written": 1, "grouped": PARTITIONS}


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

    def respond(self, parts: list[bytes | memoryview | FileSlice], when_sent: Callable[[], None]) -> None:
        self.answered += 1
        when_sent()
        if len(parts) > 1:
            self.answer_bytes = sum(map(len, parts))
            for part in parts:
                if part.__class__ is FileSlice:
                    part.release()

    def close(self, reason: str) -> None:
        raise AssertionError(reason)


def batch(value_bytes: int, now_ms: int) -> bytes:
    """Return one record batch of one record."""
    return client_frames.batch([os.urandom(value_bytes)], now_ms)


def frame(api_key: int, version: int, request: messages.Message) -> memoryview:
    return as_received(client_frames.frame(api_key, version, request))


def fetch_frame(topic_id: bytes, offset: int) -> memoryview:
    """Return a fetch as a consumer sends it, which is answered at once."""
    return as_received(client_frames.fetch_frame(topic_id, offset))


def produce_frame(topic_id: bytes, acks: int) -> memoryview:
    records = batch(VALUE_BYTES, wall_ms())
    return as_received(client_frames.produce_frame(topic_id, records, acks))


def as_received(frame: bytes) -> memoryview:
    """Return a frame as a connection hands it on: produces stamp offsets into it."""
    return memoryview(bytearray(frame))


def commit_frame(topic_id: bytes, partitions: int) -> memoryview:
    """Return a commit of a group that assigns partitions itself."""
    committed = [
        messages.OffsetCommitRequestOffsetCommitRequestPartition(
            partition_index=number,
            committed_offset=1_000_000,
            committed_leader_epoch=0,
            committed_metadata="",
        )
        for number in range(partitions)
    ]
    topic = messages.OffsetCommitRequestOffsetCommitRequestTopic(topic_id=topic_id, partitions=committed)
    request = messages.OffsetCommitRequest(group_id="benchmark", topics=[topic])
    return frame(ApiKey.OFFSET_COMMIT, OFFSET_COMMIT_VERSION, request)


def offset_fetch_frame(topic_id: bytes, partitions: int) -> memoryview:
    topic = messages.OffsetFetchRequestOffsetFetchRequestTopics(
        topic_id=topic_id, partition_indexes=list(range(partitions))
    )
    group = messages.OffsetFetchRequestOffsetFetchRequestGroup(group_id="benchmark", topics=[topic])
    return frame(ApiKey.OFFSET_FETCH, OFFSET_FETCH_VERSION, messages.OffsetFetchRequest(groups=[group]))


def wall_ms() -> int:
    return time.time_ns() // 1_000_000


def cases(broker: Broker) -> list[tuple[str, memoryview]]:
    """Make the topics; return name and request of each case."""
    ids = {}
    for name, partitions in TOPICS.items():
        created = broker._controller.create_topics([TopicCreation(name=name, num_partitions=partitions)])
        assert created[0].message is None, created
        ids[name] = broker.image.topics[name].topic_id
    broker._dispatcher.services.groups.ensure_topic()
    sink = Sink()
    broker._dispatcher.request_received(sink, produce_frame(ids["read"], -1))
    assert sink.answered == 1
    return frames_of_cases(ids)


def frames_of_cases(ids: dict[str, bytes]) -> list[tuple[str, memoryview]]:
    """Return name and request of each case; `ids` are those of TOPICS."""
    return [
        ("empty fetch", fetch_frame(ids["read"], 1)),
        ("1-KiB fetch", fetch_frame(ids["read"], 0)),
        ("1-KiB produce, acks=1", produce_frame(ids["written"], 1)),
        ("1-KiB produce, acks=all", produce_frame(ids["written"], -1)),
        ("commit, 1 partition", commit_frame(ids["grouped"], 1)),
        (f"commit, {PARTITIONS} partitions", commit_frame(ids["grouped"], PARTITIONS)),
        (f"offset fetch, {PARTITIONS} partitions", offset_fetch_frame(ids["grouped"], PARTITIONS)),
    ]


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
    options = parser.parse_args()
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
