"""Running a module of this package in a process of its own: one message in, lines out.

For work that would hold the interpreter's lock for long. The child gets its message, a line, on standard
input and answers in lines on standard output, until it ends; its errors go where the broker's do. It is
minded by the thread that reads the lines, and may be killed from any other.

A child that outlives the broker would work beside the next one's. Its standard input is a pipe whose other
end only the broker has: when the broker is gone, however it went, the kernel closes it, and the child ends
at once, whatever it is at. PR_SET_PDEATHSIG was rejected: it follows the thread that made the child, not the
process. posix_spawn instead of subprocess, whose import takes longer than a broker's whole start.

It leads a process group of its own: what a terminal sends to all in the foreground (Ctrl-C) is the broker's
to act on. Ignoring the signal in the child was rejected: it may come while the interpreter is still starting.
"""

import fcntl
import os
import signal
import sys
import threading
from collections.abc import Iterator

import barnabas

LINE_BYTES_MAX = 64 * 1024 * 1024
"""A longer line ends the child: an answer names segments, and there are not that many."""

_HIGH_FD = 64
_READ_BYTES = 64 * 1024


class ChildProcess:
    """A process that runs `python -m MODULE`.

    Args:
        module: dotted name.

    Attributes:
        pid: 0 before it is started and after it has ended.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self._lock = threading.Lock()  # between killing and reaping, or another process could be hit
        self._is_killed = False
        self._output = -1
        self.pid = 0

    def run(self, message: bytes) -> Iterator[bytes]:
        """Start the child, hand it the message, and yield its lines until it ends. Once only.

        Args:
            message: one line, without its end.
        Raises:
            OSError: it cannot be started.
        """
        with self._lock:
            if self._is_killed:
                return
            to_child, self._output = self._spawn()
        try:
            _write_all(to_child, message + b"\n")
            yield from self._lines()
        finally:
            self.kill()
            os.close(to_child)
            os.close(self._output)
            self._reap()

    def kill(self) -> None:
        """End it at once, or keep it from starting; from any thread, any time."""
        with self._lock:
            self._is_killed = True
            if self.pid:
                os.kill(self.pid, signal.SIGKILL)

    def _lines(self) -> Iterator[bytes]:
        pending = b""
        while data := os.read(self._output, _READ_BYTES):
            *whole, pending = (pending + data).split(b"\n")
            yield from whole
            if len(pending) > LINE_BYTES_MAX:
                return

    def _spawn(self) -> tuple[int, int]:
        """Start it; return what is written to it, and what it is read from."""
        stdin, to_child = os.pipe2(os.O_CLOEXEC)
        from_child, stdout = os.pipe2(os.O_CLOEXEC)
        # Out of the way of the numbers they get in the child.
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH_FD) for fd in (stdin, stdout)]
        root = os.path.dirname(os.path.dirname(os.path.abspath(barnabas.__file__)))
        paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
        try:
            self.pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-P", "-m", self._module],
                {**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                file_actions=[(os.POSIX_SPAWN_DUP2, high[0], 0), (os.POSIX_SPAWN_DUP2, high[1], 1)],
                setsigmask=[],
                setpgroup=0,
            )
        except OSError:
            os.close(to_child)
            os.close(from_child)
            raise
        finally:
            for fd in (stdin, stdout, *high):
                os.close(fd)
        return to_child, from_child

    def _reap(self) -> None:
        with self._lock:
            try:
                os.waitpid(self.pid, 0)
            except ChildProcessError:  # somebody else in this process waits for all children
                pass
            finally:
                self.pid = 0


def _write_all(fd: int, message: bytes) -> None:
    """Hand the message over; a child that has ended already shows when it is read from."""
    rest = memoryview(message)
    try:
        while rest:
            rest = rest[os.write(fd, rest) :]
    except BrokenPipeError:
        pass


def read_message() -> bytes:
    """In the child: return what it was given, and end with the parent from now on."""
    pieces = []
    while data := os.read(0, _READ_BYTES):
        pieces.append(data)
        if data.endswith(b"\n"):
            break
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    return b"".join(pieces)


def _end_with_the_parent() -> None:
    os.read(0, 1)
    os._exit(1)


def write_line(line: bytes) -> None:
    """In the child: say something, one line without its end."""
    rest = memoryview(line + b"\n")
    while rest:
        rest = rest[os.write(1, rest) :]


def be_humble(niceness: int) -> None:
    """In the child: let everybody else go first."""
    os.nice(niceness)
