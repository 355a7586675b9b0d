"""Appending: offsets and epochs stamped in place, when segments roll, what is refused, a full disk."""

import random
from typing import Any

import pytest

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.protocol.record_batch import crc_matches, iter_batches
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.offset_metadata import LogOffsetMetadata
from barnabas.storage.producer_state.states import AppendOrigin
from tests.storage_setup import FIRST_TIMESTAMP, LogHarness, batch, marker

SIZE = len(batch())


def config(**options: Any) -> LogConfig:
    return LogConfig(**{"retention_ms": -1, **options})


def bases(log: Log) -> list[int]:
    return log.segments.base_offsets


def lose_power(harness: LogHarness, seed: int) -> None:
    """Lose, of files only, what was not synced."""
    for path in (harness.path, harness.root, "/"):
        harness.disk.sync_dir(path)
    harness.disk.crash(random.Random(seed))
    harness.restart()


def test_offset_and_epoch_are_stamped_and_nothing_else_changes() -> None:
    harness = LogHarness()
    log = harness.open()
    log.append([batch(5)], leader_epoch=2)
    sent = batch(3, timestamp=FIRST_TIMESTAMP + 9)
    view = memoryview(sent)
    info = log.append([view[:61], view[61:]], leader_epoch=7)
    assert (info.first_offset, info.last_offset, info.bytes_appended) == (5, 7, len(sent))
    assert info.log_append_time_ms == -1
    stored = harness.content(f"{0:020d}.log")[-len(sent) :]
    assert stored[16:] == sent[16:]
    _, header = next(iter_batches(stored))
    assert (header.base_offset, header.partition_leader_epoch) == (5, 7)
    assert crc_matches(stored, 0, header)
    assert log.leader_epochs.entries == [(2, 0), (7, 5)]
    assert log.log_end_offset_metadata == LogOffsetMetadata(8, 0, len(batch(5)) + len(sent))


def test_an_append_is_one_write() -> None:
    harness = LogHarness()
    log = harness.open(topic_id=bytes(16))
    log.append([batch()], leader_epoch=0)
    done: list[str] = []
    harness.disk.on_operation = lambda what, path: done.append(what)
    log.append([batch(3)], leader_epoch=0)
    log.append_batches([[batch()]] * 5, leader_epoch=0, origin=AppendOrigin.COORDINATOR)
    assert done == ["write", "write"]


def test_the_topic_id_is_durable_before_the_first_record() -> None:
    harness = LogHarness()
    log = harness.open(topic_id=bytes(range(16)))
    order: list[str] = []
    harness.disk.on_operation = lambda what, path: order.append(f"{what} {path.rpartition('/')[2]}")
    log.append([batch()], leader_epoch=0)
    assert order.index("rename partition.metadata.tmp") < order.index(f"write {0:020d}.log")
    assert harness.content("partition.metadata") == b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw"


def test_log_append_time_comes_back() -> None:
    log = LogHarness().open()
    info = log.append([batch(2, log_append_time_ms=4711)], leader_epoch=0)
    assert info.log_append_time_ms == 4711


def test_rolls_when_a_batch_does_not_fit() -> None:
    log = LogHarness(config=config(segment_bytes=3 * SIZE)).open()
    for _ in range(7):
        log.append([batch()], leader_epoch=0)
    assert bases(log) == [0, 3, 6]


def test_a_preallocated_segment_loses_what_is_left_of_it_when_it_rolls() -> None:
    harness = LogHarness(config=config(segment_bytes=5 * SIZE - 1, preallocate=True))
    log = harness.open()
    assert harness.content(f"{0:020d}.log") == bytes(5 * SIZE - 1)
    for _ in range(5):
        log.append([batch()], leader_epoch=0)
    assert len(harness.content(f"{0:020d}.log")) == 4 * SIZE
    active = harness.content(f"{4:020d}.log")
    assert (len(active), any(active[SIZE:])) == (5 * SIZE - 1, False)
    assert (log.size, [segment.size for segment in log.segments]) == (5 * SIZE, [4 * SIZE, SIZE])
    log.truncate_fully(9)
    assert harness.content(f"{9:020d}.log") == bytes(5 * SIZE - 1)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("batches", [0, 1])
def test_a_clean_stop_cuts_a_preallocated_segment_for_certain(batches: int, seed: int) -> None:
    harness = LogHarness(config=config(segment_bytes=5 * SIZE, preallocate=True))
    log = harness.open()
    for _ in range(batches):
        log.append([batch()], leader_epoch=0)
    log.close()
    lose_power(harness, seed)
    assert len(harness.content(f"{0:020d}.log")) == batches * SIZE
    log = harness.open(clean=True)
    assert log.log_end_offset == batches
    log.append([batch()], leader_epoch=0)
    assert len(harness.content(f"{0:020d}.log")) == (batches + 1) * SIZE


