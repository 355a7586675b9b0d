"""Fetches of a log whose segments a cleaning replaces: gaps, bounds whose place is gone, those that wait."""

from typing import Any

import pytest

from barnabas.protocol.record_batch import iter_batches
from barnabas.protocol.record_batch_builder import BatchBuilder
from barnabas.replica.explain import explain_fetch
from barnabas.replica.fetch import FetchIsolation, FetchReason
from barnabas.storage.compaction.cleaning import InProcessCleaning
from barnabas.storage.log_cleaner.config import CleanerConfig
from barnabas.storage.log_cleaner.selection import measure
from barnabas.storage.log_cleaner.task import make_task
from barnabas.storage.log_config import LogConfig

from .broker_setup import LOCAL_ID, TOPIC_ID, Broker, ask, fetch_params

FOLLOWER = 2
PER_SEGMENT = 4


def keyed(key: int, **options: Any) -> bytes:
    builder = BatchBuilder(**options)
    builder.append(timestamp=1_700_000_000_000, key=b"%d" % key, value=b"v" * 30)
    return bytes(builder.build())


SIZE = len(keyed(0))
CONFIG = LogConfig(
    cleanup_policy=frozenset({"compact"}), segment_bytes=PER_SEGMENT * SIZE, index_interval_bytes=2 * SIZE
)


def filled(records: int, *, keys: int = 2, replicas: tuple[int, ...] = (LOCAL_ID,)) -> Broker:
    broker = Broker(0, config=CONFIG)
    broker.create("events", TOPIC_ID, 1, replicas=replicas)
    for number in range(records):
        broker.append(records=keyed(number % keys))
    return broker


def follow(broker: Broker, offset: int) -> None:
    """Let the follower fetch, which tells that it has all before."""
    broker.fetch(ask(offset, current_leader_epoch=0), replica_id=FOLLOWER, max_wait_ms=0)
    broker.settle()


def compact(broker: Broker) -> int:
    """Clean the log and swap; return how many new segments there are."""
    partition = broker.partition()
    log = partition.log
    log.flush()
    found = measure(log, None, partition.high_watermark, broker.clock.wall_ms())
    task = make_task(log, found, CleanerConfig(), now_ms=broker.clock.wall_ms(), hash_seed=1)
    result = InProcessCleaning(task, broker.logs.disk, broker.clock, lambda _: None).run()
    assert result.failure is None
    replacement = log.replace_segments(result.groups)
    while log.step_replacement():
        replacement.run()
        replacement.synced()
    broker.settle()
    return len(result.groups)


def read_all(broker: Broker, start: int = 0, **params: Any) -> tuple[list[int], int]:
    """Fetch as a consumer does until nothing comes; return the records' offsets and where it stands."""
    found: list[int] = []
    offset = start
    while True:
        (outcome,) = broker.fetch(ask(offset), max_wait_ms=0, max_bytes=1, **params)
        records = outcome.results[0].records
        if records is None:
            return found, offset
        content = records.read()
        assert len(content) == records.length, "the slice ends within the file"
        records.release()
        for _, header in iter_batches(content, allow_partial_tail=True):
            if header.records_count and not header.is_control:
                found.append(header.base_offset)
            offset = header.next_offset


@pytest.mark.parametrize("isolation", list(FetchIsolation))
def test_f18_a_reader_across_gaps_reaches_the_high_watermark(isolation: FetchIsolation) -> None:
    broker = filled(30)
    assert compact(broker) > 1
    for start in range(30):
        found, reached = read_all(broker, start, isolation=isolation)
        assert reached == broker.partition().high_watermark == 30
        assert found == [26, 27, 28, 29][-len(found) :]
        assert found[0] >= start


def test_f14_offsets_within_a_gap_are_within_the_log() -> None:
    broker = filled(30)
    compact(broker)
    (outcome,) = broker.fetch(ask(3), max_wait_ms=0)
    (result,) = outcome.results
    assert (result.error_code, result.log_start_offset, result.high_watermark) == (0, 0, 30)
    assert result.records is not None
    result.records.release()
    (outcome,) = broker.fetch(ask(31), max_wait_ms=0)
    assert outcome.results[0].error_code == 1


