"""Conversations that a seed draws: members of both protocols that behave well, badly, and not at all.

Both brokers are asked the same at every turn, and what is asked next follows from what they answered, so the
first difference ends a conversation. Consumers wish the assignor `range`, whose outcome leaves nothing open;
where the other one decides freely two brokers may differ and be right.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

from barnabas.protocol import messages as m
from tests.interop.first_slice.asker import Asker

TOPICS = ("one", "three", "six")
MEMBERS = ("a", "b", "c", "d")
CLASSIC = ("x", "y")
INSTANCES = {"c": "i", "d": "i"}
"""Two members that are the same static one, as when a client is started anew."""

REBALANCE_MS = 60_000
SESSION_MS = 30_000
PROTOCOL = "range"

Owned = dict[str, list[int]]


class Difference(NamedTuple):
    """The turn at which two brokers parted."""

    asked: str
    theirs: Any
    ours: Any


class Conversation:
    """One group, asked about by turns.

    Args:
        brokers: Apache Kafka and Barnabas, in this order.
    """

    def __init__(self, brokers: Sequence[Asker], seed: int) -> None:
        self._brokers = brokers
        self._draw = random.Random(seed)
        self._group = f"at-random-{seed}"
        self._epochs: dict[str, int] = {}
        self._owned: dict[str, Owned] = {}
        self._told: dict[str, Owned] = {}

    def run(self, turns: int) -> Difference | None:
        """Take so many turns; return the first difference."""
        acts = [self._enter, self._beat, self._beat, self._beat, self._beat, self._change, self._leave]
        acts += [self._describe, self._commit, self._join, self._classic_turn, self._classic_turn]
        for _ in range(turns):
            difference = self._draw.choice(acts)()
            if difference is not None:
                return difference
        return self._describe()

    # Asking

    def _ask(self, version: int, *requests: m.Message) -> tuple[Any, Difference | None]:
        answers = [
            asker.exchange(version, request) for asker, request in zip(self._brokers, requests, strict=True)
        ]
        theirs, ours = (
            _plain(answer, asker.names) for asker, answer in zip(self._brokers, answers, strict=True)
        )
        asked = f"v{version} {_plain(requests[0], self._brokers[0].names)}"
        return answers[1], None if theirs == ours else Difference(asked, theirs, ours)

    def _same(self, version: int, request: m.Message) -> tuple[Any, Difference | None]:
        return self._ask(version, request, request)

    # Consumers

    def _heartbeat(self, who: str, epoch: int, owned: Owned | None, **fields: Any) -> Difference | None:
        if who in INSTANCES:
            fields["instance_id"] = INSTANCES[who]
        requests = [
            m.ConsumerGroupHeartbeatRequest(
                group_id=self._group,
                member_id=who,
                member_epoch=epoch,
                topic_partitions=None if owned is None else _partitions(asker, owned),
                **fields,
            )
            for asker in self._brokers
        ]
        answer, difference = self._ask(1, *requests)
        if difference is None and answer.error_code == 0:
            self._epochs[who] = answer.member_epoch
            if answer.assignment is not None:
                names = {topic_id: name for name, topic_id in self._brokers[1].topic_ids.items()}
                self._told[who] = {
                    names[bytes(topic.topic_id)]: list(topic.partitions)
                    for topic in answer.assignment.topic_partitions
                }
        return difference

    def _enter(self) -> Difference | None:
        who = self._draw.choice(MEMBERS)
        self._owned[who] = {}
        self._told.pop(who, None)
        return self._heartbeat(
            who,
            0,
            {},
            rebalance_timeout_ms=REBALANCE_MS,
            subscribed_topic_names=self._topics(),
            server_assignor="range",
        )

    def _topics(self) -> list[str]:
        return self._draw.sample(TOPICS, self._draw.randint(1, len(TOPICS)))

    def _beat(self) -> Difference | None:
        """Go on: give up or take over at once what was told, or some of it, or say nothing of it."""
        who = self._draw.choice(MEMBERS)
        epoch = self._epochs.get(who, 1)
        if self._draw.random() < 0.1:
            epoch += self._draw.choice([-2, -1, 1])
        told = self._told.get(who, {})
        owned: Owned | None = self._owned.get(who, {})
        chance = self._draw.random()
        if chance < 0.6:
            owned = self._owned[who] = {topic: list(numbers) for topic, numbers in told.items()}
        elif chance < 0.75:
            owned = None
        elif chance < 0.8:
            owned = {"six": [self._draw.randrange(6)]}
        return self._heartbeat(who, epoch, owned)

    def _change(self) -> Difference | None:
        who = self._draw.choice(MEMBERS)
        owned = self._owned.get(who, {}) if self._draw.random() < 0.5 else None
        return self._heartbeat(
            who,
            self._epochs.get(who, 1),
            owned,
            subscribed_topic_names=self._topics(),
            rebalance_timeout_ms=REBALANCE_MS,
        )

    def _leave(self) -> Difference | None:
        who = self._draw.choice(MEMBERS)
        if self._draw.random() < 0.4:
            return None
        return self._heartbeat(who, self._draw.choice([-1, -2] if who in INSTANCES else [-1]), None)

    def _describe(self) -> Difference | None:
        return self._same(1, m.ConsumerGroupDescribeRequest(group_ids=[self._group]))[1]

    def _commit(self) -> Difference | None:
        who = self._draw.choice(MEMBERS)
        epoch = max(self._epochs.get(who, 1) - self._draw.choice([0, 0, 1, 2, -1]), 0)
        requests = [
            m.OffsetCommitRequest(
                group_id=self._group,
                member_id=who,
                generation_id_or_member_epoch=epoch,
                topics=[
                    m.OffsetCommitRequestOffsetCommitRequestTopic(
                        topic_id=asker.topic_ids[topic],
                        partitions=[
                            m.OffsetCommitRequestOffsetCommitRequestPartition(
                                partition_index=number, committed_offset=1
                            )
                            for number in range(count)
                        ],
                    )
                    for topic, count in (("one", 1), ("three", 3), ("six", 6))
                ],
            )
            for asker in self._brokers
        ]
        return self._ask(10, *requests)[1]

    # Members of the classic protocol. They come with an id of their own, since those of newcomers are drawn.

    def _join(self) -> Difference | None:
        who = self._draw.choice(CLASSIC)
        described, difference = self._same(1, m.ConsumerGroupDescribeRequest(group_ids=[self._group]))
        if difference is not None or described.groups[0].error_code or not described.groups[0].members:
            return difference  # in a classic group it would wait for others
        owned = self._owned.get(who, {}) if self._draw.random() < 0.8 else self._told.get(who, {})
        answer, difference = self._same(
            9,
            m.JoinGroupRequest(
                group_id=self._group,
                member_id=who,
                session_timeout_ms=SESSION_MS,
                rebalance_timeout_ms=REBALANCE_MS,
                protocol_type="consumer",
                protocols=[
                    m.JoinGroupRequestJoinGroupRequestProtocol(
                        name=PROTOCOL, metadata=_subscription(self._topics(), owned)
                    )
                ],
            ),
        )
        if difference is None and answer.error_code == 0:
            self._epochs[who] = answer.generation_id
        return difference

    def _classic_turn(self) -> Difference | None:
        who = self._draw.choice(CLASSIC)
        epoch = self._epochs.get(who, 1) + (self._draw.random() < 0.05)
        chance = self._draw.random()
        if chance < 0.5:
            request = m.HeartbeatRequest(group_id=self._group, member_id=who, generation_id=epoch)
            return self._same(4, request)[1]
        if chance < 0.9:
            sync = m.SyncGroupRequest(
                group_id=self._group,
                member_id=who,
                generation_id=epoch,
                protocol_type="consumer",
                protocol_name=PROTOCOL,
            )
            answer, difference = self._same(5, sync)
            if difference is None and answer.error_code == 0:
                read, _ = m.ConsumerProtocolAssignment.decode_from(bytes(answer.assignment), 3, 2)
                self._told[who] = {topic.topic: list(topic.partitions) for topic in read.assigned_partitions}
                self._owned[who] = self._told[who]
            return difference
        identity = m.LeaveGroupRequestMemberIdentity(member_id=who)
        return self._same(5, m.LeaveGroupRequest(group_id=self._group, members=[identity]))[1]


def _partitions(asker: Asker, owned: Owned) -> list[m.ConsumerGroupHeartbeatRequestTopicPartitions]:
    return [
        m.ConsumerGroupHeartbeatRequestTopicPartitions(topic_id=asker.topic_ids[topic], partitions=numbers)
        for topic, numbers in owned.items()
    ]


def _subscription(topics: list[str], owned: Owned) -> bytes:
    message = m.ConsumerProtocolSubscription(
        topics=topics,
        owned_partitions=[
            m.ConsumerProtocolSubscriptionTopicPartition(topic=topic, partitions=numbers)
            for topic, numbers in owned.items()
        ],
    )
    return b"\0\3" + message.encode(3)


def _plain(value: Any, names: dict[bytes, str]) -> Any:
    """Return a message as plain data: topic ids as names, lists of structs in an order of their own."""
    if isinstance(value, m.Message | m.Struct):
        fields = {
            name: _plain(getattr(value, name), names) for name in value.__slots__ if name != "unknown_tags"
        }
        if "assignment" in fields and isinstance(value, m.SyncGroupResponse) and value.assignment:
            read, _ = m.ConsumerProtocolAssignment.decode_from(bytes(value.assignment), 3, 2)
            fields["assignment"] = _plain(read, names)
        return fields
    if isinstance(value, list | tuple):
        return sorted((_plain(item, names) for item in value), key=repr)
    if isinstance(value, bytes | bytearray | memoryview):
        return names.get(bytes(value), bytes(value))
    return value
