"""What is written of a run is read back, also when it was cut short; tables and targets follow from it."""

from pathlib import Path

import pytest

from benchmarks.report import markdown, table
from benchmarks.results import Result, Run, Writer, read
from benchmarks.targets import MET, UNKNOWN, judge
from benchmarks.workloads import lifecycle, small_requests

SMALL = small_requests.WORKLOAD.name
FETCH_16 = "tiny fetch, 16 connections"
ABOUT = {
    "host": {"processor": "2 x abacus", "commit": "0123456789ab"},
    "servers": {"Barnabas": "1 pure Python", "Apache Kafka": "4.4.0", "sendfile loop": "floor.c"},
    "remarks": {"Apache Kafka": "-Xmx1G"},
    "unavailable": {"nginx": "not installed"},
}


def small(server: str, number: int, per_second: float, foreign_share: float = 0.01) -> Result:
    figures = {"per_second": per_second, "p50_us": 10.0, "foreign_share": foreign_share}
    return Result(workload=SMALL, case=FETCH_16, server=server, number=number, figures=figures)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A run of two rounds, in which one server was skipped and one failed."""
    path = tmp_path / "results.jsonl"
    writer = Writer(path, ABOUT)
    for number, (ours, theirs, floor) in enumerate([(60.0, 30.0, 100.0), (80.0, 50.0, 110.0)]):
        writer.add(small("Barnabas", number, ours))
        writer.add(small("Apache Kafka", number, theirs, foreign_share=0.5))
        writer.add(small("sendfile loop", number, floor))
    writer.add(Result(workload=SMALL, case="", server="noida-db", failed="it | fell"))
    writer.add(Result(workload=lifecycle.WORKLOAD.name, case="", server="Apache Kafka", skipped="no"))
    writer.add_about({"run": {"took": "2 minutes"}})
    writer.close()
    return path


def verdicts(run: Run) -> dict[str, str]:
    return {one.what: one.verdict for one in judge(run)}


def test_a_run_is_read_back(path: Path) -> None:
    run = read(path)
    assert run.about == {**ABOUT, "run": {"took": "2 minutes"}}
    assert run.cases(SMALL) == [FETCH_16]
    assert run.by_round((SMALL, FETCH_16), "Barnabas", "per_second") == {0: 60.0, 1: 80.0}
    assert run.median((SMALL, FETCH_16), "Barnabas", "per_second") == 70.0
    assert run.median((SMALL, FETCH_16), "Barnabas", "p99_us") is None
    assert run.reasons(SMALL, FETCH_16, "noida-db") == "failed: it | fell"
    assert run.reasons(SMALL, FETCH_16, "Barnabas") == ""


def test_a_run_that_was_cut_short_is_read_up_to_there(path: Path) -> None:
    whole = read(path)
    text = path.read_text()
    path.write_text(text[: text.index('"number": 1') + 5])
    cut = read(path)
    assert 0 < len(cut.results) < len(whole.results)
    assert cut.results == whole.results[: len(cut.results)]


def test_a_table_escapes_bars() -> None:
    assert table(["a", "b"], [["1|2", "x\ny"]]) == ["| a | b |", "|---|---|", "| 1\\|2 | x y |"]


def test_the_page_tells_figures_spread_ratio_and_what_is_missing(path: Path) -> None:
    page = markdown(read(path), {SMALL: "benchmarks/small.png"})
    # Ratios of the rounds are 2 and 1.6.
    assert "| Barnabas | 70.0 (60.0–80.0) | 10.0 |  |" in page
    assert "| Apache Kafka* | 40.0 (30.0–50.0) | 10.0 | 1.80 |" in page
    assert "![Small requests](benchmarks/small.png)" in page
    assert "| nginx | not measured | not installed |" in page
    assert "2 were" in page  # disturbed turns


def test_targets_are_judged_by_ratios_within_rounds(path: Path) -> None:
    found = {one.what: one for one in judge(read(path))}
    against_kafka = found["small fetches/s, 16 connections, pure, to Apache Kafka's"]
    assert against_kafka.verdict == MET
    assert against_kafka.figure.startswith("1.80x")
    floor = found["small fetches/s, 16 connections, pure, to the C floor's"]
    assert (floor.target, floor.verdict) == (">= 0.500x", MET)
    assert found["start"].verdict == UNKNOWN


def test_a_missed_target_is_told(path: Path) -> None:
    run = read(path)
    slow = [small("Barnabas", 0, 30.0)]
    others = [one for one in run.results if one.server != "Barnabas"]
    told = verdicts(Run(about=run.about, results=slow + others))
    assert told["small fetches/s, 16 connections, pure, to Apache Kafka's"] == "**missed**"


def test_a_compiled_build_is_judged_by_figures_of_its_own(path: Path) -> None:
    run = read(path)
    compiled = [small("Barnabas compiled", 0, 170.0)]
    found = {one.what: one for one in judge(Run(about=run.about, results=[*run.results, *compiled]))}
    floor = found["small fetches/s, 16 connections, compiled, to the C floor's"]
    assert floor.target == ">= 0.750x"
    assert floor.figure != found["small fetches/s, 16 connections, pure, to the C floor's"].figure
