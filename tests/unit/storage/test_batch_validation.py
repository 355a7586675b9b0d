"""P2 and P3, with the error codes that Apache Kafka 4.4 gave for the same bytes."""

import tracemalloc
from typing import NamedTuple

import pytest

from barnabas.base.dataclass import replace
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.protocol.checksum import crc32c
from barnabas.protocol.compression import Codec, compress
from barnabas.protocol.record_batch import (
    CODEC_MASK,
    HEADER,
    HEADER_BYTES,
    BatchHeader,
    TimestampType,
    crc_matches,
    parse_header,
    parse_records,
)
from barnabas.protocol.records import Record, encode_record
from barnabas.storage.batch_validation import (
    RECORD_ERRORS_MAX,
    RecordsRejectedError,
    ValidationRules,
    validate_produced_records,
)
from barnabas.storage.incoming_batches import stamp_batches
from barnabas.storage.producer_state.states import AppendOrigin
from tests.batch_records import BASE_TIMESTAMP, build, golden_records, random_records

NOW_MS = BASE_TIMESTAMP + 60_000
RULES = ValidationRules()
APPEND_TIME = ValidationRules(timestamp_type=TimestampType.LOG_APPEND_TIME)
COMPACTED = ValidationRules(is_compacted=True)
CODECS = list(Codec)


class Validated(NamedTuple):
    """What validation gives back, with the header's fields named."""

    header: BatchHeader
    parts: tuple[memoryview, ...]

    @property
    def size_bytes(self) -> int:
        return sum(map(len, self.parts))


def validate(
    records: bytes | memoryview | None,
    rules: ValidationRules = RULES,
    *,
    api_version: int = 12,
    **options: object,
) -> Validated:
    header, parts = validate_produced_records(
        records,
        rules,
        api_version=api_version,
        now_ms=NOW_MS,
        **options,  # type: ignore[arg-type]
    )
    assert bytes(parts[0][:HEADER_BYTES]) == HEADER.pack(*header)
    assert header[1] + 12 == sum(map(len, parts))
    return Validated(BatchHeader._make(header), parts)


def refused(records: bytes | None, rules: ValidationRules = RULES, **options: object) -> ErrorCode:
    with pytest.raises(ApiError) as caught:
        validate(records, rules, **options)  # type: ignore[arg-type]
    return caught.value.code


def written(validated: Validated, base_offset: int = 0, epoch: int = 0) -> bytes:
    return b"".join(stamp_batches([validated], base_offset, epoch).parts)


def changed(batch: bytes, **changes: int) -> bytes:
    """The batch with header fields changed, and its checksum right unless it is one of them."""
    header = parse_header(batch)._replace(**changes)
    head = HEADER.pack(*header)
    if "crc" not in changes:
        header = header._replace(crc=crc32c(head[21:] + batch[HEADER_BYTES:], 0))
    return HEADER.pack(*header) + batch[HEADER_BYTES:]


def with_section(section: bytes, count: int, codec: Codec = Codec.NONE) -> bytes:
    stored = compress(codec, section)
    batch = HEADER.pack(
        0, 49 + len(stored), -1, 2, 0, codec, count - 1, BASE_TIMESTAMP, BASE_TIMESTAMP, -1, -1, -1, count
    )
    return changed(batch + stored)


GOOD = build(golden_records())


@pytest.mark.parametrize("codec", CODECS)
def test_p3_a_good_batch_goes_through_in_place(codec: Codec) -> None:
    frame = bytearray(
        b"frame" + build(golden_records(), codec, producer_id=5, producer_epoch=1, base_sequence=7)
    )
    view = memoryview(frame)[5:]
    validated = validate(view)
    (part,) = validated.parts
    assert isinstance(part, memoryview)
    assert part.obj is frame
    assert validated.size_bytes == len(view)
    stored = written(validated, base_offset=1 << 33, epoch=12)
    header = parse_header(stored)
    assert crc_matches(stored, 0, header)
    assert (header.base_offset, header.partition_leader_epoch) == (1 << 33, 12)
    assert stored[16:] == view[16:]
    assert (validated.header.producer_id, validated.header.base_sequence) == (5, 7)
    assert validated.header.max_timestamp == max(record.timestamp for record in golden_records())


