"""Members of consumer groups for tests: one line a heartbeat, against one shard without a broker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from barnabas.coordinator.consumer.group import ConsumerGroup
from barnabas.coordinator.groups.config import GroupConfig
from barnabas.coordinator.runtime.outcome import CoordinatorRecord
from barnabas.protocol import messages
from barnabas.protocol.structures import Message
from tests.group_host import GroupHost, HostConnection

GROUP = "g"
REBALANCE_MS = 60_000
HEARTBEAT_MS = 5_000

Owned = Mapping[str, Iterable[int]]


class Members:
    """The clients of one group.

    Attributes:
        host: the shard, its log and its time.
        records: what was appended since `written` was called.
    """

    def __init__(self, topics: Mapping[str, int] | None = None, **config: Any) -> None:
        settings = {"group_consumer_assignment_interval_ms": 0} | config
        self.host = GroupHost(topics or {"t": 6}, GroupConfig(**settings))
        self.host.appended = self._note
        self.records: list[CoordinatorRecord] = []
        self._connection = HostConnection("c")

    def _note(self, records: Iterable[CoordinatorRecord]) -> None:
        self.records.extend(records)

    @property
    def group(self) -> ConsumerGroup:
        """The group as the shard has it."""
        group = self.host.shard.groups[GROUP]
        assert isinstance(group, ConsumerGroup)
        return group

    def ask(self, request: Message, version: int, client_id: str = "client") -> Any:
        """Return the answer to any request; it must come at once, or when what waits for nothing fires."""
        self.host.send(self._connection, request, version, client_id)
        if not self._connection.answers:
            self.host.advance_ms(0)
        name, response = self._connection.answers.popleft()
        assert not self._connection.answers, name
        return response

    def join(self, member_id: str, *topics: str, **fields: Any) -> messages.ConsumerGroupHeartbeatResponse:
        """Send a first heartbeat."""
        told: dict[str, Any] = {
            "subscribed_topic_names": list(topics) or ["t"],
            "rebalance_timeout_ms": REBALANCE_MS,
            "topic_partitions": [],
        }
        return self.beat(member_id, 0, **(told | fields))

    def beat(
        self, member_id: str, epoch: int, owned: Owned | None = None, version: int = 1, **fields: Any
    ) -> messages.ConsumerGroupHeartbeatResponse:
        """Send a heartbeat; what is not named has not changed."""
        if owned is not None:
            fields["topic_partitions"] = [
                messages.ConsumerGroupHeartbeatRequestTopicPartitions(
                    topic_id=self.host.topic_id(name), partitions=list(numbers)
                )
                for name, numbers in owned.items()
            ]
        request = messages.ConsumerGroupHeartbeatRequest(
            group_id=GROUP, member_id=member_id, member_epoch=epoch, **fields
        )
        response = self.ask(request, version)
        assert isinstance(response, messages.ConsumerGroupHeartbeatResponse)
        return response

    def given(self, response: messages.ConsumerGroupHeartbeatResponse) -> dict[str, list[int]] | None:
        """Return what an answer assigns, by topic name; None when it says nothing of it."""
        if response.assignment is None:
            return None
        by_id = self.host.image.topics_by_id
        return {
            by_id[bytes(topic.topic_id)].name: list(topic.partitions)
            for topic in response.assignment.topic_partitions
        }

    def settle(self, *member_ids: str) -> dict[str, dict[str, list[int]]]:
        """Let members heartbeat, owning what they are assigned, until nobody moves; return who has what."""
        for _ in range(20):
            before = dict(self.group.members)
            for member_id in member_ids:
                member = self.group.members[member_id]
                self.beat(member_id, member.member_epoch, owned=self.assigned(member_id))
            if self.group.members == before:
                return {member_id: self.assigned(member_id) for member_id in member_ids}
        raise AssertionError("the group does not settle")

    def assigned(self, member_id: str) -> dict[str, list[int]]:
        """Return what a member has and may keep, by topic name."""
        by_id = self.host.image.topics_by_id
        return {
            by_id[topic_id].name: sorted(numbers)
            for topic_id, numbers in self.group.members[member_id].assigned.items()
            if topic_id in by_id
        }

    def written(self) -> list[str]:
        """Return the kinds of records appended since the last call; a minus marks a tombstone."""
        names = [
            ("-" if record.value is None else "") + type(record.key).__name__.removesuffix("Key")
            for record in self.records
        ]
        self.records.clear()
        return names
