"""What the kernel counted of another process: bytes through system calls, threads, CPU, strace.

`/proc/PID/io` counts read(2) and its like in `rchar`, write(2) and its like in `wchar`, and sendfile in both
alike; recv(2) and send(2) are in neither. So what a broker that sends by sendfile read of its files for
itself is the difference of the two, and what one that copies sent is missing from `wchar`. Neither tells
alone what was sent: cold pages are brought into the page cache by sendfile to /dev/null.
"""

import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

STRACE_TIMEOUT_S = 20
TRACED = "pread64,preadv,preadv2,read,sendfile,sendto,sendmsg,recvfrom"
_NOWHERE = "</dev/null"
_CALL = re.compile(r"(\w+)\(.* = (\d+)")
_UNFINISHED = " <unfinished ...>"
_RESUMED = re.compile(r"<\.\.\. \w+ resumed>")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessCounters:
    """One reading.

    Attributes:
        read_bytes: through read(2) and its like, sendfile included.
        written_bytes: through write(2) and its like, sendfile included.
        cpu_s: user and system time.
    """

    read_bytes: int
    written_bytes: int
    cpu_s: float
    threads: int

    def since(self, before: "ProcessCounters") -> "ProcessCounters":
        """Return what was counted since another reading; threads are those of now."""
        return ProcessCounters(
            read_bytes=self.read_bytes - before.read_bytes,
            written_bytes=self.written_bytes - before.written_bytes,
            cpu_s=self.cpu_s - before.cpu_s,
            threads=self.threads,
        )


def read_counters(pid: int) -> ProcessCounters:
    """Read the counters of a process of the same user."""
    io = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    # The name in brackets may hold blanks; what follows it does not.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    return ProcessCounters(
        read_bytes=int(io["rchar"]),
        written_bytes=int(io["wchar"]),
        cpu_s=ticks / os.sysconf("SC_CLK_TCK"),
        threads=len(list(Path(f"/proc/{pid}/task").iterdir())),
    )


class Strace:
    """Counts the bytes that a running process moves with each system call, while the block runs.

    What goes to /dev/null does not count: so pages are brought into memory.

    Attributes:
        bytes_by_call: after the block; empty when strace is not there or may not attach.
        available: whether it attached.
    """

    def __init__(self, pid: int, output: Path) -> None:
        self._pid = pid
        self._output = output
        self._process: subprocess.Popen[str] | None = None
        self.available = False
        self.bytes_by_call: Counter[str] = Counter()

    def __enter__(self) -> "Strace":
        program = shutil.which("strace")
        if program is None:
            return self
        line = [program, "-f", "-y", "-qq", "-s", "0", "-e", f"trace={TRACED}"]
        self._process = subprocess.Popen(
            [*line, "-e", "signal=none", "-o", str(self._output), "-p", str(self._pid)],
            stderr=subprocess.PIPE,
            text=True,
        )
        self.available = self._is_attached()
        return self

    def _is_attached(self) -> bool:
        """Wait until the process says that it is traced."""
        deadline = time.monotonic() + STRACE_TIMEOUT_S
        assert self._process is not None
        while time.monotonic() < deadline and self._process.poll() is None:
            status = Path(f"/proc/{self._pid}/status").read_text()
            if f"TracerPid:\t{self._process.pid}" in status:
                return True
            time.sleep(0.01)
        return False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        self._process.communicate(timeout=STRACE_TIMEOUT_S)
        if self.available:
            self.bytes_by_call = count_calls(self._output.read_text(errors="replace").splitlines())


def count_calls(lines: Iterable[str]) -> Counter[str]:
    """Return bytes by system call from the lines of `strace -f -y -o`, each after its thread's id."""
    counted: Counter[str] = Counter()
    begun: dict[str, str] = {}
    for line in lines:
        thread, _, text = line.partition(" ")
        text = text.strip()
        if text.endswith(_UNFINISHED):
            begun[thread] = text.removesuffix(_UNFINISHED)
            continue
        resumed = _RESUMED.match(text)
        if resumed is not None:
            text = begun.pop(thread, "") + text[resumed.end() :]
        found = _CALL.match(text)
        if found is not None and _NOWHERE not in text:
            counted[found[1]] += int(found[2])
    return counted
