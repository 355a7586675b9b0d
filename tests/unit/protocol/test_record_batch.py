"""Record batches: header, length chain, CRC, records, stamping, builder."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.base.errors import DecodeError
from barnabas.protocol.checksum import crc32c
from barnabas.protocol.compression import Codec
from barnabas.protocol.record_batch import (
    HEADER,
    HEADER_BYTES,
    TimestampType,
    UnsupportedMagicError,
    crc_matches,
    iter_batches,
    parse_header,
    parse_records,
    restamped_header,
    stamp_max_timestamp,
    stamp_offset_and_epoch,
)
from barnabas.protocol.record_batch_builder import BatchBuilder
from barnabas.protocol.records import Record, decode_records, encode_record
from tests.batch_records import BASE_TIMESTAMP, build, golden_records

INT64 = st.integers(-(1 << 62), (1 << 62) - 1)
NULLABLE = st.none() | st.binary(max_size=80)
RECORDS = st.lists(
    st.tuples(INT64, NULLABLE, NULLABLE, st.lists(st.tuples(st.text(max_size=8), NULLABLE), max_size=3)),
    min_size=1,
    max_size=90,
)


@given(rows=RECORDS, codec=st.sampled_from(list(Codec)), base_offset=st.integers(0, 1 << 50))
@settings(max_examples=120, deadline=None)
def test_what_the_builder_makes_the_parser_reads(rows: list, codec: Codec, base_offset: int) -> None:
    records = [
        Record(base_offset + i, timestamp, key, value, headers or ())
        for i, (timestamp, key, value, headers) in enumerate(rows)
    ]
    batch = build(records, codec, base_offset=base_offset)
    header = parse_header(batch)
    assert crc_matches(batch, 0, header)
    assert parse_records(memoryview(b"__" + batch), 2, header) == records
    assert header.size_bytes == len(batch)
    assert header.max_timestamp == max(-1, *(record.timestamp for record in records))
    assert (header.base_timestamp, header.records_count) == (records[0].timestamp, len(records))
    assert (header.last_offset, header.next_offset) == (records[-1].offset, records[-1].offset + 1)
    assert header.codec is codec


def test_header_fields() -> None:
    batch = build(
        golden_records(),
        Codec.ZSTD,
        producer_id=4711,
        producer_epoch=3,
        base_sequence=2**31 - 8,
        is_transactional=True,
        partition_leader_epoch=9,
        log_append_time_ms=BASE_TIMESTAMP + 5,
    )
    header = parse_header(batch)
    assert header.is_transactional
    assert not header.is_control
    assert header.has_producer_id
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert header.max_timestamp == BASE_TIMESTAMP + 5
    assert header.partition_leader_epoch == 9
    assert header.last_sequence == 91, "sequences wrap from 2**31-1 to 0"
    assert header.delete_horizon_ms is None
    assert {record.timestamp for record in parse_records(batch, 0, header)} == {BASE_TIMESTAMP + 5}


def test_delete_horizon_is_the_base_of_the_deltas() -> None:
    batch = build(golden_records(), delete_horizon_ms=BASE_TIMESTAMP + 1000)
    header = parse_header(batch)
    assert header.delete_horizon_ms == BASE_TIMESTAMP + 1000
    assert parse_records(batch, 0, header) == golden_records()


def test_offsets_with_gaps_and_an_emptied_batch_keep_their_range() -> None:
    builder = BatchBuilder(base_offset=100)
    builder.append(timestamp=1, key=b"k", value=None, offset=103)
    with pytest.raises(ValueError, match="cannot follow"):
        builder.append(timestamp=1, key=b"k", value=None, offset=103)
    header = parse_header(builder.build(last_offset=109))
    assert (header.base_offset, header.last_offset, header.records_count) == (100, 109, 1)
    emptied = BatchBuilder(base_offset=100, codec=Codec.GZIP).build(last_offset=109)
    header = parse_header(emptied)
    assert (header.last_offset, header.records_count, len(emptied)) == (109, 0, HEADER_BYTES)
    with pytest.raises(ValueError, match="without records"):
        BatchBuilder(base_offset=100).build()


@pytest.mark.parametrize("magic", [0, 1, 3, -1])
def test_other_magic_is_told_apart(magic: int) -> None:
    batch = bytearray(build(golden_records()))
    struct.pack_into(">b", batch, 16, magic)
    with pytest.raises(UnsupportedMagicError) as caught:
        parse_header(batch)
    assert caught.value.magic == magic


def test_an_old_message_shorter_than_a_header_is_an_old_message() -> None:
    with pytest.raises(UnsupportedMagicError):
        parse_header(struct.pack(">qiIbb", 0, 14, 0, 1, 0) + bytes(8))


@pytest.mark.parametrize("length", [-(1 << 31), -1, 0, 13, 48])
def test_impossible_lengths_are_refused(length: int) -> None:
    batch = bytearray(build(golden_records()))
    struct.pack_into(">i", batch, 8, length)
    with pytest.raises(DecodeError):
        list(iter_batches(batch))
    with pytest.raises(DecodeError):
        parse_header(batch)


def test_every_cut_of_a_buffer_is_seen() -> None:
    batch = build(golden_records()[:3])
    both = batch + batch
    assert [position for position, _ in iter_batches(both)] == [0, len(batch)]
    for cut in range(1, len(batch)):
        with pytest.raises(DecodeError):
            list(iter_batches(both[: len(batch) + cut]))
        kept = list(iter_batches(both, end=len(batch) + cut, allow_partial_tail=True))
        assert [position for position, _ in kept] == [0]
        header = parse_header(batch)
        assert not crc_matches(batch[:-1], 0, header)
        with pytest.raises(DecodeError):
            parse_records(batch[:-cut], 0, header)


@given(st.integers(21, 500), st.integers(0, 7))
def test_crc_sees_every_bit_from_the_attributes_on(place: int, bit: int) -> None:
    batch = bytearray(build(golden_records()))
    header = parse_header(batch)
    batch[place] ^= 1 << bit
    assert not crc_matches(batch, 0, header)


def test_stamping_in_place() -> None:
    batch = bytearray(b"__" + build(golden_records()))
    stamp_offset_and_epoch(batch, 2, 1 << 40, 7)
    header = parse_header(batch, 2)
    assert (header.base_offset, header.partition_leader_epoch) == (1 << 40, 7)
    assert crc_matches(batch, 2, header), "offset and epoch are outside the checksum"
    expected = restamped_header(
        header, memoryview(batch)[2 + HEADER_BYTES :], TimestampType.LOG_APPEND_TIME, 12345
    )
    stamp_max_timestamp(batch, 2, header, TimestampType.LOG_APPEND_TIME, 12345)
    stamped = parse_header(batch, 2)
    assert stamped == expected
    assert crc_matches(batch, 2, stamped)
    assert stamped.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert {record.timestamp for record in parse_records(batch, 2, stamped)} == {12345}


def with_records(batch: bytes, **changes: int) -> bytes:
    """The same batch with header fields changed and its checksum right."""
    header = parse_header(batch)._replace(**changes)
    head = HEADER.pack(*header)
    crc = crc32c(head[21:] + batch[HEADER_BYTES:], 0)
    return HEADER.pack(*header._replace(crc=crc)) + batch[HEADER_BYTES:]


@pytest.mark.parametrize("count", [-1, 0, 99, 101, 2**31 - 1])
def test_a_wrong_count_is_refused(count: int) -> None:
    batch = with_records(build(golden_records()), records_count=count)
    with pytest.raises(DecodeError):
        parse_records(batch, 0, parse_header(batch))


@pytest.mark.parametrize("codec_id", [5, 6, 7])
def test_an_unknown_codec_is_refused(codec_id: int) -> None:
    batch = with_records(build(golden_records()), attributes=codec_id)
    with pytest.raises(DecodeError, match="compression"):
        parse_records(batch, 0, parse_header(batch))


def decode(section: bytes, count: int = 1) -> list[Record]:
    return decode_records(section, records_count=count, base_offset=0, base_timestamp=0)


def test_header_keys_that_are_not_utf8_survive() -> None:
    section = bytes.fromhex("14 00 00 00 01 01 02 04 ff6b 01")
    (record,) = decode(section)
    assert encode_record(0, 0, None, None, record.headers) == section


def test_negative_lengths_of_key_and_value_are_null_as_in_kafka() -> None:
    assert decode(bytes.fromhex("0e 00 00 00 09 02 76 00")) == [Record(0, 0, None, b"v", ())]


@pytest.mark.parametrize(
    "section",
    [
        "0c 00 00 00 01 01",  # no header count
        "0c 00 00 00 01 01 01",  # header count -1
        "0c 00 00 00 01 01 7e",  # 63 headers in no bytes
        "10 00 00 00 01 01 02 01 01",  # header key null
        "0c 00 00 00 7e 01 00",  # key of 63 bytes
        "0e 00 00 00 01 01 00 00",  # a byte behind the headers
        "01 00 00 00 01 01 00",  # length -1
        "0a 00 00 00 01 01 00",  # length too short by one
        "0c 00 00 00 01 01 00 00",  # a byte behind the record
        "0c 00 ff ff ff ff ff",
        "ff ff ff ff 0f",
        "",
    ],
)
def test_malformed_records_are_refused(section: str) -> None:
    with pytest.raises(DecodeError):
        decode(bytes.fromhex(section))


def test_timestamps_wrap_as_javas_do() -> None:
    section = encode_record(1 << 62, 0, None, None)
    (record,) = decode_records(section, records_count=1, base_offset=0, base_timestamp=1 << 62)
    assert record.timestamp == -(1 << 63)
