"""How fast connections may be taken (max.connection.creation.rate, KIP-612).

The rate holds over a window, as Apache Kafka measures it: after a quiet window its whole worth of connections
is taken at once, then one each time there is room for it. Kept as one number, the time at which all taken
so far would be worth their time, instead of Kafka's samples: it decides the same without a queue of them.
"""

from math import ceil

UNLIMITED = 2**31 - 1
NEVER_MS = 2**31 - 1
"""A wait that only another limit ends."""


class CreationRate:
    """One limit. Times are milliseconds of one monotonic clock.

    Args:
        per_s: connections a second; 0 takes none, UNLIMITED all.
        window_ms: over which the rate holds.
    """

    __slots__ = ("_paid_until_ms", "_per_s", "_window_ms")

    def __init__(self, per_s: int = UNLIMITED, window_ms: int = 10_000) -> None:
        self._per_s = per_s
        self._window_ms = window_ms
        self._paid_until_ms = 0.0

    def limit(self, per_s: int, window_ms: int) -> None:
        """Take over another limit; what was taken before counts at the new rate's price from now on."""
        self._per_s = per_s
        self._window_ms = window_ms

    def wait_ms(self, now_ms: int) -> int:
        """Return how long the next connection must wait; 0 when it may be taken now."""
        if self._per_s == UNLIMITED:
            return 0
        if self._per_s == 0:
            return NEVER_MS
        return max(0, ceil(self._paid_until_ms + 1000 / self._per_s - self._window_ms - now_ms))

    def took(self, now_ms: int) -> None:
        """Count a connection."""
        if 0 < self._per_s < UNLIMITED:
            self._paid_until_ms = max(self._paid_until_ms, now_ms) + 1000 / self._per_s
