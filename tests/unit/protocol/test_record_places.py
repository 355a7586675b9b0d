"""Where records lie and what keys they have, beside the reader that makes records of them."""

from random import Random

import pytest

from barnabas.base.errors import DecodeError
from barnabas.protocol import record_places
from barnabas.protocol.record_places import iter_record_places
from barnabas.protocol.records import decode_records, encode_record


def section_of(random: Random, count: int, *, is_dense: bool, same: bool) -> bytes:
    """Records of a batch; `same` makes most of one shape."""
    parts = []
    offset = 0
    for number in range(count):
        odd = not same or random.random() < 0.02
        key = None if odd and random.random() < 0.2 else b"%08d" % random.randrange(10**8)
        if odd:
            key = None if key is None else key[: random.randrange(9)] * random.choice((1, 1, 20))
        value = None if odd and random.random() < 0.3 else b"v" * (random.randrange(200) if odd else 7)
        headers = [("h", None), ("header", b"x")] if odd and random.random() < 0.3 else []
        timestamp = random.randrange(-100, 100_000) if odd else number * 3
        parts.append(encode_record(timestamp, number if is_dense else offset, key, value, headers))
        offset += random.choice((1, 1, 2, 70, 9000) if odd else (1,))
    return b"".join(parts)


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("is_dense", [True, False])
@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 300, 9000])
def test_it_reads_what_decoding_reads(count: int, is_dense: bool, same: bool) -> None:
    section = section_of(Random(count), count, is_dense=is_dense, same=same)
    records = decode_records(section, records_count=count, base_offset=0, base_timestamp=0)
    found = 0
    starts = []
    for places in iter_record_places(section, count, is_dense=is_dense):
        assert places.first_index == found
        assert len(places.keys) <= record_places.PORTION_RECORDS_MAX
        here = records[found : found + len(places.keys)]
        assert places.keys == [record.key for record in here]
        assert list(places.offset_deltas) == [record.offset for record in here]
        assert places.valueless == [number for number, record in enumerate(here) if record.value is None]
        starts += places.starts[:-1]
        found += len(here)
    assert found == count
    ends = [*starts[1:], len(section)][:count]
    for start, end, record in zip(starts, ends, records, strict=True):
        (again,) = decode_records(section[start:end], records_count=1, base_offset=0, base_timestamp=0)
        assert again == record


def test_without_keys_the_rest_is_the_same() -> None:
    section = section_of(Random(3), 500, is_dense=True, same=True)
    with_keys = list(iter_record_places(section, 500, is_dense=True))
    without = list(iter_record_places(section, 500, is_dense=True, wants_keys=False))
    assert [(list(p.starts), p.valueless) for p in with_keys] == [
        (list(p.starts), p.valueless) for p in without
    ]


@pytest.mark.parametrize("is_dense", [True, False])
def test_mutated_records_are_refused_or_read(is_dense: bool) -> None:
    random = Random(7)
    section = section_of(random, 60, is_dense=is_dense, same=True)
    refused = 0
    for _ in range(2000):
        mutated = bytearray(section)
        for _ in range(random.randrange(1, 4)):
            mutated[random.randrange(len(mutated))] = random.randrange(256)
        if random.random() < 0.2:
            del mutated[random.randrange(len(mutated)) :]
        try:
            found = list(iter_record_places(bytes(mutated), 60, is_dense=is_dense))
        except DecodeError:
            refused += 1
            continue
        assert found[-1].starts[-1] == len(mutated)
    assert 0 < refused < 2000


@pytest.mark.parametrize("deltas", [(0, 1, 1), (0, 2, 1), (0, 1, 6)], ids=["twice", "back", "beyond"])
def test_offsets_out_of_order_are_refused(deltas: tuple[int, ...]) -> None:
    section = b"".join(encode_record(0, delta, b"k", b"v") for delta in deltas)
    with pytest.raises(DecodeError, match="out of order"):
        list(iter_record_places(section, len(deltas), is_dense=False, offset_delta_max=5))


def test_bytes_left_over_or_missing_are_refused() -> None:
    section = section_of(Random(3), 20, is_dense=True, same=True)
    for content, count in (
        (section, 19),
        (section, 21),
        (section + b"\0", 20),
        (section[:-1], 20),
        (section, -1),
    ):
        with pytest.raises(DecodeError):
            list(iter_record_places(content, count, is_dense=True))
