"""Random orders of everything that can happen to a connection, against a model of its socket and its peer.

Each run makes pipelined requests of all kinds (answered at once, parked, in heap, in slices of every size)
and lets bytes arrive, room appear in the socket, turns pass and parked requests be answered in a random
order. After every step nobody may be forgotten:

- what waits to go out is polled for, or a turn is asked for;
- whole requests that could be delivered have a turn asked for;
- a connection that waits for its peer polls for its bytes.

In the end every answer is out, in order and whole. A failure names its seed.
"""

import random
from collections.abc import Sequence
from select import EPOLLHUP, EPOLLIN, EPOLLOUT, EPOLLRDHUP

import pytest

from barnabas.base.region import FileSlice
from barnabas.net import connection as connection_module
from barnabas.net import output
from barnabas.net.connection import Connection, ConnectionState
from barnabas.net.contracts import Part
from barnabas.net.listener_config import FetchMode, ListenerConfig
from barnabas.net.listener_traffic import ListenerTraffic

from .doubles import MemoryFile, RecordingHandler, ScriptedLoop, leased

RUNS, RUNS_SLOW = 400, 20_000
STEPS = 120
FILE_BYTES = 40_000
TURN_BYTES = 4_000
ZERO_COPY_MIN_BYTES = 600

Buffer = bytes | bytearray | memoryview


class ModelSocket:
    """A stream socket: `room` bytes of send buffer, what the peer sent, and both ends' ends."""

    def __init__(self, rng: random.Random, *, zero_copy: bool) -> None:
        self.zero_copy = zero_copy
        self.has_unread = self.wants_room = False
        self.peer_distinguished_name: str | None = None
        self.rng = rng
        self.room = rng.choice((0, 1, 500, 5_000, 100_000))
        self.unread = bytearray()
        self.peer_finished = False
        self.outgoing = bytearray()
        self.file: MemoryFile
        self.is_corked = False
        self.is_closed = False

    def fileno(self) -> int:
        return 7

    def receive_into(self, buffer: bytearray | memoryview, /) -> int:
        if not self.unread:
            if self.peer_finished:
                return 0
            raise BlockingIOError
        count = min(len(buffer), len(self.unread), self.rng.choice((1, 3, 50, 5_000)))
        memoryview(buffer)[:count] = self.unread[:count]
        del self.unread[:count]
        return count

    def send(self, data: Buffer, /) -> int:
        return self._take(data)

    def send_parts(self, parts: Sequence[Buffer], more: bool) -> int:
        return self._take(b"".join(parts))

    def send_file(self, fd: int, position: int, length: int) -> int:
        # The kernel may stop early although there is room.
        length = length if self.rng.random() < 0.7 else self.rng.randrange(1, length + 1)
        return self._take(self.file.content[position : position + length])

    def cork(self, on: bool) -> None:
        self.is_corked = on

    def finish_sending(self) -> None: ...

    def close(self) -> None:
        self.is_closed = True

    def _take(self, data: Buffer) -> int:
        if self.room == 0:
            raise BlockingIOError
        taken = min(self.room, len(data))
        self.outgoing += data[:taken]
        self.room -= taken
        return taken


