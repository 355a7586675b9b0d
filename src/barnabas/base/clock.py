"""Time, as an argument.

Nothing above `base` reads a clock of its own: code takes `now_ms` or a Clock, so that the same code
runs in production and under a clock that a test moves by hand.
"""

import time

from barnabas.base.hints import Protocol


class Clock(Protocol):
    """Where the time comes from."""

    def wall_ms(self) -> int:
        """Milliseconds since 1970, as record timestamps count them; may jump."""

    def monotonic_ms(self) -> int:
        """Milliseconds from an arbitrary start; never goes back. Deadlines use this one."""

    def monotonic_us(self) -> int:
        """The same in microseconds, for measuring how long something took."""


class SystemClock:
    """The machine's clocks."""

    __slots__ = ()

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    def monotonic_us(self) -> int:
        return time.monotonic_ns() // 1_000


def sleep_ms(duration_ms: int) -> None:
    """Pause this thread; for helper threads and processes, never for a loop."""
    time.sleep(duration_ms / 1000)
