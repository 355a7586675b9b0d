"""The event loop: one thread, one epoll, every connection of the broker.

A turn: wait; let each readable connection handle what came; accept; run what was asked for with
`call_soon` and from other threads; fire timers; let connections that had used up their share go on; run
the end-of-turn calls; wait again. Each of these is capped per turn, and whatever is left makes the next
wait return at once, so neither one busy connection nor 10,000 wake-ups hold up the others.

Small requests pass in stages: up to sixteen are received, then these are handled, then their answers are
sent. One after the other, the kernel's code between two of them would take the interpreter's place in the
processor's caches and back: an empty fetch of 16 connections took a fifth more CPU (docs/adr/0013).

asyncio and uvloop were measured and rejected: they take 10 us of CPU for an empty fetch against 8.5 here,
and cannot sendfile behind a header without a second packet or tell a half-closed peer while not reading.
Level-triggered, because a bounded read per turn then needs no bookkeeping of what is left.
"""

import os
import select
from _thread import RLock  # threading.RLock is the same and its import costs 2 ms
from collections import deque
from collections.abc import Callable, Iterable

from barnabas.base.clock import Clock, SystemClock
from barnabas.base.cold_reads import ColdReads
from barnabas.base.limits import READ_CHUNK_BYTES
from barnabas.base.logger import Logger
from barnabas.base.region import FileSlice
from barnabas.net.acceptor import Acceptor
from barnabas.net.connection import READ_INTEREST, Connection, ConnectionStatistics
from barnabas.net.contracts import ConnectionHandler, Timer, Timers, Transport
from barnabas.net.creation_rate import UNLIMITED
from barnabas.net.frame_memory import FrameMemory
from barnabas.net.idle_connections import IdleConnections
from barnabas.net.listener import Listener
from barnabas.net.listener_config import STAGING_BYTES, ConnectionLimits, ListenerConfig
from barnabas.net.log_throttle import LogThrottle
from barnabas.net.reactor_state import TRANSITIONS, ReactorState, ReactorStatistics

log = Logger(__name__)

EVENTS_PER_TURN_MAX = 256
CALLS_PER_TURN_MAX = 256
TIMERS_PER_TURN_MAX = 256

STAGE_REQUESTS_MAX = 16
"""Requests that are received before the first of them is handled: the more, the longer that one waits."""

LET_GO_PER_TURN = 32
"""Of those that were held back: each has a request waiting, mostly, of some 40 us."""

STOP_DEADLINE_MS = 1000
"""How long requests in hand and unread answers may hold up a stop."""


