"""TLS over a non-blocking socket: the handshake, then the same contract as plaintext.

OpenSSL works on the socket itself. Its memory buffers were rejected: each byte would be copied twice more,
and kernel TLS, which gives sendfile back to TLS, needs the socket. For that day `zero_copy` is an
attribute that a transport may set once its handshake is over; connection and output already ask it.

What differs from a socket, and is kept from whoever uses the contract:

- A record that was begun must be finished with the same bytes. They are kept here until then, one record at
  most, and the next send goes on with them whatever it brings: by the contract those are the same bytes.
- OpenSSL may hold bytes that epoll does not know of: `has_unread` tells.
- Reading may need room to write in (key updates of TLS 1.3), during which `wants_room`.
"""

from collections.abc import Sequence
from contextlib import suppress

from barnabas.base.enums import Enum, auto
from barnabas.net.bare_socket import socket
from barnabas.net.bare_ssl import ssl, wrap_socket
from barnabas.net.distinguished_name import CertificateError, subject_of

Buffer = bytes | bytearray | memoryview

RECORD_BYTES_MAX = 16 * 1024
"""Plaintext of one TLS record."""

_LINGER_READS_MAX = 16
_LINGER_READ_BYTES = 16 * 1024


class HandshakeProgress(Enum):
    """What a handshake waits for."""

    DONE = auto()
    READABLE = auto()
    WRITABLE = auto()


class TlsTransport:
    """A connected socket that speaks TLS as a server.

    Attributes:
        has_unread: whether received bytes wait here that epoll cannot tell of.
        wants_room: whether reading goes on only when the socket can be written.
        peer_distinguished_name: of the client's certificate, None without one; known after the handshake.
    """

    __slots__ = (
        "_fd",
        "_is_shut",
        "_read",
        "_retry",
        "_session",
        "_socket",
        "_write",
        "has_unread",
        "peer_distinguished_name",
        "wants_room",
        "zero_copy",
    )

    def __init__(self, connected: socket.socket, context: ssl._SSLContext) -> None:
        """Take over a connected, non-blocking socket."""
        self.zero_copy = False
        self.has_unread = False
        self.wants_room = False
        self.peer_distinguished_name: str | None = None
        self._retry: bytes | None = None
        self._is_shut = False
        self._socket, self._session = wrap_socket(context, connected)
        self._fd = self._socket.fileno()
        self._read = self._session.read
        self._write = self._session.write

    def handshake(self) -> HandshakeProgress:
        """Go on with the handshake.

        Raises:
            OSError: it failed; the peer was told, as far as that is possible.
        """
        try:
            self._session.do_handshake()
        except ssl.SSLWantReadError:
            return HandshakeProgress.READABLE
        except ssl.SSLWantWriteError:
            return HandshakeProgress.WRITABLE
        certificate = self._session.getpeercert(True)
        if certificate is not None:
            try:
                self.peer_distinguished_name = subject_of(certificate)
            except CertificateError as error:
                raise ssl.SSLError(f"the client's certificate cannot be read: {error}") from None
        self.has_unread = self._session.pending() > 0
        return HandshakeProgress.DONE

    def fileno(self) -> int:
        return self._fd

    def receive_into(self, buffer: bytearray | memoryview, /) -> int:
        """As the contract says; fills the buffer as long as whole records keep coming."""
        if self._is_shut:
            return self._socket.recv_into(buffer)  # to be dropped, whatever it is
        self.wants_room = self.has_unread = False
        view = memoryview(buffer)
        length = len(view)
        filled = 0
        try:
            while filled < length:
                count = self._read(length - filled, view[filled:])
                filled += count
                if count != RECORD_BYTES_MAX:
                    # Hardly more is there; if it is, epoll tells, save for the end of TLS before that of TCP.
                    self.has_unread = count == 0 and filled > 0
                    break
        except ssl.SSLWantReadError:
            if not filled:
                raise BlockingIOError from None
        except ssl.SSLWantWriteError:
            self.wants_room = True
            if not filled:
                raise BlockingIOError from None
        except ssl.SSLEOFError:
            # No goodbye from TLS. Frames have lengths, so that nothing can be cut off unseen.
            self.has_unread = filled > 0
            return filled
        if filled == length:
            self.has_unread = self._session.pending() > 0
        return filled

    def send(self, data: Buffer, /) -> int:
        sent = 0
        view = memoryview(data)
        try:
            if self._retry is not None:
                sent = self._write(self._retry)
                self._retry = None
            while sent < len(view):
                record = view[sent : sent + RECORD_BYTES_MAX]
                try:
                    sent += self._write(record)
                except ssl.SSLWantWriteError:
                    self._retry = bytes(record)
                    raise
        except ssl.SSLWantWriteError:
            if not sent:
                raise BlockingIOError from None
        except ssl.SSLWantReadError:
            raise ConnectionAbortedError("the peer began another handshake") from None
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError) as error:
            raise BrokenPipeError(str(error)) from None
        return sent

    def send_parts(self, parts: Sequence[Buffer], more: bool) -> int:  # noqa: ARG002 - records have no more to come
        return self.send(parts[0] if len(parts) == 1 else b"".join(parts))

    def send_file(self, fd: int, position: int, length: int) -> int:  # noqa: ARG002
        raise AssertionError("TLS without the kernel's help cannot send from the page cache")

    def cork(self, on: bool) -> None:  # noqa: ARG002
        raise AssertionError("only what is sent from the page cache is corked")

    def finish_sending(self) -> None:
        self._say_goodbye()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        if self._socket.fileno() >= 0:
            self._say_goodbye()
            self._socket.close()

    def abandon(self) -> None:
        """Close after a failed handshake, such that the alert that told the peer why is not overtaken."""
        with suppress(OSError):
            # Of the socket itself: closing with unread bytes makes the kernel send a reset.
            self._socket.shutdown(socket.SHUT_WR)
            unread = bytearray(_LINGER_READ_BYTES)
            for _ in range(_LINGER_READS_MAX):
                if self._socket.recv_into(unread) == 0:
                    break
        self._is_shut = True
        self._socket.close()

    def _say_goodbye(self) -> None:
        """Send close_notify if that is possible now; its answer is not waited for."""
        if not self._is_shut and self._retry is None:
            self._is_shut = True
            with suppress(OSError, ValueError):
                self._session.shutdown()
