"""Slow readers in numbers, against a broker process: every answer whole, in order, byte for byte.

The seed is printed with a failure; BARNABAS_SLOW_PEERS_SEED repeats what the peers do.
"""

import os
import random
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from barnabas.protocol import messages as m
from barnabas.protocol.record_batch_builder import BatchBuilder
from tests.broker import BarnabasBroker
from tests.certificates import Certificates
from tests.net.slow_peers import (
    DOOMED,
    FOR_EVER_MS,
    SHRINKING,
    TAIL,
    TOPIC,
    Asked,
    Ending,
    PartitionBytes,
    Peer,
    fetch_of,
    other_request,
    parked_fetch,
    read_partition,
    run_peers,
    waiting_fetch,
)
from tests.net.wire import Wire
from tests.waiting import wait_until

pytestmark = pytest.mark.timeout(600)

LISTENERS = ("AUTO", "ZERO", "HEAP", "TLS")
PROTOCOLS = "AUTO:PLAINTEXT,ZERO:PLAINTEXT,HEAP:PLAINTEXT,TLS:SSL,CONTROLLER:PLAINTEXT"
PARTITIONS = 2
CONFIGS = {"segment_bytes": "2500000", "file_delete_delay_ms": "0", "retention_ms": "-1"}
PEERS, PEERS_SLOW = 40, 200
WAITERS = 10
REQUESTS, REQUESTS_SLOW = 8, 60
TIMEOUT_S, TIMEOUT_SLOW_S = 100, 500
APPEND_EVERY_S = 0.05


@pytest.fixture
def rng() -> random.Random:
    seed = os.environ.get("BARNABAS_SLOW_PEERS_SEED") or str(secrets.randbelow(2**32))
    print(f"BARNABAS_SLOW_PEERS_SEED={seed}")
    return random.Random(seed)