class Reactor:
    """The loop. Everything is for the loop's thread, save `call_soon_threadsafe` and `stop`.

    Attributes:
        now_ms: the monotonic clock at the start of this turn, for whoever needs no better.
        small_answer_ms: `now_ms` when a small answer last went out; large ones then take smaller turns.
        cold_reads: who brings cold slices into memory (F44), set before the loop runs; None: nobody.
        received, is_gathering, gathered: see `contracts.ConnectionLoop`.
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
        self.small_answer_ms = self.now_ms
        self.throttle = LogThrottle(self._clock.monotonic_ms)
        self.receive_buffer = bytearray(READ_CHUNK_BYTES)
        self.receive_view = memoryview(self.receive_buffer)
        self.frame_memory = FrameMemory()
        self.staging = memoryview(bytearray(STAGING_BYTES))
        limits = limits or ConnectionLimits()
        max_idle_ms = limits.connections_max_idle_ms
        self._idle: IdleConnections[Connection] | None = (
            IdleConnections(max(1, max_idle_ms)) if max_idle_ms >= 0 else None
        )
        self._idle_timer: Timer | None = None
        self._state = ReactorState.RUNNING
        self.is_stopping = False  # what connections ask for each answer
        self.cold_reads: ColdReads | None = None
        self.received: list[tuple[Connection, memoryview]] = []
        self.is_gathering = False
        self.gathered: list[Connection] = []
        self._epoll = select.epoll()
        self._wake_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._epoll.register(self._wake_fd, select.EPOLLIN)
        self._is_woken = False
        self._wake_lock = RLock()  # a signal handler may call while its thread is in `_wake`
        self._connections: dict[int, Connection] = {}
        self._acceptor = Acceptor(
            polled=self._epoll,
            clock=self._clock,
            call_later=self.call_later,
            throttle=self.throttle,
            limits=limits,
            opened=self._open,
        )
        self._advancing: list[Connection] = []
        self._held_back: list[Connection] = []
        self._letting_go: deque[Connection] = deque()
        self._calls: deque[Callable[[], object]] = deque()
        self._calls_from_threads: deque[Callable[[], object]] = deque()
        self._turn_end_calls: list[Callable[[], object]] = []
        self._stopping_hooks: list[Callable[[], object]] = []
        self._next_number = 0
        self._turns = 0
        self._events = 0
        self._closed_idle = 0

    # Listeners

    def listen(self, config: ListenerConfig, handler: ConnectionHandler) -> Listener:
        """Bind a listener; its connections are taken as soon as the loop runs.

        Raises:
            ListenError: it cannot be bound.
        """
        return self.add_listener(Listener(config, handler))

    def add_listener(self, listener: Listener) -> Listener:
        """Take connections of a listener that is bound."""
        self._acceptor.add(listener)
        return listener

    @property
    def listeners(self) -> tuple[Listener, ...]:
        """All that were bound, closed ones too."""
        return tuple(self._acceptor.listeners)

    def limit_connections(self, limits: ConnectionLimits) -> None:
        """Take over other limits for connections to come; those there stay. The idle time stays as it was."""
        self._acceptor.limit(limits)

    def limit_listener(
        self, listener: Listener, max_connections: int, creation_rate: int = UNLIMITED
    ) -> None:
        """Take over other limits for the connections of one listener."""
        self._acceptor.limit_listener(listener, max_connections, creation_rate)

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

    def hold_back(self, connections: Iterable[Connection]) -> None:
        """Leave the next requests of these unread until `let_go`.

        For those that were answered out of a crowd that waits for the same: each asks again at once, which
        would take half of the time while the rest still waits. All others are read from as ever.
        """
        for connection in connections:
            connection.hold_back()
            self._held_back.append(connection)

    def let_go(self) -> None:
        """Read from all that were held back again, from some each turn: so others come between."""
        if self._held_back:
            if not self._letting_go:
                self.call_at_turn_end(self._let_some_go)
            self._letting_go += self._held_back
            self._held_back = []

    def _let_some_go(self) -> None:
        letting_go = self._letting_go
        for _ in range(min(LET_GO_PER_TURN, len(letting_go))):
            letting_go.popleft().let_go()
        if letting_go:
            self.call_at_turn_end(self._let_some_go)

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

        From any thread; returns at once. Of several stops the earliest deadline holds.

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
        received = self.received
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
                if len(received) >= STAGE_REQUESTS_MAX:
                    self.handle_received()
        if received:
            self.handle_received()
        if others is not None:
            self._handle_others(others)
        self._run_due()

    def handle_received(self) -> None:
        """Deliver what was received and send the answers; for connections, between turns there is nothing."""
        received = self.received
        self.is_gathering = True
        for connection, frame in received:
            try:
                connection.deliver(frame)
            except Exception:
                self._connection_failed(connection)
        received.clear()
        self.is_gathering = False
        self.send_gathered()

    def send_gathered(self) -> None:
        """Send the small answers that were made so far."""
        gathered, self.gathered = self.gathered, []
        for connection in gathered:
            try:
                connection.send_answer()
            except Exception:
                self._connection_failed(connection)

    def statistics(self) -> ReactorStatistics:
        """Return what the loop did and holds."""
        return ReactorStatistics(
            state=self._state,
            turns=self._turns,
            events=self._events,
            calls_waiting=len(self._calls) + len(self._calls_from_threads),
            connections=self._acceptor.counts.total,
            frame_memory_bytes=self.frame_memory.held_bytes,
            refused_per_ip=self._acceptor.counts.refused_per_ip,
            closed_idle=self._closed_idle,
            accept_failures=self._acceptor.failures,
            listeners=tuple(listener.statistics() for listener in self._acceptor.listeners),
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
        if self._idle is not None:
            self._idle.discard(connection)
        connection.traffic.retire(connection)
        self._acceptor.closed(connection.peer_host)

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
            if fd == self._wake_fd:
                # Read, then cleared, then the calls are taken: a thread that still finds the flag set has
                # appended its call before. Cleared here even if no call is left (an earlier turn took it
                # before its thread had come to wake us), or nobody could wake us again.
                os.eventfd_read(fd)
                self._is_woken = False
            else:
                self._acceptor.handle(fd, self._turns)

    def _run_due(self) -> None:
        """Run calls, timers, connections that go on, and the end-of-turn calls."""
        if self._calls_from_threads:
            self._take_calls_from_threads()
        self.is_gathering = True
        if self._calls:
            for _ in range(min(len(self._calls), CALLS_PER_TURN_MAX)):
                self._run_call(self._calls.popleft())
        deadline_ms = self._timers.next_deadline_ms()
        if deadline_ms is not None and deadline_ms <= self.now_ms:
            self._run_call(lambda: self._timers.advance(self.now_ms, TIMERS_PER_TURN_MAX))
        self.is_gathering = False
        if self.gathered:
            self.send_gathered()
        if self._advancing:
            advancing, self._advancing = self._advancing, []
            for connection in advancing:
                try:
                    connection.advance()
                except Exception:
                    self._connection_failed(connection)
            if self.received:
                self.handle_received()
        if self._turn_end_calls:
            self._run_turn_end_calls()
        if self._state is ReactorState.STOPPING and not self._connections:
            self._become(ReactorState.STOPPED)

    def _run_turn_end_calls(self) -> None:
        calls, self._turn_end_calls = self._turn_end_calls, []
        self.is_gathering = True
        for call in calls:
            self._run_call(call)
        self.is_gathering = False
        if self.gathered:
            self.send_gathered()

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

    # Opening

    def _open(
        self, listener: Listener, transport: Transport, local: tuple[str, int], peer: tuple[str, int]
    ) -> None:
        try:
            self._epoll.register(transport.fileno(), READ_INTEREST)
        except OSError:
            transport.close()
            raise
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
        if self._state is ReactorState.STOPPING:
            self.call_later(deadline_ms, self._cut_connections)  # the earlier deadline comes first
        if self._state is not ReactorState.RUNNING:
            return
        self._become(ReactorState.STOPPING)
        self.is_stopping = True
        self._acceptor.close()
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
        self._acceptor.close()
        self._epoll.close()
        with self._wake_lock:
            wake_fd, self._wake_fd = self._wake_fd, -1
            os.close(wake_fd)
