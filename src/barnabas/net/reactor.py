"""The event loop: one thread, one epoll, every connection of the broker.

A turn: wait; let each readable connection handle what came; accept; run what was asked for with
`call_soon` and from other threads; fire timers; let connections that had used up their share go on; run
the end-of-turn calls; wait again. Each of these is capped per turn, and whatever is left makes the next
wait return at once, so neither one busy connection nor 10,000 wake-ups hold up the others.

asyncio and uvloop were measured and rejected: they take 10 us of CPU for an empty fetch against 8.5 here,
and cannot sendfile behind a header without a second packet or tell a half-closed peer while not reading.
Level-triggered, because a bounded read per turn then needs no bookkeeping of what is left.
"""

import errno
import os
import select
from _thread import RLock  # threading.RLock is the same and its import costs 2 ms
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.base.clock import Clock, SystemClock
from barnabas.base.cold_reads import ColdReads
from barnabas.base.limits import READ_CHUNK_BYTES
from barnabas.base.logger import Logger
from barnabas.base.region import FileSlice
from barnabas.net.connection import READ_INTEREST, Connection, ConnectionStatistics
from barnabas.net.connection_counts import ConnectionCounts
from barnabas.net.contracts import ConnectionHandler, Timer, Timers, Transport
from barnabas.net.frame_memory import FrameMemory
from barnabas.net.idle_connections import IdleConnections
from barnabas.net.listener import Listener, plain_address
from barnabas.net.listener_config import STAGING_BYTES, ConnectionLimits, ListenerConfig
from barnabas.net.log_throttle import LogThrottle
from barnabas.net.reactor_state import TRANSITIONS, ReactorState, ReactorStatistics
from barnabas.net.transport import PlaintextTransport

if TYPE_CHECKING:
    from barnabas.net.handshakes import Handshakes

log = Logger(__name__)

EVENTS_PER_TURN_MAX = 256
ACCEPTS_PER_TURN_MAX = 64
CALLS_PER_TURN_MAX = 256
TIMERS_PER_TURN_MAX = 256

ACCEPT_PAUSE_MS = 1000
"""Without a free descriptor, accepting pauses this long, or until a connection closes."""

STOP_DEADLINE_MS = 1000
"""How long requests in hand and unread answers may hold up a stop."""

_NO_DESCRIPTOR = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))


