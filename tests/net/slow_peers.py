"""Clients that pipeline, dawdle, half-close and reset, and know every byte that they must get.

All of them live in one thread over one selector, so that hundreds are as cheap as one and a seed decides what
each of them does (not when: that is the kernel's and the broker's part).
"""

import random
import selectors
import socket
import ssl
import struct
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from typing import Any, NamedTuple

from barnabas.protocol import messages as m
from barnabas.protocol.frames import decode_response_header
from barnabas.protocol.record_batch import iter_batches, parse_header
from tests.net.wire import LENGTH_BYTES, Wire, fetch_request, frame_of

TOPIC, TAIL, DOOMED, SHRINKING = "bulk", "tail", "doomed", "shrinking"
MAY_FAIL = {DOOMED: (3, 100), SHRINKING: (1,)}
"""Errors that fetches of a topic may meet, which is deleted or loses its first records meanwhile."""

HANDSHAKE_TIMEOUT_S = 30
FOR_EVER_MS = 600_000
READ_BYTES_MAX = 1 << 18
FETCH_VERSIONS = range(4, 13)  # by name
RECEIVE_BUFFERS = ((2_304, 536), (8_192, 1_400), (65_536, 16_000), (1 << 20, None))
"""SO_RCVBUF and TCP_MAXSEG: a window that is smaller than a segment would make TCP wait for its probes."""