@pytest.mark.parametrize("seed", range(6))
def test_a_segment_that_a_start_would_trust_is_cut_for_certain(seed: int) -> None:
    harness = LogHarness(config=config(segment_bytes=5 * SIZE, preallocate=True))
    log = harness.open()
    log.append([batch()], leader_epoch=0)
    log.flush()
    log.durability.checkpointed_point = log.recovery_point
    log.roll()
    lose_power(harness, seed)
    assert len(harness.content(f"{0:020d}.log")) == SIZE


def test_rolls_by_record_time_beyond_segment_ms() -> None:
    log = LogHarness(config=config(segment_ms=1000)).open()
    for late_ms in (0, 1000, 1001):
        log.append([batch(timestamp=FIRST_TIMESTAMP + late_ms)], leader_epoch=0)
    assert bases(log) == [0, 2]


def test_jitter_makes_a_segment_roll_earlier() -> None:
    log = LogHarness(config=config(segment_ms=1000, segment_jitter_ms=301)).open()
    for late_ms in (0, 700, 701):
        log.append([batch(timestamp=FIRST_TIMESTAMP + late_ms)], leader_epoch=0)
    assert bases(log) == [0, 2]


def test_rolls_by_the_clock_when_records_have_no_time() -> None:
    harness = LogHarness(config=config(segment_ms=1000))
    log = harness.open()
    for wait_ms in (0, 1000, 1):
        harness.clock.advance_ms(wait_ms)
        log.append([batch(timestamp=-1, count=1)], leader_epoch=0)
    assert bases(log) == [0, 2]


def test_a_compacted_log_rolls_in_time_for_the_max_compaction_lag() -> None:
    compacted = config(cleanup_policy=frozenset({"compact"}), max_compaction_lag_ms=500)
    log = LogHarness(config=compacted).open()
    for late_ms in (0, 501):
        log.append([batch(timestamp=FIRST_TIMESTAMP + late_ms)], leader_epoch=0)
    assert bases(log) == [0, 1]


def test_rolls_when_an_index_is_full() -> None:
    log = LogHarness(config=config(index_interval_bytes=0, segment_index_bytes=40)).open()
    for _ in range(8):
        log.append([batch(timestamp=FIRST_TIMESTAMP)], leader_epoch=0)
        assert len(log.segments.active.offset_index) <= 5
    assert bases(log) == [0, 6]


def test_rolls_when_the_relative_offset_would_not_fit() -> None:
    log = LogHarness().open()
    log.append_as_follower(batch(base_offset=0, partition_leader_epoch=0))
    log.append_as_follower(batch(base_offset=2**31 - 1, partition_leader_epoch=0))
    log.append_as_follower(batch(base_offset=2**31, partition_leader_epoch=0))
    assert bases(log) == [0, 2**31]


def test_too_large_for_a_segment() -> None:
    log = LogHarness(config=config(segment_bytes=SIZE - 1)).open()
    with pytest.raises(ApiError) as raised:
        log.append([batch()], leader_epoch=0)
    assert raised.value.code is ErrorCode.RECORD_LIST_TOO_LARGE
    assert log.log_end_offset == 0


def test_a_follower_keeps_offsets_and_epochs_and_refuses_damage() -> None:
    log = LogHarness().open()
    first = batch(2, base_offset=0, partition_leader_epoch=1)
    second = batch(1, base_offset=2, partition_leader_epoch=3)
    log.append_as_follower(first + second)
    assert log.log_end_offset == 3
    assert log.leader_epochs.entries == [(1, 0), (3, 2)]
    damaged = bytearray(batch(1, base_offset=3, partition_leader_epoch=3))
    damaged[-1] ^= 1
    for wrong, code in [
        (bytes(damaged), ErrorCode.CORRUPT_MESSAGE),
        (first, ErrorCode.OFFSET_OUT_OF_RANGE),
        (batch(base_offset=3)[:-1], ErrorCode.CORRUPT_MESSAGE),
        (batch(base_offset=3) + b"x", ErrorCode.CORRUPT_MESSAGE),
    ]:
        with pytest.raises(ApiError) as raised:
            log.append_as_follower(wrong)
        assert raised.value.code is code
    assert log.log_end_offset == 3


@pytest.mark.parametrize("message", ["no space left", "input/output error"])
def test_a_disk_that_refuses_takes_the_directory_offline_and_leaves_no_half_batch(message: str) -> None:
    harness = LogHarness()
    log = harness.open()
    log.append([batch()], leader_epoch=0)

    def refuse(what: str, path: str) -> None:
        if what == "write":
            raise OSError(28, message, path)

    harness.disk.on_operation = refuse
    for _ in range(2):
        with pytest.raises(ApiError) as raised:
            log.append([batch()], leader_epoch=0)
        assert raised.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    harness.disk.on_operation = None
    assert len(harness.failures) == 1
    with pytest.raises(ApiError):
        log.read(0, log.log_end_offset_metadata, 100)
    assert len(harness.content(f"{0:020d}.log")) == SIZE