def test_p3_no_copy_of_large_records() -> None:
    batch = memoryview(build(random_records(1, 4, value_bytes=(200_000, 200_000))))
    tracemalloc.start()
    try:
        written_parts = stamp_batches([validate(batch)], 1, 1).parts
        assert tracemalloc.get_traced_memory()[1] < 64 * 1024
    finally:
        tracemalloc.stop()
    assert sum(map(len, written_parts)) == len(batch)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("wrong", [BASE_TIMESTAMP * 100, 0, -1])
def test_p3_a_wrong_max_timestamp_never_reaches_the_log(codec: Codec, wrong: int) -> None:
    good = build(golden_records(), codec)
    frame = changed(good, max_timestamp=wrong)
    validated = validate(frame)
    assert written(validated)[16:] == good[16:]
    assert validated.header.max_timestamp == parse_header(good).max_timestamp
    records = validated.parts[1]
    assert isinstance(records, memoryview)
    assert records.obj is frame, "the records are not copied for it"


@pytest.mark.parametrize("codec", CODECS)
def test_p3_log_append_time_is_stamped(codec: Codec) -> None:
    validated = validate(build(golden_records(), codec), APPEND_TIME)
    stored = written(validated)
    header = parse_header(stored)
    assert crc_matches(stored, 0, header)
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert header.max_timestamp == NOW_MS
    assert {record.timestamp for record in parse_records(stored, 0, header)} == {NOW_MS}


@pytest.mark.parametrize("rules", [RULES, APPEND_TIME])
def test_p3_the_log_append_time_bit_is_not_for_clients(rules: ValidationRules) -> None:
    assert refused(build(golden_records(), log_append_time_ms=NOW_MS), rules) is ErrorCode.INVALID_TIMESTAMP


@pytest.mark.parametrize("records", [None, b"", GOOD[:10], GOOD[:30], GOOD[:-1], GOOD + GOOD])
def test_p2_exactly_one_whole_batch(records: bytes | None) -> None:
    assert refused(records) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("tail", [b"12345", GOOD[:-1], GOOD[:17]])
def test_p2_a_cut_batch_behind_the_first_is_dropped(tail: bytes) -> None:
    assert written(validate(GOOD + tail))[16:] == GOOD[16:]


def test_p2_zeros_behind_the_batch_are_corrupt() -> None:
    assert refused(GOOD + bytes(20)) is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"magic": 0}, ErrorCode.INVALID_RECORD),
        ({"magic": 1}, ErrorCode.INVALID_RECORD),
        ({"magic": 3}, ErrorCode.CORRUPT_MESSAGE),
        ({"magic": -1}, ErrorCode.CORRUPT_MESSAGE),
        ({"batch_length": 10}, ErrorCode.CORRUPT_MESSAGE),
        ({"batch_length": 20}, ErrorCode.CORRUPT_MESSAGE),
        ({"batch_length": -1}, ErrorCode.CORRUPT_MESSAGE),
        ({"batch_length": 2**31 - 1}, ErrorCode.INVALID_RECORD),
        ({"crc": 5}, ErrorCode.CORRUPT_MESSAGE),
        ({"base_offset": 5}, ErrorCode.INVALID_RECORD),
        ({"records_count": 99}, ErrorCode.INVALID_RECORD),
        ({"records_count": -1}, ErrorCode.INVALID_RECORD),
        ({"records_count": 0, "last_offset_delta": -1}, ErrorCode.INVALID_RECORD),
        ({"last_offset_delta": -1}, ErrorCode.INVALID_RECORD),
        ({"records_count": 101, "last_offset_delta": 100}, ErrorCode.INVALID_RECORD),
        ({"records_count": 99, "last_offset_delta": 98}, ErrorCode.INVALID_RECORD),
        ({"attributes": 0x20}, ErrorCode.INVALID_RECORD),
        ({"producer_id": 1, "producer_epoch": 0}, ErrorCode.INVALID_RECORD),
        ({"attributes": 5}, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        ({"attributes": 7}, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
    ],
)
def test_p2_header_rules(changes: dict[str, int], code: ErrorCode) -> None:
    if "magic" in changes:
        batch = bytearray(GOOD)
        batch[16] = changes["magic"] & 0xFF
        assert refused(bytes(batch)) is code
    else:
        assert refused(changed(GOOD, **changes)) is code


