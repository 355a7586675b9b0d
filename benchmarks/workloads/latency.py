"""End-to-end latency: from when a record was due to be sent to when librdkafka's consumer hands it out."""

from benchmarks.asking import Asker
from benchmarks.brokers.server import Server
from benchmarks.generators import LoadError, librdkafka
from benchmarks.workloads.workload import BROKERS, COMPILED, Case, Figures, Scale, Turn, Workload

RATES = (1_000, 20_000)
VALUE_BYTES = 100
SECONDS_FACTOR = 1.5
CASE = "{:,} records/s"


def prepare(server: Server, _scale: Scale) -> None:
    """Make the topics."""
    with Asker(server.port) as asker:
        for rate in RATES:
            asker.make_topic(f"latency-{rate}")


def run(turn: Turn, rate: int) -> Figures:
    """Send by the clock and consume."""
    found = librdkafka(
        "latency",
        turn.server.bootstrap,
        f"latency-{rate}",
        turn.scale.seconds * SECONDS_FACTOR,
        VALUE_BYTES,
        rate,
        **{"producer.linger.ms": 0, "producer.acks": "all"},
    )
    if found["not_arrived"]:
        raise LoadError(f"{found['not_arrived']:.0f} records did not arrive within 10 s of the last one")
    return {name: found[name] for name in ("p50_us", "p99_us", "p999_us")} | {"requests": found["records"]}


def cases(scale: Scale) -> list[Case]:
    """Return the cases."""
    made = []
    for rate in RATES:

        def go(turn: Turn, rate: int = rate) -> Figures:
            return run(turn, rate)

        made.append(
            Case(
                name=CASE.format(rate),
                run=go,
                figures=("p50_us", "p99_us", "p999_us", "cpu_us_per_request"),
                seconds=scale.seconds * SECONDS_FACTOR + 1.8,
            )
        )
    return made


WORKLOAD = Workload(
    name="latency",
    title="End-to-end latency",
    method="rdkafka.c: one producer (linger.ms 0, acks=all) and one consumer (defaults) of one partition"
    " in one process, records of 100 bytes, due by the clock; a latency counts from when its record"
    " was due (open loop), so a stall is felt by all that it delays. The client's own threads are"
    " part of it, the same for all brokers.",
    cases=cases,
    prepare=prepare,
    others_rounds=2,
    servers=BROKERS | {COMPILED},
)
