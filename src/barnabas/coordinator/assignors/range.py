"""The assignor `range`: each topic's partitions in runs, in the order of the members.

Members are ordered by instance id, those without one after them by member id, so that static members keep
their partitions over restarts and that topics with as many partitions and the same subscribers are
co-partitioned: partition n of each goes to the same member. It is not sticky beyond that.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.coordinator.assignors.assignments import MemberSpec, Partitions


def assign_range(
    members: Mapping[str, MemberSpec],
    homogeneous: bool,  # noqa: ARG001 - the same rule serves both
    partition_counts: Mapping[bytes, int],
) -> dict[str, Partitions]:
    """Deal out every topic among its subscribers, the first ones getting one partition more."""
    ordered = sorted(members, key=lambda member_id: _order_of(member_id, members[member_id]))
    subscribers: dict[bytes, int] = {}
    for spec in members.values():
        for topic_id in spec.topic_ids:
            subscribers[topic_id] = subscribers.get(topic_id, 0) + 1
    dealt = dict.fromkeys(subscribers, 0)
    """Topic id -> how many of its subscribers have been served."""
    assignment: dict[str, Partitions] = {}
    for member_id in ordered:
        mine = {}
        for topic_id in sorted(members[member_id].topic_ids):  # the same answer from run to run
            share, extra = divmod(partition_counts[topic_id], subscribers[topic_id])
            before = dealt[topic_id]
            dealt[topic_id] = before + 1
            start = before * share + min(before, extra)
            end = start + share + (before < extra)
            if start < end:
                mine[topic_id] = frozenset(range(start, end))
        assignment[member_id] = mine
    return assignment


def _order_of(member_id: str, spec: MemberSpec) -> tuple[bool, bytes]:
    """Static members first, then as Java compares strings: by UTF-16 code units."""
    name = member_id if spec.instance_id is None else spec.instance_id
    return spec.instance_id is None, name.encode("utf-16-be", "surrogatepass")
