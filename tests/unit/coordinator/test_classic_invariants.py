"""Whatever members do, and whatever the log refuses: nobody waits for ever, nobody is answered twice.

Each seed is one life of a group: requests of good and bad members, time, appends that fail, restarts. After
every step the group must agree with itself; at the end, when all fall silent, it must become empty and leave
no timer behind.
"""

import random

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.classic.group import ClassicGroup, ClassicGroupState
from tests.classic_groups_setup import GROUP, Answer, ClassicDriver

SEEDS = range(40)
STEPS = 150
LIFE_MS = 2_000_000
"""Longer than any session or rebalance of the members here, one after the other."""

PROTOCOLS = ([("range", b"r")], [("sticky", b"s"), ("range", b"r")], [("range", b"r2"), ("sticky", b"s")])


class Life:
    """A group, those who know it, and all that was asked so far."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.driver = ClassicDriver()
        self.driver.configure(
            group_initial_rebalance_delay_ms=self.random.choice([0, 3_000]),
            group_max_size=self.random.choice([3, 1_000]),
        )
        self.driver.load()
        self.known: list[tuple[str, str | None]] = [("", None), ("stranger", None)]
        self.asked: list[Answer] = []

    def step(self) -> None:
        draw = self.random.random()
        if draw < 0.35:
            self.join()
        elif draw < 0.6:
            self.sync()
        elif draw < 0.75:
            self.heartbeat()
        elif draw < 0.78:
            self.leave()
        elif draw < 0.96:
            self.driver.advance(self.random.choice([0, 1, 500, 500, 1_000, 3_000, 7_000, 61_000]))
        elif draw < 0.985:
            self.driver.refuses = self.random.choice([None, None, ErrorCode.COORDINATOR_NOT_AVAILABLE])
        else:
            self.driver.restart()

    def pick(self) -> tuple[str, str | None]:
        """Return member id and instance id: of a member mostly, else of anybody ever heard of."""
        group = self.driver.groups.get(GROUP)
        if isinstance(group, ClassicGroup) and self.random.random() < 0.85:
            present = [(name, one.group_instance_id) for name, one in group.members.items()]
            present += [(name, None) for name in sorted(group.pending_join)]
            if present:
                return self.random.choice(present)
        return self.random.choice(self.known)

    def join(self) -> None:
        member_id, instance = self.pick() if self.random.random() < 0.6 else ("", None)
        if not member_id and self.random.random() < 0.4:
            instance = self.random.choice("ab")
        answer = self.driver.join(
            member_id,
            instance=instance,
            protocols=self.random.choice(PROTOCOLS),
            session_ms=self.random.choice([6_000, 30_000]),
            rebalance_ms=self.random.choice([1_000, 60_000]),
            version=self.random.choice([3, 5, 9]),
        )
        self.asked.append(answer)
        if answer.responses and answer.response.member_id:
            self.known = [*self.known[:2], *self.known[2:][-6:], (answer.response.member_id, instance)]

    def sync(self) -> None:
        if GROUP not in self.driver.groups:
            return
        group = self.driver.group
        member_id, instance = self.pick()
        if self.random.random() < 0.4 and group.leader_id is not None:
            member_id, instance = group.leader_id, group.members[group.leader_id].group_instance_id
        assignments = {name: name.encode() for name in group.members}
        generation = group.generation_id - (self.random.random() < 0.1)
        self.asked.append(
            self.driver.sync(
                member_id,
                assignments,
                instance=instance,
                generation=generation,
                protocol=group.protocol_name or "range",
            )
        )

    def heartbeat(self) -> None:
        if GROUP in self.driver.groups:
            member_id, instance = self.pick()
            self.driver.heartbeat(member_id, instance=instance)

    def leave(self) -> None:
        self.asked.append(self.driver.leave(self.pick(), self.random.choice(self.known)))  # type: ignore[arg-type]


def check(group: ClassicGroup, driver: ClassicDriver) -> None:
    """What must hold between any two operations."""
    members = group.members.values()
    assert group.awaiting_join == sum(member.join_reply is not None for member in members)
    assert group.leader_id in group.members if group.members else group.leader_id is None
    assert group.pending_sync <= set(group.members)
    assert not group.pending_join & set(group.members)
    assert group.static_members == {
        member.group_instance_id: member.member_id for member in members if member.is_static
    }
    for member in members:
        is_waiting = member.join_reply is not None or member.sync_reply is not None
        has_timer = driver.timers.is_scheduled(("classic session", group.group_id, member.member_id))
        assert has_timer == (member.session_timer_ms >= 0)
        assert has_timer or is_waiting, f"{member.member_id} could be silent for ever"
        if has_timer:
            assert member.session_timer_ms <= member.session_deadline_ms
    names = {name for member in members for name, _ in member.protocols}
    counts = {name: sum(name in dict(member.protocols) for member in members) for name in names}
    assert group._protocol_counts == counts
    if group.state is ClassicGroupState.PREPARING_REBALANCE:
        assert driver.timers.is_scheduled(("classic join", group.group_id)), "it could wait for ever"
    else:
        assert not any(member.join_reply for member in members)
    if group.state is ClassicGroupState.COMPLETING_REBALANCE:
        assert group.members
    else:
        assert not any(member.sync_reply for member in members)
    if group.state is ClassicGroupState.EMPTY:
        assert not group.members


@pytest.mark.parametrize("seed", SEEDS)
def test_a_group_agrees_with_itself_and_comes_to_an_end(seed: int) -> None:
    life = Life(seed)
    for _ in range(STEPS):
        life.step()
        group = life.driver.groups.get(GROUP)
        if isinstance(group, ClassicGroup):
            check(group, life.driver)
        assert all(len(answer.responses) <= 1 for answer in life.asked), "answered twice"
    life.driver.refuses = None
    life.driver.advance(LIFE_MS)
    assert [answer for answer in life.asked if answer.is_waiting] == []
    assert len(life.driver.timers) == 0
    if GROUP in life.driver.groups:
        assert life.driver.group.state is ClassicGroupState.EMPTY
        before = life.driver.group.generation_id
        life.driver.restart()
        assert life.driver.group.generation_id == before
