"""The purgatory (F24-F32) with the simplest of operations."""

import random
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from enum import Enum
from types import SimpleNamespace

import pytest

from barnabas.timing.purgatory import FIRST_TRIES_MAX, DelayedOperation, Purgatory
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


def test_f25_a_condition_that_holds_already_completes_without_waiting() -> None:
    setup = Setup()
    wait = Wait()
    wait.ready = True
    assert setup.purgatory.try_complete_else_watch(wait, ["a"], "connection")
    assert wait.ended == [Reason.CONDITION]
    setup.assert_empty()


def test_f25_no_wakeup_is_lost_between_the_first_try_and_the_watching() -> None:
    setup = Setup()
    wait = Wait()

    def change_after_first_try(operation: Wait) -> None:
        # The append lands after the condition was looked at and before anybody watches.
        if operation.tries == 1:
            setup.purgatory.check_later("a")
        else:
            operation.ready = True

    wait.before_try = change_after_first_try
    assert setup.purgatory.try_complete_else_watch(wait, ["a"])
    assert wait.ended == [Reason.CONDITION]
    setup.assert_empty()


def test_f25_every_key_wakes_and_completion_leaves_all_of_them() -> None:
    for woken in ("a", "b", "c"):
        setup = Setup()
        wait = setup.park("a", "b", "c")
        other = setup.park("b")
        assert setup.purgatory.statistics().purgatory_size == 4
        wait.ready = True
        assert setup.purgatory.check(woken) == 1
        assert wait.ended == [Reason.CONDITION]
        assert setup.purgatory.statistics().purgatory_size == 1
        assert setup.purgatory.statistics().watched_keys == 1
        other.cancel()
        setup.assert_empty()


def test_f28_completion_expiry_and_cancellation_exclude_each_other() -> None:
    endings: list[Callable[[Setup, Wait], object]] = [
        lambda setup, wait: wait.complete(Reason.ASKED),
        lambda setup, wait: wait.cancel(),
        lambda setup, wait: setup.wheel.advance(5_000),
        lambda setup, wait: setup.purgatory.cancel_owner("connection"),
        lambda setup, wait: setup.purgatory.complete_owner("connection", Reason.ASKED),
        lambda setup, wait: setup.purgatory.shutdown(Reason.STOPPED),
    ]
    for first in endings:
        for second in endings:
            setup = Setup()
            wait = setup.park("a", owner="connection")
            first(setup, wait)
            assert len(wait.ended) == 1
            second(setup, wait)
            wait.ready = True
            wait.fire()
            assert len(wait.ended) == 1
            setup.assert_empty()


def test_f30_expiry_answers_with_no_reason_and_counts() -> None:
    setup = Setup()
    wait = setup.park("a", deadline_ms=500)
    setup.wheel.advance(499)
    assert wait.ended == []
    setup.wheel.advance(500)
    assert wait.ended == [None]
    assert setup.purgatory.statistics().expired == 1
    setup.assert_empty()


def test_f31_an_owner_that_leaves_takes_only_its_own_operations() -> None:
    setup = Setup()
    mine = [setup.park("a", "b", owner="gone") for _ in range(3)]
    other = setup.park("a", owner="stays")
    assert setup.purgatory.cancel_owner("gone") == 3
    assert setup.purgatory.cancel_owner("gone") == 0
    assert [wait.ended for wait in mine] == [["cancelled"]] * 3
    assert setup.purgatory.statistics().num_delayed_operations == 1
    assert setup.purgatory.statistics().purgatory_size == 1
    assert setup.purgatory.statistics().cancelled == 3
    assert len(setup.wheel) == 1
    assert other.ended == []


def test_f31_leaving_among_ten_thousand_is_constant_work() -> None:
    setup = Setup()
    for number in range(10_000):
        setup.park("a", owner=f"connection {number}")
    # Lists would walk 5,000 entries each time: 10,000 departures would take seconds, not milliseconds.
    for number in reversed(range(10_000)):
        assert setup.purgatory.cancel_owner(f"connection {number}") == 1
    setup.assert_empty()


def test_f32_gauges_are_exact_with_equal_keys_given_twice() -> None:
    setup = Setup()
    wait = setup.park("a", "a", "b")
    statistics = setup.purgatory.statistics()
    assert (statistics.num_delayed_operations, statistics.purgatory_size) == (1, 2)
    wait.complete(Reason.ASKED)
    setup.assert_empty()


