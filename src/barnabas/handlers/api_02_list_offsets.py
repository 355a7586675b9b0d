"""ListOffsets (key 2), v1-11.

Finds offsets by timestamp, and the first and last offset.

Behaviour
- Special timestamps: -1 latest, -2 earliest, -3 largest timestamp (v7, KIP-734), -4 earliest local
  (v8, KIP-405), -5 latest tiered (v9, KIP-1005), -6 earliest pending upload (v11, KIP-1023); below the
  version that knows one, UNSUPPORTED_VERSION.
- A partition named twice is INVALID_REQUEST.
- read_committed consumers (v2) see the last stable offset as the latest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages
from barnabas.replica.offset_requests import ListOffsetsParams, ListOffsetsPartition, ListOffsetsResult
from barnabas.storage.offset_lookup import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIERED_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
)

_FIRST_VERSION = {
    LATEST_TIMESTAMP: 1,
    EARLIEST_TIMESTAMP: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL_TIMESTAMP: 8,
    LATEST_TIERED_TIMESTAMP: 9,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP: 11,
}
_READ_COMMITTED = 1
_ISOLATION_LEVELS = (0, _READ_COMMITTED)
_FIRST_WITH_LEADER_EPOCH = 4


def handle(context: RequestContext, request: messages.ListOffsetsRequest) -> None:
    """Ask the replica layer for what is asked rightly; answer in request order.

    A search by time that meets what is not in memory is answered later (F44).
    """
    if request.isolation_level not in _ISOLATION_LEVELS:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"unknown isolation level {request.isolation_level}")
    version = context.api_version
    named = Counter(
        (topic.name, part.partition_index) for topic in request.topics for part in topic.partitions
    )
    wanted = [
        ListOffsetsPartition(
            topic=topic.name,
            partition=part.partition_index,
            timestamp=part.timestamp,
            current_leader_epoch=part.current_leader_epoch,
        )
        for topic in request.topics
        for part in topic.partitions
    ]
    errors = [_request_error(asked, named, version) for asked in wanted]
    params = ListOffsetsParams(
        replica_id=request.replica_id,
        read_committed=request.isolation_level == _READ_COMMITTED,
        version=version,
    )

    def respond(found: list[ListOffsetsResult]) -> None:
        following = iter(found)
        results = [
            next(following) if error is None else ListOffsetsResult(error_code=error) for error in errors
        ]
        context.respond(_response(request, iter(results), version))

    context.services.replicas.list_offsets(
        params,
        [asked for asked, error in zip(wanted, errors, strict=True) if error is None],
        respond,
        context.connection,
    )


def error_response(
    request: messages.ListOffsetsRequest, error: ApiError, version: int
) -> messages.ListOffsetsResponse:
    """Every partition failed for the same reason."""
    count = sum(len(topic.partitions) for topic in request.topics)
    return _response(request, iter([ListOffsetsResult(error_code=error.code)] * count), version)


def _request_error(
    asked: ListOffsetsPartition, named: Counter[tuple[str, int]], version: int
) -> ErrorCode | None:
    if named[asked.topic, asked.partition] > 1:
        return ErrorCode.INVALID_REQUEST
    if asked.timestamp < 0 and version < _FIRST_VERSION.get(asked.timestamp, 1 << 15):
        return ErrorCode.UNSUPPORTED_VERSION
    return None


def _response(
    request: messages.ListOffsetsRequest, results: Iterator[ListOffsetsResult], version: int
) -> messages.ListOffsetsResponse:
    return messages.ListOffsetsResponse(
        topics=[
            messages.ListOffsetsResponseListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    _partition_response(part.partition_index, next(results), version)
                    for part in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _partition_response(
    index: int, result: ListOffsetsResult, version: int
) -> messages.ListOffsetsResponseListOffsetsPartitionResponse:
    return messages.ListOffsetsResponseListOffsetsPartitionResponse(
        partition_index=index,
        error_code=result.error_code,
        timestamp=result.timestamp,
        offset=result.offset,
        leader_epoch=result.leader_epoch if version >= _FIRST_WITH_LEADER_EPOCH else -1,
    )
