"""Calls from other threads wake the loop, whatever the moment."""

import select
from collections import deque
from collections.abc import Callable

from barnabas.base.clock import SystemClock
from barnabas.net.reactor import Reactor
from barnabas.timing.timer_wheel import TimerWheel

Call = Callable[[], object]


class OvertakenCalls(deque[Call]):
    """Lets the loop run a turn, and so take the call, before the calling thread comes to wake it."""

    reactor: Reactor
    is_overtaking = True

    def append(self, call: Call) -> None:
        super().append(call)
        if self.is_overtaking:
            self.reactor.run_turn()


def test_a_call_taken_before_its_thread_wakes_the_loop_leaves_the_next_one_its_wake() -> None:
    reactor = Reactor(timers=TimerWheel(SystemClock().monotonic_ms()))
    calls = reactor._calls_from_threads = OvertakenCalls()
    calls.reactor = reactor
    seen: list[str] = []
    try:
        reactor.call_soon_threadsafe(lambda: seen.append("overtaken"))
        assert seen == ["overtaken"]
        calls.is_overtaking = False
        reactor.run_turn()  # for the wake that came late
        reactor.call_soon_threadsafe(lambda: seen.append("next"))
        assert select.select([reactor._epoll], [], [], 0)[0], "the loop would sleep through this call"
        reactor.run_turn()
        assert seen == ["overtaken", "next"]
        assert not select.select([reactor._epoll], [], [], 0)[0], "the loop would spin"
    finally:
        reactor.close()
