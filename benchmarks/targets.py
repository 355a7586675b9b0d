"""The project's targets as ratios and bounds within one run, and whether this run met them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.brokers.server import Transport
from benchmarks.figures import Spread, significant
from benchmarks.results import Key, Run
from benchmarks.workloads import (
    cold_reads,
    large_fetches,
    latency,
    librdkafka,
    lifecycle,
    many_partitions,
    small_requests,
    waiting,
)

OURS, COMPILED, THEIRS, FLOOR = "Barnabas", "Barnabas compiled", "Apache Kafka", "sendfile loop"
MIB = 1 << 20
KIB = 1024
MET, MISSED, UNKNOWN = "met", "missed", "not measured"
PARKED_CPU_S = 0.1
WAKE_P99_US = 2_000
FIRST_WAKE_US = 1_000
LAST_WAKE_US = 300_000
WAITING_BYTES = 1.5 * KIB
START_S = 0.15
REST_MB = 35
RECOVERY_S_PER_GIB = 0.30
HOT_P99_FACTOR = 2
SESSION_FACTOR = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A row of the table of targets."""

    what: str
    target: str
    figure: str
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One figure that a target speaks of, from one case."""

    value: float
    where: str


def judge(run: Run) -> list[Judged]:
    """Return all targets with what this run found; of several cases the worst one decides."""
    return list(_judged(run))


def _judged(run: Run) -> Iterator[Judged]:
    yield from _large(run)
    yield from _clients(run)
    yield from _small(run)
    yield from _latency(run)
    yield from _waiting(run)
    yield from _others(run)


def row(
    what: str, found: list[Found], bound: float, *, at_least: bool, unit: str = "x", beside: str = ""
) -> Judged:
    """Return a row that compares figures with a bound.

    Args:
        at_least: whether the bound is a lower one.
        beside: what to tell beside the figure.
    """
    target = f"{'>=' if at_least else '<='} {significant(bound)}{unit}"
    if not found:
        return Judged(what=what, target=target, figure="", verdict=UNKNOWN)
    worst = (min if at_least else max)(found, key=lambda one: one.value)
    is_met = worst.value >= bound if at_least else worst.value <= bound
    figure = f"{significant(worst.value)}{unit} ({worst.where})" + (f"; {beside}" if beside else "")
    if len(found) > 1:
        met = sum(one.value >= bound if at_least else one.value <= bound for one in found)
        figure += f"; {met} of {len(found)} cases meet it"
    return Judged(what=what, target=target, figure=figure, verdict=MET if is_met else f"**{MISSED}**")


def ratios(
    run: Run, workload: str, cases: list[str], other: str, metric: str, *, ours: str = OURS
) -> list[Found]:
    """Return ours to another's by case, where both were measured."""
    found: list[Found] = []
    for case in cases:
        ratio: Spread | None = run.ratio((workload, case), ours, other, metric)
        if ratio is not None:
            found.append(Found(value=ratio.median, where=f"{case}, against {other}"))
    return found


def medians(run: Run, key: Key, metric: str, scale: float = 1) -> list[Found]:
    """Return our median of a figure as a list of one, or of none."""
    value = run.median(key, OURS, metric)
    return [] if value is None else [Found(value=value * scale, where=key[1])]


def beside(run: Run, key: Key, metric: str, unit: str, scale: float = 1) -> str:
    """Return Apache Kafka's figure for the reader."""
    value = run.median(key, THEIRS, metric)
    return "" if value is None else f"{THEIRS} {significant(value * scale)}{unit}"


def selected(run: Run, workload: str, chosen: Callable[[str], bool]) -> list[str]:
    """Return a workload's cases of some kind."""
    return [case for case in run.cases(workload) if chosen(case)]


def _large(run: Run) -> Iterator[Judged]:
    name = large_fetches.WORKLOAD.name
    plain = selected(run, name, lambda case: f", {Transport.PLAIN.value}," in case)
    tls = selected(run, name, lambda case: f", {Transport.TLS.value}," in case)
    yield row(
        "large fetch, plaintext: throughput to the sendfile loop's",
        ratios(run, name, plain, FLOOR, "gigabytes_per_second"), 0.85, at_least=True,
    )  # fmt: skip
    yield row(
        "large fetch, plaintext: CPU per GB to the sendfile loop's",
        ratios(run, name, plain, FLOOR, "cpu_s_per_gb"), 1.3, at_least=False,
    )  # fmt: skip
    yield row(
        f"large fetch, plaintext: CPU per GB to {THEIRS}'s",
        ratios(run, name, plain, THEIRS, "cpu_s_per_gb"), 0.5, at_least=False,
    )  # fmt: skip
    yield row(
        f"large fetch, TLS: CPU per GB to {THEIRS}'s",
        ratios(run, name, tls, THEIRS, "cpu_s_per_gb"), 0.8, at_least=False,
    )  # fmt: skip


