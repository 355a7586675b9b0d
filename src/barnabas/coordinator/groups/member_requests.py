"""Requests of members that speak the classic protocol, whichever kind of group they reach.

A consumer group may have such members while it is upgraded, so the same request means two things. The kind of
the group decides; an empty group of any kind is as good as none for who joins.
"""

from __future__ import annotations

from barnabas.base.errors import ErrorCode
from barnabas.base.hints import TYPE_CHECKING
from barnabas.coordinator.groups.group import GroupClient, GroupType
from barnabas.coordinator.runtime.outcome import Outcome, Reply
from barnabas.protocol import messages

if TYPE_CHECKING:
    from barnabas.coordinator.groups.shard import GroupShard


def join(  # noqa: PLR0917 - as the parts take them
    shard: GroupShard,
    client: GroupClient,
    request: messages.JoinGroupRequest,
    api_version: int,
    now_ms: int,
    reply: Reply[messages.JoinGroupResponse],
) -> Outcome[messages.JoinGroupResponse]:
    """Answer a JoinGroup, or keep `reply`."""
    reaches_consumers = (
        _is_of_consumers(shard, request.group_id) and not shard.groups[request.group_id].is_empty
    )
    if reaches_consumers and shard.classic.check_join(request) is ErrorCode.NONE:
        return shard.consumers.join(client, request, api_version, now_ms, reply)
    return shard.classic.join(client, request, api_version, now_ms, reply)


def sync(  # noqa: PLR0917 - as the parts take them
    shard: GroupShard,
    client: GroupClient,
    request: messages.SyncGroupRequest,
    api_version: int,
    now_ms: int,
    reply: Reply[messages.SyncGroupResponse],
) -> Outcome[messages.SyncGroupResponse]:
    """Answer a SyncGroup, or keep `reply`."""
    if _is_of_consumers(shard, request.group_id) and not shard.groups[request.group_id].is_empty:
        return shard.consumers.sync(client, request, api_version, now_ms, reply)
    return shard.classic.sync(client, request, api_version, now_ms, reply)


def heartbeat(
    shard: GroupShard,
    client: GroupClient,
    request: messages.HeartbeatRequest,
    api_version: int,
    now_ms: int,
) -> Outcome[messages.HeartbeatResponse]:
    """Answer a Heartbeat.

    Raises:
        ApiError: what is wrong with the member or its generation.
    """
    if _is_of_consumers(shard, request.group_id):
        return shard.consumers.classic_heartbeat(client, request, api_version, now_ms)
    return shard.classic.heartbeat(client, request, api_version, now_ms)


def leave(
    shard: GroupShard,
    client: GroupClient,
    request: messages.LeaveGroupRequest,
    api_version: int,
    now_ms: int,
) -> Outcome[messages.LeaveGroupResponse]:
    """Answer a LeaveGroup whose members are in `request.members` in every version."""
    if _is_of_consumers(shard, request.group_id):
        return shard.consumers.leave(client, request, api_version, now_ms)
    return shard.classic.leave(client, request, api_version, now_ms)


def _is_of_consumers(shard: GroupShard, group_id: str) -> bool:
    group = shard.groups.get(group_id)
    return group is not None and group.type is GroupType.CONSUMER
