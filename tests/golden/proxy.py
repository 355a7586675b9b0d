"""A TCP proxy that keeps what passes: put it between a client and a broker that advertises it.

It understands no more than a frame's length and the first eight bytes of a request, so it cannot get in
the way of what it records.
"""

import contextlib
import socket
import struct
import threading

from barnabas.protocol import messages
from tests.golden.exchanges import LENGTH_BYTES, Exchange

EXCHANGE_BYTES_MAX = 6 * 1024


class RecordingProxy:
    """Forwards connections on a free port of 127.0.0.1 to `target_port`.

    Attributes:
        client: whose traffic it is; set it before each client starts.
    """

    def __init__(self) -> None:
        self.client = ""
        self.target_port = 0
        self._kept: dict[tuple[int, int, str, str], Exchange] = {}
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def exchanges(self) -> list[Exchange]:
        """Return the smallest and the largest exchange of each API, version and client."""
        with self._lock:
            return list(self._kept.values())

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self.target_port))
            except OSError:
                near.close()
                continue
            _Connection(self, near, far, self.client)

    def keep(self, client: str, request: bytes, response: bytes) -> None:
        """Note an exchange if it is a smallest or largest one that is not too large to publish."""
        key, version = struct.unpack_from(">hh", request)
        size = len(request) + len(response)
        if size > EXCHANGE_BYTES_MAX or key not in messages.BY_KEY:
            return
        for extreme, sign in (("small", -1), ("large", 1)):
            exchange = Exchange(messages.BY_KEY[key].name, key, version, client, extreme, request, response)
            with self._lock:
                slot = (key, version, client, extreme)
                old = self._kept.get(slot)
                if old is None or sign * size > sign * (len(old.request) + len(old.response)):
                    self._kept[slot] = exchange


class _Connection:
    """One client's connection: a thread for each direction."""

    def __init__(self, proxy: RecordingProxy, near: socket.socket, far: socket.socket, client: str) -> None:
        self._proxy = proxy
        self._client = client
        self._waiting: dict[int, bytes] = {}
        for source, target, note in ((near, far, self._request), (far, near, self._response)):
            threading.Thread(target=self._pump, args=(source, target, note), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, note: object) -> None:
        buffer = b""
        try:
            while data := source.recv(65536):
                buffer += data
                while len(buffer) >= LENGTH_BYTES:
                    end = LENGTH_BYTES + int.from_bytes(buffer[:LENGTH_BYTES], "big")
                    if len(buffer) < end:
                        break
                    note(buffer[LENGTH_BYTES:end])  # type: ignore[operator]
                    buffer = buffer[end:]
                target.sendall(data)
        except OSError:
            pass
        finally:
            for sock in (source, target):
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    def _request(self, frame: bytes) -> None:
        self._waiting[int.from_bytes(frame[4:8], "big")] = frame

    def _response(self, frame: bytes) -> None:
        request = self._waiting.pop(int.from_bytes(frame[:4], "big"), None)
        if request is not None:
            self._proxy.keep(self._client, request, frame)
