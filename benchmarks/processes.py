"""What a server's processes use, from /proc: processor time, peak memory, and what others use meanwhile.

A server is a process with all its descendants: noida-db and nginx have more than one. Kernel work for a
socket is charged to whoever makes the system call, so it is part of user plus system time. Rejected: cgroups,
which need rights that a container seldom has.
"""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
KIB = 1024
_RESET_PEAK = "5"
_STAT_AFTER_NAME_PARENT = 1
_BUSY_FIELDS = (0, 1, 2, 5, 6, 7)
"""user, nice, system, irq, softirq and steal of the first line of /proc/stat."""


def stat_fields(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat after the name, which may hold spaces; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def tree(pid: int) -> list[int]:
    """Return a process and all its living descendants."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := stat_fields(int(entry.name))):
            children.setdefault(int(fields[_STAT_AFTER_NAME_PARENT]), []).append(int(entry.name))
    found, left = [], [pid]
    while left:
        one = left.pop()
        found.append(one)
        left += children.get(one, [])
    return found


def cpu_s(pids: list[int]) -> float:
    """Return the processor seconds of processes and their ended, waited-for children, user and system."""
    ticks = 0
    for pid in pids:
        if fields := stat_fields(pid):
            ticks += sum(int(field) for field in fields[11:15])
    return ticks / TICKS_PER_S


def fine_cpu_s(pids: list[int]) -> float:
    """Return the processor seconds of the processes' living threads, exact to a microsecond where known."""
    spent_ns = 0
    for pid in pids:
        try:
            for task in Path(f"/proc/{pid}/task").iterdir():
                spent_ns += int((task / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue
    return spent_ns / 1e9


def _status_kib(pid: int, name: str) -> int:
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1])
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0


def reset_peak(pids: list[int]) -> None:
    """Let the kernel forget the peaks so far."""
    for pid in pids:
        try:
            Path(f"/proc/{pid}/clear_refs").write_text(_RESET_PEAK)
        except OSError:
            continue


def peak_mb(pids: list[int]) -> float:
    """Return the sum of the processes' peak resident memory since reset_peak, in MB."""
    return sum(_status_kib(pid, "VmHWM") for pid in pids) * KIB / 1e6


def resident_bytes(pids: list[int]) -> int:
    """Return the sum of the processes' resident memory."""
    return sum(_status_kib(pid, "VmRSS") for pid in pids) * KIB


def descriptors(pids: list[int]) -> int:
    """Return how many files and connections the processes have open."""
    count = 0
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            count += len(os.listdir(f"/proc/{pid}/fd"))
    return count


def machine_busy_s() -> float:
    """Return how many processor seconds the machine has spent on anything but being idle."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    return sum(int(fields[index]) for index in _BUSY_FIELDS) / TICKS_PER_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What was used since a Meter began.

    Attributes:
        foreign_share: of all processors' time, what neither the server nor this process's children used.
    """

    seconds: float
    cpu_s: float
    peak_mb: float
    foreign_share: float


class Meter:
    """Measures one server from its making to stop().

    Args:
        pid: the server's first process; None when servers start and end meanwhile: as children of this
        process they are not taken for others once they have ended, and what they used is not told. now_s: a
        monotonic clock.
    """

    def __init__(self, pid: int | None, now_s: float) -> None:
        self._pids = [] if pid is None else tree(pid)
        reset_peak(self._pids)
        self._began_s = now_s
        self._server_s = cpu_s(self._pids)
        self._own_s = own_cpu_s()
        self._machine_s = machine_busy_s()

    def stop(self, now_s: float) -> Use:
        """Return what was used since the beginning."""
        server_s = cpu_s(self._pids) - self._server_s
        seconds = max(now_s - self._began_s, 1e-9)
        foreign_s = machine_busy_s() - self._machine_s - server_s - (own_cpu_s() - self._own_s)
        share = foreign_s / (seconds * (os.cpu_count() or 1))
        return Use(
            seconds=seconds,
            cpu_s=server_s,
            peak_mb=peak_mb(self._pids),
            foreign_share=min(1.0, max(0.0, share)),
        )


def own_cpu_s() -> float:
    """Return the processor seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
