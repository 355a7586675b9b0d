"""Compile the hot modules: `./dev wheel --compiled`, or a copy of src to test and measure.

    python tools/compile.py --into FOLDER           a copy of src with extension modules beside the sources
    python tools/compile.py --wheel FOLDER          a wheel of this Python and platform
    python tools/compile.py --wheel FOLDER --pure   the wheel that `pip install .` makes, without any

Cython reads the same .py files that run without it; none is written for it. Sources stay in the wheel, so
that tracebacks show lines and BARNABAS_PURE=1 runs them (docs/adr/0012). The list below is by measurement: of
all modules that a Fetch or a Produce passes, these are faster compiled.

Rejected: a build backend that compiles. `pip install .` would then ask for a C compiler, or hide that there
is none.
"""

import argparse
import contextlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from packaging.tags import sys_tags

ROOT = Path(__file__).resolve().parent.parent

HOT_MODULES = (
    "protocol/record_walk",
    "protocol/varint",
)

COMPILER_FLAGS = ("-O2", "-g0", "-fno-semantic-interposition")

DIRECTIVES = {
    # Annotations are for readers and mypy: a subclass of int, or a double of a test, passes as in Python.
    "annotation_typing": False,
    # Functions bind, and tell their names and arguments, as those of Python do.
    "binding": True,
    "language_level": 3,
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Compile the hot modules.")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--into", type=Path, metavar="FOLDER", help="copy src there and compile the copy")
    where.add_argument("--wheel", type=Path, metavar="FOLDER", help="make a wheel there")
    parser.add_argument("--pure", action="store_true", help="with --wheel: without extension modules")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.into is not None:
        copy_and_compile(options.into, options.jobs)
        return 0
    options.wheel.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="barnabas-wheel-") as folder:
        pure = pure_wheel(Path(folder) / "pure")
        if options.pure:
            print(shutil.copy(pure, options.wheel))
        else:
            copy_and_compile(Path(folder) / "compiled", options.jobs)
            print(compiled_wheel(pure, Path(folder), options.wheel))
    return 0


def copy_and_compile(folder: Path, jobs: int) -> None:
    """Copy src into `folder`, an extension module beside each hot source; what is unchanged is kept."""
    package = folder / "barnabas"
    for source in sorted((ROOT / "src" / "barnabas").rglob("*")):
        target = package / source.relative_to(ROOT / "src" / "barnabas")
        if source.is_dir() or source.suffix in (".pyc", ".so"):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != source.read_bytes():
            shutil.copyfile(source, target)
    # Only here, so that a test may read the list without a compiler.
    from Cython.Build import cythonize
    from setuptools import Extension, setup

    flags = list(COMPILER_FLAGS)
    extensions = [
        Extension(f"barnabas.{name.replace('/', '.')}", [f"barnabas/{name}.py"], extra_compile_args=flags)
        for name in HOT_MODULES
    ]
    with contextlib.chdir(folder):
        made = cythonize(extensions, nthreads=jobs, compiler_directives=DIRECTIVES, build_dir="c")
        build = ["build_ext", "--inplace", f"-j{jobs}", "--build-temp", "o"]
        setup(name="barnabas", packages=[], ext_modules=made, script_args=build)


def pure_wheel(folder: Path) -> Path:
    """Make the wheel of the sources by the project's build backend; return its path."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"]
    subprocess.run([*command, str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def compiled_wheel(pure: Path, folder: Path, target: Path) -> Path:
    """Put the extension modules of `folder`/compiled into a copy of a pure wheel; return its path."""
    unpacked = folder / "unpacked"
    _wheel("unpack", "--dest", unpacked, pure)
    (content,) = unpacked.iterdir()
    compiled = folder / "compiled"
    for extension in (compiled / "barnabas").rglob("*.so"):
        shutil.copy(extension, content / extension.relative_to(compiled))
    (description,) = content.glob("*.dist-info/WHEEL")
    tag = next(str(tag) for tag in sys_tags() if "manylinux" not in str(tag))
    lines = [
        {"Root-Is-Purelib": "Root-Is-Purelib: false", "Tag": f"Tag: {tag}"}.get(line.partition(":")[0], line)
        for line in description.read_text().splitlines()
    ]
    description.write_text("\n".join(lines) + "\n")
    _wheel("pack", "--dest", target, content)
    return target / f"{content.name}-{tag}.whl"


def _wheel(*arguments: object) -> None:
    command = [sys.executable, "-m", "wheel", *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
