"""What requests make of a transactional id: checks, and the metadata that follows. Pure functions.

Two protocols meet here. Up to KIP-890 a producer keeps its epoch over all its transactions and tells which
partitions it will write to. Since then (transaction.version 2) each end gives it the next epoch, so that
nothing late of one transaction can be taken for a part of the next one. Which of the two a producer follows
shows in the versions of its requests.

Order and codes of the checks are Apache Kafka's. It also remembers a change on its way to the log, and
answers CONCURRENT_TRANSACTIONS meanwhile. Here the append comes before the change, and nothing is between.
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.base.dataclass import replace
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Any, Final
from barnabas.coordinator.runtime.shard import NO_PRODUCER_ID
from barnabas.coordinator.transactions.state import (
    COMPLETED,
    LAST_EPOCH_GIVEN,
    NO_PRODUCER_EPOCH,
    NO_TIMESTAMP,
    PREPARED,
    PRODUCER_EPOCH_MAX,
    TRANSITIONS,
    ProducerIdAndEpoch,
    TopicPartition,
    TransactionMetadata,
    TransactionState,
    state_name,
)

FIRST_WITH_EPOCH_BUMPS: Final = 2
"""The transaction.version since which each end of a transaction gives the next epoch."""

_COMPLETE_AFTER: Final = {
    TransactionState.PREPARE_COMMIT: TransactionState.COMPLETE_COMMIT,
    TransactionState.PREPARE_ABORT: TransactionState.COMPLETE_ABORT,
}


def next_producer(
    metadata: TransactionMetadata,
    expected: ProducerIdAndEpoch | None,
    *,
    timeout_ms: int,
    now_ms: int,
    new_producer_id: Callable[[], int],
) -> TransactionMetadata:
    """Return the metadata with the producer that InitProducerId tells; there must be no transaction.

    Args:
        expected: what the producer believes to be, when it goes on after an error (KIP-360).

    Raises:
        ApiError: PRODUCER_FENCED; UNKNOWN_SERVER_ERROR for an epoch that nobody can have been given.
    """
    epoch = metadata.producer_epoch
    if metadata.is_epoch_exhausted and (expected is None or expected.producer_epoch == epoch):
        return _emptied(
            metadata,
            producer_id=new_producer_id(),
            producer_epoch=0,
            last_producer_epoch=NO_PRODUCER_EPOCH if expected is None else epoch,
            timeout_ms=timeout_ms,
            updated_ms=now_ms,
        )
    if metadata.is_epoch_exhausted:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "the epochs of the producer id are used up")
    if expected is None:
        new_epoch, last_epoch = epoch + 1, NO_PRODUCER_EPOCH
    elif epoch in (expected.producer_epoch, NO_PRODUCER_EPOCH):
        new_epoch, last_epoch = epoch + 1, epoch
    elif expected.producer_epoch == metadata.last_producer_epoch:
        # It asks again: its request was served, and the answer did not reach it.
        new_epoch, last_epoch = epoch, metadata.last_producer_epoch
    else:
        raise ApiError(ErrorCode.PRODUCER_FENCED)
    return _emptied(
        metadata,
        producer_epoch=new_epoch,
        last_producer_epoch=last_epoch,
        timeout_ms=timeout_ms,
        updated_ms=now_ms,
    )


def check_expected_producer(metadata: TransactionMetadata, expected: ProducerIdAndEpoch | None) -> None:
    """Refuse a producer that goes on under an id that is not its own any more (KIP-360).

    The id before the current one is taken from whoever may have missed that its epochs were used up.

    Raises:
        ApiError: PRODUCER_FENCED.
    """
    if expected is None or metadata.producer_epoch == NO_PRODUCER_EPOCH:
        return
    if expected.producer_id == metadata.producer_id or (
        expected.producer_id == metadata.previous_producer_id and expected.producer_epoch >= LAST_EPOCH_GIVEN
    ):
        return
    raise ApiError(ErrorCode.PRODUCER_FENCED)


def check_producer(metadata: TransactionMetadata, producer: ProducerIdAndEpoch) -> None:
    """Refuse another producer than the current one, and any while a transaction is being ended.

    Raises:
        ApiError: INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS.
    """
    if metadata.producer_id != producer.producer_id:
        raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if metadata.producer_epoch != producer.producer_epoch:
        raise ApiError(ErrorCode.PRODUCER_FENCED)
    if metadata.state in PREPARED:
        raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS)


def with_partitions(
    metadata: TransactionMetadata,
    added: frozenset[TopicPartition],
    *,
    client_version: int,
    now_ms: int,
) -> TransactionMetadata:
    """Return the metadata with partitions added; the first ones begin a transaction."""
    is_ongoing = metadata.state is TransactionState.ONGOING
    return _moved(
        metadata,
        TransactionState.ONGOING,
        partitions=metadata.partitions | added,
        start_ms=metadata.start_ms if is_ongoing else now_ms,
        updated_ms=now_ms,
        client_version=client_version,
    )


def is_end_due(
    metadata: TransactionMetadata, producer: ProducerIdAndEpoch, *, commit: bool, client_version: int
) -> bool:
    """Check an EndTxn; return False when it was served before and is asked again.

    Raises:
        ApiError: INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS, INVALID_TXN_STATE.
    """
    if client_version >= FIRST_WITH_EPOCH_BUMPS:
        return _is_bumping_end_due(metadata, producer, commit=commit)
    if metadata.producer_id != producer.producer_id:
        raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if metadata.producer_epoch != producer.producer_epoch:
        raise ApiError(ErrorCode.PRODUCER_FENCED)
    if metadata.state is TransactionState.ONGOING:
        return True
    _check_same_decision(metadata, commit=commit)
    return False


def _is_bumping_end_due(metadata: TransactionMetadata, producer: ProducerIdAndEpoch, *, commit: bool) -> bool:
    """Check an EndTxn that gives the next epoch; by its epoch, one asked again differs from the next one."""
    state = metadata.state
    is_same_epoch = producer.producer_epoch == metadata.producer_epoch
    is_over_new_id = (
        metadata.previous_producer_id == producer.producer_id
        and producer.producer_epoch == LAST_EPOCH_GIVEN
        and metadata.producer_epoch == 0
    )
    is_asked_again = producer.producer_epoch + 1 == metadata.producer_epoch
    if metadata.producer_id != producer.producer_id and not is_over_new_id:
        raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if state in PREPARED:
        is_known = is_asked_again
    elif state in COMPLETED:
        is_known = is_asked_again or is_over_new_id or is_same_epoch
    else:
        is_known = is_same_epoch
    if not is_known:
        raise ApiError(ErrorCode.PRODUCER_FENCED)
    if state is TransactionState.ONGOING:
        return True
    if state in PREPARED or is_asked_again or is_over_new_id:
        _check_same_decision(metadata, commit=commit)
        return False
    if commit:
        raise _invalid_state(metadata, commit=commit)
    # Nothing was added, but the producer may have tried to write: an abort that only raises the epoch.
    return True


def _check_same_decision(metadata: TransactionMetadata, *, commit: bool) -> None:
    prepared, completed = (
        (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)
        if commit
        else (TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT)
    )
    if metadata.state is prepared:
        raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS)
    if metadata.state is not completed:
        raise _invalid_state(metadata, commit=commit)


def _invalid_state(metadata: TransactionMetadata, *, commit: bool) -> ApiError:
    wanted = "commit" if commit else "abort"
    return ApiError(ErrorCode.INVALID_TXN_STATE, f"cannot {wanted} in state {state_name(metadata.state)}")


def prepared(
    metadata: TransactionMetadata,
    *,
    commit: bool,
    client_version: int,
    now_ms: int,
    new_producer_id: Callable[[], int],
) -> TransactionMetadata:
    """Return the metadata of a transaction that is decided.

    Raises:
        ApiError: no new producer id can be had, and the epochs of this one are used up.
    """
    changes: dict[str, Any] = {}
    if client_version >= FIRST_WITH_EPOCH_BUMPS:
        changes = {
            "producer_epoch": min(metadata.producer_epoch + 1, PRODUCER_EPOCH_MAX),
            "last_producer_epoch": metadata.producer_epoch,
            "next_producer_id": new_producer_id() if metadata.is_epoch_exhausted else NO_PRODUCER_ID,
        }
    is_ongoing = metadata.state is TransactionState.ONGOING
    return _moved(
        metadata,
        TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT,
        start_ms=metadata.start_ms if is_ongoing else now_ms,
        updated_ms=now_ms,
        client_version=client_version,
        **changes,
    )


def fenced(
    metadata: TransactionMetadata,
    *,
    server_version: int,
    now_ms: int,
    new_producer_id: Callable[[], int],
) -> TransactionMetadata:
    """Return the metadata of an ongoing transaction that is aborted without its producer, and fences it.

    Args:
        server_version: the transaction.version that is finalised.
    """
    assert metadata.state is TransactionState.ONGOING
    if server_version >= FIRST_WITH_EPOCH_BUMPS:
        return prepared(
            metadata,
            commit=False,
            client_version=server_version,
            now_ms=now_ms,
            new_producer_id=new_producer_id,
        )
    raised = replace(
        metadata,
        producer_epoch=min(metadata.producer_epoch + 1, PRODUCER_EPOCH_MAX),
        last_producer_epoch=NO_PRODUCER_EPOCH,
    )
    return prepared(raised, commit=False, client_version=0, now_ms=now_ms, new_producer_id=new_producer_id)


def completed(metadata: TransactionMetadata, *, now_ms: int) -> TransactionMetadata:
    """Return the metadata of a decided transaction once each of its partitions has the marker."""
    changes: dict[str, Any] = {}
    if metadata.client_version >= FIRST_WITH_EPOCH_BUMPS and metadata.next_producer_id != NO_PRODUCER_ID:
        changes = {"producer_id": metadata.next_producer_id, "producer_epoch": 0}
    return _moved(
        metadata,
        _COMPLETE_AFTER[metadata.state],
        next_producer_id=NO_PRODUCER_ID,
        partitions=frozenset(),
        updated_ms=now_ms,
        **changes,
    )


def _emptied(metadata: TransactionMetadata, **changes: Any) -> TransactionMetadata:
    return _moved(metadata, TransactionState.EMPTY, partitions=frozenset(), start_ms=NO_TIMESTAMP, **changes)


def _moved(metadata: TransactionMetadata, to: TransactionState, **changes: Any) -> TransactionMetadata:
    assert to in TRANSITIONS[metadata.state], f"{state_name(metadata.state)} cannot become {state_name(to)}"
    return replace(metadata, state=to, previous_producer_id=metadata.producer_id, **changes)
