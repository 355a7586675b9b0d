"""kill -9 while groups commit, again and again: what was acknowledged is there, and nothing is made up."""

import random
import threading
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests import under_test

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

KILLS = 3
KILLS_SLOW = 30
GROUPS = 4
PARTITIONS = 3
TOPIC = "committed"
DEADLINE_S = 120


class Committer:
    """Commits growing offsets for one group from a thread of its own until it is stopped.

    Attributes:
        tried: the last number whose commit was sent; all partitions are committed with it at once.
        acknowledged: the last number that the broker said it has.
    """

    def __init__(self, bootstrap: str, group: str) -> None:
        self.group = group
        self.tried = 0
        self.acknowledged = 0
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "enable.auto.commit": False,
                "log_level": 0,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 200,
            }
        )
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self.tried += 1
            offsets = [TopicPartition(TOPIC, number, self.tried) for number in range(PARTITIONS)]
            try:
                done = self._consumer.commit(offsets=offsets, asynchronous=False)
            except KafkaException:
                time.sleep(0.02)
                continue
            if not any(one.error for one in done):
                self.acknowledged = self.tried

    def wait_for_acknowledged(self, more: int) -> None:
        wanted = self.acknowledged + more
        deadline = time.monotonic() + DEADLINE_S
        while self.acknowledged < wanted:
            assert time.monotonic() < deadline, f"{self.group} is stuck at {self.acknowledged}"
            time.sleep(0.01)

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(DEADLINE_S)
        self._consumer.close()


def check(bootstrap: str, committer: Committer, acknowledged: int) -> None:
    """All partitions were committed together, at or after what was acknowledged before."""
    reader = Consumer({"bootstrap.servers": bootstrap, "group.id": committer.group, "log_level": 0})
    try:
        asked = [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
        found = {one.offset for one in reader.committed(asked, timeout=DEADLINE_S)}
    finally:
        reader.close()
    (only,) = found
    assert acknowledged <= only <= committer.tried


def test_every_acknowledged_commit_survives_kills(tmp_path: Path, slow: bool, rng: random.Random) -> None:
    broker = under_test.make_broker(tmp_path / "broker")
    try:
        broker.start()
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(30)
        committers = [Committer(broker.bootstrap, f"group-{number}") for number in range(GROUPS)]
        for _ in range(KILLS_SLOW if slow else KILLS):
            for committer in committers:
                committer.wait_for_acknowledged(1)
            time.sleep(rng.uniform(0, 0.5))
            broker.kill()
            before = [committer.acknowledged for committer in committers]
            broker.start()
            for committer, acknowledged in zip(committers, before, strict=True):
                check(broker.bootstrap, committer, acknowledged)
        for committer in committers:
            committer.wait_for_acknowledged(1)
            committer.stop()
        broker.stop()
        broker.start()
        for committer in committers:
            check(broker.bootstrap, committer, committer.acknowledged)
        broker.stop()
    except BaseException as error:
        error.add_note(f"the broker's log ends:\n{broker.log_tail()}")
        raise
    finally:
        broker.kill()
