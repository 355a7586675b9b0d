"""How soon consumers with a parked fetch get a record and close: the milliseconds behind F25 and F33.

    python benchmarks/close_parked.py [--repeats 5] [--mute]

Four clients against a broker of its own; each waits at the end of two topics with fetch.max.wait 20 s, gets
one record of the second, waits again, and closes. `--mute` shows what `connections.parked.fetch=mute`, Apache
Kafka's way, does to the close. The clients' own work is part of the figures; a first round
is not counted, since it loads the clients' classes.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.broker import BarnabasBroker
from tests.interop import parked
from tests.net.wire import Wire

MAX_WAIT_MS = 20_000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--mute", action="store_true")
    options = parser.parse_args()
    overrides = {"connections.parked.fetch": "mute"} if options.mute else {}
    with (
        tempfile.TemporaryDirectory(prefix="barnabas-bench-") as folder,
        BarnabasBroker(Path(folder), overrides=overrides) as broker,
        parked.clients() as clients,
    ):
        for name, client in clients.items():
            arrived, closed = [], []
            for repeat in range(options.repeats + 1):
                topics = [f"{name}-{repeat}-{number}" for number in (1, 2)]
                with Wire(broker.port) as wire:
                    for topic in topics:
                        wire.make_topic(topic)
                one = client(broker.bootstrap, topics, MAX_WAIT_MS)
                if repeat:
                    arrived.append(one[0])
                    closed.append(one[1])
            print(f"{name:14} record {_spread(arrived)}   close {_spread(closed)}", flush=True)


def _spread(milliseconds: list[float]) -> str:
    return f"{statistics.median(milliseconds):7.1f} ms ({min(milliseconds):.1f}..{max(milliseconds):.1f})"


if __name__ == "__main__":
    main()
