"""The records of `__transaction_state`: their bytes, and what they say of each step."""

from typing import Any

import pytest

from barnabas.base.errors import DecodeError
from barnabas.coordinator.runtime.record_codec import RecordCodec
from barnabas.coordinator.transactions.records import RECORD_FILE, metadata_of, record_of, tombstone_of
from barnabas.coordinator.transactions.state import TransactionMetadata, TransactionState
from barnabas.protocol import messages
from tests.transaction_setup import OFFSETS, P0, P1, Transactions

S = TransactionState


def metadata(**more: Any) -> TransactionMetadata:
    fields: dict[str, Any] = {
        "transactional_id": "t",
        "producer_id": 7,
        "previous_producer_id": 6,
        "next_producer_id": 8,
        "producer_epoch": 3,
        "timeout_ms": 60_000,
        "state": S.ONGOING,
        "partitions": frozenset([P0, P1, OFFSETS]),
        "start_ms": 1_000,
        "updated_ms": 2_000,
        "client_version": 2,
    }
    return TransactionMetadata(**{**fields, **more})


@pytest.mark.parametrize("state", [state for state in S if state not in (S.DEAD, S.PREPARE_EPOCH_FENCE)])
def test_a_record_says_all_there_is_to_remember(state: S) -> None:
    partitions = frozenset() if state is S.EMPTY else frozenset([P0, P1, OFFSETS])
    said = metadata(state=state, partitions=partitions)
    codec = RecordCodec(RECORD_FILE)
    record = codec.decode(*codec.encode(record_of(said, server_version=2)))
    assert metadata_of(record.key, record.value) == said


def test_before_kip_890_a_record_says_what_older_brokers_know() -> None:
    codec = RecordCodec(RECORD_FILE)
    key, value = codec.encode(record_of(metadata(), server_version=0))
    assert value is not None
    assert value[:2] == b"\x00\x00"
    record = codec.decode(key, value)
    said = metadata_of(record.key, record.value)
    assert said == metadata(previous_producer_id=-1, next_producer_id=-1, client_version=0)


def test_an_id_without_a_transaction_has_no_partitions_rather_than_none_of_them() -> None:
    record: Any = record_of(metadata(state=S.EMPTY, partitions=frozenset()), server_version=2)
    assert record.value.transaction_partitions is None
    record = record_of(metadata(state=S.COMPLETE_COMMIT, partitions=frozenset()), server_version=2)
    assert record.value.transaction_partitions == []


def test_bytes_of_an_ongoing_transaction() -> None:
    key, value = RecordCodec(RECORD_FILE).encode(
        record_of(metadata(partitions=frozenset([P0, P1])), server_version=2)
    )
    assert key.hex() == "0000000174"
    assert value is not None
    assert value.hex() == (
        "0001" "0000000000000007" "0003" "0000ea60" "01"
        "02" "07" "6576656e7473" "03" "00000000" "00000001" "00"
        "00000000000007d0" "00000000000003e8"
        "03" "0008" "0000000000000006" "0108" "0000000000000008" "0202" "0002"
    )  # fmt: skip


def test_a_tombstone_has_the_key_alone() -> None:
    assert RecordCodec(RECORD_FILE).encode(tombstone_of("t")) == (bytes.fromhex("0000000174"), None)


def test_a_state_that_does_not_exist_is_damage() -> None:
    value = messages.TransactionLogValue(transaction_status=9)
    with pytest.raises(DecodeError, match="transaction state 9"):
        metadata_of(messages.TransactionLogKey(transactional_id="t"), value)


def test_each_step_is_one_record() -> None:
    transactions = Transactions()
    who = transactions.begun(P0)
    transactions.end(who)
    said = [
        (version, S(value.transaction_status).name, value.producer_epoch, value.client_transaction_version)
        for version, value in transactions.history()
    ]
    assert said == [
        (1, "EMPTY", 0, 0),
        (1, "ONGOING", 0, 2),
        (1, "PREPARE_COMMIT", 1, 2),
        (1, "COMPLETE_COMMIT", 1, 2),
    ]
    assert all(value.previous_producer_id == who.producer_id for _, value in transactions.history())
