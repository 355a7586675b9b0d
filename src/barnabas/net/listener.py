"""A listening socket: bound with words for what goes wrong, and the connections it took.

Socket options are set on the listening socket, since Linux hands them down to what it accepts: no calls
per connection. Buffer sizes must be set there anyway, before the window is negotiated.
"""

import errno
import os

from barnabas.base.dataclass import dataclass
from barnabas.net.bare_socket import socket
from barnabas.net.contracts import ConnectionHandler
from barnabas.net.listener_config import OS_DEFAULT_BUFFER, ListenerConfig
from barnabas.net.listener_traffic import ListenerTraffic


class ListenError(OSError):
    """A listener could not be bound; the text says which and why."""

    def __str__(self) -> str:
        return self.strerror or super().__str__()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerStatistics:
    """What a listener's connections did since it was bound. Bytes of slices are told by how they went (F41).

    Attributes:
        accepted: connections taken.
        connections: open now.
        requests_received: whole requests handed to the handler.
        reads: calls that received bytes.
        bytes_received, bytes_sent: both with the frames' lengths.
        sends: calls that sent from memory.
        send_files: sendfile calls.
        partial_sends: calls of either kind that the socket took only a part of.
        zero_copy_bytes: slice bytes sent by sendfile.
        staged_bytes: slice bytes that were read and copied.
        handshakes_failed: TLS handshakes that did not become a connection.
    """

    name: str
    host: str
    port: int
    accepted: int
    connections: int
    requests_received: int
    reads: int
    bytes_received: int
    bytes_sent: int
    sends: int
    send_files: int
    partial_sends: int
    zero_copy_bytes: int
    staged_bytes: int
    handshakes_failed: int


class Listener:
    """A bound listener; `Reactor.listen` makes it.

    Attributes:
        host, port: what it is bound to; the port is the real one when 0 was asked for.
        is_local: whether it serves this machine's tools, beside the limits for clients.
        is_polled: whether the loop waits for its connections; kept by the loop.
    """

    __slots__ = (
        "_socket",
        "accepted",
        "config",
        "fd",
        "handler",
        "host",
        "is_local",
        "is_polled",
        "max_connections",
        "port",
        "traffic",
    )

    def __init__(self, config: ListenerConfig, handler: ConnectionHandler) -> None:
        """Bind and listen.

        Raises:
            ListenError: the name does not resolve, or the address cannot be bound.
            TlsConfigError: key, certificate or trusted certificates cannot be used.
        """
        self.config = config
        self.handler = handler
        self.traffic = ListenerTraffic(config)
        self.accepted = 0
        self.is_polled = False
        self.is_local = False
        self.max_connections = config.max_connections
        if config.tls is not None:
            from barnabas.net.tls_context import ListenerTls  # noqa: PLC0415 - ssl costs plain starts 5 ms

            self.traffic.tls = ListenerTls(config.tls)
        self._socket = _bind(config)
        self.fd = self._socket.fileno()
        self.host, self.port = self._socket.getsockname()[:2]

    @property
    def is_full(self) -> bool:
        """Whether the listener's own max.connections is reached."""
        return len(self.traffic.connections) + self.traffic.handshaking >= self.max_connections

    @property
    def is_open(self) -> bool:
        return self.fd >= 0

    def accept(self) -> tuple[socket.socket, tuple[str, int]]:
        """Return the next connection, non-blocking, and its peer's address and port.

        Raises:
            BlockingIOError: there is none.
            OSError: the connection died before it was taken, or there is no descriptor for it.
        """
        fd, address = self._socket._accept()  # type: ignore[attr-defined]  # see bare_socket
        accepted = socket.socket(self._socket.family, socket.SOCK_STREAM, 0, fd)
        accepted.setblocking(False)
        return accepted, plain_address(address)

    def close(self) -> None:
        """Listen no longer; connections stay. Closing twice is harmless."""
        self.fd = -1
        self._socket.close()

    def statistics(self) -> ListenerStatistics:
        """Return what its connections did; costs a look at each open one."""
        traffic = self.traffic
        output = traffic.output
        live = traffic.connections
        return ListenerStatistics(
            name=self.config.name,
            host=self.host,
            port=self.port,
            accepted=self.accepted,
            connections=len(live),
            requests_received=traffic.requests_received + sum(c.requests_received for c in live),
            reads=traffic.reads,
            bytes_received=traffic.bytes_received + sum(c.bytes_received for c in live),
            bytes_sent=traffic.bytes_sent + sum(c.bytes_sent for c in live),
            sends=output.sends,
            send_files=output.send_files,
            partial_sends=output.partial_sends,
            zero_copy_bytes=output.zero_copy_bytes,
            staged_bytes=output.staged_bytes,
            handshakes_failed=traffic.handshakes_failed,
        )


