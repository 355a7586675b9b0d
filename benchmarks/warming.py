"""Lets a server that needs it run warm before the first turn: a JVM compiles what it has seen often.

Without it the first workload would measure the interpreter. Small fetches and produces take turns until the
time is over, and fetches over TLS where it is spoken, whose code is another; most cases have an uncounted
turn of their own besides.
"""

import time
from pathlib import Path

from benchmarks.asking import Asker, batch
from benchmarks.brokers.server import Server, Transport
from benchmarks.generators import load
from benchmarks.programs import load_has_tls

SLICE_S = 1.0
CONNECTIONS = 4


def warm_up(server: Server, folder: Path, seconds: float) -> None:
    """Load a server for so long."""
    if seconds <= 0:
        return
    with Asker(server.port) as asker:
        topic = asker.make_topic("warm-up")
        asker.produce(topic, batch(1024))
        fetch = asker.fetch_frame(topic, offset=0, partition_max_bytes=1024)[0]
        turns = [
            (asker.produce_frame(topic, batch(1024), acks=-1)[0], Transport.PLAIN),
            (fetch, Transport.PLAIN),
        ]
    if Transport.TLS in server.ports and load_has_tls():
        turns.append((fetch, Transport.TLS))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for frame, transport in turns:
            load(
                port=server.ports[transport],
                frame=frame,
                folder=folder,
                connections=CONNECTIONS,
                seconds=SLICE_S,
                transport=transport,
            )
