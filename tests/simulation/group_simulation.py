"""One simulation: trouble of every kind for some minutes, then quiet, in which a group has to find itself."""

from __future__ import annotations

from collections.abc import Callable

from barnabas.base.errors import ErrorCode
from barnabas.protocol import messages as m
from tests.group_host import HostConnection
from tests.simulation.classic_member import COOPERATIVE, RANGE, ClassicMember
from tests.simulation.consumer_member import ConsumerMember
from tests.simulation.reading import Reader
from tests.simulation.world import COMMIT_DELAY_MS, GROUP, REBALANCE_MS, SESSION_MS, RuleBrokenError, World

TOPICS = {"events": 7, "orders": 3}
MEMBERS_MAX = 7
TROUBLE_MS = 180_000
TROUBLE_EVERY_MS = 6_000
QUIET_MS = 2 * (SESSION_MS + REBALANCE_MS) + 30_000
"""Enough for members that are gone to be noticed, and for those that are left to agree, twice over."""

STORY_LINES_MAX = 40
GROWN_MAX = 12

Make = Callable[[World, str, str | None], Reader]


def _consumer(world: World, name: str, instance_id: str | None) -> Reader:
    return ConsumerMember(world, name, instance_id, world.random.choice((None, "uniform", "range")))


def _either(world: World, name: str, instance_id: str | None) -> Reader:
    if world.random.randrange(2):
        return _consumer(world, name, instance_id)
    return ClassicMember(world, name, instance_id, RANGE)


KINDS: dict[str, Make] = {
    "range": lambda world, name, instance_id: ClassicMember(world, name, instance_id, RANGE),
    "cooperative": lambda world, name, instance_id: ClassicMember(world, name, instance_id, COOPERATIVE),
    "consumer": _consumer,
    "both protocols": _either,
}


class GroupSimulation:
    """A world with members of one kind, and what befalls them.

    Args:
        seed: repeats it.
    """

    def __init__(self, kind: str, seed: int) -> None:
        self.world = World(seed, TOPICS)
        self._make = KINDS[kind]
        self._names = 0
        self._random = self.world.random
        self._troubles: list[tuple[int, Callable[[], None]]] = [
            (5, self._come),
            (3, self._leave),
            (2, self._die),
            (3, self._pause),
            (1, self._restart),
            (2, self._crash),
            (2, self._fail_appends),
            (2, self._delay_commits),
            (1, self._grow),
        ]

    def run(self) -> None:
        """Run it to its end.

        Raises:
            RuleBrokenError: with the end of the story.
        """
        try:
            self._run()
        except AssertionError as error:
            error.add_note("\n".join(self.world.story[-STORY_LINES_MAX:]))
            raise

    def _run(self) -> None:
        world = self.world
        for _ in range(1 + self._random.randrange(4)):
            self._come()
        world.loss = 10
        while world.now_ms < TROUBLE_MS:
            world.run_ms(self._random.randrange(TROUBLE_EVERY_MS))
            trouble = self._random.choices(
                [act for _, act in self._troubles], [weight for weight, _ in self._troubles]
            )[0]
            trouble()
        self._quiet()
        world.run_ms(QUIET_MS)
        self._check_settled()

    def _quiet(self) -> None:
        world = self.world
        world.tell("quiet from here on")
        world.loss = 0
        world.host.append_error = None
        world.host.commit_delay_ms = lambda: 0
        for member in world.members:
            member.paused_until_ms = 0

    def _check_settled(self) -> None:
        world = self.world
        world.check_commits()
        if not world.members:
            state = self._state()
            if state not in ("Empty", "Dead", "(not listed)"):
                raise RuleBrokenError(f"nobody is left, and the group is {state}")
            return
        for member in world.members:
            if not member.is_settled:
                raise RuleBrokenError(f"{member.name} has not found its place")
            if member.is_lapsed(world.now_ms):
                raise RuleBrokenError(f"{member.name} was not answered for {SESSION_MS} ms")
        owned = set().union(*(member.owned for member in world.members))
        if owned != world.partitions():
            raise RuleBrokenError(f"nobody reads {sorted(world.partitions() - owned)}")
        if self._state() != "Stable":
            raise RuleBrokenError(f"the group is {self._state()}")

    def _state(self) -> str:
        connection = HostConnection("admin")
        self.world.host.send(connection, m.ListGroupsRequest(), 5)
        listed = {group.group_id: group.group_state for group in connection.answers.popleft()[1].groups}
        return str(listed.get(GROUP, "(not listed)"))

    # Troubles ----------------------------------------------------------------------------------------

    def _come(self) -> None:
        if len(self.world.members) >= MEMBERS_MAX:
            return
        self._names += 1
        taken = {member.instance_id for member in self.world.members}
        free = [name for name in ("static-1", "static-2") if name not in taken]
        instance_id = self._random.choice(free) if free and self._random.randrange(3) == 0 else None
        self.world.add(self._make(self.world, f"member-{self._names}", instance_id))

    def _leave(self) -> None:
        if self.world.members:
            member = self._random.choice(self.world.members)
            member.is_leaving = True
            self.world.tell(f"{member.name} is about to leave")

    def _die(self) -> None:
        if self.world.members:
            self.world.remove(self._random.choice(self.world.members), "dies")

    def _pause(self) -> None:
        if self.world.members:
            member = self._random.choice(self.world.members)
            pause_ms = self._random.choice((SESSION_MS // 2, SESSION_MS * 2))
            member.paused_until_ms = self.world.now_ms + pause_ms
            self.world.tell(f"{member.name} pauses for {pause_ms} ms")

    def _restart(self) -> None:
        self.world.restart(compacted=self._random.randrange(2) == 0)

    def _crash(self) -> None:
        if self._random.randrange(3) == 0:
            self._die()
        self.world.crash(compacted=self._random.randrange(2) == 0)

    def _fail_appends(self) -> None:
        host = self.world.host
        error = self._random.choice((ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE))
        host.append_error = error
        self.world.tell(f"appends fail with {error.name}")

        def work_again() -> None:
            host.append_error = None

        self.world.after(self._random.randrange(3000), work_again)

    def _delay_commits(self) -> None:
        host, draw = self.world.host, self._random.randrange
        host.commit_delay_ms = lambda: draw(COMMIT_DELAY_MS)
        self.world.tell("commits take their time")

        def at_once() -> None:
            host.commit_delay_ms = lambda: 0

        self.world.after(draw(10_000), at_once)

    def _grow(self) -> None:
        topic = self._random.choice(sorted(self.world.topics))
        if self.world.topics[topic] < GROWN_MAX:
            self.world.topics[topic] += 1
            self.world.host.grow_topic(topic, self.world.topics[topic])
            self.world.tell(f"{topic} grows to {self.world.topics[topic]}")
