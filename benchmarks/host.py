"""Where and of what a run was made: machine, versions, commit, file system, and how busy it was."""

import os
import platform
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.processes import machine_busy_s

ROOT = Path(__file__).resolve().parent.parent
BUSY_SHARE_MAX = 0.15
"""Of all processors' time that others may use before a run is called disturbed."""
_MEMORY_FILE_SYSTEMS = {"tmpfs", "ramfs"}


def describe(directory: Path) -> dict[str, str]:
    """Return what a reader needs to judge figures, by name.

    Args:
        directory: where brokers keep their files.
    """
    return {
        "date": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "commit": commit(),
        "processor": f"{os.cpu_count()} x {processor()}",
        "memory": f"{memory_mb() / 1000:.0f} GB",
        "kernel": platform.release(),
        "congestion control": congestion_control(),
        "file system of log directories": file_system(directory),
        # With its build: one made without optimisation by profile is a third slower.
        "Python": f"{platform.python_implementation()} {' '.join(sys.version.split())}",
        "load averages at the start": " ".join(f"{one:.2f}" for one in os.getloadavg()),
    }


def commit() -> str:
    """Return the checkout's commit, marked when files differ from it."""
    asked = ["git", "-C", str(ROOT)]
    try:
        head = subprocess.run(
            [*asked, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True
        )
        changed = subprocess.run(
            [*asked, "status", "--porcelain", "--untracked-files=no", "src"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.stdout.strip() + (" with changes in src" if changed.stdout.strip() else "")


def processor() -> str:
    """Return the processor's name."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def congestion_control() -> str:
    """Return what paces the sockets: with bbr large answers over several connections wait for their turn."""
    try:
        return Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
    except OSError:
        return "unknown"


def memory_mb() -> float:
    """Return the machine's memory in MB."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e6


def file_system(directory: Path) -> str:
    """Return the type of file system that a directory is on, by the longest mount point above it."""
    wanted = str(directory.resolve()) + "/"
    best, kind = "", "unknown"
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, mount, found, *_ = line.split()
        prefix = mount.rstrip("/") + "/"
        if wanted.startswith(prefix) and len(prefix) >= len(best):
            best, kind = prefix, found
    return kind


def is_in_memory(directory: Path) -> bool:
    """Whether a directory is on a file system without a disk: no place for a log to be measured."""
    return file_system(directory) in _MEMORY_FILE_SYSTEMS


def busy_share(seconds: float = 1.0) -> float:
    """Return which share of the processors' time is used while this process sleeps."""
    began, busy_s = time.monotonic(), machine_busy_s()
    time.sleep(seconds)
    return (machine_busy_s() - busy_s) / (time.monotonic() - began) / (os.cpu_count() or 1)
