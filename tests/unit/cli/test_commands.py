"""Help, wrong calls, tables, progress: what needs no broker."""

import io
import sys
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from barnabas import __version__
from barnabas.base.errors import ErrorCode
from barnabas.cli.client.errors import BrokerError
from barnabas.cli.main import main
from barnabas.cli.output import Column, counted, plain_table
from barnabas.cli.progress import Progress, size_text
from barnabas.cli.root import root

UNREACHABLE = ["-b", "127.0.0.1:1", "--timeout", "0.1"]


def test_version() -> None:
    assert CliRunner().invoke(root, ["--version"]).output == f"barnabas, version {__version__}\n"


def command_lines(command: click.Command, line: str = "") -> Iterator[str]:
    yield line
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from command_lines(inner, f"{line} {name}")


@pytest.mark.parametrize("line", list(command_lines(root)))
def test_every_command_has_help(line: str) -> None:
    result = CliRunner().invoke(root, [*line.split(), "--help"])
    assert result.exit_code == 0
    assert result.output.startswith("Usage: ")


@pytest.mark.parametrize(
    "line",
    [
        "bogus",
        "topics create",
        "topics create t --partitions 0",
        "topics create t --config nonsense",
        "topics list -b [::1",
        "topics alter t",
        "topics alter t --partitions 0",
        "configs list everything",
        "configs describe",
        "configs describe brokers one",
        "configs describe brokers 1 --default",
        "configs describe topics --default",
        "configs alter topics --set a=b",
        "configs alter topics t u --set a=b",
        "configs alter topics t",
        "configs alter topics t --set a",
        "configs alter topics t --set a=b --delete a",
        "groups delete",
        "groups list --state nonsense",
        "transactions list --state nonsense",
        "transactions describe",
        "transactions abort t",
        "transactions abort t 0",
        "transactions abort t 0 --start-offset -1",
        "transactions find-hanging --longer-than -1",
        "groups list --type nonsense",
        "groups reset-offsets",
        "groups reset-offsets g --topic t",
        "groups reset-offsets g --to-latest",
        "groups reset-offsets g --topic t --all-topics --to-latest",
        "groups reset-offsets g --topic t --to-latest --to-earliest",
        "groups reset-offsets g --topic t:x --to-latest",
        "groups reset-offsets g --topic t --by-duration 1h",
        "groups reset-offsets g --topic t --to-datetime yesterday",
        "groups delete-offsets g",
        "produce t --acks 2",
        "produce t --acks 1 --idempotent",
        "produce t --delimiter \\q",
        "consume t --from-beginning --offset 3",
        "consume t --template {bogus}",
        "consume t -o json --template {key}",
        "consume t --from-time yesterday",
        "serve --ephemeral --data-dir d",
        "serve --bogus",
        "dump-log",
    ],
)
def test_wrong_calls_exit_with_2(line: str) -> None:
    result = CliRunner().invoke(root, line.split())
    assert result.exit_code == 2
    assert "Error: " in result.output


@pytest.mark.parametrize(
    "line", ["topics list", "produce t", "consume t", "configs list", "configs describe topics t"]
)
def test_an_unreachable_broker_is_one_line_and_1(line: str) -> None:
    result = CliRunner().invoke(root, [*line.split(), *UNREACHABLE])
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith("barnabas: cannot reach 127.0.0.1:1: ")
    assert "Traceback" not in result.output


def test_main_exits_with_clicks_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--data-dir"])
    assert ended.value.code == 2
    assert "requires an argument" in capsys.readouterr().err


def test_what_a_terminal_would_obey_is_spelled_out_in_tables() -> None:
    columns = [Column(heading="Group")]
    assert plain_table(columns, [["a\x1b[2Jb"], ["line\nbreak"], ["gr\u00fcn"]]) == (
        "Group\na\\x1b[2Jb\nline\\nbreak\ngr\u00fcn\n"
    )


def test_what_is_counted_is_named_in_its_number() -> None:
    assert [counted(count, "file") for count in (0, 1, 2000)] == ["0 files", "1 file", "2,000 files"]
    assert [counted(count, "batch", "batches") for count in (1, 2)] == ["1 batch", "2 batches"]


def test_a_bare_error_code_is_told_in_words_and_the_brokers_own_come_first() -> None:
    bare = BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "topic ordres")
    assert str(bare).startswith("topic ordres: UNKNOWN_TOPIC_OR_PARTITION (there is no such topic")
    told = BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "topic ordres", "not here")
    assert str(told) == "topic ordres: UNKNOWN_TOPIC_OR_PARTITION (not here)"
    assert str(BrokerError(4711, "topic ordres")) == "topic ordres: error 4711"


def test_plain_tables_are_aligned_without_trailing_blanks() -> None:
    columns = [Column(heading="Name"), Column(heading="N", number=True), Column(heading="Last")]
    assert plain_table(columns, [["a", 1, None], ["long name", 1000, "x"]]) == (
        "Name          N  Last\na             1  -\nlong name  1000  x\n"
    )


def test_progress_says_the_sum_once_where_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stderr", out)
    now = iter([0.0, 2.0])
    progress = Progress("produced", now_s=lambda: next(now, 2.0))
    for _ in range(2000):
        progress.add(1000)
    progress.finish()
    assert out.getvalue() == "produced 2,000 records, 2.0 MB, in 2.00 s, 1.0 MB/s\n"


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_499, "999 kB"),
        (999_999, "1.0 MB"),
        (10**13, "10.0 TB"),
    ],
)
def test_sizes(size: int, text: str) -> None:
    assert size_text(size) == text
