"""The broker's threads beside its loop, each kind for calls that would block it in another way.

One worker for writes and syncs that nobody waits for: checkpoints, sealed segments. Readers for what is not
in memory (F44). Flushers for syncs that producers wait for (flush.messages), which must not queue behind a
gigabyte of a sealed segment or behind a consumer's read. A housekeeper that unlinks files, which takes as
long as they are large. All are made when work first comes: most starts need none.
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.base.worker import Done, Work, Worker
from barnabas.base.worker_pool import WorkerPool


class HelperThreads:
    """Threads that a broker's parts give work to.

    Args:
        deliver: runs a call on the loop's thread, from any thread.
        read_threads: 0 for none; reads run where other work does then.
        flush_threads: syncs that run at once.
    """

    __slots__ = ("_flushers", "_housekeeper", "_readers", "_worker")

    def __init__(
        self, deliver: Callable[[Callable[[], None]], None], *, read_threads: int, flush_threads: int
    ) -> None:
        self._worker = Worker(deliver)
        self._readers = WorkerPool(deliver, threads_max=read_threads) if read_threads else None
        self._flushers = WorkerPool(deliver, threads_max=flush_threads, name="barnabas-flusher")
        self._housekeeper = WorkerPool(deliver, threads_max=1, name="barnabas-housekeeper")

    @property
    def run(self) -> Callable[[Work, Done], None]:
        """Runs work in the order given, then its `done` on the loop with the OSError, or None."""
        return self._worker.run

    @property
    def run_reads(self) -> Callable[[Work, Done], None]:
        """Runs reads."""
        return self._worker.run if self._readers is None else self._readers.run

    @property
    def run_syncs(self) -> Callable[[Work, Done], None]:
        """Runs syncs that somebody waits for."""
        return self._flushers.run

    @property
    def run_housekeeping(self) -> Callable[[Work, Done], None]:
        """Runs what takes long and may: unlinking segments, looking how old they are."""
        return self._housekeeper.run

    def close(self) -> None:
        """End all threads; reads and syncs that were not begun are dropped, nothing is delivered any more."""
        self._worker.close()
        if self._readers is not None:
            self._readers.close()
        self._flushers.close()
        self._housekeeper.close()
