"""A consumer of KIP-848: it tells what it owns, and takes over what the coordinator assigns."""

from __future__ import annotations

from typing import Any

from barnabas.base.errors import ErrorCode
from barnabas.protocol import messages as m
from tests.simulation.reading import RETRY_MS, Reader
from tests.simulation.world import GROUP, REBALANCE_MS, Ask, Life, Sleep, World

VERSION = 1
LEAVES, PAUSES = -1, -2
NAME_TAKEN_RETRY_MS = 1000


class ConsumerMember(Reader):
    """One member, with an assignor that it may wish for."""

    def __init__(self, world: World, name: str, instance_id: str | None, assignor: str | None) -> None:
        super().__init__(world, name, instance_id)
        self.member_id = f"id-of-{name}"
        self.generation = 0
        self._assignor = assignor
        self._tells_all = True
        self._tells_owned = False

    @property
    def is_settled(self) -> bool:
        return self.generation > 0 and self.owned == self.positions.keys() and not self._tells_owned

    def life(self) -> Life:
        """Heartbeat until it is told to leave."""
        while not self.is_leaving:
            if self.world.random.randrange(2):
                self.read_on()
                yield from self.commit()
            yield from self._beat()
            if not self._tells_owned:
                yield self.sleep()
        yield from self.commit()
        self.lose()
        is_back_soon = self.instance_id is not None and self.world.random.randrange(2) == 0
        yield Ask(self._request(PAUSES if is_back_soon else LEAVES), VERSION)

    def _beat(self) -> Life:
        answer = yield Ask(self._request(self.generation), VERSION)
        if answer is None:
            self._tells_all = True
            return
        match ErrorCode(answer.error_code):
            case ErrorCode.NONE:
                self._tells_all = self._tells_owned = False
                self.generation = answer.member_epoch
                self.heard()
                if answer.assignment is not None:
                    yield from self._take(answer.assignment)
            case ErrorCode.UNKNOWN_MEMBER_ID | ErrorCode.FENCED_MEMBER_EPOCH:
                self.lose()
                self.generation = 0
                self._tells_all = True
            case ErrorCode.UNRELEASED_INSTANCE_ID:
                self._tells_all = True
                yield Sleep(NAME_TAKEN_RETRY_MS)
            case ErrorCode.FENCED_INSTANCE_ID:
                self.world.remove(self, "is fenced")
            case ErrorCode.GROUP_ID_NOT_FOUND if self.is_lapsed(self.world.now_ms):
                # Given up meanwhile, and the group became a classic one: clients end with that.
                self.world.remove(self, "finds no group")
            case (
                ErrorCode.NOT_COORDINATOR
                | ErrorCode.COORDINATOR_NOT_AVAILABLE
                | ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            ):
                self._tells_all = True
                yield Sleep(RETRY_MS)
            case unexpected:
                raise AssertionError(f"{self.name} is answered {unexpected.name}: {answer.error_message}")

    def _take(self, assignment: Any) -> Life:
        names = {self.world.host.topic_id(name): name for name in self.world.topics}
        mine = {
            (names[bytes(topic.topic_id)], number)
            for topic in assignment.topic_partitions
            for number in topic.partitions
        }
        taken_away = self.owned - mine
        if taken_away:
            yield from self.commit()
            self.lose(taken_away)
        self._tells_owned = mine != self.owned or bool(taken_away)
        self.owned = mine
        yield from self.begin()

    def _request(self, epoch: int) -> m.ConsumerGroupHeartbeatRequest:
        request = m.ConsumerGroupHeartbeatRequest(
            group_id=GROUP, member_id=self.member_id, member_epoch=epoch, instance_id=self.instance_id
        )
        if epoch < 0:
            return request
        if self._tells_all or epoch == 0:
            request.rebalance_timeout_ms = REBALANCE_MS
            request.subscribed_topic_names = sorted(self.world.topics)
            request.server_assignor = self._assignor
        if self._tells_all or self._tells_owned or epoch == 0:
            by_topic: dict[str, list[int]] = {}
            for name, number in sorted(self.owned if epoch else ()):
                by_topic.setdefault(name, []).append(number)
            request.topic_partitions = [
                m.ConsumerGroupHeartbeatRequestTopicPartitions(
                    topic_id=self.world.host.topic_id(name), partitions=numbers
                )
                for name, numbers in by_topic.items()
            ]
        return request
