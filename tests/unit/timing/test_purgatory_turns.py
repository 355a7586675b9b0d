"""What a turn of the loop tries of those who wait in a purgatory, in which order, and who is held back."""

from enum import Enum

import pytest

from barnabas.timing.purgatory import FIRST_TRIES_MAX

from .purgatory_setup import Reason, Setup, Wait


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
