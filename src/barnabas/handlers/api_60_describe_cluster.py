"""DescribeCluster (key 60), v0-2.

Tells the cluster's id and its brokers (KIP-700).

Behaviour
- Only brokers can be described through a broker's listener: asked for controllers (v1) it answers
  MISMATCHED_ENDPOINT_TYPE, for anything else UNSUPPORTED_ENDPOINT_TYPE (KIP-919).
Versions
- 1 endpoint type (KIP-919); 2 fenced brokers (KIP-1073)
"""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.handlers.brokers import known_brokers
from barnabas.handlers.request import RequestContext
from barnabas.handlers.topics import CLUSTER_OPERATIONS, OPERATIONS_NOT_ASKED
from barnabas.protocol import messages

_BROKERS = 1
_CONTROLLERS = 2


def handle(
    context: RequestContext, request: messages.DescribeClusterRequest
) -> messages.DescribeClusterResponse:
    """Describe the cluster as seen through this listener."""
    if request.endpoint_type == _CONTROLLERS:
        raise ApiError(
            ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            "The request was sent to an endpoint of type BROKER, "
            "but we wanted an endpoint of type CONTROLLER",
        )
    if request.endpoint_type != _BROKERS:
        raise ApiError(
            ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {request.endpoint_type}"
        )
    services = context.services
    return messages.DescribeClusterResponse(
        cluster_id=services.cluster_id,
        controller_id=services.node_id,
        brokers=[
            messages.DescribeClusterResponseDescribeClusterBroker(
                broker_id=broker.node_id,
                host=broker.host,
                port=broker.port,
                rack=broker.rack,
                is_fenced=broker.is_fenced,
            )
            for broker in known_brokers(context)
            if request.include_fenced_brokers or not broker.is_fenced
        ],
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else OPERATIONS_NOT_ASKED
        ),
    )


def error_response(
    request: messages.DescribeClusterRequest, error: ApiError, version: int
) -> messages.DescribeClusterResponse:
    """The answer to a request that failed."""
    return messages.DescribeClusterResponse(error_code=error.code, error_message=error.message)
