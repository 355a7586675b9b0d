"""Produce below its handler: each partition's batch into its log, then the answer when `acks` allows it (P1).

Three things may hold an answer back, in this order. A sync of this broker's disk, where `flush.messages`
asks for one: also with acks=1, and without a deadline, since Apache Kafka syncs inside the append. With
acks=-1 the in-sync replicas, for `timeout_ms` at most. Nothing else: without either the answer is given at
once.

Rejected: one wait for both. With acks=-1 a slow disk would use up the time that is meant for replicas.
"""

from collections.abc import Callable, Hashable, Sequence

from barnabas.base.clock import Clock
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Final
from barnabas.base.uuids import NULL_UUID
from barnabas.replica.delayed_produce import DelayedProduce, DelayedSync, Undecided
from barnabas.replica.hosted_partitions import HostedPartitions
from barnabas.replica.partition import LATEST_PRODUCE_VERSION, Partition
from barnabas.replica.produce import (
    INTERNAL_TOPICS,
    LOG_START_UNTOLD,
    AppendOutcome,
    AppendPartition,
    AppendPartitionResult,
    AppendReason,
)
from barnabas.storage.batch_validation import RecordsRejectedError
from barnabas.storage.producer_state.states import AppendOrigin
from barnabas.timing.purgatory import Purgatory

# Looking a member up in its enum costs as much as a small call.
_NONE: Final = ErrorCode.NONE
_APPENDED: Final = AppendReason.APPENDED
_CLIENT: Final = AppendOrigin.CLIENT


