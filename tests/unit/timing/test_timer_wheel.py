"""The timing wheel (F30): exact deadlines, constant-time cancelling, no ticking."""

import gc
import random
import weakref

import pytest

from barnabas.timing.timer_wheel import BUCKETS, Timer, TimerWheel


@pytest.mark.parametrize(
    "deadline_ms", [1, 19, 20, 21, 399, 400, 401, 500, 7_999, 8_000, 160_000, 86_400_000]
)
def test_f30_fires_at_the_deadline_and_not_a_millisecond_earlier(deadline_ms: int) -> None:
    wheel = TimerWheel(0)
    fired: list[int] = []
    wheel.add(deadline_ms, lambda: fired.append(1))
    assert wheel.advance(deadline_ms - 1) == 0
    assert fired == []
    assert wheel.advance(deadline_ms) == 1
    assert fired == [1]


def test_f30_overflow_wheels_are_made_on_demand_twenty_times_as_wide_each() -> None:
    wheel = TimerWheel(0)
    wheel.add(BUCKETS - 1, lambda: None)
    assert wheel.statistics().wheels == 1
    wheel.add(BUCKETS, lambda: None)
    assert wheel.statistics().wheels == 2
    wheel.add(BUCKETS**2 - 1, lambda: None)
    assert wheel.statistics().wheels == 2
    wheel.add(BUCKETS**2, lambda: None)
    assert wheel.statistics().wheels == 3
    wheel.add(BUCKETS**5, lambda: None)
    assert wheel.statistics().wheels == 6


def test_an_idle_wheel_has_no_next_deadline_and_a_lone_timer_is_woken_for_once() -> None:
    wheel = TimerWheel(1_000)
    assert wheel.next_deadline_ms() is None
    fired: list[int] = []
    wheel.add(124_456, lambda: fired.append(1))
    wakes = 0
    while (deadline := wheel.next_deadline_ms()) is not None:
        wheel.advance(deadline)
        wakes += 1
    assert fired == [1]
    assert wakes == 1, "every wake is CPU that an idle broker should not spend"


def test_a_deadline_in_the_past_fires_on_the_next_advance_and_never_inside_add() -> None:
    wheel = TimerWheel(50)
    fired: list[str] = []
    wheel.add(10, lambda: fired.append("past"))
    wheel.add(50, lambda: fired.append("now"))
    assert fired == []
    assert wheel.next_deadline_ms() is not None
    assert wheel.next_deadline_ms() <= 50  # type: ignore[operator]
    wheel.advance(50)
    assert fired == ["past", "now"]


def test_cancelled_timers_never_fire_and_are_freed_at_once() -> None:
    class Callback:
        def __call__(self) -> None:
            pytest.fail("fired though cancelled")

    wheel = TimerWheel(0)
    callbacks = [Callback() for _ in range(100)]
    references = [weakref.ref(callback) for callback in callbacks]
    timers = [wheel.add(500, callback) for callback in callbacks]
    keep = wheel.add(500, lambda: None)
    callbacks.clear()
    for timer in timers:
        assert timer.cancel()
        assert not timer.cancel()
    gc.disable()  # not even a cycle may keep a connection's memory
    try:
        timers.clear()
        del timer
        assert [reference() for reference in references] == [None] * 100
    finally:
        gc.enable()
    assert len(wheel) == 1
    assert keep.is_waiting
    assert wheel.advance(500) == 1
    assert not keep.is_waiting
    assert not keep.cancel()


def test_timers_fire_earliest_first_even_when_the_clock_jumps_over_many() -> None:
    wheel = TimerWheel(0)
    fired: list[int] = []
    deadlines = [900, 3, 77, 20, 19, 400, 5_000, 21, 1]
    for deadline in deadlines:
        wheel.add(deadline, lambda deadline=deadline: fired.append(deadline))  # type: ignore[misc]
    wheel.advance(1_000_000)
    assert fired == sorted(deadlines)


