"""One pass over the partitions of a fetch: what is there now, under one shared byte limit (F6, F7, F10).

Used for the first read and again when a parked fetch is answered. Whether to answer or to wait is not
decided here. Followers and consumers that another replica may suit better leave the straight path: they
read through `_read_specially`, so that a plain consumer pays for neither.
"""

from collections.abc import Callable, Sequence

from barnabas.base.cold_reads import ColdReadError
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import TYPE_CHECKING, Final
from barnabas.base.uuids import NULL_UUID
from barnabas.replica.delayed_fetch import IsThrottled
from barnabas.replica.fetch import (
    ClientMetadata,
    FetchParams,
    FetchPartition,
    FetchPartitionResult,
    FetchReason,
    release_records,
)
from barnabas.replica.hosted_partitions import HostedPartitions
from barnabas.replica.partition import Partition
from barnabas.replica.partition_state import state_error
from barnabas.storage.offset_metadata import UNKNOWN_OFFSET_METADATA

if TYPE_CHECKING:
    from barnabas.replica.fetch_verifier import FetchVerifier

SelectReplica = Callable[[ClientMetadata, Partition, int], int | None]
"""Which replica a consumer should rather read from, given its metadata and fetch offset (KIP-392)."""

_NONE: Final = ErrorCode.NONE
_LEADER_TOLD_ON: Final = frozenset((ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH))


