"""One connection that can leave an answer for later: a member that waits for the others.

Fetch situations ask and wait; a member of a group often waits for what another member has yet to say, so
asking and hearing are two steps here. A thread for each member was rejected: whose request comes first would
be chance.
"""

import select
import socket

from barnabas.protocol import messages as m
from barnabas.protocol.frames import decode_response_header, encode_request_header

CLIENT_ID = "situation"
ANSWER_TIMEOUT_S = 30
LENGTH_BYTES = 4


class Line:
    """A connection to 127.0.0.1 with at most one request under way.

    Attributes:
        sent: the frame of the last request, without its length.
    """

    def __init__(self, port: int) -> None:
        self._sock = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_TIMEOUT_S)
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._correlation_id = 0
        self._asked: tuple[int, int] | None = None
        self.sent = b""

    def send(self, version: int, request: m.Message) -> None:
        """Ask, and leave the answer for `receive`."""
        assert self._asked is None, "the last answer was not heard yet"
        key = request.api_key
        assert key is not None
        self._correlation_id += 1
        self.sent = encode_request_header(key, version, self._correlation_id, CLIENT_ID) + request.encode(
            version
        )
        self._asked = (key, version)
        self._sock.sendall(len(self.sent).to_bytes(LENGTH_BYTES, "big") + self.sent)

    def receive(self) -> tuple[bytes, m.Message] | None:
        """Return the answer's frame and message; None when the broker closed the connection."""
        assert self._asked is not None, "nothing was asked"
        (key, version), self._asked = self._asked, None
        head = self._receive(LENGTH_BYTES)
        frame = None if head is None else self._receive(int.from_bytes(head, "big"))
        if frame is None:
            return None
        correlation_id, body = decode_response_header(memoryview(frame), key, version)
        assert correlation_id == self._correlation_id
        answer, end = m.BY_KEY[key].response.decode_from(frame, version, body)
        assert end == len(frame), f"{len(frame) - end} bytes behind the answer"
        return frame, answer

    def is_answered(self, within_s: float) -> bool:
        """Whether an answer, or the end of the connection, comes within a time."""
        readable = select.poll()
        readable.register(self._sock, select.POLLIN)
        return bool(readable.poll(within_s * 1000))

    def _receive(self, length: int) -> bytes | None:
        data = b""
        while len(data) < length:
            try:
                more = self._sock.recv(length - len(data))
            except ConnectionResetError:
                return None
            if not more:
                return None
            data += more
        return data

    def close(self) -> None:
        self._sock.close()
