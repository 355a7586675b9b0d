"""Compile the hot modules: `./dev wheel --compiled`, or a copy of src to test and measure.

    python -m tools.compile --into FOLDER           a copy of src with extension modules beside the sources
    python -m tools.compile --trained FOLDER        the same, as the wheel has them
    python -m tools.compile --wheel FOLDER          a wheel of this Python and platform
    python -m tools.compile --wheel FOLDER --pure   the wheel that `pip install .` makes, without any

Cython reads the same .py files that run without it; none is written for it. What more it has to know, which
class is a struct and which parameter one of these, `tools/compiled_types.py` draws from slots and
annotations. Sources stay in the wheel, so that tracebacks show lines and BARNABAS_PURE=1 runs them
(docs/adr/0012). The list below is by measurement, the whole path of a Fetch and a Produce; and so is that a
wheel's modules are compiled twice, the second time by what a load has shown to be hot.

Rejected: a build backend that compiles. `pip install .` would then ask for a C compiler, or hide that there
is none.
"""

import argparse
import contextlib
import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from packaging.tags import sys_tags

from tools.compiled_types import Declarations

ROOT = Path(__file__).resolve().parent.parent

COMPILED = ROOT / "build" / "compiled"
"""What `./dev test --compiled` tests: not optimised, which takes a third of the time."""

TRAINED = ROOT / "build" / "trained"
"""What goes into the wheel and `./dev test --trained` tests: the same C code, optimised for a load."""

HOT_MODULES = (
    "base/clock",
    "base/durations",
    "base/region",
    "handlers/api_00_produce",
    "handlers/api_01_fetch",
    "handlers/dispatch",
    "handlers/fetch_partitions",
    "handlers/request",
    "handlers/request_times",
    "handlers/served_version",
    "net/connection",
    "net/frame_reader",
    "net/listener_traffic",
    "net/output",
    "net/reactor",
    "net/transport",
    "protocol/codec_runtime",
    "protocol/fetch_codec",
    "protocol/frames",
    "protocol/produce_codec",
    "protocol/record_walk",
    "protocol/varint",
    "replica/appends",
    "replica/delayed_fetch",
    "replica/fetch",
    "replica/fetch_reader",
    "replica/hosted_partitions",
    "replica/manager",
    "replica/partition",
    "replica/partition_traffic",
    "replica/produce",
    "replica/replicated_partition",
    "storage/append_info",
    "storage/batch_validation",
    "storage/change_watch",
    "storage/flush/durability",
    "storage/incoming_batches",
    "storage/indexes/offset_index",
    "storage/indexes/time_index",
    "storage/leader_epochs",
    "storage/log",
    "storage/log_reader",
    "storage/offset_metadata",
    "storage/segment",
    "storage/segment_cache",
    "storage/segment_factory",
    "storage/segmented_log",
    "storage/segments",
    "timing/purgatory",
    "timing/timer_wheel",
)
"""What a Fetch and a Produce pass; not what only a start, an error or an idle connection does."""

DOUBLED = frozenset({"base.region.FileSlice", "handlers.request.RequestContext", "net.connection.Connection"})
"""Structs for which tests, and `handlers/explain_fetch.py`, give others: nothing is relied upon to be one."""

PLAIN: frozenset[str] = frozenset()
"""Classes, functions and methods that stay Python's."""

COMPILER_FLAGS = ("-O2", "-g0", "-fno-semantic-interposition")
LINKER_FLAGS = ("-s",)
QUICK_FLAGS = ("-O0",)
COUNTING_FLAGS = ("-fprofile-generate", "-fprofile-update=single")
COUNTED_FLAGS = ("-fprofile-use", "-fprofile-correction", "-Wno-missing-profile")

DIRECTIVES = {
    # What is annotated in a prepared source is a struct; `compiled_types` has taken away all else.
    "annotation_typing": True,
    # An attribute of None is an AttributeError, as in Python, and not read from nowhere.
    "nonecheck": True,
    "auto_pickle": False,
    "binding": True,
    "language_level": 3,
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Compile the hot modules.")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--into", type=Path, metavar="FOLDER", help="copy src there and compile the copy")
    where.add_argument(
        "--trained", type=Path, metavar="FOLDER", help="the same, optimised for a load as the wheel is"
    )
    where.add_argument("--wheel", type=Path, metavar="FOLDER", help="make a wheel there")
    parser.add_argument("--pure", action="store_true", help="with --wheel: without extension modules")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.into is not None:
        copy_and_compile(options.into, options.jobs)
        return 0
    if options.trained is not None:
        compile_trained(options.trained, options.jobs)
        return 0
    options.wheel.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="barnabas-wheel-") as folder:
        pure = pure_wheel(Path(folder) / "pure")
        if options.pure:
            print(shutil.copy(pure, options.wheel))
        else:
            compile_trained(TRAINED, options.jobs)
            print(compiled_wheel(pure, Path(folder), options.wheel))
    return 0


