"""The states of a transactional id, and what it has in each (KIP-98, KIP-890).

EMPTY -- partitions are added --> ONGOING -- EndTxn --> PREPARE_COMMIT or PREPARE_ABORT -- all markers are
written --> COMPLETE_COMMIT or COMPLETE_ABORT -- partitions are added --> ONGOING again.

A prepared transaction is decided: whatever happens, its markers are written until each partition has one. The
record that says so is the only thing a decision depends on.

What is known of an id is one frozen object, made anew by each change. Changing it in place was rejected: a
change that cannot be appended would have to be taken back.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.base.dataclass import dataclass
from barnabas.base.enums import IntEnum
from barnabas.base.hints import Final
from barnabas.coordinator.runtime.shard import NO_PRODUCER_ID

NO_PRODUCER_EPOCH: Final = -1
NO_TIMESTAMP: Final = -1

PRODUCER_EPOCH_MAX: Final = 0x7FFF
LAST_EPOCH_GIVEN: Final = PRODUCER_EPOCH_MAX - 1
"""The last epoch that a producer gets; the one above it is left for fencing that producer."""

TopicPartition = tuple[str, int]


class TransactionState(IntEnum):
    """By the number that a record has for it."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    """Its id expires; never in a record."""
    PREPARE_EPOCH_FENCE = 7
    """About to be aborted for a newer producer, or for having timed out; never in a record."""


TRANSITIONS: Final[Mapping[TransactionState, tuple[TransactionState, ...]]] = {
    TransactionState.EMPTY: (
        TransactionState.EMPTY,
        TransactionState.ONGOING,
        TransactionState.PREPARE_ABORT,
        TransactionState.DEAD,
    ),
    TransactionState.ONGOING: (
        TransactionState.ONGOING,
        TransactionState.PREPARE_COMMIT,
        TransactionState.PREPARE_ABORT,
        TransactionState.PREPARE_EPOCH_FENCE,
    ),
    TransactionState.PREPARE_COMMIT: (TransactionState.COMPLETE_COMMIT,),
    TransactionState.PREPARE_ABORT: (TransactionState.COMPLETE_ABORT,),
    TransactionState.COMPLETE_COMMIT: (
        TransactionState.EMPTY,
        TransactionState.ONGOING,
        TransactionState.PREPARE_ABORT,
        TransactionState.DEAD,
    ),
    TransactionState.COMPLETE_ABORT: (
        TransactionState.EMPTY,
        TransactionState.ONGOING,
        TransactionState.PREPARE_ABORT,
        TransactionState.DEAD,
    ),
    TransactionState.DEAD: (),
    TransactionState.PREPARE_EPOCH_FENCE: (TransactionState.PREPARE_ABORT,),
}

PREPARED: Final = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
COMPLETED: Final = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)


def state_name(state: TransactionState) -> str:
    """Return the name that tools show, `PrepareCommit` say."""
    return "".join(word.capitalize() for word in state.name.split("_"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerIdAndEpoch:
    """Who a producer is, and in which of its lives."""

    producer_id: int
    producer_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionMetadata:
    """What is known of a transactional id.

    Attributes:
        previous_producer_id: the producer id before the last change; most of the time the same.
        next_producer_id: takes over when the transaction that ends is complete, since the epochs of this one
            are used up; else -1.
        last_producer_epoch: the epoch before the current one, with which a producer may ask again; -1 when
            there is none. It is in no record, so that a restart forgets it, as with Apache Kafka.
        timeout_ms: how long a transaction may take before it is aborted.
        partitions: of the transaction: data, and those of `__consumer_offsets` for offsets.
        start_ms: when the first of them was added, in wall time; -1 when there is no transaction.
        updated_ms: wall time of the last change.
        client_version: the transaction.version that the producer follows; 0 up to KIP-890.
    """

    transactional_id: str
    producer_id: int
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    start_ms: int = NO_TIMESTAMP
    updated_ms: int
    client_version: int = 0

    @property
    def is_epoch_exhausted(self) -> bool:
        """Whether the producer can be given no higher epoch."""
        return self.producer_epoch >= LAST_EPOCH_GIVEN

    @property
    def producer(self) -> ProducerIdAndEpoch:
        """The producer as it is told to clients."""
        return ProducerIdAndEpoch(producer_id=self.producer_id, producer_epoch=self.producer_epoch)
