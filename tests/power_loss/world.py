"""The world of the simulation: one machine, one broker, its clients, and crashes.

A seed decides the configuration, what every client does, how the helper thread's work and the loop's turns
lie in time, where the power goes and what the disk keeps. Between crashes the clients check what they are
told; after each crash `check.py` compares what is there with what was promised, and the load goes on.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Any

from barnabas.server.settings import Settings, load_settings
from tests.power_loss.check import Checker
from tests.power_loss.clients import (
    Action,
    Client,
    Committer,
    Consumer,
    IdempotentProducer,
    PlainProducer,
    TransactionalProducer,
)
from tests.power_loss.history import PartitionHistory, expect
from tests.power_loss.machine import (
    NEVER,
    ROOT,
    Machine,
    PowerLossError,
    SimulatedBroker,
    SimulatedConnection,
    simulated_parts,
)
from tests.power_loss.topics import Administrator, TopicHistory

STEPS_MAX = 70
CRASHES = 4
STOP_AGAIN_EVERY = 12
"""Starts that are stopped at once, one in so many: a clean stop syncs what other rules are tried by."""

OFFSETS_TOPIC = "plain"


class World:
    """Everything of one seed.

    Attributes:
        internal_durable: flush.messages=1 holds for all topics, by the broker's own setting.
        topics: every topic there ever was.
        story: what happened, for people.
    """

    offsets_topic = OFFSETS_TOPIC

    def __init__(self, seed: int, *, steps_max: int = STEPS_MAX, crashes: int = CRASHES) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self._stops = random.Random(f"stops {seed}")  # of its own, so that other seeds stay what they are
        self.machine = Machine(self.random)
        self.internal_durable = self.random.randrange(2) == 0
        self.settings = self._make_settings()
        self.topics: list[TopicHistory] = []
        self.producer_ids: set[int] = set()
        self.story: list[str] = []
        self._steps_max = steps_max
        self._crashes = crashes
        self._answers: deque[Callable[[], None]] = deque()
        self._under_way: dict[Client, Action] = {}
        self._is_dead = False
        self._administrator = Administrator(self, "admin")
        self.transactional = [TransactionalProducer(self, f"t{n}") for n in range(2)]
        self.committers = [Committer(self, f"g{n}") for n in range(2)]
        self.clients: list[Client] = [
            self._administrator,
            PlainProducer(self, "p0"),
            PlainProducer(self, "p1"),
            IdempotentProducer(self, "i0"),
            IdempotentProducer(self, "i1"),
            IdempotentProducer(self, "i2"),
            Consumer(self, "c0"),
            Consumer(self, "c1"),
            *self.transactional,
            *self.committers,
        ]
        self.checker = Checker(self)

    def _make_settings(self) -> Settings:
        draw = self.random.choice
        overrides = {
            "listeners": "PLAINTEXT://localhost:9092",
            "log.dirs": ROOT,
            "cold.read.threads": "0",
            "auto.create.topics.enable": "false",
            "offsets.topic.num.partitions": draw(("1", "2")),
            "transaction.state.log.num.partitions": draw(("1", "2")),
            "log.flush.offset.checkpoint.interval.ms": draw(("300", "3000", "60000")),
            "log.flush.start.offset.checkpoint.interval.ms": draw(("300", "3000", "60000")),
            "replica.high.watermark.checkpoint.interval.ms": draw(("300", "5000")),
            "log.retention.check.interval.ms": draw(("500", "5000")),
            "log.segment.delete.delay.ms": draw(("0", "1000")),
            "log.cleaner.enable": draw(("true", "false")),
            "log.cleaner.backoff.ms": draw(("300", "5000")),
            "log.cleaner.dedupe.buffer.size": "1048576",
        }
        if self.internal_durable:
            overrides["log.flush.interval.messages"] = "1"
        return load_settings(overrides=[f"{key}={value}" for key, value in overrides.items()])

    # What clients ask --------------------------------------------------------------------------------

    def any_partition(self, *, compacted: bool = True) -> PartitionHistory | None:
        """Return a partition of a topic that is there."""
        there = [
            history
            for topic in self.topics
            if topic.state == "there" and (compacted or not topic.is_compacted)
            for history in topic.histories
        ]
        return self.random.choice(there) if there else None

    def producer_id_given(self, producer_id: int) -> None:
        """A client got a new producer id."""
        expect(producer_id not in self.producer_ids, f"producer id {producer_id} was given twice")
        self.producer_ids.add(producer_id)

    def tell(self, what: str) -> None:
        """Note what happens."""
        self.story.append(f"{self.machine.clock.monotonic_ms():7d} {self.machine.operations:5d} {what}")

    # Running -----------------------------------------------------------------------------------------

    @property
    def broker(self) -> SimulatedBroker:
        """The broker that runs."""
        assert self.machine.broker is not None
        return self.machine.broker

    def run(self) -> None:
        """Live through all crashes, stop cleanly, start once more, and check all there is at the end."""
        with simulated_parts(self.machine):
            self._run()

    def _run(self) -> None:
        for number in range(self._crashes + 1):
            is_last = number == self._crashes
            stopped = False
            self.machine.crash_at = NEVER if is_last else self._crash_point(is_first=number == 0)
            try:
                self._start()
                self._create_first_topics()
                for _ in range(self.random.randrange(self._steps_max // 2, self._steps_max)):
                    self._step()
                if is_last or not self.random.randrange(4):
                    self._stop()
                    stopped = True
            except PowerLossError as loss:
                self.tell(str(loss))
            self._crash(stopped=stopped)
        self._start()
        self.checker.check_at_the_end()

    def _crash_point(self, *, is_first: bool) -> int:
        """Draw the operation before which the power goes; some crashes hit the start itself."""
        span = self.random.choice((60, 400, 1500) if not is_first else (300, 1500))
        return self.machine.operations + 1 + self.random.randrange(span)

    def _start(self) -> None:
        self.tell("start")
        self.checker.before_start()
        broker = SimulatedBroker(self.settings, self.machine)
        self.machine.broker = broker
        self.machine.preempt = None
        broker.start()
        found = self.checker.check_recovered()
        if not self.random.randrange(4):
            self._start_again(found)
        elif not self._stops.randrange(STOP_AGAIN_EVERY):
            self._stop_again()
        self.broker.settle()
        self.machine.preempt = self._preempted
        self.checker.check_settled()

    def _start_again(self, found: dict[str, Any]) -> None:
        """Kill it at once and start anew: recovery must come to the same."""
        self.tell("killed and started again")
        self.machine.kill()
        self.checker.before_start()
        broker = self.machine.broker = SimulatedBroker(self.settings, self.machine)
        broker.start()
        again = self.checker.check_recovered()
        differing = [name for name in {*found, *again} if found.get(name) != again.get(name)]
        first = next(iter(differing), "")
        expect(
            not differing, f"recovered again, {differing} differ: {found.get(first)}, then {again.get(first)}"
        )

    def _stop_again(self) -> None:
        """Stop it at once and start anew: what this start had to do is done by the next one."""
        self.tell("stopped at once and started again")
        expect(self.broker.stop_at_once(), "the stop was not clean")
        self.checker.before_start()
        broker = self.machine.broker = SimulatedBroker(self.settings, self.machine)
        broker.start()
        self.checker.check_recovered()

    def _stop(self) -> None:
        self.tell("stop")
        self.machine.preempt = None
        expect(self.broker.stop_cleanly(), "the stop was not clean")
        self._break_connections()
        self.tell("stopped")

    def _crash(self, *, stopped: bool) -> None:
        """Take stock, lose power, break all connections."""
        self._break_connections()
        keep_all = not stopped and not self.random.randrange(4)
        self.tell(f"crash{' of the process only' if keep_all else ''}{' after the stop' if stopped else ''}")
        self.checker.take_stock(all_kept=keep_all or stopped)
        self.machine.lose_power(keep_all=keep_all)

    def _create_first_topics(self) -> None:
        admin = self._administrator
        self._act(admin, admin.find_coordinators())
        self.broker.settle()
        self._deliver()
        flush = self.random.choice(("1", None))
        for name, partitions, configs in (
            (OFFSETS_TOPIC, 2, {}),
            ("safe", 2, {"flush.messages": "1"}),
            ("keyed", 1, {"cleanup.policy": "compact", "flush.messages": flush}),
        ):
            if not any(topic.name == name and topic.state != "gone" for topic in self.topics):
                self._act(admin, admin.create_first(name, partitions, configs))
                self.broker.settle()
                self._deliver()

    def _step(self) -> None:
        """One thing happens: somebody acts, an answer arrives, the helper thread or the loop goes on."""
        choice = self.random.randrange(12)
        if choice < 7:
            self._act_somebody()
        elif choice < 9:
            self.machine.step_threads()
        elif choice < 11:
            self.machine.clock.advance_ms(self.random.choice((0, 5, 50, 300, 300, 2000, 9000)))
        self.broker.loop.run_turn()
        if self.random.randrange(3):
            self._deliver()

    def _preempted(self) -> None:
        """The helper thread waits for the disk: the loop goes on."""
        if self.random.randrange(4):
            return
        self.machine.preempt = None
        try:
            for _ in range(self.random.randrange(1, 4)):
                self._act_somebody()
                self.broker.loop.run_turn()
                self._deliver()
        finally:
            self.machine.preempt = self._preempted

    def _act_somebody(self) -> None:
        idle = [client for client in self.clients if not client.is_busy]
        if idle:
            client = self.random.choice(idle)
            self._act(client, client.action())

    def _act(self, client: Client, action: Action) -> None:
        client.is_busy = True
        self._resume(client, action, None)

    def _resume(self, client: Client, action: Action, answer: Any) -> None:
        self._under_way[client] = action
        try:
            asked = action.send(answer)
        except StopIteration:
            client.is_busy = False
            del self._under_way[client]
            return
        if self._is_dead:
            self._resume(client, action, None)
            return
        if client.connection.closed is not None:
            client.connection = SimulatedConnection(client.name)
        connection = client.connection

        def answered(response: Any) -> None:
            # In the moment of the answer it counts as told, even if the power goes before it is heard.
            self._answers.append(lambda: self._resume(client, action, response))

        self.tell(f"{client.name} asks {type(asked.request).__name__}")
        connection.ask(
            self.broker.dispatcher, asked.request, asked.version, next(self.machine.correlation_ids), answered
        )

    def _deliver(self) -> None:
        """Let clients hear their answers, and ask on."""
        for _ in range(len(self._answers)):
            self._answers.popleft()()

    def _break_connections(self) -> None:
        """Answers that left before the power went are heard; what clients ask then, nobody gets."""
        self._is_dead = True
        self._deliver()
        for client, action in list(self._under_way.items()):
            self._resume(client, action, None)
        self._is_dead = False
        for client in self.clients:
            client.reconnected()
