"""What a listener and the loop can be told, under Kafka's configuration names.

The defaults are Apache Kafka's, save where a comment says otherwise. Values are checked when the
object is made, so that a listener never fails half-way through a bind for a wrong number.
"""

from collections.abc import Mapping

from barnabas.base.dataclass import dataclass, field
from barnabas.base.enums import Enum
from barnabas.net.creation_rate import UNLIMITED
from barnabas.net.tls_config import TLS_READ_BYTES, TlsConfig

_INT_MAX = 2**31 - 1

OS_DEFAULT_BUFFER = -1

STAGING_BYTES = 128 * 1024
"""What one copied piece of a slice takes; larger pieces were not faster."""


class FetchMode(Enum):
    """How file slices go out (F41); the bytes on the wire are the same."""

    AUTO = "auto"
    """Copy small slices, sendfile from `zero_copy_min_bytes` upwards."""
    ZERO_COPY = "zero_copy"
    """sendfile always."""
    HEAP = "heap"
    """Read through a staging buffer always."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerConfig:
    """One listener.

    Attributes:
        name: the listener's name, as in `listeners`.
        host: address or name to bind; empty binds all interfaces (IPv6 and IPv4 where there is IPv6).
        port: 0 picks a free one.
        fetch_mode: F41.
        zero_copy_min_bytes: with AUTO, slices of this size and more go by sendfile. On loopback both ways
            cost the same between 64 and 128 KiB (benchmarks/net.py).
        socket_request_max_bytes: a longer frame closes the connection.
        socket_send_buffer_bytes: SO_SNDBUF; -1 leaves it to the system.
        socket_receive_buffer_bytes: SO_RCVBUF; -1 leaves it to the system.
        socket_listen_backlog_size: connections the kernel holds before they are accepted.
        max_connections: of this listener; further ones stay in the backlog until one closes.
        connection_creation_rate: connections a second of this listener; further ones wait in the backlog.
        tls: None for plaintext.
        tls_read_bytes: what is read of a slice at once to be encrypted, at most STAGING_BYTES.
    """

    name: str = "PLAINTEXT"
    host: str = ""
    port: int = 9092
    fetch_mode: FetchMode = FetchMode.AUTO
    zero_copy_min_bytes: int = 64 * 1024
    socket_request_max_bytes: int = 104_857_600
    socket_send_buffer_bytes: int = 102_400
    socket_receive_buffer_bytes: int = 102_400
    socket_listen_backlog_size: int = 50
    max_connections: int = _INT_MAX
    connection_creation_rate: int = UNLIMITED
    tls: TlsConfig | None = None
    tls_read_bytes: int = TLS_READ_BYTES

    def __post_init__(self) -> None:
        _require(0 <= self.port <= 65535, f"port {self.port} is not in 0..65535")
        _require(self.socket_request_max_bytes >= 1, "socket.request.max.bytes must be at least 1")
        _require(self.socket_listen_backlog_size >= 1, "socket.listen.backlog.size must be at least 1")
        _require(self.max_connections >= 0, "max.connections must be at least 0")
        _require(self.zero_copy_min_bytes >= 1, "the zero-copy threshold must be at least 1 byte")
        _require(
            1 <= self.tls_read_bytes <= STAGING_BYTES,
            f"fetch.tls.read.bytes must be within 1..{STAGING_BYTES}",
        )
        for size in (self.socket_send_buffer_bytes, self.socket_receive_buffer_bytes):
            _require(size == OS_DEFAULT_BUFFER or size >= 1, "socket buffers must be -1 or at least 1 byte")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """Limits over all listeners of a broker.

    Attributes:
        max_connections: further connections stay in the backlog until one closes.
        max_connections_per_ip: a further one from that address is closed at once.
        max_connections_per_ip_overrides: address -> its own limit. Names are resolved by the caller.
        connections_max_idle_ms: a connection without traffic and without a request in hand is closed
            after this, up to a sixteenth later; -1 never.
        connection_creation_rate: connections a second; further ones wait in the backlog.
        creation_window_ms: over which such rates hold, the listeners' too.
    """

    max_connections: int = _INT_MAX
    max_connections_per_ip: int = _INT_MAX
    max_connections_per_ip_overrides: Mapping[str, int] = field(default_factory=dict)
    connections_max_idle_ms: int = 600_000
    connection_creation_rate: int = UNLIMITED
    creation_window_ms: int = 10_000

    def __post_init__(self) -> None:
        _require(self.max_connections >= 0, "max.connections must be at least 0")
        _require(self.max_connections_per_ip >= 0, "max.connections.per.ip must be at least 0")
        for address, limit in self.max_connections_per_ip_overrides.items():
            _require(limit >= 0, f"max.connections.per.ip.overrides of {address} must be at least 0")

    def per_ip(self, address: str) -> int:
        """Return how many connections an address may have."""
        return self.max_connections_per_ip_overrides.get(address, self.max_connections_per_ip)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)
