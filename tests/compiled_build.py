"""Whether this run is to be one of the compiled build: `./dev test --compiled` says so.

That is never deduced from what is loaded: a build that is not there would make it a run of the sources.
"""

import os
from pathlib import Path

from tools.compile import HOT_MODULES

HOT_NAMES = tuple(f"barnabas.{name.replace('/', '.')}" for name in HOT_MODULES)
"""The hot modules as they are imported."""


def is_under_test() -> bool:
    """Whether the hot modules must be the compiled ones."""
    return os.environ.get("BARNABAS_TEST_BUILD") == "compiled"


def mapped_modules(pid: int) -> set[str]:
    """Return the extension modules of barnabas, by dotted names, that a process has in its memory."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    files = {
        line.rpartition("/barnabas/")[2] for line in lines if line.endswith(".so") and "/barnabas/" in line
    }
    return {f"barnabas.{file.partition('.')[0].replace('/', '.')}" for file in files}
