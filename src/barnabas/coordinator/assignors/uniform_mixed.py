"""The assignor `uniform` for members that subscribe to different topics.

Three steps. Members keep what they have of topics they still subscribe to. Free partitions are dealt, topic
by topic, to whichever subscriber has fewest. Then topics are balanced one at a time, over and over:
partitions move from the subscribers that have most to those that have fewest, until a whole round changes
nothing. Topics with many partitions per subscriber come first, since they offer most room; ties go to the
topic with fewer subscribers, then to the id. So the outcome depends on nothing but the input and the order of
the members.

An exact minimum of moves would be a flow problem; a bounded number of rounds gets within one partition of
even wherever subscriptions allow it, and stops early nearly always. `Loads` hands out the least and the most
loaded member in constant time, since both sides move by one partition at a time.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from barnabas.base.hints import Final
from barnabas.coordinator.assignors.assignments import MemberSpec, Partitions

_ROUNDS_MAX: Final = 16
"""Rounds over all topics; what is not even by then differs little."""

_NOBODY: Final = -1


def assign_mixed(
    members: Mapping[str, MemberSpec], partition_counts: Mapping[bytes, int]
) -> dict[str, Partitions]:
    """Spread partitions over members with different subscriptions."""
    spread = _Spread(members, partition_counts)
    if spread.owners:
        spread.deal_free_partitions()
        spread.balance()
    return spread.assignment()


class _Spread:
    """Who owns which partition, while it is being settled. Members are indexes in the order given."""

    def __init__(self, members: Mapping[str, MemberSpec], partition_counts: Mapping[bytes, int]) -> None:
        self._members = members
        self._subscribers: dict[bytes, list[int]] = {}
        self._sizes = [0] * len(members)
        self._changed: set[int] = set()
        for index, spec in enumerate(members.values()):
            for topic_id in spec.topic_ids:
                self._subscribers.setdefault(topic_id, []).append(index)
        self.owners = {topic_id: [_NOBODY] * partition_counts[topic_id] for topic_id in self._subscribers}
        """Topic id -> member index by partition."""
        for index, spec in enumerate(members.values()):
            for topic_id, partitions in spec.target.items():
                if topic_id in spec.topic_ids:
                    self._sizes[index] += len(partitions)
                    for partition in partitions:
                        self.owners[topic_id][partition] = index
                else:
                    self._changed.add(index)
        self._ordered = sorted(self.owners, key=self._topic_order)

    def _topic_order(self, topic_id: bytes) -> tuple[float, int, tuple[int, ...]]:
        subscribers = len(self._subscribers[topic_id])
        # As Java compares uuids: two signed halves.
        return -len(self.owners[topic_id]) / subscribers, subscribers, struct.unpack(">qq", topic_id)

    def deal_free_partitions(self) -> None:
        for topic_id in self._ordered:
            owners = self.owners[topic_id]
            free = [partition for partition, owner in enumerate(owners) if owner == _NOBODY]
            if not free:
                continue
            loads = _Loads(self._subscribers[topic_id], self._sizes)
            for partition in free:
                self._give(topic_id, partition, loads.next_least())

    def balance(self) -> None:
        shared = [topic_id for topic_id in self._ordered if len(self._subscribers[topic_id]) >= 2]
        last_moved = None
        for _ in range(_ROUNDS_MAX):
            for topic_id in shared:
                if topic_id == last_moved:
                    return
                if self._balance_topic(topic_id) or last_moved is None:
                    last_moved = topic_id

    def _balance_topic(self, topic_id: bytes) -> bool:
        """Even out the subscribers of one topic by moving its partitions; tell whether any moved."""
        loads = _Loads(self._subscribers[topic_id], self._sizes)
        if loads.difference <= 1:
            return False
        offers: dict[int, list[int]] = {}
        for partition, owner in enumerate(self.owners[topic_id]):
            offers.setdefault(owner, []).append(partition)
        moved = False
        while not loads.is_even():
            giver = loads.next_most()
            while giver is not None and not offers.get(giver):
                loads.exclude_most()
                giver = loads.next_most()
            if giver is None:
                break
            partition = offers[giver].pop()
            taker = loads.next_least()
            if loads.is_even():
                break
            self._give(topic_id, partition, taker)
            moved = True
        return moved

    def _give(self, topic_id: bytes, partition: int, index: int) -> None:
        owners = self.owners[topic_id]
        before = owners[partition]
        if before != _NOBODY:
            self._sizes[before] -= 1
            self._changed.add(before)
        owners[partition] = index
        self._sizes[index] += 1
        self._changed.add(index)

    def assignment(self) -> dict[str, Partitions]:
        """Return what everyone has; the very target of a member for whom nothing changed."""
        made: dict[str, Partitions] = {member_id: spec.target for member_id, spec in self._members.items()}
        if not self._changed:
            return made
        collected: list[dict[bytes, list[int]]] = [{} for _ in self._sizes]
        for topic_id, owners in self.owners.items():
            for partition, owner in enumerate(owners):
                if owner != _NOBODY:
                    collected[owner].setdefault(topic_id, []).append(partition)
        for index, member_id in enumerate(self._members):
            if index in self._changed:
                made[member_id] = {
                    topic_id: frozenset(partitions) for topic_id, partitions in collected[index].items()
                }
        return made


class _Loads:
    """Hands out the least and the most loaded of some members while partitions move between them.

    Members are sorted once, by load. Those at the front that have as few partitions as any form a range in
    which everyone is handed out once before its level rises by one and takes in those that had as many from
    the start; the same from the back, where the level sinks. It relies on each member handed out being given,
    or taken, one partition.
    """

    def __init__(self, members: Sequence[int], sizes: Sequence[int]) -> None:
        """
        Args:
            sizes: partitions of every member; read again as it changes.
        """
        self._sizes = sizes
        self._sorted = sorted(members, key=lambda index: (sizes[index], index))
        fewest, most = sizes[self._sorted[0]], sizes[self._sorted[-1]]
        self.difference = most - fewest
        self._least_level = fewest - 1
        self._least_end = 0
        self._least_next = 0
        self._most_level = most + 1
        self._most_start = self._most_end = len(self._sorted)
        self._most_next = len(self._sorted) - 1

    def is_even(self) -> bool:
        """Whether moving another partition could not make it more even."""
        return self._most_level - self._least_level <= 1

    def next_least(self) -> int:
        if self._least_next >= self._least_end:
            self._least_level += 1
            while (
                self._least_end < len(self._sorted)
                and self._sizes[self._sorted[self._least_end]] == self._least_level
            ):
                self._least_end += 1
            self._least_next = 0
        self._least_next += 1
        return self._sorted[self._least_next - 1]

    def next_most(self) -> int | None:
        """Return the member to take from; None when all have been excluded."""
        if self._most_next < self._most_start:
            if self._most_end <= self._most_start and self._most_start > 0:
                # All of the range were excluded: go down to the next member, however far.
                self._most_level = self._sizes[self._sorted[self._most_start - 1]]
            else:
                self._most_level -= 1
            while (
                self._most_start > 0 and self._sizes[self._sorted[self._most_start - 1]] == self._most_level
            ):
                self._most_start -= 1
            self._most_next = self._most_end - 1
        if self._most_next < 0:
            return None
        self._most_next -= 1
        return self._sorted[self._most_next + 1]

    def exclude_most(self) -> None:
        """Take the member just handed out by `next_most` out: it has nothing to give."""
        last = self._most_end - 1
        self._sorted[self._most_next + 1], self._sorted[last] = (
            self._sorted[last],
            self._sorted[self._most_next + 1],
        )
        self._most_end = last
