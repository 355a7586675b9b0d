"""The runtime: append, replay, answer; load and unload; deadlines."""

from typing import Any

import pytest

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.coordinator.runtime.outcome import CoordinatorRecord, Outcome
from barnabas.coordinator.runtime.shard_timers import RETRY_DELAY_MS
from barnabas.protocol import messages
from barnabas.protocol.compression import Codec
from barnabas.protocol.record_batch import iter_batches, parse_records
from barnabas.storage.log_config import LogConfig
from tests.runtime_setup import OFFSETS_TOPIC, OFFSETS_TOPIC_ID, PARTITIONS, Answers, ToyCoordinator, entry
from tests.unit.replica.broker_setup import LOCAL_ID, Broker

OTHER = 2


def records_of(log: Any) -> list[list[Any]]:
    """The records of each batch."""
    found = log.read(0, log.log_end_offset_metadata, 1 << 20).records
    if found is None:
        return []
    data = found.read()
    found.release()
    return [parse_records(data, position, header) for position, header in iter_batches(data)]


# Append, replay, answer


def test_what_is_written_is_in_the_log_and_in_the_state_before_it_is_answered() -> None:
    toy = ToyCoordinator()
    seen: list[Any] = []
    toy.runtime.write(
        "a",
        lambda shard, now_ms: Outcome(records=[entry("a", "1")], response="done"),
        lambda reply: seen.append((reply, toy.log("a").log_end_offset, dict(toy.shard("a").values))),
        seen.append,
    )
    assert seen == [("done", 1, {"a": "1"})]


def test_records_of_one_outcome_are_one_batch_of_one_time() -> None:
    toy = ToyCoordinator()
    toy.write("a", lambda shard, now_ms: Outcome(records=[entry("a", "1"), entry("b", None)]))
    (batch,) = records_of(toy.log("a"))
    assert [record.timestamp for record in batch] == [toy.broker.clock.wall_ms()] * 2
    assert batch[1].value is None


@pytest.mark.parametrize("codec", list(Codec))
def test_batches_are_compressed_as_the_config_says(codec: Codec) -> None:
    toy = ToyCoordinator(codec=codec)
    toy.put("a", "1" * 1000)
    data = toy.log("a").read(0, toy.log("a").log_end_offset_metadata, 1 << 20).records.read()
    ((_, header),) = iter_batches(data)
    assert header.codec is codec
    toy.restart()
    assert toy.read("a").reply == "1" * 1000


def test_an_outcome_without_records_appends_nothing() -> None:
    toy = ToyCoordinator()
    assert toy.write("a", lambda shard, now_ms: Outcome(response="seen")).reply == "seen"
    assert toy.log("a").log_end_offset == 0


def test_appended_is_told_before_the_answer_goes_out() -> None:
    toy = ToyCoordinator()
    order: list[Any] = []
    outcome = Outcome(
        records=[entry("a", "1")],
        response="x",
        appended=lambda error: order.append((error, toy.shard("a").values)),
    )
    toy.runtime.write("a", lambda shard, now_ms: outcome, order.append, order.append)
    assert order == [(None, {"a": "1"}), "x"]


def test_who_asked_is_answered_even_if_others_cannot_be(caplog: pytest.LogCaptureFixture) -> None:
    toy = ToyCoordinator()

    def appended(error: ApiError | None) -> None:
        raise KeyError("waiter")

    assert toy.put("a", "1", appended=appended).error == "UNKNOWN_SERVER_ERROR"
    assert "waiter" in caplog.text
    assert toy.read("a").reply == "1"


def test_what_follows_a_replay_and_fails_is_a_fault(caplog: pytest.LogCaptureFixture) -> None:
    toy = ToyCoordinator()

    def replayed() -> None:
        raise KeyError("deadline")

    assert toy.put("a", "1", replayed=replayed).error == "UNKNOWN_SERVER_ERROR"
    assert "deadline" in caplog.text
    assert toy.read("a").reply == "1"


def test_an_operation_that_refuses_changes_nothing() -> None:
    toy = ToyCoordinator()

    def refuse(shard: Any, now_ms: int) -> Outcome[str]:
        raise ApiError(ErrorCode.ILLEGAL_GENERATION)

    assert toy.write("a", refuse).error == "ILLEGAL_GENERATION"
    assert toy.log("a").log_end_offset == 0