def compile_trained(folder: Path, jobs: int) -> None:
    """As `copy_and_compile`, but twice, the second time by what a load between them has shown to be hot.

    Some five minutes on two cores; nothing when nothing has changed since.
    """
    # Only here: it needs barnabas, and a test may read the list above without.
    from tools.compile_training import train

    typed = _copy_sources(folder)
    digest = _digest(typed)
    stamp = folder / "trained"
    if stamp.exists() and stamp.read_text() == digest:
        return
    stamp.unlink(missing_ok=True)
    _forget_objects(folder)
    for found in typed.rglob("*.gcda"):
        found.unlink()
    _compile(folder, jobs, COUNTING_FLAGS, COUNTING_FLAGS)
    train(folder)
    _forget_objects(folder)
    _compile(folder, jobs, COUNTED_FLAGS, ())
    for module in folder.rglob("*.so"):
        if b"__gcov_" in module.read_bytes():
            raise RuntimeError(f"{module} still counts what it runs")
    stamp.write_text(digest)


def _forget_objects(folder: Path) -> None:
    """Have all compiled again; what was counted stays."""
    for pattern in ("*.so", "*.o"):
        for found in folder.rglob(pattern):
            found.unlink()


def _digest(typed: Path) -> str:
    """Return what the extension modules follow from."""
    digest = hashlib.sha256(repr((sys.version, COMPILER_FLAGS, COUNTED_FLAGS, DIRECTIVES)).encode())
    for path in sorted((typed / "barnabas").rglob("*")):
        if path.suffix in (".py", ".pxd"):
            digest.update(f"{path.relative_to(typed)} {path.stat().st_size} ".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def copy_and_compile(folder: Path, jobs: int) -> None:
    """Copy src into `folder`, an extension module beside each hot source; what is unchanged is kept.

    A minute on two cores: what comes out is to be tested, not to be fast.
    """
    _copy_sources(folder)
    _compile(folder, jobs, QUICK_FLAGS, ())


def _copy_sources(folder: Path) -> Path:
    """Copy src into `folder`, and return where in it the prepared hot sources are."""
    there = {
        folder / path.relative_to(ROOT / "src"): path.read_bytes()
        for path in (ROOT / "src" / "barnabas").rglob("*")
        if path.is_file() and path.suffix not in (".pyc", ".so")
    }
    typed = folder / "typed"
    declarations = Declarations(ROOT / "src", HOT_MODULES, doubled=DOUBLED, plain=PLAIN)
    for name in HOT_MODULES:
        prepared, pxd = declarations.of(name.replace("/", "."))
        there[typed / "barnabas" / f"{name}.py"] = prepared.encode()
        there[typed / "barnabas" / f"{name}.pxd"] = pxd.encode()
        for package in Path("barnabas", name).parents[:-1]:
            there[typed / package / "__init__.py"] = b""
    _make_so(there, [folder / "barnabas", typed / "barnabas"])
    return typed


def _compile(folder: Path, jobs: int, compiler_flags: tuple[str, ...], linker_flags: tuple[str, ...]) -> None:
    """Compile the prepared sources with these flags besides the usual ones.

    In a process of its own: a second build in one process is given the flags of the first.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        process.submit(_build, folder, jobs, compiler_flags, linker_flags).result()


def _build(folder: Path, jobs: int, compiler_flags: tuple[str, ...], linker_flags: tuple[str, ...]) -> None:
    # Only here, so that a test may read the list without a compiler.
    from Cython.Build import cythonize
    from setuptools import Extension, setup

    extensions = [
        Extension(
            f"barnabas.{name.replace('/', '.')}", [f"barnabas/{name}.py"],
            extra_compile_args=[*COMPILER_FLAGS, *compiler_flags],
            extra_link_args=[*LINKER_FLAGS, *linker_flags],
        )
        for name in HOT_MODULES
    ]  # fmt: skip
    target = str(folder.resolve())
    with contextlib.chdir(folder / "typed"):
        made = cythonize(extensions, nthreads=jobs, compiler_directives=DIRECTIVES, build_dir="c", quiet=True)
        build = ["build_ext", "--build-lib", target, f"-j{jobs}", "--build-temp", "o"]
        setup(name="barnabas", packages=[], ext_modules=made, script_args=["--quiet", *build])


def _make_so(there: Mapping[Path, bytes], folders: Iterable[Path]) -> None:
    """Have these files in the folders, and extension modules beside hot sources, but nothing else."""
    for folder in folders:
        for path in folder.rglob("*"):
            name = path.relative_to(folder).as_posix().partition(".")[0]
            kept = path in there or path.suffix == ".pyc" or (path.suffix == ".so" and name in HOT_MODULES)
            if path.is_file() and not kept:
                path.unlink()
    for path, content in there.items():
        if not path.exists() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def pure_wheel(folder: Path) -> Path:
    """Make the wheel of the sources by the project's build backend; return its path."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"]
    subprocess.run([*command, str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def compiled_wheel(pure: Path, folder: Path, target: Path) -> Path:
    """Put the extension modules into a copy of a pure wheel made in `folder`; return its path."""
    unpacked = folder / "unpacked"
    _wheel("unpack", "--dest", unpacked, pure)
    (content,) = unpacked.iterdir()
    for extension in (TRAINED / "barnabas").rglob("*.so"):
        shutil.copy(extension, content / extension.relative_to(TRAINED))
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
