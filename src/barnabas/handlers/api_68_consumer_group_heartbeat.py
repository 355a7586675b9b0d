"""ConsumerGroupHeartbeat (key 68), v0-1.

Joins a consumer group, keeps a member in it, tells it which partitions to take and give up, and lets it leave
(KIP-848).

Behaviour
- Member epoch 0 joins, -1 leaves, -2 leaves for a while (static members); else the epoch of the last answer.
- Null fields have not changed. The assignment is in the answer when it changed, and when everything was sent.
- UNSUPPORTED_VERSION (35) where consumer groups are off: the feature group.version is 0, or
  group.coordinator.rebalance.protocols does not name them.
Versions
- 1 the member's id is the client's to make (KIP-1082), regular expressions
"""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.handlers.group_requests import group_client, write
from barnabas.handlers.request import RequestContext
from barnabas.handlers.services import Services
from barnabas.protocol import messages

_GROUP_VERSION = "group.version"


def handle(context: RequestContext, request: messages.ConsumerGroupHeartbeatRequest) -> None:
    """Do what the member's epoch says."""
    check_enabled(context.services)
    version = context.api_version
    client = group_client(context)
    write(
        context,
        request.group_id,
        lambda shard, now_ms: shard.consumers.heartbeat(client, request, version, now_ms),
        lambda error: error_response(request, error, version),
    )


def check_enabled(services: Services) -> None:
    """Let a request of the consumer protocol in.

    Raises:
        ApiError: UNSUPPORTED_VERSION.
    """
    if not services.settings.consumer_groups_enable or not services.image.features.get(_GROUP_VERSION):
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION)


def error_response(
    request: messages.ConsumerGroupHeartbeatRequest, error: ApiError, version: int
) -> messages.ConsumerGroupHeartbeatResponse:
    """The answer to a request that failed."""
    return messages.ConsumerGroupHeartbeatResponse(error_code=error.code, error_message=error.message)
