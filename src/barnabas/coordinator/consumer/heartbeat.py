"""ConsumerGroupHeartbeat: the one request of KIP-848 members, to join, to go on and to leave.

What a member sends it means in full; fields that are null have not changed. What it gets is its epoch, and
its partitions when they changed or when it asked by sending everything.
"""

from __future__ import annotations

from barnabas.base.dataclass import replace
from barnabas.base.hints import TYPE_CHECKING
from barnabas.base.logger import Logger
from barnabas.base.uuids import random_uuid, uuid_text
from barnabas.coordinator.classic.group import ClassicGroup
from barnabas.coordinator.consumer import records
from barnabas.coordinator.consumer.checks import (
    JOIN_EPOCH,
    check_epoch,
    check_heartbeat,
    check_released,
    check_room,
    known_static_member,
)
from barnabas.coordinator.consumer.group import ConsumerGroup
from barnabas.coordinator.consumer.member import (
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    ConsumerGroupMember,
    PartitionEpochs,
)
from barnabas.coordinator.consumer.migration import upgrade
from barnabas.coordinator.consumer.reconcile import OwnedPartitions
from barnabas.coordinator.consumer.resolution import RegexChange, note_regex
from barnabas.coordinator.consumer.update import ConsumerGroupUpdate
from barnabas.coordinator.groups.group import GroupClient
from barnabas.coordinator.runtime.outcome import CoordinatorRecord, Outcome
from barnabas.protocol import messages

if TYPE_CHECKING:
    from barnabas.coordinator.consumer.core import ConsumerGroupCore

_log = Logger(__name__)

Request = messages.ConsumerGroupHeartbeatRequest
Response = messages.ConsumerGroupHeartbeatResponse


def heartbeat(
    core: ConsumerGroupCore, client: GroupClient, request: Request, api_version: int, now_ms: int
) -> Outcome[Response]:
    """Answer a heartbeat.

    Raises:
        ApiError: what goes into the response.
    """
    config = core.config(request.group_id)
    check_heartbeat(request, api_version, config.group_consumer_assignors)
    if request.member_epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
        return _leave(core, request, now_ms)
    made: list[CoordinatorRecord] = []
    is_joining = request.member_epoch == JOIN_EPOCH
    if is_joining:
        group = group_to_join(core, request.group_id, made)
    else:
        group = core.group(request.group_id, "Consumer group")
    check_room(group, config, request.member_id, request.instance_id)
    owned = _owned(request)
    # Before version 1 it was the coordinator that made the id.
    member_id = request.member_id or uuid_text(random_uuid(core.context.entropy))
    before = _find_member(group, member_id, request, owned, made)
    update = ConsumerGroupUpdate(core, group, before, _changed(before, client, request), made, now_ms)
    names_changed = update.note_member()
    regex_change = note_regex(core, update, now_ms)
    update.raise_epoch(
        bump=names_changed
        or regex_change is RegexChange.UPDATED_AND_RESOLVED
        or update.wishes_other_assignor()
    )
    target_epoch, target = update.find_target()
    update.move_member(
        target_epoch,
        target,
        subscription_changed=names_changed or regex_change is not RegexChange.NONE,
        owned=owned,
    )
    core.start_session(group.group_id, member_id, config.consumer_session_timeout_ms)
    return Outcome(
        records=made,
        response=_response(request, before, update.member, config.consumer_heartbeat_interval_ms),
    )


def group_to_join(core: ConsumerGroupCore, group_id: str, made: list[CoordinatorRecord]) -> ConsumerGroup:
    """Return the group that a consumer joins: the existing one, one made of a classic one, or a new one.

    The latter two are not among the shard's groups until their records are replayed.

    Args:
        made: gets the records that make it.
    Raises:
        ApiError: GROUP_ID_NOT_FOUND, there is a classic group that cannot become a consumer group.
    """
    found = core.groups.get(group_id)
    if isinstance(found, ConsumerGroup):
        return found
    if isinstance(found, ClassicGroup) and not found.is_empty:
        return upgrade(core, found, made)
    if found is not None:
        made.extend(found.tombstones())
    return ConsumerGroup(group_id)


def _owned(request: Request) -> OwnedPartitions | None:
    if request.topic_partitions is None:
        return None
    return {bytes(topic.topic_id): topic.partitions for topic in request.topic_partitions}