def plain_address(address: str | tuple[str, int] | tuple[str, int, int, int]) -> tuple[str, int]:
    """Return host and port; an IPv4 peer of a dual-stack listener gets its IPv4 address.

    What comes by a socket in the file system has a path, or nothing, for its host, and no port.
    """
    if isinstance(address, str):
        return address, 0
    host = address[0]
    if host.startswith("::ffff:") and "." in host:
        host = host[len("::ffff:") :]
    return host, address[1]


def _bind(config: ListenerConfig) -> socket.socket:
    family, address = _resolve(config)
    try:
        made = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    except OSError as error:
        raise _listen_error(config, error) from error
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if family == socket.AF_INET6:
            # Only the wildcard means both families, as it does in Java.
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0 if address[0] == "::" else 1)
        if config.socket_receive_buffer_bytes != OS_DEFAULT_BUFFER:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, config.socket_receive_buffer_bytes)
        if config.socket_send_buffer_bytes != OS_DEFAULT_BUFFER:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, config.socket_send_buffer_bytes)
        made.bind(address)
        made.listen(config.socket_listen_backlog_size)
    except OSError as error:
        made.close()
        raise _listen_error(config, error) from error
    return made


def _resolve(config: ListenerConfig) -> tuple[int, tuple[str, int]]:
    """Return the one address to bind: the name's first IPv4 one, else its first, as Java does."""
    if not config.host:
        family = socket.AF_INET6 if _has_ipv6() else socket.AF_INET
        return family, ("::" if family == socket.AF_INET6 else "0.0.0.0", config.port)
    # As bytes a plain host name does not import the codec for international ones.
    host = config.host.encode("ascii") if config.host.isascii() else config.host
    try:
        found = socket.getaddrinfo(
            host, config.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_ADDRCONFIG
        )
    except (OSError, UnicodeError):
        # A numeric address of a family without a configured interface, ::1 in some containers.
        try:
            found = socket.getaddrinfo(host, config.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            text = f"listener {config.name}: {config.host!r} does not resolve: {error}"
            raise ListenError(errno.EADDRNOTAVAIL, text) from error
    chosen = next((entry for entry in found if entry[0] == socket.AF_INET), found[0])
    return chosen[0], chosen[4]  # type: ignore[return-value]


def _has_ipv6() -> bool:
    if not socket.has_ipv6:
        return False
    try:
        probe = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    except OSError:
        return False
    try:
        probe.bind(("::", 0))
    except OSError:
        return False
    finally:
        probe.close()
    return True


def _listen_error(config: ListenerConfig, error: OSError) -> ListenError:
    host = f"[{config.host}]" if ":" in config.host else config.host or "*"
    text = f"listener {config.name} cannot bind {host}:{config.port}: {os.strerror(error.errno or 0)}"
    if error.errno == errno.EADDRINUSE:
        text += "; another process listens there: stop it, or choose another port"
    elif error.errno == errno.EADDRNOTAVAIL:
        text += "; no interface has this address"
    elif error.errno == errno.EACCES:
        text += "; ports below 1024 need a privilege"
    return ListenError(error.errno, text)
