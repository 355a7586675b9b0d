"""At most so many lines per cause and minute, so that hostile peers cannot fill the disk with our log.

The cause is the line's format string: the same fault of 10,000 peers is one cause. What was left out is
counted and told by the first line of a later period.
"""

from collections.abc import Callable

from barnabas.base.logger import Logger

LINES_PER_PERIOD_MAX = 20
PERIOD_MS = 60_000


class LogThrottle:
    """Counts lines per cause. There are as many causes as there are calls in the source."""

    __slots__ = ("_counts", "_now_ms", "_period_start_ms")

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._period_start_ms = now_ms()
        self._counts: dict[str, int] = {}

    def warning(self, logger: Logger, message: str, *args: object) -> None:
        """Log at WARNING unless this cause has had its lines."""
        if self._admit(logger, message):
            logger.warning(message, *args)

    def exception(self, logger: Logger, message: str, *args: object) -> None:
        """Log at ERROR with the traceback of the exception being handled, likewise."""
        if self._admit(logger, message):
            logger.exception(message, *args)

    def _admit(self, logger: Logger, message: str) -> bool:
        now_ms = self._now_ms()
        if now_ms - self._period_start_ms >= PERIOD_MS:
            for cause, count in self._counts.items():
                if count > LINES_PER_PERIOD_MAX:
                    logger.warning("Left out %d lines like: %s", count - LINES_PER_PERIOD_MAX, cause)
            self._counts.clear()
            self._period_start_ms = now_ms
        count = self._counts[message] = self._counts.get(message, 0) + 1
        return count <= LINES_PER_PERIOD_MAX