class Model:
    """A connection, its doubles, and what must come out."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        mode = rng.choice(tuple(FetchMode))
        self.loop = ScriptedLoop()
        self.loop.staging = memoryview(bytearray(rng.choice((100, 1_000, 8_000))))
        self.socket = ModelSocket(rng, zero_copy=rng.random() < 0.8)
        self.file, self.lease = leased(rng.randbytes(FILE_BYTES))
        self.socket.file = self.file
        self.handler = RecordingHandler(self.handle)
        self.handler.on_waiting = self.request_waits
        self.expected: list[bytes] = []
        self.told = 0
        self.parked: list[tuple[list[Part], bytes]] = []
        self.slices: list[FileSlice] = []
        self.connection = Connection(
            transport=self.socket,
            loop=self.loop,
            handler=self.handler,
            traffic=ListenerTraffic(ListenerConfig(fetch_mode=mode, zero_copy_min_bytes=ZERO_COPY_MIN_BYTES)),
            local=("127.0.0.1", 9092),
            peer=("127.0.0.1", 50000),
            number=1,
        )
        self.small_share = rng.choice((0, 0.5, 0.95))
        self.requests = rng.randrange(1, 60)
        self.to_send = bytearray()
        for number in range(self.requests):
            body = number.to_bytes(4, "big") + rng.randbytes(rng.choice((0, 1, 20, 20, 20, 2_000)))
            self.to_send += len(body).to_bytes(4, "big") + body

    # The handler's side

    def handle(self, connection: Connection, frame: bytes) -> None:
        parts, body = self.make_answer()
        kind = self.rng.random()
        if kind < 0.3:
            self.parked.append((parts, body))
        elif kind < 0.35:
            for part in parts:
                if isinstance(part, FileSlice):
                    part.release()
            connection.complete_without_response()
        else:
            self.expected.append(body)
            connection.respond(parts, self.count_told)

    def request_waits(self, connection: Connection, frame: bytes) -> None:
        if self.rng.random() < 0.5:
            self.answer_parked()

    def answer_parked(self) -> None:
        if self.parked:
            parts, body = self.parked.pop()
            self.expected.append(body)
            self.connection.respond(parts, self.count_told)

    def count_told(self) -> None:
        self.told += 1

    def wake_parked(self) -> None:
        """Answer as a call of the loop does: alone, or in a stage with others."""
        self.loop.is_gathering = self.rng.random() < 0.5
        self.answer_parked()
        self.loop.is_gathering = False
        self.loop.send_gathered()

    def make_answer(self) -> tuple[list[Part], bytes]:
        parts: list[Part] = []
        body = bytearray()
        is_small = self.rng.random() < self.small_share
        for _ in range(self.rng.choice((1, 1, 2, 5))):
            if self.rng.random() < 0.5:
                data = self.rng.randbytes(self.rng.choice((0, 1, 40) if is_small else (900, 3_000, 9_000)))
                parts.append(data)
                body += data
            else:
                position = self.rng.randrange(FILE_BYTES)
                length = min(
                    FILE_BYTES - position,
                    self.rng.choice((1, 90, 599) if is_small else (0, 600, 5_000, FILE_BYTES)),
                )
                made = FileSlice(self.lease, position, length)
                self.slices.append(made)
                parts.append(made)
                body += self.file.content[position : position + length]
        return parts, bytes(body)

    # What happens

    def step(self) -> None:
        happens = self.rng.choice(
            (self.bytes_arrive, self.room_appears, self.poll, self.poll, self.pass_turn, self.wake_parked)
        )
        happens()
        self.check()

    def bytes_arrive(self) -> None:
        count = self.rng.choice((1, 4, 30, 3_000))
        self.socket.unread += self.to_send[:count]
        del self.to_send[:count]

    def room_appears(self) -> None:
        self.socket.room = self.rng.choice((1, 20, 100, 5_000, 200_000))

    def poll(self) -> None:
        """Tell of what epoll would tell of."""
        mask = 0
        if self.socket.unread or self.socket.peer_finished:
            mask |= EPOLLIN
        if self.socket.room:
            mask |= EPOLLOUT
        if self.socket.peer_finished:
            mask |= EPOLLRDHUP
        mask &= self.loop.interest | EPOLLHUP
        if mask == EPOLLIN:
            self.connection.receive()
        elif mask:
            self.connection.handle_events(mask)

    def pass_turn(self) -> None:
        self.poll()
        self.check()
        self.loop.turn()

    # What must hold

    def check(self) -> None:
        connection = self.connection
        if connection.state is ConnectionState.CLOSED:
            return
        asked = connection in self.loop.advancing
        statistics = connection.statistics()
        if statistics.output_bytes_waiting:
            assert asked or self.loop.interest & EPOLLOUT, "what waits to go out is forgotten"
        elif statistics.waiting_requests:
            assert asked or connection.request_in_hand, "waiting requests are forgotten"
        else:
            assert asked or self.loop.interest & EPOLLIN, "the peer is listened to no more"

    def run(self) -> None:
        for _ in range(STEPS):
            self.step()
        self.socket.unread += self.to_send
        self.to_send.clear()
        for _ in range(20_000):
            self.wake_parked()
            self.socket.room += 5_000
            self.pass_turn()
            self.check()
            if (
                len(self.handler.received) == self.requests
                and not self.connection.request_in_hand
                and not self.connection.statistics().output_bytes_waiting
            ):
                break
        whole = b"".join(len(body).to_bytes(4, "big") + body for body in self.expected)
        assert len(self.handler.received) == self.requests
        assert [int.from_bytes(frame[:4], "big") for frame in self.handler.received] == list(
            range(self.requests)
        )
        assert self.socket.outgoing == whole
        assert self.told == len(self.expected), "of each answer it is told once that it is out"
        assert not self.socket.is_corked, "the last packet is held back"
        self.socket.peer_finished = True
        for _ in range(3):
            self.pass_turn()
        assert self.connection.state is ConnectionState.CLOSED
        assert self.lease.holders == 1, "a slice was not released"


@pytest.fixture
def _small_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that every bound is met often."""
    monkeypatch.setattr(connection_module, "SHARED_TURN_BYTES", TURN_BYTES)
    monkeypatch.setattr(connection_module, "BULK_TURN_BYTES", 3 * TURN_BYTES)
    monkeypatch.setattr(connection_module, "JOIN_BYTES_MAX", 2_000)
    monkeypatch.setattr(output, "JOIN_BYTES_MAX", 2_000)
    monkeypatch.setattr(connection_module, "REQUESTS_PER_TURN_MAX", 4)
    monkeypatch.setattr(connection_module, "CORKED_PARTS_MAX", 12)


@pytest.mark.usefixtures("_small_turns")
@pytest.mark.parametrize("part", range(4))
def test_nothing_is_forgotten_in_any_order(part: int, slow: bool) -> None:
    runs = (RUNS_SLOW if slow else RUNS) // 4
    for seed in range(part * runs, (part + 1) * runs):
        model = Model(seed)
        try:
            model.run()
        except BaseException as error:
            error.add_note(f"Model({seed}).run()")
            raise
