"""ConsumerGroupDescribe (key 69), v0-1.

Tells epochs and members of consumer groups, and what each member has and is to have (KIP-848).

Behaviour
- GROUP_ID_NOT_FOUND (69) for groups that are not there or not consumer groups; DescribeGroups is for others.
- UNSUPPORTED_VERSION (35) where consumer groups are off, as for ConsumerGroupHeartbeat.
Versions
- 1 whether a member uses the classic protocol (KIP-1099)
"""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.coordinator.groups.shard import GroupShard
from barnabas.handlers.api_68_consumer_group_heartbeat import check_enabled
from barnabas.handlers.gathered_groups import GROUP_OPERATIONS, ask_once
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages

_Group = messages.ConsumerGroupDescribeResponseDescribedGroup


def handle(context: RequestContext, request: messages.ConsumerGroupDescribeRequest) -> None:
    """Describe each group, from its own shard."""
    check_enabled(context.services)
    groups = context.services.groups

    def done(described: list[_Group]) -> None:
        if request.include_authorized_operations:
            for group in described:
                if group.error_code == ErrorCode.NONE:
                    group.authorized_operations = GROUP_OPERATIONS
        context.respond(messages.ConsumerGroupDescribeResponse(groups=described))

    def describe(group_id: str, shard: GroupShard) -> _Group:
        if not group_id:
            raise ApiError(ErrorCode.INVALID_GROUP_ID)
        return shard.consumers.describe([group_id])[0]

    ask_once(
        request.group_ids,
        lambda group_id, answer, failed: groups.read(
            group_id, lambda shard, _: describe(group_id, shard), answer, failed
        ),
        _failed,
        done,
        lambda group: len(messages.ConsumerGroupDescribeResponse(groups=[group]).encode(context.api_version)),
    )


def error_response(
    request: messages.ConsumerGroupDescribeRequest, error: ApiError, version: int
) -> messages.ConsumerGroupDescribeResponse:
    """Every group failed for the same reason."""
    return messages.ConsumerGroupDescribeResponse(
        groups=[_failed(group_id, error) for group_id in request.group_ids]
    )


def _failed(group_id: str, error: ApiError) -> _Group:
    return _Group(group_id=group_id, error_code=error.code, error_message=error.message)
