"""Fetches that wait alike share one read (F24), and get what reading for themselves would give."""

from collections.abc import Callable
from typing import Any

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.protocol import messages
from barnabas.replica.fetch import FetchIsolation, FetchOutcome, FetchReason, SharedOutcome
from barnabas.replica.shared_reads import READS_MAX
from barnabas.storage.producer_state.states import AppendOrigin
from tests.storage_setup import marker

from .broker_setup import BATCH_BYTES, CLIENT, TOPIC_ID, Broker, ask, batch, fetch_params, open_log_class
from .test_session_partitions import COUNT, Reader

NOW_MS = 1_700_000_000_000


def told(outcome: FetchOutcome) -> list[tuple[Any, ...]]:
    """Return all that a fetch tells its reader; release it."""
    found = [
        (
            result.error_code,
            result.high_watermark,
            result.last_stable_offset,
            result.log_start_offset,
            None if result.records is None else result.records.read(),
            None if result.aborted_transactions is None else list(result.aborted_transactions),
            result.preferred_read_replica,
            result.diverging_epoch,
        )
        for result in outcome.results
    ]
    outcome.release()
    return found


def is_shared(outcome: FetchOutcome) -> bool:
    return isinstance(outcome, SharedOutcome)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The offsets at which logs of brokers made from here on are read."""
    log_class = open_log_class(monkeypatch)
    found: list[int] = []
    read = log_class.read

    def counted(self: Any, start_offset: int, *args: Any, **options: Any) -> Any:
        found.append(start_offset)
        return read(self, start_offset, *args, **options)

    monkeypatch.setattr(log_class, "read", counted)
    return found


def test_f24_fetches_that_wait_alike_share_one_read(reads: list[int]) -> None:
    broker = Broker()
    fetches = broker.partition().fetches
    waiting = [broker.fetch(ask(0)) for _ in range(5)]
    assert broker.partition().fetches == fetches + 5
    broker.append()
    assert reads == [0]
    outcomes = [outcome for (outcome,) in waiting]
    assert [is_shared(outcome) for outcome in outcomes] == [False, True, True, True, True]
    assert {outcome.reason for outcome in outcomes} == {FetchReason.CASE_G_ENOUGH_BYTES}
    assert broker.partition().fetches == fetches + 10, "each counts as a read"
    assert broker.partition().traffic.bytes_out == 5 * BATCH_BYTES
    first, *others = [told(outcome) for outcome in outcomes]
    assert first[0][4] is not None
    assert all(other == first for other in others)


def test_f22_each_has_a_lease_of_its_own_and_the_turn_ends_the_shared_one() -> None:
    broker = Broker()
    segment = broker.partition().log.segments.active
    holders = segment.leased.holders
    waiting = [broker.fetch(ask(0)) for _ in range(3)]
    broker.append()
    outcomes = [outcome for (outcome,) in waiting]
    results = [outcome.results[0] for outcome in outcomes]
    assert segment.leased.holders == holders + 3
    for result in results[:2]:
        assert result.records is not None
        result.records.release()
    assert results[2].records is not None
    assert len(results[2].records.read()) == BATCH_BYTES
    outcomes[2].release()
    assert segment.leased.holders == holders
    assert not list(broker.partition().log.watch)


DIFFERENT: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "another limit of the partition": ({"max_bytes": BATCH_BYTES}, {}),
    "another limit of the request": ({}, {"max_bytes": BATCH_BYTES}),
    "another isolation": ({}, {"isolation": FetchIsolation.TXN_COMMITTED}),
    "an epoch of the leader": ({"current_leader_epoch": 0}, {}),
    "an epoch of the last record": ({"last_fetched_epoch": 0}, {}),
    "only the leader will do": ({}, {"client_metadata": None}),
    "the topic's id": ({"topic_id": TOPIC_ID}, {}),
    "from the log's end": ({}, {"isolation": FetchIsolation.LOG_END, "replica_id": -3}),
}


@pytest.mark.parametrize("different", DIFFERENT.values(), ids=DIFFERENT)
def test_f24_what_is_asked_in_another_way_is_read_again(
    different: tuple[dict[str, Any], dict[str, Any]], reads: list[int]
) -> None:
    broker = Broker()
    asked, params = different
    waiting = [broker.fetch(ask(0)), broker.fetch(ask(0, **asked), **params), broker.fetch(ask(0))]
    waiting += [broker.fetch(ask(0, **asked), **params)]
    for _ in range(3):
        broker.append(settle=False)
    broker.settle()
    outcomes = [outcome for (outcome,) in waiting]
    assert [is_shared(outcome) for outcome in outcomes] == [False, False, True, True]
    assert reads == [0, 0]
    found = [told(outcome) for outcome in outcomes]
    (alone,) = broker.fetch(ask(0, **asked), max_wait_ms=0, **params)
    assert found[1] == found[3] == told(alone)
    (plain,) = broker.fetch(ask(0), max_wait_ms=0)
    assert found[0] == found[2] == told(plain)


def test_f24_how_long_and_for_how_much_one_waits_does_not_change_what_is_read(reads: list[int]) -> None:
    broker = Broker()
    waiting = [
        broker.fetch(ask(0)),
        broker.fetch(ask(0), min_bytes=2 * BATCH_BYTES),
        broker.fetch(ask(0), max_wait_ms=9_000),
    ]
    broker.append(settle=False)
    broker.append(settle=False)
    broker.settle()
    assert [is_shared(outcome) for (outcome,) in waiting] == [False, True, True]
    assert reads == [0]


def test_f26_a_shared_read_wakes_nobody_who_waits_for_more() -> None:
    broker = Broker()
    first, more, last = (
        broker.fetch(ask(0)),
        broker.fetch(ask(0), min_bytes=BATCH_BYTES + 1),
        broker.fetch(ask(0)),
    )
    broker.append()
    assert (len(first), len(more), len(last)) == (1, 0, 1)
    assert broker.parked == 1


def test_f33_whoever_is_answered_on_demand_wakes_nobody_who_waits_alike() -> None:
    broker = Broker()
    broker.append()
    many = 1 << 20
    owner = object()
    demanded = broker.fetch(ask(0), min_bytes=many, owner=owner)
    waiting = [broker.fetch(ask(0), min_bytes=many) for _ in range(2)]
    broker.manager.bounds_moved(broker.partition())  # to be tried in the turn that shares
    broker.manager.complete_parked_fetches(owner)
    broker.settle()
    assert [outcome.reason for outcome in demanded] == [FetchReason.NEXT_REQUEST]
    assert waiting == [[], []]


def test_f27_who_waits_from_an_older_segment_is_woken_for_that(reads: list[int]) -> None:
    broker = Broker()
    broker.append()
    how: dict[str, Any] = {"isolation": FetchIsolation.LOG_END, "replica_id": -3, "min_bytes": BATCH_BYTES}
    old = [broker.fetch(ask(1), **how) for _ in range(2)]
    broker.partition().log.roll()
    new = [broker.fetch(ask(1), **how) for _ in range(2)]
    broker.append()
    assert [outcome.reason for (outcome,) in old] == [FetchReason.CASE_F_OTHER_SEGMENT] * 2
    assert [outcome.reason for (outcome,) in new] == [FetchReason.CASE_G_ENOUGH_BYTES] * 2
    assert reads == [1]


def changes() -> dict[str, Callable[[Broker], object]]:
    """What may happen while many are answered, and shows in what a read gives."""
    return {
        "an append": lambda broker: broker.append(settle=False),
        "deleted records": lambda broker: broker.partition().delete_records(1),
        "a truncation": lambda broker: broker.partition().log.truncate_to(1),
        "a leader's epoch": lambda broker: broker.replay(
            broker.partition_record(0, leader_epoch=1, partition_epoch=1)
        ),
        "another leader": lambda broker: broker.replay(
            broker.partition_record(0, leader=2, leader_epoch=1, partition_epoch=1, replicas=[1, 2])
        ),
        "a deleted topic": lambda broker: broker.replay(messages.RemoveTopicRecord(topic_id=TOPIC_ID)),
        "a failed directory": lambda broker: broker.logs.directory.failed(OSError(5, "disk"), "reading"),
        "a failed directory that is not told of": lambda broker: setattr(
            broker.logs.directory, "failure", OSError(5, "disk")
        ),
    }


@pytest.mark.parametrize("change", changes().values(), ids=changes())
@pytest.mark.parametrize("version_11", [True, False])
def test_f24_what_changes_in_between_ends_the_sharing(
    change: Callable[[Broker], object], version_11: bool
) -> None:
    """Four wait; the answer to the second changes the log. The other two get what reading then gives."""
    found: list[list[tuple[Any, ...]]] = []
    broker = Broker()
    client = CLIENT if version_11 else None

    def respond(outcome: FetchOutcome) -> None:
        found.append(told(outcome))
        if len(found) == 2:
            assert is_shared(outcome)
            change(broker)

    for _ in range(4):
        broker.manager.fetch(fetch_params(client_metadata=client), [ask(0, topic_id=TOPIC_ID)], respond)
    broker.append(settle=False)
    broker.append(settle=False)
    broker.settle()
    (now,) = broker.fetch(ask(0, topic_id=TOPIC_ID), max_wait_ms=0, client_metadata=client)
    assert len(found) == 4
    assert found[0] == found[1]
    assert found[2] == found[3] == told(now)


def test_errors_are_not_shared() -> None:
    broker = Broker()
    waiting = [broker.fetch(ask(0)) for _ in range(3)]
    broker.replay(messages.RemoveTopicRecord(topic_id=TOPIC_ID))
    broker.settle()
    for (outcome,) in waiting:
        assert not is_shared(outcome)
        assert outcome.results[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_f12_followers_share_nothing() -> None:
    broker = Broker(0)
    broker.create("events", TOPIC_ID, 1, replicas=[1, 2, 3], isr=[1])
    followers = [
        broker.fetch(ask(0), replica_id=replica, isolation=FetchIsolation.LOG_END, client_metadata=None)
        for replica in (2, 3)
    ]
    consumers = [broker.fetch(ask(0)) for _ in range(2)]
    broker.append()
    assert [is_shared(outcome) for (outcome,) in followers] == [False, False]
    assert [is_shared(outcome) for (outcome,) in consumers] == [False, True]


def test_f12_nothing_is_shared_where_consumers_may_be_sent_elsewhere() -> None:
    broker = Broker(select_replica=lambda client, partition, offset: None)
    waiting = [broker.fetch(ask(0)) for _ in range(3)]
    broker.append()
    assert [is_shared(outcome) for (outcome,) in waiting] == [False] * 3


def test_f6_a_fetch_of_several_partitions_reads_for_itself() -> None:
    broker = Broker(2)
    waiting = [broker.fetch(ask(0, 0))] + [broker.fetch(ask(0, 0), ask(0, 1)) for _ in range(2)]
    broker.append()
    assert [is_shared(outcome) for (outcome,) in waiting] == [False] * 3
    assert [len(outcome.results) for (outcome,) in waiting] == [1, 2, 2]


def test_f17_aborted_transactions_are_shared_with_the_records() -> None:
    broker = Broker()
    partition = broker.partition()
    committed = FetchIsolation.TXN_COMMITTED
    waiting = [broker.fetch(ask(0), isolation=committed) for _ in range(3)]
    transactional = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "is_transactional": True}
    partition.append_as_leader(batch(**transactional), acks=1, now_ms=NOW_MS)
    partition.append_as_leader(
        marker(7, commit=False), acks=1, now_ms=NOW_MS, origin=AppendOrigin.COORDINATOR
    )
    broker.manager.bounds_moved(partition)
    broker.settle()
    assert [is_shared(outcome) for (outcome,) in waiting] == [False, True, True]
    first, *others = [told(outcome) for (outcome,) in waiting]
    assert first[0][5]
    assert all(other == first for other in others)


def test_f37_sessions_that_wait_for_a_quiet_partition_share_its_read(reads: list[int]) -> None:
    broker = Broker(COUNT)
    for number in range(COUNT):
        broker.append(number)
    sessions = [Reader(broker) for _ in range(3)]
    for session in sessions:
        session.reads()
    waiting = [session.fetch(max_wait_ms=500) for session in sessions]
    reads.clear()
    broker.append(3)
    assert reads == [1]
    assert [is_shared(outcome) for (outcome,) in waiting] == [False, True, True]
    assert [[part.partition for part in outcome.partitions] for (outcome,) in waiting] == [[3]] * 3
    first, *others = [told(outcome) for (outcome,) in waiting]
    assert all(other == first for other in others)
    assert [session.reads() for session in sessions] == [[3]] * 3, "records were told: read once more"


def test_reads_that_are_kept_are_few() -> None:
    broker = Broker(tries_max_per_turn=10 * READS_MAX)
    sizes = [BATCH_BYTES + number for number in range(READS_MAX + 5)]
    waiting = [broker.fetch(ask(0, max_bytes=size)) for size in sizes for _ in range(2)]
    broker.append(settle=False)
    broker.turn()
    assert all(len(outcomes) == 1 for outcomes in waiting)
    assert len(broker.manager._shared_reads.by_key) == READS_MAX
    shared = [is_shared(outcome) for (outcome,) in waiting]
    assert shared == [False, True] * READS_MAX + [False, False] * 5
    broker.settle()
    assert not broker.manager._shared_reads.by_key
