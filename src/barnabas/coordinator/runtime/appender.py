"""From an operation's records to the partition's log, and from there to the state and the answer."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from barnabas.base.clock import Clock
from barnabas.base.dataclass import dataclass
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Any
from barnabas.base.logger import Logger
from barnabas.base.uuids import NULL_UUID
from barnabas.coordinator.runtime.append_errors import told_error
from barnabas.coordinator.runtime.config import RuntimeConfig
from barnabas.coordinator.runtime.hosted_shard import AnyHosted, Committed
from barnabas.coordinator.runtime.outcome import CoordinatorRecord, Outcome
from barnabas.coordinator.runtime.record_codec import RecordCodec
from barnabas.coordinator.runtime.shard import NO_PRODUCER_ID
from barnabas.protocol.control_records import ControlType, build_end_txn_batch
from barnabas.protocol.record_batch import NO_PRODUCER_EPOCH, NO_SEQUENCE
from barnabas.protocol.record_batch_builder import BatchBuilder
from barnabas.replica.manager import ReplicaManager
from barnabas.replica.produce import AppendOutcome, AppendPartition
from barnabas.storage.producer_state.states import AppendOrigin

_log = Logger(__name__)

_RECORD_OVERHEAD_BYTES = 32
"""More than a record has besides key and value: length, deltas, lengths, headers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionEnd:
    """How a producer's transaction ended.

    Attributes:
        coordinator_epoch: of the transaction coordinator that decided.
    """

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    committed: bool


