"""A clock that moves only when told to."""


class ManualClock:
    """Starts at a given wall time; monotonic time starts at 0.

    Args:
        wall_ms: milliseconds since 1970 at the start.
    """

    __slots__ = ("_monotonic_us", "_wall_us")

    def __init__(self, wall_ms: int = 1_700_000_000_000) -> None:
        self._wall_us = wall_ms * 1000
        self._monotonic_us = 0

    def wall_ms(self) -> int:
        return self._wall_us // 1000

    def monotonic_ms(self) -> int:
        return self._monotonic_us // 1000

    def monotonic_us(self) -> int:
        return self._monotonic_us

    def advance_ms(self, milliseconds: int) -> None:
        """Let time pass; never backwards."""
        self.advance_us(milliseconds * 1000)

    def advance_us(self, microseconds: int) -> None:
        """Let time pass; never backwards."""
        assert microseconds >= 0, microseconds
        self._wall_us += microseconds
        self._monotonic_us += microseconds

    def set_wall_ms(self, wall_ms: int) -> None:
        """Make the wall clock jump, either way; monotonic time stays."""
        self._wall_us = wall_ms * 1000
