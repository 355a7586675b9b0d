"""The world of a simulation: time, a network that loses answers, and the rules nobody may break.

A member is a generator: it yields what it asks or how long it sleeps and is resumed with the answer, so its
life reads from top to bottom although a hundred events lie between two lines. Between them the world checks,
after every step of anybody:

- no partition is owned by two members at once. A member whose session has passed without an answer does not
  count: it may still believe that it owns something, and is told otherwise when it speaks;
- offsets in the log never go back, so nobody but the owner commits, and who takes over begins where the last
  one ended;
- what was acknowledged as committed is still there, whatever the coordinator went through.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from barnabas.base.dataclass import replace
from barnabas.coordinator.groups.config import GroupConfig
from barnabas.coordinator.runtime.outcome import CoordinatorRecord
from barnabas.coordinator.runtime.record_codec import RecordCodec
from barnabas.protocol import messages as m
from tests.group_host import GroupHost, HostConnection

TopicPartition = tuple[str, int]

SESSION_MS = 10_000
HEARTBEAT_MS = 3_000
REBALANCE_MS = 30_000
LATENCY_MS = 200
NOTICED_AFTER_MS = 500
"""How long it takes a client to find that its connection broke."""

COMMIT_DELAY_MS = 500
"""How long a commit takes when it takes long: sessions begin before their answer is out."""

GROUP = "group"


class Ask(NamedTuple):
    """A member asks, and is resumed with the answer, or with None when the connection broke."""

    request: m.Message
    version: int


class Sleep(NamedTuple):
    """A member does nothing for a while."""

    ms: int


Life = Generator[Ask | Sleep, Any, None]


class RuleBrokenError(AssertionError):
    """What must never happen did."""


class Mind:
    """What the world knows of a member; members' kinds add to it.

    Attributes:
        owned: partitions it may read, as far as it knows.
        heard_ms: since when its session runs, at the earliest, as far as it can know.
        session_began_ms: when the coordinator got the request whose answer is being heard.
        joined_ms: since when it runs if that request was a JoinGroup.
        waits: the coordinator has a JoinGroup of it under way: its session does not run.
        is_leaving: it shall go at the next occasion.
    """

    def __init__(self, world: World, name: str, instance_id: str | None) -> None:
        self.world = world
        self.name = name
        self.instance_id = instance_id
        self.owned: set[TopicPartition] = set()
        self.heard_ms = 0
        self.waits = False
        self.is_leaving = False
        self.is_gone = False
        self.paused_until_ms = 0
        self.connection = HostConnection(name)
        self.session_began_ms = 0
        self.joined_ms = 0

    def life(self) -> Life:
        """What it does from its first request to its last."""
        raise NotImplementedError

    @property
    def is_settled(self) -> bool:
        """Whether it is a member in good standing that waits for nothing."""
        raise NotImplementedError

    def is_lapsed(self, now_ms: int) -> bool:
        """Whether the coordinator may have given it up."""
        return not self.waits and now_ms >= self.heard_ms + SESSION_MS


class World:
    """One coordinator, its members, and everything between them.

    Args:
        seed: repeats all of it.

    Attributes:
        loss: how many of a thousand requests, and answers, are lost.
        story: what happened, for people.
    """

    def __init__(self, seed: int, topics: dict[str, int]) -> None:
        self.random = random.Random(seed)
        self.topics = dict(topics)
        config = GroupConfig(
            group_initial_rebalance_delay_ms=self.random.choice((0, 0, 3000)),
            group_consumer_assignment_interval_ms=self.random.choice((0, 0, 1000)),
            consumer_session_timeout_ms=SESSION_MS,
            consumer_heartbeat_interval_ms=HEARTBEAT_MS,
        )
        self.host = GroupHost(topics, replace(config), seed=seed)
        self.host.appended = self._appended
        self.members: list[Mind] = []
        self.acked: dict[TopicPartition, int] = {}
        self.loss = 0
        self.story: list[str] = []
        self._logged: dict[TopicPartition, int] = {}
        self._codec = RecordCodec("group_records")
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    # Time --------------------------------------------------------------------------------------------

    @property
    def now_ms(self) -> int:
        return self.host.clock.monotonic_ms()

    def after(self, ms: int, act: Callable[[], None]) -> None:
        """Do something later."""
        heapq.heappush(self._events, (self.now_ms + ms, next(self._numbers), act))

    def run_ms(self, ms: int) -> None:
        """Let time pass."""
        end_ms = self.now_ms + ms
        while True:
            host_ms = self.host.next_ms()
            event_ms = self._events[0][0] if self._events else None
            due_ms = min((time for time in (host_ms, event_ms) if time is not None), default=end_ms)
            if due_ms > end_ms or (host_ms is None and event_ms is None):
                break
            self.host.advance_ms(max(0, due_ms - self.now_ms))
            self._deliver_answers()
            while self._events and self._events[0][0] <= self.now_ms:
                heapq.heappop(self._events)[2]()
                self._deliver_answers()
        self.host.advance_ms(end_ms - self.now_ms)

    def tell(self, what: str) -> None:
        """Note what happens."""
        self.story.append(f"{self.now_ms / 1000:8.3f} {what}")

    # Members -----------------------------------------------------------------------------------------

    def add(self, member: Mind) -> None:
        """Let a member begin to live."""
        self.members.append(member)
        self.tell(f"{member.name} comes")
        life = member.life()
        self._step(member, life, None)

    def remove(self, member: Mind, why: str) -> None:
        """A member is no more; nobody is told."""
        if not member.is_gone:
            member.is_gone = True
            member.owned.clear()
            member.connection.asked.clear()
            self.members.remove(member)
            self.tell(f"{member.name} {why}")

    def _step(self, member: Mind, life: Life, answer: Any) -> None:
        if member.is_gone:
            return
        if self.now_ms < member.paused_until_ms:
            self.after(member.paused_until_ms - self.now_ms, lambda: self._step(member, life, answer))
            return
        try:
            wish = life.send(answer)
        except StopIteration:
            self.remove(member, "has left")
        else:
            if isinstance(wish, Sleep):
                self.after(wish.ms, lambda: self._step(member, life, None))
            else:
                self._ask(member, life, wish)
        self._check_owners()

    # The network -------------------------------------------------------------------------------------

    def latency_ms(self) -> int:
        """How long a message takes."""
        return self.random.randrange(LATENCY_MS)

    def _is_lost(self) -> bool:
        return self.random.randrange(1000) < self.loss

    def _ask(self, member: Mind, life: Life, wish: Ask) -> None:
        connection = member.connection = HostConnection(member.name)
        connection.life = life  # type: ignore[attr-defined]
        if self._is_lost():
            self.after(NOTICED_AFTER_MS, lambda: self._broken(member, connection, life))
            return

        def arrive() -> None:
            if not member.is_gone:
                connection.arrived_ms = self.now_ms  # type: ignore[attr-defined]
                # Who was given up meanwhile does not become a member again by waiting.
                waits = isinstance(wish.request, m.JoinGroupRequest)
                member.waits = waits and not member.is_lapsed(self.now_ms)
                self.host.send(connection, wish.request, wish.version, client_id=member.name)

        self.after(self.latency_ms(), arrive)

    def _broken(self, member: Mind, connection: HostConnection, life: Life) -> None:
        if member.connection is connection:
            connection.asked.clear()
            self._step(member, life, None)

    def _deliver_answers(self) -> None:
        for member in list(self.members):
            connection = member.connection
            while connection.answers:
                _, answer = connection.answers.popleft()
                member.joined_ms = self.now_ms - COMMIT_DELAY_MS
                if member.waits:
                    # Its session runs again from here on, whether it hears of it or not.
                    member.waits = False
                    member.heard_ms = member.joined_ms
                life = connection.life  # type: ignore[attr-defined]
                if self._is_lost():
                    self.after(NOTICED_AFTER_MS, lambda m=member, c=connection, f=life: self._broken(m, c, f))  # type: ignore[misc]
                    continue
                arrived_ms = connection.arrived_ms  # type: ignore[attr-defined]

                def hear(
                    member: Mind = member, life: Life = life, answer: Any = answer, began_ms: int = arrived_ms
                ) -> None:
                    member.session_began_ms = began_ms
                    self._step(member, life, answer)

                self.after(self.latency_ms(), hear)

    # The coordinator's troubles -------------------------------------------------------------------------

    def restart(self, *, compacted: bool) -> None:
        """A clean stop and start."""
        self.tell(f"the coordinator restarts{' on a compacted log' if compacted else ''}")
        self.host.restart(compacted=compacted)
        self._deliver_answers()
        self._read_log()

    def crash(self, *, compacted: bool) -> None:
        """Power is gone: what is not committed may be lost, and every connection breaks."""
        uncommitted = self.host.uncommitted
        keep = self.random.randrange(uncommitted + 1)
        self.tell(f"the coordinator crashes and keeps {keep} of {uncommitted} uncommitted batches")
        for member in self.members:
            connection = member.connection
            if member.waits:
                member.waits = False
                member.heard_ms = self.now_ms
            if connection.asked:
                connection.asked.clear()
                life = connection.life  # type: ignore[attr-defined]
                self.after(NOTICED_AFTER_MS, lambda m=member, c=connection, f=life: self._broken(m, c, f))  # type: ignore[misc]
        self.host.crash(keep=keep, compacted=compacted)
        self._read_log()

    # Rules -------------------------------------------------------------------------------------------

    def _check_owners(self) -> None:
        owners: dict[TopicPartition, Mind] = {}
        for member in self.members:
            if member.is_lapsed(self.now_ms):
                continue
            for partition in member.owned:
                other = owners.setdefault(partition, member)
                if other is not member:
                    raise RuleBrokenError(f"{partition} is owned by {other.name} and by {member.name}")

    def committed(self, partition: TopicPartition, offset: int) -> None:
        """A member was told that its commit is there."""
        self.acked[partition] = max(self.acked.get(partition, 0), offset)

    def fetched(self, partition: TopicPartition, offset: int, acked_before: int) -> None:
        """A member was told where to begin."""
        if max(offset, 0) < acked_before:
            raise RuleBrokenError(f"{partition} begins at {offset}; {acked_before} was acknowledged before")

    def _appended(self, records: list[CoordinatorRecord]) -> None:
        for record in records:
            self._note(record)

    def _note(self, record: CoordinatorRecord) -> None:
        key, value = record.key, record.value
        if not isinstance(key, m.OffsetCommitKey):
            return
        partition = (key.topic, key.partition)
        if not isinstance(value, m.OffsetCommitValue):
            raise RuleBrokenError(f"the offset of {partition} is deleted")
        if value.offset < self._logged.get(partition, 0):
            raise RuleBrokenError(
                f"{partition} goes back in the log from {self._logged[partition]} to {value.offset}"
            )
        self._logged[partition] = value.offset

    def _read_log(self) -> None:
        self._logged.clear()
        for logged in self.host.log:
            self._note(self._codec.decode(logged.key, logged.value))
        self.check_commits()

    def check_commits(self) -> None:
        """Every acknowledged commit is in the log and in the coordinator's memory."""
        for (topic, number), acked in self.acked.items():
            logged = self._logged.get((topic, number), 0)
            kept = self.host.shard.offsets.committed.get(GROUP, topic, number)
            if logged < acked or kept is None or kept.committed_offset < acked:
                raise RuleBrokenError(f"{topic}-{number}: {acked} was acknowledged, {logged} is in the log")

    def partitions(self) -> set[TopicPartition]:
        """All partitions that there are."""
        return {(topic, number) for topic, count in self.topics.items() for number in range(count)}
