"""Large fetches: throughput and processor time per GB, by size, connections and transport."""

from dataclasses import dataclass

from benchmarks.asking import AnsweredError, Asker
from benchmarks.brokers.floors import FILE_BYTES, FloorServer, NginxServer, floor_request
from benchmarks.brokers.server import Kind, Server, Transport
from benchmarks.generators import load
from benchmarks.workloads.workload import BROKERS, Case, Figures, Scale, SkipError, Turn, Workload

MIB = 1 << 20
BATCH_BYTES = MIB // 2
"""Two fill a MiB but for their headers; Apache Kafka and librdkafka refuse batches above 1 MB."""
LOG_BYTES = 32 * MIB
MAX_WAIT_MS = 500
"""Of no effect where there are records; Tansu reads none when it may not wait."""
SIZES = (MIB, 16 * MIB)
CONNECTIONS = (1, 4, 16)
SHARE_OF_SECONDS = 0.7
"""There are many cases, and gigabytes go through in a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Frames by size of answer, and how long the answers are at least."""

    frames: dict[int, tuple[bytes, int]]


def prepare(server: Server, _scale: Scale) -> Prepared:
    """Write a log; ask for each size once."""
    if isinstance(server, FloorServer):
        assert max(SIZES) <= FILE_BYTES
        return Prepared(frames={size: (floor_request(size, of_file=True), size) for size in SIZES})
    if server.kind is Kind.FLOOR:
        return Prepared(frames={size: (http_request(size), size) for size in SIZES})
    frames = {}
    with Asker(server.port) as asker:
        topic = asker.make_topic("large")
        asker.fill(topic, LOG_BYTES, BATCH_BYTES)
        for size in SIZES:
            frame, version = asker.fetch_frame(
                topic, offset=0, partition_max_bytes=size, max_wait_ms=MAX_WAIT_MS
            )
            try:
                frames[size] = (frame, asker.fetched_bytes(frame, version))
            except AnsweredError as error:
                raise SkipError(
                    f"of {LOG_BYTES} bytes written the first are not to be had: {error}"
                ) from None
    return Prepared(frames=frames)


def http_request(size: int) -> bytes:
    """Return a request for the file of that size."""
    return f"GET /{size} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def http_answer_bytes(port: int, request: bytes, size: int) -> int:
    """Return how long head and body of an HTTP answer are."""
    import socket

    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(request)
        head = b""
        while b"\r\n\r\n" not in head:
            more = connection.recv(4096)
            if not more:
                raise SkipError("nginx closed the connection")
            head += more
    if not head.startswith(b"HTTP/1.1 200 "):
        raise SkipError(f"nginx answered {head[:40]!r}")
    return head.index(b"\r\n\r\n") + 4 + size


def run(turn: Turn, size: int, connections: int, transport: Transport) -> Figures:
    """Load a server with large fetches."""
    assert isinstance(turn.kept, Prepared)
    server = turn.server
    if transport not in server.ports:
        raise SkipError(f"no listener for {transport.value}")
    frame, answer_bytes = turn.kept.frames[size]
    if answer_bytes < size * 0.9:
        raise SkipError(f"a fetch of {size} bytes brings only {answer_bytes}")
    if answer_bytes > size * 1.5:
        raise SkipError(f"a fetch of at most {size} bytes brings {answer_bytes}")
    fixed = http_answer_bytes(server.port, frame, size) if isinstance(server, NginxServer) else None
    found = load(
        port=server.ports[transport],
        frame=frame,
        folder=turn.folder,
        connections=connections,
        seconds=turn.scale.seconds * SHARE_OF_SECONDS,
        transport=transport,
        answer_bytes_min=answer_bytes,
        fixed_answer_bytes=fixed,
    )
    return {
        "gigabytes_per_second": found["gigabytes_per_second"],
        "p50_us": found["p50_us"],
        "p99_us": found["p99_us"],
        "gigabytes": found["gigabytes_per_second"] * found["seconds"],
    }


def cases(scale: Scale) -> list[Case]:
    """Return the cases."""
    made = []
    for transport in (Transport.PLAIN, Transport.HEAP, Transport.TLS):
        for size in SIZES[: 1 if scale.is_quick else 2]:
            for connections in (1, 16) if scale.is_quick else CONNECTIONS:

                def go(
                    turn: Turn,
                    size: int = size,
                    connections: int = connections,
                    transport: Transport = transport,
                ) -> Figures:
                    return run(turn, size, connections, transport)

                made.append(
                    Case(
                        name=case_name(size, connections, transport),
                        run=go,
                        figures=("gigabytes_per_second", "cpu_s_per_gb", "p50_us", "p99_us"),
                        seconds=scale.seconds * SHARE_OF_SECONDS,
                        servers=SERVERS_OF[transport],
                    )
                )
    return made


def case_name(size: int, connections: int, transport: Transport) -> str:
    """Return a case's name."""
    return f"{size // MIB} MiB, {transport.value}, {connections} connection{'s' * (connections > 1)}"


SERVERS_OF = {
    Transport.PLAIN: None,
    Transport.HEAP: frozenset({"Barnabas"}),
    Transport.TLS: frozenset({"Barnabas", "Apache Kafka", NginxServer.name}),
}

WORKLOAD = Workload(
    name="large-fetches",
    title="Large fetches",
    method="load.c, closed loop, one fetch in flight per connection, always of the first offset; the"
    " answer is read and thrown away. The log is in the page cache (read again and again). TLS is"
    " what server and OpenSSL's client agree on, the certificate's key on P-256. nginx sends files"
    " of the same size.",
    cases=cases,
    prepare=prepare,
    prepare_s=1.5,
    servers=BROKERS | {FloorServer.name, NginxServer.name},
)
