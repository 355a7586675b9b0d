"""TLS handshakes under way: connections that are not connections yet.

They live beside the loop's connections, so that those know nothing of handshakes and an event of one costs
what it always did. A handshake holds up nobody: it is stepped when its peer has sent something, a bounded
number of steps a turn (one costs up to a millisecond of arithmetic), and it has a deadline. Handing the
arithmetic to a thread was rejected: it saves the loop that millisecond and costs a change of threads a step.
"""

from collections.abc import Callable
from select import EPOLLIN, EPOLLOUT, epoll

from barnabas.base.logger import Logger
from barnabas.net.bare_socket import socket
from barnabas.net.bare_ssl import ssl
from barnabas.net.contracts import Timer
from barnabas.net.listener import Listener
from barnabas.net.log_throttle import LogThrottle
from barnabas.net.tls_transport import HandshakeProgress, TlsTransport

log = Logger(__name__)

STEPS_PER_TURN_MAX = 16
"""Some 10 ms when all of them sign with an RSA key; who is left is told of by the next turn's epoll."""

Address = tuple[str, int]

_INTEREST = {HandshakeProgress.READABLE: EPOLLIN, HandshakeProgress.WRITABLE: EPOLLOUT}

_REASONS = {
    "HTTP_REQUEST": "the peer speaks HTTP",
    "HTTPS_PROXY_REQUEST": "the peer speaks HTTP",
    "WRONG_VERSION_NUMBER": "the peer does not speak TLS",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the client shows no certificate and ssl.client.auth is required",
    "TLSV1_ALERT_UNKNOWN_CA": "the client does not trust our certificate",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "the client does not accept our certificate",
    "UNSUPPORTED_PROTOCOL": "the client offers no version of TLS in ssl.enabled.protocols",
    "NO_SHARED_CIPHER": "the client offers no cipher suite that is enabled here",
}


class _Handshake:
    __slots__ = ("interest", "listener", "local", "peer", "timer", "transport")

    def __init__(
        self, transport: TlsTransport, listener: Listener, local: Address, peer: Address, timer: Timer
    ) -> None:
        self.transport = transport
        self.listener = listener
        self.local = local
        self.peer = peer
        self.timer = timer
        self.interest = EPOLLIN


class Handshakes:
    """The handshakes of one loop.

    Args:
        polled: the loop's epoll.
        call_later: the loop's.
        opened: takes over a transport whose handshake is done; it is polled no more.
        dropped: told the peer's address when there will be no connection.
    """

    def __init__(
        self,
        *,
        polled: epoll,
        call_later: Callable[[int, Callable[[], None]], Timer],
        opened: Callable[[Listener, TlsTransport, Address, Address], None],
        dropped: Callable[[str], None],
        throttle: LogThrottle,
    ) -> None:
        self._epoll = polled
        self._call_later = call_later
        self._opened = opened
        self._dropped = dropped
        self._throttle = throttle
        self._under_way: dict[int, _Handshake] = {}
        self._turn = 0
        self._steps = 0

    def __len__(self) -> int:
        return len(self._under_way)

    def __contains__(self, fd: int) -> bool:
        return fd in self._under_way

    def begin(self, listener: Listener, accepted: socket.socket, local: Address, peer: Address) -> None:
        """Wait for an accepted connection's handshake.

        Raises:
            OSError: it cannot be polled; it is closed then.
        """
        tls = listener.traffic.tls
        assert tls is not None
        fd = accepted.fileno()
        try:
            transport = TlsTransport(accepted, tls.context)
            fd = transport.fileno()
            self._epoll.register(fd, EPOLLIN)
        except OSError:
            accepted.close()
            raise
        timeout_ms = tls.config.handshake_timeout_ms
        timer = self._call_later(timeout_ms, lambda: self._expire(fd, timeout_ms))
        self._under_way[fd] = _Handshake(transport, listener, local, peer, timer)
        listener.traffic.handshaking += 1

    def step(self, fd: int, turn: int) -> None:
        """Go on with a handshake that epoll tells of, if this turn may spend more on handshakes."""
        if turn != self._turn:
            self._turn, self._steps = turn, 0
        if self._steps >= STEPS_PER_TURN_MAX:
            return
        self._steps += 1
        handshake = self._under_way[fd]
        try:
            progress = handshake.transport.handshake()
        except OSError as error:
            self._fail(fd, _explain(error))
            return
        if progress is HandshakeProgress.DONE:
            self._take(fd)
            self._opened(handshake.listener, handshake.transport, handshake.local, handshake.peer)
        elif _INTEREST[progress] != handshake.interest:
            handshake.interest = _INTEREST[progress]
            self._epoll.modify(fd, handshake.interest)

    def close_all(self) -> None:
        """The loop ends: hang up on all of them."""
        for fd in list(self._under_way):
            handshake = self._take(fd)
            handshake.transport.abandon()
            self._dropped(handshake.peer[0])

    def _expire(self, fd: int, timeout_ms: int) -> None:
        self._fail(fd, f"not done after {timeout_ms} ms (ssl.handshake.timeout.ms)")

    def _fail(self, fd: int, why: str) -> None:
        handshake = self._take(fd)
        handshake.listener.traffic.handshakes_failed += 1
        local, peer = handshake.local, handshake.peer
        self._throttle.warning(
            log,
            "Failed TLS handshake of %s:%d-%s:%d on %s: %s",
            *local,
            *peer,
            handshake.listener.config.name,
            why,
        )
        handshake.transport.abandon()
        self._dropped(peer[0])

    def _take(self, fd: int) -> _Handshake:
        handshake = self._under_way.pop(fd)
        handshake.timer.cancel()
        handshake.listener.traffic.handshaking -= 1
        self._epoll.unregister(fd)
        return handshake


def _explain(error: OSError) -> str:
    """Return why a handshake failed, in words that tell a user what to change."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the client's certificate is refused: {error.verify_message}"
    if isinstance(error, ssl.SSLEOFError | ConnectionError):
        return "the peer closed the connection"
    reason = getattr(error, "reason", None)
    return _REASONS.get(reason, reason) if isinstance(reason, str) else str(error)
