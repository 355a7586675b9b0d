"""What is compiled into the compiled wheel, and how its sources are run all the same (docs/adr/0012)."""

import importlib
import os
import shutil
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import barnabas
from tests.compiled_build import is_struct, is_under_test
from tools.compile import DOUBLED, HOT_MODULES, PLAIN
from tools.compiled_types import Declarations

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "barnabas"


def test_the_modules_to_compile_are_there_once_and_in_order() -> None:
    assert [name for name in HOT_MODULES if not (SOURCE / f"{name}.py").exists()] == []
    assert list(HOT_MODULES) == sorted(set(HOT_MODULES))


@pytest.mark.parametrize("pure", ["1", "0", None])
def test_barnabas_pure_runs_the_sources(tmp_path: Path, pure: str | None) -> None:
    package = tmp_path / "barnabas"
    (package / "inner").mkdir(parents=True)
    shutil.copy(SOURCE / "__init__.py", package)
    (package / "inner" / "__init__.py").write_text("")
    for folder in (package, package / "inner"):
        (folder / "hot.py").write_text("HERE = 1\n")
        (folder / f"hot{EXTENSION_SUFFIXES[0]}").write_bytes(b"no extension module at all")
    environment = {name: value for name, value in os.environ.items() if name != "BARNABAS_PURE"}
    if pure is not None:
        environment["BARNABAS_PURE"] = pure
    for module in ("hot", "inner.hot"):
        ran = subprocess.run(
            # -S: in a run of the compiled build, every other package than that one is refused.
            [sys.executable, "-S", "-c", f"import json, barnabas.{module} as hot; print(hot.HERE)"],
            env={**environment, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (ran.stdout == "1\n") == (pure == "1"), ran.stderr
        assert pure == "1" or "ImportError" in ran.stderr


def test_what_runs_is_compiled_exactly_where_it_is_to_be() -> None:
    package = Path(barnabas.__file__).parent
    compiled = {path.relative_to(package).as_posix().partition(".")[0] for path in package.rglob("*.so")}
    assert compiled == (set(HOT_MODULES) if is_under_test() else set())


def test_hot_modules_and_their_structs_are_compiled_ones_or_none_is() -> None:
    for name in HOT_MODULES:
        module = importlib.import_module(f"barnabas.{name.replace('/', '.')}")
        assert str(module.__file__).endswith(".so") == is_under_test()
    structs = Declarations(ROOT / "src", HOT_MODULES, doubled=DOUBLED, plain=PLAIN).structs()
    assert "net.connection.Connection" in structs
    for struct in structs:
        module_name, _, name = struct.rpartition(".")
        made = getattr(importlib.import_module(f"barnabas.{module_name}"), name)
        assert is_struct(made) == is_under_test(), struct


@pytest.mark.skipif(not is_under_test(), reason="of the compiled build: ./dev test --compiled")
def test_barnabas_pure_runs_the_sources_of_a_compiled_build() -> None:
    program = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]:\n"
        "    print(importlib.import_module(name).__file__.rpartition('.')[2])"
    )
    names = [f"barnabas.{name.replace('/', '.')}" for name in HOT_MODULES]
    ran = subprocess.run(
        [sys.executable, "-c", program, *names], env={**os.environ, "BARNABAS_PURE": "1"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert set(ran.stdout.split()) == {"py"}
