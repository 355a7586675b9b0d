"""What an explanation tells of a partition is what a fetch gets: compared in hundreds of situations."""

import random
from typing import Any

import pytest

from barnabas.replica.explain import ExplainError, FetchExplanation, explain_fetch
from barnabas.replica.fetch import FetchIsolation, FetchPartition, FetchPartitionResult, FetchReason
from barnabas.storage.log_config import LogConfig
from barnabas.storage.producer_state.states import AppendOrigin
from tests.storage_setup import marker

from .broker_setup import LOCAL_ID, Broker, ask, batch, fetch_params

SITUATIONS = 150
FOLLOWER = 2
PARTITIONS = 3


def world(seed: int) -> tuple[random.Random, Broker]:
    """Three partitions: segments, transactions, epochs, a follower behind, records deleted."""
    rng = random.Random(seed)
    broker = Broker(0, config=LogConfig(segment_bytes=rng.choice([2500, 20_000]), index_interval_bytes=300))
    topic_id = bytes(range(16))
    broker.create("events", topic_id, PARTITIONS, replicas=(LOCAL_ID, FOLLOWER) if seed % 2 else (LOCAL_ID,))
    for number in range(PARTITIONS):
        _fill(rng, broker, number, has_follower=bool(seed % 2))
    return rng, broker


def _fill(rng: random.Random, broker: Broker, number: int, *, has_follower: bool) -> None:
    partition = broker.partition(number)
    sequences: dict[int, int] = {}
    epoch = 0
    replicas = (LOCAL_ID, FOLLOWER) if has_follower else (LOCAL_ID,)
    for _ in range(rng.choice([0, 3, 60])):
        if rng.random() < 0.05:
            epoch += 1
            broker.replay(
                broker.partition_record(number, leader_epoch=epoch, partition_epoch=epoch, replicas=replicas)
            )
        producer = rng.choice([None, None, 7, 8])
        if producer is not None and producer in sequences and rng.random() < 0.3:
            ended = [marker(producer, commit=rng.random() < 0.5)]
            partition.log.append(ended, leader_epoch=epoch, origin=AppendOrigin.COORDINATOR)
            continue
        count = rng.randint(1, 5)
        options: dict[str, Any] = {}
        if producer is not None:
            first = sequences.get(producer, 0)
            sequences[producer] = first + count
            options = {"producer_id": producer, "producer_epoch": 0, "base_sequence": first,
                       "is_transactional": True}  # fmt: skip
        broker.append(number, batch(count, rng.choice([5, 40, 300]), **options))
    partition.maybe_advance_high_watermark()
    if has_follower:
        # It has fetched up to somewhere: the high watermark is there.
        reached = rng.randint(0, partition.log.log_end_offset)
        broker.fetch(ask(reached, number, current_leader_epoch=epoch), replica_id=FOLLOWER, max_wait_ms=0)
    if rng.random() < 0.3:
        partition.delete_records(rng.randint(0, partition.high_watermark))
    if rng.random() < 0.5:
        for segment in partition.log.segments:
            segment.remember_from(partition.log.log_end_offset)  # as after a start


def request(rng: random.Random, broker: Broker, number: int) -> FetchPartition:
    partition = broker.partition(number)
    end = partition.log.log_end_offset
    offset = rng.choice([rng.randint(-1, end + 1), rng.randint(0, end), end, partition.high_watermark])
    more: dict[str, Any] = {}
    if rng.random() < 0.3:
        more["current_leader_epoch"] = partition.leader_epoch + rng.choice([0, 0, -1, 1])
    if rng.random() < 0.2:
        more["last_fetched_epoch"] = rng.randint(0, partition.leader_epoch + 1)
    if rng.random() < 0.1:
        more["topic_id"] = rng.choice([bytes(range(16)), bytes(16), b"x" * 16])
    if rng.random() < 0.05:
        number += 50
    return ask(offset, number, max_bytes=rng.choice([0, 1, 90, 500, 3000, 1 << 20]), **more)


def facts(result: FetchPartitionResult) -> tuple[object, ...]:
    records = result.records
    return (
        result.error_code,
        result.high_watermark,
        result.last_stable_offset,
        result.log_start_offset,
        result.offset_metadata,
        None if result.aborted_transactions is None else list(result.aborted_transactions),
        result.diverging_epoch,
        result.preferred_read_replica,
        None if records is None else (records.path, records.position, records.length),
    )


