"""ListOffsets, OffsetForLeaderEpoch, DeleteRecords, followers, and which partitions are hosted."""

from typing import Any

import pytest

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.metadata.image import (
    DIRECTORY_LOST,
    DIRECTORY_UNASSIGNED,
    BrokerRegistration,
    MetadataDelta,
    PartitionImage,
)
from barnabas.metadata.records import VersionedRecord
from barnabas.protocol import messages
from barnabas.replica.fetch import FetchIsolation
from barnabas.replica.hosted_partitions import DELETED_PER_TURN, FIRST_TURN_MS, OPENED_PER_TURN
from barnabas.replica.offset_requests import (
    DeleteRecordsPartition,
    DeleteRecordsResult,
    EpochEndOffset,
    LeaderEpochPartition,
    ListOffsetsParams,
    ListOffsetsPartition,
    ListOffsetsResult,
)
from barnabas.replica.partition_state import TRANSITIONS, PartitionState
from barnabas.storage.log_config import LogConfig

from .broker_setup import LOCAL_ID, TOPIC_ID, Broker, api_error, ask, batch

NONE = ErrorCode.NONE
OTHER_ID = bytes(15) + b"\x77"


def list_one(broker: Broker, timestamp: int, number: int = 0, **params: Any) -> ListOffsetsResult:
    epoch = params.pop("current_leader_epoch", -1)
    params.setdefault("version", 10)
    asked = ListOffsetsPartition(
        topic="events", partition=number, timestamp=timestamp, current_leader_epoch=epoch
    )
    return answered(broker, ListOffsetsParams(**params), asked)[0]


def answered(
    broker: Broker, params: ListOffsetsParams, *asked: ListOffsetsPartition
) -> list[ListOffsetsResult]:
    """Return the answer, which nothing holds up here."""
    answers: list[list[ListOffsetsResult]] = []
    broker.manager.list_offsets(params, asked, answers.append)
    (results,) = answers
    return results


def replicated(**options: Any) -> Broker:
    broker = Broker(0, **options)
    broker.create("events", TOPIC_ID, 1, replicas=[1, 2])
    return broker


def follow(broker: Broker, offset: int, *, log_start: int = 0, epoch: int = -1, **asked: Any) -> list[Any]:
    outcomes = broker.fetch(
        ask(offset, log_start_offset=log_start, **asked),
        replica_id=2,
        replica_epoch=epoch,
        isolation=FetchIsolation.LOG_END,
        client_metadata=None,
        max_wait_ms=0,
    )
    broker.settle()
    return outcomes


def test_list_offsets_latest_earliest_and_by_time() -> None:
    broker = Broker()
    for _ in range(3):
        broker.append()
    broker.partition().delete_records(1)
    assert list_one(broker, -1) == ListOffsetsResult(offset=3, leader_epoch=0)
    assert list_one(broker, -2).offset == 1
    found = list_one(broker, 1_700_000_000_000)
    assert (found.error_code, found.offset, found.timestamp) == (NONE, 1, 1_700_000_000_000)
    assert list_one(broker, 1_700_000_000_001) == ListOffsetsResult()


def test_list_offsets_by_isolation_and_replica() -> None:
    broker = replicated()
    broker.append()
    assert list_one(broker, -1).offset == 0, "consumers hear of nothing beyond the high watermark"
    assert list_one(broker, 1_700_000_000_000) == ListOffsetsResult()
    assert list_one(broker, -1, replica_id=2).offset == 1
    follow(broker, 1)
    broker.append(records=batch(producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True))
    follow(broker, 2)
    assert list_one(broker, -1).offset == 2
    assert list_one(broker, -1, read_committed=True).offset == 1


def test_list_offsets_while_the_high_watermark_lags_behind_the_leader_epoch() -> None:
    broker = replicated()
    broker.append()
    broker.replay(broker.partition_record(0, leader_epoch=1, partition_epoch=1, replicas=[1, 2]))
    assert list_one(broker, -1, version=5).error_code == ErrorCode.OFFSET_NOT_AVAILABLE
    assert list_one(broker, -1, version=4).error_code == ErrorCode.LEADER_NOT_AVAILABLE
    assert list_one(broker, 1_700_000_000_000).error_code == ErrorCode.OFFSET_NOT_AVAILABLE
    assert list_one(broker, -2).error_code == NONE
    assert list_one(broker, -1, replica_id=2).error_code == NONE


