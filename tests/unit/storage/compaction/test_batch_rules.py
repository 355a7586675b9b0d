"""What stays of a log, rule by rule, as Apache Kafka's log cleaner has them."""

import pytest

from barnabas.protocol.compression import Codec
from barnabas.protocol.record_batch import DELETE_HORIZON_BIT, TimestampType
from barnabas.storage.compaction.task import ActiveProducer, CleaningStatistics
from tests.compaction_setup import (
    DELETE_RETENTION_MS,
    FIRST_TIMESTAMP,
    NOW_MS,
    CompactedLog,
    end_marker,
    key_batch,
)


def log_of(*batches: bytes, end: int = 100) -> CompactedLog:
    """A log of one segment and an active one that begins at `end`, so that no batch happens to end it."""
    return CompactedLog([(0, b"".join(batches)), (end, b"")])


def pairs(log: CompactedLog) -> list[tuple[int, str | None, str | None]]:
    return [
        (
            record.offset,
            None if record.key is None else record.key.decode(),
            None if record.value is None else record.value.decode(),
        )
        for record in log.records()
    ]


# Records -------------------------------------------------------------------------------------------


def test_the_latest_record_of_each_key_stays_where_it_was() -> None:
    log = log_of(key_batch(0, ("a", "1"), ("b", "1")), key_batch(2, ("a", "2"), ("c", "1"), ("c", "2")))
    result = log.clean()
    assert pairs(log) == [(1, "b", "1"), (2, "a", "2"), (4, "c", "2")]
    assert result.cleaned_to_offset == 100


def test_a_record_keeps_timestamp_and_headers() -> None:
    log = log_of(
        key_batch(0, ("a", "1"), ("b", "1"), ("c", "1"), timestamp=FIRST_TIMESTAMP), key_batch(3, ("a", "2"))
    )
    before = log.records()
    log.clean()
    assert log.records() == [before[1], before[2], before[3]]
    header, _ = log.batches()[0]
    assert (header.base_timestamp, header.max_timestamp) == (FIRST_TIMESTAMP + 1, FIRST_TIMESTAMP + 2)


def test_a_record_without_a_key_goes_and_is_counted() -> None:
    log = log_of(key_batch(0, ("a", "1"), (None, "lost")), key_batch(2, (None, "lost")))
    result = log.clean()
    assert pairs(log) == [(0, "a", "1")]
    assert result.statistics.invalid_records == 2


def test_an_empty_key_is_a_key() -> None:
    log = log_of(key_batch(0, ("", "1"), ("", "2"), ("a", "1")))
    log.clean()
    assert pairs(log) == [(1, "", "2"), (2, "a", "1")]


def test_an_empty_value_is_no_tombstone() -> None:
    log = log_of(key_batch(0, ("a", "1"), ("b", "")))
    log.clean()
    assert pairs(log) == [(0, "a", "1"), (1, "b", "")]
    assert log.batches()[0][0].delete_horizon_ms is None


def test_what_the_active_segment_holds_supersedes_nothing_yet() -> None:
    log = CompactedLog([(0, key_batch(0, ("a", "1"))), (1, key_batch(1, ("a", "2")))])
    log.clean()
    assert pairs(log) == [(0, "a", "1"), (1, "a", "2")]


def test_offsets_and_producer_fields_of_a_batch_stay_when_its_ends_go() -> None:
    batch = key_batch(
        10, ("a", "1"), ("b", "1"), ("a", "1"), producer_id=7, producer_epoch=3, base_sequence=40,
        partition_leader_epoch=9,
    )  # fmt: skip
    log = log_of(batch, key_batch(13, ("a", "2")))
    before, _ = log.batches()[0]
    log.clean(active_producers=())
    after, records = log.batches()[0]
    assert [record.offset for record in records] == [11]
    for name in (
        "base_offset", "last_offset", "producer_id", "producer_epoch", "base_sequence", "last_sequence",
        "partition_leader_epoch",
    ):  # fmt: skip
        assert getattr(after, name) == getattr(before, name), name