def told(explanation: FetchExplanation) -> tuple[object, ...]:
    return (*facts(explanation.result)[:-1], explanation.slice_place)


def situation(rng: random.Random, broker: Broker) -> tuple[dict[str, Any], list[FetchPartition], int]:
    params: dict[str, Any] = {
        "max_wait_ms": rng.choice([0, 100]),
        "min_bytes": rng.choice([0, 1, 1, 400, 1 << 20]),
        "max_bytes": rng.choice([1, 300, 5000, 1 << 20]),
        "isolation": rng.choice([FetchIsolation.HIGH_WATERMARK, FetchIsolation.TXN_COMMITTED]),
    }
    if rng.random() < 0.25:
        params |= {"replica_id": rng.choice([FOLLOWER, FOLLOWER, 9]), "isolation": FetchIsolation.LOG_END}
    if rng.random() < 0.2:
        params["client_metadata"] = None
    numbers = rng.sample(range(PARTITIONS), rng.randint(1, PARTITIONS))
    requests = [request(rng, broker, number) for number in numbers]
    return params, requests, rng.randrange(len(requests))


@pytest.mark.parametrize("seed", range(6))
def test_an_explanation_is_what_a_fetch_gets(seed: int) -> None:
    rng, broker = world(seed)
    manager = broker.manager
    seen: set[str] = set()
    for _ in range(SITUATIONS):
        params, requests, focus = situation(rng, broker)
        counted = [partition.traffic.fetches for partition in manager.partitions]
        followers = [repr(partition.followers) for partition in manager.partitions]
        explanation = explain_fetch(
            manager.reader, manager.partitions, fetch_params(**params), requests, focus
        )
        assert [partition.traffic.fetches for partition in manager.partitions] == counted
        assert [repr(partition.followers) for partition in manager.partitions] == followers
        marks = [partition.high_watermark for partition in manager.partitions]
        outcomes = broker.fetch(*requests, **params)
        if explanation.reason is None:
            assert outcomes == [], f"answered, though it should wait: {explanation.steps[-1].text}"
            broker.pass_ms(101)
            assert outcomes[0].reason is FetchReason.TIMEOUT
        else:
            assert [outcome.reason for outcome in outcomes] == [explanation.reason]
        if explanation.reason is None and marks != [p.high_watermark for p in manager.partitions]:
            continue  # a follower told how far it is, so what it waited for looks different
        assert told(explanation) == facts(outcomes[0].results[focus])
        assert explanation.records_bytes == outcomes[0].records_bytes
        outcomes[0].release()
        seen.update(step.rule for step in explanation.steps)
        broker.settle()
    assert {"F10", "F11", "F13", "F5", "F14", "F15", "F24"} <= seen
    for partition in manager.partitions:
        for segment in partition.log.segments:
            assert segment.leased.holders == 1, "a slice was kept"


def steps_of(broker: Broker, request: FetchPartition, **params: Any) -> dict[str, tuple[str, str]]:
    manager = broker.manager
    explanation = explain_fetch(manager.reader, manager.partitions, fetch_params(**params), [request], 0)
    return {step.name: (step.rule, step.text) for step in explanation.steps}


def test_f7_and_f21_the_limit_that_cut_is_named() -> None:
    broker = Broker()
    for _ in range(3):
        broker.append()
    size = broker.partition().log.size // 3
    rule, text = steps_of(broker, ask(0, max_bytes=1))["cut"]
    assert (rule, text) == (
        "F7",
        f"the first batch goes out whole, {size} bytes, even above partition.max.bytes 1",
    )
    rule, text = steps_of(broker, ask(0), max_bytes=size + 5)["cut"]
    assert rule == "F21"
    assert f"max.bytes {size + 5} cuts {3 * size} bytes to {size + 5}" in text
    assert "the bound falls on a batch's start" in steps_of(broker, ask(0))["cut"][1]


