"""`flush.messages`: nothing is acknowledged or shown before it is synced, and appends share syncs."""

import errno
from typing import Any

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.base.uuids import NULL_UUID
from barnabas.metadata.image import MetadataDelta
from barnabas.protocol import messages
from barnabas.protocol.control_records import ControlType, build_end_txn_batch
from barnabas.replica.fetch import FetchIsolation, FetchReason
from barnabas.replica.produce import AppendOutcome, AppendPartition, AppendReason
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.producer_state.states import AppendOrigin

from .broker_setup import BATCH_BYTES, TOPIC, TOPIC_ID, ask, batch
from .flushed_setup import FlushedBroker
from .test_session_partitions import COUNT, Reader

EIO = OSError(errno.EIO, "Input/output error")


def code(outcomes: list[AppendOutcome]) -> ErrorCode:
    assert len(outcomes) == 1, "answered exactly once"
    return outcomes[0].results[0].error_code


def shown(broker: FlushedBroker, offset: int = 0, **params: Any) -> int:
    """Bytes that a consumer gets now."""
    (outcome,) = broker.fetch(ask(offset), max_wait_ms=0, **params)
    for result in outcome.results:
        if result.records is not None:
            result.records.release()
    return outcome.records_bytes


# Answers


@pytest.mark.parametrize("acks", [1, -1])
def test_p1_an_append_is_acknowledged_when_it_is_synced_and_not_before(acks: int) -> None:
    broker = FlushedBroker()
    outcomes = broker.append(acks=acks)
    broker.pass_ms(60_000)
    assert outcomes == []
    assert len(broker.syncs.waiting) == 1
    broker.syncs.end()
    broker.settle()
    assert code(outcomes) is ErrorCode.NONE
    assert outcomes[0].reason in (AppendReason.SYNCED, AppendReason.REPLICATED)
    assert outcomes[0].results[0].base_offset == 0
    assert outcomes[0].answered_us - outcomes[0].parked_us == 60_000_000


def test_p1_acks_0_waits_for_nothing() -> None:
    broker = FlushedBroker()
    assert code(broker.append(acks=0)) is ErrorCode.NONE
    assert broker.end_syncs() == 1
    assert shown(broker) == BATCH_BYTES


def test_without_flush_messages_nothing_is_synced_or_waited_for() -> None:
    broker = FlushedBroker(config=LogConfig())
    assert code(broker.append(acks=-1, settle=False)) is ErrorCode.NONE
    assert broker.syncs.begun == 0
    assert broker.partition().high_watermark == 1


def test_an_answer_waits_for_each_of_its_partitions() -> None:
    broker = FlushedBroker(2)
    outcomes: list[AppendOutcome] = []
    asked = [AppendPartition(TOPIC, NULL_UUID, number, batch()) for number in (1, 0, 7)]
    broker.manager.append(acks=1, timeout_ms=9, partitions=asked, respond=outcomes.append)
    broker.settle()
    broker.syncs.end(1)
    broker.settle()
    assert outcomes == []
    broker.syncs.end()
    broker.settle()
    assert [result.error_code for result in outcomes[0].results] == [
        ErrorCode.NONE, ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]  # fmt: skip


def test_a_producer_that_leaves_meanwhile_hears_nothing() -> None:
    broker = FlushedBroker()
    outcomes = broker.append(owner="connection")
    assert broker.manager.connection_gone("connection") == 1
    broker.end_syncs()
    assert outcomes == []
    assert shown(broker) == BATCH_BYTES


# Group commit


def test_appends_of_one_turn_share_a_sync() -> None:
    broker = FlushedBroker()
    waiting = [broker.append(settle=False) for _ in range(20)]
    broker.settle()
    assert broker.syncs.begun == 1
    broker.synced.clear()
    assert broker.end_syncs() == 1
    assert [code(outcomes) for outcomes in waiting] == [ErrorCode.NONE] * 20
    assert len(broker.synced) <= 1, "one file, one sync"
    statistics = broker.group_commit.statistics()
    assert (statistics.appends, statistics.rounds, statistics.syncs) == (20, 1, 1)


def test_partitions_of_one_turn_are_synced_side_by_side() -> None:
    broker = FlushedBroker(3)
    waiting = [broker.append(number, settle=False) for number in (0, 1, 2, 1, 0)]
    assert broker.syncs.begun == 0, "the turn is not over"
    broker.turn()
    assert broker.syncs.begun == 3
    assert broker.group_commit.statistics().rounds == 1
    broker.syncs.end(1)
    broker.settle()
    assert [len(outcomes) for outcomes in waiting] == [0, 1, 0, 1, 0]
    broker.end_syncs()
    assert [code(outcomes) for outcomes in waiting] == [ErrorCode.NONE] * 5