def test_list_offsets_errors() -> None:
    broker = Broker()
    assert list_one(broker, -1, number=5).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert list_one(broker, -1, current_leader_epoch=3).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    asked = ListOffsetsPartition(topic="events", partition=0, timestamp=-1)
    twice = answered(broker, ListOffsetsParams(version=5), asked, asked)
    assert [result.error_code for result in twice] == [ErrorCode.INVALID_REQUEST] * 2


def test_f16_offset_for_leader_epoch() -> None:
    broker = Broker()
    for epoch in (0, 2):
        broker.replay(broker.partition_record(0, leader_epoch=epoch, partition_epoch=epoch))
        broker.append()

    def end(epoch: int, current: int = -1, number: int = 0) -> EpochEndOffset:
        asked = LeaderEpochPartition(
            topic="events", partition=number, leader_epoch=epoch, current_leader_epoch=current
        )
        return broker.manager.offset_for_leader_epoch([asked])[0]

    assert end(0) == EpochEndOffset(leader_epoch=0, end_offset=1)
    assert end(1) == EpochEndOffset(leader_epoch=0, end_offset=1)
    assert end(2) == EpochEndOffset(leader_epoch=2, end_offset=2)
    assert end(3) == EpochEndOffset(leader_epoch=-1, end_offset=-1)
    assert end(2, current=1).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert end(0, number=7).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def delete(broker: Broker, offset: int, topic: str = "events") -> list[list[DeleteRecordsResult]]:
    answers: list[list[DeleteRecordsResult]] = []
    asked = DeleteRecordsPartition(topic=topic, partition=0, offset=offset)
    broker.manager.delete_records(500, [asked], answers.append, "connection")
    return answers


def test_delete_records_with_one_replica_answers_at_once() -> None:
    broker = Broker()
    for _ in range(3):
        broker.append()
    ((two,),) = delete(broker, 2)
    assert (two.error_code, two.low_watermark) == (NONE, 2)
    ((all_of_it,),) = delete(broker, -1)
    assert (all_of_it.error_code, all_of_it.low_watermark) == (NONE, 3)
    for wrong in (4, -2):
        ((refused,),) = delete(broker, wrong)
        assert (refused.error_code, refused.low_watermark) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)


