"""Apache Kafka's own kafka-producer-perf-test and kafka-consumer-perf-test: the Java clients' view."""

import re
import subprocess
from collections.abc import Callable

from benchmarks.asking import Asker
from benchmarks.brokers.server import Server
from benchmarks.generators import GRACE_S, LoadError
from benchmarks.programs import UnavailableError
from benchmarks.workloads.workload import Case, Figures, Scale, Turn, Workload
from tests import toolchain

PRODUCER = "org.apache.kafka.tools.ProducerPerformance"
CONSUMER = "org.apache.kafka.tools.ConsumerPerformance"
HEAP = "-Xmx512m"
"""As the scripts give their tools."""
RECORDS = {100: 600_000, 1024: 150_000}
WARM_UP_SHARE = 0.25
MIB = 1 << 20
CONSUMER_TIMEOUT_MS = 15_000
SERVERS = frozenset({"Barnabas", "Apache Kafka"})
_SENT = re.compile(r"(\d+) records sent, ([\d.]+) records/sec")


def records(size: int, scale: Scale) -> int:
    """Return how many records go through in a turn."""
    return RECORDS[size] // (3 if scale.is_quick else 1)


def prepare(server: Server, scale: Scale) -> None:
    """Make the topics; the producer's first turns fill what the consumers read."""
    try:
        toolchain.kafka_classpath()
    except toolchain.ToolchainMissingError as missing:
        raise UnavailableError(str(missing)) from None
    with Asker(server.port) as asker:
        for size in RECORDS:
            asker.make_topic(f"perf-{size}")
    _ = scale


def run_tool(main_class: str, *arguments: object) -> str:
    """Run a tool; return what it printed.

    Raises:
        LoadError: it ended with an error, or not in time.
    """
    command = [toolchain.java_command(), HEAP, "-cp", toolchain.kafka_classpath(), main_class]
    try:
        done = subprocess.run(
            [*command, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=GRACE_S
        )
    except subprocess.TimeoutExpired:
        raise LoadError(f"{main_class} did not end within {GRACE_S} s") from None
    if done.returncode != 0:
        raise LoadError(f"{main_class} ended with {done.returncode}: {done.stderr.strip()[-200:]}")
    return done.stdout


def produce(turn: Turn, size: int) -> Figures:
    """Produce with the Java producer, which is idempotent unless told otherwise."""
    count = records(size, turn.scale)
    said = run_tool(
        PRODUCER, "--bootstrap-server", turn.server.bootstrap, "--topic", f"perf-{size}",
        "--num-records", count, "--record-size", size, "--throughput", -1,
        "--warmup-records", int(count * WARM_UP_SHARE),
    )  # fmt: skip
    sent = _SENT.findall(said)
    if not sent:
        raise LoadError(f"the producer said {said[-200:]!r}")
    per_second = float(sent[-1][1])
    return {
        "megabytes_per_second": per_second * size / 1e6,
        "records_per_second": per_second,
        "gigabytes": count * size / 1e9,
    }


def consume(turn: Turn, size: int) -> Figures:
    """Consume with the Java consumer in a new group, counted from when it has its partition."""
    count = records(size, turn.scale)
    said = run_tool(
        CONSUMER, "--bootstrap-server", turn.server.bootstrap, "--topic", f"perf-{size}",
        "--num-records", count, "--group", f"perf-{size}-{turn.number}",
        "--timeout", CONSUMER_TIMEOUT_MS, "--hide-header",
    )  # fmt: skip
    fields = [field.strip() for field in said.strip().splitlines()[-1].split(",")]
    if len(fields) < 10 or int(fields[4]) < count:
        raise LoadError(f"of {count} records arrived: {said.strip()[-200:]!r}")
    return {
        "megabytes_per_second": float(fields[8]) * MIB / 1e6,
        "records_per_second": float(fields[9]),
        "gigabytes": count * size / 1e9,
    }


def cases(scale: Scale) -> list[Case]:
    """Return the cases."""
    figures = ("megabytes_per_second", "records_per_second", "cpu_s_per_gb")
    made = []
    for size in RECORDS:
        for name, work in (("produce", produce), ("consume", consume)):

            def go(turn: Turn, size: int = size, work: Callable[[Turn, int], Figures] = work) -> Figures:
                return work(turn, size)

            made.append(
                Case(
                    name=f"{name}, {size} bytes",
                    run=go,
                    figures=figures,
                    seconds=3 if scale.is_quick else 4.5,
                    warm_up=False,
                )
            )
    return made


WORKLOAD = Workload(
    name="kafka-tools",
    title="Apache Kafka's performance tools",
    method="kafka-producer-perf-test with its defaults (idempotent, acks=all; the first quarter of the"
    " records is warm-up and not counted) and kafka-consumer-perf-test, which is in a group; one"
    " partition. A JVM starts for each turn, so both measure a client that is not warm for long.",
    cases=cases,
    prepare=prepare,
    servers=SERVERS,
)
