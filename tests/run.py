"""What `./dev test` runs: set up the toolchain, then one pytest over everything.

    python -m tests.run [--slow] [--compiled | --trained] [pytest arguments]

With --compiled it compiles the hot modules first, and a Python that knows no other Barnabas runs the tests
(tools/compiled_python.py): quickly, without optimisation; with --trained as the wheel has them, which takes
minutes.

One pytest process with some workers, so that there is one closing line and both cores are busy: tests
that share a broker stay together on one worker (conftest.py groups them), the longest begin first, and
unit tests fill what is left.
Separate runs for each kind of test were rejected: their sum took longer, and a reader of the end saw
only the last.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

from tests import toolchain

WORKERS = 3
"""For the two cores that CI has: tests wait a third of their time for clients, JVMs and deadlines."""

BUILDS = ("--compiled", "--trained")

DEBIAN_PACKAGES = {
    "javac": "default-jdk-headless",
    "mvn": "maven",
    "go": "golang-go",
    "kcat": "kcat",
    "npm": "npm",
}


def main(arguments: list[str]) -> int:
    """Run the tests and return pytest's exit status."""
    python, environment = sys.executable, os.environ.copy()
    builds = [argument for argument in arguments if argument in BUILDS]
    if builds:
        arguments = [argument for argument in arguments if argument not in BUILDS]
        python = compiled_python(as_the_wheel="--trained" in builds)
        environment["BARNABAS_TEST_BUILD"] = "compiled"
    prepare()
    command = [python, "-m", "pytest", "-rs"]
    if not names_tests(arguments):
        # Groups begin in the order of conftest.py, not by how many tests they have.
        command += ["-n", str(WORKERS), "--dist", "loadgroup", "--no-loadscope-reorder", "--durations", "8"]
    return subprocess.run([*command, *arguments], env=environment, check=False).returncode


def compiled_python(*, as_the_wheel: bool) -> str:
    """Compile the hot modules, as far as they changed; return a Python that runs them."""
    # Only here: both need what `./dev test` does without.
    from tools import compile as compiling
    from tools import compiled_python as making

    needed = {"gcc": shutil.which("gcc"), "python3-dev": has_headers()}
    install([package for package, is_there in needed.items() if not is_there])
    began = time.monotonic()
    if as_the_wheel:
        folder = compiling.TRAINED
        compiling.compile_trained(folder, jobs=2)
    else:
        folder = compiling.COMPILED
        compiling.copy_and_compile(folder, jobs=2)
    python = making.make(folder)
    print(f"tests: compiling took {time.monotonic() - began:.0f} s", flush=True)
    return str(python)


def has_headers() -> bool:
    """Whether this Python's header files are there; Debian has them in a package of their own."""
    return Path(sysconfig.get_path("include"), "Python.h").exists()


def names_tests(arguments: list[str]) -> bool:
    """Whether the user chose files, folders or single tests: those run in this order, in one process."""
    return any(Path(argument.partition("::")[0]).exists() for argument in arguments)


def prepare() -> None:
    """Get the JVM's side ready before any test's clock runs, and say what is missing."""
    install([package for program, package in DEBIAN_PACKAGES.items() if shutil.which(program) is None])
    _get_ready("Apache Kafka's jars and the Java helper", _prepare_java)
    _get_ready("Kafka Streams", _prepare_streams)
    _get_ready("the Go clients", lambda: toolchain.built_go(toolchain.TESTS / "interop" / "go"))
    node = toolchain.TESTS / "interop" / "node"
    _get_ready("kafkajs", lambda: toolchain.installed_node(node, "kafkajs"))
    _get_ready("Confluent's client for Node.js", lambda: toolchain.installed_node(node, "confluent"))


def _prepare_java() -> None:
    toolchain.kafka_classpath()
    toolchain.compiled_java(toolchain.TESTS / "interop" / "java")


def _prepare_streams() -> None:
    toolchain.compiled_java(toolchain.TESTS / "interop" / "streams", toolchain.streams_classpath)


def _get_ready(what: str, prepare_it: Callable[[], object]) -> None:
    began = time.monotonic()
    try:
        prepare_it()
    except toolchain.ToolchainMissingError as reason:
        fate = "will fail" if toolchain.required() else "will be skipped"
        print(f"tests: {reason}\ntests: so tests that need {what} {fate}", flush=True)
        return
    took_s = time.monotonic() - began
    if took_s > 1:
        print(f"tests: {what} took {took_s:.0f} s", flush=True)


def may_install() -> bool:
    """Whether this is a Debian whose packages we may add to: only CI's throw-away machines run as root."""
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def install(packages: list[str]) -> None:
    """Install Debian packages where they are required and may be; a failure is told and left to the tests."""
    if not packages or not toolchain.required() or not may_install():
        return
    print(f"tests: installing {' '.join(packages)}", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for step in (["update", "-q"], ["install", "-q", "-y", "--no-install-recommends", *packages]):
        done = subprocess.run(
            ["apt-get", *step], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            print(f"tests: apt-get {step[0]} failed:\n{done.stderr[-1000:]}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
