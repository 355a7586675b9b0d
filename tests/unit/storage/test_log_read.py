"""From an offset to a slice: rules F14 and F17 to F23."""

from contextlib import closing

import pytest

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.protocol.record_batch import HEADER_BYTES, iter_batches
from barnabas.protocol.record_batch_builder import BatchBuilder
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.offset_metadata import LogOffsetMetadata
from barnabas.storage.producer_state.states import AppendOrigin
from barnabas.storage.segment import RECENT_BATCHES_MAX
from barnabas.storage.segment_cache import SegmentCache
from tests.storage_setup import FIRST_TIMESTAMP, LogHarness, batch, marker

SIZE = len(batch(3))


def filled(batches: int = 30, *, per_segment: int = 10, interval: int = 2 * SIZE, **options: object) -> Log:
    """Batches of three records, `per_segment` of them in each segment."""
    config = LogConfig(segment_bytes=per_segment * SIZE, index_interval_bytes=interval, retention_ms=-1)
    log = LogHarness(config=config, **options).open()  # type: ignore[arg-type]
    for number in range(batches):
        log.append([batch(3, timestamp=FIRST_TIMESTAMP + number)], leader_epoch=0)
    return log


def read(
    log: Log, offset: int, max_bytes: int, bound: LogOffsetMetadata | None = None, **options: bool
) -> bytes:
    data = log.read(offset, bound or log.log_end_offset_metadata, max_bytes, **options)
    if data.records is None:
        return b""
    content = data.records.read()
    data.records.release()
    assert len(content) == data.size
    return content


def first_offsets(content: bytes) -> list[int]:
    return [header.base_offset for _, header in iter_batches(content, allow_partial_tail=True)]


@pytest.mark.parametrize("offset", [-1, 91, 10**12])
def test_f14_an_offset_outside_of_the_log_is_out_of_range(offset: int) -> None:
    log = filled()
    with pytest.raises(ApiError) as raised:
        log.read(offset, log.log_end_offset_metadata, 1000)
    assert raised.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_f14_below_the_log_start_is_out_of_range() -> None:
    log = filled()
    log.advance_log_start(5)
    with pytest.raises(ApiError) as raised:
        log.read(4, log.log_end_offset_metadata, 1000)
    assert raised.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert first_offsets(read(log, 5, 1000))[0] == 3


def test_f14_at_the_bound_nothing_is_read() -> None:
    log = filled()
    bound = log.offset_metadata(30)
    reads: list[str] = []
    log.directory.disk.on_operation = lambda what, path: reads.append(what)  # type: ignore[attr-defined]
    data = log.read(30, bound, 1000)
    assert data.records is None
    assert data.offset_metadata == bound
    assert not reads


def test_f14_between_bound_and_end_is_empty_and_no_error() -> None:
    log = filled()
    data = log.read(42, log.offset_metadata(30), 1000)
    assert data.records is None
    assert data.offset_metadata == log.offset_metadata(42)


def test_f18_a_gap_at_a_segments_end_leads_to_the_next_segment() -> None:
    harness = LogHarness()
    harness.disk.make_dirs(harness.path)
    # As compaction leaves it: offsets 3 to 9 are gone, and the next segment begins behind them.
    for base_offset in (0, 10):
        with closing(harness.disk.open(f"{harness.path}/{base_offset:020}.log", create=True)) as file:
            file.write_at(0, [_at(base_offset, 3)])
    log = harness.open(clean=True)
    assert log.log_end_offset == 13
    for offset in (3, 5, 9, 10):
        data = log.read(offset, log.log_end_offset_metadata, 1000)
        assert data.offset_metadata == (offset, 10, 0)
        assert data.records is not None
        assert first_offsets(data.records.read()) == [10]


def _at(base_offset: int, count: int) -> bytes:
    return batch(count, base_offset=base_offset, partition_leader_epoch=0)


@pytest.mark.parametrize("interval", [0, 2 * SIZE, 10**6])
@pytest.mark.parametrize("remembered", [True, False])
def test_f19_every_offset_is_found_whatever_the_index_knows(interval: int, remembered: bool) -> None:
    log = filled(interval=interval)
    if not remembered:
        log.segments.active._forget_recent()
    for offset in range(90):
        content = read(log, offset, SIZE)
        assert first_offsets(content) == [offset - offset % 3]


def test_f19_the_interval_is_checked_before_it_grows() -> None:
    """An entry comes with the batch that has more than the interval before it, never with the first."""
    log = filled(8, interval=2 * SIZE)
    index = log.segments.active.offset_index
    assert [index.entry(n) for n in range(len(index))] == [(3 * 4 - 1, 3 * SIZE), (3 * 7 - 1, 6 * SIZE)]


