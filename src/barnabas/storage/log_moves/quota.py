"""How fast replicas may move between log directories: `replica.alter.log.dirs.io.max.bytes.per.second`.

A debt that time pays off: what was copied is added, and nobody copies while there is one. Apache Kafka
measures rates over windows of samples; over more than a second both come to the same.
"""

from barnabas.base.clock import Clock

DELAY_MS_MAX = 500
"""Whoever waits looks again after this: the quota may have been raised meanwhile."""

STEP_BYTES_MIN = 64 * 1024


class MoveQuota:
    """One quota for all moves.

    Attributes:
        bytes_per_second: None for no bound.
    """

    __slots__ = ("_clock", "_debt_bytes", "_paid_us", "bytes_per_second")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._debt_bytes = 0.0
        self._paid_us = clock.monotonic_us()
        self.bytes_per_second: int | None = None

    def spend(self, count: int) -> None:
        """Note that bytes are copied."""
        if self.bytes_per_second is not None:
            self._pay()
            self._debt_bytes += count

    def delay_ms(self) -> int:
        """Return how long to wait before asking again; 0 for not at all."""
        rate = self.bytes_per_second
        if rate is None:
            self._debt_bytes = 0.0
            return 0
        self._pay()
        if self._debt_bytes <= 0:
            return 0
        if rate <= 0:
            return DELAY_MS_MAX
        return min(DELAY_MS_MAX, max(1, int(self._debt_bytes * 1000 / rate)))

    def step_bytes(self, bytes_max: int) -> int:
        """Return how much to copy at once: about a quarter of a second's worth."""
        rate = self.bytes_per_second
        return bytes_max if rate is None else min(bytes_max, max(STEP_BYTES_MIN, rate // 4))

    def _pay(self) -> None:
        now_us = self._clock.monotonic_us()
        paid = (now_us - self._paid_us) * (self.bytes_per_second or 0) / 1_000_000
        self._debt_bytes = max(0.0, self._debt_bytes - paid)
        self._paid_us = now_us
