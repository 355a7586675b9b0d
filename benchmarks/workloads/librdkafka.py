"""Producing and consuming with librdkafka: what an application gets."""

from benchmarks.asking import Asker
from benchmarks.brokers.server import Server
from benchmarks.generators import librdkafka
from benchmarks.workloads.workload import Case, Figures, Scale, Turn, Workload

VALUE_SIZES = (100, 1024)
MODES: dict[str, dict[str, str]] = {
    "acks=1": {"acks": "1"},
    "acks=all": {"acks": "all"},
    "idempotent": {"enable.idempotence": "true"},
}
CONSUME_BYTES = 192_000_000
FILL_S = 30
CONSUMER = {"fetch.message.max.bytes": "8388608", "queued.max.messages.kbytes": "262144"}
"""As for bulk reading; the defaults read a MiB at a time."""


def prepare(server: Server, scale: Scale) -> dict[int, int]:
    """Make the topics and write what is to be consumed; return the records by their size."""
    with Asker(server.port) as asker:
        for size in VALUE_SIZES:
            asker.make_topic(f"produced-{size}")
            asker.make_topic(f"consumed-{size}")
    wanted = CONSUME_BYTES // (4 if scale.is_quick else 1)
    return {size: written(server, size, wanted // size) for size in VALUE_SIZES}


def written(server: Server, size: int, wanted: int) -> int:
    """Fill a topic by librdkafka, for at most a while; return how many records are in it."""
    total = 0
    for _ in range(FILL_S):
        made = librdkafka("produce", server.bootstrap, f"consumed-{size}", 1, size, acks=1)
        total += int(made["records"])
        if total >= wanted:
            break
    return total


def produce(turn: Turn, size: int, mode: str) -> Figures:
    """Produce as fast as librdkafka can."""
    found = librdkafka(
        "produce", turn.server.bootstrap, f"produced-{size}", turn.scale.seconds, size, **MODES[mode]
    )
    return told(found, size)


def consume(turn: Turn, size: int) -> Figures:
    """Consume from the first offset."""
    assert isinstance(turn.kept, dict)
    wanted = turn.kept[size]
    found = librdkafka(
        "consume", turn.server.bootstrap, f"consumed-{size}", turn.scale.seconds * 3, wanted, **CONSUMER
    )
    return told(found, size)


def told(found: Figures, size: int) -> Figures:
    """Return a generator's figures as the harness names them."""
    return {
        "megabytes_per_second": found["megabytes_per_second"],
        "records_per_second": found["records_per_second"],
        "gigabytes": found["records"] * size / 1e9,
        "client_cpu_s_per_gb": found["cpu_s"] / (found["records"] * size / 1e9),
    }


def cases(scale: Scale) -> list[Case]:
    """Return the cases."""
    figures = ("megabytes_per_second", "records_per_second", "cpu_s_per_gb", "client_cpu_s_per_gb")
    made = []
    for size in VALUE_SIZES:

        def read(turn: Turn, size: int = size) -> Figures:
            return consume(turn, size)

        made.append(
            Case(
                name=f"consume, {size} bytes",
                run=read,
                figures=figures,
                seconds=scale.seconds + 0.4,
                warm_up=False,
            )
        )
        for mode in MODES:
            if scale.is_quick and mode == "acks=all":
                continue

            def write(turn: Turn, size: int = size, mode: str = mode) -> Figures:
                return produce(turn, size, mode)

            made.append(
                Case(
                    name=f"produce, {size} bytes, {mode}",
                    run=write,
                    figures=figures,
                    seconds=scale.seconds + 0.6,
                    warm_up=False,
                )
            )
    return made


WORKLOAD = Workload(
    name="librdkafka",
    title="librdkafka",
    method="rdkafka.c on the librdkafka of confluent-kafka's wheel: one producer or consumer of one"
    " partition, default settings but for what is named (consumers fetch up to 8 MiB at once), no"
    " compression, random values. Produced is what was acknowledged, with the time until the last"
    " acknowledgement; what is consumed lies in the page cache.",
    cases=cases,
    prepare=prepare,
    prepare_s=6,
)
