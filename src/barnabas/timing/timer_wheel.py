"""A hierarchical timing wheel: any number of timers, each added and cancelled in constant time (F30).

The first wheel has 20 buckets of 1 ms; each further wheel has 20 buckets as wide as the whole wheel
below and is made when a deadline first needs it. Buckets are doubly linked rings through the timers
themselves, so cancelling unlinks two pointers and frees the timer at once. A bit mask per wheel tells
the occupied buckets and each bucket remembers its earliest deadline, so an idle owner sleeps until
exactly that deadline: nothing ticks, and a lone timer is woken for once and not once per wheel.

A heap would be shorter, but a cancelled fetch (nearly all are: data comes first) would stay in it,
with its connection's memory, until its deadline passed.
"""

from collections.abc import Callable

from barnabas.base.dataclass import dataclass
from barnabas.base.hints import Final

BUCKETS: Final = 20
TICK_MS: Final = 1


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

    __slots__ = ("_bucket", "_next", "_previous", "deadline_ms")

    # Links are unset while the timer waits nowhere: an unset slot costs nothing to make and
    # touching it is an error, not a None that travels on.
    _bucket: "_Bucket | None"
    _next: "Timer"
    _previous: "Timer"

    def __init__(self, deadline_ms: int) -> None:
        self.deadline_ms = deadline_ms
        self._bucket = None

    def fire(self) -> None:
        """Do what the deadline is for. The timer is out of the wheel by then."""
        raise NotImplementedError

    @property
    def is_waiting(self) -> bool:
        """Whether a wheel holds it: neither fired nor cancelled."""
        return self._bucket is not None

    def cancel(self) -> bool:
        """Take it out of its wheel, in constant time; False when it was not waiting."""
        bucket = self._bucket
        if bucket is None:
            return False
        bucket.unlink(self)
        bucket.wheel._waiting -= 1
        return True


class _CallbackTimer(Timer):
    __slots__ = ("_callback",)

    def __init__(self, deadline_ms: int, callback: Callable[[], None]) -> None:
        super().__init__(deadline_ms)
        self._callback = callback

    def fire(self) -> None:
        self._callback()


class _Bucket(Timer):
    """A ring of timers around a head that is no timer. `earliest_ms` never lies after a member's deadline.

    It may lie before all of them once the earliest was cancelled: finding the next would cost a walk.
    """

    __slots__ = ("earliest_ms", "level", "slot_bit", "wheel")

    def __init__(self, wheel: "TimerWheel", level: "_Level | None", slot: int) -> None:
        self.wheel = wheel
        self.level = level
        self.slot_bit = 1 << slot
        self.earliest_ms = 0
        self._bucket = None
        self._next = self
        self._previous = self

    @property
    def is_empty(self) -> bool:
        return self._next is self

    def link(self, timer: Timer) -> None:
        last = self._previous
        if last is self:
            self.earliest_ms = timer.deadline_ms
            self.wheel._next_is_known = False
            if self.level is not None:
                self.level.occupied |= self.slot_bit
        elif timer.deadline_ms < self.earliest_ms:
            self.earliest_ms = timer.deadline_ms
            self.wheel._next_is_known = False
        timer._bucket = self
        timer._previous = last
        timer._next = self
        last._next = timer
        self._previous = timer

    def unlink(self, timer: Timer) -> None:
        previous, following = timer._previous, timer._next
        previous._next = following
        following._previous = previous
        timer._bucket = None
        # Links to neighbours would keep those alive for as long as somebody holds this one.
        timer._previous = timer._next = self
        if self._next is self:
            self.wheel._next_is_known = False
            if self.level is not None:
                self.level.occupied &= ~self.slot_bit

    def take_all(self) -> list[Timer]:
        taken = []
        while self._next is not self:
            timer = self._next
            self.unlink(timer)
            taken.append(timer)
        return taken


class _Level:
    """One wheel: bucket `tick % BUCKETS` holds deadlines whose tick, counted in `tick_ms`, is that one."""

    __slots__ = ("buckets", "occupied", "tick", "tick_ms")

    def __init__(self, wheel: "TimerWheel", tick_ms: int, now_ms: int) -> None:
        self.tick_ms = tick_ms
        self.tick = now_ms // tick_ms
        self.occupied = 0
        self.buckets = [_Bucket(wheel, self, slot) for slot in range(BUCKETS)]

    def first_occupied(self) -> _Bucket | None:
        """The occupied bucket whose time comes first, counted from the current tick round the wheel."""
        if not self.occupied:
            return None
        shift = self.tick % BUCKETS
        rotated = (self.occupied >> shift) | (self.occupied << (BUCKETS - shift))
        slot = (shift + (rotated & -rotated).bit_length() - 1) % BUCKETS
        return self.buckets[slot]

    def passed(self, tick: int) -> list[Timer]:
        """Move on to `tick` and take out every timer of the buckets between, the new one included."""
        taken: list[Timer] = []
        if self.occupied:
            for passed_tick in range(max(self.tick + 1, tick - BUCKETS + 1), tick + 1):
                bucket = self.buckets[passed_tick % BUCKETS]
                if not bucket.is_empty:
                    taken += bucket.take_all()
        self.tick = tick
        return taken


