"""Answers of one partition to ListOffsets and OffsetForLeaderEpoch.

Free functions over a Partition: they read it and change nothing.
"""

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.replica.fetch import CONSUMER_REPLICA_ID, DEBUGGING_REPLICA_ID
from barnabas.replica.offset_requests import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    EpochEndOffset,
    LeaderEpochPartition,
    ListOffsetsParams,
    ListOffsetsPartition,
    ListOffsetsResult,
)
from barnabas.replica.partition import Partition

_EARLIEST = frozenset((EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP, EARLIEST_PENDING_UPLOAD_TIMESTAMP))
_NOT_AVAILABLE_SINCE_VERSION = 5


def list_offset(
    partition: Partition, params: ListOffsetsParams, request: ListOffsetsPartition
) -> ListOffsetsResult:
    """Find the offset of a timestamp (or of one of the negative constants) in one partition.

    Consumers hear of nothing at or beyond the offset they could fetch. After an election the high watermark
    may lag behind where the new leader began; what a consumer would then take for the end is not yet known
    (KIP-207).

    Raises:
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
    found = partition.log.offset_for_timestamp(request.timestamp)
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
