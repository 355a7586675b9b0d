"""FindCoordinator (key 10), v0-6.

Tells which broker coordinates a group or a transactional id.

Behaviour
- This broker coordinates nothing yet and says so: COORDINATOR_NOT_AVAILABLE (15) with words. Clients that
  consume assigned partitions carry on and ask again now and then.
- An unknown key type is INVALID_REQUEST.
Versions
- 1 key types; 4 several keys at once (KIP-699); 6 share groups (KIP-932)
"""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages

_FIRST_WITH_BATCH = 4
_KINDS = {0: "consumer groups", 1: "transactions", 2: "share groups"}
_FIRST_WITH_SHARE_GROUPS = 6


def handle(
    context: RequestContext, request: messages.FindCoordinatorRequest
) -> messages.FindCoordinatorResponse:
    """Answer every key with what is missing."""
    kind = _KINDS.get(request.key_type)
    if kind is None or (request.key_type == 2 and context.api_version < _FIRST_WITH_SHARE_GROUPS):
        raise ApiError(ErrorCode.INVALID_REQUEST, f"unknown coordinator key type {request.key_type}")
    raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"this broker does not coordinate {kind} yet")


def error_response(
    request: messages.FindCoordinatorRequest, error: ApiError, version: int
) -> messages.FindCoordinatorResponse:
    """The same error for every key, in the shape that the request's version has for its keys."""
    if version >= _FIRST_WITH_BATCH:
        return messages.FindCoordinatorResponse(
            coordinators=[
                messages.FindCoordinatorResponseCoordinator(
                    key=key, node_id=-1, port=-1, error_code=error.code, error_message=error.message
                )
                for key in request.coordinator_keys
            ]
        )
    return messages.FindCoordinatorResponse(
        error_code=error.code, error_message=error.message, node_id=-1, port=-1
    )
