"""What every server under test can be asked to do: start, say where it listens, stop, be killed.

A server is a child process with its files in one directory. It counts as started when it answers Metadata
with a broker in it (floors: when they said so), asked every 2 ms: the same question to all.
"""

import contextlib
import enum
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO

from benchmarks.processes import tree
from tests.oracle.kafka import answers

LOG_TAIL_CHARS = 3000
POLL_S = 0.002
STOP_TIMEOUT_S = 60


class Transport(enum.Enum):
    """How fetched bytes travel."""

    PLAIN = "plaintext"
    HEAP = "heap"
    TLS = "TLS"


class Kind(enum.Enum):
    """What a server is to the comparison."""

    BROKER = "broker"
    FLOOR = "floor"


class Server:
    """A server in a process of its own.

    Subclasses set `name` and `kind`, and give `command()`.

    Args:
        directory: for its files; made when missing.
        overrides: broker settings by Kafka's names; those without such settings pass over them.

    Attributes:
        start_s: from exec to the first answer, of the last start.
        warm_up_s: how long it is loaded after a start before anything counts.
        remark: what a reader must know about it, for the table.
        may_pause: whether it takes no harm from standing still while others are measured.
    """

    name = ""
    kind = Kind.BROKER
    remark = ""
    is_durable = True
    may_pause = True
    start_timeout_s = 120.0
    warm_up_s = 0.0

    def __init__(self, directory: Path, overrides: Mapping[str, str] | None = None) -> None:
        self.directory = directory
        self.overrides = dict(overrides or {})
        self.ports: dict[Transport, int] = {}
        self.start_s = 0.0
        self.log_path = directory / "server.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        directory.mkdir(parents=True, exist_ok=True)

    def check_available(self) -> None:
        """Raise UnavailableError when it cannot be run here."""

    def version(self) -> str:
        """Return its version in words."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Write what it needs before a start: ports, settings, a formatted directory."""

    def command(self) -> list[str]:
        """Return the command line."""
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        """Return its environment."""
        # Bytecode files are written and used, as for any installed package.
        return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def is_ready(self) -> bool:
        """Whether it answers."""
        return answers(self.port)

    def log_files(self, topic: str) -> list[Path]:
        """Return the files that hold partition 0 of a topic; none when it keeps no files like Kafka's."""
        return sorted((self.directory / "data" / f"{topic}-0").glob("*.log"))

    @property
    def port(self) -> int:
        """Where it listens without TLS."""
        return self.ports[Transport.PLAIN]

    @property
    def bootstrap(self) -> str:
        """HOST:PORT for clients."""
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The first process."""
        assert self._process is not None, f"{self.name} is not running"
        return self._process.pid

    def pids(self) -> list[int]:
        """Return all its processes."""
        return tree(self.pid)

    @property
    def is_running(self) -> bool:
        """Whether its first process lives."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it and wait until it answers.

        Raises:
            RuntimeError: it ended or did not answer; the message has the end of its log.
        """
        self.prepare()
        command, environment = self.command(), self.environment()
        self._log = self.log_path.open("ab")
        began = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            cwd=self.directory,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        self._wait(self.is_ready, began + self.start_timeout_s)
        self.start_s = time.perf_counter() - began

    def _wait(self, condition: Callable[[], bool], deadline: float) -> None:
        assert self._process is not None
        while not condition():
            if self._process.poll() is not None:
                status = self._process.returncode
                self.kill()
                raise RuntimeError(f"{self.name} ended with {status}: {self.log_tail()}")
            if time.perf_counter() > deadline:
                self.kill()
                raise RuntimeError(f"{self.name} did not answer: {self.log_tail()}")
            time.sleep(POLL_S)

    def pause(self) -> None:
        """Let it stand still, if it may: what it does in the background is its own turns' business."""
        if self.may_pause and self.is_running:
            self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on after `pause`; harmless when it was not paused."""
        if self.is_running:
            self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def stop(self) -> float:
        """Stop it as its users would; return the seconds that took. A process that will not is killed."""
        if self._process is None:
            return 0.0
        self.resume()
        began = time.perf_counter()
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
        seconds = time.perf_counter() - began
        self._forget()
        return seconds

    def kill(self) -> None:
        """End all its processes at once."""
        if self._process is None:
            return
        self._signal(signal.SIGKILL)
        self._process.wait()
        self._forget()

    def _forget(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        if self._log is not None:
            self._log.close()
        self._process = self._log = None

    def log_tail(self) -> str:
        """The end of what it said."""
        try:
            return self.log_path.read_text(errors="replace")[-LOG_TAIL_CHARS:]
        except FileNotFoundError:
            return ""


@contextlib.contextmanager
def running(server: Server) -> Iterator[Server]:
    """A started server as a context."""
    server.start()
    try:
        yield server
    finally:
        server.stop()
