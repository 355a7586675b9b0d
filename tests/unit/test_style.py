"""What no linter checks: every file says what it is for, and stays short enough to be read at once."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("src", "tests", "tools", "benchmarks")
GENERATED = {ROOT / "src" / "barnabas" / "protocol" / "start_codecs.py"}
FILES = sorted({path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")} - GENERATED)

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 80

LONG_FILES: dict[str, str] = {
    "src/barnabas/net/connection.py": "one state machine, all of its transitions side by side",
}
"""Path from the root -> why it may be longer."""

LONG_FUNCTIONS: dict[str, str] = {
    "src/barnabas/protocol/record_walk.py:_walk_singles": "one flat loop over all records of a batch",
    "src/barnabas/storage/loading/segment_check.py:_scan": "one flat loop over all batches after a crash",
}
"""Path:function -> why it may be longer."""

EMPTY_NAMES = {"common", "helper", "helpers", "misc", "util", "utils"}


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    return {relative(path): ast.parse(path.read_text()) for path in FILES}


def test_every_file_opens_with_its_purpose(trees: dict[str, ast.Module]) -> None:
    silent = [name for name, tree in trees.items() if tree.body and not ast.get_docstring(tree)]
    assert not silent, "no docstring at the top: " + ", ".join(silent)


def test_files_are_not_long() -> None:
    lengths = {relative(path): len(path.read_text().splitlines()) for path in FILES}
    long = {
        name: lines for name, lines in lengths.items() if lines > FILE_LINES_MAX and name not in LONG_FILES
    }
    assert not long, f"more than {FILE_LINES_MAX} lines: {long}"


def test_functions_are_not_long(trees: dict[str, ast.Module]) -> None:
    lengths = {
        f"{name}:{function.name}": (function.end_lineno or 0) - function.lineno + 1
        for name, tree in trees.items()
        for function in functions(tree)
    }
    long = {name: lines for name, lines in lengths.items() if lines > FUNCTION_LINES_MAX}
    unexplained = {name: lines for name, lines in long.items() if name not in LONG_FUNCTIONS}
    assert not unexplained, f"more than {FUNCTION_LINES_MAX} lines: {unexplained}"


def test_exceptions_are_still_needed(trees: dict[str, ast.Module]) -> None:
    names = {f"{name}:{function.name}" for name, tree in trees.items() for function in functions(tree)}
    assert set(LONG_FILES) <= set(trees)
    assert set(LONG_FUNCTIONS) <= names


def test_file_names_say_something() -> None:
    assert [relative(path) for path in FILES if path.stem in EMPTY_NAMES] == []


def test_nothing_is_put_off() -> None:
    words = ("TO" + "DO", "FIX" + "ME", "HA" + "CK")  # in pieces, or this file would be found
    put_off = [
        f"{relative(path)}:{number}"
        for path in FILES
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if any(word in line for word in words)
    ]
    assert put_off == []
