"""Which part of a log may be cleaned, and which log is dirty enough: Kafka's rules (LogCleanerManager)."""

from typing import Any

import pytest

from barnabas.storage.log import Log
from barnabas.storage.log_cleaner.selection import compaction_delay_ms, dirty_range, measure
from barnabas.storage.log_config import LogConfig
from tests.storage_setup import FIRST_TIMESTAMP, LogHarness, batch, marker

SIZE = len(batch())
NOW_MS = FIRST_TIMESTAMP + 1_000_000


def log_of(batches: int, *, step_ms: int = 1000, per_segment: int = 2, **config: Any) -> Log:
    """A log of one-record batches, `step_ms` apart, in segments of two."""
    harness = LogHarness(
        config=LogConfig(cleanup_policy=frozenset({"compact"}), segment_bytes=per_segment * SIZE, **config)
    )
    log = harness.open()
    for number in range(batches):
        log.append([batch(timestamp=FIRST_TIMESTAMP + number * step_ms)], leader_epoch=0)
    return log


def test_all_but_the_active_segment_is_dirty_at_first() -> None:
    log = log_of(7)
    assert log.segments.base_offsets == [0, 2, 4, 6]
    found = measure(log, None, log.log_end_offset, NOW_MS)
    assert (found.first_dirty_offset, found.first_uncleanable_offset) == (0, 6)
    assert (found.clean_bytes, found.cleanable_bytes, found.cleanable_ratio) == (0, 6 * SIZE, 1.0)


def test_the_checkpoint_parts_clean_from_dirty() -> None:
    log = log_of(7)
    found = measure(log, 4, log.log_end_offset, NOW_MS)
    assert (found.clean_bytes, found.cleanable_bytes) == (4 * SIZE, 2 * SIZE)
    assert found.cleanable_ratio == pytest.approx(1 / 3)
    assert not found.is_due(1 / 3), "the ratio has to be exceeded"
    assert found.is_due(0.33)


def test_a_segment_that_is_clean_in_part_counts_on_both_sides() -> None:
    log = log_of(7)
    found = measure(log, 3, log.log_end_offset, NOW_MS)
    assert (found.clean_bytes, found.cleanable_bytes) == (4 * SIZE, 4 * SIZE)


def test_a_log_that_is_clean_up_to_its_active_segment_has_nothing_to_clean() -> None:
    log = log_of(7)
    for checkpointed in (6, 7):
        found = measure(log, checkpointed, log.log_end_offset, NOW_MS)
        assert (found.cleanable_bytes, found.cleanable_ratio) == (0, 0.0)
        assert not found.is_due(0.0)


def test_nothing_is_cleaned_beyond_the_high_watermark() -> None:
    log = log_of(7)
    found = measure(log, None, 5, NOW_MS)
    assert found.first_uncleanable_offset == 4, "the segment that holds the high watermark is left alone"
    assert dirty_range(log, None, 5, NOW_MS).first_uncleanable_offset == 5


def test_nothing_is_cleaned_beyond_an_open_transaction() -> None:
    log = log_of(3)
    log.append(
        [batch(producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)], leader_epoch=0
    )
    for number in range(4):
        log.append([batch(timestamp=FIRST_TIMESTAMP + number)], leader_epoch=0)
    log.high_watermark_advanced(log.log_end_offset)
    assert log.first_unstable_offset is not None
    assert dirty_range(log, None, log.log_end_offset, NOW_MS).first_uncleanable_offset == 3
    log.append([marker(7, commit=True)], leader_epoch=0)
    log.high_watermark_advanced(log.log_end_offset)
    assert (
        dirty_range(log, None, log.log_end_offset, NOW_MS).first_uncleanable_offset
        == log.segments.active.base_offset
    )


def test_segments_younger_than_the_min_compaction_lag_are_left_alone() -> None:
    log = log_of(7, min_compaction_lag_ms=10_000)
    youngest_of_second_ms = FIRST_TIMESTAMP + 3_000
    now_ms = youngest_of_second_ms + 10_000
    assert measure(log, None, 7, now_ms).first_uncleanable_offset == 4, "just old enough"
    assert measure(log, None, 7, now_ms - 1).first_uncleanable_offset == 2
    assert measure(log, None, 7, FIRST_TIMESTAMP).first_uncleanable_offset == 0


def test_what_is_clean_stays_clean_however_young() -> None:
    log = log_of(7, min_compaction_lag_ms=10_000)
    found = dirty_range(log, 4, 7, FIRST_TIMESTAMP)
    assert (found.first_dirty_offset, found.first_uncleanable_offset) == (4, 4)


def test_a_checkpoint_before_the_start_begins_there_anew(caplog: pytest.LogCaptureFixture) -> None:
    log = log_of(7)
    log.advance_log_start(4)
    found = dirty_range(log, 2, 7, NOW_MS)
    assert (found.first_dirty_offset, found.is_reset) == (4, True)
    assert "lies before its start" in caplog.text


def test_retention_moves_the_start_of_a_log_that_is_deleted_from_without_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = log_of(7)
    log.config = LogConfig(cleanup_policy=frozenset({"compact", "delete"}))
    log.advance_log_start(4)
    assert dirty_range(log, 2, 7, NOW_MS).is_reset
    assert "start" not in caplog.text


def test_a_checkpoint_beyond_the_end_has_all_of_the_log_cleaned() -> None:
    log = log_of(7)
    found = dirty_range(log, 8, 7, NOW_MS)
    assert (found.first_dirty_offset, found.is_reset) == (0, True)
    assert not dirty_range(log, 7, 7, NOW_MS).is_reset


def test_dirty_records_may_not_get_older_than_the_max_compaction_lag() -> None:
    log = log_of(7, max_compaction_lag_ms=60_000, min_cleanable_dirty_ratio=1.0)
    log.config = LogConfig(
        cleanup_policy=frozenset({"compact"}), max_compaction_lag_ms=60_000, min_cleanable_dirty_ratio=1.0
    )
    first_ms = FIRST_TIMESTAMP + 2_000  # of the segment from offset 2
    assert compaction_delay_ms(log, 2, first_ms + 60_000) == 0
    assert compaction_delay_ms(log, 2, first_ms + 60_001) == 1
    late = measure(log, 2, 7, first_ms + 60_001)
    assert late.cleanable_ratio < 1.0
    assert late.is_due(1.0)
    assert not measure(log, 2, 7, first_ms + 60_000).is_due(1.0)
    assert not measure(log, 2, 2, first_ms + 60_001).is_due(1.0), "nothing of it may be cleaned yet"


def test_a_log_without_a_max_compaction_lag_is_never_late() -> None:
    log = log_of(7)
    assert compaction_delay_ms(log, 0, NOW_MS + 10**12) == 0


def test_segments_without_timestamps_are_not_late() -> None:
    harness = LogHarness(
        config=LogConfig(cleanup_policy=frozenset({"compact"}), segment_bytes=SIZE, max_compaction_lag_ms=1)
    )
    log = harness.open()
    for _ in range(3):
        log.append([batch(timestamp=-1)], leader_epoch=0)
    assert compaction_delay_ms(log, 0, NOW_MS) == 0