def test_appends_during_a_sync_gather_for_the_next_one() -> None:
    broker = FlushedBroker()
    first = broker.append()
    later = [broker.append() for _ in range(5)]
    assert broker.syncs.begun == 1
    broker.syncs.end()
    broker.settle()
    assert code(first) is ErrorCode.NONE
    assert later == [[]] * 5
    assert broker.partition().high_watermark == 1
    assert broker.syncs.begun == 2
    broker.syncs.end()
    broker.settle()
    assert [code(outcomes) for outcomes in later] == [ErrorCode.NONE] * 5
    assert broker.syncs.begun == 2


def test_a_log_is_synced_once_at_a_time_whatever_others_do() -> None:
    broker = FlushedBroker(2)
    waiting = [broker.append(0), broker.append(0), broker.append(1)]
    assert broker.syncs.begun == 2
    broker.end_syncs()
    assert broker.syncs.begun == 3
    assert [code(outcomes) for outcomes in waiting] == [ErrorCode.NONE] * 3


def test_of_n_messages_at_most_n_minus_1_are_acknowledged_unsynced() -> None:
    broker = FlushedBroker(flush_messages=3)
    assert code(broker.append()) is ErrorCode.NONE
    assert code(broker.append()) is ErrorCode.NONE
    assert broker.syncs.begun == 0
    third, fourth = broker.append(), broker.append()
    assert third == fourth == []
    assert broker.partition().high_watermark == 2
    assert broker.end_syncs() == 1, "the fourth needs no sync of its own"
    assert code(third) is code(fourth) is ErrorCode.NONE
    assert broker.partition().high_watermark == 4
    assert code(broker.append()) is ErrorCode.NONE
    assert broker.append() == []


# Visibility


def test_f5_nobody_but_followers_sees_what_is_not_synced() -> None:
    broker = FlushedBroker(replicas=[1, 2], isr=[1])
    broker.append(acks=1)
    assert shown(broker) == 0
    assert shown(broker, isolation=FetchIsolation.TXN_COMMITTED) == 0
    follower: dict[str, Any] = {
        "isolation": FetchIsolation.LOG_END, "replica_id": 2, "client_metadata": None,
    }  # fmt: skip
    assert shown(broker, **follower) == BATCH_BYTES
    assert broker.partition().high_watermark == 0
    broker.end_syncs()
    assert broker.partition().high_watermark == 1
    assert shown(broker) == BATCH_BYTES


def test_f29_a_parked_consumer_wakes_when_the_sync_has_ended() -> None:
    broker = FlushedBroker()
    outcomes = broker.fetch(ask(0), max_wait_ms=50_000)
    broker.append()
    assert outcomes == []
    broker.syncs.end()
    broker.settle()
    assert outcomes[0].reason is FetchReason.CASE_G_ENOUGH_BYTES
    assert outcomes[0].results[0].high_watermark == 1


def test_f29_f37_a_parked_fetch_of_a_session_wakes_when_the_sync_has_ended() -> None:
    broker = FlushedBroker(COUNT)
    reader = Reader(broker)
    assert reader.reads() == [0, 1, 2, 3, 4]
    broker.append(1)
    assert reader.reads() == [1], "marked by the append, read without news, and quiet again"
    parked = reader.fetch(max_wait_ms=50_000)
    broker.append(2)
    assert parked == []
    broker.syncs.end()
    broker.settle()
    assert [
        part.partition
        for part, found in zip(parked[0].partitions, parked[0].results, strict=True)
        if found.records
    ] == [1]
    parked[0].release()


def test_acks_all_waits_for_sync_and_replicas_and_its_time_begins_behind_the_sync() -> None:
    broker = FlushedBroker(replicas=[1, 2])
    outcomes = broker.append(acks=-1, timeout_ms=100)
    broker.pass_ms(5_000)
    assert outcomes == [], "the disk's time is not the replicas'"
    broker.end_syncs()
    assert broker.partition().high_watermark == 0
    assert outcomes == []
    broker.pass_ms(100)
    assert code(outcomes) is ErrorCode.REQUEST_TIMED_OUT


def test_a_follower_that_is_quicker_than_the_disk_does_not_move_the_high_watermark() -> None:
    broker = FlushedBroker(replicas=[1, 2])
    outcomes = broker.append(acks=-1)
    broker.fetch(ask(1), replica_id=2, isolation=FetchIsolation.LOG_END, client_metadata=None, max_wait_ms=0)
    broker.settle()
    assert broker.partition().high_watermark == 0
    assert outcomes == []
    broker.end_syncs()
    assert broker.partition().high_watermark == 1
    assert code(outcomes) is ErrorCode.NONE


