"""A coordinator whose topic has `flush.messages`: what it answers is synced, what it does is not held up."""

import errno

from barnabas.storage.log_config import LogConfig
from tests.runtime_setup import OFFSETS_TOPIC, OFFSETS_TOPIC_ID, PARTITIONS, ToyCoordinator
from tests.unit.replica.flushed_setup import FlushedBroker


def synced_coordinator() -> tuple[ToyCoordinator, FlushedBroker]:
    broker = FlushedBroker(0)
    broker.configs[OFFSETS_TOPIC] = LogConfig(flush_messages=1)
    broker.create(OFFSETS_TOPIC, OFFSETS_TOPIC_ID, PARTITIONS)
    broker.settle()
    return ToyCoordinator(broker), broker


def test_what_is_answered_is_synced_and_later_changes_share_syncs() -> None:
    toy, broker = synced_coordinator()
    answers = [toy.put("a", str(number)) for number in range(5)]
    seen = toy.read("a")
    broker.settle()
    assert [one.count for one in (*answers, seen)] == [0] * 6
    assert toy.shard("a").values == {"a": "4"}, "the state goes on"
    assert broker.end_syncs() == 1
    assert [one.reply for one in answers] == ["0", "1", "2", "3", "4"]
    assert seen.reply == "4"


def test_time_spent_waiting_for_the_disk_is_not_that_of_replicas() -> None:
    toy, broker = synced_coordinator()
    answer = toy.put("a", "1")
    broker.pass_ms(toy.config.commit_timeout_ms * 2)
    assert answer.count == 0
    broker.end_syncs()
    assert answer.reply == "1"


def test_a_sync_that_fails_is_told_and_ends_the_coordinator() -> None:
    toy, broker = synced_coordinator()
    first, second = toy.put("a", "1"), toy.put("a", "2")
    broker.settle()
    broker.syncs.end(error=OSError(errno.EIO, "Input/output error"))
    toy.runtime.partitions_changed()
    broker.settle()
    assert {first.error, second.error} <= {"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE"}
    assert toy.put("a", "3").error == "NOT_COORDINATOR"