def test_delete_records_is_refused_where_records_are_only_compacted_and_in_internal_topics() -> None:
    broker = Broker(config=LogConfig(cleanup_policy=frozenset({"compact"})))
    assert delete(broker, 0)[0][0].error_code == ErrorCode.POLICY_VIOLATION
    broker.create("__consumer_offsets", bytes(15) + b"\xee", 1)
    assert delete(broker, 0, "__consumer_offsets")[0][0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_f29_delete_records_waits_for_followers_and_is_woken_by_theirs() -> None:
    broker = replicated()
    broker.append()
    follow(broker, 1)
    answers = delete(broker, 1)
    assert answers == []
    follow(broker, 1, log_start=1)
    ((done,),) = answers
    assert (done.error_code, done.low_watermark) == (NONE, 1)


def test_delete_records_times_out_when_a_follower_does_not_follow() -> None:
    broker = replicated()
    broker.append()
    follow(broker, 1)
    answers = delete(broker, 1)
    broker.pass_ms(500)
    ((late,),) = answers
    assert (late.error_code, late.low_watermark) == (ErrorCode.REQUEST_TIMED_OUT, -1)
    assert broker.partition().log.log_start_offset == 1


def test_f29_a_follower_that_catches_up_moves_the_high_watermark_and_wakes_consumers() -> None:
    broker = replicated()
    broker.append()
    consumer = broker.fetch(ask(0))
    assert consumer == []
    follow(broker, 1)
    assert len(consumer) == 1
    assert consumer[0].results[0].high_watermark == 1


def test_followers_outside_the_isr_do_not_hold_the_high_watermark_back() -> None:
    broker = Broker(0)
    broker.create("events", TOPIC_ID, 1, replicas=[1, 2, 3], isr=[1, 2])
    broker.append()
    follow(broker, 1)
    partition = broker.partition()
    assert partition.high_watermark == 1
    assert not partition.may_join_isr(partition.followers[3])
    partition.followers[3].log_end_offset_metadata = partition.log.log_end_offset_metadata
    assert partition.may_join_isr(partition.followers[3])


def test_followers_that_fall_behind_are_named_after_the_lag_time() -> None:
    broker = replicated()
    partition = broker.partition()
    broker.append()
    broker.clock.advance_ms(1_000)
    assert partition.out_of_sync_replicas(broker.clock.monotonic_ms(), 1_000) == ()
    broker.clock.advance_ms(1)
    assert partition.out_of_sync_replicas(broker.clock.monotonic_ms(), 1_000) == (2,)
    follow(broker, 1)
    assert partition.out_of_sync_replicas(broker.clock.monotonic_ms(), 1_000) == ()


def test_fetches_of_strangers_and_of_an_earlier_life_are_refused() -> None:
    broker = replicated()
    broker.append()
    (outcome,) = follow(broker, 0, epoch=7)
    assert outcome.results[0].error_code == NONE
    (outcome,) = follow(broker, 1, epoch=6)
    assert outcome.results[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert broker.partition().high_watermark == 0
    partition = broker.partition()
    assert api_error(lambda: partition.follower_for(ask(0), 9)) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    known_epoch = ask(0, current_leader_epoch=0)
    assert api_error(lambda: partition.follower_for(known_epoch, 9)) is ErrorCode.UNKNOWN_LEADER_EPOCH


def test_an_older_partition_epoch_changes_nothing() -> None:
    broker = Broker()
    broker.replay(broker.partition_record(0, leader_epoch=3, partition_epoch=3))
    partition = broker.partition()
    partition.apply_leadership(
        leader_id=2, leader_epoch=2, partition_epoch=2, replicas=[1, 2], isr=[2], now_ms=0
    )
    assert (partition.leader_id, partition.leader_epoch) == (1, 3)


def test_partitions_come_and_go_with_the_metadata() -> None:
    broker = Broker(2)
    assert len(broker.manager.partitions) == 2
    broker.replay(broker.partition_record(2), broker.partition_record(3, leader=2, replicas=[2]))
    assert sorted(number for _, number in broker.manager.partitions.by_name) == [0, 1, 2]
    statistics = broker.manager.statistics()
    assert (statistics.partition_count, statistics.leader_count) == (3, 3)
    broker.replay(messages.RemoveTopicRecord(topic_id=TOPIC_ID))
    assert len(broker.manager.partitions) == 0
    assert sorted(broker.logs.deleted) == [("events", 0), ("events", 1), ("events", 2)]


def test_many_new_partitions_are_opened_over_several_turns() -> None:
    setup = Broker(0)
    opened: list[tuple[bytes, int]] = []
    setup.manager.partitions.on_opened = opened.extend
    count = 3 * OPENED_PER_TURN
    setup.create("many", OTHER_ID, count)
    hosted = setup.manager.partitions
    assert len(hosted) == OPENED_PER_TURN
    last = ("many", count - 1)
    assert hosted.missing_error(*last) is ErrorCode.NOT_LEADER_OR_FOLLOWER, "clients try again"
    setup.turn()
    assert len(hosted) == 2 * OPENED_PER_TURN
    setup.settle()
    assert len(hosted) == count
    assert opened == [(OTHER_ID, number) for number in range(OPENED_PER_TURN, count)]
    assert hosted.get(*last).is_leader


def test_many_deleted_partitions_go_over_several_turns() -> None:
    setup = Broker(0)
    count = 2 * DELETED_PER_TURN + 5
    setup.create("many", OTHER_ID, count)
    setup.settle()
    setup.replay(messages.RemoveTopicRecord(topic_id=OTHER_ID))
    assert len(setup.manager.partitions) == 0, "nobody reads of them any more"
    assert len(setup.logs.deleted) == DELETED_PER_TURN
    setup.turn()
    assert len(setup.logs.deleted) == 2 * DELETED_PER_TURN
    setup.settle()
    assert setup.logs.deleted == [("many", number) for number in range(count)]


def test_a_slow_disk_lets_fewer_partitions_come_and_go_in_a_turn() -> None:
    setup = Broker(0)
    hosted = setup.manager.partitions
    setup.logs.takes_ms = 6
    setup.create("many", OTHER_ID, 30)
    assert len(hosted) == FIRST_TURN_MS // 6
    setup.turn()
    assert len(hosted) == FIRST_TURN_MS // 6 + 3
    setup.settle()
    assert len(hosted) == 30
    setup.replay(messages.RemoveTopicRecord(topic_id=OTHER_ID))
    assert len(setup.logs.deleted) == 3
    setup.turn()
    assert len(setup.logs.deleted) == 6
    setup.settle()
    assert len(setup.logs.deleted) == 30


def test_a_topic_that_is_made_again_finds_no_log_of_the_old_one() -> None:
    setup = Broker(0)
    count = 2 * DELETED_PER_TURN
    setup.create("many", OTHER_ID, count)
    setup.settle()
    setup.replay(messages.RemoveTopicRecord(topic_id=OTHER_ID))
    setup.create("many", TOPIC_ID, count)
    setup.settle()
    assert sorted(setup.logs.deleted) == [("many", number) for number in range(count)]
    assert {log.topic_id for log in setup.logs.logs.values()} == {TOPIC_ID}
    assert not setup.logs.aside


def test_a_stop_takes_away_what_waits_for_it() -> None:
    setup = Broker(0)
    setup.create("many", OTHER_ID, DELETED_PER_TURN + 1)
    setup.settle()
    setup.replay(messages.RemoveTopicRecord(topic_id=OTHER_ID))
    setup.manager.shutdown()
    assert len(setup.logs.deleted) == DELETED_PER_TURN + 1


def test_what_is_deleted_or_changed_before_its_turn_is_not_opened_then() -> None:
    setup = Broker(0)
    setup.create("many", OTHER_ID, 2 * OPENED_PER_TURN)
    last = 2 * OPENED_PER_TURN - 1
    setup.replay(messages.PartitionChangeRecord(partition_id=last, topic_id=OTHER_ID, leader=LOCAL_ID))
    assert setup.partition(last, "many").is_leader
    kept = setup.partition(last, "many")
    setup.replay(messages.RemoveTopicRecord(topic_id=OTHER_ID))
    setup.create("many", TOPIC_ID, 1)
    setup.settle()
    assert list(setup.manager.partitions.by_name) == [("many", 0)]
    assert kept not in setup.manager.partitions.by_name.values()


def test_start_opens_what_the_image_holds_and_takes_checkpointed_high_watermarks() -> None:
    broker = Broker(0)
    delta = MetadataDelta()
    for record in (messages.TopicRecord(name="events", topic_id=TOPIC_ID), broker.partition_record(0)):
        broker.image.replay(VersionedRecord(record), delta)
    broker.manager.start()
    assert broker.partition().is_leader
    broker.append()
    broker.manager.checkpoint_high_watermarks()
    assert broker.logs.checkpointed == [{("events", 0): 1}]


def test_start_sets_logs_aside_that_the_metadata_does_not_know() -> None:
    broker = Broker(0)
    for topic, topic_id in (("events", bytes(15) + b"\xaa"), ("gone", bytes(15) + b"\xbb")):
        broker.logs.get_or_create(topic, 0, topic_id, LogConfig()).append([batch()], leader_epoch=0)
    delta = MetadataDelta()
    for record in (messages.TopicRecord(name="events", topic_id=TOPIC_ID), broker.partition_record(0)):
        broker.image.replay(VersionedRecord(record), delta)
    broker.manager.start()
    assert broker.logs.aside == [("events", 0), ("gone", 0)]
    assert broker.partition().log.log_end_offset == 0, (
        "the records of another topic of that name are not ours"
    )


def test_start_goes_on_with_a_deletion_in_which_the_last_run_was_killed() -> None:
    broker = Broker(0)
    gone, unknown = bytes(15) + b"\xaa", bytes(15) + b"\xbb"
    for topic, topic_id in (("events", gone), ("gone", gone), ("unknown", unknown)):
        broker.logs.get_or_create(topic, 0, topic_id, LogConfig()).append([batch()], leader_epoch=0)
    broker.logs.get_or_create("empty", 0, None, LogConfig())  # its id is written with its first record
    delta = MetadataDelta()
    for record in (
        messages.TopicRecord(name="events", topic_id=gone),
        messages.RemoveTopicRecord(topic_id=gone),
        messages.TopicRecord(name="events", topic_id=TOPIC_ID),
        broker.partition_record(0),
    ):
        broker.image.replay(VersionedRecord(record), delta)
    broker.manager.partitions.deleted_topic_ids = delta.topic_ids_deleted
    broker.manager.start()
    assert broker.logs.deleted == [("events", 0), ("gone", 0), ("empty", 0)]
    assert broker.logs.aside == [("unknown", 0)]
    assert broker.partition().log.log_end_offset == 0


def test_a_log_that_cannot_be_deleted_does_not_stop_the_others() -> None:
    broker = Broker(2)
    waiting = broker.fetch(ask(0, 1))
    broker.logs.delete_error = ApiError(ErrorCode.KAFKA_STORAGE_ERROR)
    broker.replay(messages.RemoveTopicRecord(topic_id=TOPIC_ID))
    broker.settle()
    assert waiting[0].results[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert len(broker.manager.partitions) == 0


def test_retention_asks_for_the_high_watermark() -> None:
    broker = replicated()
    broker.append()
    assert broker.manager.partitions.high_watermark(("events", 0)) == 0
    assert broker.manager.partitions.high_watermark(("events", 9)) is None


def test_a_partition_whose_log_cannot_be_opened_is_offline_and_not_unknown() -> None:
    broker = Broker()
    broker.logs.directory.failed(OSError(28, "No space left on device"), "testing")
    broker.create("other", bytes(15) + b"\xee", 1)
    outcomes = broker.fetch(ask(0, topic="other"), max_wait_ms=0)
    assert outcomes[0].results[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert broker.manager.statistics().offline_partition_count == 2
    broker.manager.checkpoint_high_watermarks()
    assert broker.logs.checkpointed == [{}]


def test_a_state_is_left_only_as_the_table_says() -> None:
    partition = Broker().partition()
    partition.become(PartitionState.OFFLINE)
    with pytest.raises(AssertionError):
        partition.become(PartitionState.ONLINE)
    partition.become(PartitionState.DELETED)
    assert set(TRANSITIONS) == set(PartitionState)
    assert not TRANSITIONS[PartitionState.DELETED]


def test_offline_replicas_are_those_without_a_broker_or_a_directory() -> None:
    broker = Broker()
    good = bytes(15) + b"\x77"

    def registered(broker_id: int, **more: Any) -> None:
        broker.image.brokers[broker_id] = BrokerRegistration(
            broker_id=broker_id,
            broker_epoch=1,
            incarnation_id=bytes(16),
            endpoints=(),
            features={},
            log_dirs=(good,),
            **{"fenced": False, **more},
        )

    registered(1)
    registered(2, fenced=True)
    registered(3)
    registered(4)
    registered(6)
    partition = PartitionImage(
        partition=0,
        replicas=(1, 2, 3, 4, 5, 6),
        directories=(good, good, DIRECTORY_LOST, bytes(15) + b"\x66", good, DIRECTORY_UNASSIGNED),
        isr=(1,),
        leader=1,
        leader_epoch=0,
        partition_epoch=0,
    )
    assert broker.manager.offline_replicas(partition) == [2, 3, 4, 5]


def test_f2b_the_compression_type_is_known_for_old_readers_of_zstd() -> None:
    broker = Broker(config=LogConfig(compression_type="zstd"))
    assert broker.manager.compression_type("events", 0) == "zstd"
    assert broker.manager.compression_type("unknown", 0) == "producer"
