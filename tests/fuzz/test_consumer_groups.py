"""Consumer groups asked without sense: there is always an answer, and never two owners of a partition.

Members of both protocols heartbeat, join, sync and leave with any epoch, any partitions and any bytes,
appends fail now and then, and the shard is loaded anew from its log, compacted or not.
"""

import contextlib
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.base.errors import DecodeError, ErrorCode
from barnabas.coordinator.consumer.group import ConsumerGroup
from barnabas.coordinator.groups.consumer_protocol import read_assignment, read_subscription, write_assignment
from barnabas.protocol import messages
from tests.consumer_members import GROUP, Members
from tests.group_host import HostConnection

SEEDS = range(30)
TURNS = 60
TOPICS = {"t": 3, "u": 2}
NAMES = ("a", "b", "c", "")
INSTANCES = (None, None, None, "i", "", " ")
REGEXES = (None, None, "", "t", "u.*", "(", "[")
EPOCHS = (-3, -2, -1, 0, 0, 0, 1, 2, 3, 4, 5, 2**31 - 1)

Heartbeat = messages.ConsumerGroupHeartbeatRequest


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=40))
def test_any_bytes_are_a_message_or_an_error(data: bytes) -> None:
    for read in (read_subscription, read_assignment):
        with contextlib.suppress(DecodeError):
            read(data)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.text(max_size=5), st.lists(st.integers(0, 99), min_size=1)), st.integers(0, 3))
def test_assignments_are_read_as_they_were_written(partitions: dict[str, list[int]], version: int) -> None:
    read = read_assignment(write_assignment(partitions, version))
    assert {topic.topic: topic.partitions for topic in read.assigned_partitions} == partitions


class Nonsense:
    """Draws requests."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self.members = Members(TOPICS, group_consumer_max_size=4, group_initial_rebalance_delay_ms=0)
        self._connection = HostConnection("nonsense")

    def turn(self) -> None:
        """Ask something, or let something happen."""
        draw = self._draw
        host = self.members.host
        host.append_error = ErrorCode.NOT_ENOUGH_REPLICAS if draw.random() < 0.05 else None
        chance = draw.random()
        if chance < 0.65:
            request = self._heartbeat()
            self._ask(request, 1 if request.subscribed_topic_regex is not None else draw.randint(0, 1))
        elif chance < 0.9:
            self._ask(*self._classic())
        elif chance < 0.93:
            self._restart(compacted=draw.random() < 0.5)
        elif chance < 0.95 and "u" in host.image.topics:
            host.delete_topic("u")
        elif chance < 0.97 and "u" not in host.image.topics:
            host.make_topic("u", 2, topic_id=draw.randbytes(16))
        else:
            host.advance_ms(draw.choice([0, 1_000, 20_000, 60_000]))

    def _restart(self, *, compacted: bool) -> None:
        """Load the log: it tells what memory held."""
        before = self.members.host.shard.groups.get(GROUP)
        self.members.host.restart(compacted=compacted)
        after = self.members.host.shard.groups.get(GROUP)
        if isinstance(before, ConsumerGroup):
            assert isinstance(after, ConsumerGroup)
            for name in ("members", "targets", "group_epoch", "assignment_epoch", "resolved_regexes"):
                assert getattr(after, name) == getattr(before, name), name

    def _ask(self, request: messages.Message, version: int) -> None:
        self.members.host.send(self._connection, request, version)
        self.members.host.advance_ms(0)
        assert self._connection.closed is None
        for _, answer in self._connection.answers:
            assert getattr(answer, "error_code", 0) != ErrorCode.UNKNOWN_SERVER_ERROR, request
        self._connection.answers.clear()

    def _partitions(self) -> list[Any]:
        ids = [*self.members.host.image.topics_by_id, bytes(16)]
        return [
            messages.ConsumerGroupHeartbeatRequestTopicPartitions(
                topic_id=self._draw.choice(ids), partitions=[self._draw.randint(-1, 4) for _ in range(2)]
            )
            for _ in range(self._draw.randint(0, 2))
        ]

    def _heartbeat(self) -> Heartbeat:
        draw = self._draw
        epoch = draw.choice(EPOCHS)
        request = Heartbeat(group_id=GROUP, member_id=draw.choice(NAMES), member_epoch=epoch)
        request.instance_id = draw.choice(INSTANCES)
        if epoch == 0 and draw.random() < 0.9:
            request.topic_partitions, request.rebalance_timeout_ms = [], 10_000
            request.subscribed_topic_names = ["t", "u", "nowhere"][: draw.randint(0, 3)]
        elif draw.random() < 0.7:
            request.topic_partitions = self._partitions()
        if draw.random() < 0.3:
            request.subscribed_topic_regex = draw.choice(REGEXES)
        if draw.random() < 0.2:
            request.server_assignor = draw.choice(["range", "uniform", "other"])
        return request

    def _classic(self) -> tuple[messages.Message, int]:
        draw = self._draw
        name, generation = draw.choice(NAMES), draw.choice(EPOCHS)
        chance = draw.random()
        if chance < 0.5:
            message = messages.ConsumerProtocolSubscription(topics=["t", "u"][: draw.randint(0, 2)])
            metadata = b"\0\3" + message.encode(3) if draw.random() < 0.8 else draw.randbytes(9)
            protocol = messages.JoinGroupRequestJoinGroupRequestProtocol(name="range", metadata=metadata)
            return messages.JoinGroupRequest(
                group_id=GROUP,
                member_id=name,
                group_instance_id=draw.choice([None, None, "i"]),
                session_timeout_ms=10_000,
                rebalance_timeout_ms=10_000,
                protocol_type="consumer",
                protocols=[protocol],
            ), draw.choice([5, 9])
        if chance < 0.7:
            return messages.SyncGroupRequest(
                group_id=GROUP,
                member_id=name,
                generation_id=generation,
                protocol_type="consumer",
                protocol_name="range",
            ), 5
        if chance < 0.9:
            return messages.HeartbeatRequest(group_id=GROUP, member_id=name, generation_id=generation), 4
        identity = messages.LeaveGroupRequestMemberIdentity(member_id=name)
        return messages.LeaveGroupRequest(group_id=GROUP, members=[identity]), 5

    def check(self) -> None:
        """Nobody has what another has."""
        group = self.members.host.shard.groups.get(GROUP)
        if not isinstance(group, ConsumerGroup):
            return
        owned = [
            (topic_id, number)
            for member in group.members.values()
            for partitions in (member.assigned, member.pending_revocation)
            for topic_id, numbers in partitions.items()
            for number in numbers
        ]
        assert len(owned) == len(set(owned))


@pytest.mark.parametrize("seed", SEEDS)
def test_senseless_requests_are_answered_and_break_nothing(seed: int) -> None:
    nonsense = Nonsense(seed)
    for _ in range(TURNS):
        nonsense.turn()
        nonsense.check()