def _clients(run: Run) -> Iterator[Judged]:
    name = librdkafka.WORKLOAD.name
    others = [server for server in run.servers() if server not in (OURS, COMPILED, THEIRS)]
    for kind in ("consume", "produce"):
        cases = selected(run, name, lambda case, kind=kind: case.startswith(kind))  # type: ignore[misc]
        yield row(
            f"librdkafka {kind} MB/s to {THEIRS}'s",
            ratios(run, name, cases, THEIRS, "megabytes_per_second"), 1.0, at_least=True,
        )  # fmt: skip
        each = [one for other in others for one in ratios(run, name, cases, other, "megabytes_per_second")]
        yield row(f"librdkafka {kind} MB/s to each other broker's", each, 1.0, at_least=True)


def _small(run: Run) -> Iterator[Judged]:
    name = small_requests.WORKLOAD.name
    for kind, kinds, pure, compiled in (("fetch", "fetches", 0.5, 0.75), ("produce", "produces", 0.4, 0.6)):
        cases = selected(run, name, lambda case, kind=kind: kind in case and "16 conn" in case)  # type: ignore[misc]
        for ours, built, of_floor in ((OURS, "pure", pure), (COMPILED, "compiled", compiled)):
            what = f"small {kinds}/s, 16 connections, {built}"
            yield row(
                f"{what}, to {THEIRS}'s",
                ratios(run, name, cases, THEIRS, "per_second", ours=ours), 1.5, at_least=True,
            )  # fmt: skip
            yield row(
                f"{what}, to the C floor's",
                ratios(run, name, cases, FLOOR, "per_second", ours=ours), of_floor, at_least=True,
            )  # fmt: skip


def _latency(run: Run) -> Iterator[Judged]:
    case = latency.CASE.format(latency.RATES[0])
    for metric in ("p50_us", "p99_us"):
        yield row(
            f"end-to-end latency at 1,000 records/s, {metric[:3]}, to {THEIRS}'s",
            ratios(run, latency.WORKLOAD.name, [case], THEIRS, metric), 0.5, at_least=False,
        )  # fmt: skip


def _waiting(run: Run) -> Iterator[Judged]:
    name, count = waiting.WORKLOAD.name, f"{waiting.PARKED:,}"
    parked = (name, waiting.PARKED_CASE.format(count))
    woken = (name, waiting.WAKE_ALL_CASE.format(count))
    for what, key, metric, bound, unit, scale in (
        (f"{count} parked fetches: CPU in 30 s", parked, "cpu_s_in_30_s", PARKED_CPU_S, " s", 1.0),
        (f"{count} parked fetches: wake p99", parked, "p99_us", WAKE_P99_US / 1e3, " ms", 1e-3),
        ("memory per parked fetch", parked, "bytes_each", WAITING_BYTES / KIB, " KiB", 1 / KIB),
        ("memory per idle connection", parked, "connection_bytes_each", WAITING_BYTES / KIB, " KiB", 1 / KIB),
        (f"one append wakes {count}: first answer", woken, "first_us", FIRST_WAKE_US / 1e3, " ms", 1e-3),
        (f"one append wakes {count}: last answer", woken, "last_us", LAST_WAKE_US / 1e3, " ms", 1e-3),
    ):
        yield row(
            what, medians(run, key, metric, scale), bound,
            at_least=False, unit=unit, beside=beside(run, key, metric, unit, scale),
        )  # fmt: skip


def within(run: Run, key: Key, base: str, server: str, metric: str) -> float | None:
    """Return one server's figure in a case to its own in another, by their medians."""
    of, to = run.median(key, server, metric), run.median((key[0], base), server, metric)
    return of / to if of is not None and to else None


def _within_row(run: Run, key: Key, base: str, *, what: str, metric: str, bound: float) -> Judged:
    ours = within(run, key, base, OURS, metric)
    theirs = within(run, key, base, THEIRS, metric)
    found = [] if ours is None else [Found(value=ours, where=key[1])]
    told = "" if theirs is None else f"{THEIRS} {significant(theirs)}x"
    return row(what, found, bound, at_least=False, beside=told)


def _others(run: Run) -> Iterator[Judged]:
    small, large = (many_partitions.SESSION_CASE.format(size) for size in many_partitions.SESSION_SIZES)
    yield _within_row(
        run,
        (many_partitions.WORKLOAD.name, large),
        small,
        what="1,000-partition session, one hot: CPU per fetch to that of a session of 1",
        metric="cpu_us_per_request",
        bound=SESSION_FACTOR,
    )
    for case in (cold_reads.WARM_CASE, cold_reads.COLD_CASE):
        yield _within_row(
            run,
            (cold_reads.WORKLOAD.name, case),
            cold_reads.ALONE_CASE,
            what=f"hot p99 {case} to that alone",
            metric="p99_us",
            bound=HOT_P99_FACTOR,
        )
    start = (lifecycle.WORKLOAD.name, lifecycle.START_CASE)
    recovery = (lifecycle.WORKLOAD.name, lifecycle.RECOVERY_CASE)
    for what, key, metric, bound, unit in (
        ("start", start, "start_s", START_S, " s"),
        ("memory at rest", start, "resident_mb", REST_MB, " MB"),
        ("recovery of a page-cached log, per GiB", recovery, "seconds_per_gib", RECOVERY_S_PER_GIB, " s"),
    ):
        yield row(
            what, medians(run, key, metric), bound,
            at_least=False, unit=unit, beside=beside(run, key, metric, unit),
        )  # fmt: skip
