"""Writes a run down as Markdown: targets, then a table per workload, with what was left out and why."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Spread, significant
from benchmarks.host import BUSY_SHARE_MAX
from benchmarks.metrics import METRICS
from benchmarks.results import Run, read
from benchmarks.targets import judge
from benchmarks.workloads.known import WORKLOADS
from benchmarks.workloads.workload import Scale, Workload

OURS, THEIRS = "Barnabas", "Apache Kafka"
HEADING = """# Benchmarks

Written by `./dev bench --publish`; do not edit. How to run and read it: [performance.md](performance.md).
"""


def write_report(results: Path, docs: Path | None) -> Path:
    """Write results.md and plots beside results.jsonl, and into `docs` if given; return the page's path."""
    from benchmarks.plots import draw

    run = read(results)
    plots = results.parent / "benchmarks"
    shutil.rmtree(plots, ignore_errors=True)
    drawn = draw(run, plots)
    text = markdown(run, {name: f"benchmarks/{path.name}" for name, path in drawn.items()})
    path = results.parent / "results.md"
    path.write_text(text)
    if docs is not None:
        (docs / "benchmarks.md").write_text(text)
        shutil.rmtree(docs / "benchmarks", ignore_errors=True)
        shutil.copytree(plots, docs / "benchmarks")
    return path


def markdown(run: Run, plots: dict[str, str]) -> str:
    """Return the whole page.

    Args:
        plots: workload -> path of its plot, relative to the page.
    """
    lines = [HEADING, *_about(run), *_targets(run)]
    for name, workload in WORKLOADS.items():
        if any(one.workload == name for one in run.results):
            lines += [*_workload(run, workload, plots.get(name)), ""]
    return "\n".join(lines).rstrip() + "\n"


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    """Return a Markdown table; bars inside of cells are escaped."""
    escaped = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in [header, *rows]]
    lines = ["| " + " | ".join(row) + " |" for row in escaped]
    return [lines[0], "|" + "---|" * len(header), *lines[1:]]


def _about(run: Run) -> Iterator[str]:
    yield "## Where and how"
    yield ""
    told = {**run.about.get("host", {}), **run.about.get("settings", {}), **run.about.get("run", {})}
    yield from table(["", ""], [[name, value] for name, value in told.items()])
    yield ""
    remarks = run.about.get("remarks", {})
    servers = run.about.get("servers", {})
    yield from table(
        ["server", "version", "remarks"],
        [[name, version, remarks.get(name, "")] for name, version in servers.items()]
        + [[name, "not measured", reason] for name, reason in run.about.get("unavailable", {}).items()],
    )
    yield ""
    yield (
        "Each figure is the median of the rounds with the lowest and highest in brackets; servers took"
        " turns within every round, brokers other than Barnabas and Apache Kafka in two rounds at most."
        " Ratios are formed within rounds, but for targets that compare two cases of one server, which are"
        " measured one after the other: those are of medians. CPU is user and system time of all of a"
        " server's processes, connecting and TLS handshakes included; peak memory is theirs during the turn."
        " Generators run on the same machine."
    )
    yield ""
    shares = [one.figures["foreign_share"] for one in run.results if "foreign_share" in one.figures]
    if shares:
        disturbed = sum(share > BUSY_SHARE_MAX for share in shares)
        yield (
            f"Other processes used {sorted(shares)[len(shares) // 2]:.0%} of the processors (median over"
            f" {len(shares)} turns; at most {max(shares):.0%}). Above {BUSY_SHARE_MAX:.0%} a turn counts as"
            f" disturbed: {disturbed} were, and the cases they belong to are marked with *."
        )
        yield ""


def _targets(run: Run) -> Iterator[str]:
    yield "## Targets"
    yield ""
    if any(one.figures.get("foreign_share", 0) > BUSY_SHARE_MAX for one in run.results):
        yield "**Other processes disturbed some turns: verdicts on cases marked below are of little worth.**"
        yield ""
    yield from table(
        ["what", "target", "figure", ""],
        [[one.what, one.target, one.figure, one.verdict] for one in judge(run)],
    )
    yield ""


def _workload(run: Run, workload: Workload, plot: str | None) -> Iterator[str]:
    yield f"## {workload.title}"
    yield ""
    yield workload.method
    yield ""
    if plot is not None:
        yield f"![{workload.title}]({plot})"
        yield ""
    figures = {case.name: case.figures for case in workload.cases(Scale())}
    figures |= {case.name: case.figures for case in workload.cases(Scale(is_quick=True))}
    reasons: dict[str, list[str]] = {}
    for name in run.cases(workload.name):
        yield from _case(run, workload.name, name, list(figures.get(name, ())), reasons)
    missing = {
        server: reason
        for server in run.servers()
        if server in workload.servers and (reason := run.reasons(workload.name, "", server))
    }
    for server, reason in missing.items():
        reasons.setdefault(f"{server}: {reason}", []).append("all")
    for reason, cases in reasons.items():
        yield f"- {reason} ({'; '.join(cases)})"


def _case(
    run: Run, workload: str, case: str, metrics: list[str], reasons: dict[str, list[str]]
) -> Iterator[str]:
    key = (workload, case)
    rows = []
    told = [name for name in [*metrics, "peak_mb"] if any(run.by_round(key, s, name) for s in run.servers())]
    told = list(dict.fromkeys(told))
    for server in run.servers():
        if not any(run.by_round(key, server, metric) for metric in told):
            if reason := run.reasons(workload, case, server):
                reasons.setdefault(f"{server}: {reason}", []).append(case)
            continue
        mark = "*" if _is_disturbed(run, key, server) else ""
        ratio = run.ratio(key, OURS, server, told[0]) if server != OURS else None
        cells = [_cell(run.spread(key, server, metric)) for metric in told]
        rows.append([server + mark, *cells, f"{ratio.median:.2f}" if ratio else ""])
    if not rows:
        return
    header = [case, *(f"{METRICS[name].label}, {METRICS[name].unit}".rstrip(", ") for name in told)]
    first = METRICS[told[0]].label if told else ""
    yield from table([*header, f"{OURS}' {first} to it"], rows)
    yield ""


def _is_disturbed(run: Run, key: tuple[str, str], server: str) -> bool:
    shares = run.by_round(key, server, "foreign_share").values()
    return any(share > BUSY_SHARE_MAX for share in shares)


def _cell(found: Spread | None) -> str:
    if found is None:
        return ""
    if found.rounds == 1 or found.low == found.high:
        return significant(found.median)
    return f"{significant(found.median)} ({significant(found.low)}–{significant(found.high)})"
