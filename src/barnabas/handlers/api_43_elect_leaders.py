"""ElectLeaders (key 43), v0-2.

Makes preferred or any replicas lead (KIP-183, KIP-460).

Behaviour
- With one broker nothing is ever to elect: ELECTION_NOT_NEEDED for partitions that exist.
- Asked for all partitions (null), only those that changed are told: none, in a list of every topic.
- An unknown kind of election is INVALID_REQUEST, for the request and for each partition.
Versions
- 1 kinds of election; 0 knows preferred ones only
"""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.handlers.request import RequestContext
from barnabas.metadata.elections import ElectionResult
from barnabas.protocol import messages

_KINDS = (0, 1)
_FIRST_WITH_KINDS = 1


def handle(context: RequestContext, request: messages.ElectLeadersRequest) -> messages.ElectLeadersResponse:
    """Ask the controller for each partition."""
    if request.election_type not in _KINDS:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Unknown election type {request.election_type}")
    topics = request.topic_partitions
    asked = None if topics is None else [(topic.topic, n) for topic in topics for n in topic.partitions]
    results = context.services.controller.elect_leaders(request.election_type, asked)
    names = [topic.topic for topic in topics] if topics is not None else list(context.services.image.topics)
    return _response(names, results)


def error_response(
    request: messages.ElectLeadersRequest, error: ApiError, version: int
) -> messages.ElectLeadersResponse:
    """Every partition failed for the same reason."""
    topics = request.topic_partitions or []
    failed = [
        ElectionResult(topic=topic.topic, partition=number, error=error.code, message=error.message)
        for topic in topics
        for number in topic.partitions
    ]
    response = _response([topic.topic for topic in topics], failed)
    if version >= _FIRST_WITH_KINDS:  # the first that has an error for the whole request
        response.error_code = error.code
    return response


def _response(names: list[str], results: list[ElectionResult]) -> messages.ElectLeadersResponse:
    topics = {name: messages.ElectLeadersResponseReplicaElectionResult(topic=name) for name in names}
    for result in results:
        topics[result.topic].partition_result.append(
            messages.ElectLeadersResponsePartitionResult(
                partition_id=result.partition, error_code=result.error, error_message=result.message
            )
        )
    return messages.ElectLeadersResponse(replica_election_results=list(topics.values()))
