"""Start, stop, rest and recovery: what a server costs its user before the first record."""

import shutil

from benchmarks.asking import Asker
from benchmarks.brokers.server import Server
from benchmarks.processes import cpu_s, fine_cpu_s, resident_bytes
from benchmarks.watching import settle
from benchmarks.workloads.workload import (
    BROKERS,
    COMPILED,
    Case,
    Figures,
    Lifetime,
    Scale,
    SkipError,
    Turn,
    Workload,
)

GIB = 1 << 30
BATCH_BYTES = 1 << 19
REST_S = 1.0
IDLE_S = 3.0
TOLD_S = 30
START_CASE = "fresh directory"
RECOVERY_CASE = "recovery after a kill"


def fresh(turn: Turn, purpose: str) -> Server:
    """Return a server of the same kind with an empty directory."""
    directory = turn.server.directory / f"{purpose}-{turn.number}"
    shutil.rmtree(directory, ignore_errors=True)
    return type(turn.server)(directory)


def start(turn: Turn) -> Figures:
    """Start, rest, stop."""
    server = fresh(turn, "start")
    server.start()
    try:
        settle(REST_S)
        pids = server.pids()
        spent, exact = cpu_s(pids), fine_cpu_s(pids)
        settle(IDLE_S)
        idle_s = max(fine_cpu_s(pids) - exact, cpu_s(pids) - spent)
        resident = resident_bytes(pids)
    finally:
        stop_s = server.stop()
        shutil.rmtree(server.directory, ignore_errors=True)
    return {
        "start_s": server.start_s,
        "stop_s": stop_s,
        "resident_mb": resident / 1e6,
        "cpu_s_in_30_s": idle_s / IDLE_S * TOLD_S,
    }


def recover(turn: Turn) -> Figures:
    """Kill a server that has written a lot, start it again; then stop it as one should, and start it."""
    if not turn.server.is_durable:
        raise SkipError("it keeps nothing over a restart")
    size = GIB // 4 if turn.scale.is_quick else GIB
    server = fresh(turn, "recovery")
    server.start()
    try:
        with Asker(server.port) as asker:
            topic = asker.make_topic("recovered")
            asker.fill(topic, size, BATCH_BYTES)
            end = asker.end_offset(topic)
        server.kill()
        server.start()
        with Asker(server.port) as asker:
            kept = asker.end_offset(asker.find_topic("recovered"))
            if kept != end:
                raise SkipError(f"of {end} records {kept} are left")
        after_kill_s = server.start_s
        server.stop()
        server.start()
        after_stop_s = server.start_s
    finally:
        server.stop()
        shutil.rmtree(server.directory, ignore_errors=True)
    recovery_s = max(0.0, after_kill_s - after_stop_s)
    return {
        "seconds_per_gib": recovery_s / (size / GIB),
        "start_s": after_kill_s,
        "start_after_stop_s": after_stop_s,
    }


def cases(scale: Scale) -> list[Case]:
    """Return the cases."""
    return [
        Case(
            name=START_CASE,
            run=start,
            figures=("start_s", "resident_mb", "cpu_s_in_30_s", "stop_s"),
            seconds=REST_S + IDLE_S + 2,
            warm_up=not scale.is_quick,
        ),
        Case(
            name=RECOVERY_CASE,
            run=recover,
            figures=("seconds_per_gib", "start_s", "start_after_stop_s"),
            seconds=4 if scale.is_quick else 9,
            warm_up=False,
            rounds_max=2,
        ),
    ]


WORKLOAD = Workload(
    name="lifecycle",
    title="Start, rest, recovery",
    method="From exec of a server with an empty directory (Apache Kafka's is formatted before, which is"
    " not counted) to its first answer to Metadata; memory and CPU at rest a second later; then"
    " SIGTERM. Recovery: 1 GiB in batches of 512 KiB is written, the server killed, and started"
    " again with all of it in the page cache, then stopped in good order and started once more."
    " Starts are from exec to the first answer; recovery is what the start after the kill took longer than"
    " the one after the stop. Apache Kafka's holds its wait for the session that the killed one had with"
    " the controller.",
    cases=cases,
    lifetime=Lifetime.NONE,
    others_rounds=1,
    servers=BROKERS | {COMPILED},
    prepare_s=0.1,
)
