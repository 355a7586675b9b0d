"""The deadlines of one shard, kept in the broker's timer wheel.

A deadline runs an operation as a request would: what it wants to have appended is, and when that fails the
operation is tried again. All of a shard's deadlines end with it, so none can touch a state that is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from barnabas.base.clock import Clock
from barnabas.base.hints import Final
from barnabas.coordinator.runtime.outcome import Outcome
from barnabas.timing.timer_wheel import Timer, TimerWheel

Operation = Callable[[int], Outcome[None]]

RETRY_DELAY_MS: Final = 500
"""How long an operation waits that could not append; what Apache Kafka's waits."""


class _ShardTimer(Timer):
    __slots__ = ("_timers", "key", "operation")

    def __init__(self, deadline_ms: int, timers: ShardTimers, key: Hashable, operation: Operation) -> None:
        super().__init__(deadline_ms)
        self._timers = timers
        self.key = key
        self.operation = operation

    def fire(self) -> None:
        self._timers.fired(self)


class ShardTimers:
    """Deadlines by key (`outcome.Timers`).

    Args:
        run: runs the operation of a deadline that has come.
    """

    __slots__ = ("_clock", "_is_closed", "_run", "_timers", "_wheel")

    def __init__(
        self, *, clock: Clock, wheel: TimerWheel, run: Callable[[Hashable, Operation], None]
    ) -> None:
        self._clock = clock
        self._wheel = wheel
        self._run = run
        self._timers: dict[Hashable, _ShardTimer] = {}
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._timers)

    def schedule(self, key: Hashable, delay_ms: int, operation: Operation) -> None:
        """Run `operation(now_ms)` after a while; a timer with this key is replaced."""
        if self._is_closed:
            return
        before = self._timers.get(key)
        if before is not None:
            before.cancel()
        timer = _ShardTimer(self._clock.monotonic_ms() + delay_ms, self, key, operation)
        self._timers[key] = timer
        self._wheel.add_timer(timer)

    def cancel(self, key: Hashable) -> None:
        """Forget a timer; nothing happens when there is none."""
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()

    def is_scheduled(self, key: Hashable) -> bool:
        """Whether a timer with this key waits."""
        return key in self._timers

    def close(self) -> None:
        """Forget all, and whatever is scheduled from now on."""
        self._is_closed = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def fired(self, timer: _ShardTimer) -> None:
        """A deadline has come."""
        del self._timers[timer.key]
        self._run(timer.key, timer.operation)

    def retry(self, key: Hashable, operation: Operation) -> None:
        """Try an operation again that could not append, unless its key has a newer timer by now."""
        if key not in self._timers:
            self.schedule(key, RETRY_DELAY_MS, operation)
