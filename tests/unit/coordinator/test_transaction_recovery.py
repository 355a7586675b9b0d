"""A process that dies at any point of a transaction's end: the next one ends it in the same way, once."""

from typing import Any

import pytest

from barnabas.base.dataclass import replace
from barnabas.base.errors import ErrorCode
from barnabas.coordinator.transactions.state import TransactionState
from barnabas.replica.produce import AppendOutcome, AppendPartitionResult, AppendReason
from tests.transaction_setup import OFFSETS, P0, P1, TIMEOUT_MS, Transactions, producer

S = TransactionState


class Dying:
    """Lets so many appends through; from then on nothing reaches the disk, as of a process that is dead."""

    def __init__(self, transactions: Transactions, appends: int) -> None:
        self.left = appends
        self.manager: Any = transactions.broker.manager
        self.append = self.manager.append
        self.manager.append = self

    def __call__(self, *, partitions: Any, respond: Any, **more: Any) -> None:
        if self.left > 0:
            self.left -= 1
            self.append(partitions=partitions, respond=respond, **more)
            return
        results = [AppendPartitionResult(ErrorCode.KAFKA_STORAGE_ERROR) for _ in partitions]
        respond(AppendOutcome(results, AppendReason.NOTHING_APPENDED))

    def end(self) -> None:
        self.manager.append = self.append


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("appends", [0, 1, 2, 3])
def test_an_end_is_whole_or_not_begun_wherever_the_process_dies(
    appends: int, version: int, *, commit: bool
) -> None:
    transactions = Transactions()
    who = transactions.begun(P0, P1, version=version)
    transactions.produce(who, 0)
    transactions.produce(who, 1)
    dying = Dying(transactions, appends)
    answer = transactions.end(who, commit=commit, version=version)
    dying.end()
    transactions.crash_and_restart()
    transactions.broker.pass_ms(1_000)
    if appends == 0:
        assert answer.error is not None
        assert transactions.state() is S.ONGOING
        assert transactions.last_stable_offset() == 0
        assert transactions.end(who, commit=commit, version=version).error is None
    else:
        assert answer.error is None, "what was answered is kept"
    kind = "COMMIT" if commit else "ABORT"
    epoch = who.producer_epoch + (1 if version == 2 else 0)
    for number in (0, 1):
        assert set(transactions.markers(number)) == {(who.producer_id, epoch, kind)}
        assert transactions.last_stable_offset(number) >= 2
    assert transactions.state() is (S.COMPLETE_COMMIT if commit else S.COMPLETE_ABORT)
    # Asked again by a client that saw no answer.
    assert transactions.end(who, commit=commit, version=version).reply == producer(who.producer_id, epoch)


def test_a_second_marker_ends_nothing() -> None:
    transactions = Transactions()
    who = transactions.begun(P0, OFFSETS)
    transactions.produce(who)
    dying = Dying(transactions, 2)  # the decision and the data's marker; not that all is complete
    transactions.end(who)
    dying.end()
    transactions.crash_and_restart()
    assert transactions.markers() == [(who.producer_id, 1, "COMMIT")] * 2
    assert transactions.last_stable_offset() == 3
    assert transactions.state() is S.COMPLETE_COMMIT


def test_an_open_transaction_keeps_its_producer_and_its_time_over_a_restart() -> None:
    transactions = Transactions()
    who = transactions.begun(P0)
    transactions.produce(who)
    transactions.broker.pass_ms(TIMEOUT_MS - 1_000)
    transactions.crash_and_restart()
    assert transactions.add(who, [P1]).error is None
    transactions.broker.pass_ms(999)
    assert transactions.state() is S.ONGOING
    transactions.broker.pass_ms(1)
    assert transactions.state() is S.COMPLETE_ABORT
    assert transactions.last_stable_offset() == 2


def test_a_clock_that_was_set_back_gives_an_open_transaction_no_more_than_its_time() -> None:
    transactions = Transactions()
    transactions.begun(P0)
    clock = transactions.broker.clock
    clock.set_wall_ms(clock.wall_ms() - 5 * 3_600_000)
    transactions.crash_and_restart()
    transactions.broker.pass_ms(TIMEOUT_MS)
    assert transactions.state() is S.COMPLETE_ABORT


@pytest.mark.parametrize("state", ["begun", "ended", "idle"])
def test_a_restarted_coordinator_knows_what_the_running_one_did(state: str) -> None:
    transactions = Transactions()
    who = transactions.begun(P0, P1)
    if state != "begun":
        who = transactions.end(who).reply
    if state == "idle":
        transactions.init()

    before = replace(transactions.metadata(), last_producer_epoch=-1)
    transactions.crash_and_restart()
    assert transactions.metadata() == before


def test_an_abort_for_time_that_cannot_be_written_is_tried_again() -> None:
    transactions = Transactions()
    transactions.begun(P0)
    dying = Dying(transactions, 0)
    transactions.broker.pass_ms(TIMEOUT_MS)
    assert transactions.state() is S.ONGOING
    dying.end()
    transactions.broker.pass_ms(500)
    assert transactions.state() is S.COMPLETE_ABORT


def test_markers_that_fail_are_tried_until_they_are_written() -> None:
    transactions = Transactions()
    who = transactions.begun(P0)
    dying = Dying(transactions, 1)
    transactions.end(who)
    for _ in range(3):
        transactions.broker.pass_ms(500)
        assert transactions.state() is S.PREPARE_COMMIT
    dying.left = 1
    transactions.broker.pass_ms(500)
    assert len(transactions.markers()) == 1
    assert transactions.state() is S.PREPARE_COMMIT, "that all is complete could not be written"
    dying.end()
    transactions.broker.pass_ms(500)
    assert transactions.state() is S.COMPLETE_COMMIT


def test_a_coordinator_that_stops_answers_no_more() -> None:
    transactions = Transactions()
    who = transactions.begun(P0)
    transactions.coordinator.stop()
    assert transactions.end(who).error == "COORDINATOR_NOT_AVAILABLE"
    assert transactions.verify(who, P0).error == "COORDINATOR_NOT_AVAILABLE"
