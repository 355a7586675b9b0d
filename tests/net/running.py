"""A reactor in a thread, and plain blocking clients."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from barnabas.base.clock import SystemClock
from barnabas.net.connection import Connection
from barnabas.net.contracts import ConnectionHandler
from barnabas.net.listener import Listener
from barnabas.net.listener_config import ConnectionLimits, ListenerConfig
from barnabas.net.reactor import Reactor
from barnabas.timing.timer_wheel import TimerWheel

TIMEOUT_S = 20


class Handler:
    """Calls `answer(connection, frame)`; keeps what it saw. `changed` wakes a waiting test."""

    def __init__(self, answer: Callable[[Connection, bytes], None] | None = None) -> None:
        self.answer = answer
        self.opened: list[Connection] = []
        self.closed: list[Connection] = []
        self.received: list[bytes] = []
        self.waiting: list[bytes] = []
        self.changed = threading.Condition()

    def _note(self, seen: list[Any], item: Any) -> None:
        with self.changed:
            seen.append(item)
            self.changed.notify_all()

    def connection_opened(self, connection: Connection) -> None:
        self._note(self.opened, connection)

    def connection_closed(self, connection: Connection) -> None:
        self._note(self.closed, connection)

    def request_waiting(self, connection: Connection, frame: memoryview) -> None:
        self._note(self.waiting, bytes(frame))

    def request_received(self, connection: Connection, frame: memoryview) -> None:
        self._note(self.received, bytes(frame))
        if self.answer is not None:
            self.answer(connection, bytes(frame))

    def wait(self, condition: Callable[["Handler"], bool]) -> None:
        """Wait until the condition holds; it is asked whenever something was seen."""
        with self.changed:
            assert self.changed.wait_for(lambda: condition(self), TIMEOUT_S), "waited in vain"


def echo(connection: Connection, frame: bytes) -> None:
    connection.respond([frame])


class Running:
    """A reactor that runs in a thread until the block ends."""

    def __init__(self, *, limits: ConnectionLimits | None = None, **options: Any) -> None:
        clock = SystemClock()
        self.reactor = Reactor(timers=TimerWheel(clock.monotonic_ms()), limits=limits, **options)
        self._thread = threading.Thread(target=self.reactor.run, daemon=True)

    def listen(self, handler: ConnectionHandler, **config: Any) -> Listener:
        return self.reactor.listen(ListenerConfig(**{"host": "127.0.0.1", "port": 0, **config}), handler)

    def __enter__(self) -> "Running":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self, deadline_ms: int = 1000) -> None:
        self.reactor.stop(deadline_ms)
        self._thread.join(TIMEOUT_S)
        assert not self._thread.is_alive(), "the loop did not stop"

    def on_loop(self, call: Callable[[], Any]) -> Any:
        """Run a call on the loop's thread and return what it returned."""
        done = threading.Event()
        results: list[Any] = []

        def run() -> None:
            try:
                results.append(call())
            finally:
                done.set()

        self.reactor.call_soon_threadsafe(run)
        assert done.wait(TIMEOUT_S)
        return results[0]


class Client:
    """A blocking client of frames."""

    def __init__(self, listener: Listener, *, receive_buffer_bytes: int | None = None) -> None:
        host = "127.0.0.1" if listener.host in ("0.0.0.0", "::") else listener.host
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.socket = socket.socket(family)
        self.socket.settimeout(TIMEOUT_S)
        if receive_buffer_bytes is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        self.socket.connect((host, listener.port))

    def send(self, *bodies: bytes) -> None:
        self.socket.sendall(b"".join(len(body).to_bytes(4, "big") + body for body in bodies))

    def receive(self) -> bytes:
        length = int.from_bytes(self.receive_exactly(4), "big")
        return self.receive_exactly(length)

    def receive_exactly(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            piece = self.socket.recv(min(count - len(data), 1 << 20))
            if not piece:
                raise EOFError(f"{len(data)} of {count} bytes")
            data += piece
        return bytes(data)

    def ask(self, body: bytes) -> bytes:
        self.send(body)
        return self.receive()

    def is_closed(self) -> bool:
        """Whether the broker hangs up; waits for it."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def reset(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        self.socket.close()

    def close(self) -> None:
        self.socket.close()


@contextmanager
def client_of(listener: Listener, **options: Any) -> Iterator[Client]:
    client = Client(listener, **options)
    try:
        yield client
    finally:
        client.close()
