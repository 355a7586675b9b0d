"""An explanation for people: one line a step, the rule it follows in front, and the answer below."""

import sys

import click

from barnabas.base.hints import Any
from barnabas.cli.output import Column, plain_table

_COLUMNS = (Column(heading="Rule"), Column(heading="Step"), Column(heading="What happens"))


def print_explanation(explanation: dict[str, Any]) -> None:
    """Write an explanation to standard output; coloured and wrapped for a terminal."""
    title, rows = _title(explanation), _rows(explanation)
    if sys.stdout.isatty():
        _print_rich(title, explanation["notes"], rows, answer_lines(explanation["answer"]))
        return
    click.echo(title)
    for note in explanation["notes"]:
        click.echo(f"({note})")
    click.echo()
    click.echo(plain_table(_COLUMNS, rows), nl=False)
    click.echo()
    for line in answer_lines(explanation["answer"]):
        click.echo(line)


def _title(explanation: dict[str, Any]) -> str:
    request, source = explanation["request"], explanation["source"]
    where = (
        f"the broker on {source['path']}" if source["kind"] == "broker" else f"the files in {source['path']}"
    )
    what = f"{request['topic']}-{request['partition']} at offset {request['offset']}"
    return f"Fetch v{request['version']} of {what}, {request['isolation']}, from {where}"


def _rows(explanation: dict[str, Any]) -> list[list[str | int | None]]:
    return [[step["rule"], step["step"].replace("_", " "), step["text"]] for step in explanation["steps"]]


def answer_lines(answer: dict[str, Any]) -> list[str]:
    """Return what the client gets, in a few lines."""
    lines = []
    if answer["answer"] == "park":
        lines.append("Answer: not now; unless something changes, at the time-out with:")
    else:
        lines.append(f"Answer: now ({answer['reason']}), with:")
    if answer["error_code"]:
        lines.append(f"  error    {answer['error']} ({answer['error_code']})")
    if answer.get("high_watermark", -1) >= 0:
        stable, start = answer["last_stable_offset"], answer["log_start_offset"]
        lines.append(
            f"  offsets  high watermark {answer['high_watermark']}, last stable {stable}, log start {start}"
        )
    records = answer.get("records")
    if records is not None:
        lines.append(
            f"  records  {records['length']} bytes from byte {records['position']} of {records['file']}"
        )
    elif not answer["error_code"]:
        lines.append("  records  none")
    if answer.get("aborted_transactions"):
        told = ", ".join(
            f"producer {entry['producer_id']} from {entry['first_offset']}"
            for entry in answer["aborted_transactions"]
        )
        lines.append(f"  aborted  {told}")
    if answer.get("diverging_epoch"):
        epoch, end = answer["diverging_epoch"]
        lines.append(f"  diverges at the end of epoch {epoch}, offset {end}")
    if answer.get("in_response") is False:
        lines.append("  the partition itself is left out of the answer: nothing is new")
    return lines


def _print_rich(title: str, notes: list[str], rows: list[list[str | int | None]], answer: list[str]) -> None:
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    console.print(f"[bold]{escape(title)}[/]", highlight=False)
    for note in notes:
        console.print(f"[dim]({escape(note)})[/]", highlight=False)
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("Rule", style="cyan", no_wrap=True)
    table.add_column("Step", style="bold", no_wrap=True)
    table.add_column("What happens", overflow="fold")
    for row in rows:
        table.add_row(*[escape(str(cell)) for cell in row])
    console.print(table)
    console.print(f"[bold]{escape(answer[0])}[/]", highlight=False)
    for line in answer[1:]:
        console.print(escape(line), highlight=False)
