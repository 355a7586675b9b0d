"""What requests make of a transactional id: every state against every request."""

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from barnabas.base.errors import ApiError
from barnabas.coordinator.transactions import changes
from barnabas.coordinator.transactions.state import (
    LAST_EPOCH_GIVEN,
    PRODUCER_EPOCH_MAX,
    TRANSITIONS,
    TransactionMetadata,
    TransactionState,
    state_name,
)
from tests.transaction_setup import P0, producer

S = TransactionState
NOW = 5_000
NEW_ID = 900


def metadata(state: S = S.EMPTY, **more: Any) -> TransactionMetadata:
    begun = {} if state is S.EMPTY else {"partitions": frozenset([P0]), "start_ms": 1_000}
    fields = {"producer_id": 7, "producer_epoch": 3, "timeout_ms": 60_000, "updated_ms": 2_000, **begun}
    return TransactionMetadata(transactional_id="t", state=state, **{**fields, **more})


def next_producer(found: TransactionMetadata, expected: Any = None) -> TransactionMetadata:
    believed = None if expected is None else producer(*expected)
    changes.check_expected_producer(found, believed)
    return changes.next_producer(
        found, believed, timeout_ms=60_000, now_ms=NOW, new_producer_id=count(NEW_ID).__next__
    )


def end(found: TransactionMetadata, who: tuple[int, int], *, commit: bool, version: int) -> str:
    """What an EndTxn comes to: a code, `prepare`, or `done before`."""
    try:
        due = changes.is_end_due(found, producer(*who), commit=commit, client_version=version)
    except ApiError as error:
        return error.code.name
    return "prepare" if due else "done before"


# InitProducerId


