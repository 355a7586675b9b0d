"""JoinGroup (key 11), v0-9.

Makes a client a member of a group and has it wait until the group's next generation begins.

Behaviour
- Answered when all members have joined, or the rebalance timeout is over. The leader is told of all members.
- A newcomer without an id gets one and MEMBER_ID_REQUIRED (79), and comes back with it.
- Members of a consumer group (KIP-848) that is being upgraded or downgraded come this way, too.
Versions
- 1 rebalance timeout (before: the session's); 4 member id required (KIP-394); 5 static members (KIP-345);
  7 protocol type, no name instead of an empty one; 8 reason (KIP-800); 9 skip assignment (KIP-814)
"""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.coordinator.groups import member_requests
from barnabas.handlers.group_requests import group_client
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages

_FIRST_WITHOUT_EMPTY_NAMES = 7


def handle(context: RequestContext, request: messages.JoinGroupRequest) -> messages.JoinGroupResponse | None:
    """Join, and answer when the group's members are known."""
    version = context.api_version
    if not request.group_id:
        refused = messages.JoinGroupResponse(
            error_code=ErrorCode.INVALID_GROUP_ID, member_id=request.member_id
        )
        return _named(refused, version)
    client = group_client(context)

    def respond(response: messages.JoinGroupResponse) -> None:
        context.respond(_named(response, version))

    context.services.groups.write(
        request.group_id,
        lambda shard, now_ms: member_requests.join(shard, client, request, version, now_ms, respond),
        respond,
        lambda error: context.respond(error_response(request, error, version)),
    )
    return None


def error_response(
    request: messages.JoinGroupRequest, error: ApiError, version: int
) -> messages.JoinGroupResponse:
    """The answer to a request that failed."""
    return _named(messages.JoinGroupResponse(error_code=error.code), version)


def _named(response: messages.JoinGroupResponse, version: int) -> messages.JoinGroupResponse:
    """No protocol is an empty name in old versions, and null in others."""
    response.protocol_name = response.protocol_name or ("" if version < _FIRST_WITHOUT_EMPTY_NAMES else None)
    return response
