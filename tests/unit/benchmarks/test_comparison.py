"""The order of turns, and that whatever a server does to a turn, the others have theirs."""

import signal
from pathlib import Path

import pytest

from benchmarks.brokers.server import Server
from benchmarks.comparison import Comparison, brief, estimate_s, limited
from benchmarks.results import Result, Writer, read
from benchmarks.workloads.workload import (
    Case,
    Figures,
    Lifetime,
    Scale,
    SkipError,
    Turn,
    Workload,
)

THREE_ROUNDS = Scale(rounds=3)


class Resting(Server):
    """A server that is no process."""

    def __init__(self, directory: Path, overrides: object = None) -> None:
        super().__init__(directory)


class First(Resting):
    name = "Barnabas"


class Second(Resting):
    name = "Apache Kafka"


class Other(Resting):
    name = "Tansu"


def workload(run: object, **options: object) -> Workload:
    def cases(_scale: Scale) -> list[Case]:
        case = Case(name="case", run=run, figures=("seconds",), seconds=2.0)  # type: ignore[arg-type]
        return [case]

    settings = {"others_rounds": 1, **options}
    return Workload(
        name="work",
        title="Work",
        method="",
        cases=cases,
        lifetime=Lifetime.NONE,
        **settings,  # type: ignore[arg-type]
    )


def compare(tmp_path: Path, work: Workload, scale: Scale = THREE_ROUNDS) -> list[Result]:
    writer = Writer(tmp_path / "results.jsonl", {})
    Comparison([First, Second, Other], tmp_path, scale, writer, lambda _line: None).run([work])
    writer.close()
    return read(tmp_path / "results.jsonl").results


def test_the_others_stand_still_in_a_servers_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moving: set[str] = set()
    monkeypatch.setattr(Server, "is_running", True)
    monkeypatch.setattr(Second, "may_pause", False)

    def note(server: Server, number: signal.Signals) -> None:
        (moving.discard if number is signal.SIGSTOP else moving.add)(server.name)

    monkeypatch.setattr(Server, "_signal", note)
    seen: list[tuple[str, set[str]]] = []

    def run(turn: Turn) -> Figures:
        seen.append((turn.server.name, set(moving)))
        if turn.number == 0:
            raise RuntimeError("a turn that fails is over as well")
        return {"seconds": 1.0}

    moving.update(("Barnabas", "Apache Kafka", "Tansu"))
    compare(tmp_path, workload(run))
    assert {name for name, _ in seen} == {"Barnabas", "Apache Kafka", "Tansu"}
    assert all(moved == {name, "Apache Kafka"} for name, moved in seen), seen
    assert moving == {"Barnabas", "Apache Kafka", "Tansu"}


def test_servers_take_turns_and_the_order_turns_too(tmp_path: Path) -> None:
    order: list[tuple[str, int]] = []

    def run(turn: Turn) -> Figures:
        order.append((turn.server.name, turn.number))
        return {"seconds": 1.0}

    results = compare(tmp_path, workload(run))
    assert order == [
        ("Tansu", -1), ("Apache Kafka", -1), ("Barnabas", -1),
        ("Barnabas", 0), ("Apache Kafka", 0), ("Tansu", 0),
        ("Apache Kafka", 1), ("Barnabas", 1),
        ("Barnabas", 2), ("Apache Kafka", 2),
    ]  # fmt: skip
    assert [(one.server, one.number) for one in results] == order[3:]


def test_a_quick_run_has_no_uncounted_turns_and_fewer_of_others(tmp_path: Path) -> None:
    results = compare(tmp_path, workload(lambda _turn: {}), Scale(rounds=1, is_quick=True))
    assert [(one.server, one.number) for one in results] == [("Barnabas", 0), ("Apache Kafka", 0)]


@pytest.mark.parametrize(
    ("error", "skipped", "failed"),
    [(SkipError("cannot"), "cannot", ""), (ZeroDivisionError("oh"), "", "ZeroDivisionError: oh")],
)
def test_what_goes_wrong_is_written_down_once_and_the_others_go_on(
    tmp_path: Path, error: Exception, skipped: str, failed: str
) -> None:
    def run(turn: Turn) -> Figures:
        if turn.server.name == "Apache Kafka" and turn.number == 1:
            raise error
        return {"seconds": 1.0}

    results = compare(tmp_path, workload(run))
    assert [one.number for one in results if one.server == "Barnabas"] == [0, 1, 2]
    theirs = [one for one in results if one.server == "Apache Kafka"]
    assert [(one.number, one.skipped, one.failed) for one in theirs] == [(0, "", ""), (0, skipped, failed)]


def test_a_server_that_cannot_prepare_takes_no_turn(tmp_path: Path) -> None:
    def prepare(server: Server, _scale: Scale) -> None:
        if server.name == "Barnabas":
            raise SkipError("no topics")

    results = compare(tmp_path, workload(lambda _turn: {}, prepare=prepare))
    assert [(one.case, one.skipped) for one in results if one.server == "Barnabas"] == [("", "no topics")]
    assert sum(one.server == "Apache Kafka" for one in results) == 3


def test_the_estimate_counts_turns() -> None:
    work = workload(lambda _turn: {}, prepare_s=10.0)
    one_turn_s = 2.0 + 0.35
    expected = 6 + 2 * (10 + 4 * one_turn_s) + 10 + 2 * one_turn_s
    assert estimate_s([work], [First, Second, Other], THREE_ROUNDS) == pytest.approx(expected)


def test_what_takes_too_long_is_ended() -> None:
    with pytest.raises(TimeoutError, match="took longer than 0 s"), limited(0.01):
        signal.pause()


def test_a_limit_leaves_no_alarm_behind() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with limited(5):
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    assert signal.getsignal(signal.SIGALRM) == before


def test_reasons_are_one_line_and_not_long() -> None:
    assert brief("a\n  b") == "a b"
    assert len(brief("x" * 1000)) == 300
    assert brief(f"{Path.home()}/.cache/load ended") == "~/.cache/load ended"
