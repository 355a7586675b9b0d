"""What tests need beyond Python: a JVM, Apache Kafka's jars, compiled Java helpers.

Everything is fetched once into a cache outside the checkout and reused; several test processes may ask
at once (a lock file). What is missing is a skip with its reason, or a failure when BARNABAS_INTEROP is
`required`, so that a green run on CI cannot hide that nothing was compared. A Docker image of Kafka
was rejected: it needs a daemon, and the jars are what the tools and the Java client come from anyway.
"""

import contextlib
import fcntl
import functools
import hashlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

TESTS = Path(__file__).parent
POM = TESTS / "oracle" / "pom.xml"
STREAMS_POM = TESTS / "oracle" / "streams.pom.xml"
JAVA_MAJOR_MIN = 17
DOWNLOAD_TIMEOUT_S = 600

JVM_FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
"""For programs that live for seconds: no second compiler tier, the collector that starts fastest."""


class ToolchainMissingError(Exception):
    """Something outside Python is not there; the message says what and how to get it."""


def required() -> bool:
    """Whether a missing toolchain is a failure: CI sets BARNABAS_INTEROP=required."""
    return os.environ.get("BARNABAS_INTEROP") == "required"


def unavailable(reason: str) -> NoReturn:
    """Skip the running test, or fail it where real clients are required."""
    if required():
        pytest.fail(f"BARNABAS_INTEROP=required, but {reason}", pytrace=False)
    pytest.skip(reason)


def cache_dir() -> Path:
    """The folder that outlives checkouts: BARNABAS_CACHE, else below the user's cache home."""
    chosen = os.environ.get("BARNABAS_CACHE")
    if chosen:
        path = Path(chosen)
    else:
        path = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "barnabas"
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError:
        path = TESTS.parent / ".cache"
        path.mkdir(exist_ok=True)
    return path


