"""Produce through the replica layer: acks, waiting for replicas, errors (P1-P4, F29)."""

from typing import Any

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.base.uuids import NULL_UUID
from barnabas.protocol import messages
from barnabas.replica.fetch import FetchIsolation
from barnabas.replica.produce import AppendOutcome, AppendPartition, AppendReason
from barnabas.storage.log_config import LogConfig, TimestampType
from barnabas.storage.producer_state.states import AppendOrigin

from .broker_setup import TOPIC_ID, Broker, ask, batch


def the_one(outcomes: list[AppendOutcome]) -> AppendOutcome:
    assert len(outcomes) == 1, "answered exactly once"
    return outcomes[0]


def replicated(min_insync_replicas: int = 1, isr: tuple[int, ...] = (1, 2)) -> Broker:
    broker = Broker(0, config=LogConfig(min_insync_replicas=min_insync_replicas))
    broker.create("events", TOPIC_ID, 1, replicas=[1, 2], isr=isr)
    return broker


def follow(broker: Broker, offset: int, **more: Any) -> None:
    """A fetch of replica 2: it has everything before `offset`."""
    broker.fetch(
        ask(offset, **more),
        replica_id=2,
        isolation=FetchIsolation.LOG_END,
        client_metadata=None,
        max_wait_ms=0,
    )
    broker.settle()


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_p1_with_one_replica_every_acks_is_answered_after_the_local_append(acks: int) -> None:
    broker = Broker()
    broker.append()
    outcome = the_one(broker.append(records=batch(3), acks=acks, settle=False))
    result = outcome.results[0]
    assert outcome.reason is AppendReason.APPENDED
    assert not outcome.has_error
    assert (result.base_offset, result.last_offset, result.log_start_offset) == (1, 3, 0)
    assert outcome.parked_us == -1
    assert broker.partition().high_watermark == 4


@pytest.mark.parametrize("acks", [2, -2, 100])
def test_p1_other_acks_are_refused_and_nothing_is_appended(acks: int) -> None:
    broker = Broker()
    outcome = the_one(broker.append(acks=acks))
    assert outcome.results[0].error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert outcome.has_error
    assert broker.partition().log.log_end_offset == 0


def test_p1_acks_all_waits_until_the_high_watermark_has_passed() -> None:
    broker = replicated()
    outcomes = broker.append(acks=-1)
    acks_one = the_one(broker.append(acks=1))
    assert acks_one.results[0].error_code == ErrorCode.NONE
    follow(broker, 0)
    assert outcomes == []
    broker.clock.advance_ms(7)
    follow(broker, 1)
    outcome = the_one(outcomes)
    assert outcome.reason is AppendReason.REPLICATED
    assert outcome.results[0].error_code == ErrorCode.NONE
    assert outcome.results[0].base_offset == 0
    assert outcome.answered_us - outcome.parked_us == 7_000
    assert broker.partition().high_watermark == 1


def test_p1_acks_all_times_out_with_the_records_in_place() -> None:
    broker = replicated()
    outcomes = broker.append(acks=-1, timeout_ms=100)
    broker.pass_ms(99)
    assert outcomes == []
    broker.pass_ms(1)
    outcome = the_one(outcomes)
    assert outcome.reason is AppendReason.TIMEOUT
    assert outcome.results[0].error_code == ErrorCode.REQUEST_TIMED_OUT
    assert broker.partition().log.log_end_offset == 1


def test_p1_too_few_in_sync_replicas_refuse_acks_all_before_the_append_and_only_that() -> None:
    broker = replicated(min_insync_replicas=2, isr=(1,))
    assert the_one(broker.append(acks=-1)).results[0].error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert broker.partition().log.log_end_offset == 0
    assert the_one(broker.append(acks=1)).results[0].error_code == ErrorCode.NONE
    assert broker.partition().high_watermark == 0, "below min.insync.replicas the HW stays (KIP-966)"
    assert broker.manager.statistics().under_min_isr_partition_count == 1


def test_p1_an_isr_that_shrinks_after_the_append_is_told() -> None:
    broker = replicated(min_insync_replicas=2)
    outcomes = broker.append(acks=-1)
    follow(broker, 1)
    assert the_one(outcomes).results[0].error_code == ErrorCode.NONE
    late = broker.append(acks=-1)
    partition = broker.partition()
    partition.followers[2].log_end_offset_metadata = partition.log.log_end_offset_metadata
    partition.maybe_advance_high_watermark()
    broker.replay(broker.partition_record(0, partition_epoch=1, replicas=[1, 2], isr=[1]))
    broker.settle()
    assert the_one(late).results[0].error_code == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


def test_p1_min_insync_replicas_above_the_replica_count_does_not_block_a_single_replica() -> None:
    broker = Broker(config=LogConfig(min_insync_replicas=3))
    assert the_one(broker.append(acks=-1)).results[0].error_code == ErrorCode.NONE


