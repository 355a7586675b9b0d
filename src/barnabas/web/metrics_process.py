"""The broker's side of the metrics process: it holds the port, starts the process, and starts it again.

The listening socket belongs to the broker's process, which hands it down. So a port that is taken fails the
start with a clear word, a scrape during a restart waits instead of being refused, and the port stays.

The child watches a pipe whose other end only the broker has: when the broker is gone, however it went, the
kernel closes it and the child ends. PR_SET_PDEATHSIG was rejected: it follows the thread that made the child,
not the process. posix_spawn instead of subprocess, whose import takes longer than a broker's whole start.
"""

import errno
import fcntl
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec

import barnabas
from barnabas.base.logger import Logger

TEND_INTERVAL_MS = 1_000
"""How often it is looked whether the child is still there."""

RESTART_DELAYS_MS = (1_000, 2_000, 5_000, 15_000, 60_000)
"""From a death to the next start; the last one for all further deaths."""

SETTLED_MS = 60_000
"""A child that lived so long starts the delays anew."""

STOP_WAIT_S = 0.3
"""How long a child may take to end before it is killed."""

LISTEN_FD = 3
"""Where the child finds the listening socket."""

NEEDED_MODULES = ("prometheus_client", "starlette", "uvicorn")

_BACKLOG = 64
_HIGH_FD = 64

_log = Logger(__name__)

CallLater = Callable[[int, Callable[[], None]], object]


class MetricsError(Exception):
    """Metrics cannot be served; the text is one line for the user."""


class MetricsProcess:
    """The process that serves metrics, as the broker has it. All calls come from the loop's thread.

    Attributes:
        host, port: where it listens; the port is the real one when 0 was asked for.
        pid: of the child; 0 while there is none.
    """

    def __init__(self, address: tuple[str, int], broker_socket: str, call_later: CallLater) -> None:
        """Take the port; nothing runs before `start`.

        Args:
            broker_socket: path at which the broker can be asked.
            call_later: runs a call on the loop after so many milliseconds.
        Raises:
            MetricsError: packages are missing, or the address cannot be bound.
        """
        missing = [name for name in NEEDED_MODULES if find_spec(name) is None]
        if missing:
            raise MetricsError(
                f"metrics.listener needs the packages {', '.join(missing)}: pip install 'barnabas[web]'"
            )
        self._broker_socket = broker_socket
        self._call_later = call_later
        self._listening = _bind(address)
        self.host, self.port = self._listening.getsockname()[:2]
        self.pid = 0
        self._alive_fd = -1
        self._deaths = 0
        self._started_s = 0.0
        self._is_stopped = False

    def start(self) -> None:
        """Start the child and mind it from now on."""
        self._spawn()
        self._call_later(TEND_INTERVAL_MS, self._tend)

    def stop(self) -> None:
        """End the child and give the port back; stopping twice is harmless. Takes STOP_WAIT_S at most."""
        if self._is_stopped:
            return
        self._is_stopped = True
        self._listening.close()
        self._hang_up()
        if self.pid:
            deadline_s = time.monotonic() + STOP_WAIT_S
            while time.monotonic() < deadline_s:
                if self._is_gone():
                    return
                time.sleep(0.005)
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0

    def _tend(self) -> None:
        """Look after the child; a dead one is followed by another after a while."""
        if self._is_stopped:
            return
        if not self._is_gone():
            self._call_later(TEND_INTERVAL_MS, self._tend)
            return
        self._hang_up()
        if (time.monotonic() - self._started_s) * 1000 >= SETTLED_MS:
            self._deaths = 0
        delay_ms = RESTART_DELAYS_MS[min(self._deaths, len(RESTART_DELAYS_MS) - 1)]
        if self._deaths == 0:
            _log.warning("the process that serves metrics has ended; it is started again")
        self._deaths += 1
        self._call_later(delay_ms, self._start_again)

    def _start_again(self) -> None:
        if not self._is_stopped:
            self.start()

    def _is_gone(self) -> bool:
        if self.pid:
            try:
                ended, _ = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # somebody else in this process waits for all children
                ended = self.pid
            if ended:
                self.pid = 0
        return self.pid == 0

    def _hang_up(self) -> None:
        if self._alive_fd >= 0:
            os.close(self._alive_fd)
            self._alive_fd = -1

    def _spawn(self) -> None:
        """Start the child; a failure counts as its death."""
        self._started_s = time.monotonic()
        reading, self._alive_fd = os.pipe2(os.O_CLOEXEC)
        # Out of the way of the numbers they get in the child.
        high = [
            fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH_FD) for fd in (reading, self._listening.fileno())
        ]
        root = os.path.dirname(os.path.dirname(os.path.abspath(barnabas.__file__)))
        paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
        try:
            self.pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-P", "-m", "barnabas.web", self._broker_socket, str(os.getpid())],
                {**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, high[0], 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_DUP2, high[1], LISTEN_FD),
                ],
                setsigmask=[],
                setpgroup=0,  # out of reach of a terminal's Ctrl-C, which is the broker's to act on
            )
        except OSError as error:
            _log.error("the process that serves metrics cannot be started: %s", error)
            self.pid = 0
        finally:
            for fd in (reading, *high):
                os.close(fd)


def _bind(address: tuple[str, int]) -> socket.socket:
    host, port = address
    made: socket.socket | None = None
    try:
        family, kind, protocol, _, resolved = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        made = socket.socket(family, kind, protocol)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(resolved)
        made.listen(_BACKLOG)
    except OSError as error:
        if made is not None:
            made.close()
        why = (
            "another process listens there: stop it, or choose another port"
            if error.errno == errno.EADDRINUSE
            else error.strerror or error
        )
        raise MetricsError(f"metrics.listener cannot bind {host or '*'}:{port}: {why}") from error
    return made