class Appends:
    """Appends for producers and coordinators.

    Args:
        partitions: those this broker hosts.
        produces: where what cannot be answered yet waits, watched by partition.
        wake: told of each append's partition and whether its high watermark moved.
    """

    __slots__ = ("_clock", "_partitions", "_produces", "_wake")

    def __init__(
        self,
        partitions: HostedPartitions,
        produces: Purgatory,
        clock: Clock,
        wake: Callable[[Partition, bool], None],
    ) -> None:
        self._partitions = partitions
        self._produces = produces
        self._clock = clock
        self._wake = wake

    def append(
        self,
        *,
        acks: int,
        timeout_ms: int,
        partitions: Sequence[AppendPartition],
        respond: Callable[[AppendOutcome], None],
        owner: Hashable | None = None,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        request_version: int = LATEST_PRODUCE_VERSION,
    ) -> None:
        """Append each partition's batch, then answer by `acks` (P1).

        Args:
            acks: 0 answers after the local append, 1 when it is synced as far as `flush.messages` asks for
                that, -1 when moreover the high watermark has passed; anything else is INVALID_REQUIRED_ACKS
                for every partition and nothing is appended.
            respond: called exactly once, possibly before this returns; never after the owner's connection is
                gone. For acks=0 too, since an error closes the connection.
            owner: the connection.
            request_version: of Produce; below 7 zstd is refused (76).
        """
        if acks not in (-1, 0, 1):
            refused = [AppendPartitionResult(ErrorCode.INVALID_REQUIRED_ACKS) for _ in partitions]
            respond(AppendOutcome(refused, AppendReason.NOTHING_APPENDED))
            return
        results: list[AppendPartitionResult] = []
        waiting: list[Undecided] = []
        appended = is_held = False
        by_name = self._partitions.by_name
        for request in partitions:
            try:
                partition = by_name.get((request.topic, request.partition))
                if (
                    partition is None
                    or request.topic_id not in (partition.topic_id, NULL_UUID)
                    or (request.topic in INTERNAL_TOPICS and origin is _CLIENT)
                ):
                    raise self._no_such_partition(request, partition)
                info, high_watermark_moved = partition.append_as_leader(
                    request.records,
                    acks=acks,
                    origin=origin,
                    request_version=request_version,
                    now_ms=self._clock.wall_ms(),
                    verification=request.verification,
                )
            except ApiError as error:
                results.append(self._append_error(request, error))
                continue
            partition.traffic.appended(info)
            self._wake(partition, high_watermark_moved)
            appended = True
            result = AppendPartitionResult(
                _NONE,
                info.first_offset,
                info.last_offset,
                info.log_append_time_ms,
                info.log_start_offset,
            )
            results.append(result)
            if partition.log.durability.held is not None:
                is_held = True
            elif acks == -1:
                required_offset = result.last_offset + 1
                decided = partition.has_replicated(required_offset)
                if decided is None:
                    waiting.append((result, partition, required_offset))
                else:
                    result.error_code = decided
        if is_held and acks:
            self._answer_when_synced(acks, timeout_ms, partitions, results, respond, owner)
        elif waiting:
            self._answer_when_replicated(timeout_ms, waiting, results, respond, owner)
        else:
            respond(AppendOutcome(results, _APPENDED if appended else AppendReason.NOTHING_APPENDED))

    def _answer_when_synced(  # noqa: PLR0917 - what the request knows by now
        self,
        acks: int,
        timeout_ms: int,
        partitions: Sequence[AppendPartition],
        results: list[AppendPartitionResult],
        respond: Callable[[AppendOutcome], None],
        owner: Hashable | None,
    ) -> None:
        by_name = self._partitions.by_name
        appended = [
            (result, by_name[request.topic, request.partition], result.last_offset + 1)
            for request, result in zip(partitions, results, strict=True)
            if result.error_code is _NONE
        ]

        def synced(parked_us: int) -> None:
            waiting = [entry for entry in appended if entry[0].error_code is _NONE] if acks == -1 else []
            if waiting:
                self._answer_when_replicated(timeout_ms, waiting, results, respond, owner, parked_us)
            else:
                now_us = self._clock.monotonic_us()
                respond(AppendOutcome(results, AppendReason.SYNCED, parked_us, now_us))

        operation = DelayedSync(appended, synced, self._clock)
        self._produces.try_complete_else_watch(operation, [entry[1] for entry in appended], owner)

    def _answer_when_replicated(  # noqa: PLR0917 - what the request knows by now
        self,
        timeout_ms: int,
        waiting: list[Undecided],
        results: list[AppendPartitionResult],
        respond: Callable[[AppendOutcome], None],
        owner: Hashable | None,
        parked_us: int = -1,
    ) -> None:
        clock = self._clock
        operation = DelayedProduce(
            clock.monotonic_ms() + timeout_ms, waiting, results, respond, clock.monotonic_us, parked_us
        )
        self._produces.try_complete_else_watch(operation, [entry[1] for entry in waiting], owner)

    def _no_such_partition(self, request: AppendPartition, partition: Partition | None) -> ApiError:
        """Return why a request's partition may not be appended to, whoever leads it."""
        if partition is None:
            if not request.topic and request.topic_id != NULL_UUID:
                return ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
            return ApiError(self._partitions.missing_error(request.topic, request.partition))
        if request.topic_id not in (partition.topic_id, NULL_UUID):
            return ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
        return ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Cannot append to internal topic {request.topic}")

    def _append_error(self, request: AppendPartition, error: ApiError) -> AppendPartitionResult:
        result = AppendPartitionResult(error.code, error_message=error.message)
        partition = self._partitions.by_name.get((request.topic, request.partition))
        if partition is not None and error.code not in LOG_START_UNTOLD:
            # A producer whose sequence is refused learns from it whether its records are merely gone.
            result.log_start_offset = partition.log.log_start_offset
            partition.traffic.failed_produces += 1
        if partition is not None:
            partition.traffic.produces += 1
        if isinstance(error, RecordsRejectedError):
            result.record_errors = error.record_errors
        if error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER:
            result.leader_id, result.leader_epoch = self._partitions.leader_of(
                request.topic, request.partition
            )
        return result