class FetchReader:
    """Reads for fetches.

    Args:
        watermark_moved: called when a follower's fetch moved a watermark of a partition.
        select_replica: None: consumers are never sent elsewhere.
        is_throttled: None: followers are never throttled.
        cold_tries_max: how often a fetch is set aside for what is not in memory (F44); 0: never.
        verifier: checks what is served; None serves it as it lies there.
    """

    __slots__ = (
        "_cold_tries_max",
        "_is_throttled",
        "_local_id",
        "_now_ms",
        "_partitions",
        "_select_replica",
        "_verifier",
        "_watermark_moved",
    )

    def __init__(
        self,
        *,
        local_id: int,
        partitions: HostedPartitions,
        now_ms: Callable[[], int],
        watermark_moved: Callable[[Partition], None],
        select_replica: SelectReplica | None,
        is_throttled: IsThrottled | None,
        cold_tries_max: int = 0,
        verifier: "FetchVerifier | None" = None,
    ) -> None:
        self._local_id = local_id
        self._partitions = partitions
        self._now_ms = now_ms
        self._watermark_moved = watermark_moved
        self._select_replica = select_replica
        self._is_throttled = is_throttled
        self._cold_tries_max = cold_tries_max
        self._verifier = verifier

    @property
    def selects_replicas(self) -> bool:
        """Whether a consumer may be sent to another replica, so that a fetch must say who asks (KIP-392)."""
        return self._select_replica is not None

    def read(
        self, params: FetchParams, requests: Sequence[FetchPartition], *, is_first: bool
    ) -> tuple[list[FetchPartitionResult], int, FetchReason | None]:
        """Read all partitions under the one shared limit (F6, F7).

        Returns:
            the results, the bytes of all records, and what of F15 besides bytes asks for an answer at once.

        Raises:
            ColdReadError: look-ups met cold pages, of all partitions together. Only when `is_first`, and
                not after too many tries.
        """
        by_name = self._partitions.by_name
        left = params.max_bytes
        records_bytes = 0
        notable: FetchReason | None = None
        results: list[FetchPartitionResult] = []
        cold: ColdReadError | None = None
        params.may_wait = params.cold_tries >= self._cold_tries_max or not is_first
        is_plain = self._select_replica is None and not params.is_from_follower and self._verifier is None
        try:
            for request in requests:
                partition = by_name.get((request.topic, request.partition))
                max_bytes = request.max_bytes if request.max_bytes < left else left
                if partition is None or request.topic_id not in (partition.topic_id, NULL_UUID):
                    result = FetchPartitionResult(self._lookup_error(request, partition))
                else:
                    partition.traffic.fetches += 1
                    try:
                        if is_plain:
                            result = partition.read(request, params, max_bytes, records_bytes == 0)
                        else:
                            result = self._read_specially(
                                partition, request, params, max_bytes, records_bytes == 0, is_first=is_first
                            )
                    except ApiError as error:
                        result = FetchPartitionResult(error.code)
                    except ColdReadError as met:
                        # The others are looked up all the same: all helpers are then sent at once.
                        cold = met if cold is None else cold.joined(met)
                        continue
                results.append(result)
                records = result.records
                if records is not None:
                    records_bytes += records.length
                    left = max(0, left - records.length)
                elif result.offset_metadata is UNKNOWN_OFFSET_METADATA:
                    notable = self._what_is_notable(request, result, notable)
        except BaseException:
            release_records(results)
            if cold is not None:
                cold.release()
            raise
        if cold is not None:
            release_records(results)
            raise cold
        return results, records_bytes, notable

    def _what_is_notable(
        self, request: FetchPartition, result: FetchPartitionResult, so_far: FetchReason | None
    ) -> FetchReason | None:
        """Return what of F15 a result without a position calls for; an error outranks the rest."""
        if result.error_code is not _NONE:
            if result.error_code in _LEADER_TOLD_ON:
                leader = self._partitions.leader_of(request.topic, request.partition)
                result.leader_id, result.leader_epoch = leader
            return FetchReason.ERROR
        if result.diverging_epoch is not None:
            return so_far or FetchReason.DIVERGING_EPOCH
        return so_far or FetchReason.PREFERRED_REPLICA

    def _read_specially(
        self,
        partition: Partition,
        request: FetchPartition,
        params: FetchParams,
        max_bytes: int,
        min_one_message: bool,
        *,
        is_first: bool,
    ) -> FetchPartitionResult:
        """Read for a follower or a consumer that another replica may suit better; check what is to be."""

        def read() -> FetchPartitionResult:
            return self._read_for(partition, request, params, max_bytes, min_one_message, is_first=is_first)

        result = read()
        if self._verifier is None or result.records is None:
            return result
        return self._verifier.verified(partition, request, params, result, read)

    def _read_for(
        self,
        partition: Partition,
        request: FetchPartition,
        params: FetchParams,
        max_bytes: int,
        min_one_message: bool,
        *,
        is_first: bool,
    ) -> FetchPartitionResult:
        """Read for a follower, or for a consumer that another replica may suit better.

        Args:
            is_first: not for a parked fetch, whose first read told the follower's state already.
        """
        if not params.is_from_follower:
            return self._read_or_redirect(partition, request, params, max_bytes, min_one_message)
        if self._is_throttled is not None and self._is_throttled(partition, params.replica_id):
            max_bytes, min_one_message = 0, False
        error = partition.access_error(request.current_leader_epoch, only_leader=True)
        if error is not _NONE:
            return FetchPartitionResult(error)
        follower = partition.follower_for(request, params.replica_id)
        log_end_offset = partition.log.log_end_offset
        result = partition.read(request, params, max_bytes, min_one_message)
        if not is_first or result.error_code is not _NONE or result.diverging_epoch is not None:
            return result
        try:
            moved = partition.update_follower_fetch_state(
                follower,
                result.offset_metadata,
                log_start_offset=request.log_start_offset,
                now_ms=self._now_ms(),
                leader_log_end_offset=log_end_offset,
                broker_epoch=params.replica_epoch,
            )
        except ApiError:
            release_records((result,))
            raise
        if moved:
            self._watermark_moved(partition)
        return result

    def _read_or_redirect(
        self,
        partition: Partition,
        request: FetchPartition,
        params: FetchParams,
        max_bytes: int,
        min_one_message: bool,
    ) -> FetchPartitionResult:
        client = params.client_metadata
        if self._select_replica is not None and client is not None and partition.is_leader:
            preferred = self._select_replica(client, partition, request.fetch_offset)
            if preferred is not None and preferred != self._local_id:
                error = partition.access_error(request.current_leader_epoch, only_leader=False)
                if error is not _NONE:
                    return FetchPartitionResult(error)
                snapshot = partition.offset_snapshot()
                return FetchPartitionResult(
                    _NONE,
                    snapshot.high_watermark.message_offset,
                    snapshot.last_stable_offset.message_offset,
                    snapshot.log_start_offset,
                    preferred_read_replica=preferred,
                )
        return partition.read(request, params, max_bytes, min_one_message)

    def _lookup_error(self, request: FetchPartition, found: Partition | None) -> ErrorCode:
        """Return why the partition asked for is not there, or is another one of that name (F9, F10)."""
        if found is not None:
            return state_error(found.state) or ErrorCode.INCONSISTENT_TOPIC_ID
        if not request.topic and request.topic_id != NULL_UUID:
            return ErrorCode.UNKNOWN_TOPIC_ID
        return self._partitions.missing_error(request.topic, request.partition)
