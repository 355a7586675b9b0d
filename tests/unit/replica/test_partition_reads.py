"""Reads of the leader: order of checks, bounds, limits, diverging histories (F4-F7, F10-F17)."""

from typing import Any

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.replica.fetch import (
    DEBUGGING_REPLICA_ID,
    FUTURE_LOCAL_REPLICA_ID,
    FetchIsolation,
    FetchOutcome,
    FetchPartitionResult,
    FetchReason,
    bounded_limits,
    fetch_isolation,
)
from barnabas.storage.append_info import FetchDataInfo
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig

from .broker_setup import BATCH_BYTES, TOPIC_ID, Broker, ask, batch, fetch_params, open_log_class

OTHER_ID = bytes(15) + b"\xee"


def fetch_now(broker: Broker, *asked: object, **params: object) -> FetchOutcome:
    params.setdefault("max_wait_ms", 0)
    outcomes = broker.fetch(*asked, **params)  # type: ignore[arg-type]
    assert len(outcomes) == 1
    return outcomes[0]


def read_now(broker: Broker, *asked: object, **params: object) -> FetchPartitionResult:
    return fetch_now(broker, *asked, **params).results[0]


def size(result: FetchPartitionResult) -> int:
    return 0 if result.records is None else result.records.length


def test_f1_replica_ids_tell_consumers_from_followers() -> None:
    assert fetch_params().fetch_only_leader is False
    assert fetch_params(client_metadata=None).fetch_only_leader is True
    assert fetch_params(replica_id=2, client_metadata=None).is_from_follower
    future = fetch_params(replica_id=FUTURE_LOCAL_REPLICA_ID, client_metadata=None)
    assert not future.is_from_follower
    assert not future.fetch_only_leader
    assert fetch_isolation(FUTURE_LOCAL_REPLICA_ID, 1) is FetchIsolation.LOG_END
    assert fetch_params(replica_id=DEBUGGING_REPLICA_ID, client_metadata=None).fetch_only_leader
    for consumer in (DEBUGGING_REPLICA_ID, -4, -(2**31)):
        assert fetch_isolation(consumer, 0) is FetchIsolation.HIGH_WATERMARK
        assert fetch_isolation(consumer, 1) is FetchIsolation.TXN_COMMITTED


def test_f4_the_broker_and_the_quota_bound_what_a_consumer_asks_for() -> None:
    assert bounded_limits(100 << 20, 1, 55 << 20) == (55 << 20, 1)
    assert bounded_limits(1 << 20, 2 << 20, 55 << 20) == (1 << 20, 1 << 20)
    assert bounded_limits(1 << 20, 2 << 20, 55 << 20, quota_bytes=4096) == (4096, 4096)


def test_f5_isolation_decides_the_bound() -> None:
    assert fetch_isolation(-1, 0) is FetchIsolation.HIGH_WATERMARK
    assert fetch_isolation(-1, 1) is FetchIsolation.TXN_COMMITTED
    assert fetch_isolation(2, 0) is FetchIsolation.LOG_END
    broker = Broker(0)
    broker.create("events", TOPIC_ID, 1, replicas=[1, 2])  # the follower has nothing yet: HW stays 0
    broker.append()
    assert size(read_now(broker, ask(0))) == 0
    future = read_now(broker, ask(0), replica_id=FUTURE_LOCAL_REPLICA_ID, isolation=FetchIsolation.LOG_END)
    assert size(future) == BATCH_BYTES


def test_f5_read_committed_stops_before_the_first_open_transaction() -> None:
    broker = Broker()
    broker.append()
    broker.append(records=batch(producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True))
    broker.append()
    committed = read_now(broker, ask(0), isolation=FetchIsolation.TXN_COMMITTED)
    assert (committed.high_watermark, committed.last_stable_offset) == (3, 1)
    assert size(committed) == BATCH_BYTES
    assert committed.aborted_transactions == []
    assert size(read_now(broker, ask(0))) == 3 * BATCH_BYTES
    at_the_bound = read_now(broker, ask(1), isolation=FetchIsolation.TXN_COMMITTED)
    assert size(at_the_bound) == 0
    assert not at_the_bound.aborted_transactions


