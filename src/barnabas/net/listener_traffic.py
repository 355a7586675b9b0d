"""What the connections of one listener share.

Counters of every request are kept by the connection that counts them and summed here when it closes:
one addition per request less, and each connection's own figures for free.
"""

from barnabas.base.hints import TYPE_CHECKING
from barnabas.net.creation_rate import CreationRate
from barnabas.net.frame_reader import LENGTH_BYTES
from barnabas.net.listener_config import STAGING_BYTES, FetchMode, ListenerConfig
from barnabas.net.output import COPY_ALL, OutputCounters

if TYPE_CHECKING:
    from barnabas.net.connection import Connection
    from barnabas.net.tls_context import ListenerTls


class ListenerTraffic:
    """What the connections of one listener share: settings, counters, and the sums of the closed ones."""

    __slots__ = (
        "bytes_received",
        "bytes_sent",
        "config",
        "connections",
        "handshakes_failed",
        "handshaking",
        "output",
        "rate",
        "reads",
        "requests_received",
        "staging_bytes",
        "tls",
        "whole_bytes_max",
        "zero_copy_min_bytes",
    )

    def __init__(self, config: ListenerConfig) -> None:
        self.config = config
        self.whole_bytes_max = config.socket_request_max_bytes + LENGTH_BYTES
        self.connections: set[Connection] = set()
        self.zero_copy_min_bytes = {
            FetchMode.AUTO: config.zero_copy_min_bytes,
            FetchMode.ZERO_COPY: 0,
            FetchMode.HEAP: COPY_ALL,
        }[config.fetch_mode]
        self.staging_bytes = STAGING_BYTES if config.tls is None else config.tls_read_bytes
        self.output = OutputCounters()
        self.tls: ListenerTls | None = None
        self.rate = CreationRate(config.connection_creation_rate)
        self.handshaking = 0  # accepted, but their handshake is not done
        self.handshakes_failed = 0
        self.reads = 0
        self.requests_received = 0  # this and the next two: of connections that are closed
        self.bytes_received = 0
        self.bytes_sent = 0

    def retire(self, connection: "Connection") -> None:
        """Keep the sums of a connection that closes."""
        self.connections.discard(connection)
        self.requests_received += connection.requests_received
        self.bytes_received += connection.bytes_received
        self.bytes_sent += connection.bytes_sent
