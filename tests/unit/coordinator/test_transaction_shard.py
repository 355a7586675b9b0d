"""Transactional ids over real logs: what clients are told, what is written, what partitions get."""

from typing import Any

import pytest

from barnabas.base.dataclass import replace
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.coordinator.transactions.state import LAST_EPOCH_GIVEN, PRODUCER_EPOCH_MAX, TransactionState
from barnabas.replica.fetch import FetchIsolation, FetchPartition
from tests.transaction_setup import (
    FIRST_PRODUCER_ID,
    OFFSETS,
    P0,
    P1,
    PARTITIONS,
    TIMEOUT_MS,
    Transactions,
    producer,
)
from tests.unit.replica.broker_setup import TOPIC, TOPIC_ID

S = TransactionState
DAY_MS = 24 * 60 * 60 * 1000


def exhaust(transactions: Transactions, who: Any, epoch: int) -> Any:
    """Bring an id near the end of its epochs, without thirty thousand requests."""
    shard: Any = next(
        shard for shard in transactions.coordinator._runtime.active_shards() if "t" in shard.transactions
    )

    shard.transactions["t"] = replace(shard.transactions["t"], producer_epoch=epoch)
    return producer(who.producer_id, epoch)


# InitProducerId


def test_a_new_transactional_id_gets_a_producer_id_of_its_own() -> None:
    transactions = Transactions()
    assert transactions.init("a").reply == producer(FIRST_PRODUCER_ID, 0)
    assert transactions.init("b").reply == producer(FIRST_PRODUCER_ID + 1, 0)
    assert transactions.init("a").reply == producer(FIRST_PRODUCER_ID, 1)


def test_an_empty_transactional_id_is_refused() -> None:
    transactions = Transactions()
    assert transactions.init("").error == "INVALID_REQUEST"
    assert transactions.add(producer(1, 0), [P0], "").error == "INVALID_REQUEST"
    assert transactions.end(producer(1, 0), transactional_id="").error == "INVALID_REQUEST"


@pytest.mark.parametrize(
    ("timeout_ms", "error"), [(0, True), (-1, True), (1, False), (1000, False), (1001, True)]
)
def test_a_timeout_must_be_within_bounds(timeout_ms: int, *, error: bool) -> None:
    transactions = Transactions(transaction_max_timeout_ms=1000)
    found = transactions.init(timeout_ms=timeout_ms).error
    assert found == ("INVALID_TRANSACTION_TIMEOUT" if error else None)


def test_who_begins_aborts_what_is_under_way_and_fences_its_producer() -> None:
    transactions = Transactions()
    old = transactions.begun(P0)
    transactions.produce(old)
    assert transactions.last_stable_offset() == 0
    assert transactions.init().error == "CONCURRENT_TRANSACTIONS"
    assert transactions.markers() == [(old.producer_id, old.producer_epoch + 1, "ABORT")]
    assert transactions.last_stable_offset() == 2
    assert transactions.init().reply == producer(old.producer_id, old.producer_epoch + 2)
    assert transactions.add(old).error == "PRODUCER_FENCED"
    assert transactions.end(old).error == "PRODUCER_FENCED"


def test_before_kip_890_fencing_takes_one_epoch_as_well() -> None:
    transactions = Transactions(version=1)
    old = transactions.begun(P0, version=0)
    assert transactions.init().error == "CONCURRENT_TRANSACTIONS"
    assert transactions.markers() == [(old.producer_id, old.producer_epoch + 1, "ABORT")]
    assert transactions.init().reply == producer(old.producer_id, old.producer_epoch + 2)


def test_a_producer_that_goes_on_after_an_error_asks_again_without_losing_an_epoch() -> None:
    transactions = Transactions()
    who = transactions.init().reply
    first = transactions.init(expected=(who.producer_id, who.producer_epoch)).reply
    assert first == transactions.init(expected=(who.producer_id, who.producer_epoch)).reply
    assert first.producer_epoch == who.producer_epoch + 1


def test_a_restart_forgets_the_epoch_before_as_apache_kafka_does() -> None:
    transactions = Transactions()
    who = transactions.init().reply
    transactions.init(expected=(who.producer_id, who.producer_epoch))
    transactions.crash_and_restart()
    assert transactions.init(expected=(who.producer_id, who.producer_epoch)).error == "PRODUCER_FENCED"


# Partitions


def test_the_first_partitions_begin_a_transaction() -> None:
    transactions = Transactions()
    who = transactions.init().reply
    assert transactions.add(who, [P0]).reply is ErrorCode.NONE
    begun_ms = transactions.broker.clock.wall_ms()
    transactions.broker.pass_ms(10)
    assert transactions.add(who, [P1]).reply is ErrorCode.NONE
    found = transactions.metadata()
    assert (found.state, found.partitions, found.start_ms) == (S.ONGOING, {P0, P1}, begun_ms)
    assert found.updated_ms == begun_ms + 10


