"""One connection: whole requests up, one at a time, answers down, in order. No socket in sight.

It is driven by its loop (`receive`, `handle_events`, `advance`) and its handler (`respond` and kin), and
moves bytes through a Transport; tests drive it with doubles of all three.

    OPEN -- close_after_flush, the loop stops --> DRAINING
    OPEN, DRAINING -- close, the peer is gone, all is out --> CLOSED

The common request is one whole small frame, answered by one small answer. Its loop takes that through a
turn in stages, together with those of other connections: `receive`, `deliver`, within which `respond` keeps
the answer, and `send_answer`; none of these makes a queue. Whatever does not fit (a frame begun, several
frames, a large answer, one the socket did not take) is seen to by the connection alone and makes the object
for it, to be dropped when it has passed: an idle connection owns neither a buffer nor a queue.

Requests are read no further while one is in hand and a whole one waits behind it, or while answers wait
for a peer that does not read. The peer's end is then still noticed, by EPOLLRDHUP: a FIN means that the
peer is gone, and what is parked for it is dropped at once (F31, F33).
"""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from select import EPOLLERR, EPOLLHUP, EPOLLIN, EPOLLOUT, EPOLLRDHUP
from struct import Struct

from barnabas.base.dataclass import dataclass
from barnabas.base.enums import Enum, auto
from barnabas.base.errors import ProtocolError
from barnabas.base.hints import Any
from barnabas.base.limits import OUTPUT_QUEUE_BYTES_MAX
from barnabas.base.logger import Logger
from barnabas.base.region import FileSlice
from barnabas.net.contracts import ConnectionHandler, ConnectionLoop, Part, Transport
from barnabas.net.frame_reader import LENGTH_BYTES, FrameReader, split_frames
from barnabas.net.listener_traffic import ListenerTraffic
from barnabas.net.output import (
    BULK_TURN_BYTES,
    COPY_ALL,
    JOIN_BYTES_MAX,
    SHARED_TURN_BYTES,
    Buffer,
    OutputQueue,
    Progress,
    SliceCutError,
    SliceError,
    read_slice,
)

log = Logger(__name__)

REQUESTS_PER_TURN_MAX = 32
"""Requests of one pipelining connection that are answered before the others have their turn."""

STAGE_ANSWERS_MAX = 16
"""Answers that are made before the first of them is sent."""

CORKED_PARTS_MAX = 128
"""Parts of pipelined answers gathered before they are sent."""

LINGER_READS_MAX = 16
"""Reads of what a peer still sent, before its connection is closed in good order."""

SMALL_ANSWERS_MS = 1000
"""For so long after a small answer whoever gets large ones leaves more turns to others."""

READ_INTEREST = EPOLLIN | EPOLLRDHUP

WARM_MS_MAX = 1000
"""After so long without a byte taken by the peer, what was in memory of its answer is looked at again."""

_LENGTH = Struct(">i")
_unpack_length = _LENGTH.unpack_from
_pack_length = _LENGTH.pack


class ConnectionState(Enum):
    """Where a connection is in its life."""

    OPEN = auto()
    DRAINING = auto()
    """No more requests; closes when the answers are out."""
    CLOSED = auto()