def test_f19_more_batches_than_are_remembered() -> None:
    log = filled(3 * RECENT_BATCHES_MAX, per_segment=10**6)
    for offset in range(0, log.log_end_offset, 3):
        assert first_offsets(read(log, offset, SIZE)) == [offset]


def test_f19_a_reader_at_the_tail_costs_no_read_of_the_file() -> None:
    log = filled()
    reads: list[str] = []
    log.directory.disk.on_operation = lambda what, path: reads.append(what)  # type: ignore[attr-defined]
    log.read(87, log.log_end_offset_metadata, 1000)
    assert not reads


def test_f20_a_bound_in_a_later_segment_gives_the_whole_segment() -> None:
    log = filled()
    assert len(read(log, 0, 10**6, log.offset_metadata(75))) == 10 * SIZE


def test_f20_a_bound_in_this_segment_cuts_at_its_position() -> None:
    log = filled()
    assert len(read(log, 0, 10**6, log.offset_metadata(12))) == 4 * SIZE


def test_f20_a_bound_without_a_place_gives_nothing() -> None:
    log = filled()
    data = log.read(0, LogOffsetMetadata(75), 10**6, min_one_message=True)
    assert data.records is None
    assert data.offset_metadata == (0, 0, 0)


def test_f21_the_limit_may_split_the_last_batch_the_bound_never_does() -> None:
    log = filled()
    content = read(log, 0, 2 * SIZE + 7)
    assert len(content) == 2 * SIZE + 7
    assert first_offsets(content) == [0, 3]
    assert len(read(log, 0, 2 * SIZE + 7, log.offset_metadata(6))) == 2 * SIZE


@pytest.mark.parametrize(("limit", "length"), [(0, SIZE), (1, SIZE), (SIZE - 1, SIZE), (SIZE + 1, SIZE + 1)])
def test_f21_the_first_batch_is_whole_when_asked_for(limit: int, length: int) -> None:
    assert len(read(filled(), 4, limit, min_one_message=True)) == length


def test_f21_without_it_a_part_of_the_first_batch_comes() -> None:
    log = filled()
    data = log.read(0, log.log_end_offset_metadata, 10)
    assert data.size == 10
    assert data.first_entry_incomplete
    assert log.read(0, log.log_end_offset_metadata, 0).records is None


def test_f22_no_record_byte_is_read() -> None:
    log = LogHarness().open()
    for _ in range(4):
        log.append([batch(value_bytes=100_000)], leader_epoch=0)
    log.segments.active._forget_recent()
    lengths: list[int] = []
    leased = log.segments.active.leased
    original = leased.file.read_at
    leased.file = _Spy(
        leased.file, lambda position, length: lengths.append(length) or original(position, length)
    )
    log.read(3, log.log_end_offset_metadata, 10**6)
    assert lengths
    assert max(lengths) <= HEADER_BYTES


class _Spy:
    def __init__(self, file: object, read_at: object) -> None:
        self._file = file
        self.read_at = read_at

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)


@pytest.mark.parametrize("what", ["retention", "truncation", "close", "deletion", "eviction"])
def test_f22_a_slice_survives_what_happens_to_its_segment(what: str) -> None:
    cache = SegmentCache(files_max=1)
    log = filled(cache=cache)
    data = log.read(0, log.log_end_offset_metadata, SIZE)
    assert data.records is not None
    expected = data.records.read()
    leased = data.records._leased
    if what == "retention":
        log.advance_log_start(60)
    elif what == "truncation":
        log.truncate_fully(500)
    elif what == "close":
        log.close()
    elif what == "deletion":
        log.move_directory("/data/t-0.x-delete")
        log.abandon()
    else:
        read(log, 31, 10)
    assert data.records.read() == expected
    assert leased.holders == 1
    data.records.release()
    assert leased.holders == 0


def test_f23_a_read_never_crosses_a_segment() -> None:
    log = filled()
    assert len(read(log, 27, 10**6)) == SIZE
    assert first_offsets(read(log, 30, 10**6))[0] == 30


def test_f17_aborted_transactions_reach_to_the_next_index_entry() -> None:
    log = LogHarness(config=LogConfig(index_interval_bytes=300)).open()
    for producer_id in range(20, 26):
        options = {
            "producer_id": producer_id,
            "producer_epoch": 0,
            "base_sequence": 0,
            "is_transactional": True,
        }
        log.append([batch(2, **options)], leader_epoch=0)
        log.append(
            [marker(producer_id, commit=producer_id % 2 == 0)],
            leader_epoch=0,
            origin=AppendOrigin.COORDINATOR,
        )
    end = log.log_end_offset_metadata
    everything = log.read(0, end, 10**6, include_aborted=True).aborted_transactions
    assert everything is not None
    assert [(entry.producer_id, entry.first_offset) for entry in everything] == [(21, 3), (23, 9), (25, 15)]
    data = log.read(3, end, 1, min_one_message=True, include_aborted=True)
    # The next index entry behind the slice is what bounds the list, so later ones may be in it.
    upper = log.segments.active.offset_index.offset_at_or_after(
        data.offset_metadata.position_in_segment + data.size
    )
    assert upper is not None
    assert data.aborted_transactions == [entry for entry in everything if entry.first_offset < upper]
    assert [
        entry.producer_id
        for entry in log.read(12, end, 10**6, include_aborted=True).aborted_transactions or []
    ] == [25]
    assert log.read(18, end, 10, include_aborted=True).aborted_transactions == []