def test_f6_one_byte_limit_is_spent_in_request_order() -> None:
    broker = Broker(3)
    for number in range(3):
        for _ in range(3):
            broker.append(number)
    outcome = fetch_now(
        broker, ask(0, 2), ask(0, 0, max_bytes=BATCH_BYTES), ask(0, 1), max_bytes=5 * BATCH_BYTES
    )
    assert [size(r) // BATCH_BYTES for r in outcome.results] == [3, 1, 1]
    assert outcome.records_bytes == 5 * BATCH_BYTES


def test_f7_the_first_batch_is_whole_above_every_limit_and_after_it_limits_are_hard() -> None:
    broker = Broker(3)
    broker.append(1, records=batch(value_bytes=5_000))
    broker.append(2)
    outcome = fetch_now(broker, ask(0, 0, max_bytes=10), ask(0, 1, max_bytes=10), ask(0, 2), max_bytes=20)
    first = len(batch(value_bytes=5_000))
    assert [size(r) for r in outcome.results] == [0, first, 0]


def test_f7_a_partition_that_cannot_fit_one_batch_returns_nothing() -> None:
    broker = Broker(2)
    broker.append(0)
    broker.append(1)
    outcome = fetch_now(broker, ask(0, 0), ask(0, 1), max_bytes=BATCH_BYTES + 10)
    assert [size(r) for r in outcome.results] == [BATCH_BYTES, 0]
    assert outcome.records_bytes == BATCH_BYTES


def test_f21_behind_a_whole_batch_the_limit_may_split_one() -> None:
    broker = Broker()
    broker.append(0)
    broker.append(0)
    outcome = fetch_now(broker, ask(0, 0, max_bytes=BATCH_BYTES + 10))
    assert [size(r) for r in outcome.results] == [BATCH_BYTES + 10]  # clients drop the split batch


def test_f9_f10_lookup_comes_first_then_the_topic_id_then_the_epoch_then_the_offset() -> None:
    broker = Broker()
    unknown = read_now(broker, ask(99, 7, topic_id=OTHER_ID, current_leader_epoch=9))
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    unknown_id = read_now(broker, ask(99, topic="", topic_id=OTHER_ID))
    assert unknown_id.error_code == ErrorCode.UNKNOWN_TOPIC_ID
    other_id = read_now(broker, ask(99, topic_id=OTHER_ID, current_leader_epoch=9))
    assert other_id.error_code == ErrorCode.INCONSISTENT_TOPIC_ID
    epoch = read_now(broker, ask(99, topic_id=TOPIC_ID, current_leader_epoch=9))
    assert epoch.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    offset = read_now(broker, ask(99, topic_id=TOPIC_ID, current_leader_epoch=0))
    assert offset.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    broker.logs.directory.failed(OSError(5, "Input/output error"), "testing")
    offline = read_now(broker, ask(0, topic_id=OTHER_ID))
    assert offline.error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_f10_a_partition_of_other_brokers_is_not_unknown() -> None:
    broker = Broker(0)
    broker.create("events", TOPIC_ID, 1, leader=2, leader_epoch=5, replicas=[2, 3])
    result = read_now(broker, ask(0))
    assert result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (result.leader_id, result.leader_epoch) == (2, 5)


def test_f10_a_preferred_replica_is_named_before_the_epoch_is_looked_at_and_nothing_is_read() -> None:
    broker = Broker(
        1, select_replica=lambda client, partition, offset: 3 if client.rack_id == "far" else None
    )
    broker.append()
    from barnabas.replica.fetch import ClientMetadata

    outcome = fetch_now(broker, ask(0), client_metadata=ClientMetadata(rack_id="far"), max_wait_ms=500)
    assert outcome.reason is FetchReason.PREFERRED_REPLICA
    result = outcome.results[0]
    assert result.preferred_read_replica == 3
    assert (result.error_code, result.high_watermark, size(result)) == (ErrorCode.NONE, 1, 0)
    assert size(read_now(broker, ask(0), client_metadata=ClientMetadata(rack_id="near"))) == BATCH_BYTES
    fenced = read_now(broker, ask(0, current_leader_epoch=7), client_metadata=ClientMetadata(rack_id="far"))
    assert fenced.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_f10_f11_leader_epochs_older_newer_and_absent_and_before_leadership() -> None:
    broker = Broker(0)
    broker.create("events", TOPIC_ID, 1, leader=2, leader_epoch=5, replicas=[1, 2])
    codes = {
        epoch: read_now(broker, ask(0, current_leader_epoch=epoch), client_metadata=None).error_code
        for epoch in (-1, 4, 5, 6)
    }
    assert codes == {
        -1: ErrorCode.NOT_LEADER_OR_FOLLOWER,
        4: ErrorCode.FENCED_LEADER_EPOCH,
        5: ErrorCode.NOT_LEADER_OR_FOLLOWER,
        6: ErrorCode.UNKNOWN_LEADER_EPOCH,
    }


def test_f12_old_consumers_must_hit_the_leader_and_newer_ones_may_read_a_follower() -> None:
    broker = Broker(0)
    broker.create("events", TOPIC_ID, 1, leader=2, replicas=[1, 2])
    assert read_now(broker, ask(0)).error_code == ErrorCode.NONE
    assert read_now(broker, ask(0), client_metadata=None).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_f13_the_offsets_told_are_those_of_before_the_read(monkeypatch: pytest.MonkeyPatch) -> None:
    log_class = open_log_class(monkeypatch)
    broker = Broker()
    for _ in range(3):
        broker.append()
    partition = broker.partition()
    partition.delete_records(1)
    read = log_class.read

    def read_while_others_append(self: object, *args: object, **options: object) -> object:
        monkeypatch.undo()
        broker.append(settle=False)
        return read(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(log_class, "read", read_while_others_append)
    result = read_now(broker, ask(1))
    assert broker.partition().high_watermark == 4
    assert (result.high_watermark, result.last_stable_offset, result.log_start_offset) == (3, 3, 1)
    assert size(result) == 2 * BATCH_BYTES
    broker.append(records=batch(producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True))
    result = read_now(broker, ask(1))
    assert (result.high_watermark, result.last_stable_offset, result.log_start_offset) == (5, 4, 1)


def test_f14_out_of_range_is_answered_at_once_with_offsets_of_minus_one() -> None:
    broker = Broker()
    for _ in range(3):
        broker.append()
    broker.partition().delete_records(1)
    for offset in (0, 4, -7):
        outcome = fetch_now(broker, ask(offset), max_wait_ms=500)
        assert outcome.reason is FetchReason.ERROR
        result = outcome.results[0]
        assert result.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert (result.high_watermark, result.last_stable_offset, result.log_start_offset) == (-1, -1, -1)
    assert read_now(broker, ask(1)).log_start_offset == 1


def test_f14_at_the_bound_and_between_bound_and_log_end_is_empty_without_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log_class = open_log_class(monkeypatch)
    broker = Broker(0)
    broker.create("events", TOPIC_ID, 1, replicas=[1, 2])
    for _ in range(3):
        broker.append()

    def no_read(*args: object, **options: object) -> None:
        pytest.fail("read at or beyond the bound")

    monkeypatch.setattr(log_class, "read", no_read)
    for offset in (0, 1, 3):
        result = read_now(broker, ask(offset))
        assert (result.error_code, size(result), result.high_watermark) == (ErrorCode.NONE, 0, 0)


@pytest.mark.parametrize(
    ("asked", "params", "reason"),
    [
        ((ask(0),), {"max_wait_ms": 0}, FetchReason.NO_WAIT),
        ((ask(0),), {"max_wait_ms": -1}, FetchReason.NO_WAIT),
        ((), {}, FetchReason.NOTHING_REQUESTED),
        ((ask(0, 1),), {}, FetchReason.ENOUGH_BYTES),
        ((ask(0),), {"min_bytes": 0}, FetchReason.ENOUGH_BYTES),
        ((ask(0), ask(0, 9)), {}, FetchReason.ERROR),
        ((ask(0), ask(1, 1, last_fetched_epoch=7)), {"min_bytes": 1 << 20}, FetchReason.ERROR),
        ((ask(7, last_fetched_epoch=0),), {}, FetchReason.DIVERGING_EPOCH),
    ],
)
def test_f15_answered_at_once(asked: tuple[object, ...], params: dict[str, int], reason: FetchReason) -> None:
    broker = Broker(2)
    broker.append(1)
    params.setdefault("max_wait_ms", 500)
    assert fetch_now(broker, *asked, **params).reason is reason
    assert broker.parked == 0


def test_f15_otherwise_it_waits() -> None:
    broker = Broker(2)
    broker.append(1)
    assert broker.fetch(ask(0), ask(0, 1), min_bytes=BATCH_BYTES + 1) == []
    assert broker.parked == 1


def diverged() -> Broker:
    """Epoch 0 wrote offsets 0-2, epoch 3 wrote 3-4, epoch 5 wrote 5."""
    broker = Broker()
    for epoch, count in ((0, 3), (3, 2), (5, 1)):
        broker.replay(broker.partition_record(0, leader_epoch=epoch, partition_epoch=epoch))
        for _ in range(count):
            broker.append()
    return broker


@pytest.mark.parametrize(
    ("last_epoch", "offset", "diverging"),
    [
        (0, 3, None),
        (0, 4, (0, 3)),  # epoch 0 ended before that
        (1, 3, (0, 3)),  # we know no epoch 1: the largest below it
        (3, 5, None),
        (3, 6, (3, 5)),
        (4, 5, (3, 5)),
        (5, 6, None),
    ],
)
def test_f16_diverging_epochs(last_epoch: int, offset: int, diverging: tuple[int, int] | None) -> None:
    broker = diverged()
    outcome = fetch_now(broker, ask(offset, last_fetched_epoch=last_epoch), max_wait_ms=500, min_bytes=0)
    result = outcome.results[0]
    assert result.error_code == ErrorCode.NONE
    assert result.diverging_epoch == diverging
    if diverging is not None:
        assert size(result) == 0
        waiting = fetch_now(
            broker, ask(offset, last_fetched_epoch=last_epoch), max_wait_ms=500, min_bytes=1 << 20
        )
        assert waiting.reason is FetchReason.DIVERGING_EPOCH, "answered at once (F15)"
        assert result.high_watermark == 6


def test_f16_undetermined_ends_and_offsets_below_the_log_start_are_out_of_range() -> None:
    broker = diverged()
    assert read_now(broker, ask(3, last_fetched_epoch=9)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    broker.partition().delete_records(4)
    assert read_now(broker, ask(2, last_fetched_epoch=1)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_f20_a_high_watermark_from_the_checkpoint_gets_its_position_before_reading() -> None:
    broker = Broker(0)
    broker.logs.high_watermarks["events", 0] = 2
    log = broker.logs.get_or_create("events", 0, TOPIC_ID, LogConfig())
    for _ in range(4):
        log.append([batch()], leader_epoch=0)
    # This broker follows, so nothing but the checkpoint tells the high watermark.
    broker.create("events", TOPIC_ID, 1, leader=2, replicas=[1, 2])
    result = read_now(broker, ask(0))
    assert result.high_watermark == 2
    assert size(result) == 2 * BATCH_BYTES


def test_a_checkpointed_high_watermark_is_brought_into_the_range_of_the_log() -> None:
    for checkpointed, expected in ((99, 4), (0, 1), (3, 3)):
        broker = Broker(0)
        broker.logs.high_watermarks["events", 0] = checkpointed
        log = broker.logs.get_or_create("events", 0, TOPIC_ID, LogConfig())
        for _ in range(4):
            log.append([batch()], leader_epoch=0)
        log.advance_log_start(1)
        broker.create("events", TOPIC_ID, 1, leader=2, replicas=[1, 2])
        assert broker.partition().high_watermark == expected


def test_f22_an_answer_that_nobody_sends_gives_its_slices_back() -> None:
    broker = Broker(2)
    broker.append(0)
    broker.append(1)
    leased = [broker.partition(n).log.segments.active.leased for n in range(2)]
    outcome = fetch_now(broker, ask(0, 0), ask(0, 1))
    assert [one.holders for one in leased] == [2, 2]
    outcome.release()
    outcome.release()
    assert [one.holders for one in leased] == [1, 1]


def test_f22_slices_read_before_a_fault_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    log_class = open_log_class(monkeypatch)
    broker = Broker(2)
    broker.append(0)
    broker.append(1)
    leased = broker.partition(0).log.segments.active.leased

    whole = log_class.read

    def broken(log: Log, *args: Any, **options: Any) -> FetchDataInfo:
        if log.partition == 1:
            raise RuntimeError("broken")
        return whole(log, *args, **options)

    monkeypatch.setattr(log_class, "read", broken)
    with pytest.raises(RuntimeError, match="broken"):
        broker.fetch(ask(0, 0), ask(0, 1))
    assert leased.holders == 1
