"""How many connections there are, over all and per address, against their limits."""

from barnabas.net.listener_config import ConnectionLimits

LOCAL_PEER = ""
"""The address of who comes by a socket in the file system: a tool of the broker's own user, never counted."""


class ConnectionCounts:
    """Counts of one loop's connections.

    Attributes:
        total: connections now.
        refused_per_ip: connections closed at once for max.connections.per.ip.
    """

    __slots__ = ("_per_ip", "limits", "refused_per_ip", "total")

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.total = 0
        self.refused_per_ip = 0
        self._per_ip: dict[str, int] = {}

    @property
    def is_full(self) -> bool:
        """Whether max.connections is reached."""
        return self.total >= self.limits.max_connections

    def of(self, address: str) -> int:
        """Return the connections of an address."""
        return self._per_ip.get(address, 0)

    def admit(self, address: str) -> bool:
        """Count a connection unless its address has as many as it may."""
        if address == LOCAL_PEER:
            return True
        count = self._per_ip.get(address, 0)
        if count >= self.limits.per_ip(address):
            self.refused_per_ip += 1
            return False
        self._per_ip[address] = count + 1
        self.total += 1
        return True

    def release(self, address: str) -> None:
        """Uncount a closed one."""
        if address == LOCAL_PEER:
            return
        self.total -= 1
        count = self._per_ip[address] - 1
        if count:
            self._per_ip[address] = count
        else:
            del self._per_ip[address]
