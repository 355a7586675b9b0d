"""Tables and JSON on standard output.

A person at a terminal gets a drawn table; a pipe gets aligned plain text; `--output json` gives one JSON
document. rich is imported only for the first.
"""

import json
import sys
from collections.abc import Sequence

import click

from barnabas.base.dataclass import dataclass
from barnabas.base.hints import Any

Cell = str | int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column's heading; numbers stand to the right."""

    heading: str
    number: bool = False


def print_json(document: Any) -> None:
    """Write one JSON document and a line end."""
    click.echo(json.dumps(document, ensure_ascii=False, indent=2))


def print_table(
    columns: Sequence[Column], rows: Sequence[Sequence[Cell]], *, title: str | None = None
) -> None:
    """Write a table for people, or aligned text where standard output is no terminal."""
    title = title and visible(title)
    if sys.stdout.isatty():
        _print_rich(columns, rows, title)
        return
    if title:
        click.echo(title)
    click.echo(plain_table(columns, rows), nl=False)


def plain_table(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> str:
    """Return headings and rows with two blanks between columns, no trailing blanks."""
    lines = [[column.heading for column in columns], *[[_cell_text(cell) for cell in row] for row in rows]]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    text = []
    for line in lines:
        cells = [
            cell.rjust(width) if column.number else cell.ljust(width)
            for cell, width, column in zip(line, widths, columns, strict=True)
        ]
        text.append("  ".join(cells).rstrip() + "\n")
    return "".join(text)


def counted(count: int, singular: str, plural: str | None = None) -> str:
    """Return a number and what it counts: `1 batch`, `2,000 batches`.

    Args:
        plural: None adds an s.
    """
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def _cell_text(cell: Cell) -> str:
    return "-" if cell is None else visible(str(cell))


def visible(text: str) -> str:
    """Return a text with what a terminal would obey, or a table break at, spelled out.

    Clients choose the names of groups and of themselves; who looks at them should not be lied to by one.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


def _print_rich(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], title: str | None) -> None:
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title and escape(title), title_justify="left", box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(column.heading, justify="right" if column.number else "left", overflow="fold")
    for row in rows:
        table.add_row(*[escape(_cell_text(cell)) for cell in row])
    Console().print(table)
