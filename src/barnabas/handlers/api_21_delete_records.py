"""DeleteRecords (key 21), v0-2.

Moves a partition's log start forward; what lies before it can no longer be read.

Behaviour
- Offset -1 stands for the high watermark. The answer is the new log start, once every replica follows it.
- Unknown topics and partitions answer UNKNOWN_TOPIC_OR_PARTITION with low watermark -1.
"""

from __future__ import annotations

from barnabas.base.errors import ApiError
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages
from barnabas.replica.offset_requests import DeleteRecordsPartition, DeleteRecordsResult


def handle(context: RequestContext, request: messages.DeleteRecordsRequest) -> None:
    """Start the deletion; it answers when the log starts have moved."""
    wanted = [
        DeleteRecordsPartition(topic=topic.name, partition=part.partition_index, offset=part.offset)
        for topic in request.topics
        for part in topic.partitions
    ]
    context.services.replicas.delete_records(
        request.timeout_ms,
        wanted,
        lambda results: context.respond(_response(request, results)),
        context.connection,
    )


def error_response(
    request: messages.DeleteRecordsRequest, error: ApiError, version: int
) -> messages.DeleteRecordsResponse:
    """Every partition failed for the same reason."""
    count = sum(len(topic.partitions) for topic in request.topics)
    return _response(request, [DeleteRecordsResult(error.code)] * count)


def _response(
    request: messages.DeleteRecordsRequest, results: list[DeleteRecordsResult]
) -> messages.DeleteRecordsResponse:
    following = iter(results)
    response = messages.DeleteRecordsResponse()
    for topic in request.topics:
        answers = []
        for part in topic.partitions:
            result = next(following)
            answers.append(
                messages.DeleteRecordsResponseDeleteRecordsPartitionResult(
                    partition_index=part.partition_index,
                    low_watermark=result.low_watermark,
                    error_code=result.error_code,
                )
            )
        response.topics.append(
            messages.DeleteRecordsResponseDeleteRecordsTopicResult(name=topic.name, partitions=answers)
        )
    return response
