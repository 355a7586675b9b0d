"""DescribeGroups (key 15), v0-6.

Tells state and members of classic groups.

Behaviour
- A group that is not there is a dead one; from version 6 on that is the error GROUP_ID_NOT_FOUND. A consumer
  group (KIP-848) is not there for this API.
- Groups whose partition is still loaded are answered COORDINATOR_LOAD_IN_PROGRESS, the others meanwhile.
Versions
- 3 authorized operations (KIP-430); 4 instance ids (KIP-345); 6 errors with a message (KIP-1043)
"""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Final
from barnabas.coordinator.groups.admin import dead_group, describe_classic_group
from barnabas.handlers.gathered_groups import GROUP_OPERATIONS, ask_once
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages

_FIRST_WITH_NOT_FOUND: Final = 6

_Group = messages.DescribeGroupsResponseDescribedGroup


def handle(context: RequestContext, request: messages.DescribeGroupsRequest) -> None:
    """Describe each group, from its own shard."""
    groups = context.services.groups

    def done(described: list[_Group]) -> None:
        if request.include_authorized_operations:
            for group in described:
                if group.error_code == ErrorCode.NONE:
                    group.authorized_operations = GROUP_OPERATIONS
        context.respond(messages.DescribeGroupsResponse(groups=described))

    ask_once(
        request.groups,
        lambda group_id, answer, failed: groups.read(
            group_id, lambda shard, _: describe_classic_group(shard, group_id), answer, failed
        ),
        lambda group_id, error: _failed(group_id, error, context.api_version),
        done,
        lambda group: len(messages.DescribeGroupsResponse(groups=[group]).encode(context.api_version)),
    )


def error_response(
    request: messages.DescribeGroupsRequest, error: ApiError, version: int
) -> messages.DescribeGroupsResponse:
    """Every group failed for the same reason."""
    return messages.DescribeGroupsResponse(
        groups=[_failed(group_id, error, version) for group_id in request.groups]
    )


def _failed(group_id: str, error: ApiError, version: int) -> _Group:
    if error.code != ErrorCode.GROUP_ID_NOT_FOUND:
        return _Group(group_id=group_id, error_code=error.code)
    return dead_group(group_id, error if version >= _FIRST_WITH_NOT_FOUND else None)