def test_f33_an_owner_can_be_answered_at_once() -> None:
    setup = Setup()
    wait = setup.park("a", owner="connection")
    assert setup.purgatory.complete_owner("connection", Reason.ASKED) == 1
    assert setup.purgatory.complete_owner("connection", Reason.ASKED) == 0
    assert wait.ended == [Reason.ASKED]
    setup.assert_empty()


def test_many_changes_in_one_turn_cost_one_try() -> None:
    setup = Setup()
    wait = setup.park("a", "b")
    tries = wait.tries
    for _ in range(10):
        setup.purgatory.check_later("a")
    setup.purgatory.check_later("nobody watches this")
    assert len(setup.turns.soon) == 1
    setup.turns.run()
    assert wait.tries == tries + 1


def test_wakes_are_capped_per_turn_and_all_wake_in_order_of_arrival() -> None:
    setup = Setup(tries_max=10)
    order: list[int] = []

    class Ordered(Wait):
        __slots__ = ("number",)

        def on_complete(self, reason: Enum | None) -> None:
            order.append(self.number)  # type: ignore[has-type]

    waits = []
    for number in range(95):
        wait = Ordered()
        wait.number = number
        setup.purgatory.try_complete_else_watch(wait, ["a"])
        wait.ready = True
        waits.append(wait)
    setup.purgatory.check_later("a")
    woken_before = 0
    while setup.turns.turn():
        assert len(order) - woken_before <= 10
        woken_before = len(order)
    assert order == list(range(95))
    setup.assert_empty()


def test_the_first_of_a_crowd_is_answered_in_a_turn_of_its_own() -> None:
    setup = Setup(tries_max=10)
    few = [setup.park("few") for _ in range(10)]
    crowd = [setup.park("crowd") for _ in range(25)]
    for wait in (*few, *crowd):
        wait.ready = True
    setup.purgatory.check_later("few")
    setup.turns.turn()
    assert sum(len(wait.ended) for wait in few) == 10
    setup.purgatory.check_later("crowd")
    woken = []
    while setup.turns.turn():
        woken.append(sum(len(wait.ended) for wait in crowd) - sum(woken))
    assert woken == [FIRST_TRIES_MAX, 10, 10, 4]
    setup.assert_empty()


def test_the_cap_is_shared_by_all_keys_of_a_turn() -> None:
    setup = Setup(tries_max=10)
    waits = [setup.park(f"key {number}") for number in range(35)]
    for number, wait in enumerate(waits):
        wait.ready = True
        setup.purgatory.check_later(f"key {number}")
    assert setup.purgatory.statistics().keys_to_check == 35
    setup.turns.turn()
    assert sum(len(wait.ended) for wait in waits) == 10
    setup.turns.run()
    assert all(wait.ended == [Reason.CONDITION] for wait in waits)
    assert setup.purgatory.statistics().keys_to_check == 0


def test_check_now_is_capped_too_and_goes_on_later() -> None:
    setup = Setup(tries_max=10)
    waits = [setup.park("a") for _ in range(25)]
    for wait in waits:
        wait.ready = True
    assert setup.purgatory.check("a") == 10
    setup.turns.run()
    assert all(wait.ended == [Reason.CONDITION] for wait in waits)


def test_no_wakeup_is_lost_when_a_change_comes_amid_a_capped_pass() -> None:
    setup = Setup(tries_max=10)
    waits = [setup.park("a") for _ in range(30)]
    setup.purgatory.check_later("a")
    setup.turns.turn()  # the first ones were tried, in vain
    for wait in waits:
        wait.ready = True
    setup.purgatory.check_later("a")
    setup.turns.run()
    assert all(wait.ended == [Reason.CONDITION] for wait in waits)
    setup.assert_empty()


def test_operations_that_leave_amid_a_pass_are_passed_over() -> None:
    setup = Setup(tries_max=2)
    waits = [setup.park("a", owner=f"connection {n}") for n in range(6)]
    for wait in waits:
        wait.ready = True
    setup.purgatory.check_later("a")
    setup.turns.turn()
    setup.turns.turn()
    for n in range(6):
        setup.purgatory.cancel_owner(f"connection {n}")
    setup.turns.run()
    assert [wait.ended for wait in waits] == [[Reason.CONDITION]] * 3 + [["cancelled"]] * 3


