"""One blocking socket to one broker.

`Conversation` is the sans-IO half: it numbers requests, chooses versions and matches answers; `Connection`
moves its bytes. Several requests may be sent before the first answer is read; brokers answer in order.
"""

import socket
from collections import deque

from barnabas.base.errors import DecodeError, ErrorCode
from barnabas.base.hints import Any
from barnabas.cli.client.address import address_text
from barnabas.cli.client.errors import (
    ConnectionLostError,
    NotKafkaError,
    UnsupportedByBrokerError,
    error_name,
)
from barnabas.protocol import messages
from barnabas.protocol.frames import decode_response_header, encode_request_header

RESPONSE_BYTES_MAX = 512 * 1024 * 1024
"""Above any answer we ask for (fetches are asked to stay below 64 MiB, but one batch may be larger);
a length beyond it means that the other side does not speak Kafka's protocol."""

API_VERSIONS = 18
_PRODUCE = 0
_SOFTWARE_NAME = "barnabas"

_OTHER_PROTOCOL = "a TLS listener (these commands speak plaintext only), or another service?"


class Conversation:
    """Request frames out, response frames in; no socket."""

    def __init__(self, client_id: str, software_version: str) -> None:
        self._client_id = client_id
        self._software_version = software_version
        self._next_correlation_id = 0
        self._waiting: deque[tuple[int, int, int]] = deque()  # (correlation id, key, version)
        self._versions: dict[int, tuple[int, int]] | None = None

    @property
    def in_flight(self) -> int:
        """Requests sent and not yet answered."""
        return len(self._waiting)

    def handshake_frame(self, version: int | None = None) -> list[bytes]:
        """Return the ApiVersions request that opens every connection.

        Args:
            version: None takes our newest.
        """
        newest = _newest(messages.BY_KEY[API_VERSIONS])
        request = messages.ApiVersionsRequest(
            client_software_name=_SOFTWARE_NAME, client_software_version=self._software_version
        )
        return self._frame(API_VERSIONS, newest if version is None else version, request)

    def handshake_answered(self, response: Any) -> int | None:
        """Take the broker's list of versions.

        Returns:
            None when done; else the version to ask again with (KIP-511: error 35 carries the range).
        Raises:
            NotKafkaError: another error.
        """
        ranges = {entry.api_key: (entry.min_version, entry.max_version) for entry in response.api_keys}
        if response.error_code == ErrorCode.UNSUPPORTED_VERSION:
            theirs: int = ranges.get(API_VERSIONS, (0, 0))[1]
            return min(theirs, _newest(messages.BY_KEY[API_VERSIONS]))
        if response.error_code:
            raise NotKafkaError(f"the broker refused ApiVersions: {error_name(response.error_code)}")
        self._versions = ranges
        return None

    def version_of(self, api_key: int) -> int:
        """Return the newest version that both sides speak.

        Raises:
            UnsupportedByBrokerError: there is none.
        """
        assert self._versions is not None, "no handshake yet"
        spec = messages.BY_KEY[api_key]
        theirs = self._versions.get(api_key)
        if theirs is None:
            raise UnsupportedByBrokerError(f"the broker does not offer {spec.name}")
        oldest, newest = spec.valid_versions[0], _newest(spec)
        version = min(theirs[1], newest)
        if version < max(theirs[0], oldest):
            ours = f"{oldest}-{newest}"
            raise UnsupportedByBrokerError(
                f"{spec.name}: the broker speaks versions {theirs[0]}-{theirs[1]}, this client {ours}"
            )
        return version

    def request_frame(self, api_key: int, request: Any, version: int | None = None) -> list[bytes]:
        """Return a length-prefixed request as parts; Produce with acks=0 expects no answer."""
        return self._frame(api_key, self.version_of(api_key) if version is None else version, request)

    def _frame(self, api_key: int, version: int, request: Any) -> list[bytes]:
        correlation_id = self._next_correlation_id
        self._next_correlation_id = (correlation_id + 1) & 0x7FFFFFFF
        header = encode_request_header(api_key, version, correlation_id, self._client_id)
        body = request.encode(version)
        if api_key != _PRODUCE or request.acks != 0:
            self._waiting.append((correlation_id, api_key, version))
        return [(len(header) + len(body)).to_bytes(4, "big"), header, body]

    def response(self, frame: memoryview) -> Any:
        """Decode the next answer; `frame` is without its length.

        Raises:
            NotKafkaError: bytes that are no answer, or the answer to something else.
        """
        correlation_id, api_key, version = self._waiting.popleft()
        spec = messages.BY_KEY[api_key]
        try:
            answered_id, end = decode_response_header(frame, api_key, version)
            if answered_id != correlation_id:
                raise NotKafkaError(f"answer {answered_id} came where {correlation_id} was due")
            if api_key == API_VERSIONS and bytes(frame[end : end + 2]) == b"\x00\x23":
                version = 0  # UNSUPPORTED_VERSION is answered in the oldest format
            return spec.response.decode(frame[end:], version)
        except DecodeError as error:
            raise NotKafkaError(f"{spec.name} v{version}: malformed answer: {error}") from error


