"""Parked fetches: the cases A-H of F27, and what waiting promises (F24-F33)."""

import random
from typing import Any

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.protocol import messages
from barnabas.replica.fetch import FetchIsolation, FetchOutcome, FetchReason
from barnabas.storage.log_config import LogConfig
from barnabas.storage.producer_state.states import AppendOrigin
from tests.storage_setup import marker

from .broker_setup import BATCH_BYTES, CLIENT, LOCAL_ID, TOPIC_ID, Broker, ask, batch, open_log_class


def the_one(outcomes: list[FetchOutcome]) -> FetchOutcome:
    assert len(outcomes) == 1, "answered exactly once"
    return outcomes[0]


def test_f24_answering_reads_again_and_includes_what_came_meanwhile() -> None:
    broker = Broker()
    broker.append()
    outcomes = broker.fetch(ask(0), min_bytes=3 * BATCH_BYTES)
    broker.append()
    assert outcomes == []
    broker.append(settle=False)
    broker.append(settle=False)  # not needed for min_bytes, but there when the answer is made
    broker.settle()
    outcome = the_one(outcomes)
    assert outcome.records_bytes == 4 * BATCH_BYTES
    assert outcome.results[0].high_watermark == 4


def test_f24_nothing_of_the_first_read_is_held_while_parked() -> None:
    broker = Broker()
    broker.append()
    segment = broker.partition().log.segments.active
    holders = segment.leased.holders
    outcomes = broker.fetch(ask(0), min_bytes=1 << 20)
    assert outcomes == []
    assert segment.leased.holders == holders
    broker.pass_ms(500)
    assert segment.leased.holders == holders + 1
    the_one(outcomes).release()
    assert segment.leased.holders == holders


def test_f25_any_of_several_partitions_wakes() -> None:
    for woken in range(3):
        broker = Broker(3)
        outcomes = broker.fetch(ask(0, 0), ask(0, 1), ask(0, 2))
        assert broker.manager.waiting_statistics().fetch_purgatory.purgatory_size == 3
        broker.append(woken)
        sizes = [0 if r.records is None else r.records.length for r in the_one(outcomes).results]
        assert sizes == [BATCH_BYTES if number == woken else 0 for number in range(3)]
        assert broker.manager.waiting_statistics().fetch_purgatory.purgatory_size == 0


def test_f26_bytes_are_counted_across_partitions_and_capped_for_each() -> None:
    broker = Broker(2)
    outcomes = broker.fetch(
        ask(0, 0, max_bytes=BATCH_BYTES), ask(0, 1, max_bytes=BATCH_BYTES), min_bytes=2 * BATCH_BYTES
    )
    for _ in range(5):
        broker.append(0)
    assert outcomes == [], "five batches of one partition count as its partition_max_bytes"
    broker.append(1)
    assert the_one(outcomes).reason is FetchReason.CASE_G_ENOUGH_BYTES


def test_f26_deciding_reads_no_byte_of_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    log_class = open_log_class(monkeypatch)
    broker = Broker()
    broker.fetch(ask(0), min_bytes=1 << 20)

    def no_read(*args: Any, **options: Any) -> None:
        pytest.fail("a parked fetch read the log to decide")

    monkeypatch.setattr(log_class, "read", no_read)
    broker.append()
    assert broker.parked == 1


def test_f26_a_throttled_follower_does_not_count_and_a_consumer_does() -> None:
    throttled = {2}
    broker = Broker(0, is_throttled=lambda partition, replica: replica in throttled)
    broker.create("events", TOPIC_ID, 1, replicas=[1, 2], isr=[1])
    follower = broker.fetch(ask(0), replica_id=2, isolation=FetchIsolation.LOG_END, client_metadata=None)
    consumer = broker.fetch(ask(0))
    broker.append()
    assert follower == []
    the_one(consumer)
    throttled.clear()
    broker.append()
    assert the_one(follower).records_bytes == 2 * BATCH_BYTES


def parked(broker: Broker, offset: int = 0, **asked: Any) -> list[FetchOutcome]:
    outcomes = broker.fetch(ask(offset, **asked), min_bytes=1 << 20, max_wait_ms=10_000)
    assert outcomes == []
    assert broker.parked == 1
    return outcomes