def test_partitions_that_are_known_already_are_not_written_again() -> None:
    transactions = Transactions()
    who = transactions.begun(P0, P1)
    before = len(transactions.history())
    assert transactions.add(who, [P1]).reply is ErrorCode.NONE
    assert len(transactions.history()) == before


def test_partitions_of_an_unknown_id_or_another_producer_are_refused() -> None:
    transactions = Transactions()
    assert transactions.add(producer(1, 0)).error == "INVALID_PRODUCER_ID_MAPPING"
    who = transactions.init().reply
    assert transactions.add(producer(who.producer_id + 1, 0)).error == "INVALID_PRODUCER_ID_MAPPING"
    assert transactions.add(producer(who.producer_id, 1)).error == "PRODUCER_FENCED"


def test_verifying_tells_of_each_partition() -> None:
    transactions = Transactions()
    who = transactions.begun(P0)
    assert transactions.verify(who, P0, P1).reply == {
        P0: ErrorCode.NONE,
        P1: ErrorCode.TRANSACTION_ABORTABLE,
    }
    assert transactions.verify(producer(who.producer_id, 9), P0).error == "PRODUCER_FENCED"


def test_a_groups_offsets_are_a_partition_like_others() -> None:
    transactions = Transactions()
    who = transactions.init().reply
    errors: list[ApiError] = []
    replies: list[ErrorCode] = []
    transactions.coordinator.add_offsets(
        "t", who, "group", client_version=0, reply=replies.append, failed=errors.append
    )
    assert (replies, errors) == ([ErrorCode.NONE], [])
    assert transactions.metadata().partitions == {OFFSETS}


# The end


@pytest.mark.parametrize(("commit", "kind"), [(True, "COMMIT"), (False, "ABORT")])
@pytest.mark.parametrize("version", [0, 2])
def test_every_partition_gets_its_marker_and_the_transaction_is_complete(
    kind: str, version: int, *, commit: bool
) -> None:
    transactions = Transactions()
    who = transactions.begun(P0, P1, OFFSETS, version=version)
    transactions.produce(who, 0)
    transactions.produce(who, 1)
    told = transactions.end(who, commit=commit, version=version).reply
    epoch = who.producer_epoch + (1 if version == 2 else 0)
    assert told == producer(who.producer_id, epoch)
    for number in (0, 1):
        assert transactions.markers(number) == [(who.producer_id, epoch, kind)]
        assert transactions.last_stable_offset(number) == 2
    ((partition, end),) = transactions.groups.markers
    assert (partition, end.producer_id, end.producer_epoch, end.committed) == (
        0,
        who.producer_id,
        epoch,
        commit,
    )
    assert transactions.state() is (S.COMPLETE_COMMIT if commit else S.COMPLETE_ABORT)
    assert transactions.metadata().partitions == frozenset()


def test_the_next_transaction_begins_at_once() -> None:
    transactions = Transactions()
    who = transactions.begun(P0)
    for round_number in range(3):
        transactions.produce(who)
        who = transactions.end(who).reply
        assert transactions.add(who).error is None
        assert transactions.metadata().producer_epoch == round_number + 1


def test_an_end_asked_again_is_told_the_same_and_writes_nothing() -> None:
    transactions = Transactions()
    who = transactions.begun(P0)
    told = transactions.end(who).reply
    records = len(transactions.history())
    assert transactions.end(who).reply == told
    assert transactions.end(who, commit=False).error == "INVALID_TXN_STATE"
    assert len(transactions.history()) == records
    assert len(transactions.markers()) == 1


def test_an_end_over_the_last_epoch_gives_a_new_producer_id_and_is_told_again() -> None:
    transactions = Transactions()
    who = exhaust(transactions, transactions.begun(P0), LAST_EPOCH_GIVEN)
    transactions.produce(who)
    told = transactions.end(who).reply
    assert told == producer(FIRST_PRODUCER_ID + 1, 0)
    assert transactions.markers() == [(who.producer_id, PRODUCER_EPOCH_MAX, "COMMIT")]
    assert transactions.end(who).reply == told
    assert transactions.add(told).error is None


def test_a_fetch_of_committed_records_is_woken_by_the_end_and_by_nothing_before() -> None:
    transactions = Transactions()
    who = transactions.begun(P0)
    committed = FetchIsolation.TXN_COMMITTED
    asked = FetchPartition(TOPIC, TOPIC_ID, 0, 0, 1 << 20)
    fetched = transactions.broker.fetch(asked, isolation=committed, max_wait_ms=60_000)
    transactions.produce(who)
    transactions.produce(who, sequence=1)
    assert fetched == []
    transactions.end(who)
    transactions.broker.settle()
    (outcome,) = fetched
    outcome.release()


