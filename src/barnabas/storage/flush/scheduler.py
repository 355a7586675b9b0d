"""When logs are flushed without anybody waiting for it: after a roll, and when flush.ms is up.

What appends wait for goes another way (`group_commit.py`) and over threads of its own, so that it is not
queued behind a gigabyte of a sealed segment; both may sync one log at a time.
"""

from collections.abc import Mapping

from barnabas.base.durations import DurationHistogram
from barnabas.base.errors import ApiError
from barnabas.base.logger import Logger
from barnabas.base.worker import RunBlocking
from barnabas.storage.flush.work import FlushWork
from barnabas.storage.log import Log
from barnabas.storage.topic_partition import TopicPartition

log = Logger(__name__)


class FlushScheduler:
    """Begins flushes, lets them run elsewhere and finishes them; one at a time for each log.

    Args:
        run_blocking: where syncs run.
        times: how long they take.
    """

    __slots__ = ("_flushing", "_run_blocking", "_times")

    def __init__(self, run_blocking: RunBlocking, times: DurationHistogram) -> None:
        self._run_blocking = run_blocking
        self._times = times
        self._flushing: dict[TopicPartition, FlushWork] = {}

    def flush_due(self, logs: Mapping[TopicPartition, Log], now_ms: int) -> None:
        """Flush sealed segments, which bounds what a crash makes us check, and logs whose flush.ms is up."""
        for key, known in list(logs.items()):
            if known.is_idle or key in self._flushing or not known.directory.online:
                continue
            if known.durability.held is not None:
                continue  # it is being synced
            idle_ms = now_ms - known.durability.last_flushed_ms
            if known.recovery_point < known.log_end_offset and idle_ms >= known.config.flush_ms:
                self._flush(key, known, None)
            elif known.recovery_point < known.segments.active.base_offset:
                self._flush(key, known, known.segments.active.base_offset)

    def _flush(self, key: TopicPartition, flushed: Log, up_to_offset: int | None) -> None:
        try:
            work = flushed.begin_flush(up_to_offset)
        except ApiError as error:
            log.debug("flushing %s: %s", key, error)
            return
        if work is not None:
            self._flushing[key] = work
            self._run_blocking(work.run, lambda error: self._flushed(key, flushed, work, error))

    def _flushed(self, key: TopicPartition, flushed: Log, work: FlushWork, error: OSError | None) -> None:
        if self._flushing.pop(key, None) is None:
            return  # `abandon` was quicker
        if error is None:
            self._times.add(work.took_us)
        try:
            flushed.finish_flush(work, error)
        except ApiError as failure:
            log.debug("flushing %s: %s", key, failure)

    def abandon(self) -> None:
        """Let go of the files of syncs that will not come back: the thread that ran them has ended."""
        for work in self._flushing.values():
            work.release()
        self._flushing.clear()