def test_a_waiting_produce_hears_of_leadership_lost_and_of_deletion() -> None:
    broker = replicated()
    outcomes = broker.append(acks=-1)
    broker.replay(broker.partition_record(0, leader=2, leader_epoch=1, partition_epoch=1, replicas=[1, 2]))
    broker.settle()
    assert the_one(outcomes).results[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    broker = replicated()
    outcomes = broker.append(acks=-1)
    broker.replay(messages.RemoveTopicRecord(topic_id=TOPIC_ID))
    broker.settle()
    assert the_one(outcomes).results[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_f31_a_producer_that_leaves_while_waiting_hears_nothing() -> None:
    broker = replicated()
    outcomes = broker.append(acks=-1, owner="connection")
    assert broker.manager.connection_gone("connection") == 1
    follow(broker, 1)
    broker.pass_ms(5_000)
    assert outcomes == []
    assert broker.manager.waiting_statistics().produce_purgatory.num_delayed_operations == 0


def test_results_are_per_partition_and_in_request_order() -> None:
    broker = Broker(2)
    outcomes: list[AppendOutcome] = []
    broken = bytearray(batch())
    broken[-1] ^= 1
    broker.manager.append(
        acks=-1,
        timeout_ms=1_000,
        partitions=[
            AppendPartition("events", NULL_UUID, 1, batch()),
            AppendPartition("events", NULL_UUID, 5, batch()),
            AppendPartition("events", NULL_UUID, 0, broken),
            AppendPartition("events", bytes(15) + b"\xee", 0, batch()),
            AppendPartition("", bytes(15) + b"\xee", 0, batch()),
            AppendPartition("events", TOPIC_ID, 0, batch()),
        ],
        respond=outcomes.append,
    )
    outcome = the_one(outcomes)
    assert [result.error_code for result in outcome.results] == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.NONE,
    ]
    assert [result.base_offset for result in outcome.results] == [0, -1, -1, -1, -1, 0]
    assert outcome.has_error


def test_only_the_broker_itself_writes_internal_topics() -> None:
    broker = Broker(0)
    broker.create("__consumer_offsets", TOPIC_ID, 1)
    for origin, expected in (
        (AppendOrigin.CLIENT, ErrorCode.INVALID_TOPIC_EXCEPTION),
        (AppendOrigin.COORDINATOR, ErrorCode.NONE),
    ):
        outcomes: list[AppendOutcome] = []
        broker.manager.append(
            acks=-1,
            timeout_ms=1_000,
            partitions=[AppendPartition("__consumer_offsets", NULL_UUID, 0, batch())],
            respond=outcomes.append,
            origin=origin,
        )
        assert the_one(outcomes).results[0].error_code == expected


def test_p2_what_validation_refuses_is_told_with_the_records() -> None:
    broker = Broker(config=LogConfig(cleanup_policy=frozenset({"compact"})))
    result = the_one(broker.append(records=batch(2))).results[0]
    assert result.error_code == ErrorCode.INVALID_RECORD
    assert [error.batch_index for error in result.record_errors] == [0, 1]
    assert result.error_message
    assert broker.partition().log.log_end_offset == 0


def test_p2_a_changed_topic_configuration_holds_from_the_next_append_on() -> None:
    broker = Broker()
    broker.append()
    broker.configs["events"] = LogConfig(max_message_bytes=20)
    broker.replay(
        messages.ConfigRecord(resource_type=2, resource_name="events", name="max.message.bytes", value="20")
    )
    assert the_one(broker.append()).results[0].error_code == ErrorCode.MESSAGE_TOO_LARGE


def test_p3_log_append_time_is_stamped_and_told() -> None:
    broker = Broker(config=LogConfig(message_timestamp_type=TimestampType.LOG_APPEND_TIME))
    broker.clock.advance_ms(1_234)
    result = the_one(broker.append()).results[0]
    assert result.log_append_time_ms == broker.clock.wall_ms()


def test_p4_a_duplicate_is_answered_with_the_old_offsets_and_waits_like_the_first() -> None:
    broker = replicated()
    records = batch(2, producer_id=7, producer_epoch=0, base_sequence=0)
    first = broker.append(records=records, acks=-1)
    again = broker.append(records=records, acks=-1)
    assert first == []
    assert again == []
    follow(broker, 2)
    assert the_one(first).results[0].base_offset == the_one(again).results[0].base_offset == 0
    assert broker.partition().log.log_end_offset == 2


def test_shutdown_answers_a_waiting_produce() -> None:
    broker = replicated()
    outcomes = broker.append(acks=-1)
    broker.manager.shutdown()
    assert the_one(outcomes).reason is AppendReason.SHUTDOWN
    assert outcomes[0].results[0].error_code == ErrorCode.REQUEST_TIMED_OUT
