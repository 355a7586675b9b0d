"""Whether this run is to be one of a compiled build: `./dev test --compiled` and `--trained` say so.

That is never deduced from what is loaded: a build that is not there would make it a run of the sources.
"""

import os
from pathlib import Path

import pytest

from tools.compile import HOT_MODULES

HOT_NAMES = tuple(f"barnabas.{name.replace('/', '.')}" for name in HOT_MODULES)
"""The hot modules as they are imported."""


def is_under_test() -> bool:
    """Whether the hot modules must be the compiled ones."""
    return os.environ.get("BARNABAS_TEST_BUILD") == "compiled"


patches_a_struct = pytest.mark.skipif(
    is_under_test(), reason="replaces a method of a class that is a struct when compiled"
)
"""A last resort: a subclass, which is a class of Python by either build, can mostly be put in its place."""


_HEAP_TYPE = 1 << 9
"""Py_TPFLAGS_HEAPTYPE: what a class statement makes; structs are none."""


def is_struct(thing: object) -> bool:
    """Whether this is a class that is compiled as a struct, whose methods cannot be replaced."""
    return isinstance(thing, type) and not thing.__flags__ & _HEAP_TYPE


def mapped_modules(pid: int) -> set[str]:
    """Return the extension modules of barnabas, by dotted names, that a process has in its memory."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    files = {
        line.rpartition("/barnabas/")[2] for line in lines if line.endswith(".so") and "/barnabas/" in line
    }
    return {f"barnabas.{file.partition('.')[0].replace('/', '.')}" for file in files}
