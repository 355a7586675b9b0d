"""OffsetForLeaderEpoch (key 23), v2-4.

Tells where a leader epoch ends, so that a client notices truncated history (KIP-320).

Behaviour
- The answer names the largest epoch at or below the one asked for, and the offset where it ends; -1 and
  -1 when there is none.
"""

from __future__ import annotations

from barnabas.base.errors import ApiError
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages
from barnabas.replica.offset_requests import EpochEndOffset, LeaderEpochPartition


def handle(
    context: RequestContext, request: messages.OffsetForLeaderEpochRequest
) -> messages.OffsetForLeaderEpochResponse:
    """Ask the replica layer; answer in request order."""
    wanted = [
        LeaderEpochPartition(
            topic=topic.topic,
            partition=part.partition,
            leader_epoch=part.leader_epoch,
            current_leader_epoch=part.current_leader_epoch,
        )
        for topic in request.topics
        for part in topic.partitions
    ]
    return _response(request, context.services.replicas.offset_for_leader_epoch(wanted))


def error_response(
    request: messages.OffsetForLeaderEpochRequest, error: ApiError, version: int
) -> messages.OffsetForLeaderEpochResponse:
    """Every partition failed for the same reason."""
    count = sum(len(topic.partitions) for topic in request.topics)
    return _response(request, [EpochEndOffset(error_code=error.code)] * count)


def _response(
    request: messages.OffsetForLeaderEpochRequest, results: list[EpochEndOffset]
) -> messages.OffsetForLeaderEpochResponse:
    following = iter(results)
    response = messages.OffsetForLeaderEpochResponse()
    for topic in request.topics:
        answers = []
        for part in topic.partitions:
            result = next(following)
            answers.append(
                messages.OffsetForLeaderEpochResponseEpochEndOffset(
                    error_code=result.error_code,
                    partition=part.partition,
                    leader_epoch=result.leader_epoch,
                    end_offset=result.end_offset,
                )
            )
        response.topics.append(
            messages.OffsetForLeaderEpochResponseOffsetForLeaderTopicResult(
                topic=topic.topic, partitions=answers
            )
        )
    return response
