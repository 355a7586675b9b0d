"""When the machine itself stood still: a hypervisor that takes the cores away shows as nobody's latency.

    python benchmarks/stalls.py [--seconds N]

One process per core, of a real-time class, sleeps half a millisecond again and again and notes when it was
woken more than half a millisecond late. Nothing an ordinary process does delays it, save a stretch in the
kernel that cannot be interrupted; but when the hypervisor takes a core away, or does not wake it, it is late.
That all cores are late at once only the hypervisor can bring about: it holds a virtual machine to its share
of processor time, and the threads that serve the machine's disk are on that account, too.

Rejected: the steal column of /proc/stat, which counts in hundredths of a second and not at all while a core
is idle; it is told beside as a check. Two wakes per millisecond take about 2 % of a core each. Without the
right to use a real-time class (root) nothing is watched.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from bisect import bisect_left
from dataclasses import dataclass
from pathlib import Path

SLEEP_NS = 500_000
LATE_NS = 500_000

Interval = tuple[int, int]
"""From and to, time.monotonic_ns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stalls:
    """What was seen.

    Attributes:
        any_core: when at least one core was late, in order and disjoint.
        all_cores: when all were, at once.
        stolen: the share of all cores' time that the hypervisor says it took.
    """

    any_core: list[Interval]
    all_cores: list[Interval]
    stolen: float


class StallWatch:
    """Watches every core from `begin` to `end`."""

    def __init__(self) -> None:
        self._watchers: list[subprocess.Popen[str]] = []
        self._before = processor_times()

    def begin(self) -> StallWatch:
        self._before = processor_times()
        if os.geteuid() == 0:
            for core in sorted(os.sched_getaffinity(0)):
                command = [sys.executable, __file__, "--core", str(core)]
                pipe = subprocess.PIPE
                self._watchers.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))
        return self

    def end(self) -> Stalls:
        cores: list[list[Interval]] = []
        for watcher in self._watchers:
            told, _ = watcher.communicate("")
            cores.append([(begin, end) for begin, end in json.loads(told)])
        stolen = [now - before for before, now in zip(self._before, processor_times(), strict=True)]
        return Stalls(
            any_core=overlapping(cores, 1),
            all_cores=overlapping(cores, len(cores)) if cores else [],
            stolen=stolen[7] / max(1, sum(stolen)),
        )


def processor_times() -> list[int]:
    """Return the ticks of all cores: user, nice, system, idle, iowait, irq, softirq, steal."""
    return [int(ticks) for ticks in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]


def overlapping(cores: list[list[Interval]], least: int) -> list[Interval]:
    """Return when at least so many of the lists have an interval, in order and disjoint."""
    edges = sorted((at, step) for core in cores for one in core for at, step in ((one[0], 1), (one[1], -1)))
    found: list[Interval] = []
    depth = begun = 0
    for at, step in edges:
        if step == 1:
            depth += 1
            if depth == least:
                begun = at
        else:
            if depth == least and at > begun:
                found.append((begun, at))
            depth -= 1
    return found


def touches(stalls: list[Interval], begin: int, end: int) -> bool:
    """Tell whether an interval meets one of disjoint ones in order."""
    at = bisect_left(stalls, (end, end))
    return at > 0 and stalls[at - 1][1] > begin


def watch(core: int) -> None:
    """Note when this process was late, until standard input ends; print that."""
    os.sched_setaffinity(0, {core})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    os.set_blocking(0, False)
    late: list[Interval] = []
    while True:
        before = time.monotonic_ns()
        time.sleep(SLEEP_NS / 1e9)
        after = time.monotonic_ns()
        if after - before - SLEEP_NS > LATE_NS:
            late.append((before + SLEEP_NS, after))
        try:
            if os.read(0, 1) == b"":
                break
        except BlockingIOError:
            pass
    print(json.dumps(late))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--core", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.core is not None:
        watch(options.core)
        return
    stalls_watch = StallWatch().begin()
    time.sleep(options.seconds)
    stalls = stalls_watch.end()
    for name, found in (("some core", stalls.any_core), ("all cores", stalls.all_cores)):
        lengths_ms = [(end - begin) / 1e6 for begin, end in found]
        total_ms, longest_ms = sum(lengths_ms), max(lengths_ms, default=0)
        print(f"{name} stood still {len(found)} times, {total_ms:.0f} ms in all, {longest_ms:.1f} at most")
    print(f"stolen: {stalls.stolen:.1%}")


if __name__ == "__main__":
    main()
