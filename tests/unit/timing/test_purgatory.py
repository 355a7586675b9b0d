"""The purgatory (F24-F32) with the simplest of operations."""

import random
from collections.abc import Callable

import pytest

from .purgatory_setup import Reason, Setup, Wait


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
