"""Writing the markers of a decided transaction to the partitions it wrote to (KIP-98).

All partitions of one node are led by this process, so that a marker is an append like any other: to data
partitions by the replica manager, to `__consumer_offsets` by the group coordinator, which makes the
transaction's offsets count. With several nodes, a partition that another one leads gets its marker by
WriteTxnMarkers; the answer has the same shape.

A partition that is gone needs no marker, and one that knows a newer producer has no transaction of this one.
Every other failure passes some day; who asked is told which partitions are left, and asks again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from barnabas.base.clock import Clock
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import TYPE_CHECKING, Final
from barnabas.base.logger import Logger
from barnabas.base.uuids import NULL_UUID
from barnabas.coordinator.runtime.appender import TransactionEnd
from barnabas.coordinator.transactions.changes import FIRST_WITH_EPOCH_BUMPS
from barnabas.coordinator.transactions.state import PRODUCER_EPOCH_MAX, TopicPartition
from barnabas.protocol.control_records import ControlType, build_end_txn_batch
from barnabas.replica.manager import ReplicaManager
from barnabas.replica.produce import OFFSETS_TOPIC, AppendOutcome, AppendPartition
from barnabas.storage.producer_state.states import AppendOrigin

if TYPE_CHECKING:
    from barnabas.coordinator.groups.coordinator import GroupCoordinator

_log = Logger(__name__)


MARKER_TIMEOUT_MS: Final = 30_000
"""How long a marker may wait for in-sync replicas before its partition counts as left."""

NEEDS_NO_MARKER: Final = (
    ErrorCode.NONE,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.TRANSACTION_COORDINATOR_FENCED,
)

MarkerResults = dict[TopicPartition, ErrorCode]


class MarkerWriter:
    """Writes markers on this node.

    Args:
        groups: returns the group coordinator.
        exists: whether a partition is known to the cluster.
    """

    __slots__ = ("_clock", "_exists", "_groups", "_replicas")

    def __init__(
        self,
        *,
        replicas: ReplicaManager,
        groups: Callable[[], GroupCoordinator],
        exists: Callable[[TopicPartition], bool],
        clock: Clock,
    ) -> None:
        self._replicas = replicas
        self._groups = groups
        self._exists = exists
        self._clock = clock

    def write(
        self,
        end: TransactionEnd,
        partitions: Iterable[TopicPartition],
        done: Callable[[MarkerResults], None],
    ) -> None:
        """Append a marker to each partition; `done` is told when all are committed or have failed.

        It is called once, perhaps before this returns.
        """
        results: MarkerResults = {}
        offsets: list[TopicPartition] = []
        data: list[TopicPartition] = []
        for partition in partitions:
            (offsets if partition[0] == OFFSETS_TOPIC else data).append(partition)
        waiting = len(offsets) + bool(data)
        if not waiting:
            done(results)
            return

        def told(found: MarkerResults) -> None:
            nonlocal waiting
            results.update(found)
            waiting -= 1
            if waiting == 0:
                done(results)

        if data:
            self._write_to_data(end, data, told)
        for partition in offsets:
            self._write_to_offsets(end, partition, told)

    def write_checked(
        self,
        end: TransactionEnd,
        partitions: Iterable[TopicPartition],
        transaction_version: int,
        done: Callable[[MarkerResults], None],
    ) -> None:
        """Append markers that somebody else asks for; as `write`.

        Since KIP-890 a transaction's end has a higher epoch than its records. A marker that has not would be
        one that comes late, and would end the producer's next transaction.
        """
        refused: MarkerResults = {}
        taken = []
        for partition in partitions:
            if not self._exists(partition):
                refused[partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif transaction_version >= FIRST_WITH_EPOCH_BUMPS and self._is_late(end, partition):
                refused[partition] = ErrorCode.INVALID_PRODUCER_EPOCH
            else:
                taken.append(partition)
        self.write(end, taken, lambda results: done({**results, **refused}))

    def _is_late(self, end: TransactionEnd, partition: TopicPartition) -> bool:
        found = self._replicas.partitions.by_name.get(partition)
        return (
            found is not None
            and end.producer_epoch < PRODUCER_EPOCH_MAX
            and found.log.producers.has_open_transaction(end.producer_id, end.producer_epoch)
        )

    def write_until_none_is_left(
        self,
        end: TransactionEnd,
        partitions: Iterable[TopicPartition],
        done: Callable[[frozenset[TopicPartition]], None],
    ) -> None:
        """Append a marker to each partition, and tell which of them must be asked again."""

        def told(results: MarkerResults) -> None:
            left = set()
            for partition, error_code in results.items():
                if error_code in NEEDS_NO_MARKER:
                    if error_code is not ErrorCode.NONE:
                        _log.warning(
                            "%s-%d takes no marker of producer %d epoch %d: %s",
                            *partition, end.producer_id, end.producer_epoch, error_code.name,
                        )  # fmt: skip
                elif self._exists(partition):
                    left.add(partition)
            done(frozenset(left))

        self.write(end, partitions, told)

    def _write_to_data(
        self, end: TransactionEnd, partitions: list[TopicPartition], told: Callable[[MarkerResults], None]
    ) -> None:
        batch = build_end_txn_batch(
            control_type=ControlType.COMMIT if end.committed else ControlType.ABORT,
            coordinator_epoch=end.coordinator_epoch,
            producer_id=end.producer_id,
            producer_epoch=end.producer_epoch,
            timestamp=self._clock.wall_ms(),
        )

        def respond(outcome: AppendOutcome) -> None:
            told(
                {
                    partition: ErrorCode(result.error_code)
                    for partition, result in zip(partitions, outcome.results, strict=True)
                }
            )

        self._replicas.append(
            acks=-1,
            timeout_ms=MARKER_TIMEOUT_MS,
            partitions=[AppendPartition(topic, NULL_UUID, number, batch) for topic, number in partitions],
            respond=respond,
            origin=AppendOrigin.COORDINATOR,
        )

    def _write_to_offsets(
        self, end: TransactionEnd, partition: TopicPartition, told: Callable[[MarkerResults], None]
    ) -> None:
        def ended(error: ApiError | None) -> None:
            told({partition: ErrorCode.NONE if error is None else error.code})

        self._groups().end_transaction(partition[1], end, ended)
