"""DescribeQuorum (key 55), v0-2.

Tells who leads and who votes in the metadata quorum (KIP-595).

Behaviour
- One node votes, leads and has everything; there are no observers.
- Only `__cluster_metadata-0` alone may be asked for; anything else is UNKNOWN_TOPIC_OR_PARTITION.
Versions
- 1 times of the last fetch; 2 directory ids and the nodes' endpoints (KIP-853)
"""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.uuids import NULL_UUID
from barnabas.handlers.request import RequestContext
from barnabas.metadata.image import Endpoint
from barnabas.metadata.metadata_log import TOPIC
from barnabas.protocol import messages

_Partition = messages.DescribeQuorumResponsePartitionData


def handle(
    context: RequestContext, request: messages.DescribeQuorumRequest
) -> messages.DescribeQuorumResponse:
    """Describe the quorum of one."""
    if not request.topics:
        return messages.DescribeQuorumResponse()
    asked = [
        (topic.topic_name, part.partition_index) for topic in request.topics for part in topic.partitions
    ]
    if asked != [(TOPIC, 0)]:
        why = "This server does not host this topic-partition."
        return _failed(request, ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, why))
    services = context.services
    log = services.controller.log
    directory_id, endpoints = _voter(context)
    now_ms = services.clock.wall_ms()
    voter = messages.DescribeQuorumResponseReplicaState(
        replica_id=services.node_id,
        log_end_offset=log.end_offset,
        last_fetch_timestamp=now_ms,
        last_caught_up_timestamp=now_ms,
    )
    response = messages.DescribeQuorumResponse(
        topics=[
            messages.DescribeQuorumResponseTopicData(
                topic_name=TOPIC,
                partitions=[
                    _Partition(
                        partition_index=0,
                        leader_id=services.node_id,
                        leader_epoch=log.epoch,
                        high_watermark=log.high_watermark,
                        current_voters=[voter],
                    )
                ],
            )
        ]
    )
    if context.api_version >= 2:
        voter.replica_directory_id = directory_id
        response.nodes = [_node(services.node_id, endpoints)]
    return response


def error_response(
    request: messages.DescribeQuorumRequest, error: ApiError, version: int
) -> messages.DescribeQuorumResponse:
    """The answer to a request that failed as a whole."""
    return messages.DescribeQuorumResponse(error_code=error.code, error_message=error.message)


def _voter(context: RequestContext) -> tuple[bytes, tuple[Endpoint, ...]]:
    """Return this node's directory id and endpoints, as the voters' record has them (KIP-853).

    A quorum of configured voters has no such record; then the controller's registration tells where it is.
    """
    services = context.services
    voters = services.controller.log.quorum.voters
    if voters is not None:
        for voter in voters.voters:
            if voter.voter_id == services.node_id:
                endpoints = tuple(
                    Endpoint(name=end.name, host=end.host, port=end.port) for end in voter.endpoints
                )
                return bytes(voter.voter_directory_id), endpoints
    registered = services.image.controllers.get(services.node_id)
    return NULL_UUID, registered.endpoints if registered is not None else ()


def _node(node_id: int, endpoints: tuple[Endpoint, ...]) -> messages.DescribeQuorumResponseNode:
    return messages.DescribeQuorumResponseNode(
        node_id=node_id,
        listeners=[
            messages.DescribeQuorumResponseListener(name=end.name, host=end.host, port=end.port)
            for end in endpoints
        ],
    )


def _failed(request: messages.DescribeQuorumRequest, error: ApiError) -> messages.DescribeQuorumResponse:
    return messages.DescribeQuorumResponse(
        topics=[
            messages.DescribeQuorumResponseTopicData(
                topic_name=topic.topic_name,
                partitions=[
                    _Partition(
                        partition_index=part.partition_index,
                        error_code=error.code,
                        error_message=error.message,
                    )
                    for part in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
