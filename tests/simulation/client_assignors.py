"""How leaders of classic groups assign: Kafka's range, and a cooperative sticky assignor."""

from __future__ import annotations

from collections.abc import Mapping

from tests.simulation.world import TopicPartition

Assignment = dict[str, list[TopicPartition]]


def assign_range(members: list[str], topics: Mapping[str, int]) -> Assignment:
    """Each topic in ranges of its own, the first members get the larger ones."""
    given: Assignment = {member: [] for member in members}
    for topic, count in sorted(topics.items()):
        share, extra = divmod(count, len(members))
        start = 0
        for place, member in enumerate(sorted(members)):
            end = start + share + (place < extra)
            given[member] += [(topic, number) for number in range(start, end)]
            start = end
    return given


def assign_cooperative(
    owned: Mapping[str, tuple[int, list[TopicPartition]]], topics: Mapping[str, int]
) -> Assignment:
    """Balanced, keeping what can be kept; what has to change hands is given to nobody in this round.

    Args:
        owned: member -> (generation it owned them in, partitions).
    """
    partitions = [(topic, number) for topic, count in sorted(topics.items()) for number in range(count)]
    newest: dict[TopicPartition, tuple[int, str]] = {}
    for member, (generation, mine) in sorted(owned.items()):
        for partition in mine:
            if generation > newest.get(partition, (-1, ""))[0]:
                newest[partition] = (generation, member)
    owners = {partition: newest[partition][1] for partition in partitions if partition in newest}
    most = -(-len(partitions) // len(owned))
    least = len(partitions) // len(owned)
    target: Assignment = {member: [] for member in owned}
    for partition, member in owners.items():
        if len(target[member]) < (most if _may_have_more(target, len(partitions), least, most) else least):
            target[member].append(partition)
    taken = {partition for mine in target.values() for partition in mine}
    for partition in partitions:
        if partition not in taken:
            poorest = min(sorted(target), key=lambda member: len(target[member]))
            target[poorest].append(partition)
    return {
        member: [partition for partition in mine if owners.get(partition, member) == member]
        for member, mine in target.items()
    }


def _may_have_more(target: Assignment, count: int, least: int, most: int) -> bool:
    """Whether fewer members than the remainder have one partition more than the others."""
    return most == least or sum(len(mine) > least for mine in target.values()) < count % len(target)