@pytest.mark.parametrize("state", [S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_a_producer_that_begins_gets_the_next_epoch(state: S) -> None:
    changed = next_producer(metadata(state))
    assert (changed.producer_id, changed.producer_epoch, changed.last_producer_epoch) == (7, 4, -1)
    assert changed.state is S.EMPTY
    assert (changed.partitions, changed.start_ms, changed.updated_ms) == (frozenset(), -1, NOW)


def test_a_producer_that_goes_on_keeps_its_last_epoch_for_asking_again() -> None:
    first = next_producer(metadata(), (7, 3))
    assert (first.producer_epoch, first.last_producer_epoch) == (4, 3)
    again = next_producer(first, (7, 3))
    assert (again.producer_epoch, again.last_producer_epoch) == (4, 3)


@pytest.mark.parametrize("expected", [(7, 2), (7, 4), (8, 3), (6, LAST_EPOCH_GIVEN)])
def test_a_producer_that_is_somebody_else_is_fenced(expected: tuple[int, int]) -> None:
    with pytest.raises(ApiError, match="PRODUCER_FENCED"):
        next_producer(metadata(last_producer_epoch=1), expected)


@pytest.mark.parametrize("epoch", [LAST_EPOCH_GIVEN, PRODUCER_EPOCH_MAX])
def test_when_epochs_are_used_up_there_is_a_new_producer_id(epoch: int) -> None:
    changed = next_producer(metadata(producer_epoch=epoch))
    assert changed.producer.producer_id == NEW_ID
    assert (changed.producer_epoch, changed.last_producer_epoch) == (0, -1)
    assert changed.previous_producer_id == 7


def test_the_new_producer_id_is_told_again_to_who_missed_it() -> None:
    changed = next_producer(metadata(producer_epoch=LAST_EPOCH_GIVEN), (7, LAST_EPOCH_GIVEN))
    assert changed.last_producer_epoch == LAST_EPOCH_GIVEN
    again = next_producer(changed, (7, LAST_EPOCH_GIVEN))
    assert again.producer == producer(NEW_ID, 0)


def test_an_epoch_nobody_has_while_epochs_are_used_up_is_no_reason_for_a_new_id() -> None:
    with pytest.raises(ApiError, match="UNKNOWN_SERVER_ERROR"):
        next_producer(metadata(producer_epoch=LAST_EPOCH_GIVEN), (7, 5))


# EndTxn up to version 4

OTHER = {True: False, False: True}


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize(
    ("state", "same", "other"),
    [
        (S.EMPTY, "INVALID_TXN_STATE", "INVALID_TXN_STATE"),
        (S.ONGOING, "prepare", "prepare"),
    ],
)
def test_the_end_of_an_undecided_transaction(state: S, same: str, other: str, *, commit: bool) -> None:
    assert end(metadata(state), (7, 3), commit=commit, version=0) == same
    assert end(metadata(state), (7, 3), commit=OTHER[commit], version=0) == other


@pytest.mark.parametrize("commit", [True, False])
def test_the_end_of_a_decided_transaction(*, commit: bool) -> None:
    prepare = S.PREPARE_COMMIT if commit else S.PREPARE_ABORT
    complete = S.COMPLETE_COMMIT if commit else S.COMPLETE_ABORT
    assert end(metadata(prepare), (7, 3), commit=commit, version=0) == "CONCURRENT_TRANSACTIONS"
    assert end(metadata(prepare), (7, 3), commit=OTHER[commit], version=0) == "INVALID_TXN_STATE"
    assert end(metadata(complete), (7, 3), commit=commit, version=0) == "done before"
    assert end(metadata(complete), (7, 3), commit=OTHER[commit], version=0) == "INVALID_TXN_STATE"


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("state", [S.EMPTY, S.ONGOING, S.COMPLETE_COMMIT])
def test_only_the_current_producer_ends_a_transaction(state: S, version: int) -> None:
    assert end(metadata(state), (8, 3), commit=True, version=version) == "INVALID_PRODUCER_ID_MAPPING"
    assert end(metadata(state), (7, 1), commit=True, version=version) == "PRODUCER_FENCED"
    assert end(metadata(state), (7, 4), commit=True, version=version) == "PRODUCER_FENCED"


def test_an_older_clients_transaction_keeps_the_epoch() -> None:
    decided = changes.prepared(
        metadata(S.ONGOING), commit=True, client_version=0, now_ms=NOW, new_producer_id=count().__next__
    )
    assert (decided.producer_epoch, decided.client_version, decided.start_ms) == (3, 0, 1_000)
    assert changes.completed(decided, now_ms=NOW).producer == producer(7, 3)


# EndTxn since version 5 (KIP-890)


@pytest.mark.parametrize(
    ("state", "epoch", "commit", "comes_to"),
    [
        (S.ONGOING, 3, True, "prepare"),
        (S.ONGOING, 3, False, "prepare"),
        (S.ONGOING, 2, True, "PRODUCER_FENCED"),
        (S.EMPTY, 3, False, "prepare"),
        (S.EMPTY, 3, True, "INVALID_TXN_STATE"),
        (S.EMPTY, 2, False, "PRODUCER_FENCED"),
        (S.PREPARE_COMMIT, 2, True, "CONCURRENT_TRANSACTIONS"),
        (S.PREPARE_COMMIT, 2, False, "INVALID_TXN_STATE"),
        (S.PREPARE_COMMIT, 3, True, "PRODUCER_FENCED"),
        (S.PREPARE_ABORT, 2, False, "CONCURRENT_TRANSACTIONS"),
        (S.PREPARE_ABORT, 2, True, "INVALID_TXN_STATE"),
        (S.COMPLETE_COMMIT, 2, True, "done before"),
        (S.COMPLETE_COMMIT, 2, False, "INVALID_TXN_STATE"),
        (S.COMPLETE_COMMIT, 3, True, "INVALID_TXN_STATE"),
        (S.COMPLETE_COMMIT, 3, False, "prepare"),
        (S.COMPLETE_ABORT, 2, False, "done before"),
        (S.COMPLETE_ABORT, 2, True, "INVALID_TXN_STATE"),
        (S.COMPLETE_ABORT, 3, False, "prepare"),
        (S.COMPLETE_ABORT, 3, True, "INVALID_TXN_STATE"),
    ],
)
def test_by_its_epoch_an_end_asked_again_is_told_from_the_next_one(
    state: S, epoch: int, comes_to: str, *, commit: bool
) -> None:
    assert end(metadata(state), (7, epoch), commit=commit, version=2) == comes_to


def test_every_end_gives_the_next_epoch() -> None:
    decided = changes.prepared(
        metadata(S.ONGOING), commit=True, client_version=2, now_ms=NOW, new_producer_id=count().__next__
    )
    assert (decided.producer_epoch, decided.last_producer_epoch) == (4, 3)
    assert decided.next_producer_id == -1
    done = changes.completed(decided, now_ms=NOW)
    assert done.producer == producer(7, 4)
    assert (done.state, done.partitions, done.start_ms) == (S.COMPLETE_COMMIT, frozenset(), 1_000)


def test_an_end_that_uses_up_the_epochs_gives_a_new_producer_id() -> None:
    decided = changes.prepared(
        metadata(S.ONGOING, producer_epoch=LAST_EPOCH_GIVEN),
        commit=True,
        client_version=2,
        now_ms=NOW,
        new_producer_id=count(NEW_ID).__next__,
    )
    # The markers carry the old id, with the epoch that no producer has.
    assert decided.producer == producer(7, PRODUCER_EPOCH_MAX)
    assert decided.next_producer_id == NEW_ID
    done = changes.completed(decided, now_ms=NOW)
    assert done.producer == producer(NEW_ID, 0)
    assert (done.previous_producer_id, done.last_producer_epoch, done.next_producer_id) == (
        7,
        LAST_EPOCH_GIVEN,
        -1,
    )
    assert end(done, (7, LAST_EPOCH_GIVEN), commit=True, version=2) == "done before"
    assert end(done, (7, LAST_EPOCH_GIVEN), commit=False, version=2) == "INVALID_TXN_STATE"


def test_an_abort_without_partitions_begins_and_ends_at_once() -> None:
    decided = changes.prepared(
        metadata(), commit=False, client_version=2, now_ms=NOW, new_producer_id=count().__next__
    )
    assert (decided.state, decided.start_ms) == (S.PREPARE_ABORT, NOW)


# Fencing


@pytest.mark.parametrize(("version", "last"), [(2, 3), (1, -1), (0, -1)])
def test_fencing_raises_the_epoch_once(version: int, last: int) -> None:
    decided = changes.fenced(
        metadata(S.ONGOING), server_version=version, now_ms=NOW, new_producer_id=count().__next__
    )
    assert decided.state is S.PREPARE_ABORT
    assert (decided.producer_epoch, decided.last_producer_epoch) == (4, last)


@pytest.mark.parametrize("version", [0, 2])
def test_fencing_never_leaves_the_range_of_epochs(version: int) -> None:
    decided = changes.fenced(
        metadata(S.ONGOING, producer_epoch=PRODUCER_EPOCH_MAX),
        server_version=version,
        now_ms=NOW,
        new_producer_id=count(NEW_ID).__next__,
    )
    assert decided.producer_epoch == PRODUCER_EPOCH_MAX


# The table


def test_no_change_leaves_the_table() -> None:
    with pytest.raises(AssertionError, match="PrepareCommit cannot become Ongoing"):
        changes.with_partitions(metadata(S.PREPARE_COMMIT), frozenset([P0]), client_version=2, now_ms=NOW)


def test_the_table_names_every_state_once() -> None:
    assert set(TRANSITIONS) == set(S)
    reachable = {to for follows in TRANSITIONS.values() for to in follows}
    assert reachable == set(S)
    assert state_name(S.PREPARE_EPOCH_FENCE) == "PrepareEpochFence"


def test_the_documentation_shows_the_table() -> None:
    documentation = (Path(__file__).parents[3] / "docs" / "transactions.md").read_text()
    told = {
        tuple(cell.strip() for cell in line.split("|")[1:3])
        for line in documentation.partition("## States")[2].partition("## ")[0].splitlines()
        if line.startswith("| ") and "from" not in line
    }
    assert told == {
        (state_name(before), state_name(after))
        for before, follows in TRANSITIONS.items()
        for after in follows
    }