def test_a_batch_of_which_nothing_goes_stays_byte_for_byte() -> None:
    kept = key_batch(0, ("a", "1"), ("b", "1"), codec=Codec.ZSTD, compression_level=19)
    log = log_of(kept, key_batch(2, ("c", "1"), ("c", "2")))
    log.clean()
    assert log.content(0).startswith(kept)


@pytest.mark.parametrize("codec", list(Codec))
def test_a_rewritten_batch_keeps_its_codec(codec: Codec) -> None:
    log = log_of(key_batch(0, ("a", "1"), ("b", "x" * 500), codec=codec), key_batch(2, ("a", "2")))
    log.clean()
    assert pairs(log) == [(1, "b", "x" * 500), (2, "a", "2")]
    assert log.batches()[0][0].codec is codec


def test_append_time_stays_that_of_the_batch() -> None:
    log = log_of(
        key_batch(0, ("a", "1"), ("b", "1"), log_append_time_ms=FIRST_TIMESTAMP + 50),
        key_batch(2, ("a", "2")),
    )
    log.clean()
    header, records = log.batches()[0]
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert header.max_timestamp == records[0].timestamp == FIRST_TIMESTAMP + 50


# Tombstones ----------------------------------------------------------------------------------------


def test_a_tombstone_gets_a_horizon_and_goes_when_it_has_passed() -> None:
    log = log_of(key_batch(0, ("a", "1"), ("b", "1")), key_batch(2, ("a", None), ("c", "1")))
    log.clean()
    header, records = log.batches()[1]
    assert header.attributes & DELETE_HORIZON_BIT
    assert header.delete_horizon_ms == NOW_MS + DELETE_RETENTION_MS
    assert [(record.offset, record.timestamp) for record in records] == [
        (2, FIRST_TIMESTAMP),
        (3, FIRST_TIMESTAMP + 1),
    ]

    content = log.content(0)
    log.clean(now_ms=NOW_MS + DELETE_RETENTION_MS - 1)
    assert log.content(0) == content, "the horizon is set once"
    log.clean(now_ms=NOW_MS + DELETE_RETENTION_MS)
    assert pairs(log) == [(1, "b", "1"), (3, "c", "1")]
    assert log.batches()[1][0].delete_horizon_ms == NOW_MS + DELETE_RETENTION_MS, "it stays with the batch"


def test_a_superseded_tombstone_goes_at_once() -> None:
    log = log_of(key_batch(0, ("a", None), ("b", "1")), key_batch(2, ("a", "2")))
    log.clean()
    assert pairs(log) == [(1, "b", "1"), (2, "a", "2")]
    assert log.batches()[0][0].delete_horizon_ms is None


# Transactions --------------------------------------------------------------------------------------


def transactional(base_offset: int, *values: tuple[str | None, str | None], producer: int = 7) -> bytes:
    return key_batch(
        base_offset, *values, producer_id=producer, producer_epoch=0, base_sequence=0, is_transactional=True
    )


def test_records_of_an_aborted_transaction_go_and_supersede_nothing() -> None:
    log = log_of(
        key_batch(0, ("a", "old")),
        transactional(1, ("a", "aborted"), ("b", "aborted")),
        end_marker(3, 7, commit=False),
    )
    log.clean(active_producers=())
    assert pairs(log) == [(0, "a", "old")]


def test_a_producer_writes_on_after_an_aborted_transaction() -> None:
    log = log_of(
        transactional(0, ("a", "aborted")), end_marker(1, 7, commit=False), transactional(2, ("a", "good")),
        end_marker(3, 7, commit=True),
    )  # fmt: skip
    log.clean(active_producers=())
    assert pairs(log) == [(2, "a", "good")]


