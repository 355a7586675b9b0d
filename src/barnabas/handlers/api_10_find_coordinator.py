"""FindCoordinator (key 10), v0-6.

Tells which broker coordinates a group or a transactional id.

Behaviour
- The first one for a group makes `__consumer_offsets`, the first one for a transactional id
  `__transaction_state`, whether or not topics are created automatically. It is answered at once, where Apache
  Kafka says COORDINATOR_NOT_AVAILABLE and has the client come back.
- Each key is answered on its own. A group id may be empty.
- Share groups are not coordinated yet: COORDINATOR_NOT_AVAILABLE (15) with words.
- An unknown key type is INVALID_REQUEST.
Versions
- 1 key types; 4 several keys at once (KIP-699); 6 share groups (KIP-932)
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.handlers.brokers import BrokerEndpoint, broker_endpoint
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages

_FIRST_WITH_BATCH = 4
_FIRST_WITH_SHARE_GROUPS = 6
_GROUP = 0
_TRANSACTION = 1
_SHARE = 2


def handle(
    context: RequestContext, request: messages.FindCoordinatorRequest
) -> messages.FindCoordinatorResponse:
    """Answer every key."""
    services = context.services
    if request.key_type == _GROUP:
        services.groups.ensure_topic()
        return _answer(context, request, services.groups.leader_of)
    if request.key_type == _TRANSACTION:
        services.transactions.ensure_topic()
        return _answer(context, request, services.transactions.leader_of)
    if request.key_type == _SHARE and context.api_version >= _FIRST_WITH_SHARE_GROUPS:
        raise ApiError(
            ErrorCode.COORDINATOR_NOT_AVAILABLE, "this broker does not coordinate share groups yet"
        )
    raise ApiError(ErrorCode.INVALID_REQUEST, f"unknown coordinator key type {request.key_type}")


def error_response(
    request: messages.FindCoordinatorRequest, error: ApiError, version: int
) -> messages.FindCoordinatorResponse:
    """The same error for every key, in the shape that the request's version has for its keys."""
    if version >= _FIRST_WITH_BATCH:
        return messages.FindCoordinatorResponse(
            coordinators=[_failed(key, error) for key in request.coordinator_keys]
        )
    return messages.FindCoordinatorResponse(
        error_code=error.code, error_message=error.message, node_id=-1, port=-1
    )


def _answer(
    context: RequestContext, request: messages.FindCoordinatorRequest, leader_of: Callable[[str], int]
) -> messages.FindCoordinatorResponse:
    if context.api_version < _FIRST_WITH_BATCH:
        found = _coordinator(context, leader_of(request.key))
        return messages.FindCoordinatorResponse(
            error_message="NONE", node_id=found.node_id, host=found.host, port=found.port
        )
    coordinators = []
    for key in request.coordinator_keys:
        try:
            found = _coordinator(context, leader_of(key))
        except ApiError as error:
            coordinators.append(_failed(key, error))
            continue
        coordinators.append(
            messages.FindCoordinatorResponseCoordinator(
                key=key, node_id=found.node_id, host=found.host, port=found.port
            )
        )
    return messages.FindCoordinatorResponse(coordinators=coordinators)


def _coordinator(context: RequestContext, node_id: int) -> BrokerEndpoint:
    found = broker_endpoint(context, node_id)
    if found is None:
        raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "")
    return found


def _failed(key: str, error: ApiError) -> messages.FindCoordinatorResponseCoordinator:
    return messages.FindCoordinatorResponseCoordinator(
        key=key, node_id=-1, port=-1, error_code=error.code, error_message=error.message
    )