TRANSITIONS = {
    ConnectionState.OPEN: frozenset((ConnectionState.DRAINING, ConnectionState.CLOSED)),
    ConnectionState.DRAINING: frozenset((ConnectionState.CLOSED,)),
    ConnectionState.CLOSED: frozenset[ConnectionState](),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionStatistics:
    """What a connection did and holds now."""

    id: str
    listener_name: str
    state: ConnectionState
    requests_received: int
    bytes_received: int
    bytes_sent: int
    request_in_hand: bool
    waiting_requests: int
    input_bytes_held: int
    output_bytes_waiting: int
    idle_ms: int


class Connection:
    """A peer's connection, as its handler sees it.

    Attributes:
        id: Kafka's local:port-remote:port-n.
        context: the handler's own.
        request_in_hand: whether a request was delivered and not answered yet.
        active_ms: when bytes last moved, by the loop's clock.
    """

    __slots__ = (
        "_advancing",
        "_answer",
        "_answer_sent",
        "_corked",
        "_deaf",
        "_frames",
        "_handler",
        "_interest",
        "_loop",
        "_output",
        "_peer_half_closed",
        "_pumping",
        "_reader",
        "_sent",
        "_state",
        "_told_waiting",
        "active_ms",
        "bytes_received",
        "bytes_sent",
        "context",
        "fd",
        "id",
        "idle_bucket",
        "local",
        "number",
        "peer",
        "request_in_hand",
        "requests_received",
        "traffic",
        "transport",
    )

    def __init__(
        self,
        *,
        transport: Transport,
        loop: ConnectionLoop,
        handler: ConnectionHandler,
        traffic: ListenerTraffic,
        local: tuple[str, int],
        peer: tuple[str, int],
        number: int,
    ) -> None:
        """Make an open connection. `number` tells connections of the same addresses apart."""
        self.transport = transport
        self.fd = transport.fileno()
        self.local = local
        self.peer = peer
        self.number = number
        self.id = f"{local[0]}:{local[1]}-{peer[0]}:{peer[1]}-{number}"
        self.context: Any = None
        self.request_in_hand = False
        self.active_ms = loop.now_ms
        self.idle_bucket = 0
        self.requests_received = 0
        self.bytes_received = 0
        self.bytes_sent = 0
        self._loop = loop
        self._handler = handler
        self.traffic = traffic
        self._state = ConnectionState.OPEN
        self._reader: FrameReader | None = None
        self._frames: deque[memoryview] | None = None  # whole requests not delivered; never empty
        self._output: OutputQueue | None = None  # never empty, save while corked
        self._answer: bytes | None = None  # to be sent with those of other connections
        self._answer_sent: Callable[[], None] | None = None  # to be called when _answer is out
        self._sent: list[Callable[[], None]] | None = None  # to be called when _output is empty
        self._interest = READ_INTEREST
        self._pumping = False  # _pump is on the stack
        self._corked = False  # more requests follow at once: gather their answers
        self._told_waiting = False  # the first of _frames was shown by request_waiting
        self._advancing = False  # a turn was asked for
        self._peer_half_closed = False  # and its end is polled for no more
        self._deaf = False  # the peer takes no more answers, but what it had sent is still handled

    # What the handler uses

    @property
    def listener_name(self) -> str:
        return self.traffic.config.name

    @property
    def peer_host(self) -> str:
        return self.peer[0]

    @property
    def local_port(self) -> int:
        return self.local[1]

    @property
    def peer_distinguished_name(self) -> str | None:
        """Of the client's TLS certificate, as Java spells it; None without one."""
        return self.transport.peer_distinguished_name

    @property
    def is_open(self) -> bool:
        """Whether an answer can still go out."""
        return self._state is not ConnectionState.CLOSED

    @property
    def state(self) -> ConnectionState:
        return self._state

    def respond(self, parts: Sequence[Part], when_sent: Callable[[], None] | None = None) -> None:
        """Answer the request in hand; the length is put in front.

        The slices among the parts are released when they are out, and in every other case too. On a
        closed connection nothing else happens. When sending fails the connection may close within.

        Args:
            parts: the answer's bytes in order, at most 2 GiB.
            when_sent: called once when nothing of it waits any more, now or later: the socket has it all, or
                is gone already. Never when the connection dies while it waits.
        Raises:
            RuntimeError: no request is in hand.
        """
        if not self.request_in_hand:
            _release(parts)
            if self._state is not ConnectionState.CLOSED:
                raise RuntimeError(f"{self.id}: answered without a request in hand")
            if when_sent is not None:
                when_sent()
            return
        self.request_in_hand = False
        is_direct = self._output is None and not self._corked and not self._deaf
        if (
            is_direct
            and len(parts) == 1
            and isinstance(only := parts[0], bytes)
            and len(only) <= JOIN_BYTES_MAX
        ):
            # Nothing but one small part, as nearly always.
            self._send_joined(_pack_length(len(only)) + only)
        else:
            self._respond_parts(parts, is_direct)
        if self._frames is not None or self._loop.is_stopping:
            self._go_on()
        if when_sent is not None:
            if self._answer is not None:
                self._answer_sent = when_sent
            else:
                self._tell(when_sent)

    def copied(self, parts: Sequence[Part]) -> bytes | None:
        """Return the bytes of an answer that would be copied; None for one of which something is not.

        Slices that are large, that this listener sends from the file, that are not in memory or cannot be
        read are not copied. For answers that many connections get alike; nothing is released.
        """
        if sum(map(len, parts)) > JOIN_BYTES_MAX:
            return None
        minimum = self.traffic.zero_copy_min_bytes
        if any(part.__class__ is FileSlice and part.length >= minimum for part in parts):
            return None
        with suppress(SliceError, SliceCutError):
            data = self._staged(parts)
            return None if data is None else b"".join(data)
        return None

    def complete_without_response(self) -> None:
        """Be done with the request in hand and send nothing (acks=0).

        Raises:
            RuntimeError: no request is in hand.
        """
        if self.request_in_hand:
            self.request_in_hand = False
            self._go_on()
        elif self._state is not ConnectionState.CLOSED:
            raise RuntimeError(f"{self.id}: completed without a request in hand")

    def close(self, reason: str) -> None:
        """Close now; what the socket did not take is dropped and its slices are released.

        `connection_closed` is called before this returns. Closing twice is harmless.
        """
        self._send_kept()
        if self._state is ConnectionState.CLOSED:
            return
        self._become(ConnectionState.CLOSED)
        log.debug("Closing connection %s: %s", self.id, reason)
        self.request_in_hand = False
        self._sent = None
        self._drop_input()
        if self._output is not None:
            self._output.discard()
            self._output = None
        self._loop.forget(self)
        self.transport.close()
        try:
            self._handler.connection_closed(self)
        except Exception:
            self._loop.throttle.exception(log, "Connection %s: connection_closed failed", self.id)

    def close_after_flush(self, reason: str) -> None:
        """Take no more requests; close when the answers given so far are out.

        A request in hand is dropped unanswered.
        """
        self._send_kept()
        if self._state is not ConnectionState.OPEN:
            return
        self._become(ConnectionState.DRAINING)
        log.debug("Draining connection %s: %s", self.id, reason)
        self.request_in_hand = False
        self._drop_input()
        if not self._pumping:
            self._settle()

    def statistics(self) -> ConnectionStatistics:
        """Return what it did and holds."""
        return ConnectionStatistics(
            id=self.id,
            listener_name=self.listener_name,
            state=self._state,
            requests_received=self.requests_received,
            bytes_received=self.bytes_received,
            bytes_sent=self.bytes_sent,
            request_in_hand=self.request_in_hand,
            waiting_requests=len(self._frames) if self._frames else 0,
            input_bytes_held=(self._reader.buffered_bytes if self._reader else 0)
            + (sum(map(len, self._frames)) if self._frames else 0),
            output_bytes_waiting=(self._output.waiting_bytes if self._output else 0)
            + (len(self._answer) if self._answer else 0),
            idle_ms=self._loop.now_ms - self.active_ms,
        )

    # What the loop calls

    def begin(self) -> None:
        """The connection is open: see to what its transport may have received already."""
        if self.transport.has_unread and self._state is not ConnectionState.CLOSED:
            self._ask_for_turn()

    def receive(self) -> None:
        """Bytes can be read: read once; what became whole is handled, or left for the loop to deliver."""
        if self._frames is not None or self._output is not None:
            self._update_interest()
            return
        loop = self._loop
        reader = self._reader
        try:
            if reader is not None and (direct := reader.direct_buffer()) is not None:
                self._receive_direct(reader, direct)
                return
            buffer = loop.receive_buffer
            count = self.transport.receive_into(buffer)
        except BlockingIOError:
            if self.transport.wants_room:
                self._watch(EPOLLOUT | EPOLLRDHUP)
            return
        except OSError as error:
            self.close(f"receiving failed: {error}")
            return
        if count == 0:
            self._peer_finished()
            return
        self.active_ms = loop.now_ms
        self.bytes_received += count
        self.traffic.reads += 1
        if self.transport.has_unread:
            self._ask_for_turn()
        if (
            reader is None
            and not self.request_in_hand
            and count > LENGTH_BYTES
            and _unpack_length(buffer)[0] == count - LENGTH_BYTES
            and count <= self.traffic.whole_bytes_max
        ):
            # One whole request and nothing else, as nearly always.
            self.requests_received += 1
            self.request_in_hand = True
            loop.received.append((self, memoryview(buffer[LENGTH_BYTES:count])))
            return
        self._receive_pieces(count)

    def deliver(self, frame: memoryview) -> None:
        """Hand up what `receive` has left for the loop, unless the connection was closed since."""
        if not self.request_in_hand:
            return
        try:
            self._handler.request_received(self, frame)
        except Exception as error:
            self._handler_failed(error)
        if self._deaf:
            self._pump()

    def send_answer(self) -> None:
        """Send the answer that was kept for its stage, if it did not go before the connection's end."""
        self._send_kept()
        if self._deaf:
            self._pump()

    def handle_events(self, mask: int) -> None:
        """Handle what epoll tells when it is more than just readable."""
        if mask & (EPOLLERR | EPOLLHUP):
            if self.request_in_hand or self._output is not None:
                self.close("the peer is gone")
            else:
                self.receive()  # what it had sent before is still handled
        elif mask & EPOLLOUT:
            self._pump()
        elif mask & EPOLLIN:
            self.receive()
        elif mask & EPOLLRDHUP:
            self._peer_finished_unread()

    def advance(self) -> None:
        """Go on with what was left for this turn."""
        self._advancing = False
        if self.transport.has_unread and self._is_reading:
            self.receive()
        else:
            self._pump()

    def hold_back(self) -> None:
        """Do not listen for the next request until `let_go`: others are to be answered first."""
        if (
            self._state is ConnectionState.OPEN
            and not self.request_in_hand
            and self._frames is None
            and self._output is None
            and not self.transport.has_unread
        ):
            self._watch(EPOLLRDHUP)

    def let_go(self) -> None:
        """Listen again."""
        if self._state is ConnectionState.OPEN:
            self._update_interest()

    def begin_stopping(self) -> None:
        """The loop stops: deliver no more; close once nothing is in hand and all is out."""
        if not self.request_in_hand:
            self.close_after_flush("the broker stops")

    # Input

    def _receive_direct(self, reader: FrameReader, direct: memoryview) -> None:
        """Receive a large frame's next bytes into its own memory."""
        with direct:
            count = self.transport.receive_into(direct)
        if count == 0:
            self._peer_finished()
            return
        self.active_ms = self._loop.now_ms
        self.bytes_received += count
        self.traffic.reads += 1
        if self.transport.has_unread:
            self._ask_for_turn()
        frame = reader.direct_filled(count)
        if frame is not None:
            self._reader = None
            self._frames = deque((frame,))
            self._loop.handle_received()  # what came before it
            self._pump()

    def _receive_pieces(self, count: int) -> None:
        """Handle bytes that are not just one whole request."""
        view = self._loop.receive_view
        frame_bytes_max = self.traffic.config.socket_request_max_bytes
        reader = self._reader
        frames: list[memoryview] = []
        position = 0
        if reader is None:
            frames, position = split_frames(view, 0, count, frame_bytes_max)
        if position < count:
            if reader is None:
                reader = self._reader = FrameReader(frame_bytes_max, self._loop.frame_memory)
            frames += reader.feed(view, position, count)
            if reader.is_empty:
                self._reader = None
        if frames:
            self._frames = deque(frames)
        if frames or (reader is not None and reader.failure is not None):
            self._loop.handle_received()  # what came before these
            self._pump()

    def _drop_input(self) -> None:
        self._frames = None
        if self._reader is not None:
            self._reader.discard()
            self._reader = None

    def _peer_finished(self) -> None:
        """The stream has ended and everything before the end was handled."""
        where = " in the middle of a request" if self._reader is not None else ""
        self.close(f"the peer closed the connection{where}")

    def _peer_finished_unread(self) -> None:
        """The peer has finished while we do not read from it."""
        if self.request_in_hand:
            self.close("the peer closed the connection with a request in hand")
        elif self._output is not None and not self._advancing:
            # It may have closed only its sending half: let it have its answers, but be told no more.
            self._peer_half_closed = True
            self._update_interest()
        elif self._output is None:
            self._update_interest()  # held back: what it had sent before its end is still handled

    # The middle: answers out, requests up, until neither can go on now

    def _pump(self) -> None:
        """Flush answers and deliver requests as far as both go in this turn."""
        if self._pumping:
            return
        self._pumping = True
        budget = REQUESTS_PER_TURN_MAX
        while self._state is not ConnectionState.CLOSED:
            frames, output = self._frames, self._output
            if self._deaf and self.request_in_hand:
                self.close("the peer is gone")
                break
            deliverable = (
                frames is not None and not self.request_in_hand and budget > 0 and not self._loop.is_stopping
            )
            if output is not None and (
                not deliverable
                or len(output) >= CORKED_PARTS_MAX
                or output.heap_bytes >= OUTPUT_QUEUE_BYTES_MAX
            ):
                # Answers of pipelined requests gather while more can be delivered, then go out together.
                if self._flush(output) is not Progress.DONE:
                    break
            elif frames is None:
                break
            elif deliverable:
                budget -= 1
                self._deliver(frames)
            elif self.request_in_hand and not self._told_waiting:
                self._tell_waiting(frames)
            else:
                break
        self._pumping = False
        self._settle()

    def _deliver(self, frames: deque[memoryview]) -> None:
        """Hand the first waiting request up."""
        frame = frames.popleft()
        if not frames:
            self._frames = None
        self._told_waiting = False
        self._corked = self._frames is not None or self._output is not None
        self.requests_received += 1
        self.request_in_hand = True
        try:
            self._handler.request_received(self, frame)
        except Exception as error:
            self._handler_failed(error)
        self._corked = False

    def _tell_waiting(self, frames: deque[memoryview]) -> None:
        """Show the handler the next request while one is in hand (F33)."""
        self._told_waiting = True
        try:
            self._handler.request_waiting(self, frames[0])
        except Exception as error:
            self._handler_failed(error)

    def _go_on(self) -> None:
        """The request in hand was answered: see to what waits behind it, in a turn of its own.

        Not at once: the caller may be answering many connections from one append, and a request
        delivered here would run in the middle of that.
        """
        if not self._pumping and (self._frames is not None or self._loop.is_stopping):
            self._ask_for_turn()

    def _settle(self) -> None:
        """Nothing more can be done now: arrange for being called again, or close."""
        if self._state is ConnectionState.CLOSED:
            return
        if self._output is None:
            if self._frames is None and self._reader is not None and self._reader.failure is not None:
                self._handler_failed(self._reader.failure)
                return
            if not self.request_in_hand:
                if self._state is ConnectionState.DRAINING or self._loop.is_stopping:
                    self._finish()
                    return
                if self._frames is not None:
                    self._ask_for_turn()
        self._update_interest()

    def _finish(self) -> None:
        """Close after the last answer such that it arrives."""
        if not self._deaf:
            self.transport.finish_sending()
            # Closing with unread bytes makes the kernel send a reset, which may overtake the answer.
            with suppress(OSError):
                for _ in range(LINGER_READS_MAX):
                    if self.transport.receive_into(self._loop.receive_buffer) == 0:
                        break
        self.close("all answers are out")

    def _ask_for_turn(self) -> None:
        if not self._advancing:
            self._advancing = True
            self._loop.advance_soon(self)

    def _update_interest(self) -> None:
        """Poll for what can be handled, and always for the peer's end."""
        if self._output is not None:
            if self._advancing:
                return  # called in the next turn anyway; two system calls saved
            # While the disk is waited for, a writable socket is no news.
            interest = 0 if self._output.is_reading else EPOLLOUT
            if not self._peer_half_closed and self._state is ConnectionState.OPEN:
                interest |= EPOLLRDHUP
        elif self._frames is not None and self.request_in_hand:
            interest = EPOLLRDHUP
        else:
            interest = READ_INTEREST
            if self.transport.has_unread and self._is_reading:
                self._ask_for_turn()  # epoll does not tell of it
        self._watch(interest)

    def _watch(self, interest: int) -> None:
        if interest != self._interest:
            self._interest = interest
            self._loop.watch(self, interest)

    @property
    def _is_reading(self) -> bool:
        """Whether what the peer sends is read now."""
        return (
            self._frames is None
            and self._output is None
            and self._state is ConnectionState.OPEN
            and not self._loop.is_stopping
        )

    # Output

    def _respond_parts(self, parts: Sequence[Part], is_direct: bool) -> None:
        """Answer with parts of any number and size; `is_direct`: nothing stands before them."""
        length = 0
        slice_bytes = -1  # of the largest slice
        for part in parts:
            if part.__class__ is FileSlice:
                size = part.length
                length += size
                slice_bytes = max(slice_bytes, size)
            else:
                length += len(part)
        if not is_direct or length > JOIN_BYTES_MAX or slice_bytes >= self.traffic.zero_copy_min_bytes:
            self._enqueue(length, parts)
        elif slice_bytes < 0:
            self._send_joined(b"".join((_pack_length(length), *parts)))  # type: ignore[arg-type]
        else:
            self._send_copied(length, parts)

    def _send_joined(self, data: bytes) -> None:
        """Send a small answer, with the others of its stage if there is one."""
        loop = self._loop
        if not loop.is_gathering:
            self._send(data)
            return
        self._answer = data
        loop.gathered.append(self)
        if len(loop.gathered) >= STAGE_ANSWERS_MAX:
            loop.send_gathered()

    def _send_kept(self) -> None:
        data = self._answer
        if data is None:
            return
        sent, self._answer, self._answer_sent = self._answer_sent, None, None
        self._send(data)
        if sent is not None:
            self._tell(sent)

    def _tell(self, when_sent: Callable[[], None]) -> None:
        """Call when nothing waits to be sent; answers of one connection may be told of together."""
        if self._output is None:
            when_sent()
        elif self._sent is None:
            self._sent = [when_sent]
        else:
            self._sent.append(when_sent)

    def _send(self, data: bytes) -> None:
        """Send now; queue what the socket does not take."""
        traffic = self.traffic
        traffic.output.sends += 1
        try:
            sent = self.transport.send(data)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            self._output_failed(error)
            return
        self.bytes_sent += sent
        loop = self._loop
        self.active_ms = loop.small_answer_ms = loop.now_ms
        if sent < len(data):
            traffic.output.partial_sends += 1
            self._queue([memoryview(data)[sent:]])
            self._update_interest()

    def _send_copied(self, length: int, parts: Sequence[Part]) -> None:
        """Answer with slices that are small enough to be copied."""
        try:
            data = self._staged(parts)
        except (SliceError, SliceCutError) as error:
            self._slice_failed(error)
            _release(parts)  # after its owner was told, who may want to look at the file
            return
        if data is None:
            self._enqueue(length, parts)
            return
        _release(parts)
        self._send_joined(b"".join((_pack_length(length), *data)))

    def _staged(self, parts: Sequence[Part]) -> list[Buffer] | None:
        """Return small parts with their slices read into the loop's buffer; None when one is not in memory.

        Raises:
            SliceError, SliceCutError: a slice could not be read.
        """
        data: list[Buffer] = []
        cold_reads = self._loop.cold_reads
        staging = self._loop.staging  # longer than all of an answer that is joined
        staged_bytes = 0
        for part in parts:
            if part.__class__ is FileSlice:
                copied = read_slice(part, cold_reads, staging[staged_bytes:])
                if copied is None:
                    return None
                data.append(copied)
                staged_bytes += part.length
            else:
                data.append(part)  # type: ignore[arg-type]
        self.traffic.output.staged_bytes += staged_bytes
        return data

    def _enqueue(self, length: int, parts: Sequence[Part]) -> None:
        """Queue an answer, and send of it what goes unless more answers are about to follow."""
        if self._deaf:
            _release(parts)
            return
        self._queue([_pack_length(length), *parts])
        if not self._corked:
            if self._loop.gathered:
                self._loop.send_gathered()  # small ones do not wait for a large one
            output = self._output
            assert output is not None
            self._flush(output)
            if not self._pumping:
                self._settle()

    def _queue(self, parts: Sequence[Part]) -> None:
        output = self._output
        if output is None:
            minimum = self.traffic.zero_copy_min_bytes if self.transport.zero_copy else COPY_ALL
            output = self._output = OutputQueue(
                self.transport,
                staging=self._loop.staging[: self.traffic.staging_bytes],
                zero_copy_min_bytes=minimum,
                counters=self.traffic.output,
                cold_reads=self._loop.cold_reads,
                resume=self._disk_was_read,
            )
        output.extend(parts)

    def _disk_was_read(self) -> None:
        """What the answer waited for is in memory: our disk was slow, not the peer."""
        self.active_ms = self._loop.now_ms
        self._ask_for_turn()

    def _flush(self, output: OutputQueue) -> Progress:
        """Send what goes now; the queue is gone when it is empty."""
        loop = self._loop
        if loop.now_ms - self.active_ms > WARM_MS_MAX:
            output.doubt()
        is_shared = loop.now_ms - loop.small_answer_ms <= SMALL_ANSWERS_MS
        try:
            progress, sent = output.flush(SHARED_TURN_BYTES if is_shared else BULK_TURN_BYTES)
        except (SliceError, SliceCutError) as error:
            self._slice_failed(error)
            return Progress.DONE
        except OSError as error:
            self._output_failed(error)
            return Progress.DONE
        if sent:
            self.bytes_sent += sent
            self.active_ms = loop.now_ms
        if progress is Progress.DONE:
            self._output = None
            if self._sent is not None:
                sent_answers, self._sent = self._sent, None
                for callback in sent_answers:
                    callback()
        elif progress is Progress.YIELDED:
            self._ask_for_turn()
        return progress

    # Failures

    def _handler_failed(self, error: Exception) -> None:
        """Close for what a handler raised or the peer's bytes caused."""
        throttle = self._loop.throttle
        if isinstance(error, ProtocolError):
            throttle.warning(log, "Closing connection %s: %s", self.id, error)
        else:
            throttle.exception(log, "Closing connection %s: unexpected error in a request", self.id)
        self.close(str(error))

    def _output_failed(self, error: OSError) -> None:
        """The peer takes no more answers."""
        if not isinstance(error, BrokenPipeError | ConnectionResetError):
            self.close(f"sending failed: {error}")
            return
        # Requests that ask for no answer (acks=0) may still lie unread: a producer that sends its last
        # ones and leaves must not lose them for an answer nobody waits for. Reading finds the end.
        log.debug("Connection %s takes no more answers: %s", self.id, error)
        self._deaf = True
        self._sent = None
        if self._output is not None:
            self._output.discard()
            self._output = None

    def _slice_failed(self, error: SliceError | SliceCutError) -> None:
        """An answer was begun or due that cannot be completed: only closing tells the peer."""
        self._loop.throttle.warning(log, "Closing connection %s: %s", self.id, error)
        if isinstance(error, SliceError):
            self._loop.slice_failed(error.failed, error.cause)
        self.close(str(error))

    def _become(self, state: ConnectionState) -> None:
        assert state in TRANSITIONS[self._state], f"{self.id}: {self._state} -> {state}"
        self._state = state


def _release(parts: Sequence[Part]) -> None:
    for part in parts:
        if part.__class__ is FileSlice:
            part.release()