def test_an_answer_that_parks_again_or_ends_others_does_not_disturb_the_pass() -> None:
    setup = Setup(tries_max=4)
    parked_again: list[Wait] = []

    class Repeating(Wait):
        __slots__ = ("victim",)

        def on_complete(self, reason: Enum | None) -> None:
            super().on_complete(reason)
            parked_again.append(setup.park("a"))
            if self.victim is not None:  # type: ignore[has-type]
                self.victim.cancel()

    victims = [Wait() for _ in range(5)]
    waits = []
    for victim in victims:
        wait = Repeating()
        wait.victim = victim
        waits.append(wait)
        setup.purgatory.try_complete_else_watch(wait, ["a"])
        setup.purgatory.try_complete_else_watch(victim, ["a"])
    for wait in waits:
        wait.ready = True
    setup.purgatory.check_later("a")
    setup.turns.run()
    assert [wait.ended for wait in waits] == [[Reason.CONDITION]] * 5
    assert [victim.ended for victim in victims] == [["cancelled"]] * 5
    assert [wait.ended for wait in parked_again] == [[]] * 5
    assert setup.purgatory.statistics().num_delayed_operations == 5


def test_an_operation_that_raises_is_reported_and_the_others_still_wake() -> None:
    setup = Setup(tries_max=10)

    class Broken(Wait):
        def try_complete(self) -> bool:
            self.tries += 1
            if self.tries > 2:
                raise RuntimeError("broken")
            return False

    setup.purgatory.try_complete_else_watch(Broken(), ["a"])
    waits = [setup.park("a") for _ in range(20)]
    for wait in waits:
        wait.ready = True
    setup.purgatory.check_later("a")
    with pytest.raises(RuntimeError, match="broken"):
        setup.turns.turn()
    setup.turns.run()
    assert all(wait.ended == [Reason.CONDITION] for wait in waits)


def test_shutdown_answers_everybody_and_lets_nobody_wait_again() -> None:
    setup = Setup()
    waits = [setup.park("a", "b"), setup.park("b", owner="connection"), setup.park("c")]
    assert setup.purgatory.shutdown(Reason.STOPPED) == 3
    assert [wait.ended for wait in waits] == [[Reason.STOPPED]] * 3
    late = Wait()
    assert setup.purgatory.try_complete_else_watch(late, ["a"])
    assert late.ended == [Reason.STOPPED]
    setup.assert_empty()


@pytest.mark.parametrize("seed", range(40))
def test_f28_exactly_once_under_random_interleavings(seed: int) -> None:
    rng = random.Random(seed)
    setup = Setup(tries_max=rng.choice((1, 2, 5, 64)))
    keys = [f"key {n}" for n in range(6)]
    every: list[Wait] = []
    now = 0
    for number in range(400):
        action = rng.randrange(9)
        alive = [wait for wait in every if not wait.is_done]
        if action < 3:
            wait = Wait(now + rng.randrange(0, 200))
            wait.ready = rng.random() < 0.1
            every.append(wait)
            watched = rng.sample(keys, rng.randrange(1, 4))
            setup.purgatory.try_complete_else_watch(wait, watched, rng.choice((None, f"owner {number % 4}")))
        elif action == 3:
            for wait in rng.sample(alive, min(3, len(alive))):
                wait.ready = True
        elif action == 4:
            setup.purgatory.check_later(rng.choice(keys))
        elif action == 5:
            setup.purgatory.check(rng.choice(keys))
        elif action == 6:
            setup.turns.turn()
        elif action == 7:
            now += rng.randrange(60)
            setup.wheel.advance(now, fires_max=rng.choice((None, 1, 3)))
        else:
            rng.choice(
                (setup.purgatory.cancel_owner, lambda o: setup.purgatory.complete_owner(o, Reason.ASKED))
            )(f"owner {rng.randrange(4)}")
        statistics = setup.purgatory.statistics()
        waiting = [wait for wait in every if not wait.ended]
        assert statistics.num_delayed_operations == len(waiting), f"seed {seed}"
        assert len(setup.wheel) == len(waiting), f"seed {seed}"
        assert all(len(wait.ended) <= 1 for wait in every), f"seed {seed}"
    for key in keys:
        setup.purgatory.check_later(key)
    setup.turns.run()
    assert not [wait for wait in every if wait.ready and not wait.ended], f"seed {seed}: a wakeup was lost"
    setup.wheel.advance(now + 1_000)
    assert all(len(wait.ended) == 1 for wait in every), f"seed {seed}"
    setup.assert_empty()