class Reactor:
    """The loop. Everything is for the loop's thread, save `call_soon_threadsafe` and `stop`.

    Attributes:
        now_ms: the monotonic clock at the start of this turn, for whoever needs no better.
        cold_reads: who brings cold slices into memory (F44), set before the loop runs; None: nobody.
    """

    def __init__(
        self,
        *,
        timers: Timers,
        clock: Clock | None = None,
        limits: ConnectionLimits | None = None,
        on_slice_error: Callable[[FileSlice, OSError], None] | None = None,
    ) -> None:
        """Make a loop that nothing listens on yet.

        Args:
            timers: deadlines, on the clock's monotonic milliseconds.
            on_slice_error: told when a slice's file cannot be read (F43).
        """
        self._clock = clock or SystemClock()
        self._timers = timers
        self._on_slice_error = on_slice_error
        self.now_ms = self._clock.monotonic_ms()
        self.throttle = LogThrottle(self._clock.monotonic_ms)
        self.receive_buffer = bytearray(READ_CHUNK_BYTES)
        self.receive_view = memoryview(self.receive_buffer)
        self.frame_memory = FrameMemory()
        self.staging = memoryview(bytearray(STAGING_BYTES))
        self._counts = ConnectionCounts(limits or ConnectionLimits())
        max_idle_ms = self._counts.limits.connections_max_idle_ms
        self._idle: IdleConnections[Connection] | None = (
            IdleConnections(max(1, max_idle_ms)) if max_idle_ms >= 0 else None
        )
        self._idle_timer: Timer | None = None
        self._accept_timer: Timer | None = None
        self._state = ReactorState.RUNNING
        self.is_stopping = False  # what connections ask for each answer
        self.cold_reads: ColdReads | None = None
        self._epoll = select.epoll()
        self._wake_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._epoll.register(self._wake_fd, select.EPOLLIN)
        self._is_woken = False
        self._wake_lock = RLock()  # a signal handler may call while its thread is in `_wake`
        self._connections: dict[int, Connection] = {}
        self._handshakes: Handshakes | None = None  # made with the first TLS listener
        self._listeners: dict[int, Listener] = {}
        self._all_listeners: list[Listener] = []
        self._advancing: list[Connection] = []
        self._calls: deque[Callable[[], object]] = deque()
        self._calls_from_threads: deque[Callable[[], object]] = deque()
        self._turn_end_calls: list[Callable[[], object]] = []
        self._stopping_hooks: list[Callable[[], object]] = []
        self._next_number = 0
        self._turns = 0
        self._events = 0
        self._closed_idle = 0
        self._accept_failures = 0

    # Listeners

    def listen(self, config: ListenerConfig, handler: ConnectionHandler) -> Listener:
        """Bind a listener; its connections are taken as soon as the loop runs.

        Raises:
            ListenError: it cannot be bound.
        """
        return self.add_listener(Listener(config, handler))

    def add_listener(self, listener: Listener) -> Listener:
        """Take connections of a listener that is bound."""
        if listener.traffic.tls is not None and self._handshakes is None:
            from barnabas.net.handshakes import Handshakes  # noqa: PLC0415 - ssl costs plain starts 5 ms

            self._handshakes = Handshakes(
                polled=self._epoll,
                call_later=self.call_later,
                opened=self._open,
                dropped=self._drop_peer,
                throttle=self.throttle,
            )
        self._listeners[listener.fd] = listener
        self._all_listeners.append(listener)
        self._poll_listeners()
        return listener

    @property
    def listeners(self) -> tuple[Listener, ...]:
        """All that were bound, closed ones too."""
        return tuple(self._all_listeners)

    def limit_connections(self, limits: ConnectionLimits) -> None:
        """Take over other limits for connections to come; those there stay. The idle time stays as it was."""
        self._counts.limits = limits
        self._poll_listeners()

    def limit_listener(self, listener: Listener, max_connections: int) -> None:
        """Take over another limit for the connections of one listener."""
        listener.max_connections = max_connections
        self._poll_listeners()

    # Calls

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Call in this turn if there is room, else in a later one; in the order asked for."""
        self._calls.append(callback)

    def call_later(self, delay_ms: int, callback: Callable[[], None]) -> Timer:
        """Call after at least `delay_ms`."""
        return self._timers.add(self._clock.monotonic_ms() + delay_ms, callback)

    def call_at_turn_end(self, callback: Callable[[], object]) -> None:
        """Call once when this turn's requests are handled: one flush or wake-up for many appends."""
        self._turn_end_calls.append(callback)

    def call_soon_threadsafe(self, callback: Callable[[], object]) -> None:
        """As `call_soon`, from any thread or signal handler. After the loop has stopped nothing happens."""
        self._calls_from_threads.append(callback)
        if not self._is_woken:
            self._is_woken = True
            self._wake()

    def add_stopping_hook(self, callback: Callable[[], object]) -> None:
        """Call when a stop begins, listeners closed: complete or drop what is parked."""
        self._stopping_hooks.append(callback)

    # Life

    @property
    def state(self) -> ReactorState:
        return self._state

    def stop(self, deadline_ms: int = STOP_DEADLINE_MS) -> None:
        """Stop accepting, let requests in hand be answered, flush, close, and let `run` return.

        From any thread; returns at once. Stopping twice is harmless.

        Args:
            deadline_ms: connections that are not done after this are cut.
        """
        self.call_soon_threadsafe(lambda: self._begin_stopping(deadline_ms))

    def run(self) -> None:
        """Run until stopped. May be called once; everything is closed when it returns."""
        try:
            while self._state is not ReactorState.STOPPED:
                self.run_turn()
        finally:
            self._close_all()

    def close(self) -> None:
        """Close a loop that will not run; after `run` there is nothing left to close."""
        if self._wake_fd >= 0:
            self._close_all()

    def run_turn(self) -> None:
        """Run one turn. `run` does nothing else; tests step through it."""
        connections = self._connections
        events = self._epoll.poll(self._wait_s(), EVENTS_PER_TURN_MAX)
        self.now_ms = self._clock.monotonic_ms()
        self._turns += 1
        self._events += len(events)
        others = None
        for fd, mask in events:
            connection = connections.get(fd)
            if connection is None:
                # After the connections: an accepted one could otherwise get the descriptor of one
                # that was closed in this turn, and that one's events.
                others = [fd] if others is None else [*others, fd]
            else:
                try:
                    if mask == select.EPOLLIN:
                        connection.receive()
                    else:
                        connection.handle_events(mask)
                except Exception:
                    self._connection_failed(connection)
        if others is not None:
            self._handle_others(others)
        self._run_due()

    def statistics(self) -> ReactorStatistics:
        """Return what the loop did and holds."""
        return ReactorStatistics(
            state=self._state,
            turns=self._turns,
            events=self._events,
            calls_waiting=len(self._calls) + len(self._calls_from_threads),
            connections=self._counts.total,
            frame_memory_bytes=self.frame_memory.held_bytes,
            refused_per_ip=self._counts.refused_per_ip,
            closed_idle=self._closed_idle,
            accept_failures=self._accept_failures,
            listeners=tuple(listener.statistics() for listener in self._all_listeners),
        )

    def connection_statistics(self) -> list[ConnectionStatistics]:
        """Return the statistics of every open connection."""
        return [connection.statistics() for connection in self._connections.values()]

    # What connections call

    def watch(self, connection: Connection, interest: int) -> None:
        """Poll a connection for other events."""
        self._epoll.modify(connection.fd, interest)

    def advance_soon(self, connection: Connection) -> None:
        """Let a connection go on in the next turn."""
        self._advancing.append(connection)

    def forget(self, connection: Connection) -> None:
        """Take a closed connection out of everything, before its descriptor is closed."""
        del self._connections[connection.fd]
        self._epoll.unregister(connection.fd)
        self._counts.release(connection.peer_host)
        if self._idle is not None:
            self._idle.discard(connection)
        connection.traffic.retire(connection)
        if self._accept_timer is not None:
            self._accept_timer.cancel()
            self._accept_timer = None
        self._poll_listeners()

    def slice_failed(self, failed: FileSlice, cause: OSError) -> None:
        """Tell the owner of the files (F43)."""
        if self._on_slice_error is not None:
            hook = self._on_slice_error
            self._run_call(lambda: hook(failed, cause))

    # The turn's parts

    def _wait_s(self) -> float:
        """How long epoll may wait."""
        if self._calls or self._advancing or self._turn_end_calls or self._calls_from_threads:
            return 0
        deadline_ms = self._timers.next_deadline_ms()
        if deadline_ms is None:
            return -1
        wait_ms = deadline_ms - self._clock.monotonic_ms()
        return wait_ms / 1000 if wait_ms > 0 else 0

    def _handle_others(self, fds: list[int]) -> None:
        for fd in fds:
            listener = self._listeners.get(fd)
            if listener is not None:
                self._accept(listener)
            elif self._handshakes is not None and fd in self._handshakes:
                self._handshakes.step(fd, self._turns)
            elif fd == self._wake_fd:
                # Read, then cleared, then the calls are taken: a thread that still finds the flag set has
                # appended its call before. Cleared here even if no call is left (an earlier turn took it
                # before its thread had come to wake us), or nobody could wake us again.
                os.eventfd_read(fd)
                self._is_woken = False

    def _run_due(self) -> None:
        """Run calls, timers, connections that go on, and the end-of-turn calls."""
        if self._calls_from_threads:
            self._take_calls_from_threads()
        if self._calls:
            for _ in range(min(len(self._calls), CALLS_PER_TURN_MAX)):
                self._run_call(self._calls.popleft())
        deadline_ms = self._timers.next_deadline_ms()
        if deadline_ms is not None and deadline_ms <= self.now_ms:
            self._run_call(lambda: self._timers.advance(self.now_ms, TIMERS_PER_TURN_MAX))
        if self._advancing:
            advancing, self._advancing = self._advancing, []
            for connection in advancing:
                try:
                    connection.advance()
                except Exception:
                    self._connection_failed(connection)
        if self._turn_end_calls:
            calls, self._turn_end_calls = self._turn_end_calls, []
            for call in calls:
                self._run_call(call)
        if self._state is ReactorState.STOPPING and not self._connections:
            self._become(ReactorState.STOPPED)

    def _take_calls_from_threads(self) -> None:
        calls = self._calls_from_threads
        for _ in range(len(calls)):
            self._calls.append(calls.popleft())

    def _connection_failed(self, connection: Connection) -> None:
        """A fault of ours outside any handler: the others shall not suffer from it."""
        self.throttle.exception(log, "Closing connection %s: unexpected error", connection.id)
        connection.close("unexpected error")

    def _run_call(self, callback: Callable[[], object]) -> None:
        try:
            callback()
        except Exception:
            self.throttle.exception(log, "A call of the event loop failed: %r", callback)

    def _wake(self) -> None:
        # Locked against the end of `run`: a closed descriptor may be somebody else's file by now.
        with self._wake_lock:
            if self._wake_fd >= 0:
                os.eventfd_write(self._wake_fd, 1)

    # Accepting

    def _poll_listeners(self) -> None:
        """Poll each listener that may take a connection, and no other."""
        paused = self._counts.is_full or self._accept_timer is not None
        for listener in self._listeners.values():
            wanted = (not paused or listener.is_local) and not listener.is_full
            if wanted and not listener.is_polled:
                self._epoll.register(listener.fd, select.EPOLLIN)
            elif listener.is_polled and not wanted:
                self._epoll.unregister(listener.fd)
            listener.is_polled = wanted

    def _accept(self, listener: Listener) -> None:
        """Take the waiting connections of a listener, up to the turn's share and the limits."""
        for _ in range(ACCEPTS_PER_TURN_MAX):
            if (self._counts.is_full and not listener.is_local) or listener.is_full:
                self._poll_listeners()
                return
            try:
                accepted, peer = listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in _NO_DESCRIPTOR:
                    self._pause_accepting(error)
                    return
                continue  # the peer gave up before it was its turn
            if not self._counts.admit(peer[0]):
                self.throttle.warning(
                    log,
                    "Rejected connection from %s: the address has its maximum of %d connections",
                    peer[0],
                    self._counts.limits.per_ip(peer[0]),
                )
                accepted.close()
                continue
            local = plain_address(accepted.getsockname())
            if listener.traffic.tls is None:
                self._open(listener, PlaintextTransport(accepted), local, peer)
                continue
            assert self._handshakes is not None
            try:
                self._handshakes.begin(listener, accepted, local, peer)
            except OSError:  # the peer gave up already
                self._drop_peer(peer[0])

    def _drop_peer(self, address: str) -> None:
        """There will be no connection for who was counted already."""
        self._counts.release(address)
        self._poll_listeners()

    def _open(
        self, listener: Listener, transport: Transport, local: tuple[str, int], peer: tuple[str, int]
    ) -> None:
        try:
            self._epoll.register(transport.fileno(), READ_INTEREST)
        except OSError as error:  # the user's limit of watches, or memory
            self._counts.release(peer[0])
            transport.close()
            self._pause_accepting(error)
            return
        number, self._next_number = self._next_number, self._next_number + 1
        connection = Connection(
            transport=transport,
            loop=self,
            handler=listener.handler,
            traffic=listener.traffic,
            local=local,
            peer=peer,
            number=number,
        )
        listener.accepted += 1
        listener.traffic.connections.add(connection)
        self._connections[connection.fd] = connection
        if self._idle is not None:
            self._idle.add(connection)
            if self._idle_timer is None:
                self._set_idle_timer()
        log.debug("Accepted connection %s on %s", connection.id, listener.config.name)
        try:
            listener.handler.connection_opened(connection)
        except Exception:
            self.throttle.exception(log, "Closing connection %s: it could not be opened", connection.id)
            connection.close("it could not be opened")
        connection.begin()

    def _pause_accepting(self, error: OSError) -> None:
        """Without a descriptor the listener would stay readable and the loop would spin."""
        self._accept_failures += 1
        self.throttle.warning(log, "Cannot accept connections now: %s", os.strerror(error.errno or 0))
        if self._accept_timer is None:
            self._accept_timer = self.call_later(ACCEPT_PAUSE_MS, self._resume_accepting)
        self._poll_listeners()

    def _resume_accepting(self) -> None:
        self._accept_timer = None
        self._poll_listeners()

    # Idle connections

    def _set_idle_timer(self) -> None:
        assert self._idle is not None
        look_ms = self._idle.next_look_ms()
        self._idle_timer = None if look_ms is None else self._timers.add(look_ms, self._close_idle)

    def _close_idle(self) -> None:
        assert self._idle is not None
        for connection in self._idle.take_idle(self.now_ms):
            self._closed_idle += 1
            connection.close(f"idle for {self.now_ms - connection.active_ms} ms (connections.max.idle.ms)")
        self._set_idle_timer()

    # Stopping

    def _become(self, state: ReactorState) -> None:
        assert state in TRANSITIONS[self._state], f"{self._state} -> {state}"
        self._state = state

    def _begin_stopping(self, deadline_ms: int) -> None:
        if self._state is not ReactorState.RUNNING:
            return
        self._become(ReactorState.STOPPING)
        self.is_stopping = True
        for listener in self._listeners.values():
            if listener.is_polled:
                self._epoll.unregister(listener.fd)
            listener.close()
        self._listeners.clear()
        if self._handshakes is not None:
            self._handshakes.close_all()
        for hook in self._stopping_hooks:
            self._run_call(hook)
        for connection in list(self._connections.values()):
            connection.begin_stopping()
        self.call_later(deadline_ms, self._cut_connections)

    def _cut_connections(self) -> None:
        left = list(self._connections.values())
        if left:
            log.info("Cutting %d connections that were not done when the stop's deadline came", len(left))
        for connection in left:
            connection.close("the broker stops and its deadline has come")

    def _close_all(self) -> None:
        """Give everything back, also after an exception that ends the thread."""
        for connection in list(self._connections.values()):
            connection.close("the event loop has ended")
        if self._handshakes is not None:
            self._handshakes.close_all()
        for listener in self._listeners.values():
            listener.close()
        self._listeners.clear()
        self._epoll.close()
        with self._wake_lock:
            wake_fd, self._wake_fd = self._wake_fd, -1
            os.close(wake_fd)
