"""Keeping reads and writes of a cleaning below so many bytes a second.

Bytes are counted over a window of time; when they are ahead of the rate the cleaning sleeps until they are
not, and the window begins anew. A window is long enough for a few reads of a large buffer, and short enough
that a pause is not noticed as one. As in Apache Kafka the bound is one of the mean, not of each moment.
"""

from collections.abc import Callable

from barnabas.base.clock import Clock

WINDOW_MS = 300
"""How often the rate is looked at."""

SLEEP_MS_MAX = 1000
"""Longest pause at once; between pauses it is looked whether the cleaning was aborted."""


class Throttle:
    """Slows a cleaning down.

    Args:
        bytes_per_second_max: above 0; infinite never sleeps.
        sleep_ms: pauses the thread.
        check: called between pauses; raises to end the cleaning.

    Attributes:
        slept_ms: in sum.
    """

    __slots__ = ("_bytes", "_bytes_per_ms", "_check", "_clock", "_since_ms", "_sleep_ms", "slept_ms")

    def __init__(
        self,
        bytes_per_second_max: float,
        clock: Clock,
        sleep_ms: Callable[[int], None],
        check: Callable[[], None],
    ) -> None:
        self._bytes_per_ms = bytes_per_second_max / 1000
        self._clock = clock
        self._sleep_ms = sleep_ms
        self._check = check
        self._bytes = 0
        self._since_ms = clock.monotonic_ms()
        self.slept_ms = 0

    def count(self, size_bytes: int) -> None:
        """Account for bytes read or written, and sleep when there were too many."""
        self._bytes += size_bytes
        elapsed_ms = self._clock.monotonic_ms() - self._since_ms
        if elapsed_ms < WINDOW_MS and self._bytes < self._bytes_per_ms * WINDOW_MS:
            return
        left_ms = int(self._bytes / self._bytes_per_ms) - elapsed_ms
        while left_ms > 0:
            pause_ms = min(left_ms, SLEEP_MS_MAX)
            self._sleep_ms(pause_ms)
            self.slept_ms += pause_ms
            left_ms -= pause_ms
            self._check()
        self._bytes = 0
        self._since_ms = self._clock.monotonic_ms()
