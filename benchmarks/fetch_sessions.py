"""What a fetch of many partitions costs, in a session and without one, in this process without sockets.

    python benchmarks/fetch_sessions.py [--partitions N ...] [--seconds S] [--profile]

A whole broker is started, but its loop never runs; requests go straight to the dispatcher, as in
hot_path.py. All partitions are idle: read to their end, answered at once (max.wait.ms 0). Cases, by the
number of partitions:

    sessionless     a full fetch that names all of them, as from a client without sessions
    open            the same with epoch 0: it opens a session, and the next one ends that
    incremental     a request that names none, in a session of them: most polls of a consumer
    one moved       a request that names one partition with a new offset, in a session of them
    unknown         a full fetch of as many topics that are not there

CPU time per request, the median and the best of several turns, in which the cases take turns too.
"""

import argparse
import cProfile
import pstats
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator

from hot_path import Sink, frame

from barnabas.base.region import FileSlice
from barnabas.metadata.topic_changes import TopicCreation
from barnabas.protocol import messages
from barnabas.protocol.api_keys import ApiKey
from barnabas.server.broker import Broker
from barnabas.server.settings import load_settings
from tools.client_frames import FETCH_VERSION

TURNS = 7

Case = tuple[Iterator[memoryview], Sink]


def topics_of(ids: list[tuple[bytes, range]], offset: int = 0) -> list[messages.FetchRequestFetchTopic]:
    return [
        messages.FetchRequestFetchTopic(
            topic_id=topic_id,
            partitions=[
                messages.FetchRequestFetchPartition(
                    partition=number, fetch_offset=offset, partition_max_bytes=1 << 20
                )
                for number in numbers
            ],
        )
        for topic_id, numbers in ids
    ]


def fetch(session_id: int, epoch: int, topics: list[messages.FetchRequestFetchTopic]) -> memoryview:
    request = messages.FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=50 << 20,
        session_id=session_id,
        session_epoch=epoch,
        topics=topics,
    )
    return frame(ApiKey.FETCH, FETCH_VERSION, request)


class Keeping(Sink):
    """Keeps the id of the session in the last answer too."""

    session_id = 0

    def respond(self, parts: list[bytes | memoryview | FileSlice], when_sent: Callable[[], None]) -> None:
        # Correlation id and tags of the header, then throttle time and error.
        self.session_id = int.from_bytes(parts[0][11:15], "big")
        super().respond(parts, when_sent)


def same(request: memoryview) -> Iterator[memoryview]:
    while True:
        yield request


class Opened:
    """Requests of a session: its epochs are counted in place, in the bytes of one request."""

    def __init__(self, broker: Broker, everything: list[tuple[bytes, range]]) -> None:
        sink = Keeping()
        broker._dispatcher.request_received(sink, fetch(0, 0, topics_of(everything)))
        self.sink = sink

    def openings(self, topics: list[messages.FetchRequestFetchTopic]) -> Iterator[memoryview]:
        """Full fetches, each of which ends the session that the one before opened."""
        request = bytearray(fetch(0x7E7E7E7E, 0, topics))
        at = request.index(b"\x7e" * 4)
        while True:
            request[at : at + 4] = self.sink.session_id.to_bytes(4, "big")
            yield memoryview(request)

    def requests(self, topics: list[messages.FetchRequestFetchTopic]) -> Iterator[memoryview]:
        first, second = (bytes(fetch(self.sink.session_id, epoch, topics)) for epoch in (1, 2))
        (at,) = (i for i in range(len(first)) if first[i] != second[i])
        request, epoch = bytearray(first), 1
        while True:
            request[at - 3 : at + 1] = epoch.to_bytes(4, "big")
            yield memoryview(request)
            epoch += 1


def cases(broker: Broker, count: int) -> dict[str, Case]:
    """Make a topic of so many partitions; return requests without end by case."""
    name = f"idle-{count}"
    (created,) = broker._controller.create_topics([TopicCreation(name=name, num_partitions=count)])
    assert created.message is None, created
    while (name, count - 1) not in broker._replicas.partitions.by_name:
        broker._reactor.run_turn()  # the partitions of a large creation are opened over several turns
    everything = [(broker.image.topics[name].topic_id, range(count))]
    nowhere = [(number.to_bytes(16, "big"), range(1)) for number in range(1, count + 1)]
    one = [(everything[0][0], range(1))]
    opening = Opened(broker, everything)
    return {
        "sessionless": (same(fetch(0, -1, topics_of(everything))), Sink()),
        "open": (opening.openings(topics_of(everything)), opening.sink),
        "incremental": (Opened(broker, everything).requests([]), Sink()),
        "one moved": (Opened(broker, everything).requests(topics_of(one)), Sink()),
        "unknown": (same(fetch(0, -1, topics_of(nowhere))), Sink()),
    }


def run(broker: Broker, case: Case, seconds: float) -> float:
    """Return microseconds of CPU per request."""
    received: Callable[[Sink, memoryview], None] = broker._dispatcher.request_received
    requests, sink = case
    answered = sink.answered
    started = now = time.process_time_ns()
    while now < started + seconds * 1e9 or sink.answered == answered:
        received(sink, next(requests))
        now = time.process_time_ns()
    return (now - started) / (sink.answered - answered) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--partitions", type=int, nargs="*", default=[1, 10, 1000])
    parser.add_argument("--seconds", type=float, default=0.3, help="per turn and case")
    parser.add_argument("--only", default="")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        settings = load_settings(
            files=[], environ={}, overrides=[f"log.dirs={directory}", "listeners=PLAINTEXT://127.0.0.1:0"]
        )
        broker = Broker(settings)
        broker.start()
        for count in options.partitions:
            listed = {n: c for n, c in cases(broker, count).items() if options.only in n}
            figures: dict[str, list[float]] = {name: [] for name in listed}
            for _ in range(TURNS):
                for name, case in listed.items():
                    figures[name].append(run(broker, case, options.seconds))
            for name, runs in figures.items():
                print(
                    f"{count:6} partitions {name:12} {statistics.median(runs):10.1f} us median"
                    f" {min(runs):10.1f} best",
                    flush=True,
                )
            if options.profile:
                for name, case in listed.items():
                    print(f"\n{name}, {count} partitions")
                    with cProfile.Profile() as profile:
                        run(broker, case, options.seconds)
                    pstats.Stats(profile).sort_stats("tottime").print_stats(25)
        broker.stop(now=True)
        broker.run()


if __name__ == "__main__":
    main()
