"""A few helper threads for calls that wait for a disk's reads.

Apart from `Worker`, whose one thread syncs: a sync of a gigabyte takes seconds, and a consumer's read would
stand behind it. The threads touch no broker state: they run what they are given and hand the outcome back
through `deliver`, which puts a call on the loop. Each is made when work comes and no other is free, since
most starts never need one.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from barnabas.base.hints import TYPE_CHECKING
from barnabas.base.worker import Done, Work

if TYPE_CHECKING:
    import queue
    import threading


class WorkerPool:
    """Runs blocking work on up to `threads_max` threads; begun in the order given.

    Args:
        deliver: runs a call on the loop's thread, from any thread.
    """

    def __init__(
        self,
        deliver: Callable[[Callable[[], None]], None],
        *,
        threads_max: int,
        name: str = "barnabas-reader",
    ) -> None:
        assert threads_max >= 1, "a pool without threads"
        self._deliver = deliver
        self._threads_max = threads_max
        self._name = name
        self._queue: queue.SimpleQueue[tuple[Work, Done] | None]
        self._threads: list[threading.Thread] = []
        self._given = 0  # work whose outcome has not been delivered on the loop

    @property
    def threads(self) -> int:
        """Threads there are now."""
        return len(self._threads)

    def run(self, work: Work, done: Done) -> None:
        """Run `work` on a thread, then `done` on the loop with its OSError, or None."""
        if self._given >= len(self._threads) < self._threads_max:
            self._add_thread()
        self._given += 1
        self._queue.put((work, done))

    def close(self) -> None:
        """Drop what was not begun, wait for what was, and end the threads; nothing is delivered any more."""
        threads, self._threads = self._threads, []
        if not threads:
            return
        import queue  # noqa: PLC0415

        with suppress(queue.Empty):
            while True:
                self._queue.get_nowait()
        for _ in threads:
            self._queue.put(None)
        for thread in threads:
            thread.join()

    def _add_thread(self) -> None:
        import queue  # noqa: PLC0415 - 3 ms that a start does not need
        import threading  # noqa: PLC0415

        if not self._threads:
            self._queue = queue.SimpleQueue()
        name = f"{self._name}-{len(self._threads)}"
        thread = threading.Thread(target=self._run, args=(self._queue,), name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _run(self, given: "queue.SimpleQueue[tuple[Work, Done] | None]") -> None:
        while (item := given.get()) is not None:
            work, done = item
            error: OSError | None = None
            try:
                work()
            except OSError as raised:
                error = raised
            self._deliver(partial(self._finished, done, error))

    def _finished(self, done: Done, error: OSError | None) -> None:
        self._given -= 1
        done(error)