def _newest(spec: messages.ApiSpec) -> int:
    """Return the newest released version."""
    return spec.valid_versions[-1] - int(spec.latest_unstable)


class Connection:
    """A connected, negotiated socket.

    Args:
        request_timeout_s: how long one answer may take beyond what the request itself asks to wait.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        client_id: str,
        software_version: str,
        connect_timeout_s: float = 10.0,
        request_timeout_s: float = 30.0,
    ) -> None:
        self.address = address_text(host, port)
        self._request_timeout_s = request_timeout_s
        self._conversation = Conversation(client_id, software_version)
        self._is_negotiated = False
        try:
            self._socket = socket.create_connection((host, port), timeout=connect_timeout_s)
        except OSError as error:
            raise ConnectionLostError(f"cannot reach {self.address}: {error.strerror or error}") from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.settimeout(request_timeout_s)
        try:
            self._handshake()
        except BaseException:
            self._socket.close()
            raise

    def _handshake(self) -> None:
        self._send(self._conversation.handshake_frame())
        lower = self._conversation.handshake_answered(self.receive())
        if lower is not None:
            self._send(self._conversation.handshake_frame(lower))
            if self._conversation.handshake_answered(self.receive()) is not None:
                raise NotKafkaError(f"{self.address} refuses every version of ApiVersions")
        self._is_negotiated = True

    def fileno(self) -> int:
        """For select."""
        return self._socket.fileno()

    @property
    def in_flight(self) -> int:
        """Requests sent and not yet answered."""
        return self._conversation.in_flight

    def version_of(self, api_key: int) -> int:
        """Return the version a request of this key will be sent in."""
        return self._conversation.version_of(api_key)

    def send(self, api_key: int, request: Any) -> None:
        """Send a request without waiting for its answer."""
        self._send(self._conversation.request_frame(api_key, request))

    def receive(self, extra_wait_s: float = 0.0) -> Any:
        """Return the answer to the oldest request in flight.

        Args:
            extra_wait_s: what the request itself asked the broker to wait.
        """
        self._socket.settimeout(self._request_timeout_s + extra_wait_s)
        length = int.from_bytes(self._receive_exactly(4), "big", signed=True)
        if not 4 <= length <= RESPONSE_BYTES_MAX:
            raise NotKafkaError(f"{self.address} does not answer like a Kafka broker: {_OTHER_PROTOCOL}")
        return self._conversation.response(self._receive_exactly(length))

    def request(self, api_key: int, request: Any, extra_wait_s: float = 0.0) -> Any:
        """Send a request and return its answer; nothing else may be in flight."""
        assert self.in_flight == 0
        self.send(api_key, request)
        return self.receive(extra_wait_s)

    def close(self) -> None:
        """Close the socket; closing twice is harmless."""
        self._socket.close()

    def _send(self, parts: list[bytes]) -> None:
        try:
            self._socket.sendall(b"".join(parts))
        except OSError as error:
            raise ConnectionLostError(f"{self.address}: {error.strerror or error}") from error

    def _receive_exactly(self, length: int) -> memoryview:
        buffer = memoryview(bytearray(length))
        got = 0
        while got < length:
            try:
                count = self._socket.recv_into(buffer[got:])
            except TimeoutError as error:
                raise ConnectionLostError(f"{self.address} did not answer in time") from error
            except OSError as error:
                raise ConnectionLostError(f"{self.address}: {error.strerror or error}") from error
            if count == 0:
                why = "" if self._is_negotiated else f" before it had answered: {_OTHER_PROTOCOL}"
                raise ConnectionLostError(f"{self.address} closed the connection{why}")
            got += count
        return buffer