def _find_member(
    group: ConsumerGroup,
    member_id: str,
    request: Request,
    owned: OwnedPartitions | None,
    made: list[CoordinatorRecord],
) -> ConsumerGroupMember:
    is_joining = request.member_epoch == JOIN_EPOCH
    if request.instance_id is None:
        member = group.members.get(member_id)
        if member is None:
            member = ConsumerGroupMember(member_id=member_id) if is_joining else group.member(member_id)
        check_epoch(member, request.member_epoch, owned)
        return member
    if not is_joining:
        member = known_static_member(group, member_id, request.instance_id)
        check_epoch(member, request.member_epoch, owned)
        return member
    existing = group.static_member(request.instance_id)
    if existing is None:
        return group.members.get(member_id) or ConsumerGroupMember(member_id=member_id)
    if not existing.uses_classic_protocol:
        check_released(existing, member_id, request.instance_id)
    return replace_static_member(group, existing, member_id, made)


def replace_static_member(
    group: ConsumerGroup, existing: ConsumerGroupMember, member_id: str, made: list[CoordinatorRecord]
) -> ConsumerGroupMember:
    """Give a static member's place, with all that is in it, to its new client; return the new member."""
    member = replace(existing, member_id=member_id, member_epoch=JOIN_EPOCH, previous_member_epoch=JOIN_EPOCH)
    group_id = group.group_id
    made.extend(records.member_tombstones(group_id, existing.member_id))
    made.append(records.member_record(group_id, member))
    made.append(records.target_record(group_id, member_id, group.target(existing.member_id)))
    made.append(records.current_assignment_record(group_id, member))
    _log.debug("group %r: member %r takes the place of %r", group_id, member_id, existing.member_id)
    return member


def _changed(before: ConsumerGroupMember, client: GroupClient, request: Request) -> ConsumerGroupMember:
    """Return the member with what the request says; the same one when that is nothing new."""
    names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
    timeout_ms = request.rebalance_timeout_ms
    # Nearly all heartbeats say nothing: those make no second member to compare.
    if (
        request.instance_id in (None, before.instance_id)
        and request.rack_id in (None, before.rack_id)
        and timeout_ms in (-1, before.rebalance_timeout_ms)
        and request.server_assignor in (None, before.server_assignor)
        and (names is None or before.subscribed_topic_names == frozenset(names))
        and regex in (None, before.subscribed_topic_regex)
        and client.client_id == before.client_id
        and client.host == before.client_host
        and before.classic is None
    ):
        return before
    return replace(
        before,
        instance_id=_or(request.instance_id, before.instance_id),
        rack_id=_or(request.rack_id, before.rack_id),
        rebalance_timeout_ms=before.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        server_assignor=_or(request.server_assignor, before.server_assignor),
        subscribed_topic_names=before.subscribed_topic_names if names is None else frozenset(names),
        subscribed_topic_regex=before.subscribed_topic_regex if regex is None else regex,
        client_id=client.client_id,
        client_host=client.host,
        classic=None,
    )


def _or(text: str | None, otherwise: str | None) -> str | None:
    return otherwise if text is None else text


def _response(
    request: Request, before: ConsumerGroupMember, after: ConsumerGroupMember, heartbeat_interval_ms: int
) -> Response:
    is_full = (
        request.rebalance_timeout_ms != -1
        and (request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None)
        and request.topic_partitions is not None
    )
    tells_assignment = request.member_epoch == JOIN_EPOCH or is_full or before.assigned != after.assigned
    return Response(
        member_id=after.member_id,
        member_epoch=after.member_epoch,
        heartbeat_interval_ms=heartbeat_interval_ms,
        assignment=_assignment(after.assigned) if tells_assignment else None,
    )


def _assignment(assigned: PartitionEpochs) -> messages.ConsumerGroupHeartbeatResponseAssignment:
    return messages.ConsumerGroupHeartbeatResponseAssignment(
        topic_partitions=[
            messages.ConsumerGroupHeartbeatResponseTopicPartitions(
                topic_id=topic_id, partitions=sorted(partitions)
            )
            for topic_id, partitions in assigned.items()
        ]
    )


def _leave(core: ConsumerGroupCore, request: Request, now_ms: int) -> Outcome[Response]:
    group = core.group(request.group_id)
    if request.instance_id is None:
        member = group.member(request.member_id)
    else:
        member = known_static_member(group, request.member_id, request.instance_id)
    if request.member_epoch == STATIC_LEAVE_EPOCH:
        _log.debug("group %r: static member %r is away", group.group_id, member.member_id)
        return Outcome(
            records=[records.current_assignment_record(group.group_id, member.away())],
            response=Response(member_id=member.member_id, member_epoch=STATIC_LEAVE_EPOCH),
        )
    _log.debug("group %r: member %r leaves", group.group_id, member.member_id)
    response = Response(member_id=request.member_id, member_epoch=request.member_epoch)
    return replace(core.remove_members(group, [member], now_ms), response=response)
