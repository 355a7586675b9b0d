"""What the handlers of group requests share: who asks, and the way to the group's shard and back."""

from __future__ import annotations

from collections.abc import Callable

from barnabas.base.errors import ApiError
from barnabas.base.hints import TypeVar
from barnabas.coordinator.groups.group import GroupClient
from barnabas.coordinator.groups.shard import GroupShard
from barnabas.coordinator.runtime.outcome import Outcome
from barnabas.handlers.request import RequestContext
from barnabas.protocol.messages import Message

Response = TypeVar("Response", bound=Message)

_IPV6_GROUPS = 8


def group_client(context: RequestContext) -> GroupClient:
    """Return who sent a request, as groups remember it."""
    return GroupClient(client_id=context.client_id, host=f"/{java_host(context.connection.peer_host)}")


def java_host(host: str) -> str:
    """Return an address as Java writes it: all eight groups of IPv6, IPv4 that came by way of IPv6 as such.

    Groups keep their members' hosts in the log, and tools show them.
    """
    if ":" not in host:
        return host
    if "." in host:
        return host.rpartition(":")[2]
    address, percent, scope = host.partition("%")
    before, gap, after = address.partition("::")
    head, tail = before.split(":"), after.split(":")
    if gap:
        head, tail = [one for one in head if one], [one for one in tail if one]
        groups = [*head, *["0"] * (_IPV6_GROUPS - len(head) - len(tail)), *tail]
    else:
        groups = head
    return ":".join(groups) + percent + scope


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
