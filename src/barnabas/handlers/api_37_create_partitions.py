"""CreatePartitions (key 37), v0-3.

Grows topics; new partitions are durable and led when they are answered (KIP-195).

Behaviour
- A topic named twice fails with INVALID_REQUEST, the others go on.
- validate_only answers what would happen.
- The answer never waits: one node needs no election.
"""

from __future__ import annotations

from collections import Counter

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.handlers.request import RequestContext
from barnabas.metadata.topic_changes import PartitionsCreation
from barnabas.protocol import messages


def handle(
    context: RequestContext, request: messages.CreatePartitionsRequest
) -> messages.CreatePartitionsResponse:
    """Hand what is asked once to the controller."""
    named = Counter(topic.name for topic in request.topics)
    growths = [_growth(topic) for topic in request.topics if named[topic.name] == 1]
    results = context.services.controller.create_partitions(growths, validate_only=request.validate_only)
    response = messages.CreatePartitionsResponse(
        results=[_result(result.name, ApiError(result.error, result.message)) for result in results]
    )
    twice = ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    response.results += [_result(name, twice) for name, count in named.items() if count > 1]
    return response


def error_response(
    request: messages.CreatePartitionsRequest, error: ApiError, version: int
) -> messages.CreatePartitionsResponse:
    """Every topic failed for the same reason."""
    return messages.CreatePartitionsResponse(results=[_result(topic.name, error) for topic in request.topics])


def _growth(topic: messages.CreatePartitionsRequestCreatePartitionsTopic) -> PartitionsCreation:
    assignments = topic.assignments
    return PartitionsCreation(
        name=topic.name,
        count=topic.count,
        assignments=None if assignments is None else [tuple(one.broker_ids) for one in assignments],
    )


def _result(name: str, error: ApiError) -> messages.CreatePartitionsResponseCreatePartitionsTopicResult:
    return messages.CreatePartitionsResponseCreatePartitionsTopicResult(
        name=name, error_code=error.code, error_message=error.message
    )
