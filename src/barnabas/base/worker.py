"""One helper thread for calls that would block the loop: fdatasync of a large segment, say.

The thread touches no broker state: it runs what it is given and hands the outcome back through `deliver`,
which puts a call on the loop. It is made when the first work comes, since most starts never need it.
A pool was rejected for now: syncs of one disk queue up in the kernel anyway.
"""

from collections.abc import Callable
from functools import partial

from barnabas.base.hints import TYPE_CHECKING

if TYPE_CHECKING:
    import queue
    import threading

Work = Callable[[], None]
Done = Callable[[OSError | None], None]
RunBlocking = Callable[[Work, Done], None]
"""`run_blocking(work, done)`: run `work` off the loop, then call `done` on it with the OSError, if any."""


def run_inline(work: Work, done: Done) -> None:
    """Run blocking work at once, for tests and tools."""
    try:
        work()
    except OSError as error:
        done(error)
    else:
        done(None)


class Worker:
    """Runs blocking work in the order given.

    Args:
        deliver: runs a call on the loop's thread, from any thread.
    """

    def __init__(self, deliver: Callable[[Callable[[], None]], None]) -> None:
        self._deliver = deliver
        self._queue: queue.SimpleQueue[tuple[Work, Done] | None]
        self._thread: threading.Thread | None = None

    def run(self, work: Work, done: Done) -> None:
        """Run `work` on the thread, then `done` on the loop with its OSError, or None."""
        if self._thread is None:
            import queue  # noqa: PLC0415 - 3 ms that a start does not need
            import threading  # noqa: PLC0415

            self._queue = queue.SimpleQueue()
            self._thread = threading.Thread(target=self._run, name="barnabas-worker", daemon=True)
            self._thread.start()
        self._queue.put((work, done))

    def close(self) -> None:
        """Finish what was given and end the thread."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            work, done = item
            error: OSError | None = None
            try:
                work()
            except OSError as raised:
                error = raised
            self._deliver(partial(done, error))
