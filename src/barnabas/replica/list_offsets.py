"""Answers of one partition to ListOffsets and OffsetForLeaderEpoch.

Free functions over a Partition: they read it and change nothing. A search by time goes through time indexes
and batches that nobody may have read for months, so it never waits for the disk on the loop: it is set aside
and made anew, with more brought in each time, as fetches are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence

from barnabas.base.cold_reads import ColdReadError
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.limits import TIME_SEARCH_TRIES_MAX
from barnabas.replica.cold_lookups import ColdLookups
from barnabas.replica.fetch import CONSUMER_REPLICA_ID, DEBUGGING_REPLICA_ID
from barnabas.replica.hosted_partitions import HostedPartitions
from barnabas.replica.offset_requests import (
    EpochEndOffset,
    LeaderEpochPartition,
    ListOffsetsParams,
    ListOffsetsPartition,
    ListOffsetsResult,
)
from barnabas.replica.partition import Partition
from barnabas.storage.cold_lookup import RANGES_MAX, SCAN_BYTES
from barnabas.storage.offset_lookup import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
)

Respond = Callable[[list[ListOffsetsResult]], None]

SCAN_BYTES_MAX = 16 * 1024 * 1024
"""What one try of a search by time brings in at most: a tenth of a second of a plain disk."""

_EARLIEST = frozenset((EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP, EARLIEST_PENDING_UPLOAD_TIMESTAMP))
_NOT_AVAILABLE_SINCE_VERSION = 5


class OffsetsByTime:
    """Answers ListOffsets; a search that would wait for the disk is set aside (F44).

    Args:
        partitions: what this broker hosts.
        lookups: where requests wait for pages, and how often they may.
    """

    __slots__ = ("_lookups", "_partitions")

    def __init__(self, partitions: HostedPartitions, lookups: ColdLookups) -> None:
        self._partitions = partitions
        self._lookups = lookups

    def list_offsets(
        self,
        params: ListOffsetsParams,
        requests: Sequence[ListOffsetsPartition],
        respond: Respond,
        owner: Hashable | None = None,
        tries: int = 0,
    ) -> None:
        """Find offsets, in request order; a partition asked for twice is INVALID_REQUEST.

        Args:
            respond: called once, possibly before this returns; never after the owner is gone.
            owner: the connection.
            tries: how often this was set aside.
        """
        try:
            results = self._find(params, requests, _scan_bytes(tries, self._lookups.tries_max))
        except ColdReadError as cold:

            def again() -> None:
                try:
                    self.list_offsets(params, requests, respond, owner, tries + 1)
                except Exception:
                    # A fault of ours, for the loop to report; dispatch, which would answer, is long gone.
                    respond([ListOffsetsResult(error_code=ErrorCode.UNKNOWN_SERVER_ERROR) for _ in requests])
                    raise

            self._lookups.try_later(cold, again, owner)
        else:
            respond(results)

    def _find(
        self, params: ListOffsetsParams, requests: Sequence[ListOffsetsPartition], scan_bytes: int | None
    ) -> list[ListOffsetsResult]:
        asked = Counter((request.topic, request.partition) for request in requests)
        results: list[ListOffsetsResult] = []
        cold: ColdReadError | None = None
        for request in requests:
            try:
                if asked[request.topic, request.partition] > 1:
                    raise ApiError(ErrorCode.INVALID_REQUEST)
                partition = self._partitions.get(request.topic, request.partition)
                results.append(list_offset(partition, params, request, scan_bytes))
            except ApiError as error:
                results.append(ListOffsetsResult(error_code=error.code))
            except ColdReadError as met:
                cold = met if cold is None else cold.joined(met)
                if len(cold.ranges) >= RANGES_MAX:
                    break
        if cold is not None:
            raise cold
        return results


def _scan_bytes(tries: int, tries_max: int) -> int | None:
    """Return how much a search has brought in where it stops; None: it may wait."""
    if tries_max == 0 or tries >= TIME_SEARCH_TRIES_MAX:
        return None
    return min(SCAN_BYTES << tries, SCAN_BYTES_MAX)


def list_offset(
    partition: Partition,
    params: ListOffsetsParams,
    request: ListOffsetsPartition,
    scan_bytes: int | None = None,
) -> ListOffsetsResult:
    """Find the offset of a timestamp (or of one of the negative constants) in one partition.

    Consumers hear of nothing at or beyond the offset they could fetch. After an election the high watermark
    may lag behind where the new leader began; what a consumer would then take for the end is not yet known
    (KIP-207).

    Args:
        scan_bytes: see `Log.offset_for_timestamp`.

    Raises:
        ColdReadError: it may not wait for the disk, and would.
        ApiError: offline, fenced, not the leader, or OFFSET_NOT_AVAILABLE.
    """
    error = partition.access_error(
        request.current_leader_epoch, only_leader=params.replica_id != DEBUGGING_REPLICA_ID
    )
    if error is not ErrorCode.NONE:
        raise ApiError(error)
    fetchable = _last_fetchable_offset(partition, params)
    if request.timestamp == LATEST_TIMESTAMP:
        _check_high_watermark_is_settled(partition, params)
        return ListOffsetsResult(offset=fetchable, leader_epoch=partition.leader_epoch)
    found = partition.log.offset_for_timestamp(request.timestamp, scan_bytes)
    if found is None:
        return ListOffsetsResult()
    if request.timestamp not in _EARLIEST and found.offset >= fetchable:
        _check_high_watermark_is_settled(partition, params)
        return ListOffsetsResult()
    return ListOffsetsResult(timestamp=found.timestamp, offset=found.offset, leader_epoch=found.leader_epoch)


def end_offset_for_leader_epoch(
    partition: Partition, request: LeaderEpochPartition, *, only_leader: bool = True
) -> EpochEndOffset:
    """Tell where an epoch ends in the log (KIP-101, KIP-279)."""
    error = partition.access_error(request.current_leader_epoch, only_leader)
    if error is not ErrorCode.NONE:
        return EpochEndOffset(error_code=error)
    log = partition.log
    epoch, end_offset = log.leader_epochs.end_offset_for(request.leader_epoch, log.log_end_offset)
    return EpochEndOffset(leader_epoch=epoch, end_offset=end_offset)


def _last_fetchable_offset(partition: Partition, params: ListOffsetsParams) -> int:
    if params.replica_id != CONSUMER_REPLICA_ID:
        return partition.log.log_end_offset
    if params.read_committed:
        return partition.last_stable_offset_metadata().message_offset
    return partition.high_watermark


def _check_high_watermark_is_settled(partition: Partition, params: ListOffsetsParams) -> None:
    if (
        params.replica_id == CONSUMER_REPLICA_ID
        and partition.is_leader
        and partition.leader_epoch_start_offset > partition.high_watermark
    ):
        raise ApiError(
            ErrorCode.OFFSET_NOT_AVAILABLE
            if params.version >= _NOT_AVAILABLE_SINCE_VERSION
            else ErrorCode.LEADER_NOT_AVAILABLE,
            f"the high watermark {partition.high_watermark} of {partition} lies before the start "
            f"{partition.leader_epoch_start_offset} of leader epoch {partition.leader_epoch}",
        )
