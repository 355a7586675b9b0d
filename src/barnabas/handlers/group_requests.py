"""What the handlers of group requests share: who asks, and the way to the group's shard and back."""

from __future__ import annotations

from collections.abc import Callable

from barnabas.base.errors import ApiError
from barnabas.base.hints import Any, TypeVar
from barnabas.coordinator.group import GroupClient
from barnabas.coordinator.group_shard import GroupShard
from barnabas.coordinator.outcome import Outcome
from barnabas.handlers.request import RequestContext
from barnabas.protocol.messages import Message

Response = TypeVar("Response", bound=Message)


def group_client(context: RequestContext) -> GroupClient:
    """Return who sent a request, as groups remember it."""
    return GroupClient(client_id=context.client_id, host=f"/{context.connection.peer_host}")


def write(
    context: RequestContext,
    group_id: str,
    operation: Callable[[GroupShard, int], Outcome[Response]],
    error_response: Callable[[ApiError], Message],
) -> None:
    """Run an operation on a group's shard; respond when its records are committed.

    An operation that keeps a Reply (`context.respond`) returns an Outcome without response.

    Args:
        operation: given (shard, wall time in ms).
        error_response: makes the response to a request that failed as a whole.
    """
    context.services.groups.write(
        group_id, operation, context.respond, lambda error: context.respond(error_response(error))
    )


def read(
    context: RequestContext,
    group_id: str,
    operation: Callable[[GroupShard, int], Any],
    error_response: Callable[[ApiError], Message],
) -> None:
    """Run an operation that changes nothing on a group's shard, and respond with what it returns."""
    context.services.groups.read(
        group_id, operation, context.respond, lambda error: context.respond(error_response(error))
    )