def test_an_abort_whose_marker_is_not_yet_cleanable_is_known() -> None:
    log = CompactedLog(
        [
            (0, key_batch(0, ("a", "old")) + transactional(1, ("a", "aborted"))),
            (2, end_marker(2, 7, commit=False)),
        ]
    )
    log.clean(active_producers=())
    assert pairs(log) == [(0, "a", "old")]


def test_a_marker_stays_as_long_as_a_batch_of_its_transaction_does() -> None:
    log = log_of(transactional(0, ("a", "1")), end_marker(1, 7, commit=True))
    content = log.content(0)
    for now_ms in (NOW_MS, NOW_MS + 10 * DELETE_RETENTION_MS):
        log.clean(active_producers=(), now_ms=now_ms)
        assert log.content(0) == content


def test_a_marker_without_records_gets_a_horizon_and_goes_when_it_has_passed() -> None:
    log = log_of(
        transactional(0, ("a", "1")), end_marker(1, 7, commit=True), key_batch(2, ("a", "2")),
    )  # fmt: skip
    log.clean(active_producers=())
    # The first time a batch of the transaction was still met, if only to lose its records.
    assert [header.base_offset for header, _ in log.batches()] == [1, 2]
    assert log.batches()[0][0].delete_horizon_ms is None
    log.clean(active_producers=())
    header, records = log.batches()[0]
    assert header.is_control
    assert header.delete_horizon_ms == NOW_MS + DELETE_RETENTION_MS
    assert records[0].timestamp == FIRST_TIMESTAMP
    log.clean(active_producers=(), now_ms=NOW_MS + DELETE_RETENTION_MS - 1)
    assert len(log.batches()) == 2
    log.clean(active_producers=(), now_ms=NOW_MS + DELETE_RETENTION_MS)
    assert [header.base_offset for header, _ in log.batches()] == [2]


def test_an_aborted_transaction_stays_in_the_index_with_its_marker_while_a_reader_may_need_it() -> None:
    log = log_of(
        key_batch(0, ("a", "1")), transactional(1, ("a", "aborted")), end_marker(2, 7, commit=False)
    )  # fmt: skip
    before = log.content(0, ".txnindex")
    log.clean(active_producers=())
    assert log.content(0, ".txnindex") == before
    log.clean(active_producers=())
    assert log.content(0, ".txnindex") == b"", "nothing of the transaction is left to be skipped"
    assert [header.is_control for header, _ in log.batches()] == [False, True]


def test_a_marker_goes_although_its_producer_aborted_another_transaction_before() -> None:
    log = log_of(
        transactional(0, ("a", "aborted")),
        end_marker(1, 7, commit=False),
        end_marker(2, 7, commit=False),  # nothing is left of its transaction
    )
    log.clean(active_producers=())
    first, second = (header for header, _ in log.batches())
    assert first.delete_horizon_ms is None
    assert second.delete_horizon_ms == NOW_MS + DELETE_RETENTION_MS


# Batches without records ---------------------------------------------------------------------------


def test_the_last_batch_of_an_active_producer_stays_without_records() -> None:
    batch = key_batch(0, ("a", "1"), ("a", "2"), producer_id=7, producer_epoch=3, base_sequence=40)
    log = log_of(batch, key_batch(2, ("a", "3")))
    log.clean(active_producers=(ActiveProducer(7, 3, 1),))
    header, records = log.batches()[0]
    assert records == []
    assert (header.base_offset, header.last_offset, header.last_sequence) == (0, 1, 41)
    assert (header.base_timestamp, header.max_timestamp) == (-1, FIRST_TIMESTAMP + 1)
    content = log.content(0)
    log.clean(active_producers=(ActiveProducer(7, 3, 1),))
    assert log.content(0) == content
    log.clean(active_producers=())
    assert [header.base_offset for header, _ in log.batches()] == [2], "the producer has gone"


