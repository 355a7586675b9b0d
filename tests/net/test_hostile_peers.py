"""Peers that send what no client sends, against a broker process, while a calm client works beside them.

After each of them the broker must be as before: same descriptors, memory within a bound, no fault in its
log, no work left to do.
"""

import contextlib
import os
import random
import re
import resource
import secrets
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.handlers.routes import ROUTES
from barnabas.protocol import messages as m
from barnabas.protocol.frames import encode_request_header
from barnabas.protocol.record_batch_builder import BatchBuilder
from tests.broker import BarnabasBroker
from tests.golden.exchanges import load
from tests.net.calm_client import CalmClient
from tests.net.wire import Wire, fetch_request, frame_of, produce_request
from tests.waiting import wait_until

pytestmark = pytest.mark.timeout(300)

FRAME_BYTES_MAX = 104_857_600
RSS_GROWTH_MAX = 48 << 20
CALM_MAX_S = 3.0
CONNECTIONS, CONNECTIONS_SLOW = 2_000, 10_000
DESCRIPTORS_NEEDED = CONNECTIONS_SLOW + 500
IDLE_S = 0.25
IDLE_CPU_SHARE_MAX = 0.3


@pytest.fixture(scope="module")
def seed() -> int:
    """Printed, so that pytest shows it with a failure; set BARNABAS_HOSTILE_SEED to repeat."""
    return int(os.environ.get("BARNABAS_HOSTILE_SEED") or secrets.randbelow(2**32))


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasBroker]:
    """A broker whose descriptors suffice for all connections of these tests, as ours do."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS_NEEDED if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS_NEEDED)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    try:
        with BarnabasBroker(tmp_path_factory.mktemp("hostile")) as running:
            yield running
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def rng(seed: int, request: pytest.FixtureRequest) -> random.Random:
    print(f"BARNABAS_HOSTILE_SEED={seed}")
    return random.Random(f"{seed} {request.node.name}")


@pytest.fixture
def beside_a_calm_client(broker: BarnabasBroker, request: pytest.FixtureRequest) -> Iterator[CalmClient]:
    """A working client beside the test; what the test leaves of the broker is looked at when it ends."""
    topic = re.sub(r"[^a-z0-9_]", "-", request.node.name)
    with CalmClient(broker.port, topic) as calm:
        wait_until(lambda: len(calm.acknowledged) > 3, "the calm client starts")
        descriptors, rss = count_descriptors(broker), broker.rss_bytes()
        yield calm
        wait_until(lambda: count_descriptors(broker) <= descriptors, "descriptors come back")
        assert broker.rss_bytes() - rss < RSS_GROWTH_MAX, f"{broker.rss_bytes() - rss} bytes more"
        assert calm.slowest_s < CALM_MAX_S, f"a record took {calm.slowest_s:.2f} s"
    assert broker.running
    log = broker.log_path.read_text(errors="replace")
    assert "Traceback" not in log, log[-3000:]
    assert "fault while" not in log
    used = idle_cpu_share(broker.pid)
    assert used < IDLE_CPU_SHARE_MAX, f"{used:.0%} of a core with nothing to do"


def count_descriptors(broker: BarnabasBroker) -> int:
    """Sockets, and files that only a descriptor keeps: topics that a test makes have files too."""
    count = 0
    for number in os.listdir(f"/proc/{broker.pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            target = os.readlink(f"/proc/{broker.pid}/fd/{number}")
            count += target.startswith("socket:") or target.endswith("(deleted)")
    return count


def idle_cpu_share(pid: int) -> float:
    """How much of a core the process uses over IDLE_S."""

    def cpu_s() -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    before = cpu_s()
    time.sleep(IDLE_S)
    return (cpu_s() - before) / IDLE_S


def throw(broker: BarnabasBroker, data: bytes, *, timeout_s: float = 30) -> Wire:
    """Connect, send these bytes, return the connection; a peer may hang up on us meanwhile."""
    wire = Wire(broker.port, timeout_s)
    with contextlib.suppress(ConnectionError):
        wire.sock.sendall(data)
    return wire


def served_frames() -> list[bytes]:
    """One valid request of every served API in its first and last version, with its length."""
    frames = []
    for route in ROUTES.values():
        for version in {route.versions[0], route.versions[-1]}:
            frames.append(frame_of(route.spec.request(), version))
    return frames


@pytest.mark.usefixtures("beside_a_calm_client")
def test_random_bytes(broker: BarnabasBroker, rng: random.Random, slow: bool) -> None:
    for _ in range(5_000 if slow else 300):
        throw(broker, rng.randbytes(rng.choice((1, 3, 4, 5, 40, 2_000)))).close()


@pytest.mark.usefixtures("beside_a_calm_client")
def test_frames_cut_at_every_length(broker: BarnabasBroker) -> None:
    for frame in [*served_frames(), frame_of(fetch_request("t", 0), 12)]:
        for length in range(len(frame)):
            throw(broker, frame[:length]).close()


@pytest.mark.usefixtures("beside_a_calm_client")
@pytest.mark.parametrize("length", [-1, -(2**31), FRAME_BYTES_MAX + 1, 2**31 - 1, 0, 1, 7])
def test_lengths_that_no_request_has_close_the_connection(broker: BarnabasBroker, length: int) -> None:
    with throw(broker, length.to_bytes(4, "big", signed=True) + bytes(64), timeout_s=5) as wire:
        assert wire.hung_up()


@pytest.mark.usefixtures("beside_a_calm_client")
def test_half_frames_held_open_cost_what_was_sent(broker: BarnabasBroker) -> None:
    before = broker.rss_bytes()
    held = [
        throw(broker, FRAME_BYTES_MAX.to_bytes(4, "big") + bytes((0, 0, 0, 9)) + b"x" * (i % 50))
        for i in range(400)
    ]
    time.sleep(0.3)
    assert broker.rss_bytes() - before < RSS_GROWTH_MAX, "memory by a length that nobody sent"
    for wire in held:
        wire.close()


@pytest.mark.usefixtures("beside_a_calm_client")
def test_thousands_of_connections(broker: BarnabasBroker, slow: bool) -> None:
    before = broker.rss_bytes()
    count = CONNECTIONS_SLOW if slow else CONNECTIONS
    with contextlib.ExitStack() as stack:
        wires = [stack.enter_context(Wire(broker.port)) for _ in range(count)]
        for wire in wires[:: count // 50]:
            assert wire.ask(m.ApiVersionsRequest(), 0).error_code == 0
        assert broker.rss_bytes() - before < RSS_GROWTH_MAX


@pytest.mark.usefixtures("beside_a_calm_client")
def test_connections_that_come_and_go(broker: BarnabasBroker, slow: bool) -> None:
    for number in range(10_000 if slow else 1_000):
        sock = socket.create_connection(("127.0.0.1", broker.port))
        if number % 2:
            # Closing with a reset instead of a FIN.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        sock.close()


@pytest.mark.usefixtures("beside_a_calm_client")
def test_garbage_behind_a_right_header(broker: BarnabasBroker, rng: random.Random, slow: bool) -> None:
    for key in (*range(96), -1, 127, 32_767):
        for version in range(-1, 20) if key in ROUTES else (0, 1):
            for _ in range(10 if slow else 1):
                header = (
                    key.to_bytes(2, "big", signed=True)
                    + version.to_bytes(2, "big", signed=True)
                    + bytes((0, 0, 0, 9))
                    + b"\0\4name\0"
                )
                body = header + rng.randbytes(rng.choice((0, 1, 10, 300)))
                throw(broker, len(body).to_bytes(4, "big") + body).close()


@pytest.mark.usefixtures("beside_a_calm_client")
def test_arrays_and_strings_longer_than_the_frame(broker: BarnabasBroker) -> None:
    for route in ROUTES.values():
        for version in route.versions:
            header = encode_request_header(route.spec.key, version, 9, "c")
            for filler in (b"\x7f", b"\xff", b"\xff\xff\xff\xff\x0f", b"\x7f\xff\xff\xff"):
                body = header + filler * 30
                throw(broker, len(body).to_bytes(4, "big") + body).close()


@pytest.mark.usefixtures("beside_a_calm_client")
def test_requests_of_real_clients_with_some_bytes_changed(
    broker: BarnabasBroker, rng: random.Random, slow: bool
) -> None:
    recorded = [exchange.request for exchange in load() if exchange.key in ROUTES and exchange.key != 20]
    for frame in rng.choices(recorded, k=20_000 if slow else 400):
        changed = bytearray(frame)
        for _ in range(rng.choice((1, 1, 2, 8))):
            place = rng.randrange(4, len(changed))
            kind = rng.randrange(4)
            if kind == 0:
                changed[place] ^= 1 << rng.randrange(8)
            elif kind == 1:
                changed[place] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
            elif kind == 2:
                del changed[place : place + rng.randrange(1, 9)]
            else:
                changed[place:place] = rng.randbytes(rng.randrange(1, 9))
            if len(changed) < 6:
                break
        throw(broker, len(changed).to_bytes(4, "big") + changed).close()


@pytest.mark.usefixtures("beside_a_calm_client")
def test_readers_that_never_read(broker: BarnabasBroker) -> None:
    with Wire(broker.port) as wire:
        wire.make_topic("large", max_message_bytes="20000000")
        batch = BatchBuilder()
        batch.append(timestamp=1, key=None, value=bytes(8 << 20))
        assert wire.produce("large", batch.build()).error_code == 0
    before = broker.rss_bytes()
    asked = frame_of(fetch_request("large", 0, max_bytes=10 << 20), 12)
    held = [throw(broker, asked * 20) for _ in range(60)]
    time.sleep(1)
    assert broker.rss_bytes() - before < RSS_GROWTH_MAX
    for wire in held:
        wire.close()


@pytest.mark.usefixtures("beside_a_calm_client")
def test_thousands_of_requests_at_once_are_answered_in_order(broker: BarnabasBroker, slow: bool) -> None:
    count = 20_000 if slow else 4_000
    with Wire(broker.port) as wire:
        asked = b"".join(frame_of(m.ApiVersionsRequest(), 0, number) for number in range(count))
        wire.sock.settimeout(0)
        sent = 0
        for number in range(count):
            while sent < len(asked):
                try:
                    sent += wire.sock.send(asked[sent : sent + 65536])
                except BlockingIOError:
                    break
            wire.sock.settimeout(30)
            assert int.from_bytes(wire.receive_frame()[:4], "big") == number
            wire.sock.settimeout(0)


@pytest.mark.usefixtures("beside_a_calm_client")
def test_requests_without_end_from_somebody_who_never_reads(broker: BarnabasBroker) -> None:
    before = broker.rss_bytes()
    asked = frame_of(m.MetadataRequest(topics=None), 9) * 200
    with Wire(broker.port) as wire:
        wire.sock.settimeout(0.5)
        with contextlib.suppress(TimeoutError, ConnectionError):
            for _ in range(2_000):
                wire.sock.sendall(asked)
        assert broker.rss_bytes() - before < RSS_GROWTH_MAX


@pytest.mark.usefixtures("beside_a_calm_client")
def test_fetches_that_wait_for_ever_and_their_clients_leave(broker: BarnabasBroker) -> None:
    with Wire(broker.port) as wire:
        wire.make_topic("empty")
    asked = fetch_request("empty", 0)
    asked.max_wait_ms = 2**31 - 1
    waiting = [throw(broker, frame_of(asked, 12)) for _ in range(300)]
    time.sleep(0.2)
    for wire in waiting:
        wire.close()


@pytest.mark.usefixtures("beside_a_calm_client")
def test_a_frame_of_the_largest_size_that_means_nothing(broker: BarnabasBroker) -> None:
    """A batch length that lies, a frame full of partitions: work and memory end with the frame."""
    request = produce_request("nowhere", bytes(20 << 20))
    with throw(broker, frame_of(request, 9)) as wire:
        assert wire.receive_frame()
    parts = b"\0\0\0\1" * (5 << 20)
    body = (
        encode_request_header(2, 1, 9, "c") + b"\xff\xff\xff\xff" + b"\0\0\0\1\0\1t" + b"\0\x40\0\0" + parts
    )
    with throw(broker, len(body).to_bytes(4, "big") + body) as wire:
        assert wire.hung_up()


def session_fetch(rng: random.Random, session: tuple[int, int], partitions: int) -> m.FetchRequest:
    """A fetch by name that continues, opens or ends a session, about partitions that are mostly not there."""
    numbers = (0, 1, -1, 2**31 - 1)
    asked = [
        m.FetchRequestFetchPartition(
            partition=rng.choice(numbers) if partitions < 10 else number,
            fetch_offset=rng.choice((0, 5, -1, 2**63 - 1)),
            partition_max_bytes=1 << 20,
        )
        for number in range(partitions)
    ]
    return m.FetchRequest(
        max_bytes=1 << 20,
        session_id=session[0],
        session_epoch=session[1],
        topics=[m.FetchRequestFetchTopic(topic=rng.choice(("sessions", "nope")), partitions=asked)],
        forgotten_topics_data=[
            m.FetchRequestForgottenTopic(topic="sessions", partitions=rng.choices(numbers, k=partitions % 4))
        ],
    )


@pytest.mark.usefixtures("beside_a_calm_client")
def test_f35_sessions_that_make_no_sense(broker: BarnabasBroker, rng: random.Random, slow: bool) -> None:
    """Ids and epochs out of the air, partitions twice, forgotten ones that were never there, far too many."""
    odd = (0, 1, -1, 2, 7, 2**31 - 1, -(2**31))
    known = {0, 42, 70, 71, 106}
    live: list[tuple[int, int]] = []
    with Wire(broker.port) as wire:
        wire.make_topic("sessions", partitions=2)
        for _ in range(5_000 if slow else 400):
            session = rng.choice(live) if live and rng.random() < 0.7 else (rng.choice(odd), rng.choice(odd))
            answer = wire.ask(session_fetch(rng, session, rng.randrange(4)), rng.choice((7, 11, 12)))
            assert answer.error_code in known
            live = [other for other in live if other[0] != session[0]][-20:]
            if answer.session_id:
                live.append((answer.session_id, 1 if session[1] == 0 else session[1] + 1))
        answer = wire.ask(session_fetch(rng, (0, 0), 10_000), 12)
        assert sum(len(topic.partitions) for topic in answer.responses) == 10_000
        assert wire.ask(m.FetchRequest(session_id=answer.session_id, session_epoch=-1), 12).session_id == 0
