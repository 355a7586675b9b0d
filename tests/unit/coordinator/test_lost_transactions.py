"""After a power failure logs know more than the coordinator: nothing hangs, nothing is committed along."""

from __future__ import annotations

import pytest

from barnabas.coordinator.transactions.state import TransactionState
from barnabas.replica.partition_state import PartitionState
from tests.transaction_setup import FIRST_PRODUCER_ID, OFFSETS, P0, P1, Transactions, producer


def test_records_of_an_id_that_is_lost_do_not_hold_back_readers() -> None:
    world = Transactions()
    world.produce(world.begun(P0))
    world.lose_power(keep=0)
    assert world.markers() == [(FIRST_PRODUCER_ID, 1, "ABORT")]
    assert world.last_stable_offset() == 2
    assert world.init().reply == producer(FIRST_PRODUCER_ID + 1, 0)


def test_records_of_a_transaction_that_is_lost_are_not_committed_with_the_next_one() -> None:
    world = Transactions()
    world.produce(world.begun(P0))
    world.lose_power(keep=1)  # the id is known, and that nothing was begun
    assert world.markers() == [(FIRST_PRODUCER_ID, 1, "ABORT")]
    assert world.add(producer(FIRST_PRODUCER_ID, 0)).error == "PRODUCER_FENCED"
    who = world.init().reply
    world.add(who, [P0])
    world.produce(who)
    world.end(who)
    assert [kind for _, _, kind in world.markers()] == ["ABORT", "COMMIT"]


def test_a_transaction_that_lost_one_of_its_partitions_is_aborted_as_a_whole() -> None:
    world = Transactions()
    who = world.begun(P0)
    world.produce(who)
    world.add(who, [P1])
    world.produce(who, 1, 0)
    world.lose_power(keep=2)  # P1 is unknown
    assert [kind for _, _, kind in world.markers(0) + world.markers(1)] == ["ABORT", "ABORT"]
    assert world.state() is TransactionState.COMPLETE_ABORT
    assert world.end(who).error == "PRODUCER_FENCED"


def test_an_epoch_that_a_log_has_seen_is_not_given_again() -> None:
    """Or records of the new producer would be taken for repeated ones of the old."""
    world = Transactions()
    who = world.begun(P0)
    for _ in range(3):
        world.add(who, [P0])
        world.produce(who)
        who = world.end(who).reply
    assert who.producer_epoch == 3
    world.lose_power(keep=1)
    again = world.init().reply
    assert again.producer_epoch > 3
    world.add(again, [P0])
    before = world.broker.partition(0).log.log_end_offset
    world.produce(again)
    assert world.broker.partition(0).log.log_end_offset == before + 1


def test_an_epoch_that_a_log_has_seen_is_not_given_again_after_a_clean_stop_either() -> None:
    world = Transactions()
    who = world.begun(P0)
    for _ in range(3):
        world.add(who, [P0])
        world.produce(who)
        who = world.end(who).reply
    world.lose_power(keep=1)
    world.crash_and_restart()  # cleanly: nobody looks at the logs
    assert world.init().reply.producer_epoch > 3


def test_nothing_is_aborted_while_some_ids_are_out_of_reach() -> None:
    world = Transactions()
    who = world.begun(P0)
    world.produce(who)
    world.coordinator.stop()
    number = world.coordinator.partition_of("t")
    world.broker.partition(number, "__transaction_state").become(PartitionState.OFFLINE)
    world.restart(was_clean=False)
    assert world.markers() == []
    assert not world.coordinator.has_followed_logs


@pytest.mark.parametrize("was_clean", [True, False])
def test_what_is_known_goes_on_whether_the_stop_was_clean_or_not(was_clean: bool) -> None:
    world = Transactions()
    who = world.begun(P0, OFFSETS)
    world.produce(who)
    world.coordinator.stop()
    world.restart(was_clean=was_clean)
    assert world.markers() == []
    assert world.end(who).error is None
    assert world.markers() == [(FIRST_PRODUCER_ID, 1, "COMMIT")]
    assert not world.groups.error


def test_after_a_clean_stop_nothing_is_aborted_that_nobody_knows() -> None:
    """Apache Kafka leaves such a transaction to its administrators, and so do we."""
    world = Transactions()
    world.produce(world.begun(P0))
    world.coordinator.stop()
    number = world.coordinator.partition_of("t")
    world.broker.partition(number, "__transaction_state").truncate_to(0)
    world.restart()
    assert world.markers() == []


def test_a_decision_does_not_take_the_next_transaction_along() -> None:
    """The next one's records are there, its beginning is lost, and so is the end of the one before."""
    world = Transactions()
    who = world.begun(P0)
    world.produce(who)
    who = world.end(who).reply
    world.add(who, [P0])
    world.produce(who)
    world.lose_power(keep=3)  # the id, the first transaction, the decision to commit it
    kinds = [kind for _, _, kind in world.markers()]
    assert kinds[:2] == ["COMMIT", "ABORT"]
    assert world.last_stable_offset() == world.broker.partition(0).log.log_end_offset


def test_what_belongs_to_no_id_is_aborted_as_soon_as_all_are_known() -> None:
    """Not later: after a clean stop nobody would look again."""
    world = Transactions()
    world.produce(world.begun(P0))
    partition_of = world.coordinator.partition_of
    other = next(name for name in "abcdef" if partition_of(name) != partition_of("t"))
    world.init(other)
    world.lose_power(keep=0)
    assert world.ids_known() == {other}
    assert world.markers() == [(FIRST_PRODUCER_ID, 1, "ABORT")]