@pytest.mark.parametrize("attributes", [0x40, 0x4000])
def test_p2_other_attribute_bits_pass(attributes: int) -> None:
    assert validate(changed(GOOD, attributes=attributes)).header.attributes == attributes


def test_p2_size_limit_is_inclusive_and_comes_before_the_checksum() -> None:
    assert validate(GOOD, ValidationRules(max_message_bytes=len(GOOD))).size_bytes == len(GOOD)
    small = ValidationRules(max_message_bytes=len(GOOD) - 1)
    assert refused(GOOD, small) is ErrorCode.MESSAGE_TOO_LARGE
    assert refused(changed(GOOD, crc=1), small) is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("codec", CODECS)
def test_p2_compacted_topics_need_keys(codec: Codec) -> None:
    with pytest.raises(RecordsRejectedError) as caught:
        validate(build(golden_records(), codec), COMPACTED)
    assert caught.value.code is ErrorCode.INVALID_RECORD
    keyless = [record.offset for record in golden_records() if record.key is None]
    assert [error.batch_index for error in caught.value.record_errors] == keyless
    assert validate(
        build([record for record in golden_records() if record.key is not None], codec), COMPACTED
    )


@pytest.mark.parametrize("codec", CODECS)
def test_p2_timestamps_within_bounds(codec: Codec) -> None:
    rules = ValidationRules(timestamp_before_max_ms=1000, timestamp_after_max_ms=500)
    times = [NOW_MS - 1000, NOW_MS - 1001, NOW_MS + 500, NOW_MS + 501, -1, -2]
    batch = build([Record(i, time, b"k", b"v") for i, time in enumerate(times)], codec)
    with pytest.raises(RecordsRejectedError) as caught:
        validate(batch, rules)
    assert caught.value.code is ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in caught.value.record_errors] == [1, 3, 5]
    assert validate(batch, replace(rules, timestamp_type=TimestampType.LOG_APPEND_TIME))
    edges = build([Record(i, time, b"k", b"v") for i, time in enumerate((times[0], times[2], -1))], codec)
    assert validate(edges, rules).header.max_timestamp == NOW_MS + 500


def test_p2_a_bad_timestamp_outranks_a_missing_key() -> None:
    rules = ValidationRules(is_compacted=True)
    batch = build([Record(0, NOW_MS, None, b""), Record(1, NOW_MS + 10**10, b"k", b"")])
    with pytest.raises(RecordsRejectedError) as caught:
        validate(batch, rules)
    assert caught.value.code is ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in caught.value.record_errors] == [0, 1]


def test_records_without_timestamp_pass_and_leave_none() -> None:
    rules = ValidationRules(timestamp_before_max_ms=1000)
    validated = validate(build([Record(i, -1, b"k", b"v") for i in range(40)]), rules)
    assert validated.header.max_timestamp == -1


