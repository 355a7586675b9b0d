"""Lets a server that needs it run warm before the first turn: a JVM compiles what it has seen often.

Without it the first workload would measure the interpreter. Small fetches and produces take turns until the
time is over; each case has an uncounted turn of its own besides.
"""

import time
from pathlib import Path

from benchmarks.asking import Asker, batch
from benchmarks.brokers.server import Server
from benchmarks.generators import load

SLICE_S = 1.0
CONNECTIONS = 4


def warm_up(server: Server, folder: Path, seconds: float) -> None:
    """Load a server for so long."""
    if seconds <= 0:
        return
    with Asker(server.port) as asker:
        topic = asker.make_topic("warm-up")
        asker.produce(topic, batch(1024))
        frames = [
            asker.produce_frame(topic, batch(1024), acks=-1)[0],
            asker.fetch_frame(topic, offset=0, partition_max_bytes=1024)[0],
        ]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for frame in frames:
            load(port=server.port, frame=frame, folder=folder, connections=CONNECTIONS, seconds=SLICE_S)
