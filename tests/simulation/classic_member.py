"""A consumer of the classic protocol, eager or cooperative, with the assigning done by whoever leads."""

from __future__ import annotations

from typing import Any

from barnabas.base.errors import ErrorCode
from barnabas.protocol import messages as m
from tests.simulation.client_assignors import Assignment, assign_cooperative, assign_range
from tests.simulation.reading import RETRY_MS, Reader
from tests.simulation.world import GROUP, REBALANCE_MS, SESSION_MS, Ask, Life, Sleep, World

JOIN_VERSION, SYNC_VERSION, HEARTBEAT_VERSION, LEAVE_VERSION = 9, 5, 4, 5
SUBSCRIPTION_VERSION = 3
RANGE, COOPERATIVE = "range", "cooperative-sticky"


class ClassicMember(Reader):
    """One member.

    Args:
        protocol: RANGE, which gives everything up before it joins, or COOPERATIVE, which keeps it.
    """

    def __init__(self, world: World, name: str, instance_id: str | None, protocol: str) -> None:
        super().__init__(world, name, instance_id)
        self._protocol = protocol
        self._is_member = False
        self._assigned_topics: dict[str, int] | None = None

    @property
    def is_settled(self) -> bool:
        return self._is_member and self.owned == self.positions.keys()

    def life(self) -> Life:
        """Join and stay until it is told to leave."""
        while not self.is_leaving:
            if (yield from self._join()):
                yield from self._stay()
            self._is_member = False
        if self.member_id:
            yield from self.commit()
            self.lose()
            leaving = m.LeaveGroupRequestMemberIdentity(
                member_id=self.member_id, group_instance_id=self.instance_id
            )
            yield Ask(m.LeaveGroupRequest(group_id=GROUP, members=[leaving]), LEAVE_VERSION)

    def _join(self) -> Life:
        """Join and sync; True when it is a member with an assignment."""
        if self._protocol == RANGE:
            self.lose()
        answer = yield Ask(self._join_request(), JOIN_VERSION)
        if answer is None:
            return False
        self.member_id = answer.member_id or self.member_id
        if answer.error_code:
            yield from self._refused(answer.error_code)
            return False
        # The session began when the group had joined, which was no earlier than this.
        self.heard_ms = max(self.heard_ms, self.joined_ms)
        self.generation = answer.generation_id
        leads = answer.leader == answer.member_id and bool(answer.members)
        given = self._assign(answer) if leads and not answer.skip_assignment else {}
        # Whoever leads keeps an eye on the topics, and has all join again when there is more to assign.
        self._assigned_topics = dict(self.world.topics) if leads else None
        answer = yield Ask(self._sync_request(given), SYNC_VERSION)
        if answer is None:
            return False
        if answer.error_code:
            yield from self._refused(answer.error_code)
            return False
        return (yield from self._take(answer.assignment))

    def _take(self, data: bytes) -> Life:
        told = m.ConsumerProtocolAssignment.decode(data, SUBSCRIPTION_VERSION, 2) if data else None
        mine = {
            (topic.topic, number)
            for topic in (told.assigned_partitions if told is not None else ())
            for number in topic.partitions
        }
        taken_away = self.owned - mine
        self.lose(taken_away)
        self.owned = mine
        if taken_away:
            return False  # it joins again at once, so that others get them
        yield from self.begin()
        self._is_member = True
        return True

    def _stay(self) -> Life:
        while not self.is_leaving:
            yield self.sleep()
            if self._assigned_topics not in (None, self.world.topics):
                yield from self.commit()
                return
            self.read_on()
            if self.world.random.randrange(2):
                yield from self.commit()
            request = m.HeartbeatRequest(
                group_id=GROUP,
                generation_id=self.generation,
                member_id=self.member_id,
                group_instance_id=self.instance_id,
            )
            answer = yield Ask(request, HEARTBEAT_VERSION)
            if answer is None:
                continue
            if answer.error_code == ErrorCode.REBALANCE_IN_PROGRESS:
                self.heard()
                yield from self.commit()
                return
            if answer.error_code:
                if (yield from self._refused(answer.error_code)):
                    return
                continue
            self.heard()

    def _refused(self, error_code: int) -> Life:
        """Do what an error asks for; True when it is not the member that it was."""
        match ErrorCode(error_code):
            case ErrorCode.UNKNOWN_MEMBER_ID:
                self.lose()
                self.member_id, self.generation = "", -1
            case ErrorCode.ILLEGAL_GENERATION:
                self.lose()
                self.generation = -1
            case ErrorCode.FENCED_INSTANCE_ID:
                self.world.remove(self, "is fenced")
            case ErrorCode.MEMBER_ID_REQUIRED | ErrorCode.REBALANCE_IN_PROGRESS:
                pass
            case (
                ErrorCode.NOT_COORDINATOR
                | ErrorCode.COORDINATOR_NOT_AVAILABLE
                | ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            ):
                yield Sleep(RETRY_MS)
                return False
            case unexpected:
                raise AssertionError(f"{self.name} is answered {unexpected.name}")
        return True

    # Requests ----------------------------------------------------------------------------------------

    def _join_request(self) -> m.JoinGroupRequest:
        by_topic: dict[str, list[int]] = {}
        for name, number in sorted(self.owned):
            by_topic.setdefault(name, []).append(number)
        told = m.ConsumerProtocolSubscription(
            topics=sorted(self.world.topics),
            owned_partitions=[
                m.ConsumerProtocolSubscriptionTopicPartition(topic=name, partitions=numbers)
                for name, numbers in by_topic.items()
            ],
            generation_id=self.generation,
        )
        metadata = SUBSCRIPTION_VERSION.to_bytes(2, "big") + told.encode(SUBSCRIPTION_VERSION)
        protocol = m.JoinGroupRequestJoinGroupRequestProtocol(name=self._protocol, metadata=metadata)
        return m.JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocols=[protocol],
        )

    def _assign(self, answer: Any) -> Assignment:
        told = {
            member.member_id: m.ConsumerProtocolSubscription.decode(member.metadata, SUBSCRIPTION_VERSION, 2)
            for member in answer.members
        }
        if self._protocol == RANGE:
            return assign_range(list(told), self.world.topics)
        owned = {
            member: (
                one.generation_id,
                [(topic.topic, number) for topic in one.owned_partitions for number in topic.partitions],
            )
            for member, one in told.items()
        }
        return assign_cooperative(owned, self.world.topics)

    def _sync_request(self, given: Assignment) -> m.SyncGroupRequest:
        assignments = []
        for member, partitions in given.items():
            by_topic: dict[str, list[int]] = {}
            for name, number in sorted(partitions):
                by_topic.setdefault(name, []).append(number)
            told = m.ConsumerProtocolAssignment(
                assigned_partitions=[
                    m.ConsumerProtocolAssignmentTopicPartition(topic=name, partitions=numbers)
                    for name, numbers in by_topic.items()
                ]
            )
            data = SUBSCRIPTION_VERSION.to_bytes(2, "big") + told.encode(SUBSCRIPTION_VERSION)
            assignments.append(
                m.SyncGroupRequestSyncGroupRequestAssignment(member_id=member, assignment=data)
            )
        return m.SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocol_name=self._protocol,
            assignments=assignments,
        )
