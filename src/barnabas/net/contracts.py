"""What net calls upward and what it wants to be given.

Protocols instead of base classes: dispatch, the timer wheel and test doubles need no import from here.
"""

from collections.abc import Callable, Sequence

from barnabas.base.hints import TYPE_CHECKING, Protocol
from barnabas.base.region import FileSlice

if TYPE_CHECKING:
    from barnabas.base.cold_reads import ColdReads
    from barnabas.net.connection import Connection
    from barnabas.net.frame_memory import FrameMemory
    from barnabas.net.log_throttle import LogThrottle

Part = bytes | bytearray | memoryview | FileSlice
"""A piece of an answer."""


class ConnectionHandler(Protocol):
    """Who answers the requests of a listener's connections. All calls come on the loop's thread.

    A ProtocolError raised by a callback closes the connection and is logged as the peer's fault; any
    other exception is logged with its traceback and closes that connection only.
    """

    def connection_opened(self, connection: "Connection") -> None:
        """A connection was accepted. It may be closed or given a `context` here."""

    def request_received(self, connection: "Connection", frame: memoryview) -> None:
        """One request, without its length. It is in hand until it is answered.

        Args:
            frame: this request's own writable memory, valid for as long as it is referenced.
        """

    def request_waiting(self, connection: "Connection", frame: memoryview) -> None:
        """Another whole request arrived behind the one in hand (F33).

        Called once per waiting request. The handler may look at it and answer the one in hand; the
        waiting one is then delivered by `request_received`.
        """

    def connection_closed(self, connection: "Connection") -> None:
        """The connection is gone, by whoever's doing: drop what is parked for it (F31).

        Called exactly once for each opened connection, from within `close` when we closed it.
        """


class Timer(Protocol):
    """A deadline that was set."""

    def cancel(self) -> object:
        """Forget it; harmless when it has fired."""


class Timers(Protocol):
    """Deadlines of the loop; `barnabas.timing.timer_wheel.TimerWheel` is one."""

    def add(self, deadline_ms: int, callback: Callable[[], None]) -> Timer:
        """Call `callback` in the first `advance` at or after `deadline_ms`."""

    def next_deadline_ms(self) -> int | None:
        """When to advance next; None when nothing waits."""

    def advance(self, now_ms: int, fires_max: int | None = None) -> int:
        """Fire at most `fires_max` due timers and return how many."""


class Transport(Protocol):
    """How bytes reach a peer, in plain or by TLS.

    No call blocks: when nothing can move now, BlockingIOError. A dead peer is another OSError. What a send
    did not take must be the beginning of what the next one brings; that may take more than it was brought,
    up to what had been brought before.
    """

    @property
    def zero_copy(self) -> bool:
        """Whether send_file works on this transport."""

    @property
    def has_unread(self) -> bool:
        """Whether bytes were received that polling the descriptor does not tell of."""

    @property
    def wants_room(self) -> bool:
        """Whether receiving goes on only when the descriptor can be written."""

    @property
    def peer_distinguished_name(self) -> str | None:
        """Of the peer's certificate (RFC 2253), None without one."""

    def fileno(self) -> int:
        """The descriptor to poll."""

    def receive_into(self, buffer: bytearray | memoryview, /) -> int:
        """Return how many bytes came; 0 when the peer has finished."""

    def send(self, data: bytes | bytearray | memoryview, /) -> int:
        """Return how many bytes were taken."""

    def send_parts(self, parts: Sequence[bytes | bytearray | memoryview], more: bool) -> int:
        """Gather and send; with `more`, bytes follow at once and may share the packet."""

    def send_file(self, fd: int, position: int, length: int) -> int:
        """Send a file's bytes from the page cache; 0 when the file ends before `position`."""

    def cork(self, on: bool) -> None:
        """Hold back partial packets, or send what was held back; never blocks."""

    def finish_sending(self) -> None:
        """Tell the peer that nothing more comes; errors are of no interest."""

    def close(self) -> None:
        """Give the descriptor back; closing twice is harmless."""


class ConnectionLoop(Protocol):
    """What a connection asks of its loop."""

    now_ms: int
    small_answer_ms: int
    """When a small answer last went out on any connection."""
    receive_buffer: bytearray
    receive_view: memoryview
    frame_memory: "FrameMemory"
    staging: memoryview
    throttle: "LogThrottle"
    is_stopping: bool
    cold_reads: "ColdReads | None"
    """Who brings cold slices into memory (F44); None: they are waited for."""
    received: list[tuple["Connection", memoryview]]
    """Requests that the loop is still to deliver, in the order they came."""
    is_gathering: bool
    """Whether small answers are left for the loop to send, together with those of other connections."""
    gathered: list["Connection"]
    """Whose answers these are."""

    def handle_received(self) -> None:
        """Deliver what was received and send the answers."""

    def send_gathered(self) -> None:
        """Send the small answers that were made so far."""

    def watch(self, connection: "Connection", interest: int) -> None:
        """Poll for these events from now on."""

    def advance_soon(self, connection: "Connection") -> None:
        """Call `advance` in the next turn."""

    def forget(self, connection: "Connection") -> None:
        """The connection is closed."""

    def slice_failed(self, failed: FileSlice, cause: OSError) -> None:
        """A slice's file could not be read (F43)."""
