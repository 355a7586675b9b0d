"""The records of `__transaction_state`, as Apache Kafka writes and reads them."""

from __future__ import annotations

from barnabas.base.errors import DecodeError
from barnabas.base.hints import Any, Final
from barnabas.coordinator.runtime.outcome import CoordinatorRecord
from barnabas.coordinator.transactions.state import TopicPartition, TransactionMetadata, TransactionState
from barnabas.protocol import messages

RECORD_FILE: Final = "transaction_records"
"""Of the catalogue."""

_FIRST_WITH_TAGS: Final = 1
"""The value's version, and the transaction.version, that began to tell more of the producer."""


def record_of(metadata: TransactionMetadata, *, server_version: int) -> CoordinatorRecord:
    """Return the record that says all there is to remember of a transactional id.

    Args:
        server_version: the transaction.version that is finalised; at 0 brokers may read it that know nothing
            of the newer fields.
    """
    value = messages.TransactionLogValue(
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_status=int(metadata.state),
        transaction_partitions=None
        if metadata.state is TransactionState.EMPTY
        else _partitions_by_topic(metadata.partitions),
        transaction_last_update_timestamp_ms=metadata.updated_ms,
        transaction_start_timestamp_ms=metadata.start_ms,
    )
    version = min(server_version, _FIRST_WITH_TAGS)
    if version >= _FIRST_WITH_TAGS:
        value.previous_producer_id = metadata.previous_producer_id
        value.next_producer_id = metadata.next_producer_id
        value.client_transaction_version = metadata.client_version
    return CoordinatorRecord(_key(metadata.transactional_id), value, version)


def tombstone_of(transactional_id: str) -> CoordinatorRecord:
    """Return the record that forgets a transactional id."""
    return CoordinatorRecord(_key(transactional_id), None)


def transactional_id_of(key: Any) -> str:
    """Return whose record it is, by its TransactionLogKey."""
    transactional_id: str = key.transactional_id
    return transactional_id


def metadata_of(key: Any, value: Any) -> TransactionMetadata:
    """Return what a record says.

    Args:
        key, value: TransactionLogKey and TransactionLogValue.

    Raises:
        DecodeError: a state that does not exist.
    """
    try:
        state = TransactionState(value.transaction_status)
    except ValueError:
        raise DecodeError(f"transaction state {value.transaction_status}") from None
    return TransactionMetadata(
        transactional_id=key.transactional_id,
        producer_id=value.producer_id,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        producer_epoch=value.producer_epoch,
        timeout_ms=value.transaction_timeout_ms,
        state=state,
        partitions=frozenset(
            (topic.topic, number)
            for topic in value.transaction_partitions or ()
            for number in topic.partition_ids
        ),
        start_ms=value.transaction_start_timestamp_ms,
        updated_ms=value.transaction_last_update_timestamp_ms,
        client_version=value.client_transaction_version,
    )


def _key(transactional_id: str) -> messages.TransactionLogKey:
    return messages.TransactionLogKey(transactional_id=transactional_id)


def _partitions_by_topic(
    partitions: frozenset[TopicPartition],
) -> list[messages.TransactionLogValuePartitionsSchema]:
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        by_topic.setdefault(topic, []).append(number)
    return [
        messages.TransactionLogValuePartitionsSchema(topic=topic, partition_ids=numbers)
        for topic, numbers in by_topic.items()
    ]
