"""AlterPartitionReassignments (key 45), v0-1.

Says on which brokers a partition's replicas shall lie (KIP-455).

Behaviour
- Each partition has its own result. With one broker, the only right assignment is that broker.
- Cancelling (null replicas) what is not going on is NO_REASSIGNMENT_IN_PROGRESS.
Versions
- 1 may refuse another number of replicas (KIP-860)
"""

from __future__ import annotations

from barnabas.base.errors import ApiError
from barnabas.handlers.request import RequestContext
from barnabas.metadata.reassignments import Reassignment, ReassignmentResult
from barnabas.protocol import messages


def handle(
    context: RequestContext, request: messages.AlterPartitionReassignmentsRequest
) -> messages.AlterPartitionReassignmentsResponse:
    """Hand all partitions to the controller."""
    wanted = [
        Reassignment(
            topic=topic.name,
            partition=part.partition_index,
            replicas=None if part.replicas is None else tuple(part.replicas),
        )
        for topic in request.topics
        for part in topic.partitions
    ]
    results = context.services.controller.reassign_partitions(
        wanted, may_change_factor=request.allow_replication_factor_change
    )
    response = _response(request, results)
    response.error_message = None if results else ""
    return response


def error_response(
    request: messages.AlterPartitionReassignmentsRequest, error: ApiError, version: int
) -> messages.AlterPartitionReassignmentsResponse:
    """The answer to a request that failed as a whole."""
    response = _response(request, [])
    response.error_code, response.error_message = error.code, error.message
    return response


def _response(
    request: messages.AlterPartitionReassignmentsRequest, results: list[ReassignmentResult]
) -> messages.AlterPartitionReassignmentsResponse:
    topics: dict[str, messages.AlterPartitionReassignmentsResponseReassignableTopicResponse] = {}
    for result in results:
        topic = topics.get(result.topic)
        if topic is None:
            topic = messages.AlterPartitionReassignmentsResponseReassignableTopicResponse(name=result.topic)
            topics[result.topic] = topic
        topic.partitions.append(
            messages.AlterPartitionReassignmentsResponseReassignablePartitionResponse(
                partition_index=result.partition, error_code=result.error, error_message=result.message
            )
        )
    return messages.AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        responses=list(topics.values()),
    )
