"""When logs are flushed without anybody asking: after a roll, and when flush.ms is up."""

from collections.abc import Callable, Mapping

from barnabas.base.errors import ApiError
from barnabas.base.logger import Logger
from barnabas.storage.checkpoints import TopicPartition
from barnabas.storage.flush_work import FlushWork
from barnabas.storage.log import Log

log = Logger(__name__)

RunBlocking = Callable[[Callable[[], None], Callable[[OSError | None], None]], None]
"""`run_blocking(work, done)`: run `work` off the loop, then call `done` on it with the OSError, if any."""


def run_inline(work: Callable[[], None], done: Callable[[OSError | None], None]) -> None:
    """Run blocking work at once, for tests and tools."""
    try:
        work()
    except OSError as error:
        done(error)
    else:
        done(None)


class FlushScheduler:
    """Begins flushes, lets them run elsewhere and finishes them; one at a time for each log.

    Args:
        run_blocking: where syncs run.
    """

    __slots__ = ("_flushing", "_run_blocking")

    def __init__(self, run_blocking: RunBlocking) -> None:
        self._run_blocking = run_blocking
        self._flushing: set[TopicPartition] = set()

    def flush_due(self, logs: Mapping[TopicPartition, Log], now_ms: int) -> None:
        """Flush sealed segments, which bounds what a crash makes us check, and logs whose flush.ms is up."""
        for key, known in list(logs.items()):
            if known.is_idle or key in self._flushing or not known.directory.online:
                continue
            idle_ms = now_ms - known.durability.last_flushed_ms
            if known.recovery_point < known.log_end_offset and idle_ms >= known.config.flush_ms:
                self._flush(key, known, None)
            elif known.recovery_point < known.segments.active.base_offset:
                self._flush(key, known, known.segments.active.base_offset)

    def _flush(self, key: TopicPartition, flushed: Log, up_to_offset: int | None) -> None:
        try:
            work = flushed.begin_flush(up_to_offset)
        except ApiError as error:
            log.error("flushing %s: %s", key, error)
            return
        if work is not None:
            self._flushing.add(key)
            self._run_blocking(work.run, lambda error: self._flushed(key, flushed, work, error))

    def _flushed(self, key: TopicPartition, flushed: Log, work: FlushWork, error: OSError | None) -> None:
        self._flushing.discard(key)
        try:
            flushed.finish_flush(work, error)
        except ApiError as failure:
            log.error("flushing %s: %s", key, failure)