def test_flush_messages_is_kept() -> None:
    harness = LogHarness(config=config(flush_messages=3))
    log = harness.open()
    points = []
    for _ in range(7):
        log.append([batch()], leader_epoch=0)
        points.append(log.recovery_point)
    assert points == [0, 0, 3, 3, 3, 6, 6]


def test_the_recovery_point_never_exceeds_what_was_synced() -> None:
    log = LogHarness(config=config(segment_bytes=3 * SIZE)).open()
    for _ in range(5):
        log.append([batch()], leader_epoch=0)
    work = log.begin_flush()
    assert work is not None
    log.append([batch()], leader_epoch=0)
    work.run()
    assert log.recovery_point == 0
    log.finish_flush(work)
    assert log.recovery_point == 5
    # A segment sealed while a flush runs: its indexes are not synced by it.
    work = log.begin_flush()
    assert work is not None
    work.run()
    log.append([batch()], leader_epoch=0)
    assert bases(log) == [0, 3, 6]
    log.finish_flush(work)
    assert log.recovery_point == 5
    log.flush()
    assert log.recovery_point == 7


def test_a_flush_that_was_overtaken_by_a_truncation_moves_nothing() -> None:
    log = LogHarness().open()
    for _ in range(5):
        log.append([batch()], leader_epoch=0)
    work = log.begin_flush()
    assert work is not None
    work.run()
    log.truncate_to(2)
    for _ in range(5):
        log.append([batch()], leader_epoch=1)
    log.finish_flush(work)
    assert log.recovery_point == 0


def test_truncation_drops_a_batch_that_reaches_across_and_lowers_the_recovery_point() -> None:
    log = LogHarness(config=config(segment_bytes=2 * len(batch(4)))).open()
    lowered: list[int] = []
    log.durability.on_lowered = lambda: lowered.append(log.recovery_point)
    for epoch in range(5):
        log.append([batch(4, producer_id=1, producer_epoch=0, base_sequence=4 * epoch)], leader_epoch=epoch)
    log.flush()
    log.truncate_to(14)
    assert (log.log_end_offset, bases(log)) == (12, [0, 8])
    assert lowered == [12]
    assert log.leader_epochs.entries == [(0, 0), (1, 4), (2, 8)]
    assert log.producers.producers[1].last_sequence == 11
    log.append([batch(4, producer_id=1, producer_epoch=0, base_sequence=12)], leader_epoch=9)
    assert log.log_end_offset == 16


def test_truncate_fully_starts_over_where_it_is_told() -> None:
    harness = LogHarness()
    log = harness.open()
    log.append([batch(4)], leader_epoch=0)
    log.truncate_fully(100)
    assert (log.log_start_offset, log.log_end_offset, bases(log)) == (100, 100, [100])
    assert log.append([batch()], leader_epoch=3).first_offset == 100
    assert log.leader_epochs.entries == [(3, 100)]


def test_delete_records_moves_the_start_and_takes_whole_segments() -> None:
    harness = LogHarness(config=config(segment_bytes=2 * SIZE))
    log = harness.open()
    for _ in range(7):
        log.append([batch()], leader_epoch=0)
    with pytest.raises(ApiError) as raised:
        log.delete_records(6, 5)
    assert raised.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert log.delete_records(5, 6) == 5
    assert bases(log) == [4, 6]
    assert log.leader_epochs.entries == [(0, 5)]
    assert log.delete_records(-1, 6) == 6
    assert log.delete_records(2, 6) == 6, "the start never goes back"
    deleted = [name for name in harness.names() if name.endswith(".deleted")]
    assert len(deleted) == 9
    harness.clock.advance_ms(59_999)
    harness.deletions.run(harness.clock.monotonic_ms())
    assert len([name for name in harness.names() if name.endswith(".deleted")]) == 9
    harness.clock.advance_ms(1)
    harness.deletions.run(harness.clock.monotonic_ms())
    assert not [name for name in harness.names() if name.endswith(".deleted")]


def transactional(producer_id: int, sequence: int = 0, count: int = 1) -> bytes:
    return batch(
        count, producer_id=producer_id, producer_epoch=0, base_sequence=sequence, is_transactional=True
    )


def test_an_abort_is_written_to_the_index_with_the_stable_offset_behind_it() -> None:
    harness = LogHarness()
    log = harness.open()
    for producer_id in (1, 2):
        log.append([transactional(producer_id)], leader_epoch=0)
    log.append([marker(2, commit=False)], leader_epoch=0, origin=AppendOrigin.COORDINATOR)
    log.append([marker(1, commit=False)], leader_epoch=0, origin=AppendOrigin.COORDINATOR)
    assert log.segments.active.transaction_index.entries == [(2, 1, 2, 0), (1, 0, 3, 4)]
    assert f"{0:020d}.txnindex" not in harness.names()
    log.close()
    assert len(harness.content(f"{0:020d}.txnindex")) == 2 * 34
