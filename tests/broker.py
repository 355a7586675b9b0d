"""Run Barnabas as its users do: as a process of its own, over its command line.

It can be stopped, killed and started again on the same port and directory, which is what tests of
durability and of clients that reconnect need.
"""

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType

START_TIMEOUT_S = 20
STOP_TIMEOUT_S = 10
LOG_TAIL_CHARS = 6000

_LISTENING = re.compile(rb"listening on (\S+):(\d+)")


RECORDS_STAY = {"log.initial.task.delay.ms": "86400000"}
"""Records that tests write are often years old, and would expire half a minute after the start."""


class BarnabasBroker:
    """A broker process over one directory.

    Args:
        directory: holds broker.log, and `data` unless told otherwise; made when missing.
        data_dir: the log directory, for example one that Apache Kafka wrote.
        overrides: configuration, by Kafka's names.
    """

    def __init__(
        self,
        directory: Path,
        *,
        data_dir: Path | None = None,
        overrides: Mapping[str, str] | None = None,
    ) -> None:
        self.directory = directory
        self.data_dir = data_dir or directory / "data"
        self.log_path = directory / "broker.log"
        self.host = "127.0.0.1"
        self.port = 0
        self.start_s = 0.0
        self._overrides = RECORDS_STAY | dict(overrides or {})
        self._process: subprocess.Popen[bytes] | None = None
        directory.mkdir(parents=True, exist_ok=True)

    @property
    def bootstrap(self) -> str:
        """HOST:PORT for clients; stays the same over restarts."""
        return f"{self.host}:{self.port}"

    @property
    def pid(self) -> int:
        """The process id."""
        assert self._process is not None, "not running"
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def command(self) -> list[str]:
        """The command line that start() runs."""
        listen = f"{self.host}:{self.port}"
        line = [
            sys.executable,
            "-m",
            "barnabas",
            "serve",
            "--data-dir",
            str(self.data_dir),
            "--listen",
            listen,
        ]
        for name, value in self._overrides.items():
            line += ["--override", f"{name}={value}"]
        return line

    def start(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Start and return once it has said where it listens.

        Raises:
            AssertionError: it ended, or said nothing in time; the message holds its log.
        """
        assert self._process is None, "already running"
        began = time.monotonic()
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log
            )
        said = self._read_until_listening(began + timeout_s)
        found = _LISTENING.search(said)
        if found is None:
            status = self._process.poll()
            self.kill()
            fate = (
                f"did not say where it listens in {timeout_s} s"
                if status is None
                else f"exited with {status}"
            )
            raise AssertionError(f"barnabas {fate}; it said {said!r}, its log ends:\n{self.log_tail()}")
        self.port = int(found[2])
        self.start_s = time.monotonic() - began

    def _read_until_listening(self, deadline: float) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        # Not select(), which takes no descriptor above 1023: a worker of a long run has more.
        readable = select.poll()
        readable.register(fd, select.POLLIN)
        said = b""
        while _LISTENING.search(said) is None or not said.endswith(b"\n"):
            wait_s = deadline - time.monotonic()
            if wait_s <= 0 or not readable.poll(wait_s * 1000):
                break
            data = os.read(fd, 4096)
            if not data:
                self._process.wait()
                break
            said += data
        return said

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> float:
        """Shut down cleanly and return how many seconds that took.

        Raises:
            AssertionError: it did not end in time, or with another status than 0.
        """
        if self._process is None:
            return 0.0
        began = time.monotonic()
        process = self._process
        process.send_signal(signal.SIGTERM)
        try:
            status = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"barnabas did not stop in {timeout_s} s:\n{self.log_tail()}") from None
        self._forget()
        assert status == 0, f"barnabas ended with {status}:\n{self.log_tail()}"
        return time.monotonic() - began

    def kill(self) -> None:
        """End it as kill -9 does: nothing is flushed, nothing is said."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._forget()

    def start_and_kill(self, after_s: float) -> None:
        """Start and kill -9 after `after_s` seconds, however far it came."""
        with self.log_path.open("ab") as log:
            process = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log
            )
        time.sleep(after_s)
        process.kill()
        process.wait()

    def restart(self) -> None:
        """Stop cleanly and start again on the same port."""
        self.stop()
        self.start()

    def _forget(self) -> None:
        assert self._process is not None
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process = None

    def log_tail(self) -> str:
        """The end of what it wrote to standard error."""
        return self.log_path.read_text(errors="replace")[-LOG_TAIL_CHARS:]

    def rss_bytes(self) -> int:
        """Resident memory now."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def __enter__(self) -> "BarnabasBroker":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            error.add_note(f"barnabas' log ({self.log_path}) ends:\n{self.log_tail()}")
            self.kill()
        else:
            self.stop()


@contextlib.contextmanager
def running(directory: Path, overrides: Mapping[str, str] | None = None) -> Iterator[BarnabasBroker]:
    """A started BarnabasBroker as a context."""
    with BarnabasBroker(directory, overrides=overrides) as broker:
        yield broker
