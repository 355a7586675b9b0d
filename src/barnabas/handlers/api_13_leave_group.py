"""LeaveGroup (key 13), v0-5.

Removes members from a group, which the others then share anew.

Behaviour
- Each member is answered on its own. One with an empty id is found by its group instance id, which is how
  tools remove static members.
- Where there is no such group, all members are unknown (25).
Versions
- 3 several members at once, static ones too (KIP-345); 5 reasons (KIP-800)
"""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.coordinator.groups import member_requests
from barnabas.handlers.group_requests import group_client
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages

_FIRST_WITH_BATCH = 3


def handle(context: RequestContext, request: messages.LeaveGroupRequest) -> None:
    """Let members go."""
    if not request.group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID)
    version = context.api_version
    if version < _FIRST_WITH_BATCH:
        request.members = [messages.LeaveGroupRequestMemberIdentity(member_id=request.member_id)]
    client = group_client(context)
    context.services.groups.write(
        request.group_id,
        lambda shard, now_ms: member_requests.leave(shard, client, request, version, now_ms),
        lambda response: context.respond(_in_version(response, version)),
        lambda error: context.respond(error_response(request, error, version)),
    )


def error_response(
    request: messages.LeaveGroupRequest, error: ApiError, version: int
) -> messages.LeaveGroupResponse:
    """The answer to a request that failed; for a group that is not there it is an answer for each member."""
    if error.code is ErrorCode.UNKNOWN_MEMBER_ID and version >= _FIRST_WITH_BATCH:
        return messages.LeaveGroupResponse(
            members=[
                messages.LeaveGroupResponseMemberResponse(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    error_code=error.code,
                )
                for member in request.members
            ]
        )
    return messages.LeaveGroupResponse(error_code=error.code)


def _in_version(response: messages.LeaveGroupResponse, version: int) -> messages.LeaveGroupResponse:
    """Old versions have one error for the request and its only member."""
    if version >= _FIRST_WITH_BATCH or response.error_code or not response.members:
        return response
    return messages.LeaveGroupResponse(error_code=response.members[0].error_code)
