"""The transactional ids of one partition of `__transaction_state`.

An operation checks a request against the metadata of its id and returns the record that brings it on; the
rules lie in transaction_changes.py. `replay` takes records in. What follows a decision is not the client's
business any more: the markers are written, and when each partition has its own, the transaction is complete.
The client's answer goes out between the two.

A load that finds decided transactions goes on with them. A partition may then get a second marker, which ends
nothing and harms nobody.

Rejected: one sweep over all ids for those that timed out, every ten seconds as in Apache Kafka. A deadline
for each transaction costs two steps in the timer wheel and ends it when its time is up.
"""

from __future__ import annotations

from barnabas.base.dataclass import replace
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Any, Final
from barnabas.base.logger import Logger
from barnabas.coordinator.runtime.outcome import CoordinatorRecord, Outcome
from barnabas.coordinator.runtime.shard_timers import RETRY_DELAY_MS
from barnabas.coordinator.transactions import changes
from barnabas.coordinator.transactions.config import TransactionContext
from barnabas.coordinator.transactions.lost import accounts_for
from barnabas.coordinator.transactions.records import (
    metadata_of,
    record_of,
    tombstone_of,
    transactional_id_of,
)
from barnabas.coordinator.transactions.state import (
    NO_PRODUCER_EPOCH,
    PREPARED,
    PRODUCER_EPOCH_MAX,
    TRANSITIONS,
    ProducerIdAndEpoch,
    TopicPartition,
    TransactionMetadata,
    TransactionState,
)
from barnabas.protocol.messages import Message

_log = Logger(__name__)

_EXPIRY: Final = "expiry"
_TIMEOUT: Final = "timeout"
_MARKERS: Final = "markers"


