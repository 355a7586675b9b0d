"""What is compiled into the compiled wheel, and how its sources are run all the same (docs/adr/0012)."""

import os
import shutil
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import barnabas
from tools.compile import HOT_MODULES

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
            [sys.executable, "-c", f"import json, barnabas.{module} as hot; print(hot.HERE)"],
            env={**environment, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (ran.stdout == "1\n") == (pure == "1"), ran.stderr
        assert pure == "1" or "ImportError" in ran.stderr


def test_what_runs_is_compiled_exactly_where_it_is_to_be() -> None:
    """By either way of running the tests: all of the hot modules are compiled, or none is."""
    package = Path(barnabas.__file__).parent
    compiled = {path.relative_to(package).as_posix().partition(".")[0] for path in package.rglob("*.so")}
    assert compiled in (set(), set(HOT_MODULES))