def _deadline(timer: Timer) -> int:
    return timer.deadline_ms


class TimerWheel:
    """Timers of one event loop. Times are milliseconds of one monotonic clock.

    Args:
        now_ms: where that clock stands.
    """

    __slots__ = ("_due", "_fired", "_levels", "_next_is_known", "_next_ms", "_now_ms", "_waiting")

    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms
        self._next_ms: int | None = None
        self._next_is_known = False
        self._levels = [_Level(self, TICK_MS, now_ms)]
        self._due = _Bucket(self, None, 0)
        self._waiting = 0
        self._fired = 0

    def __len__(self) -> int:
        return self._waiting

    def add(self, deadline_ms: int, callback: Callable[[], None]) -> Timer:
        """Call `callback` from the first `advance` whose now is at or after `deadline_ms`.

        One that has passed already is called by the next `advance`, never from here.
        """
        timer = _CallbackTimer(deadline_ms, callback)
        self.add_timer(timer)
        return timer

    def add_timer(self, timer: Timer) -> None:
        """Let a timer of the caller's own make wait; it must not be waiting already."""
        assert timer._bucket is None, "this timer is waiting already"
        self._waiting += 1
        self._place(timer)

    def advance(self, now_ms: int, fires_max: int | None = None) -> int:
        """Fire what is due and return how many fired.

        Earliest deadline first, in the order added among equals. Timers that a callback adds wait for the
        next call even when already due, so that a callback which re-arms itself cannot hold the loop.

        Args:
            now_ms: going back is ignored.
            fires_max: leave the rest for the next call; `next_deadline_ms` then lies in the past.

        Raises:
            whatever a callback raises; the timers behind it stay due.
        """
        if now_ms > self._now_ms:
            self._collect(now_ms)
        budget = self._waiting if fires_max is None else fires_max
        due = self._due
        last = due._previous
        fired = 0
        while fired < budget and not due.is_empty:
            timer = due._next
            is_last = timer is last
            due.unlink(timer)
            self._waiting -= 1
            self._fired += 1
            fired += 1
            timer.fire()
            if is_last:
                break
        return fired

    def next_deadline_ms(self) -> int | None:
        """Return when `advance` should be called next; None while nothing waits.

        Never late. Early only when the earliest timer of a bucket was cancelled: one call too many,
        which then tells a later time.
        """
        if not self._next_is_known:
            # The loop asks twice a turn, and most turns move no timer.
            self._next_ms = self._find_next_ms()
            self._next_is_known = True
        return self._next_ms

    def _find_next_ms(self) -> int | None:
        if not self._due.is_empty:
            return min(self._due.earliest_ms, self._now_ms)
        earliest = None
        for level in self._levels:
            bucket = level.first_occupied()
            if bucket is not None and (earliest is None or bucket.earliest_ms < earliest):
                earliest = bucket.earliest_ms
        return earliest

    def statistics(self) -> TimerWheelStatistics:
        return TimerWheelStatistics(waiting=self._waiting, wheels=len(self._levels), fired=self._fired)

    def _place(self, timer: Timer) -> None:
        deadline_ms = timer.deadline_ms
        if deadline_ms <= self._now_ms:
            self._due.link(timer)
            return
        for level in self._levels:
            tick = deadline_ms // level.tick_ms
            if tick < level.tick + BUCKETS:
                level.buckets[tick % BUCKETS].link(timer)
                return
        level = self._levels[-1]
        while deadline_ms // level.tick_ms >= level.tick + BUCKETS:
            level = _Level(self, level.tick_ms * BUCKETS, self._now_ms)
            self._levels.append(level)
        level.buckets[deadline_ms // level.tick_ms % BUCKETS].link(timer)

    def _collect(self, now_ms: int) -> None:
        """Move to `now_ms`: what is due goes into the due ring by deadline, the rest one wheel down."""
        self._now_ms = now_ms
        self._next_is_known = False
        taken: list[Timer] = []
        for level in self._levels:
            tick = now_ms // level.tick_ms
            if tick == level.tick:
                break  # wider wheels cannot have moved either
            taken += level.passed(tick)
        taken.sort(key=_deadline)
        for timer in taken:
            self._place(timer)
