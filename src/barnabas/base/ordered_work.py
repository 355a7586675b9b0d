"""Work done by several threads whose outcomes are taken in order, a bounded number of them ahead.

For a start that follows a crash: segments are read and checked side by side, and what comes of it is taken
in as if one thread had done all. The threads end with the work. Whoever needs it imports it then: threads
cost a start more than it has to give.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")

_WAIT_S = 0.25
"""How often whoever waits is called back."""


class OrderedWork(Generic[T]):
    """Calls that run on threads.

    Args:
        calls: touch nothing that anybody else touches meanwhile.
        threads: at least one.
        ahead_max: outcomes that may wait to be taken.
    """

    def __init__(self, calls: Sequence[Callable[[], T]], *, threads: int, ahead_max: int) -> None:
        self._calls = calls
        self._ahead_max = max(ahead_max, threads)
        self._changed = threading.Condition()
        self._begun = 0  # calls that some thread has taken
        self._wanted = 0  # number of the first outcome that may still be asked for
        self._outcomes: dict[int, tuple[T | None, BaseException | None]] = {}
        self._closed = False
        self._threads = [
            threading.Thread(target=self._run, name=f"barnabas-recovery-{number}", daemon=True)
            for number in range(min(threads, len(calls)))
        ]
        for thread in self._threads:
            thread.start()

    def take(self, number: int, while_waiting: Callable[[], None]) -> T:
        """Return the outcome of one call, or raise what it raised; lower ones are forgotten.

        Args:
            while_waiting: called a few times a second.
        """
        with self._changed:
            for passed in range(self._wanted, number):
                self._outcomes.pop(passed, None)
            self._wanted = max(self._wanted, number)
            self._changed.notify_all()
            while number not in self._outcomes:
                self._changed.wait(_WAIT_S)
                while_waiting()
            value, error = self._outcomes.pop(number)
            self._wanted = number + 1
            self._changed.notify_all()
        if error is not None:
            raise error
        return value  # type: ignore[return-value]

    def close(self) -> None:
        """Begin nothing more and wait for what was begun."""
        with self._changed:
            self._closed = True
            self._outcomes.clear()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while (number := self._next()) is not None:
            value: T | None = None
            error: BaseException | None = None
            try:
                value = self._calls[number]()
            except Exception as raised:  # raised again where the outcome is taken
                error = raised
            with self._changed:
                if number >= self._wanted:
                    self._outcomes[number] = value, error
                self._changed.notify_all()

    def _next(self) -> int | None:
        with self._changed:
            while True:
                self._begun = max(self._begun, self._wanted)
                if self._closed or self._begun >= len(self._calls):
                    return None
                if self._begun < self._wanted + self._ahead_max:
                    self._begun += 1
                    return self._begun - 1
                self._changed.wait()
