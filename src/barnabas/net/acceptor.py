"""Taking connections: which listeners are polled, up to which limits, and how fast.

A listener that may take nobody is not polled, since a level-triggered epoll would tell of it for ever; who
waits then waits in the kernel's backlog, as with Apache Kafka. Closing them at once instead would make
clients come back in a hurry.
"""

import errno
import os
from collections.abc import Callable
from select import EPOLLIN, epoll

from barnabas.base.clock import Clock
from barnabas.base.hints import TYPE_CHECKING
from barnabas.base.logger import Logger
from barnabas.net.connection_counts import ConnectionCounts
from barnabas.net.contracts import Timer, Transport
from barnabas.net.creation_rate import CreationRate
from barnabas.net.listener import Listener, plain_address
from barnabas.net.listener_config import ConnectionLimits
from barnabas.net.log_throttle import LogThrottle
from barnabas.net.transport import PlaintextTransport

if TYPE_CHECKING:
    from barnabas.net.handshakes import Handshakes

log = Logger(__name__)

ACCEPTS_PER_TURN_MAX = 64

ACCEPT_PAUSE_MS = 1000
"""Without a free descriptor, accepting pauses this long, or until a connection closes."""

_NO_DESCRIPTOR = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))

Address = tuple[str, int]
Opened = Callable[[Listener, Transport, Address, Address], None]


