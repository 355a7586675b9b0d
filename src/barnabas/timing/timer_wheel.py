"""A hierarchical timing wheel: millions of timers, each added and cancelled in constant time (F30).

The first wheel has 20 buckets of 1 ms; each further wheel has 20 buckets as wide as the whole wheel
below and is made when a deadline first needs it. Buckets are doubly linked rings through the timers
themselves, so cancelling unlinks two pointers and frees the timer at once. A bit mask per wheel tells
the occupied buckets and each bucket remembers its earliest deadline, so an idle owner sleeps until
exactly that deadline: nothing ticks, and a lone timer is woken for once and not once per wheel.

A heap would be shorter, but a cancelled fetch (nearly all are: data comes first) would stay in it,
with its connection's memory, until its deadline passed.
"""

from collections.abc import Callable
from dataclasses import dataclass

BUCKETS = 20
TICK_MS = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerWheelStatistics:
    """What a wheel holds and did.

    Attributes:
        waiting: timers that are neither fired nor cancelled.
        wheels: wheels made so far, the first included.
        fired: timers fired since the start.
    """

    waiting: int
    wheels: int
    fired: int


class Timer:
    """One deadline; subclass it to save an object per timer, or let `TimerWheel.add` make one."""

    __slots__ = ("_next", "_previous", "_wheel", "deadline_ms")

    def __init__(self, deadline_ms: int) -> None:
        self.deadline_ms = deadline_ms
        self._wheel: TimerWheel | None = None
        self._previous: Timer | None = None
        self._next: Timer | None = None

    def fire(self) -> None:
        """Do what the deadline is for. The timer is out of the wheel by then."""
        raise NotImplementedError

    @property
    def is_waiting(self) -> bool:
        """Whether the wheel holds it: neither fired nor cancelled."""
        return self._wheel is not None

    def cancel(self) -> bool:
        """Take it out of the wheel, in constant time; False when it was not waiting."""
        raise NotImplementedError


class TimerWheel:
    """Timers of one event loop. Times are milliseconds of one monotonic clock."""

    def __init__(self, now_ms: int) -> None: ...

    def add(self, deadline_ms: int, callback: Callable[[], None]) -> Timer:
        """Call `callback` from the first `advance` whose now is at or after `deadline_ms`."""
        raise NotImplementedError

    def add_timer(self, timer: Timer) -> None:
        """Let a timer of the caller's own make wait; it must not be waiting already."""
        raise NotImplementedError

    def advance(self, now_ms: int, fires_max: int | None = None) -> int:
        """Fire what is due, earliest deadline first, and return how many fired.

        Args:
            now_ms: going back is ignored.
            fires_max: leave the rest for the next call; `next_deadline_ms` then lies in the past.
        """
        raise NotImplementedError

    def next_deadline_ms(self) -> int | None:
        """Return when `advance` should be called next; None while nothing waits.

        Never late. Early only when the earliest timer of a bucket was cancelled: one call too many,
        which then tells the exact time.
        """
        raise NotImplementedError

    def statistics(self) -> TimerWheelStatistics:
        raise NotImplementedError
