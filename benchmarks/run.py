"""`./dev bench`: compare brokers side by side.

    ./dev bench [--brokers barnabas,kafka] [--workloads small-requests,...] [--rounds N] [--quick]
    ./dev bench --list
    ./dev bench --report RESULTS      write table and plots anew from results.jsonl

Results go to a new folder below `.bench/`: results.jsonl as they come, then results.md and plots as PNG;
--publish copies table and plots to docs/. On a machine where others use the processors it refuses to run
unless told --busy-ok; how busy it was is noted of every turn, and disturbed figures are marked.
"""

import argparse
import os
import resource
import shutil
import signal
import sys
import time
from pathlib import Path

from benchmarks import host
from benchmarks.brokers.known import SERVERS
from benchmarks.brokers.server import Server
from benchmarks.comparison import Comparison, brief, estimate_s
from benchmarks.programs import UnavailableError
from benchmarks.report import write_report
from benchmarks.results import Writer, read
from benchmarks.targets import OURS
from benchmarks.workloads.known import WORKLOADS
from benchmarks.workloads.workload import Scale, Workload

OUTPUT = host.ROOT / ".bench"
DESCRIPTORS = 100_000
EXIT_BUSY = 3
TURN_SECONDS = 0.9
QUICK_SECONDS = 0.6


def main() -> int:
    options = parse()
    if options.list:
        for name, workload in WORKLOADS.items():
            print(f"{name:18} {workload.title}: {len(workload.cases(Scale()))} cases")
        print("brokers and floors: " + ", ".join(SERVERS))
        return 0
    if options.report:
        publish_to = host.ROOT / "docs" if options.publish else None
        print(write_report(options.report, publish_to))
        return 0
    raise_descriptors()
    # A run that is told to end stops its servers first.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    return compare(options)


def raise_descriptors() -> None:
    """Let this process and the servers open many files: as many as one may without being an administrator."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
    except (ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def compare(options: argparse.Namespace) -> int:
    output = options.output or OUTPUT / time.strftime("%Y%m%d-%H%M%S")
    folder = (options.directory or output) / "servers"
    if host.is_in_memory(folder):
        print(
            f"{folder} is on {host.file_system(folder)}: logs belong on a disk (--directory)", file=sys.stderr
        )
        return 2
    busy = host.busy_share()
    if busy > host.BUSY_SHARE_MAX and not options.busy_ok:
        print(
            f"others use {busy:.0%} of the processors (load {os.getloadavg()[0]:.1f}): figures would tell of"
            f" them. Wait, or say --busy-ok to have them marked.",
            file=sys.stderr,
        )
        return EXIT_BUSY
    folder.mkdir(parents=True, exist_ok=True)
    output.mkdir(parents=True, exist_ok=True)
    scale = Scale(
        rounds=options.rounds or (1 if options.quick else 3),
        seconds=options.seconds or (QUICK_SECONDS if options.quick else TURN_SECONDS),
        is_quick=options.quick,
    )
    servers, unavailable = available(options.brokers, folder)
    workloads = [WORKLOADS[name] for name in options.workloads]
    about = {
        "host": host.describe(folder) | {"used by others at the start": f"{busy:.0%}"},
        "settings": {
            "rounds": str(scale.rounds),
            "seconds per turn": str(scale.seconds),
            "quick": "yes" if scale.is_quick else "no",
            "page cache": "warm unless a workload says otherwise; files on disk, never in a tmpfs",
        },
        "servers": {kind.name: version for kind, version in servers.items()},
        "remarks": {kind.name: kind.remark for kind in servers},
        "unavailable": unavailable,
    }
    for name, reason in unavailable.items():
        print(f"{name} is left out: {reason}")
    print(f"about {estimate_s(workloads, servers, scale) / 60:.0f} minutes; results in {output}", flush=True)
    began = time.monotonic()
    results = output / "results.jsonl"
    writer = Writer(results, about)
    try:
        Comparison(servers, folder, scale, writer, lambda line: print(line, flush=True)).run(workloads)
    finally:
        minutes = f"{(time.monotonic() - began) / 60:.1f} minutes"
        ended = {
            "run": {
                "took": minutes,
                "load averages at the end": " ".join(f"{one:.2f}" for one in os.getloadavg()),
            }
        }
        writer.add_about(ended)
        writer.close()
        shutil.rmtree(folder, ignore_errors=True)
        print(write_report(results, host.ROOT / "docs" if options.publish else None))
    return 1 if any(one.failed and one.server == OURS for one in read(results).results) else 0


def available(names: list[str], folder: Path) -> tuple[dict[type[Server], str], dict[str, str]]:
    """Return the servers that can be run with their versions, and why the others cannot."""
    found: dict[type[Server], str] = {}
    missing: dict[str, str] = {}
    for name in names:
        kind = SERVERS[name]
        try:
            server = kind(folder / "shared" / kind.name.replace(" ", "-"))
            server.check_available()
            found[kind] = server.version()
        except UnavailableError as reason:
            missing[kind.name] = brief(str(reason))
    return found, missing


def names_among(known: dict[str, type[Server]] | dict[str, Workload], text: str) -> list[str]:
    """Parse names separated by commas."""
    chosen = text.split(",")
    if unknown := [name for name in chosen if name not in known]:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: not among {', '.join(known)}")
    return chosen


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./dev bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--brokers", type=lambda text: names_among(SERVERS, text), default=list(SERVERS))
    parser.add_argument(
        "--workloads", type=lambda text: names_among(WORKLOADS, text), default=list(WORKLOADS)
    )
    parser.add_argument("--rounds", type=int, help="turns of each server at each case (3; 1 with --quick)")
    parser.add_argument("--seconds", type=float, help="of load per turn")
    parser.add_argument("--quick", action="store_true", help="fewer cases, smaller data, one round")
    parser.add_argument("--busy-ok", action="store_true", help="run although others use the processors")
    parser.add_argument("--directory", type=Path, help="where servers keep their files (default: the output)")
    parser.add_argument("--output", type=Path, help="where results go")
    parser.add_argument(
        "--publish", action="store_true", help="write docs/benchmarks.md and docs/benchmarks/"
    )
    parser.add_argument("--report", type=Path, help="only write the report of a results.jsonl")
    parser.add_argument("--list", action="store_true", help="only name workloads and brokers")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