class Acceptor:
    """The listeners of one loop.

    Args:
        polled: the loop's epoll.
        call_later: the loop's.
        opened: makes a connection; raises OSError when it cannot be polled, and the transport is closed then.

    Attributes:
        counts: connections against their limits.
        listeners: all that were added, closed ones too.
        failures: accepts that failed for want of a descriptor or memory.
    """

    def __init__(
        self,
        *,
        polled: epoll,
        clock: Clock,
        call_later: Callable[[int, Callable[[], None]], Timer],
        throttle: LogThrottle,
        limits: ConnectionLimits,
        opened: Opened,
    ) -> None:
        self.counts = ConnectionCounts(limits)
        self.listeners: list[Listener] = []
        self.failures = 0
        self._epoll = polled
        self._clock = clock
        self._call_later = call_later
        self._throttle = throttle
        self._opened = opened
        self._rate = CreationRate(limits.connection_creation_rate, limits.creation_window_ms)
        self._open_listeners: dict[int, Listener] = {}
        self._handshakes: Handshakes | None = None  # made with the first TLS connection
        self._pause_timer: Timer | None = None  # no descriptor was left
        self._rate_timers: dict[Listener, Timer] = {}  # who must not take connections so fast

    def add(self, listener: Listener) -> None:
        """Take connections of a bound listener from now on."""
        self._open_listeners[listener.fd] = listener
        self.listeners.append(listener)
        self._poll_listeners()

    def limit(self, limits: ConnectionLimits) -> None:
        """Take over other limits over all listeners."""
        self.counts.limits = limits
        self._rate.limit(limits.connection_creation_rate, limits.creation_window_ms)
        self._forget_waits()
        self._poll_listeners()

    def limit_listener(self, listener: Listener, max_connections: int, creation_rate: int) -> None:
        """Take over other limits of one listener."""
        listener.max_connections = max_connections
        listener.traffic.rate.limit(creation_rate, self.counts.limits.creation_window_ms)
        self._forget_waits()
        self._poll_listeners()

    def closed(self, address: str) -> None:
        """A connection of an address is gone: there is room for another."""
        self.counts.release(address)
        if self._pause_timer is not None:
            self._pause_timer.cancel()
            self._pause_timer = None
        self._poll_listeners()

    def handle(self, fd: int, turn: int) -> bool:
        """Handle what epoll tells of a descriptor; False when it is neither a listener nor in a handshake."""
        listener = self._open_listeners.get(fd)
        if listener is not None:
            self._accept(listener)
        elif self._handshakes is not None and fd in self._handshakes:
            self._handshakes.step(fd, turn)
        else:
            return False
        return True

    def close(self) -> None:
        """Listen no longer and give up handshakes; connections stay. Closing twice is harmless."""
        for listener in self._open_listeners.values():
            if listener.is_polled:
                self._epoll.unregister(listener.fd)
                listener.is_polled = False
            listener.close()
        self._open_listeners.clear()
        self._forget_waits()
        if self._handshakes is not None:
            self._handshakes.close_all()

    def _poll_listeners(self) -> None:
        """Poll each listener that may take a connection, and no other."""
        paused = self.counts.is_full or self._pause_timer is not None
        for listener in self._open_listeners.values():
            wanted = (
                (not paused or listener.is_local)
                and not listener.is_full
                and listener not in self._rate_timers
            )
            if wanted and not listener.is_polled:
                self._epoll.register(listener.fd, EPOLLIN)
            elif listener.is_polled and not wanted:
                self._epoll.unregister(listener.fd)
            listener.is_polled = wanted

    def _accept(self, listener: Listener) -> None:
        """Take the waiting connections of a listener, up to the turn's share and the limits."""
        now_ms = self._clock.monotonic_ms()
        for _ in range(ACCEPTS_PER_TURN_MAX):
            if (self.counts.is_full and not listener.is_local) or listener.is_full:
                self._poll_listeners()
                return
            if not listener.is_local and self._must_wait(listener, now_ms):
                return
            try:
                accepted, peer = listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in _NO_DESCRIPTOR:
                    self._pause(error)
                    return
                continue  # the peer gave up before it was its turn
            if not listener.is_local:
                self._rate.took(now_ms)
                listener.traffic.rate.took(now_ms)
            if not self.counts.admit(peer[0]):
                self._throttle.warning(
                    log,
                    "Rejected connection from %s: the address has its maximum of %d connections",
                    peer[0],
                    self.counts.limits.per_ip(peer[0]),
                )
                accepted.close()
                continue
            local = plain_address(accepted.getsockname())
            if listener.traffic.tls is None:
                self._open(listener, PlaintextTransport(accepted), local, peer)
                continue
            try:
                self._tls_handshakes().begin(listener, accepted, local, peer)
            except OSError:  # the peer gave up already
                self._drop_peer(peer[0])

    def _tls_handshakes(self) -> "Handshakes":
        if self._handshakes is None:
            from barnabas.net.handshakes import Handshakes  # noqa: PLC0415 - no start needs it

            self._handshakes = Handshakes(
                polled=self._epoll,
                call_later=self._call_later,
                opened=self._open,
                dropped=self._drop_peer,
                throttle=self._throttle,
            )
        return self._handshakes

    def _must_wait(self, listener: Listener, now_ms: int) -> bool:
        """Tell whether connections come faster than they may; then poll the listener again in time."""
        wait_ms = max(self._rate.wait_ms(now_ms), listener.traffic.rate.wait_ms(now_ms))
        if wait_ms == 0:
            return False

        def resume() -> None:
            del self._rate_timers[listener]
            self._poll_listeners()

        log.debug("%s waits %d ms (max.connection.creation.rate)", listener.config.name, wait_ms)
        self._rate_timers[listener] = self._call_later(wait_ms, resume)
        self._poll_listeners()
        return True

    def _forget_waits(self) -> None:
        for timer in self._rate_timers.values():
            timer.cancel()
        self._rate_timers.clear()

    def _open(self, listener: Listener, transport: Transport, local: Address, peer: Address) -> None:
        try:
            self._opened(listener, transport, local, peer)
        except OSError as error:  # the user's limit of watches, or memory
            self.counts.release(peer[0])
            self._pause(error)

    def _drop_peer(self, address: str) -> None:
        """There will be no connection for who was counted already."""
        self.counts.release(address)
        self._poll_listeners()

    def _pause(self, error: OSError) -> None:
        """Without a descriptor the listener would stay readable and the loop would spin."""
        self.failures += 1
        self._throttle.warning(log, "Cannot accept connections now: %s", os.strerror(error.errno or 0))
        if self._pause_timer is None:
            self._pause_timer = self._call_later(ACCEPT_PAUSE_MS, self._resume)
        self._poll_listeners()

    def _resume(self) -> None:
        self._pause_timer = None
        self._poll_listeners()
