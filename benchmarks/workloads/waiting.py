"""Parked fetches: what ten thousand cost, how soon an append wakes one or all of them; fan-out to 200."""

import contextlib

from benchmarks.asking import Asker
from benchmarks.brokers.server import Server
from benchmarks.processes import cpu_s, fine_cpu_s, resident_bytes
from benchmarks.watching import (
    PARKED_MS,
    Watch,
    check_whole,
    letting_go,
    settle,
    settle_calm,
    watch_appends,
)
from benchmarks.workloads.workload import BROKERS, COMPILED, Case, Figures, Lifetime, Scale, Turn, Workload

PARKED = 10_000
QUICK_PARKED = 2_000
WAKES_PER_S = 200
IDLE_S = 6
QUICK_IDLE_S = 2
TOLD_S = 30
FAN_OUT = 200
FAN_OUT_PER_S = 100
VALUE_BYTES = 1024
WAKE_ALL_APPENDS = 3
WAKE_ALL_RATE = 0.25
"""So that the last answer to one append is out before the next is due, on slower machines too."""
PARKED_CASE = "{} parked fetches, one woken"
WAKE_ALL_CASE = "one append wakes {}"
FAN_OUT_CASE = f"one partition, {FAN_OUT} consumers, {FAN_OUT_PER_S} records/s"


def parked_count(scale: Scale) -> int:
    """Return how many fetches are parked."""
    return QUICK_PARKED if scale.is_quick else PARKED


def prepare(server: Server, _scale: Scale) -> None:
    """Make the topics."""
    with Asker(server.port) as asker:
        for name in ("idle", "one", "all", "fan-out"):
            asker.make_topic(name)


def park(turn: Turn) -> Figures:
    """Park many, look at the server, and wake another one again and again."""
    count = parked_count(turn.scale)
    idle_s = QUICK_IDLE_S if turn.scale.is_quick else IDLE_S
    server = turn.server
    with contextlib.ExitStack() as stack:
        asker = stack.enter_context(Asker(server.port))
        idle = asker.find_topic("idle")
        stack.enter_context(letting_go(asker, idle, server))
        watch = stack.enter_context(Watch(server.port, turn.folder, 2.0))
        watch_appends(
            asker, asker.find_topic("one"), watch, watchers=1, value_bytes=VALUE_BYTES, rate=WAKES_PER_S
        )
        parking, _ = asker.fetch_frame(idle, offset=asker.end_offset(idle), max_wait_ms=PARKED_MS)
        watch.park(count, parking)
        before = resident_bytes(server.pids())
        watch.connect()
        settle_calm(server)
        connected = resident_bytes(server.pids())
        watch.park_all()
        settle_calm(server)
        parked = resident_bytes(server.pids())
        spent, exact = cpu_s(server.pids()), fine_cpu_s(server.pids())
        settle(idle_s)
        exact, spent = fine_cpu_s(server.pids()) - exact, cpu_s(server.pids()) - spent
        found = watch.finish()
    check_whole(found)
    figures = {
        "cpu_s_in_30_s": max(exact, spent) / idle_s * TOLD_S,
        "p50_us": found["p50_us"],
        "p99_us": found["p99_us"],
    }
    if turn.number == 0:  # later turns find memory that was used before
        figures["bytes_each"] = (parked - connected) / count
        figures["connection_bytes_each"] = (connected - before) / count
    return figures


def wake_all(turn: Turn) -> Figures:
    """Wake all at once."""
    seconds = WAKE_ALL_APPENDS / WAKE_ALL_RATE
    with contextlib.ExitStack() as stack:
        asker = stack.enter_context(Asker(turn.server.port))
        topic = asker.find_topic("all")
        stack.enter_context(letting_go(asker, topic, turn.server))
        watch = stack.enter_context(Watch(turn.server.port, turn.folder, seconds))
        watch_appends(
            asker,
            topic,
            watch,
            watchers=parked_count(turn.scale),
            value_bytes=100,
            rate=WAKE_ALL_RATE,
        )
        found = watch.run()
    check_whole(found)
    return {name: found[name] for name in ("first_us", "last_us", "last_max_us")}


def fan_out(turn: Turn) -> Figures:
    """Send each record to many."""
    seconds = turn.scale.seconds * 2
    with Asker(turn.server.port) as asker, Watch(turn.server.port, turn.folder, seconds) as watch:
        watch_appends(
            asker,
            asker.find_topic("fan-out"),
            watch,
            watchers=FAN_OUT,
            value_bytes=VALUE_BYTES,
            rate=FAN_OUT_PER_S,
        )
        found = watch.run()
    check_whole(found)
    return {"p50_us": found["p50_us"], "p99_us": found["p99_us"], "requests": found["deliveries"]}


def cases(scale: Scale) -> list[Case]:
    """Return the cases."""
    count = f"{parked_count(scale):,}"
    return [
        Case(
            name=PARKED_CASE.format(count),
            run=park,
            figures=("p99_us", "p50_us", "cpu_s_in_30_s", "bytes_each", "connection_bytes_each"),
            seconds=(QUICK_IDLE_S if scale.is_quick else IDLE_S) + 6,
            warm_up=False,
        ),
        Case(
            name=WAKE_ALL_CASE.format(count),
            run=wake_all,
            figures=("last_us", "first_us", "last_max_us"),
            seconds=WAKE_ALL_APPENDS / WAKE_ALL_RATE + 3,
            warm_up=False,
        ),
        Case(
            name=FAN_OUT_CASE,
            run=fan_out,
            figures=("p99_us", "p50_us", "cpu_us_per_request"),
            seconds=scale.seconds * 2 + 1,
        ),
    ]


WORKLOAD = Workload(
    name="waiting",
    title="Waiting consumers",
    method="watch.c: long polls of one partition each, on a connection of their own, sessionless,"
    " min.bytes 1, max.wait 10 minutes. Appends are due by the clock, and a latency counts from when"
    " its append was due until a consumer has the whole answer (open loop). CPU at rest is measured"
    " for 6 s and told for 30; memory per connection and per parked fetch is the growth of resident"
    " memory, on a fresh server.",
    cases=cases,
    prepare=prepare,
    prepare_s=6,
    others_rounds=1,
    servers=BROKERS | {COMPILED},
    lifetime=Lifetime.OWN,
)
