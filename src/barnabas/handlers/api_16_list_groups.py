"""ListGroups (key 16), v0-5.

Tells the groups this broker coordinates.

Behaviour
- States and types to filter by are taken in any case; one that nobody knows matches no group.
- While groups are still loaded the list would lack some: it is COORDINATOR_LOAD_IN_PROGRESS then, which
  clients try again.
Versions
- 4 states (KIP-518); 5 types (KIP-848)
"""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages


def handle(context: RequestContext, request: messages.ListGroupsRequest) -> messages.ListGroupsResponse:
    """Return the groups of all shards.

    Raises:
        ApiError: COORDINATOR_LOAD_IN_PROGRESS.
    """
    groups = context.services.made_groups
    if groups is None:
        # Nobody has used a group yet: there is no reason to import what coordinates them.
        return messages.ListGroupsResponse()
    from barnabas.coordinator.groups.admin import list_groups  # noqa: PLC0415

    if groups.is_loading:
        raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    states = {state.lower() for state in request.states_filter}
    types = {name.lower() for name in request.types_filter}
    listed = [group for shard in groups.active_shards() for group in list_groups(shard, states, types)]
    return messages.ListGroupsResponse(groups=listed)


def error_response(
    request: messages.ListGroupsRequest, error: ApiError, version: int
) -> messages.ListGroupsResponse:
    """The answer to a request that failed."""
    return messages.ListGroupsResponse(error_code=error.code)
