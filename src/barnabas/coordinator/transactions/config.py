"""The settings of transactions, and what a shard of them needs from the broker."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from barnabas.base.dataclass import dataclass
from barnabas.base.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.coordinator.runtime.outcome import Outcome, Timers
    from barnabas.coordinator.transactions.lost import ProducerInLog
    from barnabas.coordinator.transactions.state import TopicPartition, TransactionMetadata


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionConfig:
    """What the broker's settings say of transactions.

    Attributes:
        transaction_max_timeout_ms: `transaction.max.timeout.ms`, what a producer may ask for.
        transactional_id_expiration_ms: `transactional.id.expiration.ms`, after which an id that is not used
            is forgotten.
        remove_expired_interval_ms: `transaction.remove.expired.transaction.cleanup.interval.ms`, how often
            ids are looked at for that.
    """

    transaction_max_timeout_ms: int = 900_000
    transactional_id_expiration_ms: int = 604_800_000
    remove_expired_interval_ms: int = 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionContext:
    """What a shard is made with.

    Attributes:
        timers: deadlines of the shard.
        new_producer_id: returns a producer id that was never given; raises ApiError when there is none.
        server_version: returns the transaction.version that is finalised.
        write_markers: (decided transaction, told which partitions have no marker yet) writes one to each
            of its partitions; it may tell before it returns.
        run: runs an operation on the shard of a transactional id; what fails is told to the second callable.
        producers_in_logs: returns what logs know of producers; None after a clean stop, when that is what
            the coordinator knows, too (`transactions/lost.py`).
        abort_lost: ends a transaction in a partition that no coordinator knows.
    """

    config: TransactionConfig
    timers: Timers
    new_producer_id: Callable[[], int]
    server_version: Callable[[], int]
    write_markers: Callable[[TransactionMetadata, Callable[[frozenset[TopicPartition]], None]], None]
    run: Callable[[str, Callable[[int], Outcome[None]], Callable[[], None]], None]
    producers_in_logs: Callable[[Collection[int]], Iterable[ProducerInLog]] | None = None
    abort_lost: Callable[[ProducerInLog], None] | None = None
