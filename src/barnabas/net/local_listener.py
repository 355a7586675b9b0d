"""A listening socket in the file system: how tools on this machine ask a running broker about itself.

Frames are those of the protocol, a length and that many bytes, so that a connection's machinery and its
bounds serve here too. The socket lies in the first log directory and belongs to the broker's user alone;
whoever knows where the data are can find the broker that has them open. Rejected: a socket under the user's
runtime directory, which services and containers often lack, and an abstract one, which any user may take
first.

The kernel takes paths of 107 bytes. A longer one is reached through /proc/self/fd, so data may lie as deep
as they like.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from barnabas.net.bare_socket import socket
from barnabas.net.contracts import ConnectionHandler
from barnabas.net.listener import Listener, ListenError
from barnabas.net.listener_config import ListenerConfig
from barnabas.net.listener_traffic import ListenerTraffic

SOCKET_FILE = ".barnabas.sock"
"""Name of the socket in the first directory of `log.dirs`."""

REQUEST_BYTES_MAX = 64 * 1024
CONNECTIONS_MAX = 16

_MODE = 0o600
_PATH_BYTES_MAX = 107


class LocalListener(Listener):
    """A listener on a path; `Reactor.add_listener` takes it."""

    __slots__ = ("_path",)

    def __init__(self, path: str, handler: ConnectionHandler) -> None:
        """Bind and listen; a socket that a killed broker left behind is replaced.

        The caller holds the lock of the directory, so nobody else listens on the path.

        Args:
            path: of the socket; its directory exists.
        Raises:
            ListenError: it cannot be bound.
        """
        self.config = ListenerConfig(
            name="LOCAL", port=0, socket_request_max_bytes=REQUEST_BYTES_MAX, max_connections=CONNECTIONS_MAX
        )
        self.handler = handler
        self.traffic = ListenerTraffic(self.config)
        self.accepted = 0
        self.is_polled = False
        self.is_local = True
        self.max_connections = CONNECTIONS_MAX
        self._path = path
        self._socket = _bind(path)
        self.fd = self._socket.fileno()
        self.host, self.port = path, 0

    def close(self) -> None:
        """Listen no longer and take the socket out of the directory; closing twice is harmless."""
        if self.fd >= 0:
            with suppress(OSError):
                os.unlink(self._path)
        super().close()


@contextmanager
def reachable(path: str) -> Iterator[str]:
    """Yield a path to the same file that is short enough for the kernel.

    Raises:
        OSError: the directory cannot be opened.
    """
    if len(os.fsencode(path)) <= _PATH_BYTES_MAX:
        yield path
        return
    directory, name = os.path.split(path)
    fd = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{fd}/{name}"
    finally:
        os.close(fd)


def _bind(path: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        os.fchmod(made.fileno(), _MODE)  # the file gets the mode of the socket that is bound
        with suppress(FileNotFoundError):
            if stat.S_ISSOCK(os.lstat(path).st_mode):
                os.unlink(path)
        with reachable(path) as short:
            made.bind(short)
        made.listen(CONNECTIONS_MAX)
    except OSError as error:
        made.close()
        text = f"cannot make the socket {path}: {os.strerror(error.errno or 0)}"
        raise ListenError(error.errno, text) from error
    return made