def test_f17_a_transactions_end_is_seen_when_its_marker_is_synced() -> None:
    broker = FlushedBroker()
    producer: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0}
    broker.append(records=batch(is_transactional=True, base_sequence=0, **producer))
    broker.end_syncs()
    committed: dict[str, Any] = {"isolation": FetchIsolation.TXN_COMMITTED}
    marker = build_end_txn_batch(
        control_type=ControlType.COMMIT, coordinator_epoch=0, timestamp=1_700_000_000_000, **producer
    )
    ended = broker.append(records=marker, acks=-1, origin=AppendOrigin.COORDINATOR)
    assert ended == []
    assert shown(broker, **committed) == 0
    broker.end_syncs()
    assert code(ended) is ErrorCode.NONE
    assert shown(broker, **committed) == BATCH_BYTES + len(marker)


# Duplicates


@pytest.mark.parametrize("acks", [1, -1])
def test_p4_a_duplicate_waits_for_the_sync_of_the_first(acks: int) -> None:
    broker = FlushedBroker()
    records = batch(2, producer_id=7, producer_epoch=0, base_sequence=0)
    first, again = broker.append(records=records, acks=acks), broker.append(records=records, acks=acks)
    assert first == again == []
    assert broker.end_syncs() == 1
    assert code(first) is code(again) is ErrorCode.NONE
    assert first[0].results[0].base_offset == again[0].results[0].base_offset == 0
    assert code(broker.append(records=records, acks=acks, settle=False)) is ErrorCode.NONE


def test_p4_a_duplicate_of_what_was_never_synced_is_synced_first() -> None:
    broker = FlushedBroker(config=LogConfig())
    records = batch(2, producer_id=7, producer_epoch=0, base_sequence=0)
    assert code(broker.append(records=records)) is ErrorCode.NONE
    broker.partition().log.config = LogConfig(flush_messages=1)
    again = broker.append(records=records)
    assert again == []
    assert broker.partition().high_watermark == 2, "it does not go back"
    broker.end_syncs()
    assert code(again) is ErrorCode.NONE


# Failure


@pytest.mark.parametrize("acks", [1, -1])
def test_f43_a_sync_that_fails_acknowledges_nothing_and_takes_the_directory_offline(acks: int) -> None:
    broker = FlushedBroker(2)
    fetched = broker.fetch(ask(0), max_wait_ms=50_000)
    waiting = [broker.append(number, acks=acks) for number in (0, 1, 0)]
    broker.syncs.end(error=EIO)
    broker.settle()
    assert [code(outcomes) for outcomes in waiting] == [ErrorCode.KAFKA_STORAGE_ERROR] * 3
    assert [outcomes[0].results[0].base_offset for outcomes in waiting] == [-1] * 3
    assert not broker.logs.directory.online
    assert fetched[0].results[0].error_code is ErrorCode.KAFKA_STORAGE_ERROR
    broker.end_syncs()
    assert code(broker.append(1, acks=acks)) is ErrorCode.KAFKA_STORAGE_ERROR
    assert broker.partition(0).high_watermark == 0


def test_a_sync_that_cannot_begin_acknowledges_nothing() -> None:
    broker = FlushedBroker()
    outcomes = broker.append(settle=False)
    broker.logs.directory.failed(EIO, "something else")
    broker.settle()
    assert broker.syncs.begun == 0
    assert code(outcomes) is ErrorCode.KAFKA_STORAGE_ERROR


# Meanwhile


def test_a_partition_deleted_meanwhile_is_told_and_its_files_are_let_go() -> None:
    broker = FlushedBroker()
    log = broker.partition().log
    outcomes = broker.append()
    leased = log.segments.active.leased
    broker.replay(messages.RemoveTopicRecord(topic_id=TOPIC_ID))
    broker.settle()
    assert code(outcomes) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    broker.end_syncs()
    assert leased.holders == 0


def test_a_partition_deleted_before_its_sync_began_is_not_opened_again() -> None:
    broker = FlushedBroker()
    log = broker.partition().log
    outcomes = broker.append(settle=False)
    broker.replay(messages.RemoveTopicRecord(topic_id=TOPIC_ID))
    broker.settle()
    assert broker.syncs.begun == 0
    assert code(outcomes) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert log.segments.active._leased is None


