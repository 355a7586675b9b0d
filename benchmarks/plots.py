"""Draws a workload's first figures as bars, with the spread of the rounds, one PNG per workload.

matplotlib, because it draws without a display and is kept up; left out with a word when it is not installed.
"""

from pathlib import Path

from benchmarks.metrics import METRICS
from benchmarks.results import Run
from benchmarks.workloads.known import WORKLOADS
from benchmarks.workloads.workload import Scale

COLOURS = {
    "Barnabas": "#0b6e4f",
    "Barnabas compiled": "#3da17c",
    "Apache Kafka": "#c0392b",
    "Tansu": "#7d6b91",
    "noida-db": "#b8860b",
    "librdkafka mock": "#5d8aa8",
    "sendfile loop": "#555555",
    "nginx": "#999999",
}
ROW_INCHES = 0.2


def draw(run: Run, folder: Path) -> dict[str, Path]:
    """Draw all workloads of a run; return workload -> file. Nothing without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        print("no plots: matplotlib is not installed")
        return {}
    matplotlib.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {}
    for name in WORKLOADS:
        if run.cases(name):
            drawn[name] = _draw_workload(run, name, folder / f"{name}.png")
    return drawn


def _draw_workload(run: Run, workload: str, path: Path) -> Path:
    from matplotlib import pyplot

    metrics = {case.name: case.figures[0] for case in WORKLOADS[workload].cases(Scale()) if case.figures}
    metrics |= {
        case.name: case.figures[0] for case in WORKLOADS[workload].cases(Scale(is_quick=True)) if case.figures
    }
    cases = [case for case in run.cases(workload) if case in metrics]
    rows = {case: _rows(run, workload, case, metrics[case]) for case in cases}
    cases = [case for case in cases if rows[case]]
    heights = [len(rows[case]) + 1.2 for case in cases] or [1]
    figure, axes = pyplot.subplots(
        len(heights),
        1,
        figsize=(8, ROW_INCHES * sum(heights) + 1.2),
        squeeze=False,
        height_ratios=heights,
        layout="constrained",
    )
    for axis, case in zip(axes[:, 0], cases, strict=False):
        metric = METRICS[metrics[case]]
        better = "more is better" if metric.more_is_better else "less is better"
        names = [name for name, *_ in rows[case]]
        medians = [median for _, median, _, _ in rows[case]]
        errors = [
            [median - low for _, median, low, _ in rows[case]],
            [high - median for _, median, _, high in rows[case]],
        ]
        colours = [COLOURS.get(name, "#333333") for name in names]
        axis.barh(
            range(len(names)), medians, xerr=errors, color=colours, height=0.75, error_kw={"linewidth": 0.8}
        )
        axis.set_yticks(range(len(names)), names, fontsize=7)
        axis.invert_yaxis()
        axis.tick_params(axis="x", labelsize=7)
        axis.set_title(f"{case}: {metric.label}, {metric.unit} ({better})", fontsize=8, loc="left")
        axis.spines[["top", "right"]].set_visible(False)
    host = run.about.get("host", {})
    figure.suptitle(
        f"{WORKLOADS[workload].title} · {host.get('processor', '')} · {host.get('commit', '')}", fontsize=8
    )
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return path


def _rows(run: Run, workload: str, case: str, metric: str) -> list[tuple[str, float, float, float]]:
    found = []
    for server in run.servers():
        spread = run.spread((workload, case), server, metric)
        if spread is not None:
            found.append((server, spread.median, spread.low, spread.high))
    return found
