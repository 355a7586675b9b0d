"""Doubles of a connection's loop, transport, handler and files; no sockets."""

import errno
from collections import deque
from collections.abc import Callable, Sequence
from select import EPOLLIN

from barnabas.base.cold_reads import ColdReads
from barnabas.base.limits import READ_CHUNK_BYTES
from barnabas.base.region import FileSlice, LeasedFile
from barnabas.net.connection import READ_INTEREST, Connection
from barnabas.net.frame_memory import FrameMemory
from barnabas.net.listener_config import ListenerConfig
from barnabas.net.listener_traffic import ListenerTraffic
from barnabas.net.log_throttle import LogThrottle


class MemoryFile:
    """A file of bytes whose reads can be made to fail."""

    def __init__(self, content: bytes) -> None:
        self.path = "memory"
        self.content = content
        self.error: OSError | None = None
        self.is_closed = False

    def fileno(self) -> int:
        return 99

    def read_at(self, position: int, length: int) -> bytes:
        if self.error is not None:
            raise self.error
        return self.content[position : position + length]

    def read_into(self, position: int, buffer: memoryview) -> int:
        data = self.read_at(position, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self.is_closed = True


class ScriptedTransport:
    """Takes `room` bytes at a time; `room` None takes everything."""

    def __init__(self, *, zero_copy: bool = True) -> None:
        self.zero_copy = zero_copy
        self.has_unread = self.wants_room = False
        self.peer_distinguished_name: str | None = None
        self.incoming: deque[bytes | OSError] = deque()
        self.outgoing = bytearray()
        self.calls: list[str] = []
        self.rooms: deque[int] = deque()  # what the next sends take; empty: everything
        self.send_error: OSError | None = None
        self.file: MemoryFile | None = None
        self.is_closed = False
        self.has_finished = False
        self.is_corked = False

    def fileno(self) -> int:
        return 7

    def receive_into(self, buffer: bytearray | memoryview, /) -> int:
        if not self.incoming:
            raise BlockingIOError
        piece = self.incoming.popleft()
        if isinstance(piece, OSError):
            raise piece
        count = min(len(piece), len(buffer))
        memoryview(buffer)[:count] = piece[:count]
        if count < len(piece):
            self.incoming.appendleft(piece[count:])
        return count

    def send(self, data: bytes | bytearray | memoryview, /) -> int:
        return self._take("send", bytes(data))

    def send_parts(self, parts: Sequence[bytes | bytearray | memoryview], more: bool) -> int:
        return self._take("send_more" if more else "send_parts", b"".join(parts))

    def send_file(self, fd: int, position: int, length: int) -> int:
        assert self.file is not None
        if self.file.error is not None:
            raise self.file.error
        return self._take("send_file", self.file.content[position : position + length])

    def cork(self, on: bool) -> None:
        self.is_corked = on

    def finish_sending(self) -> None:
        self.has_finished = True

    def close(self) -> None:
        self.is_closed = True

    def _take(self, call: str, data: bytes) -> int:
        self.calls.append(call)
        if self.send_error is not None:
            raise self.send_error
        if not self.rooms:
            self.outgoing += data
            return len(data)
        room = self.rooms.popleft()
        if room == 0:
            raise BlockingIOError
        self.outgoing += data[:room]
        return min(room, len(data))


class ScriptedLoop:
    """Remembers what a connection asked for; `turn` lets it go on."""

    def __init__(self) -> None:
        self.now_ms = 10_000
        self.small_answer_ms = 0
        self.receive_buffer = bytearray(READ_CHUNK_BYTES)
        self.receive_view = memoryview(self.receive_buffer)
        self.frame_memory = FrameMemory()
        self.staging = memoryview(bytearray(128 * 1024))
        self.throttle = LogThrottle(lambda: self.now_ms)
        self.is_stopping = False
        self.cold_reads: ColdReads | None = None
        self.received: list[tuple[Connection, memoryview]] = []
        self.is_gathering = False
        self.gathered: list[Connection] = []
        self.interest = READ_INTEREST
        self.advancing: list[Connection] = []
        self.forgotten: list[Connection] = []
        self.failed_slices: list[tuple[FileSlice, OSError]] = []

    def handle_received(self) -> None:
        received, self.received = self.received, []
        self.is_gathering = True
        for connection, frame in received:
            connection.deliver(frame)
        self.is_gathering = False
        self.send_gathered()

    def send_gathered(self) -> None:
        gathered, self.gathered = self.gathered, []
        for connection in gathered:
            connection.send_answer()

    def watch(self, connection: Connection, interest: int) -> None:
        assert interest != self.interest, "a system call for nothing"
        self.interest = interest

    def advance_soon(self, connection: Connection) -> None:
        assert connection not in self.advancing
        self.advancing.append(connection)

    def forget(self, connection: Connection) -> None:
        self.forgotten.append(connection)

    def slice_failed(self, failed: FileSlice, cause: OSError) -> None:
        self.failed_slices.append((failed, cause))

    def turn(self) -> bool:
        advancing, self.advancing = self.advancing, []
        for connection in advancing:
            connection.advance()
        self.handle_received()
        return bool(advancing)


class RecordingHandler:
    """Answers with `answer(connection, frame)`, or leaves the request in hand when there is none."""

    def __init__(self, answer: Callable[[Connection, bytes], None] | None = None) -> None:
        self.answer = answer
        self.on_waiting: Callable[[Connection, bytes], None] | None = None
        self.received: list[bytes] = []
        self.waiting: list[bytes] = []
        self.closed = 0

    def connection_opened(self, connection: Connection) -> None: ...

    def request_received(self, connection: Connection, frame: memoryview) -> None:
        self.received.append(bytes(frame))
        if self.answer is not None:
            self.answer(connection, bytes(frame))

    def request_waiting(self, connection: Connection, frame: memoryview) -> None:
        self.waiting.append(bytes(frame))
        if self.on_waiting is not None:
            self.on_waiting(connection, bytes(frame))

    def connection_closed(self, connection: Connection) -> None:
        self.closed += 1


def echo(connection: Connection, frame: bytes) -> None:
    """Answer with the request."""
    connection.respond([frame])


class Bench:
    """One connection with its doubles."""

    def __init__(
        self,
        answer: Callable[[Connection, bytes], None] | None = None,
        *,
        config: ListenerConfig | None = None,
        zero_copy: bool = True,
    ) -> None:
        self.loop = ScriptedLoop()
        self.transport = ScriptedTransport(zero_copy=zero_copy)
        self.handler = RecordingHandler(answer)
        self.traffic = ListenerTraffic(config or ListenerConfig())
        self.connection = Connection(
            transport=self.transport,
            loop=self.loop,
            handler=self.handler,
            traffic=self.traffic,
            local=("127.0.0.1", 9092),
            peer=("127.0.0.1", 50000),
            number=3,
        )

    def arrive(self, *pieces: bytes | OSError) -> None:
        """Let pieces arrive, one readable event each, as long as the connection reads."""
        self.transport.incoming.extend(pieces)
        for _ in pieces:
            self.poll(EPOLLIN)

    def poll(self, mask: int) -> None:
        """Tell of what epoll has found, and go through the stages of a turn with it."""
        if mask == EPOLLIN:
            self.connection.receive()
        else:
            self.connection.handle_events(mask)
        self.loop.handle_received()

    def run(self) -> None:
        """Turn until the connection asks for nothing."""
        for _ in range(1000):
            if not self.loop.turn():
                return
        raise AssertionError("the connection asks for turns for ever")

    @property
    def answers(self) -> list[bytes]:
        """The whole answers that are out."""
        found, data = [], bytes(self.transport.outgoing)
        while data:
            length = int.from_bytes(data[:4], "big")
            found.append(data[4 : 4 + length])
            data = data[4 + length :]
        return found


def leased(content: bytes) -> tuple[MemoryFile, LeasedFile]:
    file = MemoryFile(content)
    return file, LeasedFile(file)  # type: ignore[arg-type]


RESET = ConnectionResetError(errno.ECONNRESET, "reset")