def test_f17_an_abort_whose_marker_lies_in_a_later_segment_is_told() -> None:
    log = LogHarness().open()
    options = {"producer_id": 7, "producer_epoch": 0, "is_transactional": True}
    log.append([batch(2, base_sequence=0, **options)], leader_epoch=0)
    log.roll()
    log.append([batch(2, base_sequence=2, **options)], leader_epoch=0)
    log.roll()
    log.append([marker(7, commit=False)], leader_epoch=0, origin=AppendOrigin.COORDINATOR)
    for offset in (0, 2):
        data = log.read(offset, log.log_end_offset_metadata, 10**6, include_aborted=True)
        assert data.aborted_transactions is not None
        assert [(e.producer_id, e.first_offset) for e in data.aborted_transactions] == [(7, 0)]


def test_a_lying_index_is_found_and_made_anew() -> None:
    harness = LogHarness(
        config=LogConfig(segment_bytes=10 * SIZE, index_interval_bytes=SIZE, retention_ms=-1)
    )
    log = harness.open()
    for _ in range(30):
        log.append([batch(3)], leader_epoch=0)
    log.close()
    path = f"{harness.path}/{0:020d}.index"
    whole = harness.content(f"{0:020d}.index")
    for bad in (whole[:-1] + b"\x07", b"", whole[:5], whole + bytes(800), b"\xff" * 16):
        file = harness.disk.open(path)
        file.truncate(0)
        file.write_at(0, [bad])
        log = harness.open(clean=True)
        for offset in range(30):
            assert first_offsets(read(log, offset, SIZE)) == [offset - offset % 3], bad
        log.close()


def test_a_damaged_header_is_refused_and_the_rest_goes_on() -> None:
    log = filled()
    log.segments.first.leased.file.write_at(4 * SIZE + 8, [b"\xff\xff"])
    log.segments.first._forget_recent()
    for _ in range(2):
        with pytest.raises(ApiError) as raised:
            read(log, 13, 100)
        assert raised.value.code is ErrorCode.CORRUPT_MESSAGE
    assert log.directory.online
    assert first_offsets(read(log, 29, SIZE)) == [27]
    assert first_offsets(read(log, 33, SIZE)) == [33]


def test_list_offsets_by_time_looks_inside_the_batch() -> None:
    log = LogHarness().open()
    builder = BatchBuilder()
    for timestamp in (100, 300, 200, 300):
        builder.append(timestamp=timestamp, key=None, value=b"x")
    log.append([builder.build()], leader_epoch=4)
    log.append([batch(2, timestamp=250)], leader_epoch=4)
    assert log.offset_for_timestamp(0) == (100, 0, 4)
    assert log.offset_for_timestamp(101) == (300, 1, 4)
    assert log.offset_for_timestamp(301) is None
    assert log.offset_for_timestamp(-3) == (300, 1, 4)
    assert log.offset_for_timestamp(-1) == (-1, 6, 4)
    assert log.offset_for_timestamp(-2) == (-1, 0, 4)
    assert log.offset_for_timestamp(-4) == (-1, 0, 4)
    assert log.offset_for_timestamp(-5) == (-1, -1, -1)
    log.advance_log_start(2)
    assert log.offset_for_timestamp(101) == (200, 2, 4)
    with pytest.raises(ApiError):
        log.offset_for_timestamp(-9)


def test_list_offsets_finds_the_first_record_late_enough_in_any_segment() -> None:
    log = filled()
    for number in range(30):
        assert log.offset_for_timestamp(FIRST_TIMESTAMP + number + 2) == (
            FIRST_TIMESTAMP + number + 2,
            3 * number + 2,
            0,
        )


def test_first_unstable_offset_waits_for_the_high_watermark() -> None:
    log = LogHarness().open()
    log.append([batch()], leader_epoch=0)
    options = {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0, "is_transactional": True}
    log.append([batch(2, **options)], leader_epoch=0)
    first = log.first_unstable_offset
    assert first is not None
    assert first == log.offset_metadata(1)
    log.append([marker(5, commit=True)], leader_epoch=0, origin=AppendOrigin.COORDINATOR)
    assert log.first_unstable_offset == first
    log.high_watermark_advanced(3)
    assert log.first_unstable_offset == first
    log.high_watermark_advanced(4)
    assert log.first_unstable_offset is None
