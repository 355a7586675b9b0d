"""The files: blocks of commands, each followed by what is expected to come of it.

    # Why this scenario is told.

    a joins
    b joins
    ----
    a <- JoinGroup generation=1 leader=a

A block's commands stand above `----`, what comes of them below, up to the next empty line. Lines that begin
with # are for people and stay. Rejected: asserts in Python for each answer; a reviewer of such a test reads
code where they should read a story, and a change of behaviour shows in one line instead of in all it moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

RULE = "----"


class Block(NamedTuple):
    """Commands and what is expected of them.

    Args:
        line: number of the first command in the file.
        preamble: comments and empty lines in front of the commands.
    """

    line: int
    preamble: list[str]
    commands: list[str]
    expected: list[str]


def read(path: Path) -> list[Block]:
    """Return the blocks of a file.

    Raises:
        ValueError: commands without the rule that ends them.
    """
    return list(_blocks(path.name, path.read_text().splitlines()))


def _blocks(name: str, lines: list[str]) -> Iterator[Block]:
    place = 0
    while place < len(lines):
        preamble, commands, expected = [], [], []
        while place < len(lines) and (not lines[place].strip() or lines[place].startswith("#")):
            preamble.append(lines[place])
            place += 1
        if place == len(lines):
            return
        first = place + 1
        while place < len(lines) and lines[place] != RULE:
            if not lines[place].strip():
                raise ValueError(f"{name}:{first}: commands end with {RULE}")
            commands.append(lines[place])
            place += 1
        if place == len(lines):
            raise ValueError(f"{name}:{first}: commands end with {RULE}")
        place += 1
        while place < len(lines) and lines[place].strip():
            expected.append(lines[place])
            place += 1
        yield Block(first, preamble, commands, expected)


def write(path: Path, blocks: list[Block], outputs: list[list[str]]) -> None:
    """Write a file anew with what came of its commands."""
    lines: list[str] = []
    for block, output in zip(blocks, outputs, strict=True):
        lines += [*block.preamble, *block.commands, RULE, *output]
    path.write_text("\n".join(lines) + "\n")


def differences(
    path: Path, blocks: list[Block], run: Callable[[str], list[str]]
) -> tuple[list[list[str]], str | None]:
    """Run all commands; return what came of each block, and the first block that differs, for people."""
    outputs: list[list[str]] = []
    wrong = None
    for block in blocks:
        output: list[str] = []
        for command in block.commands:
            output += run(command)
        outputs.append(output)
        if wrong is None and output != block.expected:
            wrong = "\n".join(
                [
                    f"{path}:{block.line}: this comes of it otherwise:",
                    *(f"    {line}" for line in block.commands),
                    *_marked(block.expected, output),
                    "If it is right: pytest tests/transcripts --rewrite-transcripts, and review the diff.",
                ]
            )
    return outputs, wrong


def _marked(expected: list[str], output: list[str]) -> Iterator[str]:
    for line in expected:
        yield f"  {' ' if line in output else '-'} {line}"
    for line in output:
        if line not in expected:
            yield f"  + {line}"
