"""Writers of one small file on two threads: one at a time, and never an older content over a newer one.

The loop takes a number for each content, in the order in which they came about. A helper thread that comes
late with an older one writes nothing; the loop, when it cannot wait for the helper's turn, writes itself and
waits at most for the write under way. A queue alone was rejected: it orders the writers, but what must be on
the disk before the loop goes on would stand behind whatever else the thread does.
"""

from __future__ import annotations

from _thread import allocate_lock  # threading.Lock is the same and its import costs 2 ms
from collections.abc import Callable


class FileTurns:
    """The turns of one file."""

    __slots__ = ("_lock", "_number", "_written")

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._number = 0
        self._written = 0

    def take_number(self) -> int:
        """Return the number of the newest content. For the loop's thread."""
        self._number += 1
        return self._number

    def write(self, number: int, write: Callable[[], None]) -> None:
        """Call `write` unless a newer content is there; from any thread.

        Raises:
            OSError: what `write` raises; the content counts as not written.
        """
        with self._lock:
            if number > self._written:
                write()
                self._written = number
