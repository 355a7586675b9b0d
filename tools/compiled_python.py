"""The Python that `./dev test --compiled` and `--trained` run everything with.

It is a virtual environment without packages of its own: its path goes on to the compiled copy of src and to
the packages of the environment it is made from, whose editable install it does not follow. So each process
that tests start by `sys.executable`, and whatever these start, takes the compiled copy, with whatever
environment variables and in whatever folder; `tools/compiled_only.py` refuses anything else.

Rejected: PYTHONPATH, which a process that is given other variables falls out of, and runs the sources.
"""

import shutil
import sysconfig
import venv
from pathlib import Path

from tools.compile import HOT_MODULES, ROOT

FOLDER = ROOT / "build" / "compiled-python"

_BARNABAS = """\
#!{python}
import sys

from barnabas.cli.main import main

sys.exit(main())
"""


def make(copy: Path) -> Path:
    """Make it for a compiled copy of src; return the interpreter's path."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    venv.EnvBuilder(symlinks=True, with_pip=False).create(FOLDER)
    python = FOLDER / "bin" / "python"
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(FOLDER), "platbase": str(FOLDER)}))
    shutil.copy(ROOT / "tools" / "compiled_only.py", packages)
    hot = [f"barnabas.{name.replace('/', '.')}" for name in HOT_MODULES]
    # A line that begins with "import" is run by site.py, others are folders; one file keeps their order.
    lines = [
        f"import compiled_only; compiled_only.install({str(copy)!r}, {hot!r})",
        str(copy),
        *dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))),
    ]
    (packages / "compiled.pth").write_text("\n".join(lines) + "\n")
    program = FOLDER / "bin" / "barnabas"
    program.write_text(_BARNABAS.format(python=python))
    program.chmod(0o755)
    return python
