"""ListGroups (key 16), v0-5.

Tells the groups this broker coordinates.

Behaviour
- This broker coordinates none yet, so there are none: tools and web consoles that list groups beside topics
  show an empty list.
Versions
- 4 states (KIP-518); 5 types (KIP-848)
"""

from __future__ import annotations

from barnabas.base.errors import ApiError
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages


def handle(context: RequestContext, request: messages.ListGroupsRequest) -> messages.ListGroupsResponse:
    """Return no groups, whatever states and types are asked for."""
    return messages.ListGroupsResponse()


def error_response(
    request: messages.ListGroupsRequest, error: ApiError, version: int
) -> messages.ListGroupsResponse:
    """The answer to a request that failed."""
    return messages.ListGroupsResponse(error_code=error.code)