class Appender:
    """Appends, has replayed, and tells when committed.

    Attributes:
        appends, records, failures: counted since the start.
    """

    __slots__ = ("_clock", "_codec", "_config", "_replicas", "appends", "failures", "records")

    def __init__(
        self, *, config: RuntimeConfig, codec: RecordCodec, replicas: ReplicaManager, clock: Clock
    ) -> None:
        self._config = config
        self._codec = codec
        self._replicas = replicas
        self._clock = clock
        self.appends = 0
        self.records = 0
        self.failures = 0

    def append(self, hosted: AnyHosted, outcome: Outcome[Any], ended: Committed) -> None:
        """Append an outcome's records and replay them; `ended` is told when they are committed or why not."""
        try:
            encoded = [self._codec.encode(record) for record in outcome.records]
        except ValueError:
            _log.exception("%s: a record that cannot be encoded", hosted)
            ended(ApiError(ErrorCode.UNKNOWN_SERVER_ERROR))
            return
        if outcome.is_atomic:
            self._append_records(hosted, outcome.records, encoded, outcome, ended)
            return
        runs = _runs_that_fit(encoded, hosted.partition.log.config.max_message_bytes)
        left = len(runs)
        first_error: ApiError | None = None

        def run_ended(error: ApiError | None) -> None:
            nonlocal left, first_error
            left -= 1
            first_error = first_error or error
            if left == 0:
                ended(first_error)

        for run in runs:
            records = outcome.records[run.start : run.stop]
            self._append_records(hosted, records, encoded[run.start : run.stop], outcome, run_ended)

    def append_marker(self, hosted: AnyHosted, marker: TransactionEnd, ended: Committed) -> None:
        """Append the marker that ends a producer's transaction on the partition, and replay it (KIP-98)."""
        batch = build_end_txn_batch(
            control_type=ControlType.COMMIT if marker.committed else ControlType.ABORT,
            coordinator_epoch=marker.coordinator_epoch,
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            timestamp=self._clock.wall_ms(),
        )

        def replay(_offset: int) -> None:
            hosted.shard.replay_transaction_end(marker.producer_id, committed=marker.committed)

        self._append(hosted, batch, replay, ended)

    def _append_records(
        self,
        hosted: AnyHosted,
        records: Sequence[CoordinatorRecord],
        encoded: Sequence[tuple[bytes, bytes | None]],
        outcome: Outcome[Any],
        ended: Committed,
    ) -> None:
        def replay(base_offset: int) -> ApiError | None:
            self.records += len(records)
            return self._replay(hosted, records, base_offset, outcome)

        self._append(hosted, self._batch(encoded, outcome.producer), replay, ended)

    def _append(
        self,
        hosted: AnyHosted,
        batch: bytes,
        replay: Callable[[int], ApiError | None],
        ended: Committed,
    ) -> None:
        """Append a batch; what it says is replayed at once when it is in the log.

        Args:
            replay: given the batch's base offset; returns why it failed.
        """
        partition = hosted.partition
        follows: list[Committed] = [ended]
        told: list[ApiError | None] = []

        def respond(outcome: AppendOutcome) -> None:
            result = outcome.results[0]
            error = None
            if result.error_code != ErrorCode.NONE:
                error = ApiError(told_error(result.error_code), result.error_message)
            if any(waiting is follows for waiting in hosted.uncommitted):
                _commit(hosted, follows, error)
            else:
                told.append(error)

        base_offset = partition.log.log_end_offset
        self._replicas.append(
            acks=-1,
            timeout_ms=self._config.commit_timeout_ms,
            partitions=[AppendPartition(partition.topic, NULL_UUID, partition.partition, batch)],
            respond=respond,
            origin=AppendOrigin.COORDINATOR,
        )
        if partition.log.log_end_offset == base_offset:
            self.failures += 1
            assert told
            ended(told[0])
            return
        self.appends += 1
        replay_error = replay(base_offset)
        if told:
            ended(told[0] or replay_error)
        else:
            hosted.uncommitted.append(follows)

    def _batch(
        self, encoded: Sequence[tuple[bytes, bytes | None]], producer: tuple[int, int] | None
    ) -> bytes:
        producer_id, producer_epoch = producer or (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
        builder = BatchBuilder(
            codec=self._config.codec,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=NO_SEQUENCE if producer is None else 0,
            is_transactional=producer is not None,
        )
        now_ms = self._clock.wall_ms()
        for key, value in encoded:
            builder.append(timestamp=now_ms, key=key, value=value)
        return builder.build()

    def _replay(
        self,
        hosted: AnyHosted,
        records: Sequence[CoordinatorRecord],
        base_offset: int,
        outcome: Outcome[Any],
    ) -> ApiError | None:
        producer_id = NO_PRODUCER_ID if outcome.producer is None else outcome.producer[0]
        replay = hosted.shard.replay
        failed = None
        for offset, record in enumerate(records, base_offset):
            try:
                replay(record, offset, producer_id)
            except Exception:
                # It is in the log: a restart passes over it and goes on, and so does this.
                _log.exception("%s: the record at offset %d could not be replayed", hosted, offset)
                failed = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
        if outcome.replayed is not None:
            try:
                outcome.replayed()
            except Exception:
                _log.exception("%s: what follows a replay failed", hosted)
                failed = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
        return failed


def _commit(hosted: AnyHosted, appended: list[Committed], error: ApiError | None) -> None:
    """An append that waited is decided. What waits behind an earlier one goes on waiting there."""
    hosted.uncommitted = deque(waiting for waiting in hosted.uncommitted if waiting is not appended)
    for follows in appended:
        follows(error)


def _runs_that_fit(encoded: Sequence[tuple[bytes, bytes | None]], batch_bytes_max: int) -> list[range]:
    """Split records into runs that fit a batch each; one that fits none is alone, and refused later."""
    runs: list[range] = []
    start = 0
    size = 0
    room = batch_bytes_max - 61
    for index, (key, value) in enumerate(encoded):
        record_size = len(key) + len(value or b"") + _RECORD_OVERHEAD_BYTES
        if size + record_size > room and index > start:
            runs.append(range(start, index))
            start, size = index, 0
        size += record_size
    runs.append(range(start, len(encoded)))
    return runs