def test_timestamps_beyond_64_bits_are_refused() -> None:
    section = encode_record(0, 0, None, None) + encode_record(1 << 62, 1, None, None)
    batch = changed(with_section(section, 2), base_timestamp=(1 << 62) + 5)
    assert refused(batch) is ErrorCode.INVALID_TIMESTAMP
    unlimited = ValidationRules(timestamp_after_max_ms=(1 << 63) - 1)
    assert refused(batch, unlimited) is ErrorCode.INVALID_TIMESTAMP


def test_record_errors_are_bounded() -> None:
    batch = build(random_records(1, 3000, keys=False))
    with pytest.raises(RecordsRejectedError) as caught:
        validate(batch, COMPACTED)
    assert len(caught.value.record_errors) == RECORD_ERRORS_MAX
    assert "3000" in str(caught.value)


@pytest.mark.parametrize("version", [3, 6])
def test_p2_zstd_needs_version_7(version: int) -> None:
    batch = build(golden_records(), Codec.ZSTD)
    assert refused(batch, api_version=version) is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert validate(batch, api_version=7)
    assert validate(build(golden_records(), Codec.LZ4), api_version=version)


@pytest.mark.parametrize("codec", CODECS)
def test_p2_records_are_checked_inside(codec: Codec) -> None:
    section = b"".join(encode_record(0, i, b"k", b"v") for i in range(5))
    assert validate(with_section(section, 5, codec))
    for wrong in (4, 6):
        assert refused(with_section(section, wrong, codec)) is ErrorCode.INVALID_RECORD
    for broken in (section[:-1] + b"\x02", b"\xff" * 40, section + b"\0"):
        assert refused(with_section(broken, 5, codec)) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("codec", CODECS[1:])
def test_p2_malformed_and_too_large_streams(codec: Codec) -> None:
    garbage = changed(
        HEADER.pack(0, 49 + 15, -1, 2, 0, codec, 2, NOW_MS, NOW_MS, -1, -1, -1, 3) + b"garbage!garbage"
    )
    assert refused(garbage) is ErrorCode.INVALID_RECORD
    large = build([Record(0, NOW_MS, None, bytes(1 << 20))], codec)
    assert refused(large, decompressed_bytes_max=100_000) is ErrorCode.INVALID_RECORD
    assert validate(large)


@pytest.mark.parametrize("target", CODECS)
@pytest.mark.parametrize("source", CODECS)
def test_p3_the_topics_compression_type_wins(source: Codec, target: Codec) -> None:
    records = golden_records()
    batch = build(records, source, producer_id=5, producer_epoch=1, base_sequence=7, is_transactional=True)
    validated = validate(batch, ValidationRules(codec=target))
    stored = written(validated)
    header = parse_header(stored)
    assert crc_matches(stored, 0, header)
    assert parse_records(stored, 0, header) == records
    assert header.codec is target
    assert header.attributes & ~CODEC_MASK == parse_header(batch).attributes & ~CODEC_MASK
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (5, 1, 7)
    assert (len(validated.parts) == 1) == (source is target)


def test_p3_what_recompression_makes_too_large_is_refused() -> None:
    batch = build([Record(0, NOW_MS, None, bytes(10_000))], Codec.GZIP)
    rules = ValidationRules(codec=Codec.NONE, max_message_bytes=5000)
    assert refused(batch, rules) is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("codec", CODECS)
def test_misplaced_offset_deltas_are_renumbered(codec: Codec) -> None:
    section = b"".join(encode_record(i, i * 2, b"k", b"v") for i in range(3))
    stored = written(validate(with_section(section, 3, codec)), base_offset=100)
    header = parse_header(stored)
    assert crc_matches(stored, 0, header)
    assert header.codec is codec
    assert [record.offset for record in parse_records(stored, 0, header)] == [100, 101, 102]
    assert header.last_offset == 102


def test_coordinators_may_write_control_batches() -> None:
    batch = build(golden_records(), is_control=True)
    assert refused(batch) is ErrorCode.INVALID_RECORD
    assert validate(batch, origin=AppendOrigin.COORDINATOR).header.is_control