def test_f27_case_a_leadership_moves_away() -> None:
    broker = Broker(0)
    broker.create("events", TOPIC_ID, 1, replicas=[1, 2])
    outcomes = broker.fetch(ask(0), min_bytes=1 << 20, client_metadata=None)
    assert outcomes == []
    broker.replay(broker.partition_record(0, leader=2, leader_epoch=1, partition_epoch=1, replicas=[1, 2]))
    broker.settle()
    outcome = the_one(outcomes)
    assert outcome.reason is FetchReason.CASE_A_NOT_LEADER
    result = outcome.results[0]
    assert result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (result.leader_id, result.leader_epoch) == (2, 1)


def test_f12_a_consumer_of_version_11_goes_on_reading_from_a_follower() -> None:
    broker = Broker(0)
    broker.create("events", TOPIC_ID, 1, replicas=[1, 2])
    outcomes = broker.fetch(ask(0), min_bytes=1 << 20, client_metadata=CLIENT)
    broker.replay(broker.partition_record(0, leader=2, leader_epoch=1, partition_epoch=1, replicas=[1, 2]))
    broker.settle()
    assert outcomes == []


def test_f27_case_b_this_broker_is_no_replica_any_more() -> None:
    broker = Broker()
    outcomes = parked(broker)
    broker.replay(broker.partition_record(0, leader=2, leader_epoch=1, partition_epoch=1, replicas=[2]))
    broker.settle()
    outcome = the_one(outcomes)
    assert outcome.reason is FetchReason.CASE_B_REPLICA_GONE
    assert outcome.results[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert broker.logs.deleted == [("events", 0)]


def test_f27_case_c_a_deleted_topic_completes_at_once() -> None:
    broker = Broker()
    broker.append()
    outcomes = parked(broker)
    broker.replay(messages.RemoveTopicRecord(topic_id=TOPIC_ID))
    broker.settle()
    outcome = the_one(outcomes)
    assert outcome.reason is FetchReason.CASE_C_UNKNOWN_PARTITION
    result = outcome.results[0]
    assert result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (result.high_watermark, result.last_stable_offset, result.log_start_offset) == (-1, -1, -1)


def test_f27_case_c_a_topic_made_again_under_the_same_name_is_another_topic() -> None:
    broker = Broker()
    outcomes = parked(broker, topic_id=TOPIC_ID)
    other = bytes(15) + b"\xee"
    broker.replay(
        messages.RemoveTopicRecord(topic_id=TOPIC_ID),
        messages.TopicRecord(name="events", topic_id=other),
        broker.partition_record(0, other),
    )
    broker.settle()
    assert the_one(outcomes).results[0].error_code == ErrorCode.INCONSISTENT_TOPIC_ID


def test_f27_case_d_a_failed_log_directory_releases_its_fetches() -> None:
    broker = Broker()
    broker.append()
    outcomes = parked(broker)
    broker.logs.directory.failed(OSError(5, "Input/output error"), "testing")
    broker.settle()
    outcome = the_one(outcomes)
    assert outcome.reason is FetchReason.CASE_D_LOG_DIR_OFFLINE
    assert outcome.results[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert broker.manager.statistics().offline_partition_count == 1


def test_f27_case_e_a_new_leader_epoch_fences() -> None:
    broker = Broker()
    outcomes = parked(broker, current_leader_epoch=0)
    broker.replay(broker.partition_record(0, leader_epoch=1, partition_epoch=1))
    broker.settle()
    outcome = the_one(outcomes)
    assert outcome.reason is FetchReason.CASE_E_EPOCH_FENCED
    assert outcome.results[0].error_code == ErrorCode.FENCED_LEADER_EPOCH


def test_f27_case_f_the_log_was_truncated_below_the_offset() -> None:
    broker = Broker()
    for _ in range(3):
        broker.append()
    outcomes = parked(broker, 3)
    partition = broker.partition()
    partition.truncate_to(1)
    broker.manager.bounds_moved(partition)
    broker.settle()
    outcome = the_one(outcomes)
    assert outcome.reason is FetchReason.CASE_F_OTHER_SEGMENT
    assert outcome.results[0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_f27_case_f_the_bound_moved_to_a_newer_segment() -> None:
    broker = Broker(config=LogConfig(segment_bytes=2 * BATCH_BYTES))
    broker.append()
    outcomes = parked(broker, 0)
    broker.append()
    assert outcomes == []
    broker.append()  # rolls
    outcome = the_one(outcomes)
    assert outcome.reason is FetchReason.CASE_F_OTHER_SEGMENT
    assert outcome.records_bytes == 2 * BATCH_BYTES, "a fetch never crosses a segment (F23)"


def test_f27_equal_offsets_on_different_segments_after_a_roll_are_no_case_f() -> None:
    broker = Broker()
    broker.append()
    outcomes = parked(broker, 1)
    broker.partition().log.roll()
    broker.partition().maybe_advance_high_watermark()
    broker.manager.bounds_moved(broker.partition())
    broker.settle()
    assert outcomes == []
    broker.append()
    assert the_one(outcomes).reason is FetchReason.CASE_F_OTHER_SEGMENT


def test_f27_case_g_enough_bytes() -> None:
    broker = Broker()
    outcomes = broker.fetch(ask(0), min_bytes=2 * BATCH_BYTES)
    broker.append()
    assert outcomes == []
    broker.append()
    outcome = the_one(outcomes)
    assert outcome.reason is FetchReason.CASE_G_ENOUGH_BYTES
    assert outcome.records_bytes == 2 * BATCH_BYTES


def test_f27_case_h_the_history_diverged_while_waiting() -> None:
    broker = Broker()
    for _ in range(3):
        broker.append()
    outcomes = parked(broker, 3, last_fetched_epoch=0)
    partition = broker.partition()
    partition.truncate_to(1)
    # The leader of epoch 1 has written up to the same offset, but another history.
    broker.replay(broker.partition_record(0, leader_epoch=1, partition_epoch=1))
    broker.append(settle=False)
    broker.append(settle=False)
    broker.settle()
    outcome = the_one(outcomes)
    assert outcome.reason is FetchReason.CASE_H_DIVERGING_EPOCH
    assert outcome.results[0].diverging_epoch == (0, 1)
    assert outcome.results[0].records is None


def test_f29_the_last_stable_offset_wakes_read_committed() -> None:
    broker = Broker()
    committed = broker.fetch(ask(0), isolation=FetchIsolation.TXN_COMMITTED, max_wait_ms=5_000)
    uncommitted = broker.fetch(ask(0))
    broker.append(records=batch(producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True))
    assert committed == []
    assert the_one(uncommitted).records_bytes == BATCH_BYTES
    partition = broker.partition()
    partition.log.append([marker(7, commit=True)], leader_epoch=0, origin=AppendOrigin.COORDINATOR)
    partition.maybe_advance_high_watermark()
    broker.settle()
    assert committed == [], "nobody has told yet"
    broker.manager.bounds_moved(partition)
    broker.settle()
    assert the_one(committed).records_bytes > BATCH_BYTES


def test_f30_a_time_out_answers_what_is_there_without_an_error() -> None:
    broker = Broker()
    empty = broker.fetch(ask(0))
    broker.pass_ms(499)
    assert empty == []
    broker.pass_ms(1)
    outcome = the_one(empty)
    assert outcome.reason is FetchReason.TIMEOUT
    assert outcome.results[0].error_code == ErrorCode.NONE
    assert outcome.results[0].records is None
    broker.append()
    some = broker.fetch(ask(0), min_bytes=1 << 20)
    broker.pass_ms(500)
    assert the_one(some).records_bytes == BATCH_BYTES


def test_f30_max_wait_is_a_maximum_and_never_an_interval() -> None:
    broker = Broker()
    outcomes = broker.fetch(ask(0), max_wait_ms=30_000)
    broker.pass_ms(10)
    broker.append()
    assert the_one(outcomes).answered_us - outcomes[0].parked_us == 10_000
    assert broker.wheel.next_deadline_ms() is None


def test_f31_a_connection_that_leaves_frees_everything_and_hears_nothing() -> None:
    broker = Broker()
    gone = broker.fetch(ask(0), owner="gone")
    stays = broker.fetch(ask(0), owner="stays")
    assert broker.manager.connection_gone("gone") == 1
    assert broker.parked == 1
    assert len(broker.wheel) == 1
    broker.append()
    assert gone == []
    assert the_one(stays).records_bytes == BATCH_BYTES


def test_f31_ten_thousand_parked_fetches_cost_no_turn_of_the_loop() -> None:
    broker = Broker()
    for number in range(10_000):
        broker.fetch(ask(0), owner=number, max_wait_ms=60_000)
    assert broker.parked == 10_000
    assert not broker.soon
    assert broker.wheel.next_deadline_ms() == 60_000
    for number in range(10_000):
        broker.manager.connection_gone(number)
    assert broker.parked == 0
    assert broker.wheel.next_deadline_ms() is None


def test_wakes_are_capped_per_turn_and_the_produce_is_answered_first() -> None:
    broker = Broker(tries_max_per_turn=50)
    answered: list[str] = []
    outcomes = [broker.fetch(ask(0)) for _ in range(1_000)]
    broker.append(settle=False)
    answered.append("produce")
    assert not any(outcomes), "wakes wait for the end of the turn"
    most = 0
    before = 0
    while broker.turn():
        now = sum(map(len, outcomes))
        most = max(most, now - before)
        before = now
    assert most == 50
    assert all(len(got) == 1 for got in outcomes)


def test_f33_the_next_request_of_a_connection_gets_a_parked_fetch_answered() -> None:
    broker = Broker()
    broker.append()
    outcomes = broker.fetch(ask(0), owner="connection", min_bytes=1 << 20)
    assert broker.manager.complete_parked_fetches("other") == 0
    assert broker.manager.complete_parked_fetches("connection") == 1
    outcome = the_one(outcomes)
    assert outcome.reason is FetchReason.NEXT_REQUEST
    assert outcome.records_bytes == BATCH_BYTES


def test_shutdown_answers_what_is_parked_and_what_comes_later() -> None:
    broker = Broker()
    before = broker.fetch(ask(0))
    broker.manager.shutdown()
    assert the_one(before).reason is FetchReason.SHUTDOWN
    assert the_one(broker.fetch(ask(0))).reason is FetchReason.SHUTDOWN
    assert broker.logs.checkpointed == [{("events", 0): 0}]


def test_a_fault_of_ours_while_answering_a_parked_fetch_still_answers_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log_class = open_log_class(monkeypatch)
    broker = Broker()
    outcomes = broker.fetch(ask(0))

    def broken(*args: Any, **options: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(log_class, "read", broken)
    with pytest.raises(RuntimeError, match="broken"):
        broker.append()
    assert the_one(outcomes).results[0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize("seed", range(25))
def test_f28_exactly_once_under_append_timer_deletion_leadership_and_disconnect(seed: int) -> None:
    rng = random.Random(seed)
    broker = Broker(3, tries_max_per_turn=rng.choice((1, 3, 64)))
    answers: dict[int, list[FetchOutcome]] = {}
    gone: set[int] = set()
    epoch = 0
    topic_id = TOPIC_ID
    for step in range(150):
        action = rng.randrange(12)
        if action < 4:
            asked = [ask(rng.randrange(3), n) for n in rng.sample(range(3), rng.randrange(1, 4))]
            answers[step] = broker.fetch(
                *asked,
                owner=step,
                min_bytes=rng.choice((1, BATCH_BYTES * 2, 1 << 20)),
                max_wait_ms=rng.randrange(0, 300),
            )
        elif action < 7:
            broker.append(rng.randrange(3), settle=False)
        elif action == 7:
            broker.clock.advance_ms(rng.randrange(80))
            broker.wheel.advance(broker.clock.monotonic_ms())
        elif action == 8 and answers:
            owner = rng.choice(list(answers))
            if not answers[owner]:
                gone.add(owner)
            broker.manager.connection_gone(owner)
        elif action == 9 and answers:
            broker.manager.complete_parked_fetches(rng.choice(list(answers)))
        elif action == 10:
            epoch += 1
            broker.replay(
                broker.partition_record(
                    rng.randrange(3), topic_id, leader_epoch=epoch, partition_epoch=epoch,
                    leader=rng.choice((LOCAL_ID, LOCAL_ID, 2)), replicas=[1, 2], isr=[1],
                )
            )  # fmt: skip
        else:
            broker.turn()
        if step == 120 and seed % 3 == 0:
            broker.replay(messages.RemoveTopicRecord(topic_id=topic_id))
            topic_id = bytes(15) + bytes((seed,)) if seed else bytes(15) + b"\xfe"
            broker.create("events", topic_id, 3)
        assert all(len(got) <= 1 for got in answers.values()), f"seed {seed}"
        waiting = sum(not got and owner not in gone for owner, got in answers.items())
        assert broker.parked == waiting, f"seed {seed}"
    broker.settle()
    broker.pass_ms(1_000)
    for owner, got in answers.items():
        assert len(got) == (0 if owner in gone else 1), f"seed {seed}"
        for outcome in got:
            outcome.release()
    for log in broker.logs.logs.values():
        for segment in log.segments:
            assert segment.leased.holders == 1, f"seed {seed}: a slice was not released"
