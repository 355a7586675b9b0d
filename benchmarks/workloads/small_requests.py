"""Tiny fetches and 1-KiB produces: what a request costs."""

from dataclasses import dataclass

from benchmarks.asking import Asker, batch
from benchmarks.brokers.floors import FloorServer, floor_request
from benchmarks.brokers.server import Kind, Server
from benchmarks.generators import load
from benchmarks.workloads.workload import BROKERS, COMPILED, Case, Figures, Scale, SkipError, Turn, Workload

VALUE_BYTES = 1024
ANSWER_BYTES = 60
"""Of the floor; a broker's answers have about as many."""
REQUESTS = ("tiny fetch", "1-KiB produce acks=1", "1-KiB produce acks=all")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Frames by case."""

    frames: dict[str, bytes]


def prepare(server: Server, _scale: Scale) -> Prepared:
    """Make the topics; ask each request once."""
    if server.kind is Kind.FLOOR:
        small = floor_request(ANSWER_BYTES, of_file=False)
        large = floor_request(ANSWER_BYTES, of_file=False, request_bytes=VALUE_BYTES + 150)
        return Prepared(frames=dict(zip(REQUESTS, (small, large, large), strict=True)))
    with Asker(server.port) as asker:
        read, written = asker.make_topic("small-read"), asker.make_topic("small-written")
        asker.produce(read, batch(VALUE_BYTES))
        asker.produce(written, batch(VALUE_BYTES))
        # At the end of the partition, with nothing to wait for: an answer without records.
        fetch, version = asker.fetch_frame(read, offset=1)
        if found := asker.fetched_bytes(fetch, version):
            raise SkipError(f"a fetch at the end of the partition brought {found} bytes")
        return Prepared(
            frames={
                REQUESTS[0]: fetch,
                REQUESTS[1]: asker.produce_frame(written, batch(VALUE_BYTES), acks=1)[0],
                REQUESTS[2]: asker.produce_frame(written, batch(VALUE_BYTES), acks=-1)[0],
            }
        )


def run(turn: Turn, request: str, connections: int) -> Figures:
    """Load a server with one kind of request."""
    assert isinstance(turn.kept, Prepared)
    found = load(
        port=turn.server.port,
        frame=turn.kept.frames[request],
        folder=turn.folder,
        connections=connections,
        seconds=turn.scale.seconds,
    )
    return {
        "per_second": found["per_second"],
        "p50_us": found["p50_us"],
        "p99_us": found["p99_us"],
        "requests": found["answers"],
    }


def cases(scale: Scale) -> list[Case]:
    """Return the cases."""
    made = []
    for request in REQUESTS[: 2 if scale.is_quick else 3]:
        for connections in (1, 16):

            def go(turn: Turn, request: str = request, connections: int = connections) -> Figures:
                return run(turn, request, connections)

            made.append(
                Case(
                    name=f"{request}, {connections} connection{'s' * (connections > 1)}",
                    run=go,
                    figures=("per_second", "p50_us", "p99_us", "cpu_us_per_request"),
                    seconds=scale.seconds,
                )
            )
    return made


WORKLOAD = Workload(
    name="small-requests",
    title="Small requests",
    method="load.c, closed loop, one request in flight per connection. A tiny fetch asks at the end of a"
    " partition with max.wait 0 and brings no records; a produce appends one batch of one record of"
    " 1,024 bytes. The floor reads requests of that length and answers with 60 bytes.",
    cases=cases,
    prepare=prepare,
    servers=BROKERS | {COMPILED, FloorServer.name},
)
