"""Heartbeat (key 12), v0-4.

Tells that a member lives, and tells the member when to join again.

Behaviour
- REBALANCE_IN_PROGRESS (27): join again. ILLEGAL_GENERATION (22), UNKNOWN_MEMBER_ID (25): begin anew.
- While groups are loaded from the log all is well: members keep their generation and get whole sessions then.
Versions
- 3 static members (KIP-345)
"""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.coordinator.groups import member_requests
from barnabas.handlers.group_requests import group_client
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages


def handle(context: RequestContext, request: messages.HeartbeatRequest) -> None:
    """Restart the member's session."""
    if not request.group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID)
    version = context.api_version
    context.services.groups.write(
        request.group_id,
        lambda shard, now_ms: member_requests.heartbeat(
            shard, group_client(context), request, version, now_ms
        ),
        context.respond,
        lambda error: context.respond(error_response(request, error, version)),
    )


def error_response(
    request: messages.HeartbeatRequest, error: ApiError, version: int
) -> messages.HeartbeatResponse:
    """The answer to a request that failed."""
    is_loading = error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return messages.HeartbeatResponse(error_code=ErrorCode.NONE if is_loading else error.code)
