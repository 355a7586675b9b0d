"""Offsets that have outlived their use: past their retention, or of a topic that is gone.

An offset's retention counts from when its group became empty; in a group with members, from the commit, once
no member is subscribed to its topic any more (KIP-211). A group that is empty and has no offsets left goes
too.

Each shard looks through its groups every `offsets.retention.check.interval.ms`. Shards that were loaded
together do so a little apart, and none writes more than a little at once, so that a broker with many groups
does not stand still for them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from itertools import islice

from barnabas.base.errors import ApiError
from barnabas.base.hints import Final
from barnabas.base.logger import Logger
from barnabas.base.uuids import NULL_UUID
from barnabas.coordinator.groups.group import Group
from barnabas.coordinator.offsets.committed import CommittedOffset
from barnabas.coordinator.offsets.group_offsets import GroupOffsets, offset_tombstone
from barnabas.coordinator.runtime.outcome import CoordinatorRecord, Outcome

_log = Logger(__name__)

_MS_PER_MINUTE: Final = 60_000

_APART_MS: Final = 20
"""Between the checks of two shards that were loaded at the same time."""

TOMBSTONES_MAX: Final = 2_000
"""What one turn writes: some 30 ms in which nobody else is served. More follow _APART_MS later."""

LOOKED_AT_MAX: Final = 50_000
"""Offsets that one turn looks at, which takes half of that."""

_EXPIRE: Final = "expire offsets"
EXPIRE_MORE: Final = "expire more offsets"
_DROP: Final = "drop offsets of deleted topics"


def schedule_expiry(offsets: GroupOffsets, partition: int) -> None:
    """Look for expired offsets from now on, first after one interval."""
    interval_ms = offsets.context.config_of("").offsets_retention_check_interval_ms
    _schedule(offsets, interval_ms + min(partition * _APART_MS, interval_ms))


def _schedule(offsets: GroupOffsets, delay_ms: int) -> None:
    def expire(now_ms: int) -> Outcome[None]:
        interval_ms = offsets.context.config_of("").offsets_retention_check_interval_ms
        _schedule(offsets, interval_ms)
        return expire_offsets(offsets, now_ms)

    offsets.context.timers.schedule(_EXPIRE, delay_ms, expire)


def expire_offsets(offsets: GroupOffsets, now_ms: int, group_ids: deque[str] | None = None) -> Outcome[None]:
    """Return the tombstones of offsets that have expired, and of groups that hold nothing any more.

    There are at most TOMBSTONES_MAX; the rest of the groups is looked at a little later.

    Args:
        group_ids: what is left to look at; None for all groups.
    """
    left = deque(offsets.groups) if group_ids is None else group_ids
    records: list[CoordinatorRecord] = []
    looked_at = 0
    while left and len(records) < TOMBSTONES_MAX and looked_at < LOOKED_AT_MAX:
        group_id = left.popleft()
        group = offsets.groups.get(group_id)
        if group is None:
            continue
        expired, total = _expired_of(offsets, group_id, group, now_ms)
        looked_at += total + 1
        if len(expired) > (room := TOMBSTONES_MAX - len(records)):
            del expired[room:]
            left.appendleft(group_id)
        records += expired
        offsets.expirations += len(expired)
        if len(expired) == total and group.is_empty and not offsets.pending.has_group(group_id):
            records += group.tombstones()
    if records:
        _log.debug("%d tombstones for expired offsets and groups", len(records))
    if left:
        offsets.context.timers.schedule(
            EXPIRE_MORE, _APART_MS, lambda later_ms: expire_offsets(offsets, later_ms, left)
        )
    return Outcome(records=records, is_atomic=False)


def _expired_of(
    offsets: GroupOffsets, group_id: str, group: Group, now_ms: int
) -> tuple[list[CoordinatorRecord], int]:
    """Return the tombstones of a group's expired offsets, and how many offsets it has."""
    retention_ms = offsets.context.config_of(group_id).offsets_retention_minutes * _MS_PER_MINUTE
    pending = offsets.pending.partitions(group_id)
    expired: list[CoordinatorRecord] = []
    total = 0
    for topic, partitions in offsets.committed.by_group.get(group_id, {}).items():
        total += len(partitions)
        if group.is_subscribed_to(topic):
            continue
        expired += [
            offset_tombstone(group_id, topic, partition)
            for partition, offset in partitions.items()
            if _is_expired(offset, group, now_ms, retention_ms) and (topic, partition) not in pending
        ]
    return expired, total


def _is_expired(offset: CommittedOffset, group: Group, now_ms: int, retention_ms: int) -> bool:
    since_ms = group.offsets_expire_since_ms(offset.commit_timestamp_ms)
    if since_ms is None:
        return False
    if offset.expire_timestamp_ms >= 0:
        return now_ms >= offset.expire_timestamp_ms
    return now_ms - since_ms >= retention_ms


def schedule_drop(offsets: GroupOffsets, deleted: Mapping[str, bytes]) -> None:
    """Drop the offsets of deleted topics (name -> topic id) with the next turn, again until it is done."""
    offsets.deleted_topics.update(deleted)
    offsets.context.timers.schedule(_DROP, 0, lambda _: drop_offsets_of_deleted_topics(offsets))


def drop_offsets_of_deleted_topics(offsets: GroupOffsets) -> Outcome[None]:
    """Return the tombstones of offsets whose topics were deleted, those of open transactions too.

    There are at most TOMBSTONES_MAX; more follow a little later.
    """
    deleted = dict(offsets.deleted_topics)
    found = list(islice(_of_deleted_topics(offsets, deleted), TOMBSTONES_MAX))
    gone = dict.fromkeys(found)

    def appended(error: ApiError | None) -> None:
        if error is None and len(found) == TOMBSTONES_MAX:
            offsets.context.timers.schedule(
                _DROP, _APART_MS, lambda _: drop_offsets_of_deleted_topics(offsets)
            )
        elif error is None:
            for name, topic_id in deleted.items():
                if offsets.deleted_topics.get(name) == topic_id:
                    del offsets.deleted_topics[name]

    records = [offset_tombstone(group_id, topic, partition) for group_id, topic, partition in gone]
    return Outcome(records=records, appended=appended, is_atomic=False)


def _of_deleted_topics(offsets: GroupOffsets, deleted: Mapping[str, bytes]) -> Iterator[tuple[str, str, int]]:
    """Yield group, topic and partition; what open transactions would commit too comes again."""
    for table in (offsets.committed, *offsets.pending.tables()):
        for group_id, topics in table.by_group.items():
            for topic in deleted.keys() & topics.keys():
                for partition, offset in topics[topic].items():
                    if offset.topic_id in (NULL_UUID, deleted[topic]):
                        yield group_id, topic, partition
