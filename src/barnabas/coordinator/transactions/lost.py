"""What logs know of producers, held against what the coordinator knows: a power failure sets them apart.

Without `flush.messages=1` the failure takes what was not synced, and of each log as much as it happens to. A
log may then hold records of a transaction that `__transaction_state` has lost. Nobody would ever end it, and
it would hold back read_committed consumers for ever; worse, the next transaction of the same producer id and
epoch would commit it along, or have its own records taken for repeated ones.

All partitions of one node are led by this process, so the coordinator can look. After a start that was not
clean it does: it aborts what no transactional id accounts for, and gives ids whose newer epochs were lost
one that is newer still. Apache Kafka leaves that to `kafka-transactions.sh --abort`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from barnabas.base.hints import TYPE_CHECKING
from barnabas.base.named_tuple import NamedTuple
from barnabas.coordinator.transactions.changes import FIRST_WITH_EPOCH_BUMPS
from barnabas.coordinator.transactions.state import (
    PREPARED,
    PRODUCER_EPOCH_MAX,
    TopicPartition,
    TransactionMetadata,
    TransactionState,
)

if TYPE_CHECKING:
    from barnabas.replica.manager import ReplicaManager


class ProducerInLog(NamedTuple):
    """What one partition knows of a producer.

    Attributes:
        is_open: it has records of a transaction there that no marker has ended.
    """

    partition: TopicPartition
    producer_id: int
    producer_epoch: int
    is_open: bool


def producers_in_logs(
    replicas: ReplicaManager, producer_ids: Collection[int] | None
) -> Iterator[ProducerInLog]:
    """Yield what the partitions of this node know of producers; None for all of them."""
    for name, partition in replicas.partitions.by_name.items():
        known = partition.log.producers.producers
        for producer_id in known if producer_ids is None else known.keys() & producer_ids:
            state = known[producer_id]
            yield ProducerInLog(name, producer_id, state.epoch, state.txn_first_offset is not None)


def accounts_for(metadata: TransactionMetadata, found: ProducerInLog) -> bool:
    """Whether an open transaction in a partition is the one that the coordinator knows."""
    if found.partition not in metadata.partitions:
        return False
    epoch = metadata.producer_epoch
    if metadata.state in PREPARED:
        if metadata.client_version < FIRST_WITH_EPOCH_BUMPS:
            return epoch - 1 <= found.producer_epoch <= epoch  # fencing raises it
        # Its end has raised the epoch: records of the new one are of the next transaction.
        return found.producer_epoch == epoch - 1 or found.producer_epoch == epoch == PRODUCER_EPOCH_MAX
    return metadata.state is TransactionState.ONGOING and found.producer_epoch == epoch
