"""A consumer group that lives goes to Apache Kafka and back, and no member notices but by the reconnect.

Members go on in their epochs with what they have: so records, epochs, targets and the hash of the topics are
read as they were meant.
"""

import time
from pathlib import Path
from typing import Any

import pytest

from barnabas.protocol import messages as m
from tests.broker import BarnabasBroker
from tests.interop.first_slice.asker import Asker
from tests.oracle.kafka import KafkaBroker, running

pytestmark = [pytest.mark.interop, pytest.mark.java, pytest.mark.slow, pytest.mark.timeout(300)]

GROUP = "living"
TOPICS = {"first": 5, "second": 3}
DEADLINE_S = 60
RETRIABLE = (14, 15, 16)

Owned = dict[bytes, list[int]]


class Member:
    """A member as its client knows it."""

    def __init__(self, member_id: str, *topics: str, regex: str | None = None) -> None:
        self.member_id = member_id
        self.epoch = 0
        self.owned: Owned = {}
        self._topics = list(topics)
        self._regex = regex

    def beat(self, asker: Asker) -> m.ConsumerGroupHeartbeatResponse:
        """Heartbeat, taking over what is told; a coordinator that still loads is asked again."""
        request = m.ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=self.member_id,
            member_epoch=self.epoch,
            topic_partitions=[
                m.ConsumerGroupHeartbeatRequestTopicPartitions(topic_id=topic_id, partitions=numbers)
                for topic_id, numbers in self.owned.items()
            ],
        )
        if self.epoch == 0:
            request.rebalance_timeout_ms = 60_000
            request.subscribed_topic_names = self._topics
            request.subscribed_topic_regex = self._regex
        answer: Any = None

        def is_answered() -> bool:
            nonlocal answer
            answer = asker.exchange(1, request)
            return answer is not None and answer.error_code not in RETRIABLE

        asker.until(is_answered)
        assert answer.error_code == 0, answer
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.owned = {
                bytes(topic.topic_id): sorted(topic.partitions)
                for topic in answer.assignment.topic_partitions
            }
        return answer  # type: ignore[no-any-return]


def settle(asker: Asker, members: list[Member], partitions: int) -> None:
    """Beat in turn until everybody is in one epoch and all partitions are with somebody."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        for member in members:
            member.beat(asker)
        owned = sum(len(numbers) for member in members for numbers in member.owned.values())
        if owned == partitions and len({member.epoch for member in members}) == 1:
            return
        assert time.monotonic() < deadline, [(member.epoch, member.owned) for member in members]
        time.sleep(0.1)


def go_on(broker: BarnabasBroker | KafkaBroker, members: list[Member]) -> Asker:
    """Members of another broker's group heartbeat here and hear nothing new."""
    asker = Asker(broker.port)
    epochs = {member.epoch for member in members}
    for _ in range(2):
        for member in members:
            assert member.beat(asker).assignment is None
    assert {member.epoch for member in members} == epochs
    return asker


def test_a_consumer_group_changes_hands_while_it_lives(tmp_path: Path) -> None:
    data = tmp_path / "data"
    overrides = {"offsets.topic.num.partitions": "5", "group.consumer.assignment.interval.ms": "0"}
    ours = BarnabasBroker(tmp_path / "ours", data_dir=data, overrides=overrides | {"node.id": "1"})
    ours.start()
    try:
        asker = Asker(ours.port)
        for name, partitions in TOPICS.items():
            asker.make_topic(name, partitions)
        find = m.FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP])
        asker.until(lambda: asker.exchange(4, find).coordinators[0].error_code == 0)  # type: ignore[union-attr]
        members = [Member("a", "first", "second"), Member("b", "first"), Member("c", regex="sec.*")]
        settle(asker, members, sum(TOPICS.values()))
        ours.stop()
        with running(tmp_path / "kafka", data_dir=data, overrides=overrides) as theirs:
            asker = go_on(theirs, members)
            members.append(Member("d", "first", "second"))
            settle(asker, members, sum(TOPICS.values()))
        ours.start()
        asker = go_on(ours, members)
        members.append(Member("e", "second"))
        settle(asker, members, sum(TOPICS.values()))
    finally:
        ours.kill()
