"""The walk against the full parser: they accept the same bytes and agree on every sum."""

import random
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.base.errors import DecodeError
from barnabas.protocol import record_walk
from barnabas.protocol.record_walk import RecordsSummary, summarize_records
from barnabas.protocol.records import decode_records, encode_record

LAST_INDEX_OF_WIDTH = (63, 64, 65, 8191, 8192, 8200, 16400)


def sums(section: bytes | memoryview, count: int) -> tuple[int, int, int, int]:
    """What the walk says, as values that compare."""
    summary = summarize_records(section, count)
    return (
        summary.timestamp_delta_max,
        summary.timestamp_delta_min,
        summary.keyless_index,
        summary.misplaced_index,
    )


def expected_sums(section: bytes, count: int) -> tuple[int, int, int, int]:
    records = decode_records(section, records_count=count, base_offset=0, base_timestamp=0)
    deltas = [record.timestamp for record in records]
    keyless = [i for i, record in enumerate(records) if record.key is None]
    misplaced = [i for i, record in enumerate(records) if record.offset != i]
    return max(deltas), min(deltas), keyless[0] if keyless else -1, misplaced[0] if misplaced else -1


def check(section: bytes, count: int) -> None:
    expected = expected_sums(section, count)
    assert sums(section, count) == expected
    assert sums(memoryview(b"_" + section)[1:], count) == expected


ROW = st.tuples(
    st.integers(-70, 9000),
    st.none() | st.binary(max_size=3),
    st.none() | st.binary(max_size=3),
    st.lists(st.tuples(st.sampled_from(["a", "bc"]), st.none() | st.binary(max_size=2)), max_size=2),
)


@given(st.lists(st.tuples(ROW, st.integers(1, 90)), min_size=1, max_size=6), st.booleans())
@settings(max_examples=200, deadline=None)
def test_stretches_of_equal_shape_sum_up_as_the_parser_says(groups: list, rising: bool) -> None:
    parts = []
    for (delta, key, value, headers), repeat in groups:
        for _ in range(repeat):
            i = len(parts)
            parts.append(encode_record(delta + (i if rising else i * 31 % 60), i, key, value, headers))
    check(b"".join(parts), len(parts))


@pytest.mark.parametrize("count", LAST_INDEX_OF_WIDTH)
@pytest.mark.parametrize("misplaced", [None, 0, 40, -1])
def test_offset_deltas_of_every_width(count: int, misplaced: int | None) -> None:
    wrong = None if misplaced is None else misplaced % count
    parts = [encode_record(i // 50, i if i != wrong else i ^ 1, None, b"value") for i in range(count)]
    check(b"".join(parts), count)


@pytest.mark.parametrize("deltas", ["rising", "falling", "random", "wide", "negative", "huge"])
def test_timestamp_deltas_of_every_width(deltas: str) -> None:
    draw = random.Random(4)
    make = {
        "rising": lambda i: i * 7,
        "falling": lambda i: (2000 - i) * 7,
        "random": lambda i: draw.randrange(16384),
        "wide": lambda i: draw.randrange(1 << 20, 1 << 27),
        "negative": lambda i: draw.randrange(-63, 63),
        "huge": lambda i: draw.choice((-(1 << 63), (1 << 63) - 1, 0)),
    }[deltas]
    check(b"".join(encode_record(make(i), i, b"key", b"value") for i in range(2000)), 2000)


def test_records_of_one_shape_take_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    walked = []
    original = record_walk._walk_singles

    def counted(data, position, end, index, stop, state):  # type: ignore[no-untyped-def]
        walked.append(stop - index)
        return original(data, position, end, index, stop, state)

    monkeypatch.setattr(record_walk, "_walk_singles", counted)
    section = b"".join(encode_record(i // 100, i, None, bytes(90), [("h", b"1234")]) for i in range(10000))
    summarize_records(section, 10000)
    assert sum(walked) < 100


def test_large_records_are_walked_without_a_copy() -> None:
    section = b"".join(encode_record(i, i, b"k", bytes(1 << 20)) for i in range(4))
    tracemalloc.start()
    try:
        assert sums(memoryview(section), 4) == (3, 0, -1, -1)
        assert tracemalloc.get_traced_memory()[1] < 64 * 1024
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("headers", [[], [("h", b"1")]])
@pytest.mark.parametrize("key", [None, b"", b"k" * 63, b"k" * 64, b"k" * 200])
@pytest.mark.parametrize("value_bytes", [None, 0, 60, 63, 64, 120, 8100, 8192, 20000])
def test_p2_a_lone_record_and_whatever_it_is_damaged_to(
    value_bytes: int | None, key: bytes | None, headers: list[tuple[str, bytes]]
) -> None:
    section = encode_record(0, 0, key, None if value_bytes is None else bytes(value_bytes), headers)
    check(section, 1)
    behind_key = section.index(b"k" * len(key)) + len(key) if key else 5
    places = {*range(8), *range(behind_key - 1, behind_key + 5), len(section) - 1}
    for place in places & set(range(len(section))):
        for value in {0, 1, 2, 3, 0x7E, 0x7F, 0x80, 0x81, 0xFF, section[place] ^ 1, section[place] ^ 0x80}:
            mutated = section[:place] + bytes((value,)) + section[place + 1 :]
            try:
                expected = expected_sums(mutated, 1)
            except DecodeError:
                with pytest.raises(DecodeError):
                    summarize_records(mutated, 1)
            else:
                assert sums(mutated, 1) == expected


@pytest.mark.parametrize("key", [None, b"", b"k", b"k" * 62, b"k" * 63])
def test_a_plain_lone_record_of_any_size_is_not_walked(key: bytes | None) -> None:
    for value_bytes in (*range(140), *range(8050, 8192)):
        section = encode_record(0, 0, key, bytes(value_bytes))
        check(section, 1)
        is_small = len(section) <= 2 + 8191
        assert (record_walk._summarize_lone(section, len(section)) is not None) == is_small, value_bytes


def walked_as_large(section: bytes, count: int) -> bool:
    try:
        return record_walk._walk_large(section, len(section), count, RecordsSummary()) == len(section)
    except DecodeError:
        return False


@given(st.data())
@settings(max_examples=400, deadline=None)
def test_mutations_are_accepted_by_both_or_refused_by_both(data: st.DataObject) -> None:
    count = data.draw(st.sampled_from([1, 5, 40, 100]))
    uniform = data.draw(st.booleans())
    headers = data.draw(st.sampled_from([(), [("h", b"1")], [("h", None), ("i", b"22")]]))
    section = bytearray(
        b"".join(
            encode_record(i % 50, i, b"key", b"v" * (5 if uniform else i * 7 % 90), headers)
            for i in range(count)
        )
    )
    for _ in range(data.draw(st.integers(0, 3))):
        section[data.draw(st.integers(0, len(section) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.sampled_from([0, 0, 0, 1, 3]))
    mutated = bytes(section[: len(section) - cut])
    try:
        expected = expected_sums(mutated, count)
    except DecodeError:
        with pytest.raises(DecodeError):
            summarize_records(mutated, count)
        assert not walked_as_large(mutated, count)
        return
    assert sums(mutated, count) == expected
    assert walked_as_large(mutated, count)


@given(st.binary(max_size=300), st.integers(-1, 40))
def test_random_bytes_raise_decode_error_or_sum_up(data: bytes, count: int) -> None:
    try:
        summary = sums(data, count)
    except DecodeError:
        return
    assert summary == expected_sums(data, count)
