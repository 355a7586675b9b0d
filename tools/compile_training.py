"""The load by which the compiler learns which code is hot, against a build that counts (`tools/compile.py`).

A broker is started from that build and asked in plain text what most clients ask: produces of one record and
of many, fetches that bring nothing, a record or many, fetches that wait and are woken, fetches of sessions;
from one connection and from sixteen at once. It is stopped in good order, since the counts are written then.

Without it code for errors lies between the lines that run: the compiled path of a produce then took as
much time as its source, for want of cache (docs/adr/0012). Not the load generators of `benchmarks/`: a wheel
is made without what they need.
"""

import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

from barnabas.protocol import frames, messages
from barnabas.protocol.api_keys import ApiKey
from tools import client_frames
from tools.client_frames import FETCH_VERSION, with_length

CONNECTIONS = 16
ROUNDS = 600
START_S = 60
REPLY_S = 30
METADATA_VERSION = 12
TOPICS = ("small", "many", "waited")


class Broker:
    """A broker of the build to train, and connections to it.

    Args:
        build: a compiled copy of src.
    """

    def __init__(self, build: Path, left: ExitStack) -> None:
        folder = left.enter_context(tempfile.TemporaryDirectory(prefix="barnabas-training-"))
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        listener = f"listeners=PLAINTEXT://127.0.0.1:{port}"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "barnabas", "serve", "--data-dir", folder, "--override", listener],
            env={**os.environ, "PYTHONPATH": str(build.resolve())},
            cwd=folder,
            stdout=subprocess.DEVNULL,
        )
        left.callback(self._process.kill)
        self.connections = [left.enter_context(self._connected(port)) for _ in range(CONNECTIONS)]

    def _connected(self, port: int) -> socket.socket:
        deadline = time.monotonic() + START_S
        while True:
            try:
                return socket.create_connection(("127.0.0.1", port), REPLY_S)
            except ConnectionRefusedError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def ask(self, requests: Sequence[bytes]) -> list[memoryview]:
        """Send a request on each of so many connections, then take the answers."""
        asked = self.connections[: len(requests)]
        for connection, request in zip(asked, requests, strict=True):
            connection.sendall(request)
        return [answer(connection) for connection in asked]

    def stop(self) -> None:
        """Stop in good order.

        Raises:
            RuntimeError: it ended otherwise.
        """
        self._process.send_signal(signal.SIGTERM)
        if status := self._process.wait(START_S):
            raise RuntimeError(f"the broker to train ended with {status}")


def answer(connection: socket.socket) -> memoryview:
    """Return the next answer without its length."""
    return memoryview(received(connection, int.from_bytes(received(connection, 4), "big")))


def received(connection: socket.socket, count: int) -> bytearray:
    """Return the next bytes.

    Raises:
        RuntimeError: the broker has closed the connection.
    """
    data = bytearray()
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            raise RuntimeError("the broker to train has closed a connection")
        data += piece
    return data


def framed(api_key: int, version: int, request: messages.Message) -> bytes:
    return with_length(client_frames.frame(api_key, version, request))


def produced(topic_id: bytes, values: Iterable[bytes], acks: int) -> bytes:
    records = client_frames.batch(values, time.time_ns() // 1_000_000)
    return with_length(client_frames.produce_frame(topic_id, records, acks))


def fetched(topic_id: bytes, offset: int, **asked: int) -> bytes:
    return with_length(client_frames.fetch_frame(topic_id, offset, **asked))


def topic_ids(broker: Broker) -> dict[str, bytes]:
    """Have the topics made by asking for them."""
    wanted = [messages.MetadataRequestMetadataRequestTopic(name=name) for name in TOPICS]
    request = messages.MetadataRequest(topics=wanted, allow_auto_topic_creation=True)
    asked = framed(ApiKey.METADATA, METADATA_VERSION, request)
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        (data,) = broker.ask([asked])
        _, body = frames.decode_response_header(data, ApiKey.METADATA, METADATA_VERSION)
        response = messages.MetadataResponse.decode(data, METADATA_VERSION, body)
        if not any(topic.error_code for topic in response.topics):
            return {topic.name or "": topic.topic_id for topic in response.topics}
    raise RuntimeError("the topics to train with could not be made")


def small_requests(broker: Broker, ids: dict[str, bytes]) -> None:
    """One record at a time, and polls that bring nothing or one."""
    rng = random.Random(1)
    record = rng.randbytes(1024)
    (_,) = broker.ask([produced(ids["small"], [record], -1)])
    end = 1 + 2 * ROUNDS * (1 + CONNECTIONS)
    for requests in (
        produced(ids["small"], [record], 1),
        produced(ids["small"], [record], -1),
        fetched(ids["small"], end),
        fetched(ids["small"], 0, max_bytes=1),
    ):
        for connections in (1, CONNECTIONS):
            for _ in range(ROUNDS):
                broker.ask([requests] * connections)


def many_records(broker: Broker, ids: dict[str, bytes]) -> None:
    """Batches of many records, as busy producers send them, and fetches of some hundred KiB."""
    rng = random.Random(2)
    alike = [rng.randbytes(100) for _ in range(500)]
    mixed = [rng.randbytes(rng.randrange(1, 300)) for _ in range(300)]
    for values in (alike, mixed):
        for number in range(60):
            broker.ask([produced(ids["many"], values, 1)])
            broker.ask([fetched(ids["many"], number, max_bytes=200_000)])


def waiting_fetches(broker: Broker, ids: dict[str, bytes]) -> None:
    """One producer, and all others wait for what it brings."""
    producer, *watchers = broker.connections
    for offset in range(ROUNDS):
        for watcher in watchers:
            watcher.sendall(fetched(ids["waited"], offset, max_wait_ms=20_000))
        producer.sendall(produced(ids["waited"], [b"record"], 1))
        for connection in broker.connections:
            answer(connection)


def sessions(broker: Broker, ids: dict[str, bytes]) -> None:
    """Polls of a session that bring nothing."""
    (data,) = broker.ask([fetched(ids["small"], 0, max_bytes=1, session_epoch=0)])
    _, body = frames.decode_response_header(data, ApiKey.FETCH, FETCH_VERSION)
    opened = messages.FetchResponse.decode(data, FETCH_VERSION, body)
    assert opened.session_id, "no session was opened"
    for epoch in range(1, ROUNDS):
        broker.ask([fetched(ids["small"], 0, session_id=opened.session_id, session_epoch=epoch)])


LOADS: tuple[Callable[[Broker, dict[str, bytes]], None], ...] = (
    small_requests,
    many_records,
    waiting_fetches,
    sessions,
)


def train(build: Path) -> None:
    """Load a broker of an instrumented build; its counts are where its objects were made.

    Raises:
        RuntimeError: it did not run to its end.
    """
    with ExitStack() as left:
        broker = Broker(build, left)
        ids = topic_ids(broker)
        for load in LOADS:
            load(broker, ids)
        broker.stop()