def test_f23_a_segments_end_is_named() -> None:
    broker = Broker(config=LogConfig(segment_bytes=200))
    for _ in range(4):
        broker.append()
    assert steps_of(broker, ask(0))["cut"][0] == "F23"
    assert "later segment" in steps_of(broker, ask(0))["end"][1]


def test_f19_index_entry_and_headers_are_told_when_the_place_is_not_remembered() -> None:
    broker = Broker(config=LogConfig(index_interval_bytes=200))
    for _ in range(20):
        broker.append()
    assert "remembered" in steps_of(broker, ask(13))["position"][1]
    partition = broker.partition()
    partition.log.segments.active.remember_from(partition.log.log_end_offset)
    steps = steps_of(broker, ask(13))
    entry, position = partition.log.segments.active.offset_index.lookup(13)
    assert f"the last at or below is offset {entry} -> byte {position}" in steps["index"][1]
    assert "is the first to reach 13 (13..13)" in steps["scan"][1]


def test_f29_a_followers_progress_is_told() -> None:
    broker = Broker(0)
    broker.create("events", bytes(range(16)), 1, replicas=(LOCAL_ID, FOLLOWER))
    broker.append()
    options = {"replica_id": FOLLOWER, "isolation": FetchIsolation.LOG_END}
    assert "node 2 has all before offset 1" in steps_of(broker, ask(1), **options)["follower"][1]
    assert broker.partition().high_watermark == 0, "only told"
    assert "is no replica" in steps_of(broker, ask(1), **{**options, "replica_id": 9})["follower"][1]


def test_f24_a_fetch_that_waits_says_for_what() -> None:
    broker = Broker()
    broker.append()
    rule, text = steps_of(broker, ask(1))["decision"]
    assert rule == "F24"
    assert "parked for up to 500 ms, watching events-0: 0 of min.bytes 1" in text
    assert broker.parked == 0


def test_f17_aborted_transactions_are_told() -> None:
    broker = Broker()
    broker.append(records=batch(producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True))
    partition = broker.partition()
    partition.log.append([marker(7, commit=False)], leader_epoch=0, origin=AppendOrigin.COORDINATOR)
    partition.maybe_advance_high_watermark()
    steps = steps_of(broker, ask(0), isolation=FetchIsolation.TXN_COMMITTED)
    assert "producer 7 from 0" in steps["aborted"][1]


def test_errors_end_the_steps() -> None:
    broker = Broker()
    assert "UNKNOWN_TOPIC_OR_PARTITION (3)" in steps_of(broker, ask(0, topic="nope"))["lookup"][1]
    assert "FENCED" not in steps_of(broker, ask(0, current_leader_epoch=0))["leader_epoch"][1]
    assert "UNKNOWN_LEADER_EPOCH (75)" in steps_of(broker, ask(0, current_leader_epoch=5))["leader_epoch"][1]
    assert "OFFSET_OUT_OF_RANGE (1)" in steps_of(broker, ask(4))["range"][1]
    broker.logs.directory.failed(OSError("broken"), "a test")
    assert "KAFKA_STORAGE_ERROR (56)" in steps_of(broker, ask(0))["leader_epoch"][1]


def test_f43_what_hinders_the_read_is_told() -> None:
    broker = Broker(config=LogConfig(index_interval_bytes=200))
    for _ in range(20):
        broker.append()
    log = broker.partition().log
    segment = log.segments.active
    segment.remember_from(log.log_end_offset)
    file = broker.logs.disk.open(segment.path(".log"))
    file.write_at(0, [b"\xff" * segment.size])
    file.close()
    step = steps_of(broker, ask(13))["failed_read"]
    assert step[0] == "F43"
    assert "the log cannot be read: CORRUPT_MESSAGE (2): " in step[1]
    assert "no batch header" in step[1]


def test_an_explanation_that_strays_is_refused() -> None:
    broker = Broker()
    broker.append()
    manager = broker.manager

    class Reader:
        def read(self, *args: Any, **options: Any) -> Any:
            found = manager.reader.read(*args, **options)
            found[0][0].records.position += 1
            return found

    with pytest.raises(ExplainError, match="does not lead to what was read"):
        explain_fetch(Reader(), manager.partitions, fetch_params(), [ask(0)], 0)  # type: ignore[arg-type]
    assert broker.partition().log.segments.active.leased.holders == 1
