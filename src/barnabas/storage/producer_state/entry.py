"""What a log remembers of one producer."""

from collections import deque

from barnabas.base.named_tuple import NamedTuple
from barnabas.storage.batch_scan import BatchHead
from barnabas.storage.producer_state import snapshots
from barnabas.storage.producer_state.snapshots import SnapshotEntry

BATCHES_REMEMBERED = 5
"""Duplicates are recognised that far back; producers keep at most five requests in flight."""
NO_EPOCH = -1
NO_SEQUENCE = -1
SEQUENCE_MAX = 2**31 - 1


class BatchMetadata(NamedTuple):
    """One of a producer's last batches."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta

    @property
    def first_sequence(self) -> int:
        return (self.last_sequence - self.offset_delta) & SEQUENCE_MAX


class ProducerState:
    """One producer.

    Attributes:
        batches: its last five at most, oldest first.
        txn_first_offset: where its open transaction began, None without one.
    """

    __slots__ = ("batches", "coordinator_epoch", "epoch", "last_timestamp", "producer_id", "txn_first_offset")

    def __init__(self, producer_id: int) -> None:
        self.producer_id = producer_id
        self.epoch = NO_EPOCH
        self.batches: deque[BatchMetadata] = deque(maxlen=BATCHES_REMEMBERED)
        self.coordinator_epoch = -1
        self.last_timestamp = -1
        self.txn_first_offset: int | None = None

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        return self.batches[-1].last_offset if self.batches else -1

    def raise_epoch(self, epoch: int) -> None:
        """Take over another epoch; its sequences start anew."""
        if epoch != self.epoch:
            self.batches.clear()
            self.epoch = epoch

    def find_duplicate(self, head: BatchHead) -> BatchMetadata | None:
        """Return the remembered batch that has this one's epoch and sequences, or None."""
        if head.producer_epoch == self.epoch:
            for batch in self.batches:
                if batch.last_sequence == head.last_sequence and batch.first_sequence == head.base_sequence:
                    return batch
        return None

    def snapshot(self) -> SnapshotEntry:
        last = self.batches[-1] if self.batches else None
        return SnapshotEntry(
            self.producer_id,
            self.epoch,
            last.last_sequence if last else NO_SEQUENCE,
            last.last_offset if last else -1,
            last.offset_delta if last else 0,
            self.last_timestamp,
            self.coordinator_epoch,
            snapshots.NO_OFFSET if self.txn_first_offset is None else self.txn_first_offset,
        )