class TransactionShard:
    """The state machine of one partition (`shard.Shard`).

    Attributes:
        transactions: by transactional id; not to be changed.
    """

    __slots__ = ("_context", "_is_active", "_proposed", "partition", "transactions")

    def __init__(self, context: TransactionContext, partition: int) -> None:
        self._context = context
        self.partition = partition
        self.transactions: dict[str, TransactionMetadata] = {}
        self._is_active = False
        self._proposed: tuple[Message | None, TransactionMetadata] | None = None

    # Requests

    def init_producer_id(
        self, transactional_id: str, timeout_ms: int, expected: ProducerIdAndEpoch | None, now_ms: int
    ) -> Outcome[ProducerIdAndEpoch | ErrorCode]:
        """Give a transactional id its producer; every older one is fenced (KIP-98, KIP-360).

        An ongoing transaction is aborted first; once that is decided the answer is CONCURRENT_TRANSACTIONS,
        upon which clients come back.

        Args:
            expected: what the producer believes to be, None for one that begins.

        Raises:
            ApiError: INVALID_REQUEST, INVALID_TRANSACTION_TIMEOUT, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS.
        """
        _check_id(transactional_id)
        if not 0 < timeout_ms <= self._context.config.transaction_max_timeout_ms:
            raise ApiError(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        new_producer_id = self._context.new_producer_id
        metadata = self.transactions.get(transactional_id)
        if metadata is None:
            metadata = TransactionMetadata(
                transactional_id=transactional_id,
                producer_id=new_producer_id(),
                timeout_ms=timeout_ms,
                updated_ms=now_ms,
            )
        changes.check_expected_producer(metadata, expected)
        if metadata.state in PREPARED:
            raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS)
        if metadata.state is TransactionState.ONGOING:
            return self._fence(metadata, now_ms, ErrorCode.CONCURRENT_TRANSACTIONS)
        changed = changes.next_producer(
            metadata, expected, timeout_ms=timeout_ms, now_ms=now_ms, new_producer_id=new_producer_id
        )
        return Outcome(records=[self._propose(changed)], response=changed.producer)

    def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: frozenset[TopicPartition],
        client_version: int,
        now_ms: int,
    ) -> Outcome[ErrorCode]:
        """Make partitions a part of the transaction, which begins with the first of them.

        Raises:
            ApiError: INVALID_REQUEST, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS.
        """
        metadata = self._known(transactional_id)
        changes.check_producer(metadata, producer)
        if metadata.state is TransactionState.ONGOING and partitions <= metadata.partitions:
            return Outcome(response=ErrorCode.NONE)
        changed = changes.with_partitions(metadata, partitions, client_version=client_version, now_ms=now_ms)
        return Outcome(records=[self._propose(changed)], response=ErrorCode.NONE)

    def verify_partitions(
        self, transactional_id: str, producer: ProducerIdAndEpoch, partitions: frozenset[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Tell of each partition whether it is a part of the transaction: NONE or TRANSACTION_ABORTABLE.

        Raises:
            ApiError: as `add_partitions`.
        """
        metadata = self._known(transactional_id)
        changes.check_producer(metadata, producer)
        return {
            partition: ErrorCode.NONE if partition in metadata.partitions else ErrorCode.TRANSACTION_ABORTABLE
            for partition in partitions
        }

    def end(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        *,
        commit: bool,
        client_version: int,
        now_ms: int,
    ) -> Outcome[ProducerIdAndEpoch]:
        """Decide a transaction; the answer is the producer to go on as.

        Raises:
            ApiError: INVALID_REQUEST, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS,
                INVALID_TXN_STATE.
        """
        metadata = self._known(transactional_id)
        if not changes.is_end_due(metadata, producer, commit=commit, client_version=client_version):
            return Outcome(response=metadata.producer)
        decided = changes.prepared(
            metadata,
            commit=commit,
            client_version=client_version,
            now_ms=now_ms,
            new_producer_id=self._context.new_producer_id,
        )
        return Outcome(
            records=[self._propose(decided)],
            response=changes.completed(decided, now_ms=now_ms).producer,
            appended=lambda error: self._decided(decided, error),
        )

    def describe(self, transactional_id: str) -> TransactionMetadata:
        """Return what is known of a transactional id.

        Raises:
            ApiError: INVALID_REQUEST, TRANSACTIONAL_ID_NOT_FOUND.
        """
        _check_id(transactional_id)
        metadata = self.transactions.get(transactional_id)
        if metadata is None:
            raise ApiError(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
        return metadata

    # What the runtime calls

    def replay(self, record: CoordinatorRecord, offset: int, producer_id: int) -> None:  # noqa: ARG002
        """Take a record in (`Shard.replay`)."""
        proposed, self._proposed = self._proposed, None
        if record.value is None:
            self._forget(transactional_id_of(record.key))
        elif proposed is not None and proposed[0] is record.value:
            # It was just appended; the proposal also has what no record tells.
            self._take(proposed[1])
        else:
            self._take(metadata_of(record.key, record.value))

    def replay_transaction_end(self, producer_id: int, *, committed: bool) -> None:
        """Nothing: no transaction has a part of this topic."""

    def loaded(self, now_ms: int) -> None:
        """Go on with what is decided, end what times out, forget what expires."""
        self._is_active = True
        self._follow_logs()
        for metadata in list(self.transactions.values()):
            if metadata.state in PREPARED:
                _log.info(
                    "transaction %r is decided; its markers are written again", metadata.transactional_id
                )
                self._write_markers(metadata)
            else:
                self._arm(metadata, now_ms)
        self._arm_expiry()

    def unloaded(self) -> None:
        """Nobody waits here."""
        self._is_active = False

    # Changes

    def _known(self, transactional_id: str) -> TransactionMetadata:
        _check_id(transactional_id)
        metadata = self.transactions.get(transactional_id)
        if metadata is None:
            raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        return metadata

    def _propose(self, changed: TransactionMetadata) -> CoordinatorRecord:
        record = record_of(changed, server_version=self._context.server_version())
        self._proposed = (record.value, changed)
        return record

    def _take(self, metadata: TransactionMetadata) -> None:
        self.transactions[metadata.transactional_id] = metadata
        if self._is_active:
            self._arm(metadata, metadata.updated_ms)

    def _forget(self, transactional_id: str) -> None:
        self.transactions.pop(transactional_id, None)
        self._context.timers.cancel((_TIMEOUT, transactional_id))

    # After a power failure

    def _follow_logs(self) -> None:
        """Abort what logs know of and no id accounts for; let no id use an epoch that was used before."""
        context = self._context
        if context.producers_in_logs is None or context.abort_lost is None:
            return
        by_producer = {metadata.producer_id: metadata for metadata in self.transactions.values()}
        newest = {producer_id: metadata.producer_epoch for producer_id, metadata in by_producer.items()}
        lost: set[int] = set()
        for found in list(context.producers_in_logs(by_producer.keys())):
            producer_id = found.producer_id
            metadata = by_producer[producer_id]
            if found.producer_epoch > newest[producer_id]:
                newest[producer_id] = found.producer_epoch
                lost.add(producer_id)
            if found.is_open and not accounts_for(metadata, found):
                lost.add(producer_id)
                context.abort_lost(found)
        for producer_id in lost:
            self._lost(by_producer[producer_id], newest[producer_id])

    def _lost(self, metadata: TransactionMetadata, newest_epoch: int) -> None:
        """Fence the producer of an id whose newest changes are lost, which it does not know."""
        transactional_id = metadata.transactional_id
        _log.warning(
            "what transaction %r of producer %d came to is lost; epoch %d is the newest in logs",
            transactional_id, metadata.producer_id, newest_epoch,
        )  # fmt: skip
        self.transactions[transactional_id] = replace(
            metadata,
            producer_epoch=min(newest_epoch + 1, PRODUCER_EPOCH_MAX),
            last_producer_epoch=NO_PRODUCER_EPOCH,
        )
        self._context.run(
            transactional_id, lambda now_ms: self._write_lost(transactional_id, now_ms), lambda: None
        )

    def _write_lost(self, transactional_id: str, now_ms: int) -> Outcome[None]:
        """Write the newer epoch, since no start behind a clean stop looks for it; abort what is open."""
        metadata = self.transactions.get(transactional_id)
        if metadata is None:
            return Outcome()
        if metadata.state is TransactionState.ONGOING:
            return self._fence(metadata, now_ms, None)
        return Outcome(records=[self._propose(metadata)])

    # Deadlines

    def _arm(self, metadata: TransactionMetadata, now_ms: int) -> None:
        """Let a transaction end when its time is up; one that has more partitions gets no more time."""
        key = (_TIMEOUT, metadata.transactional_id)
        timers = self._context.timers
        if metadata.state is not TransactionState.ONGOING:
            timers.cancel(key)
        elif not timers.is_scheduled(key):
            # A clock that was set back gives nobody more than the whole time.
            left_ms = max(0, min(metadata.start_ms + metadata.timeout_ms - now_ms, metadata.timeout_ms))
            timers.schedule(key, left_ms, lambda now_ms: self._timed_out(metadata.transactional_id, now_ms))

    def _timed_out(self, transactional_id: str, now_ms: int) -> Outcome[None]:
        metadata = self.transactions.get(transactional_id)
        if metadata is None or metadata.state is not TransactionState.ONGOING:
            return Outcome()
        _log.info(
            "transaction %r of producer %d is aborted: it took more than %d ms",
            transactional_id,
            metadata.producer_id,
            metadata.timeout_ms,
        )
        return self._fence(metadata, now_ms, None)

    def _arm_expiry(self) -> None:
        config = self._context.config
        self._context.timers.schedule(_EXPIRY, config.remove_expired_interval_ms, self._expire)

    def _expire(self, now_ms: int) -> Outcome[None]:
        self._arm_expiry()
        until_ms = now_ms - self._context.config.transactional_id_expiration_ms
        expired = [
            metadata
            for metadata in self.transactions.values()
            if TransactionState.DEAD in TRANSITIONS[metadata.state] and metadata.updated_ms <= until_ms
        ]
        return Outcome(
            records=[tombstone_of(metadata.transactional_id) for metadata in expired], is_atomic=False
        )

    # Decided transactions

    def _fence(self, metadata: TransactionMetadata, now_ms: int, response: ErrorCode | None) -> Outcome[Any]:
        decided = changes.fenced(
            metadata,
            server_version=self._context.server_version(),
            now_ms=now_ms,
            new_producer_id=self._context.new_producer_id,
        )
        return Outcome(
            records=[self._propose(decided)],
            response=response,
            appended=lambda error: self._decided(decided, error),
        )

    def _decided(self, decided: TransactionMetadata, error: ApiError | None) -> None:
        if self.transactions.get(decided.transactional_id) is not decided:
            return  # it could not be appended
        if error is None:
            self._write_markers(decided)
        else:
            self._write_markers_later(decided.transactional_id)

    def _write_markers(self, decided: TransactionMetadata) -> None:
        transactional_id = decided.transactional_id

        def written(left: frozenset[TopicPartition]) -> None:
            current = self.transactions.get(transactional_id)
            if current is None or current.state is not decided.state or current.producer != decided.producer:
                return
            if left:
                self.transactions[transactional_id] = replace(current, partitions=left)
                self._write_markers_later(transactional_id)
                return
            self._context.run(
                transactional_id,
                lambda now_ms: self._complete(transactional_id, now_ms),
                lambda: self._write_markers_later(transactional_id),
            )

        self._context.write_markers(decided, written)

    def _write_markers_later(self, transactional_id: str) -> None:
        def write(error: ApiError | None) -> None:
            metadata = self.transactions.get(transactional_id)
            if error is None and metadata is not None and metadata.state in PREPARED:
                self._write_markers(metadata)

        # Without records it is told when the decision is committed, however long that takes.
        self._context.timers.schedule(
            (_MARKERS, transactional_id), RETRY_DELAY_MS, lambda _: Outcome(appended=write)
        )

    def _complete(self, transactional_id: str, now_ms: int) -> Outcome[None]:
        metadata = self.transactions.get(transactional_id)
        if metadata is None or metadata.state not in PREPARED:
            return Outcome()
        return Outcome(records=[self._propose(changes.completed(metadata, now_ms=now_ms))])


def _check_id(transactional_id: str) -> None:
    if not transactional_id:
        raise ApiError(ErrorCode.INVALID_REQUEST, "the transactional id is empty")
