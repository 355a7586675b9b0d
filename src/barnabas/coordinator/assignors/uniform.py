"""The assignor `uniform`: as even as can be, moving as few partitions as that allows.

When all members subscribe to the same topics everyone gets the same number of partitions, one more or less.
Members keep what they have up to that number; the rest goes to those below it. Which member gets one more is
settled so that nobody loses a partition for it. What members with different topics get is settled in
`assignors/uniform_mixed.py`, by balancing topic after topic.

Topics are taken in the order of their ids and members as they stand in the mapping; Apache Kafka takes both
in the order of a hash table. Where that decides who gets which partition both are as even and as sticky.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.coordinator.assignors.assignments import MemberSpec, Partitions
from barnabas.coordinator.assignors.uniform_mixed import assign_mixed


def assign_uniform(
    members: Mapping[str, MemberSpec], homogeneous: bool, partition_counts: Mapping[bytes, int]
) -> dict[str, Partitions]:
    """Spread all partitions over the members that may have them."""
    if not members:
        return {}
    if homogeneous:
        return _assign_alike(members, partition_counts)
    return assign_mixed(members, partition_counts)


def _assign_alike(
    members: Mapping[str, MemberSpec], partition_counts: Mapping[bytes, int]
) -> dict[str, Partitions]:
    topic_ids = next(iter(members.values())).topic_ids
    if not topic_ids:
        return {member_id: {} for member_id in members}
    free = _unowned(members, sorted(topic_ids), partition_counts)
    quota_min, extras = divmod(sum(partition_counts[topic_id] for topic_id in topic_ids), len(members))
    kept: dict[str, Partitions] = {}
    wanting: dict[str, int] = {}
    for index, (member_id, spec) in enumerate(members.items()):
        has_extra = extras > 0
        keeps, room, dropped = _cut(spec, topic_ids, quota_min + has_extra)
        free.extend(dropped)
        if has_extra and room > 0 and len(members) - index > extras:
            # A later member may have the extra partition already: leave it to that one.
            has_extra = False
            room -= 1
        if has_extra:
            extras -= 1
        if room > 0:
            wanting[member_id] = room
        kept[member_id] = keeps
    taken = iter(free)
    for member_id, room in wanting.items():
        kept[member_id] = _with(
            kept[member_id], [where for _, where in zip(range(room), taken, strict=False)]
        )
    return kept


def _unowned(
    members: Mapping[str, MemberSpec], topic_ids: list[bytes], partition_counts: Mapping[bytes, int]
) -> list[tuple[bytes, int]]:
    owned: dict[bytes, set[int]] = {topic_id: set() for topic_id in topic_ids}
    for spec in members.values():
        for topic_id, partitions in spec.target.items():
            if topic_id in owned:
                owned[topic_id].update(partitions)
    return [
        (topic_id, partition)
        for topic_id in topic_ids
        for partition in range(partition_counts[topic_id])
        if partition not in owned[topic_id]
    ]


def _cut(
    spec: MemberSpec, topic_ids: frozenset[bytes], quota: int
) -> tuple[Partitions, int, list[tuple[bytes, int]]]:
    """Return what a member keeps, how many more it may have, and what it gives up."""
    if spec.target.keys() <= topic_ids and sum(map(len, spec.target.values())) <= quota:
        return spec.target, quota - sum(map(len, spec.target.values())), []
    keeps = {}
    dropped: list[tuple[bytes, int]] = []
    for topic_id, partitions in sorted(spec.target.items()):
        if topic_id not in topic_ids:
            continue
        ordered = sorted(partitions)
        if ordered[:quota]:
            keeps[topic_id] = frozenset(ordered[:quota])
        dropped.extend((topic_id, partition) for partition in ordered[quota:])
        quota -= min(quota, len(ordered))
    return keeps, quota, dropped


def _with(partitions: Partitions, more: list[tuple[bytes, int]]) -> Partitions:
    if not more:
        return partitions
    changed = {topic_id: set(numbers) for topic_id, numbers in partitions.items()}
    for topic_id, partition in more:
        changed.setdefault(topic_id, set()).add(partition)
    return {topic_id: frozenset(numbers) for topic_id, numbers in changed.items()}
