"""The broker of a demo: a process of its own, started over its command line."""

import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 30.0
LOG_TAIL_CHARS = 3000
_LISTENING = re.compile(r"listening on (\S+):(\d+)")


class DemoError(Exception):
    """The demo found something wrong."""


class Broker:
    """`barnabas serve` in its own process, over one directory and port.

    Args:
        directory: the data directory; the broker's log lies beside it.
        overrides: configuration, by Kafka's names.
    """

    def __init__(self, directory: str, overrides: Mapping[str, str] | None = None) -> None:
        self.directory = directory
        self._overrides = dict(overrides or {})
        self.log_path = f"{directory}.log"
        self._process: subprocess.Popen[str] | None = None
        self.address = "127.0.0.1:0"

    @property
    def pid(self) -> int:
        """The process id; only while it runs."""
        assert self._process is not None, "not running"
        return self._process.pid

    def start(self) -> float:
        """Start and return the seconds until it said that it listens."""
        began = time.monotonic()
        line = [
            sys.executable,
            "-m",
            "barnabas",
            "serve",
            "--data-dir",
            self.directory,
            "--listen",
            self.address,
        ]
        for name, value in self._overrides.items():
            line += ["--override", f"{name}={value}"]
        with open(self.log_path, "ab") as log:
            self._process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], START_TIMEOUT_S)
        said = self._process.stdout.readline() if readable else ""
        found = _LISTENING.match(said)
        if found is None:
            self.kill()
            raise DemoError(f"the broker did not start; it said {said!r}")
        self.address = f"{found[1]}:{found[2]}"
        return time.monotonic() - began

    def stop(self) -> float:
        """Stop it cleanly and return how long that took."""
        assert self._process is not None
        began = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        status = self._process.wait(STOP_TIMEOUT_S)
        if status != 0:
            raise DemoError(f"the broker stopped with exit code {status}")
        self._process = None
        return time.monotonic() - began

    def kill(self) -> None:
        """Make sure that it is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def log_tail(self) -> str:
        """Return the end of what it wrote to standard error."""
        path = Path(self.log_path)
        return path.read_text(errors="replace")[-LOG_TAIL_CHARS:] if path.exists() else ""