def test_a_fault_in_an_operation_is_its_own(caplog: pytest.LogCaptureFixture) -> None:
    toy = ToyCoordinator()
    assert toy.write("a", lambda shard, now_ms: 1 // 0).error == "UNKNOWN_SERVER_ERROR"
    assert "ZeroDivisionError" in caplog.text
    assert toy.put("a", "1").reply == "1"


def test_an_operation_begun_by_an_answer_runs_when_the_first_is_through() -> None:
    toy = ToyCoordinator()
    order: list[str] = []

    def first_answered(reply: str) -> None:
        toy.runtime.write("a", second, order.append, order.append)
        order.append(reply)

    def second(shard: Any, now_ms: int) -> Outcome[str]:
        order.append("second runs")
        return Outcome(records=[entry("a", "2")], response="second")

    first = Outcome(records=[entry("a", "1")], response="first")
    toy.runtime.write("a", lambda shard, now_ms: first, first_answered, order.append)
    assert order == ["first", "second runs", "second"]


def test_an_answer_that_fails_does_not_stop_who_waits_behind_it() -> None:
    toy = ToyCoordinator()
    later: list[Answers] = []

    def fail(reply: str) -> None:
        later.append(toy.put("a", "2"))
        raise RuntimeError(reply)

    with pytest.raises(RuntimeError):
        toy.runtime.write("a", lambda shard, now_ms: Outcome(response="x"), fail, later.append)
    toy.broker.settle()
    assert later[0].reply == "2"


def test_keys_of_different_partitions_have_different_shards() -> None:
    toy = ToyCoordinator()
    for key in "abcdefgh":
        toy.put(key, key)
    assert len(toy.shards) == PARTITIONS
    assert {key for shard in toy.shards.values() for key in shard.values} == set("abcdefgh")


# Appends that fail


def test_a_batch_above_max_message_bytes_changes_nothing() -> None:
    broker = Broker(partitions=0)
    broker.configs[OFFSETS_TOPIC] = LogConfig(max_message_bytes=200)
    broker.create(OFFSETS_TOPIC, OFFSETS_TOPIC_ID, PARTITIONS)
    toy = ToyCoordinator(broker)
    told: list[Any] = []
    assert toy.put("a", "x" * 200, appended=told.append).error == "UNKNOWN_SERVER_ERROR"
    assert [error.code for error in told] == [ErrorCode.UNKNOWN_SERVER_ERROR]
    assert toy.shard("a").values == {}
    assert toy.put("a", "1").reply == "1"


def test_what_need_not_be_one_batch_may_be_several() -> None:
    broker = Broker(partitions=0)
    broker.configs[OFFSETS_TOPIC] = LogConfig(max_message_bytes=300)
    broker.create(OFFSETS_TOPIC, OFFSETS_TOPIC_ID, PARTITIONS)
    toy = ToyCoordinator(broker)
    many = [entry(f"k{number}", "value") for number in range(40)]
    assert toy.write("a", lambda shard, now_ms: Outcome(records=many, response="x")).error is not None
    outcome = Outcome(records=many, response="x", is_atomic=False)
    assert toy.write("a", lambda shard, now_ms: outcome).reply == "x"
    assert len(toy.shard("a").values) == 40
    assert len(records_of(toy.log("a"))) > 1


def test_too_few_replicas_mean_that_the_coordinator_is_not_available() -> None:
    broker = Broker(partitions=0)
    broker.configs[OFFSETS_TOPIC] = LogConfig(min_insync_replicas=2)
    broker.create(OFFSETS_TOPIC, OFFSETS_TOPIC_ID, PARTITIONS, replicas=(LOCAL_ID, OTHER), isr=(LOCAL_ID,))
    toy = ToyCoordinator(broker)
    assert toy.put("a", "1").error == "COORDINATOR_NOT_AVAILABLE"
    assert toy.shard("a").values == {}


def two_replicas() -> ToyCoordinator:
    broker = Broker(partitions=0)
    broker.create(OFFSETS_TOPIC, OFFSETS_TOPIC_ID, PARTITIONS, replicas=(LOCAL_ID, OTHER))
    return ToyCoordinator(broker)


def replicate(toy: ToyCoordinator, key: str) -> None:
    """The other replica fetches up to the log's end."""
    partition = toy.broker.partition(toy.runtime.partition_of(key), OFFSETS_TOPIC)
    partition.update_follower_fetch_state(
        partition.followers[OTHER],
        partition.log.log_end_offset_metadata,
        log_start_offset=0,
        now_ms=toy.broker.clock.monotonic_ms(),
        leader_log_end_offset=partition.log.log_end_offset,
        broker_epoch=-1,
    )
    toy.broker.manager._watermark_moved(partition)
    toy.broker.settle()


def test_nothing_is_answered_before_it_is_committed() -> None:
    toy = two_replicas()
    first, second = toy.put("a", "1"), toy.put("a", "2")
    seen, looked = toy.read("a"), toy.write("a", lambda shard, now_ms: Outcome(response="looked"))
    assert [one.count for one in (first, second, seen, looked)] == [0, 0, 0, 0]
    replicate(toy, "a")
    assert (first.reply, second.reply, seen.reply, looked.reply) == ("1", "2", "2", "looked")


def test_replayed_is_told_before_it_is_committed() -> None:
    toy = two_replicas()
    order: list[Any] = []
    toy.put("a", "1", replayed=lambda: order.append(dict(toy.shard("a").values)), appended=order.append)
    assert order == [{"a": "1"}]
    replicate(toy, "a")
    assert order == [{"a": "1"}, None]


def test_a_commit_that_takes_too_long_is_told_and_the_next_ones_go_on() -> None:
    toy = two_replicas()
    first = toy.put("a", "1")
    toy.broker.pass_ms(toy.config.commit_timeout_ms + 1)
    assert first.error == "COORDINATOR_NOT_AVAILABLE"
    second = toy.put("a", "2")
    replicate(toy, "a")
    assert (first.count, second.reply) == (1, "2")


def test_who_waits_for_a_commit_is_told_when_the_partition_goes() -> None:
    toy = two_replicas()
    waiting = toy.put("a", "1")
    toy.runtime.stop()
    assert waiting.error == "NOT_COORDINATOR"
    assert toy.shard("a").story[-1] == "unloaded"
    toy.broker.pass_ms(toy.config.commit_timeout_ms + 1)
    assert waiting.count == 1


def test_a_record_that_cannot_be_replayed_is_a_fault_and_the_others_count(
    caplog: pytest.LogCaptureFixture,
) -> None:
    toy = ToyCoordinator()
    toy.put("a", "1")
    toy.shard("a").refuses = "a"
    both = Outcome(records=[entry("a", "2"), entry("b", "2")], response="x")
    assert toy.write("a", lambda shard, now_ms: both).error == "UNKNOWN_SERVER_ERROR"
    assert toy.shard("a").values == {"a": "1", "b": "2"}
    assert "could not be replayed" in caplog.text


# Coming and going


def test_a_partition_that_is_not_here_has_no_coordinator() -> None:
    broker = Broker(partitions=0)
    assert ToyCoordinator(broker).put("a", "1").error == "NOT_COORDINATOR"
    broker.create(OFFSETS_TOPIC, OFFSETS_TOPIC_ID, PARTITIONS, leader=OTHER, replicas=(LOCAL_ID, OTHER))
    assert ToyCoordinator(broker).put("a", "1").error == "NOT_COORDINATOR"


def test_deleting_the_topic_unloads_and_a_new_one_starts_empty() -> None:
    toy = ToyCoordinator()
    toy.put("a", "1")
    shard = toy.shard("a")
    toy.broker.replay(messages.RemoveTopicRecord(topic_id=OFFSETS_TOPIC_ID))
    toy.runtime.partitions_changed()
    assert shard.story[-1] == "unloaded"
    toy.broker.create(OFFSETS_TOPIC, bytes(15) + b"\x07", PARTITIONS)
    toy.broker.settle()
    assert toy.read("a").reply == ""


def test_a_failed_log_directory_unloads() -> None:
    toy = ToyCoordinator()
    toy.put("a", "1")
    toy.broker.logs.directory.failed(OSError("disk"), "testing")
    toy.runtime.partitions_changed()
    assert toy.shard("a").story[-1] == "unloaded"
    assert toy.put("a", "2").error == "NOT_COORDINATOR"


def test_a_new_leader_epoch_loads_anew() -> None:
    toy = ToyCoordinator()
    toy.put("a", "1")
    before = toy.shard("a")
    number = toy.runtime.partition_of("a")
    toy.broker.replay(
        messages.PartitionChangeRecord(partition_id=number, topic_id=OFFSETS_TOPIC_ID, leader=LOCAL_ID)
    )
    assert toy.read("a").reply == "1"
    assert before.story[-1] == "unloaded"
    assert toy.shard("a") is not before


def test_the_number_of_partitions_stays_while_the_topic_does() -> None:
    toy = ToyCoordinator()
    toy.runtime.topic_is(OFFSETS_TOPIC_ID, 4)
    before = [toy.runtime.partition_of(key) for key in "abcdefgh"]
    toy.runtime.topic_is(OFFSETS_TOPIC_ID, 50)
    assert [toy.runtime.partition_of(key) for key in "abcdefgh"] == before
    toy.runtime.topic_is(bytes(15) + b"\x07", 50)
    assert [toy.runtime.partition_of(key) for key in "abcdefgh"] != before


# Deadlines


def test_a_deadline_runs_its_operation_once_when_it_has_come() -> None:
    toy = ToyCoordinator()
    toy.put("a", "1")
    times: list[int] = []

    def operation(now_ms: int) -> Outcome[None]:
        times.append(now_ms)
        return Outcome(records=[entry("a", "timer")])

    toy.shard("a").timers.schedule("t", 100, operation)
    toy.broker.pass_ms(99)
    assert times == []
    toy.broker.pass_ms(1)
    assert times == [toy.broker.clock.wall_ms()]
    toy.broker.pass_ms(10_000)
    assert len(times) == 1
    assert toy.shard("a").values == {"a": "timer"}


def test_a_key_has_one_deadline() -> None:
    toy = ToyCoordinator()
    toy.put("a", "1")
    timers = toy.shard("a").timers
    ran: list[str] = []

    def note(name: str) -> Any:
        def operation(now_ms: int) -> Outcome[None]:
            ran.append(name)
            return Outcome()

        return operation

    timers.schedule("t", 10, note("first"))
    timers.schedule("t", 20, note("second"))
    timers.schedule("gone", 5, note("gone"))
    timers.cancel("gone")
    assert timers.is_scheduled("t")
    assert not timers.is_scheduled("gone")
    toy.broker.pass_ms(100)
    assert ran == ["second"]
    assert not timers.is_scheduled("t")


def test_a_deadline_that_cannot_append_tries_again() -> None:
    toy = two_replicas()
    toy.put("a", "1")
    replicate(toy, "a")
    ran: list[int] = []

    def operation(now_ms: int) -> Outcome[None]:
        ran.append(now_ms)
        return Outcome(records=[entry("a", "x" * 2_000_000)] if len(ran) < 3 else [])

    toy.shard("a").timers.schedule("t", 1, operation)
    for _ in range(10):
        toy.broker.pass_ms(RETRY_DELAY_MS)
    assert len(ran) == 3


def test_deadlines_end_with_their_shard() -> None:
    toy = ToyCoordinator()
    toy.put("a", "1")
    timers = toy.shard("a").timers
    ran: list[int] = []

    def operation(now_ms: int) -> Outcome[None]:
        ran.append(now_ms)
        return Outcome()

    timers.schedule("t", 10, operation)
    toy.runtime.stop()
    timers.schedule("late", 10, operation)
    toy.broker.pass_ms(1000)
    assert ran == []
    assert toy.runtime.statistics().timers == 0


def test_statistics_count() -> None:
    toy = ToyCoordinator()
    toy.put("a", "1")
    toy.write("a", lambda shard, now_ms: Outcome(records=[entry("a", "2"), entry("b", "2")]))
    told = toy.runtime.statistics()
    assert (told.appends, told.records, told.append_failures) == (2, 3, 0)
    assert told.shards["Active"] == 1


def test_a_coordinator_record_is_a_value() -> None:
    assert CoordinatorRecord(messages.GroupMetadataKey(group="a"), None) == entry("a", None)
