"""What the compiler is told of the hot modules (docs/adr/0012): drawn from slots and annotations alone."""

import ast
from pathlib import Path

import pytest

from tools.compile import DOUBLED, HOT_MODULES, PLAIN
from tools.compiled_types import Declarations

ROOT = Path(__file__).resolve().parents[2]

LOW = '''
from barnabas.base.enums import IntEnum

class Code(IntEnum):
    A = 1

class Low:
    """Counts."""

    __slots__ = ("count", "next")

    ready: bool
    """Bare: no attribute of a struct may be declared twice."""

    def __init__(self, count: int, next: "Low | None" = None) -> None:
        self.count = count
        self.next = next

    def add(self, other: "Low", by: Code = Code.A) -> "Low":
        return Low(self.count + other.count + by)

    def later(self) -> object:
        return lambda: self.count

    def key(self) -> int:
        return self.count

    def text(self) -> str:
        return "low"

def first(lows: list[Low]) -> Low:
    return sorted(lows, key=Low.key)[0]
'''

HIGH = '''
from __future__ import annotations

from barnabas.low import (
    Low,
    first,
)

class High(Low):
    __slots__ = ("low", "__weakref__")

    def __init__(self, low: Low, name: str) -> None:
        self.low = low

    def text(self) -> str:
        return super().text()

    def all(
        self,
        *,
        lows: list[
            Low
        ],
        last: Low | None = None,
    ) -> dict[
        str, int
    ]:
        """Loops."""
        found: dict[str, int] = {}
        for low in lows:
            found[str(low.count)] = low.count
        return found

class Other:
    def __init__(self) -> None:
        self.seen = 0
'''


@pytest.fixture
def made(tmp_path: Path) -> Declarations:
    (tmp_path / "barnabas").mkdir()
    (tmp_path / "barnabas" / "low.py").write_text(LOW)
    (tmp_path / "barnabas" / "high.py").write_text(HIGH)
    return Declarations(tmp_path, ["high", "low"])


def test_classes_with_slots_become_structs_and_others_stay(made: Declarations) -> None:
    assert made.structs() == ["high.High", "high.Other", "low.Low"]


def test_attributes_methods_and_functions_are_declared_with_the_structs_they_name(made: Declarations) -> None:
    lines = made.of("low")[1].splitlines()
    assert "    cdef public object count" in lines
    assert "    cdef public Low next" in lines
    assert "    cpdef Low add(self, Low other, by=*)" in lines
    assert "cpdef Low first(lows)" in lines


def test_what_makes_closures_or_is_handed_on_as_a_value_stays_an_object(made: Declarations) -> None:
    pxd = made.of("low")[1]
    assert "later" not in pxd
    assert "key" not in pxd
    assert "text" not in pxd


def test_structs_and_functions_of_other_modules_are_cimported_and_keep_their_names(
    made: Declarations,
) -> None:
    source, pxd = made.of("high")
    assert pxd.splitlines()[:2] == ["from barnabas.low cimport Low", "from barnabas.low cimport first"]
    assert "cdef class High(Low):\n    cdef public Low low\n    cdef object __weakref__\n" in pxd
    assert 'globals()["Low"] = _modules["barnabas.low"].Low\n' in source


def test_annotations_stay_where_they_name_a_struct_and_only_there(made: Declarations) -> None:
    source = made.of("high")[0]
    assert "def __init__(self, low: Low, name) :" in source
    assert "last: Low | None = None" in source
    assert "found = {}" in source
    assert '"""Loops."""; low: Low\n' in source
    assert "    pass\n" in made.of("low")[0]


def test_a_class_that_tests_double_is_not_relied_upon(tmp_path: Path, made: Declarations) -> None:
    source, pxd = Declarations(tmp_path, ["high", "low"], doubled=frozenset(["low.Low"])).of("high")
    assert "cdef public object low" in pxd
    assert "def __init__(self, low, name) :" in source


def test_what_is_to_stay_plain_does(tmp_path: Path, made: Declarations) -> None:
    plain = frozenset(["low.Low.add", "high.Other", "low.first"])
    declarations = Declarations(tmp_path, ["high", "low"], plain=plain)
    assert declarations.structs() == ["high.High", "low.Low"]
    assert "add" not in declarations.of("low")[1]
    assert "first" not in declarations.of("low")[1]


def test_no_line_of_a_hot_module_moves() -> None:
    declarations = Declarations(ROOT / "src", HOT_MODULES, doubled=DOUBLED, plain=PLAIN)
    for name in HOT_MODULES:
        before = ast.parse((ROOT / "src" / "barnabas" / f"{name}.py").read_text())
        after = ast.parse(declarations.of(name.replace("/", "."))[0])
        assert _places(before) == _places(after), name


def _places(tree: ast.Module) -> list[tuple[int, str]]:
    """Calls and what they call, by line: what tracebacks show."""
    return sorted(
        (node.lineno, ast.unparse(node.func))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and "globals" not in ast.unparse(node)
    )
