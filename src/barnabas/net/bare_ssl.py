"""The `ssl` of a broker: the interpreter's own C module, without the Python around it.

`import ssl` makes enums of hundreds of constants and imports socket, selectors, re and base64 for what only
clients use: 12 ms of a start with a TLS listener. Its SSLSocket puts two calls of Python around each record,
and takes bytes from a socket that was not connected in time as if TLS had brought them, unless it looks for
them (CVE-2023-40217); here there is no such second way. What is used of the C module has been the same from
Python 3.11 to 3.14, and `tests/net/test_tls.py` runs every line that uses it. See docs/adr/0008 and
`bare_socket.py`.
"""

import _ssl as ssl

from barnabas.base.hints import Protocol
from barnabas.net.bare_socket import socket

__all__ = ("TlsSession", "TlsSocket", "ssl", "wrap_socket")


class TlsSession(Protocol):
    """OpenSSL's side of one connection; what it raises are the SSLErrors of `ssl`."""

    def do_handshake(self) -> None:
        """Go on with the handshake."""

    def read(self, length: int, buffer: memoryview, /) -> int:
        """Decrypt into a buffer; return how many bytes, 0 after the peer's close_notify."""

    def write(self, data: bytes | bytearray | memoryview, /) -> int:
        """Encrypt and send; return how many bytes of the data."""

    def pending(self) -> int:
        """Return how many decrypted bytes wait."""

    def shutdown(self) -> object:
        """Send close_notify."""

    def getpeercert(self, binary_form: bool, /) -> bytes | None:
        """Return the peer's certificate in DER; None without one."""


class TlsSocket(socket.socket):
    """A socket that a session can refer to: that takes weak references, which the C class lacks."""

    __slots__ = ("__weakref__",)


def wrap_socket(context: ssl._SSLContext, connected: socket.socket) -> tuple[TlsSocket, TlsSession]:
    """Take a connected socket over, not to block from now on; return it with a server's session over it.

    Raises:
        OSError: the socket is closed then.
    """
    kind = connected.family, connected.type, connected.proto
    taken = TlsSocket(*kind, fileno=connected.detach())
    taken.setblocking(False)
    session: TlsSession = context._wrap_socket(taken, True)  # type: ignore[attr-defined]
    return taken, session
