"""SyncGroup (key 14), v0-5.

Hands in the leader's assignment, and gives each member its own.

Behaviour
- Members wait until the leader's assignment is in the log, then all are answered; who comes later is at once.
- REBALANCE_IN_PROGRESS (27): a new rebalance began, join again.
Versions
- 3 static members (KIP-345); 5 protocol type and name, which must be those of the generation
"""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.coordinator.groups import member_requests
from barnabas.handlers.group_requests import group_client
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages

_FIRST_WITH_PROTOCOL = 5


def handle(context: RequestContext, request: messages.SyncGroupRequest) -> None:
    """Answer when the assignment is there."""
    version = context.api_version
    if version >= _FIRST_WITH_PROTOCOL and (request.protocol_type is None or request.protocol_name is None):
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if not request.group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID)
    client = group_client(context)
    context.services.groups.write(
        request.group_id,
        lambda shard, now_ms: member_requests.sync(shard, client, request, version, now_ms, context.respond),
        context.respond,
        lambda error: context.respond(error_response(request, error, version)),
    )


def error_response(
    request: messages.SyncGroupRequest, error: ApiError, version: int
) -> messages.SyncGroupResponse:
    """The answer to a request that failed."""
    return messages.SyncGroupResponse(error_code=error.code)
