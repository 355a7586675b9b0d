"""Control records: transaction markers and leader changes."""

import pytest

from barnabas.base.errors import DecodeError
from barnabas.protocol.control_records import (
    ControlType,
    EndTxnMarker,
    build_end_txn_batch,
    parse_control_type,
    parse_end_txn_marker,
)
from barnabas.protocol.record_batch import crc_matches, parse_header, parse_records
from barnabas.protocol.records import Record


@pytest.mark.parametrize("control_type", [ControlType.ABORT, ControlType.COMMIT])
def test_a_transaction_marker_is_read_back(control_type: ControlType) -> None:
    batch = build_end_txn_batch(
        control_type=control_type,
        coordinator_epoch=9,
        producer_id=4711,
        producer_epoch=3,
        timestamp=1234,
        base_offset=42,
    )
    header = parse_header(batch)
    assert crc_matches(batch, 0, header)
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (4711, 3, -1)
    (record,) = parse_records(batch, 0, header)
    assert parse_end_txn_marker(record) == EndTxnMarker(control_type=control_type, coordinator_epoch=9)


def test_newer_types_are_unknown_and_newer_versions_are_read() -> None:
    assert parse_control_type(bytes.fromhex("0000 0002")) is ControlType.LEADER_CHANGE
    assert parse_control_type(bytes.fromhex("0001 0001 ff")) is ControlType.COMMIT
    assert parse_control_type(bytes.fromhex("0000 7fff")) is ControlType.UNKNOWN


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0", b"\xff\xff\0\0"])
def test_malformed_control_keys_are_refused(key: bytes | None) -> None:
    with pytest.raises(DecodeError):
        parse_control_type(key)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("00000002", "000000000009"),
        ("00000000", None),
        ("00000000", "0000000000"),
        ("00000001", "ffff00000009"),
    ],
)
def test_malformed_markers_are_refused(key: str, value: str | None) -> None:
    record = Record(0, 0, bytes.fromhex(key), None if value is None else bytes.fromhex(value))
    with pytest.raises(DecodeError):
        parse_end_txn_marker(record)
