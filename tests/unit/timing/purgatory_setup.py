"""The simplest of operations, a purgatory, and a loop whose turns a test takes."""

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from enum import Enum
from types import SimpleNamespace

from barnabas.timing.purgatory import DelayedOperation, Purgatory
from barnabas.timing.timer_wheel import TimerWheel


class Reason(Enum):
    CONDITION = "condition"
    ASKED = "asked"
    STOPPED = "stopped"


class Turns:
    """A loop's call_soon: what is called while a turn runs waits for the next one."""

    def __init__(self) -> None:
        self.soon: deque[Callable[[], None]] = deque()

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.soon.append(callback)

    def turn(self) -> bool:
        calls, self.soon = self.soon, deque()
        for call in calls:
            call()
        return bool(calls)

    def run(self) -> int:
        turns = 0
        while self.turn():
            turns += 1
            assert turns < 100_000, "the loop never comes to rest"
        return turns


class Wait(DelayedOperation):
    __slots__ = ("before_try", "ended", "ready", "tries")

    def __init__(self, deadline_ms: int = 1_000) -> None:
        super().__init__(deadline_ms)
        self.ready = False
        self.tries = 0
        self.ended: list[object] = []
        self.before_try: Callable[[Wait], None] | None = None

    def try_complete(self) -> bool:
        self.tries += 1
        if self.before_try is not None:
            self.before_try(self)
        return self.ready and self.complete(Reason.CONDITION)

    def on_complete(self, reason: Enum | None) -> None:
        self.ended.append(reason)

    def on_cancel(self) -> None:
        self.ended.append("cancelled")


class Setup:
    def __init__(self, tries_max: int = 64) -> None:
        self.turns = Turns()
        self.wheel = TimerWheel(0)
        self.held: list[list[Hashable]] = []  # those that are held back, by turn

        def hold_back(owners: Sequence[Hashable]) -> None:
            self.held.append(list(owners))

        self.purgatory = Purgatory(
            "Fetch",
            self.wheel,
            self.turns.call_soon,
            tries_max=tries_max,
            held=SimpleNamespace(hold_back=hold_back, let_go=self.held.clear),
        )

    def park(self, *keys: str, owner: str | None = None, deadline_ms: int = 1_000) -> Wait:
        wait = Wait(deadline_ms)
        assert not self.purgatory.try_complete_else_watch(wait, keys, owner)
        return wait

    def assert_empty(self) -> None:
        statistics = self.purgatory.statistics()
        assert statistics.num_delayed_operations == 0
        assert statistics.purgatory_size == 0
        assert statistics.watched_keys == 0
        assert len(self.wheel) == 0
        assert not self.purgatory._owned
