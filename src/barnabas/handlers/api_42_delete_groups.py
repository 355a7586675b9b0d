"""DeleteGroups (key 42), v0-3.

Forgets groups without members, and what they committed.

Behaviour
- A group is deleted by records, tombstones of its offsets and of itself; it is answered when they are
  committed.
- A group with members stays: NON_EMPTY_GROUP. One that is not there is GROUP_ID_NOT_FOUND.
Versions
- 3 error messages
"""

from __future__ import annotations

from barnabas.base.errors import ApiError
from barnabas.coordinator.groups.admin import delete_group
from barnabas.handlers.gathered_groups import ask_all
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages

_Result = messages.DeleteGroupsResponseDeletableGroupResult


def handle(context: RequestContext, request: messages.DeleteGroupsRequest) -> None:
    """Delete each group, in its own shard; one that is named twice is deleted once and answered once."""
    groups = context.services.groups
    ask_all(
        list(dict.fromkeys(request.groups_names)),
        lambda group_id, answer, failed: groups.write(
            group_id, lambda shard, _: delete_group(shard, group_id), answer, failed
        ),
        lambda group_id, error: _Result(group_id=group_id, error_code=error.code),
        lambda results: context.respond(messages.DeleteGroupsResponse(results=results)),
    )


def error_response(
    request: messages.DeleteGroupsRequest, error: ApiError, version: int
) -> messages.DeleteGroupsResponse:
    """Every group failed for the same reason."""
    return messages.DeleteGroupsResponse(
        results=[_Result(group_id=group_id, error_code=error.code) for group_id in request.groups_names]
    )