class Modes:
    """A broker with a listener for each way that bytes can go out."""

    def __init__(self, directory: Path) -> None:
        self.certificates = Certificates(directory / "certificates")
        self.ports = dict(zip(LISTENERS, free_ports(len(LISTENERS)), strict=True))
        overrides = {
            "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in self.ports.items()),
            "listener.security.protocol.map": ",".join(
                [
                    *(f"{name}:{'SSL' if name == 'TLS' else 'PLAINTEXT'}" for name in LISTENERS),
                    "CONTROLLER:PLAINTEXT",
                ]
            ),
            "listener.name.zero.fetch.mode": "zero_copy",
            "listener.name.heap.fetch.mode": "heap",
            "socket.send.buffer.bytes": "20000",
            "log.retention.check.interval.ms": "200",
            **self.certificates.broker_overrides(),
        }
        self.broker = BarnabasBroker(directory, overrides=overrides)


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on now."""
    with ExitStack() as sockets:
        bound = [sockets.enter_context(socket.socket()) for _ in range(count)]
        for one in bound:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in bound]


@pytest.fixture(scope="module")
def modes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Modes]:
    made = Modes(tmp_path_factory.mktemp("slow-peers"))
    with made.broker:
        yield made


def fill(wire: Wire, rng: random.Random) -> dict[str, list[PartitionBytes]]:
    """Batches of every size up to the largest allowed, in a few segments."""
    wire.make_topic(TAIL, **CONFIGS)
    found = {}
    for topic in (TOPIC, DOOMED, SHRINKING):
        wire.make_topic(topic, PARTITIONS, **CONFIGS)
        for partition in range(PARTITIONS):
            sizes = [rng.choice((10, 900, 40_000, 70_000)) for _ in range(8)]
            for size in [*sizes, 1_000_000, 800_000, 900_000, 10]:
                append(wire, topic, partition, rng.randbytes(size))
        found[topic] = [read_partition(wire, topic, partition) for partition in range(PARTITIONS)]
    return found


def append(wire: Wire, topic: str, partition: int, value: bytes) -> None:
    batch = BatchBuilder()
    batch.append(timestamp=1, key=None, value=value)
    assert wire.produce(topic, batch.build(), partition).error_code == 0


def plan(
    content: dict[str, list[PartitionBytes]], rng: random.Random, count: int, ending: Ending
) -> list[Asked]:
    """What a peer asks for; who half-closes asks for nothing that waits: a FIN means it is gone (F31)."""
    asked: list[Asked] = []
    while len(asked) < count:
        kind = rng.random()
        if kind < 0.2 and ending is not Ending.HALF_CLOSE:
            if rng.random() < 0.5:
                asked.append(parked_fetch(rng.randrange(300), len(asked)))
            else:
                # Answered at once for what comes behind it (F33).
                asked.append(parked_fetch(FOR_EVER_MS, len(asked)))
                asked.append(other_request(rng, len(asked)))
        elif kind < 0.4:
            asked.append(other_request(rng, len(asked)))
        else:
            topic = rng.choice((TOPIC, TOPIC, DOOMED, SHRINKING))
            asked.append(fetch_of(topic, content[topic], rng, len(asked)))
    return asked


class Meanwhile:
    """What others do: append at the tail, so that waiters are woken, and to the bulk; delete what is read."""

    def __init__(self, port: int, appends: int, peers: list[Peer]) -> None:
        self.wire = Wire(port)
        self.peers = peers
        self.appends = appends
        self.left = appends
        self.next_at = 0.0
        self.is_deleted = False

    def __call__(self) -> None:
        now = time.monotonic()
        if self.left and now >= self.next_at:
            append(self.wire, TAIL, 0, b"wake")
            append(self.wire, TOPIC, self.left % PARTITIONS, bytes(50_000))
            self.left -= 1
            self.next_at = now + APPEND_EVERY_S
        if not self.is_deleted and sum(peer.answers for peer in self.peers) > self.appends:
            self.is_deleted = True
            gone = self.wire.ask(m.DeleteTopicsRequest(topic_names=[DOOMED], timeout_ms=10_000), 5)
            assert gone.responses[0].error_code == 0, gone
            for partition in range(PARTITIONS):
                self._cut(partition, self.wire.end_offset(SHRINKING, partition) - 1)

    def _cut(self, partition: int, offset: int) -> None:
        part = m.DeleteRecordsRequestDeleteRecordsPartition(partition_index=partition, offset=offset)
        topic = m.DeleteRecordsRequestDeleteRecordsTopic(name=SHRINKING, partitions=[part])
        cut = self.wire.ask(m.DeleteRecordsRequest(topics=[topic], timeout_ms=10_000), 2)
        assert cut.topics[0].partitions[0].error_code == 0, cut


def test_f40_every_answer_arrives_whole_and_in_order_in_every_mode(
    modes: Modes, rng: random.Random, slow: bool
) -> None:
    """Pipelined, stalled, half-closed and reset, under appends, and while segments in flight are deleted."""
    count = REQUESTS_SLOW if slow else REQUESTS
    plain = modes.ports["AUTO"]
    with Wire(plain) as wire:
        content = fill(wire, rng)
    peers = []
    tls = modes.certificates.client_context()
    for number in range(PEERS_SLOW if slow else PEERS):
        name = LISTENERS[number % len(LISTENERS)]
        ending = rng.choice((Ending.WAIT, Ending.WAIT, Ending.WAIT, Ending.HALF_CLOSE, Ending.RESET))
        own = random.Random(rng.random())
        asked = plan(content, own, count, ending)
        secured = tls if name == "TLS" else None
        peers.append(Peer(modes.ports[name], own, asked, ending, rng.choice((2, 5, 30)), secured))
    appends = count * 4
    for _ in range(WAITERS):
        asked = [waiting_fetch(offset, offset) for offset in range(appends)]
        peers.append(Peer(plain, random.Random(rng.random()), asked, Ending.WAIT, 1))
    began = time.monotonic()
    meanwhile = Meanwhile(plain, appends, peers)
    run_peers(peers, TIMEOUT_SLOW_S if slow else TIMEOUT_S, meanwhile)
    slowest_s = max(peer.slowest_s for peer in peers)
    print(f"{time.monotonic() - began:.1f} s, slowest answer {slowest_s:.2f} s")
    assert meanwhile.is_deleted
    assert "Traceback" not in modes.broker.log_path.read_text(errors="replace")
    wait_until(lambda: not deleted_files(modes.broker.pid), "leases of deleted segments end (F22)")


def deleted_files(pid: int) -> list[str]:
    """Return the files that only descriptors of a process keep."""
    found = []
    for number in os.listdir(f"/proc/{pid}/fd"):
        with suppress(FileNotFoundError):
            target = os.readlink(f"/proc/{pid}/fd/{number}")
            if target.endswith(".log (deleted)"):
                found.append(target)
    return found