class PartitionBytes:
    """What a partition holds, byte for byte, and where each batch begins."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.starts: list[tuple[int, int]] = []  # (last offset, position)
        for position, _ in iter_batches(memoryview(content), 0, len(content)):
            header = parse_header(memoryview(content), position)
            self.starts.append((header.base_offset + header.last_offset_delta, position))

    @property
    def end_offset(self) -> int:
        return self.starts[-1][0] + 1 if self.starts else 0

    def position_of(self, offset: int) -> int:
        """Where the batch with an offset begins."""
        return next(position for last, position in self.starts if last >= offset)


def read_partition(wire: Wire, topic: str, partition: int) -> PartitionBytes:
    """Fetch a partition in good order."""
    content = bytearray()
    end = wire.end_offset(topic, partition)
    offset = 0
    while offset < end:
        data = wire.fetch(topic, offset, partition=partition, max_bytes=1)
        assert data.error_code == 0, data
        records = bytes(data.records)
        content += records
        offset = PartitionBytes(records).end_offset
    return PartitionBytes(bytes(content))


class Ending(Enum):
    """What a peer does with its last request."""

    WAIT = auto()
    HALF_CLOSE = auto()
    """Sends FIN at once and reads on."""
    RESET = auto()
    """Hangs up in the middle of an answer."""


class Asked(NamedTuple):
    """A request that is out: how to check its answer, and until when that must be there."""

    correlation_id: int
    request: m.Message
    version: int
    check: Callable[[Any], None]


class Peer:
    """One connection. `requests` are sent as fast as the pipeline allows."""

    def __init__(
        self,
        port: int,
        rng: random.Random,
        requests: list[Asked],
        ending: Ending,
        pipeline_max: int,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.rng = rng
        self.requests = deque(requests)
        self.ending = ending
        self.pipeline_max = pipeline_max
        self.waiting: deque[Asked] = deque()
        self.unsent = bytearray()
        self.received = bytearray()
        self.is_done = False
        self.answers = 0
        self.sleeps_until = 0.0
        self.last_answer = time.monotonic()
        self.slowest_s = 0.0
        self.reset_after = rng.randrange(len(requests)) if ending is Ending.RESET else -1
        self.sock = socket.socket()
        receive_buffer_bytes, segment_bytes = rng.choice(RECEIVE_BUFFERS)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        if segment_bytes is not None:
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, segment_bytes)
        self.sock.settimeout(HANDSHAKE_TIMEOUT_S)
        self.sock.connect(("127.0.0.1", port))
        self.secured = None
        if tls is not None:
            self.sock = self.secured = tls.wrap_socket(self.sock, server_hostname="localhost")
        self.sock.setblocking(False)

    def write(self) -> None:
        """Send what the pipeline lets out, cut anywhere."""
        while self.requests and len(self.waiting) < self.pipeline_max:
            asked = self.requests.popleft()
            self.unsent += frame_of(asked.request, asked.version, asked.correlation_id)
            self.waiting.append(asked)
        if self.unsent:
            with suppress(ssl.SSLWantWriteError):
                count = self.sock.send(self.unsent[: self.rng.choice((1, 7, 300, 10_000))])
                del self.unsent[:count]
        if not self.unsent and not self.requests and self.ending is Ending.HALF_CLOSE:
            socket.socket.shutdown(self.sock, socket.SHUT_WR)  # of TCP, also below TLS
            self.ending = Ending.WAIT

    @property
    def wants_to_write(self) -> bool:
        return bool(self.unsent) or (bool(self.requests) and len(self.waiting) < self.pipeline_max)

    def read(self) -> None:
        """Read a little, and check the answers that became whole."""
        try:
            data = self.sock.recv(self.rng.choice((100, 4_000, READ_BYTES_MAX, READ_BYTES_MAX)))
        except ssl.SSLWantReadError:
            return
        while self.secured is not None and (held := self.secured.pending()):
            data += self.secured.recv(held)  # the selector does not tell of it
        assert data, f"the broker hung up with {len(self.waiting)} requests unanswered"
        self.received += data
        if self.answers == self.reset_after and len(self.received) > LENGTH_BYTES:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.finish()
            return
        while len(self.received) >= LENGTH_BYTES:
            end = LENGTH_BYTES + int.from_bytes(self.received[:LENGTH_BYTES], "big")
            if len(self.received) < end:
                break
            self.take_answer(bytes(self.received[LENGTH_BYTES:end]))
            del self.received[:end]
        if not self.waiting and not self.requests and not self.unsent:
            self.finish()

    def take_answer(self, frame: bytes) -> None:
        asked = self.waiting.popleft()
        key = asked.request.api_key
        assert key is not None
        correlation_id, body = decode_response_header(memoryview(frame), key, asked.version)
        assert correlation_id == asked.correlation_id, "answers are out of order"
        asked.check(m.BY_KEY[key].response.decode(frame, asked.version, body))
        self.answers += 1
        now = time.monotonic()
        self.slowest_s = max(self.slowest_s, now - self.last_answer)
        self.last_answer = now
        if self.rng.random() < 0.1:
            self.sleeps_until = now + self.rng.random() * 0.3

    def finish(self) -> None:
        self.is_done = True
        self.sock.close()


def run_peers(peers: list[Peer], timeout_s: float, on_round: Callable[[], None]) -> None:
    """Let them all finish.

    Raises:
        AssertionError: an answer is missing after `timeout_s`, or wrong.
    """
    deadline = time.monotonic() + timeout_s
    with selectors.DefaultSelector() as selector:
        watched: dict[Peer, int] = {}
        while left := [peer for peer in peers if not peer.is_done]:
            now = time.monotonic()
            if now > deadline:
                raise AssertionError("\n".join(_describe(peer) for peer in left))
            for peer in left:
                _watch(selector, watched, peer, now)
            for key, events in selector.select(0.02):
                peer = key.data
                if events & selectors.EVENT_WRITE:
                    peer.write()
                if events & selectors.EVENT_READ:
                    peer.read()
                if peer.is_done:
                    watched.pop(peer)
                    selector.unregister(key.fileobj)
            on_round()


def _watch(selector: selectors.BaseSelector, watched: dict[Peer, int], peer: Peer, now: float) -> None:
    wanted = selectors.EVENT_WRITE if peer.wants_to_write else 0
    if now >= peer.sleeps_until:
        wanted |= selectors.EVENT_READ
    had = watched.get(peer, 0)
    if wanted == had:
        return
    if not had:
        selector.register(peer.sock, wanted, peer)
    elif not wanted:
        selector.unregister(peer.sock)
    else:
        selector.modify(peer.sock, wanted, peer)
    watched[peer] = wanted


def _describe(peer: Peer) -> str:
    first = peer.waiting[0] if peer.waiting else None
    return (
        f"{peer.sock.getsockname()}: {peer.answers} answers, {len(peer.waiting)} awaited,"
        f" {len(peer.requests)} not sent, {len(peer.received)} bytes begun, {len(peer.unsent)} unsent;"
        f" waits for {first}"
    )


def fetch_of(topic: str, partitions: list[PartitionBytes], rng: random.Random, correlation_id: int) -> Asked:
    """A fetch of a random place in a random size, and the check that every byte is right."""
    number = rng.randrange(len(partitions))
    whole = partitions[number]
    offset = rng.randrange(whole.end_offset)
    max_bytes = rng.choice((1, 3_000, 70_000, 1 << 20, 3 << 20))
    version = rng.choice(FETCH_VERSIONS)

    def check(answer: Any) -> None:
        data = answer.responses[0].partitions[0]
        if data.error_code in MAY_FAIL.get(topic, ()):
            return
        assert data.error_code == 0, data.error_code
        known = memoryview(whole.content)[whole.position_of(offset) :]
        found = memoryview(data.records)
        assert found, "nothing was fetched"
        # Others append meanwhile.
        assert found[: len(known)] == known[: len(found)], "other bytes than are stored"

    return Asked(correlation_id, fetch_request(topic, offset, number, max_bytes), version, check)


def other_request(rng: random.Random, correlation_id: int) -> Asked:
    """A request of another kind."""

    def check(answer: Any) -> None:
        assert answer.topics[0].name == TOPIC

    asked = m.MetadataRequest(topics=[m.MetadataRequestMetadataRequestTopic(name=TOPIC)])
    return Asked(correlation_id, asked, rng.randrange(4, 10), check)


def waiting_fetch(offset: int, correlation_id: int) -> Asked:
    """A fetch at the tail's end that only the next record can answer in time."""

    def check(answer: Any) -> None:
        data = answer.responses[0].partitions[0]
        assert data.error_code == 0, data.error_code
        assert data.records, "nobody woke it"
        assert parse_header(memoryview(data.records), 0).base_offset == offset

    request = fetch_request(TAIL, offset)
    request.max_wait_ms = FOR_EVER_MS
    return Asked(correlation_id, request, 12, check)


def parked_fetch(max_wait_ms: int, correlation_id: int) -> Asked:
    """A fetch that no record can satisfy: it ends by its time or by a request of another kind behind it."""

    def check(answer: Any) -> None:
        assert answer.responses[0].partitions[0].error_code == 0

    request = fetch_request(TAIL, 0)
    request.max_wait_ms, request.min_bytes, request.max_bytes = max_wait_ms, 1 << 30, 1 << 30
    return Asked(correlation_id, request, 12, check)