def test_f20_a_bound_whose_segment_was_replaced_is_found_anew() -> None:
    """The follower had all of the first segment when that was the log's end: the watermark lies there."""
    broker = filled(PER_SEGMENT, replicas=(LOCAL_ID, FOLLOWER))
    follow(broker, PER_SEGMENT)
    partition = broker.partition()
    before = partition.high_watermark_metadata()
    assert (before.message_offset, before.segment_base_offset) == (PER_SEGMENT, 0)
    broker.append(records=keyed(7))
    assert partition.log.segments.base_offsets == [0, PER_SEGMENT]
    compact(broker)
    assert partition.log.segments.first.size < PER_SEGMENT * SIZE
    found, _ = read_all(broker)
    assert found == [2, 3], "and nothing beyond the watermark, nor beyond the file"
    now = partition.high_watermark_metadata()
    assert (now.message_offset, now.segment_base_offset, now.position_in_segment) == (4, 4, 0)


def test_f22_a_fetch_that_was_answered_before_keeps_its_bytes() -> None:
    broker = filled(30)
    (outcome,) = broker.fetch(ask(0), max_wait_ms=0)
    records = outcome.results[0].records
    assert records is not None
    compact(broker)
    broker.logs.deletions.run(broker.clock.monotonic_ms() + 10**9)
    content = records.read()
    assert len(content) == PER_SEGMENT * SIZE
    assert [header.base_offset for _, header in iter_batches(content)] == [0, 1, 2, 3]
    records.release()


def test_f26_a_fetch_that_waits_counts_no_bytes_of_what_was_replaced() -> None:
    """It waits at the watermark, in a segment that is replaced; what counts is what comes behind."""
    broker = filled(PER_SEGMENT, replicas=(LOCAL_ID, FOLLOWER))
    follow(broker, PER_SEGMENT)
    broker.append(records=keyed(7))
    waiting = broker.fetch(ask(PER_SEGMENT), max_wait_ms=5_000, min_bytes=3 * SIZE)
    assert not waiting
    compact(broker)
    assert not waiting, "a swap is no news"
    broker.append(records=keyed(8))
    broker.append(records=keyed(9))
    assert not waiting
    follow(broker, PER_SEGMENT + 3)
    (outcome,) = waiting
    records = outcome.results[0].records
    assert records is not None
    assert [header.base_offset for _, header in iter_batches(records.read())] == [4, 5, 6]
    records.release()
    assert outcome.reason in {FetchReason.CASE_F_OTHER_SEGMENT, FetchReason.CASE_G_ENOUGH_BYTES}


def test_aborted_transactions_are_told_of_what_was_replaced() -> None:
    broker = filled(0)
    partition = broker.partition()
    transaction = {"producer_id": 5, "producer_epoch": 0, "is_transactional": True}
    for number in range(3):
        broker.append(records=keyed(number, base_sequence=number, **transaction))
    end = BatchBuilder(producer_id=5, producer_epoch=0, is_transactional=True, is_control=True)
    end.append(timestamp=1_700_000_000_000, key=b"\0\0\0\0", value=b"\0\0\0\0\0\0")
    partition.log.append([bytes(end.build())], leader_epoch=0)
    partition.maybe_advance_high_watermark()
    for number in range(12):
        broker.append(records=keyed(number % 2))
    compact(broker)
    found, reached = read_all(broker, isolation=FetchIsolation.TXN_COMMITTED)
    assert reached == broker.partition().high_watermark
    assert not {0, 1, 2} & set(found), "records of an aborted transaction are gone"


def test_an_explanation_leads_across_the_gap() -> None:
    broker = filled(30)
    compact(broker)
    manager = broker.manager
    explained = explain_fetch(manager.reader, manager.partitions, fetch_params(max_wait_ms=0), [ask(0)], 0)
    told = "\n".join(step.text for step in explained.steps)
    assert "the one before has nothing at or after the offset" in told
    assert explained.slice_place is not None
    assert explained.reason is FetchReason.NO_WAIT
