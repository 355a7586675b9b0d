"""An explanation as people see it: the lines below the steps, and the table for a terminal."""

import io
from pathlib import Path
from typing import Any

import click
import pytest

from barnabas.cli.explain import output as explain_output
from barnabas.cli.explain.command import SessionName
from barnabas.cli.explain.output import answer_lines, print_explanation
from barnabas.cli.explain.source import explain_directory
from barnabas.cli.root import CommandFailed
from barnabas.cli.serve_options import ServeOptions
from barnabas.storage.loading.directory_loading import LogManagerError

ANSWER: dict[str, Any] = {
    "answer": "now",
    "reason": "min_bytes reached",
    "error_code": 0,
    "error": "NONE",
    "high_watermark": 30,
    "last_stable_offset": 20,
    "log_start_offset": 10,
    "aborted_transactions": None,
    "diverging_epoch": None,
    "preferred_read_replica": -1,
    "records": {"file": "/d/t-0/0.log", "position": 5, "length": 7},
}
EXPLANATION: dict[str, Any] = {
    "source": {"kind": "broker", "path": "/d"},
    "notes": ["a note [in brackets]"],
    "request": {"topic": "t", "partition": 0, "offset": 12, "version": 18, "isolation": "read_committed"},
    "steps": [{"step": "leader_epoch", "rule": "F11", "text": "not [compared]", "facts": {}}],
    "answer": ANSWER,
}


def test_records_and_offsets() -> None:
    assert answer_lines(ANSWER) == [
        "Answer: now (min_bytes reached), with:",
        "  offsets  high watermark 30, last stable 20, log start 10",
        "  records  7 bytes from byte 5 of /d/t-0/0.log",
    ]


def test_a_fetch_that_waits_and_what_is_not_in_the_answer() -> None:
    lines = answer_lines({**ANSWER, "answer": "park", "reason": None, "records": None, "in_response": False})
    assert lines[0] == "Answer: not now; unless something changes, at the time-out with:"
    assert lines[-2:] == [
        "  records  none",
        "  the partition itself is left out of the answer: nothing is new",
    ]


def test_errors_aborted_transactions_and_diverging_histories() -> None:
    failed = answer_lines(
        {"answer": "now", "reason": "x", "error_code": 70, "error": "FETCH_SESSION_ID_NOT_FOUND"}
    )
    assert failed == ["Answer: now (x), with:", "  error    FETCH_SESSION_ID_NOT_FOUND (70)"]
    aborted = [{"producer_id": 7, "first_offset": 3}, {"producer_id": 8, "first_offset": 4}]
    lines = answer_lines({**ANSWER, "aborted_transactions": aborted, "diverging_epoch": [2, 11]})
    assert "  aborted  producer 7 from 3, producer 8 from 4" in lines
    assert "  diverges at the end of epoch 2, offset 11" in lines


@pytest.mark.parametrize("is_terminal", [False, True])
def test_the_whole_of_it(is_terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class Output(io.StringIO):
        def isatty(self) -> bool:
            return is_terminal

    output = Output()
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(explain_output.sys, "stdout", output)
    print_explanation(EXPLANATION)
    shown = click.unstyle(output.getvalue())
    for words in (
        "Fetch v18 of t-0 at offset 12, read_committed, from the broker on /d",
        "(a note [in brackets])",
        "leader epoch",
        "not [compared]",
        "records  7 bytes from byte 5 of /d/t-0/0.log",
    ):
        assert words in shown


@pytest.mark.parametrize("text", ["7", "x:1", "1:y", ":", ""])
def test_a_session_is_two_numbers(text: str) -> None:
    kind = SessionName()
    with pytest.raises(click.BadParameter, match="is not ID:EPOCH"):
        kind.convert(text, None, None)
    assert kind.convert("7:-1", None, None) == (7, -1)


def test_files_that_a_broker_takes_away_meanwhile_are_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []

    def view(*args: object, **options: object) -> None:
        looks.append(args)
        raise LogManagerError("gone") from FileNotFoundError("00000000000000000000.log")

    monkeypatch.setattr("barnabas.server.directory_view.view_partition", view)
    options = ServeOptions(overrides=(f"log.dirs={tmp_path}",))
    with pytest.raises(CommandFailed, match="gone"):
        explain_directory(options, {"topic": "t", "partition": 0, "offset": 0})
    assert len(looks) > 1