def test_fires_can_be_capped_per_turn_and_the_rest_stays_due_and_cancellable() -> None:
    wheel = TimerWheel(0)
    fired: list[int] = []
    timers = [wheel.add(5, lambda n=n: fired.append(n)) for n in range(10)]  # type: ignore[misc]
    assert wheel.advance(6, fires_max=4) == 4
    assert fired == [0, 1, 2, 3]
    assert wheel.next_deadline_ms() == 5
    assert timers[4].cancel()
    assert wheel.advance(6, fires_max=4) == 4
    assert wheel.advance(6, fires_max=4) == 1
    assert fired == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    assert wheel.next_deadline_ms() is None


def test_a_callback_that_rearms_itself_does_not_hold_the_loop() -> None:
    wheel = TimerWheel(0)
    calls: list[int] = []

    def again() -> None:
        calls.append(1)
        wheel.add(0, again)

    wheel.add(1, again)
    assert wheel.advance(1) == 1
    assert wheel.advance(1) == 1
    assert len(calls) == 2


def test_a_callback_may_cancel_a_timer_due_in_the_same_turn() -> None:
    wheel = TimerWheel(0)
    fired: list[str] = []
    later: list[Timer] = []
    wheel.add(5, lambda: (fired.append("first"), later[0].cancel()))  # type: ignore[arg-type,return-value]
    later.append(wheel.add(6, lambda: fired.append("second")))
    assert wheel.advance(10) == 1
    assert fired == ["first"]
    assert len(wheel) == 0


def test_a_callback_that_raises_leaves_the_others_due() -> None:
    wheel = TimerWheel(0)
    fired: list[str] = []

    def broken() -> None:
        raise RuntimeError("broken")

    wheel.add(1, broken)
    wheel.add(2, lambda: fired.append("second"))
    with pytest.raises(RuntimeError, match="broken"):
        wheel.advance(2)
    assert wheel.advance(2) == 1
    assert fired == ["second"]


def test_time_that_goes_back_is_ignored() -> None:
    wheel = TimerWheel(100)
    fired: list[int] = []
    wheel.add(150, lambda: fired.append(1))
    wheel.advance(120)
    wheel.advance(90)
    assert wheel.next_deadline_ms() == 150
    wheel.advance(150)
    assert fired == [1]


def test_next_deadline_is_early_at_most_once_after_a_cancel() -> None:
    wheel = TimerWheel(0)
    first = wheel.add(410, lambda: pytest.fail("cancelled"))
    wheel.add(790, lambda: None)
    first.cancel()
    wheel.advance(wheel.next_deadline_ms() or 0)
    assert wheel.next_deadline_ms() == 790


@pytest.mark.parametrize("seed", range(30))
def test_against_a_plain_list_of_deadlines(seed: int) -> None:
    rng = random.Random(seed)
    now = rng.randrange(10**12)
    wheel = TimerWheel(now)
    waiting: dict[int, int] = {}
    timers: dict[int, Timer] = {}
    fired: list[int] = []
    for number in range(600):
        action = rng.random()
        if action < 0.55:
            deadline = now + rng.choice(
                (0, 1, 5, 19, 20, 21, 500, rng.randrange(1, 30_000), rng.randrange(10**7))
            )
            waiting[number] = deadline
            timers[number] = wheel.add(deadline, lambda number=number: fired.append(number))  # type: ignore[misc]
        elif action < 0.7 and timers:
            victim = rng.choice(list(timers))
            assert timers[victim].cancel() == (victim in waiting), f"seed {seed}"
            waiting.pop(victim, None)
        else:
            now += rng.choice((0, 1, 2, 20, 333, 8_000, 200_000))
            fired.clear()
            told = wheel.next_deadline_ms()
            if waiting:
                assert told is not None
                assert told <= max(now, min(waiting.values())), f"seed {seed}: next deadline is late"
            wheel.advance(now)
            due = sorted(n for n, deadline in waiting.items() if deadline <= now)
            assert sorted(fired) == due, f"seed {seed}"
            for n in due:
                del waiting[n]
        assert len(wheel) == len(waiting), f"seed {seed}"
