"""Slow readers in numbers, against a broker process: every answer whole, in order, byte for byte.

The seed is printed with a failure; BARNABAS_SLOW_PEERS_SEED repeats what the peers do.
"""

import os
import random
import secrets
import time
from collections.abc import Iterator

import pytest

from barnabas.protocol.record_batch_builder import BatchBuilder
from tests.broker import BarnabasBroker
from tests.net.slow_peers import (
    FOR_EVER_MS,
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
from tests.net.wire import Wire, frame_of, produce_request

pytestmark = pytest.mark.timeout(600)

PARTITIONS = 3
PEERS, PEERS_SLOW = 30, 200
WAITERS = 10
REQUESTS, REQUESTS_SLOW = 8, 60
TIMEOUT_S, TIMEOUT_SLOW_S = 60, 400
APPEND_EVERY_S = 0.05


@pytest.fixture
def rng() -> random.Random:
    seed = os.environ.get("BARNABAS_SLOW_PEERS_SEED") or str(secrets.randbelow(2**32))
    print(f"BARNABAS_SLOW_PEERS_SEED={seed}")
    return random.Random(seed)


@pytest.fixture(params=["auto", "zero_copy", "heap"])
def broker(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BarnabasBroker]:
    directory = tmp_path_factory.mktemp("slow-peers")
    overrides = {"fetch.mode": request.param, "socket.send.buffer.bytes": "20000"}
    with BarnabasBroker(directory, overrides=overrides) as running:
        yield running


def fill(wire: Wire, rng: random.Random) -> list[PartitionBytes]:
    """Batches of every size up to the largest allowed, in a few segments."""
    wire.make_topic(TOPIC, PARTITIONS, segment_bytes="2500000")
    wire.make_topic(TAIL)
    for partition in range(PARTITIONS):
        for size in [rng.choice((10, 900, 40_000, 70_000)) for _ in range(40)] + [
            300_000,
            1_000_000,
            800_000,
        ]:
            batch = BatchBuilder()
            for _ in range(rng.randrange(1, 4)):
                batch.append(timestamp=1, key=None, value=rng.randbytes(size // 3))
            assert wire.produce(TOPIC, batch.build(), partition).error_code == 0
    return [read_partition(wire, TOPIC, partition) for partition in range(PARTITIONS)]


def plan(partitions: list[PartitionBytes], rng: random.Random, count: int, ending: Ending) -> list[Asked]:
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
        elif kind < 0.5:
            asked.append(other_request(rng, len(asked)))
        else:
            asked.append(fetch_of(partitions, rng, len(asked)))
    return asked


class Appender:
    """Appends a record now and then, so that those who wait at the tail are woken all the time."""

    def __init__(self, port: int, count: int) -> None:
        self.wire = Wire(port)
        self.left = count
        self.next_at = 0.0

    def __call__(self) -> None:
        if self.left and time.monotonic() >= self.next_at:
            batch = BatchBuilder()
            batch.append(timestamp=1, key=None, value=b"wake")
            self.wire.sock.sendall(frame_of(produce_request(TAIL, batch.build(), acks=0), 9))
            self.left -= 1
            self.next_at = time.monotonic() + APPEND_EVERY_S


def test_every_answer_arrives_whole_and_in_order(
    broker: BarnabasBroker, rng: random.Random, slow: bool
) -> None:
    count = REQUESTS_SLOW if slow else REQUESTS
    with Wire(broker.port) as wire:
        partitions = fill(wire, rng)
    peers = []
    for _ in range(PEERS_SLOW if slow else PEERS):
        ending = rng.choice((Ending.WAIT, Ending.WAIT, Ending.WAIT, Ending.HALF_CLOSE, Ending.RESET))
        own = random.Random(rng.random())
        asked = plan(partitions, own, count, ending)
        peers.append(Peer(broker.port, own, asked, ending, rng.choice((2, 5, 30))))
    appends = count * 4
    for _ in range(WAITERS):
        asked = [waiting_fetch(offset, offset) for offset in range(appends)]
        peers.append(Peer(broker.port, random.Random(rng.random()), asked, Ending.WAIT, 1))
    began = time.monotonic()
    run_peers(peers, TIMEOUT_SLOW_S if slow else TIMEOUT_S, Appender(broker.port, appends))
    slowest_s = max(peer.slowest_s for peer in peers)
    print(f"{time.monotonic() - began:.1f} s, slowest answer {slowest_s:.2f} s")
    assert "Traceback" not in broker.log_path.read_text(errors="replace")