def test_an_earlier_batch_of_an_active_producer_goes() -> None:
    log = log_of(
        key_batch(0, ("a", "1"), producer_id=7, producer_epoch=3, base_sequence=40),
        key_batch(1, ("a", "2"), producer_id=7, producer_epoch=3, base_sequence=41),
    )
    log.clean()
    assert [header.base_offset for header, _ in log.batches()] == [1]


def test_the_marker_stays_that_alone_tells_an_active_producers_epoch() -> None:
    log = log_of(end_marker(0, 7, commit=True, epoch=4), key_batch(1, ("a", "1")))
    producers = (ActiveProducer(7, 4, -1),)
    log.clean(active_producers=producers)
    log.clean(active_producers=producers, now_ms=NOW_MS + DELETE_RETENTION_MS)
    header, records = log.batches()[0]
    assert (header.is_control, header.producer_epoch, records) == (True, 4, [])
    log.clean(active_producers=(ActiveProducer(7, 5, -1),), now_ms=NOW_MS + DELETE_RETENTION_MS)
    assert [header.base_offset for header, _ in log.batches()] == [1]


def test_the_last_batch_below_the_high_watermark_stays_without_records() -> None:
    log = CompactedLog(
        [(0, key_batch(0, ("a", "1")) + transactional(1, ("a", "2")) + end_marker(2, 7, commit=False)
          + transactional(3, ("a", "3"))), (4, end_marker(4, 7, commit=False))]
    )  # fmt: skip
    log.clean(active_producers=(), high_watermark=4)
    header, records = log.batches([0])[-1]
    assert (header.last_offset, records) == (3, [])
    log.clean(active_producers=(), high_watermark=5)
    assert [header.last_offset for header, _ in log.batches([0])] == [0, 2]


# A map that gets full ------------------------------------------------------------------------------


def test_a_full_map_ends_the_cleaning_and_leaves_the_rest_as_it_is() -> None:
    log = log_of(
        key_batch(0, ("a", "1"), ("b", "1"), ("a", "2"), ("c", "1"), ("a", "3")), key_batch(5, (None, "x"))
    )
    result = log.clean(dedupe_buffer_bytes=24 * 2, dedupe_load_factor=1.0)
    # Two keys are in; the next record ends it even though its key is one of them, as in Kafka.
    assert result.cleaned_to_offset == 2
    assert pairs(log) == [
        (0, "a", "1"),
        (1, "b", "1"),
        (2, "a", "2"),
        (3, "c", "1"),
        (4, "a", "3"),
        (5, None, "x"),
    ]
    assert (result.statistics.map_entries, result.statistics.map_entries_max) == (2, 2)

    result = log.clean(dedupe_buffer_bytes=24 * 4, dedupe_load_factor=0.75, first_dirty_offset=2)
    assert result.cleaned_to_offset == 100
    assert pairs(log) == [(1, "b", "1"), (3, "c", "1"), (4, "a", "3")]


def test_a_tombstone_beyond_the_map_gets_its_horizon_too() -> None:
    log = log_of(key_batch(0, ("a", "1"), ("b", "1")), key_batch(2, ("c", None)))
    log.clean(dedupe_buffer_bytes=24 * 2, dedupe_load_factor=1.0)
    assert log.batches()[1][0].delete_horizon_ms == NOW_MS + DELETE_RETENTION_MS


def test_statistics_tell_what_was_read_and_written() -> None:
    log = log_of(key_batch(0, ("a", "1"), ("b", "1")), key_batch(2, ("a", "2")), key_batch(3, ("a", "3")))
    size = len(log.content(0))
    statistics = log.clean().statistics
    assert statistics == CleaningStatistics(
        map_bytes_read=size, map_records_read=4, map_entries=2, map_entries_max=90_000,
        bytes_read=size, records_read=4, bytes_written=len(log.content(0)), records_written=2,
        batches_kept=1, batches_rewritten=1, batches_dropped=1,
    )  # fmt: skip