@contextlib.contextmanager
def _locked(name: str) -> Iterator[None]:
    with (cache_dir() / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@functools.cache
def java_command() -> str:
    """Return the path of a java of at least JAVA_MAJOR_MIN.

    Raises:
        ToolchainMissingError: there is none, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin") if home else None
    java = java or shutil.which("java")
    if java is None:
        raise ToolchainMissingError(
            f"there is no java (Debian, as root: apt-get install default-jdk-headless, >= {JAVA_MAJOR_MIN})"
        )
    version = java_version(java)
    major = re.search(r'version "(\d+)', version)
    if major is None or int(major[1]) < JAVA_MAJOR_MIN:
        raise ToolchainMissingError(f"Apache Kafka 4 needs Java >= {JAVA_MAJOR_MIN}, {java} says {version!r}")
    return java


@functools.cache
def java_version(java: str) -> str:
    """Return what `java -version` prints."""
    return subprocess.run([java, "-version"], capture_output=True, text=True, check=True, timeout=60).stderr


def kafka_jars() -> Path:
    """Return the folder with Apache Kafka's jars, fetched by Maven the first time.

    Raises:
        ToolchainMissingError: no Maven, or the download failed.
    """
    return _jars("kafka-jars", POM)


def _jars(name: str, pom: Path) -> Path:
    java_command()
    stamp = hashlib.sha256(pom.read_bytes()).hexdigest()[:12]
    target = cache_dir() / f"{name}-{stamp}"
    if target.is_dir():
        return target
    with _locked(name):
        if target.is_dir():
            return target
        maven = shutil.which("mvn")
        if maven is None:
            raise ToolchainMissingError("there is no mvn (Debian, as root: apt-get install maven)")
        partial = target.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        command = [maven, "-q", "-B", "-f", str(pom), "dependency:copy-dependencies"]
        command += ["-DincludeScope=runtime", f"-DoutputDirectory={partial}"]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=DOWNLOAD_TIMEOUT_S
            )
        except subprocess.TimeoutExpired:
            raise ToolchainMissingError(f"Maven did not finish within {DOWNLOAD_TIMEOUT_S} s") from None
        if done.returncode != 0:
            raise ToolchainMissingError(
                f"Maven could not fetch what {pom.name} names:\n{(done.stdout + done.stderr)[-2000:]}"
            )
        partial.rename(target)
    return target


def kafka_classpath() -> str:
    """Return Apache Kafka's class path, in a fixed order: a shared class archive depends on it."""
    return ":".join(str(jar) for jar in sorted(kafka_jars().glob("*.jar")))


def streams_classpath() -> str:
    """Return Kafka Streams' class path; it is apart from the broker's."""
    return ":".join(str(jar) for jar in sorted(_jars("streams-jars", STREAMS_POM).glob("*.jar")))


def compiled_java(folder: Path, classpath: Callable[[], str] = kafka_classpath) -> Path:
    """Compile all .java files of a folder; return the folder with the classes.

    Args:
        classpath: gives what they are compiled against; Apache Kafka's jars.

    Raises:
        ToolchainMissingError: there is no javac.
    """
    sources = sorted(folder.glob("*.java"))
    poms = POM.read_bytes() + (STREAMS_POM.read_bytes() if classpath is streams_classpath else b"")
    digest = hashlib.sha256(b"\0".join(source.read_bytes() for source in sources) + poms)
    target = cache_dir() / f"java-classes-{folder.name}-{digest.hexdigest()[:12]}"
    if target.is_dir():
        return target
    with _locked("java-classes"):
        if target.is_dir():
            return target
        javac = shutil.which("javac")
        if javac is None:
            raise ToolchainMissingError(
                "there is no javac, only a JRE (Debian, as root: apt-get install default-jdk-headless)"
            )
        partial = target.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        command = [javac, "-Xlint:all,-processing,-path", "-proc:none", "--release", str(JAVA_MAJOR_MIN)]
        command += ["-cp", classpath(), "-d", str(partial), *map(str, sources)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        if done.returncode != 0:
            raise AssertionError(f"javac refused {folder}:\n{done.stdout}{done.stderr}")
        partial.rename(target)
    return target


def shared_archive_flags(name: str) -> list[str]:
    """Return the flags that let a program's classes come from an archive: it halves a JVM's start.

    The first run under a name writes the archive when it exits; later ones map it. The name stands for
    one class path, and the archive is specific to the JVM that wrote it.
    """
    java = java_command()
    identity = hashlib.sha256((java_version(java) + kafka_classpath()).encode()).hexdigest()[:12]
    archive = cache_dir() / f"{name}-{identity}.jsa"
    if archive.exists():
        return [f"-XX:SharedArchiveFile={archive}"]
    # Two first runs at once each write a file of their own name; publish_archives() keeps one.
    return [f"-XX:ArchiveClassesAtExit={archive}.{os.getpid()}"]


def publish_archives(*, whole: bool = True) -> None:
    """Rename what ended JVMs of this process have archived to where later ones look for it.

    Args:
        whole: False after a JVM had to be killed, perhaps in the middle of writing: drop it.
    """
    for path in cache_dir().glob(f"*.jsa.{os.getpid()}"):
        if whole:
            path.rename(path.with_suffix(""))
        else:
            path.unlink()


GO_BUILD_TIMEOUT_S = 600


def built_go(folder: Path) -> Path:
    """Build a Go program and return its path; the modules are fetched the first time.

    Raises:
        ToolchainMissingError: there is no go, it is too old, or the modules could not be fetched.
    """
    sources = sorted([*folder.glob("*.go"), folder / "go.mod", folder / "go.sum"])
    digest = hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    target = cache_dir() / f"go-{folder.name}-{digest}"
    if target.exists():
        return target
    with _locked("go-build"):
        if target.exists():
            return target
        go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
        if go is None:
            raise ToolchainMissingError("there is no go (see go.dev, or Debian's golang of at least 1.25)")
        partial = target.with_suffix(".partial")
        try:
            done = subprocess.run(
                [go, "build", "-o", str(partial), "."],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
                timeout=GO_BUILD_TIMEOUT_S,
            )
        except subprocess.TimeoutExpired:
            raise ToolchainMissingError(f"go build did not finish within {GO_BUILD_TIMEOUT_S} s") from None
        if done.returncode != 0:
            raise ToolchainMissingError(f"go build failed in {folder}:\n{done.stderr[-2000:]}")
        partial.rename(target)
    return target


NPM_TIMEOUT_S = 900

NATIVE_DEBIAN_PACKAGES = ("g++", "make", "pkg-config", "zlib1g-dev", "libzstd-dev", "libssl-dev")
"""What librdkafka is built with."""


def installed_node(folder: Path, name: str) -> Path:
    """Install the packages of NAME.package.json, copy the folder's programs beside them, return NAME.js.

    Native modules are built against the Node.js of the system when no binary is to be had; that takes
    minutes, once.

    Raises:
        ToolchainMissingError: there is no node or npm, or the packages could not be fetched or built.
    """
    package = folder / f"{name}.package.json"
    programs = sorted(folder.glob("*.js"))
    content = b"\0".join(source.read_bytes() for source in [package, *programs])
    target = cache_dir() / f"node-{name}-{hashlib.sha256(content).hexdigest()[:12]}"
    packages = cache_dir() / f"node-{name}-packages-{hashlib.sha256(package.read_bytes()).hexdigest()[:12]}"
    with _locked(f"node-{name}"):
        if not packages.is_dir():
            _npm_install(package, packages)
        if not target.is_dir():
            partial = target.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir()
            for program in programs:
                shutil.copy(program, partial)
            (partial / "node_modules").symlink_to(packages / "node_modules")
            partial.rename(target)
    return target / f"{name}.js"


def _npm_install(package: Path, target: Path) -> None:
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        raise ToolchainMissingError("there is no node with npm (Debian, as root: apt-get install npm)")
    partial = target.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    shutil.copy(package, partial / "package.json")
    headers = Path(node).resolve().parent.parent
    # The first for node-gyp, which would fetch headers; the second for librdkafka, which would fetch zlib.
    environment = {**os.environ, "npm_config_nodedir": str(headers), "CKJS_LINKING": "dynamic"}
    command = [npm, "install", "--no-package-lock", "--no-audit", "--no-fund"]
    try:
        done = subprocess.run(
            command,
            cwd=partial,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=NPM_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        raise ToolchainMissingError(f"npm did not finish within {NPM_TIMEOUT_S} s") from None
    if done.returncode != 0:
        raise ToolchainMissingError(
            f"npm could not install {package.name} (a native module needs, on Debian as root: "
            f"apt-get install {' '.join(NATIVE_DEBIAN_PACKAGES)}):\n{done.stderr[-2000:]}"
        )
    partial.rename(target)


LIBRDKAFKA_BUILD_TIMEOUT_S = 1800


def built_librdkafka_tests(node_folder: Path) -> Path:
    """Build librdkafka's own test program and return its folder; Confluent's npm package has its sources.

    It takes ten minutes, once.

    Raises:
        ToolchainMissingError: no compiler, or the sources could not be fetched or built.
    """
    program = installed_node(node_folder, "confluent")
    package = program.parent / "node_modules" / "@confluentinc" / "kafka-javascript"
    sources = (package / "deps" / "librdkafka").resolve()
    digest = hashlib.sha256(str(sources).encode()).hexdigest()[:12]
    target = cache_dir() / f"librdkafka-tests-{digest}"
    with _locked("librdkafka-tests"):
        if target.is_dir():
            return target / "tests"
        partial = target.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        shutil.copytree(sources, partial, symlinks=True)
        for command in (
            ["./configure", "--disable-curl", "--disable-gssapi", "--disable-ssl", "--disable-zstd"],
            ["make", "-j2", "-C", "src"],
            ["make", "-j2", "-C", "src-cpp"],
            ["make", "-j2", "-C", "tests", "build"],
        ):
            _build(command, partial)
        partial.rename(target)
    return target / "tests"


def _build(command: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIBRDKAFKA_BUILD_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainMissingError(f"{' '.join(command)}: {error}") from None
    if done.returncode != 0:
        raise ToolchainMissingError(
            f"{' '.join(command)} failed (needs, on Debian as root: "
            f"apt-get install {' '.join(NATIVE_DEBIAN_PACKAGES)}):\n{done.stderr[-2000:]}"
        )


def kafka_python_sources() -> Path:
    """Return the folder of kafka-python's source distribution, in the version that is installed.

    Raises:
        ToolchainMissingError: it could not be fetched.
    """
    version = importlib.metadata.version("kafka-python")
    target = cache_dir() / f"kafka-python-{version}"
    with _locked("kafka-python"):
        if target.is_dir():
            return target
        partial = target.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        _build(
            [
                sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                "--no-binary", "kafka-python", f"kafka-python=={version}", "--dest", str(partial),
            ],
            partial,
        )  # fmt: skip
        (archive,) = partial.glob("*.tar.gz")
        with tarfile.open(archive) as packed:
            packed.extractall(partial, filter="data")
        (partial / f"kafka_python-{version}").rename(target)
        shutil.rmtree(partial)
    return target
