"""Random logs, cleaned, compared with a model that knows nothing of batches, maps or segments.

The model has a list of records, knows which transactions were aborted, and says which records stay. A reader
by key must see the same state before and after, offsets and contents must not change, and a second cleaning
must find nothing more to do.
"""

from collections.abc import Iterable
from itertools import pairwise
from random import Random
from typing import NamedTuple

import pytest

from barnabas.protocol.compression import Codec
from barnabas.protocol.control_records import ControlType, parse_control_type
from barnabas.protocol.record_batch import BatchHeader, crc_matches, iter_batches
from barnabas.protocol.records import Record
from tests.compaction_setup import DELETE_RETENTION_MS, NOW_MS, Batches, CompactedLog, LogMaker

SEEDS = range(24)
ALL_CODECS = (Codec.NONE, Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)


class Fate(NamedTuple):
    """A record with what the model knows of it."""

    record: Record
    header: BatchHeader
    is_aborted: bool


def fates(batches: Batches) -> list[Fate]:
    """Each record, with whether its transaction was aborted: the end of a transaction is read first."""
    found: list[Fate] = []
    ends: dict[int, bool] = {}  # producer -> whether the next end, looking forward, is an abort
    for header, records in reversed(batches):
        if header.is_control:
            for record in records:
                ends[header.producer_id] = parse_control_type(record.key) is ControlType.ABORT
            continue
        is_aborted = header.is_transactional and ends.get(header.producer_id, False)
        found += [Fate(record, header, is_aborted) for record in reversed(records)]
    found.reverse()
    return found


def expected_records(batches: Batches, first_dirty: int, cleaned_to: int, now_ms: int) -> list[Record]:
    """What must be left of a log."""
    latest: dict[bytes, int] = {}
    for record, _, is_aborted in fates(batches):
        if first_dirty <= record.offset < cleaned_to and record.key is not None and not is_aborted:
            latest[record.key] = record.offset
    stays = []
    for record, header, is_aborted in fates(batches):
        if is_aborted and record.offset < cleaned_to:
            continue
        if record.offset < cleaned_to:
            if record.key is None or record.offset < latest.get(record.key, -1):
                continue
            horizon_ms = header.delete_horizon_ms
            if record.value is None and horizon_ms is not None and horizon_ms <= now_ms:
                continue
        stays.append(record)
    return stays


def final_state(batches: Batches) -> dict[bytes, bytes]:
    """What a read_committed consumer that reads all has by key."""
    state: dict[bytes, bytes] = {}
    for record, _, is_aborted in fates(batches):
        if is_aborted or record.key is None:
            continue
        if record.value is None:
            state.pop(record.key, None)
        else:
            state[record.key] = record.value
    return state


def check_structure(log: CompactedLog, before: Batches) -> None:
    """Offsets, order, checksums, indexes and what belongs to a batch rather than to its records."""
    old = {header.base_offset: header for header, _ in before}
    last = -1
    for base_offset in log.bases:
        content = log.content(base_offset)
        for position, header in iter_batches(content):
            assert crc_matches(content, position, header)
            assert header.base_offset > last
            last = header.last_offset
            was = old[header.base_offset]
            for name in (
                "last_offset", "producer_id", "producer_epoch", "base_sequence", "partition_leader_epoch",
                "is_transactional", "is_control", "timestamp_type",
            ):  # fmt: skip
                assert getattr(header, name) == getattr(was, name), name
            assert header.codec is was.codec or header.records_count == 0
    for base_offset in log.bases[:-1]:
        if log.content(base_offset, ".index") or log.content(base_offset, ".timeindex"):
            check_indexes(log, base_offset)


def check_indexes(log: CompactedLog, base_offset: int) -> None:
    """Every entry points at its batch, and no record is later than the time index says."""
    offsets, times = log.indexes(base_offset)
    content = log.content(base_offset)
    by_position = dict(iter_batches(content))
    for number in range(len(offsets)):
        offset, position = offsets.entry(number)
        assert by_position[position].last_offset == offset
    entries = [times.entry(number) for number in range(len(times))]
    assert all(earlier < later for earlier, later in pairwise(entries))
    for timestamp, offset in entries:
        seen = [header.max_timestamp for header in by_position.values() if header.last_offset <= offset]
        assert max(seen) == timestamp


def assert_records(found: Iterable[Record], expected: Iterable[Record]) -> None:
    assert [(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in found] == [
        (r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in expected
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cleaned_log_is_what_the_model_says(seed: int) -> None:
    random = Random(seed)
    maker = LogMaker(
        seed, keys=random.choice((3, 12, 60)), codecs=random.choice(((Codec.NONE,), ALL_CODECS)),
        keyless=random.random() < 0.3, segments=random.randrange(2, 7),
    )  # fmt: skip
    log = CompactedLog(maker.make())
    options = {
        "index_interval_bytes": random.choice((0, 300, 4096)),
        "segment_bytes": random.choice((1000, 5000, 1 << 20)),
        "io_buffer_bytes": random.choice((64, 700, 1 << 16)),
        "active_producers": () if random.random() < 0.5 else log.active_producers(),
        "hash_seed": seed,
    }
    first_dirty, now_ms = log.bases[0], NOW_MS
    end = log.bases[-1]
    for _ in range(4):
        before = log.batches()
        entries_max = random.choice((2, 5, 1000))
        result = log.clean(
            first_dirty_offset=first_dirty, now_ms=now_ms, dedupe_buffer_bytes=24 * entries_max,
            dedupe_load_factor=1.0, **options,
        )  # fmt: skip
        assert result.cleaned_to_offset == end or result.statistics.map_entries == entries_max
        cleaned_to = result.cleaned_to_offset
        # Batches of an aborted transaction go in the whole of every segment that is touched.
        touched = max((base for base in log.bases[:-1] if base < cleaned_to), default=0)
        upper = min((base for base in log.bases if base > touched), default=end)
        expected = [
            record
            for record in expected_records(before, first_dirty, cleaned_to, now_ms)
            if record.offset >= upper
            or record.offset < cleaned_to
            or not aborted_offsets(before).issuperset((record.offset,))
        ]
        assert_records(log.records(), expected)
        check_structure(log, before)
        for header, records in log.batches(log.bases[:-1]):
            has_tombstone = not header.is_control and any(record.value is None for record in records)
            assert header.base_offset >= upper or not has_tombstone or header.delete_horizon_ms is not None
        first_dirty = cleaned_to
        now_ms += random.choice((0, DELETE_RETENTION_MS, 10 * DELETE_RETENTION_MS))


def aborted_offsets(batches: Batches) -> set[int]:
    return {fate.record.offset for fate in fates(batches) if fate.is_aborted}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_reader_by_key_sees_the_same_before_and_after(seed: int) -> None:
    log = CompactedLog(LogMaker(seed, codecs=ALL_CODECS).make())
    before = final_state(log.batches())
    for round_ in range(3):
        log.clean(now_ms=NOW_MS + round_ * 2 * DELETE_RETENTION_MS)
        assert final_state(log.batches()) == before


@pytest.mark.parametrize("seed", SEEDS[:12])
def test_a_second_cleaning_of_the_same_time_changes_nothing_once_markers_have_their_horizon(
    seed: int,
) -> None:
    log = CompactedLog(LogMaker(seed).make())
    for _ in range(2):
        log.clean()
    before = {base: log.content(base) for base in log.bases}
    result = log.clean()
    assert {base: log.content(base) for base in log.bases} == before
    assert result.statistics.segments_unchanged == len(log.bases) - 1
    assert result.groups == ()
