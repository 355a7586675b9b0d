"""`./dev demo fetch`: three published experiments on how a broker serves reads, with figures side by side.

E1 a Fetch of one small batch by default, with a min.bytes out of reach, and waiting at the end of the log;
E2 what a Fetch costs that waits for 15 seconds; E3 48 MB by one Fetch, over plaintext and TLS: what passes
through the process. The published figures are Apache Kafka's. E1 runs with connections.parked.fetch=mute too,
which is how Kafka treats a request behind one that waits. Times of the broker are from its request log.
Takes about a minute; --quick scales the waits down.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from barnabas.cli.output import Column, print_table
from tests.certificates import Certificates
from tools import fetch_experiments as experiments
from tools.broker_side import BrokerSide
from tools.demo_broker import Broker, DemoError
from tools.fetch_experiments import PUBLISHED, ExperimentError, Pace, Step

QUICK = Pace(wait_ms=600, woken_wait_ms=600, record_after_ms=300, behind_wait_ms=600, parked_ms=1500)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare what this demo can be told."""
    parser.add_argument("--quick", action="store_true", help="wait for fractions of the published times")
    parser.add_argument("--keep", metavar="DIR", help="run in this directory and keep it")


@contextmanager
def _broker(directory: Path, name: str, overrides: dict[str, str]) -> Iterator[tuple[Broker, BrokerSide]]:
    request_log = directory / f"{name}-requests.log"
    broker = Broker(str(directory / name), {"request.log.file": str(request_log), **overrides})
    try:
        broker.start()
        yield broker, BrokerSide(Path(broker.directory), request_log, broker.pid)
        broker.stop()
    except (DemoError, AssertionError, subprocess.TimeoutExpired):
        print(f"The broker's log ends:\n{broker.log_tail()}", file=sys.stderr)
        raise
    finally:
        broker.kill()


def run(directory: Path, pace: Pace, tell: Callable[[str], None]) -> list[tuple[str, list[Step]]]:
    """Run all experiments and return their steps under the settings they ran with."""
    found = []
    for mode in ("mute", "complete"):
        tell(f"E1 with connections.parked.fetch={mode}")
        with _broker(directory, mode, {"connections.parked.fetch": mode}) as (broker, side):
            steps = experiments.long_poll(broker.address, "e1", pace, side.times_of)
            steps.append(experiments.request_behind(broker.address, "e1-behind", pace, mute=mode == "mute"))
            if mode == "complete":
                tell("E2")
                steps.append(experiments.parked(broker.address, "e2", pace, side))
        found.append((f"connections.parked.fetch={mode}", steps))
    found.append(("fetch.mode=zero_copy", _large_reads(directory, tell)))
    return found


def _large_reads(directory: Path, tell: Callable[[str], None]) -> list[Step]:
    """Write once, and read with a broker that has just started: it looks in index and headers."""
    tell("E3 over plaintext")
    overrides = {"fetch.mode": "zero_copy"}
    with _broker(directory, "e3", overrides) as (broker, _):
        topic_id = experiments.fill(broker.address, "e3")
    with _broker(directory, "e3", overrides) as (broker, side):
        experiments.warm_up(broker.address, "e3-warm")
        trace = directory / "strace.txt"
        plaintext = experiments.large_read(
            broker.address, topic_id, side.log_file("e3"), side, strace_output=trace
        )
    tell("E3 over TLS")
    certificates = Certificates(directory / "certificates")
    overrides |= {"listeners": "SSL://127.0.0.1:0", **certificates.broker_overrides()}
    with _broker(directory, "e3", overrides) as (broker, side):
        tls = certificates.client_context()
        experiments.warm_up(broker.address, "e3-warm-tls", tls)
        trace = directory / "strace-tls.txt"
        encrypted = experiments.large_read(
            broker.address, topic_id, side.log_file("e3"), side, strace_output=trace, tls=tls
        )
    return [plaintext.step, encrypted.step]


def _ms(value: float | None) -> str:
    return "" if value is None else f"{value:,.2f}"


def show(found: list[tuple[str, list[Step]]]) -> None:
    """Print a table for each setting."""
    columns = [
        Column(heading="experiment"),
        Column(heading="step"),
        Column(heading="published, Apache Kafka"),
        Column(heading="Barnabas"),
        Column(heading="ms", number=True),
        Column(heading="local ms", number=True),
        Column(heading="remote ms", number=True),
    ]
    for setting, steps in found:
        rows: list[list[str | int | None]] = [
            [
                step.experiment,
                step.what,
                step.published,
                step.ours,
                _ms(step.took_ms),
                _ms(None if step.times is None else step.times.local_ms),
                _ms(None if step.times is None else step.times.remote_ms),
            ]
            for step in steps
        ]
        print_table(columns, rows, title=setting)
        print()


def main(options: argparse.Namespace) -> int:
    """Run it and return the exit code."""
    pace = QUICK if options.quick else PUBLISHED
    with tempfile.TemporaryDirectory(prefix="barnabas-demo-") as scratch:
        directory = Path(options.keep or scratch)
        directory.mkdir(parents=True, exist_ok=True)
        try:
            found = run(directory, pace, lambda what: print(f"  {what} ...", flush=True))
        except (DemoError, ExperimentError, subprocess.TimeoutExpired) as error:
            print(f"demo: {error}", file=sys.stderr)
            return 1
    show(found)
    print("ms: seen by the client; local and remote: from the broker's request log, working and waiting.")
    return 0