# Trouble with markers


def test_a_partition_that_cannot_take_its_marker_now_gets_it_later() -> None:
    transactions = Transactions()
    who = transactions.begun(P0, OFFSETS)
    transactions.groups.error = ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    told = transactions.end(who).reply
    assert transactions.metadata().partitions == {OFFSETS}
    assert transactions.add(told).error == "CONCURRENT_TRANSACTIONS"
    assert transactions.verify(told, P0).error == "CONCURRENT_TRANSACTIONS"
    assert transactions.init().error == "CONCURRENT_TRANSACTIONS"
    assert transactions.end(who).error == "CONCURRENT_TRANSACTIONS"
    transactions.groups.error = None
    transactions.broker.pass_ms(600)
    assert len(transactions.groups.markers) == 1
    assert len(transactions.markers()) == 1, "who has a marker gets no other"
    assert transactions.state() is S.COMPLETE_COMMIT


def test_a_topic_that_is_deleted_keeps_no_transaction_from_its_end() -> None:
    transactions = Transactions()
    who = transactions.begun(P0)
    transactions.remove_topic()
    assert transactions.end(who).error is None
    assert transactions.state() is S.COMPLETE_COMMIT


def test_a_partition_that_knows_a_newer_producer_keeps_no_transaction_from_its_end() -> None:
    transactions = Transactions()
    who = transactions.begun(P0)
    transactions.produce(producer(who.producer_id, who.producer_epoch + 5))
    assert transactions.end(who).error is None
    assert transactions.markers() == []
    assert transactions.state() is S.COMPLETE_COMMIT


# Time


def test_a_transaction_is_aborted_when_its_time_is_up() -> None:
    transactions = Transactions()
    who = transactions.begun(P0)
    transactions.produce(who)
    transactions.broker.pass_ms(TIMEOUT_MS - 1)
    # More partitions give it no more time.
    transactions.add(who, [P1])
    assert transactions.state() is S.ONGOING
    transactions.broker.pass_ms(1)
    assert transactions.state() is S.COMPLETE_ABORT
    assert transactions.markers() == [(who.producer_id, who.producer_epoch + 1, "ABORT")]
    assert transactions.last_stable_offset() == 2
    assert transactions.end(who).error == "INVALID_TXN_STATE", "its epoch is the one before: asked again"
    assert transactions.end(who, commit=False).error is None
    assert transactions.add(who).error == "PRODUCER_FENCED"


def test_each_transaction_has_its_own_time() -> None:
    transactions = Transactions()
    who = transactions.begun(P0)
    transactions.broker.pass_ms(TIMEOUT_MS // 2)
    who = transactions.end(who).reply
    transactions.add(who)
    transactions.broker.pass_ms(TIMEOUT_MS - 1)
    assert transactions.state() is S.ONGOING
    transactions.broker.pass_ms(1)
    assert transactions.state() is S.COMPLETE_ABORT


@pytest.mark.parametrize("hours", [-5, 5])
def test_a_clock_that_is_set_neither_lengthens_nor_shortens_a_transaction(hours: int) -> None:
    transactions = Transactions()
    who = transactions.begun(P0)
    clock = transactions.broker.clock
    clock.set_wall_ms(clock.wall_ms() + hours * 3_600_000)
    transactions.broker.pass_ms(TIMEOUT_MS - 1)
    transactions.add(who, [P1])
    assert transactions.state() is S.ONGOING
    transactions.broker.pass_ms(1)
    assert transactions.state() is S.COMPLETE_ABORT


def test_ids_that_are_not_used_are_forgotten() -> None:
    transactions = Transactions(
        transactional_id_expiration_ms=DAY_MS, remove_expired_interval_ms=DAY_MS // 24
    )
    transactions.init("idle")
    who = transactions.begun(P0)
    transactions.broker.pass_ms(DAY_MS // 2)
    transactions.end(who, commit=False)  # "t" was used later than "idle"
    for _ in range(12):
        transactions.broker.pass_ms(DAY_MS // 24)
    assert transactions.ids_known() == {"t"}
    assert transactions.history("idle")[-1] == (None, None)
    for _ in range(13):
        transactions.broker.pass_ms(DAY_MS // 24)
    assert transactions.ids_known() == set()


def test_ids_of_every_partition_are_known_again_after_a_restart() -> None:
    transactions = Transactions()
    names = {f"id-{number}" for number in range(12)}
    for name in names:
        transactions.init(name)
    assert {transactions.coordinator.partition_of(name) for name in names} == set(range(PARTITIONS))
    transactions.crash_and_restart()
    assert transactions.ids_known() == names