def test_f25_a_waiting_operation_may_watch_more_keys() -> None:
    setup = Setup()
    wait = setup.park("a")
    setup.purgatory.watch_also(wait, ("b", "c"))
    assert setup.purgatory.statistics().purgatory_size == 3
    wait.ready = True
    setup.purgatory.check_later("c")
    setup.turns.run()
    assert wait.ended == [Reason.CONDITION]
    # One that does not wait watches nothing.
    setup.purgatory.watch_also(wait, ("d",))
    setup.assert_empty()


def test_who_was_answered_is_held_back_while_others_still_wait() -> None:
    setup = Setup(tries_max=4)
    waits = [setup.park("p", owner=f"c{number}") for number in range(10)]
    for wait in waits:
        wait.ready = True
    setup.purgatory.check_later("p")
    setup.turns.turn()
    assert setup.held == [["c0"]]
    setup.turns.turn()
    assert setup.held == [["c0"], ["c1", "c2", "c3", "c4"]]
    setup.turns.turn()
    assert setup.held == [["c0"], ["c1", "c2", "c3", "c4"], ["c5", "c6", "c7", "c8"]]
    setup.turns.turn()
    assert setup.held == []
    assert not setup.turns.turn()
    setup.assert_empty()


def test_nobody_is_held_back_who_was_not_answered_or_has_no_owner() -> None:
    setup = Setup(tries_max=4)
    waits = [setup.park("p", owner=f"c{number}" if number % 2 else None) for number in range(10)]
    waits[0].ready = waits[1].ready = True
    setup.purgatory.check_later("p")
    setup.turns.turn()
    assert setup.held == [[]]
    setup.turns.turn()
    assert setup.held == [[], ["c1"]]
    setup.turns.run()
    assert setup.held == []


def test_a_turn_that_has_tried_everybody_holds_nobody_back() -> None:
    setup = Setup(tries_max=4)
    waits = [setup.park("p", owner=f"c{number}") for number in range(4)]
    for wait in waits:
        wait.ready = True
    setup.purgatory.check_later("p")
    setup.turns.run()
    assert setup.held == []


def test_nobody_is_held_back_by_those_who_come_later() -> None:
    """However much is woken meanwhile: no longer than it takes to try all who waited."""
    setup = Setup(tries_max=4)
    for number in range(12):
        setup.park("p0", owner=f"c{number}").ready = True
    setup.purgatory.check_later("p0")
    longest = held_for = 0
    for turn in range(1, 60):
        for number in range(8):
            setup.park(f"p{turn}", owner=f"l{turn}-{number}").ready = True
        setup.purgatory.check_later(f"p{turn}")
        setup.turns.turn()
        held_for = held_for + 1 if any("c0" in owners for owners in setup.held) else 0
        longest = max(longest, held_for)
    assert 0 < longest <= (12 + 8) // 4 + 1


def test_who_was_tried_in_vain_comes_last_and_only_once_in_a_pass() -> None:
    setup = Setup(tries_max=4)
    waits = [setup.park("p") for _ in range(10)]
    for wait in waits[::3]:
        wait.ready = True
    setup.purgatory.check_later("p")
    setup.turns.turn()
    late = setup.park("p")
    late.tries = 0
    setup.turns.run()
    assert [wait.tries for wait in waits] == [3] * 10, "twice when it was parked, once in the pass"
    assert late.tries == 0, "it was tried when it came"
    for wait in waits:
        wait.ready = True
    late.ready = True
    order: list[Wait] = []
    for wait in (*waits, late):
        wait.before_try = order.append
    setup.purgatory.check_later("p")
    setup.turns.run()
    assert set(order) == {late, *(wait for number, wait in enumerate(waits) if number % 3)}
    setup.assert_empty()
