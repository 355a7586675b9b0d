"""Batches that Apache Kafka 4.4's own classes wrote (tools/record_golden_batches.py), byte for byte."""

import pytest

from barnabas.protocol.compression import Codec
from barnabas.protocol.control_records import (
    ControlType,
    EndTxnMarker,
    build_end_txn_batch,
    parse_end_txn_marker,
)
from barnabas.protocol.record_batch import (
    TimestampType,
    crc_matches,
    parse_header,
    parse_records,
    records_section,
)
from barnabas.protocol.record_walk import summarize_records
from barnabas.storage.batch_validation import ValidationRules, validate_produced_records
from tests.batch_records import BASE_TIMESTAMP, GOLDEN, build, golden_records

PLAIN = {
    "none": {},
    "log_append_time": {"log_append_time_ms": BASE_TIMESTAMP + 77},
    "transactional": {
        "producer_id": 4711,
        "producer_epoch": 3,
        "base_sequence": 2147483640,
        "is_transactional": True,
    },
}


def golden(name: str) -> bytes:
    return (GOLDEN / f"{name}.batch").read_bytes()


@pytest.mark.parametrize("name", PLAIN)
def test_ours_are_the_same_bytes(name: str) -> None:
    assert build(golden_records(), **PLAIN[name]) == golden(name)


@pytest.mark.parametrize("codec", list(Codec))
def test_every_codec_is_read(codec: Codec) -> None:
    batch = golden(codec.name.lower())
    header = parse_header(batch)
    assert header.codec is codec
    assert crc_matches(batch, 0, header)
    assert parse_records(batch, 0, header) == golden_records()
    section = records_section(batch, 0, header)
    assert bytes(section) == golden("none")[61:]
    assert summarize_records(section, header.records_count).misplaced_index == -1
    ours = parse_header(build(golden_records(), codec))
    assert ours._replace(batch_length=0, crc=0) == header._replace(batch_length=0, crc=0)


@pytest.mark.parametrize("codec", list(Codec))
def test_every_codec_passes_validation_untouched(codec: Codec) -> None:
    batch = golden(codec.name.lower())
    _, parts = validate_produced_records(batch, ValidationRules(), api_version=12, now_ms=BASE_TIMESTAMP)
    assert b"".join(parts) == batch


def test_lz4_frames_have_javas_header() -> None:
    assert build(golden_records(), Codec.LZ4)[61:68] == golden("lz4")[61:68]


def test_log_append_time_stands_for_every_record() -> None:
    header = parse_header(golden("log_append_time"))
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    records = parse_records(golden("log_append_time"), 0, header)
    assert {record.timestamp for record in records} == {BASE_TIMESTAMP + 77}


def test_the_transaction_marker() -> None:
    batch = golden("commit_marker")
    (record,) = parse_records(batch, 0, parse_header(batch))
    assert parse_end_txn_marker(record) == EndTxnMarker(control_type=ControlType.COMMIT, coordinator_epoch=9)
    ours = build_end_txn_batch(
        control_type=ControlType.COMMIT,
        coordinator_epoch=9,
        producer_id=4711,
        producer_epoch=3,
        timestamp=BASE_TIMESTAMP,
        base_offset=42,
        partition_leader_epoch=5,
    )
    assert ours == batch