def test_a_roll_meanwhile_has_the_new_name_and_the_old_indexes_synced_before_the_answer() -> None:
    broker = FlushedBroker(config=LogConfig(flush_messages=1, segment_bytes=BATCH_BYTES * 2))
    waiting = [broker.append()]
    waiting += [broker.append() for _ in range(4)]
    assert len(broker.partition().log.segments) == 3
    broker.syncs.end()
    broker.settle()
    assert [len(outcomes) for outcomes in waiting] == [1, 0, 0, 0, 0]
    broker.end_syncs()
    assert [code(outcomes) for outcomes in waiting] == [ErrorCode.NONE] * 5
    assert broker.partition().log.recovery_point == 5
    assert broker.partition().high_watermark == 5
    assert not broker.partition().log.durability.names_unsynced


def test_a_cut_meanwhile_releases_nothing_that_was_written_after_it() -> None:
    broker = FlushedBroker()
    log = broker.partition().log
    broker.append()
    broker.append()
    broker.partition().truncate_to(0)
    again = broker.append()
    broker.syncs.end()
    broker.settle()
    assert again == [], "that sync was of the log before the cut"
    assert broker.partition().high_watermark == 0
    broker.end_syncs()
    assert code(again) is ErrorCode.NONE
    assert broker.partition().high_watermark == log.log_end_offset == 1


def test_leadership_lost_meanwhile_is_told() -> None:
    broker = FlushedBroker(replicas=[1, 2])
    outcomes = broker.append()
    broker.replay(broker.partition_record(0, leader=2, leader_epoch=1, partition_epoch=1, replicas=[1, 2]))
    broker.settle()
    assert code(outcomes) is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_flush_messages_taken_away_meanwhile_frees_what_waits_with_the_sync_under_way() -> None:
    broker = FlushedBroker()
    first = broker.append()
    broker.partition().log.config = LogConfig()
    second = broker.append()
    assert second == []
    assert broker.end_syncs() == 1
    assert code(first) is code(second) is ErrorCode.NONE


def test_a_log_that_moved_meanwhile_does_not_suffer_from_the_disk_that_it_left() -> None:
    broker = FlushedBroker()
    log, disk = broker.partition().log, broker.logs.disk
    outcomes = broker.append()
    disk.make_dirs("/other/events-0")
    for name in disk.list_dir(log.path):
        content = disk.open_readonly(f"{log.path}/{name}")
        copy = disk.open(f"/other/events-0/{name}", create=True)
        copy.write_at(0, [content.read_at(0, content.size())])
    log.continue_in(LogDirectory(disk, "/other"), "/other/events-0")
    broker.syncs.end(error=EIO)
    broker.settle()
    assert not broker.logs.directory.online
    assert code(outcomes) is ErrorCode.NONE
    assert broker.partition().high_watermark == 1


def test_a_flush_for_another_reason_frees_what_it_covers() -> None:
    broker = FlushedBroker()
    outcomes = broker.append()
    broker.partition().log.flush()
    broker.settle()
    assert code(outcomes) is ErrorCode.NONE
    broker.end_syncs()
    assert broker.partition().high_watermark == 1


def test_names_of_a_flush_under_way_are_not_certain_for_another_one() -> None:
    broker = FlushedBroker()
    log = broker.partition().log
    broker.append(settle=False)
    slow = log.begin_flush()
    assert slow is not None
    outcomes = broker.append()
    synced: list[str] = []
    broker.logs.disk.on_operation = lambda what, path: synced.append(path) if what == "sync_dir" else None
    broker.end_syncs()
    assert code(outcomes) is ErrorCode.NONE
    assert synced == [f"/data/{TOPIC}-0", "/data"], "the slow one may never end"
    slow.release()


def test_a_stop_answers_what_waits_after_the_last_sync() -> None:
    broker = FlushedBroker(2)
    waiting = [broker.append(0), broker.append(1, settle=False)]
    broker.group_commit.stop()
    broker.manager.shutdown()
    assert [code(outcomes) for outcomes in waiting] == [ErrorCode.NONE] * 2
    assert all(log.recovery_point == 1 for log in broker.logs.logs.values())
    assert code(broker.append(settle=False)) is ErrorCode.NONE
    assert broker.partition().log.recovery_point == 2
    held = [log.segments.active.leased for log in broker.logs.logs.values()]
    broker.group_commit.abandon()
    assert [leased.holders for leased in held] == [1, 1]


def test_metadata_deltas_change_nothing_of_what_waits() -> None:
    broker = FlushedBroker()
    outcomes = broker.append()
    broker.manager.apply_delta(MetadataDelta(), broker.image)
    broker.settle()
    assert outcomes == []
