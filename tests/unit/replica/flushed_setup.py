"""A broker whose topics have `flush.messages`, and whose syncs end when the test says so, in any order."""

import random
from collections.abc import Callable
from typing import Any

from barnabas.base.durations import DurationHistogram
from barnabas.storage.flush.group_commit import GroupCommit
from barnabas.storage.log_config import LogConfig

from .broker_setup import TOPIC, TOPIC_ID, Broker

Work = Callable[[], None]
Done = Callable[[OSError | None], None]


class Syncs:
    """Stands where helper threads are: keeps work until it is told to run it."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Work, Done]] = []
        self.begun = 0

    def run(self, work: Work, done: Done) -> None:
        self.begun += 1
        self.waiting.append((work, done))

    def end(self, number: int = 0, *, error: OSError | None = None) -> None:
        """Let one sync end, well or with an error."""
        work, done = self.waiting.pop(number)
        if error is None:
            try:
                work()
            except OSError as raised:
                error = raised
        done(error)


class FlushedBroker(Broker):
    """Its partitions' logs are synced by group commit.

    Attributes:
        syncs: those under way.
        synced: paths of the files that were synced, in order.
    """

    def __init__(
        self,
        partitions: int = 1,
        *,
        flush_messages: int = 1,
        config: LogConfig | None = None,
        **placement: Any,
    ) -> None:
        super().__init__(0, config=config or LogConfig(flush_messages=flush_messages))
        self.logs.disk.sync_dir("/")
        self.syncs = Syncs()
        self.group_commit = GroupCommit(self.logs.logs, self.syncs.run, self.soon.append, DurationHistogram())
        self.group_commit.on_released = self.manager.log_released
        if partitions:
            self.create(TOPIC, TOPIC_ID, partitions, **placement)
        self.synced: list[str] = []
        self.logs.disk.on_operation = self._note

    def create(self, topic: str, topic_id: bytes, partitions: int, **placement: Any) -> None:
        super().create(topic, topic_id, partitions, **placement)
        for log in self.logs.logs.values():
            log.flushes = self.group_commit

    def _note(self, what: str, path: str) -> None:
        if what == "sync":
            self.synced.append(path)

    def end_syncs(self, seed: int = 0) -> int:
        """Let all syncs end that are under way, and those that begin then; return how many there were."""
        order, ended = random.Random(seed), 0
        self.settle()
        while self.syncs.waiting:
            self.syncs.end(order.randrange(len(self.syncs.waiting)))
            ended += 1
            self.settle()
        return ended
