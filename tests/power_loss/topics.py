"""Topics as their administrator knows them, and the administrator: creates, deletes, grows, alters, cuts.

What was acknowledged must be there after any crash, since metadata are synced before they are answered; of
what was asked and not answered either may be found.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from barnabas.base.errors import ErrorCode
from barnabas.metadata.image import ConfigResourceType, MetadataImage
from barnabas.protocol import messages as m
from tests.power_loss.clients import Action, Ask, Client
from tests.power_loss.history import PartitionHistory, expect

_SET, _DELETE = 0, 1
_TOPIC_RESOURCE = 2
_GROUP, _TRANSACTION = 0, 1
PARTITIONS_MAX = 5


@dataclass(kw_only=True, slots=True)
class TopicHistory:
    """A topic, from its creation to its end.

    Attributes:
        state: "asked", "there", "doomed" when its deletion was asked, or "gone".
        partitions: acknowledged.
        partitions_asked: perhaps there.
        configs: acknowledged, None for a default.
        configs_asked: perhaps so.
    """

    name: str
    partitions: int
    configs: dict[str, str | None]
    is_stable: bool
    state: str = "asked"
    topic_id: bytes = b""
    partitions_asked: int = 0
    configs_asked: dict[str, list[str | None]] = field(default_factory=dict)
    histories: list[PartitionHistory] = field(default_factory=list)
    durable_by_broker: bool = False

    @property
    def is_compacted(self) -> bool:
        return self.configs.get("cleanup.policy") == "compact"

    @property
    def is_durable(self) -> bool:
        """Whether flush.messages=1 is in force for certain."""
        return self.durable_by_broker or (
            self.configs.get("flush.messages") == "1" and not self.configs_asked.get("flush.messages")
        )

    def is_there(self, topic_id: bytes) -> None:
        """It exists under that id."""
        self.state, self.topic_id = "there", topic_id
        self.follow()

    def follow(self) -> None:
        """Bring the partitions' histories up to date."""
        for number in range(len(self.histories), self.partitions):
            self.histories.append(
                PartitionHistory(
                    topic=self.name,
                    topic_id=self.topic_id,
                    partition=number,
                    is_durable=self.is_durable,
                    is_settled=self.is_durable,
                    is_compacted=self.is_compacted,
                )
            )
        expires = "retention.ms" in self.configs_asked or "retention.bytes" in self.configs_asked
        for history in self.histories:
            history.promise(self.is_durable)
            history.is_gone = self.state != "there"
            for name in ("retention.ms", "retention.bytes"):
                history.may_expire |= expires or self.configs.get(name) is not None

    def check(self, image: MetadataImage, known_ids: set[bytes]) -> None:
        """Compare with the metadata after a start, and take over what they say.

        Args:
            known_ids: of topics whose creation was answered.
        """
        found = image.topics.get(self.name)
        if self.state == "asked":
            if found is None or found.topic_id in known_ids:
                self.state = "gone"
                return
            self.is_there(found.topic_id)
        elif self.state == "gone":
            expect(self.topic_id not in image.topics_by_id, f"{self.name} was deleted and is there again")
            return
        elif self.state == "doomed" and self.topic_id not in image.topics_by_id:
            self.state = "gone"
            self.follow()
            return
        expect(
            found is not None and found.topic_id == self.topic_id, f"{self.name} was created and is not there"
        )
        assert found is not None
        self.state = "there"
        count = len(found.partitions)
        expect(
            count in {self.partitions, max(self.partitions_asked, self.partitions)},
            f"{self.name} has {count} partitions, not {self.partitions}",
        )
        self.partitions, self.partitions_asked = count, 0
        stored = image.config(ConfigResourceType.TOPIC, self.name)
        for name in {*self.configs, *self.configs_asked}:
            value = stored.get(name)
            allowed = [self.configs.get(name), *self.configs_asked.get(name, ())]
            expect(value in allowed, f"{self.name}: {name} is {value!r}, not one of {allowed}")
            self.configs[name] = value
        self.configs_asked.clear()
        self.follow()


class Administrator(Client):
    """Changes what there is."""

    def action(self) -> Action:
        choice = self.random.randrange(10)
        briefs = [topic for topic in self.world.topics if topic.state == "there" and not topic.is_stable]
        if choice < 3 and len(briefs) < 2:
            yield from self._create(
                f"brief{self.random.randrange(2)}",
                self.random.randrange(1, 3),
                {"flush.messages": self.random.choice(("1", None))},
                is_stable=False,
            )
        elif choice < 4 and briefs:
            yield from self._delete(self.random.choice(briefs))
        elif choice < 5:
            yield from self._grow()
        elif choice < 8:
            yield from self._alter()
        else:
            yield from self._delete_records()

    def find_coordinators(self) -> Action:
        """Ask where a group and a transactional id are coordinated, which makes their topics."""
        for kind in (_GROUP, _TRANSACTION):
            answer = yield Ask(m.FindCoordinatorRequest(key_type=kind, coordinator_keys=["any"]), 4)
            if answer is None:
                return

    def create_first(self, name: str, partitions: int, configs: dict[str, str | None]) -> Action:
        """Create a topic that stays."""
        return self._create(name, partitions, configs, is_stable=True)

    def _create(
        self, name: str, partitions: int, configs: dict[str, str | None], *, is_stable: bool
    ) -> Action:
        if any(t.name == name and t.state in ("there", "asked", "doomed") for t in self.world.topics):
            return
        topic = TopicHistory(
            name=name,
            partitions=partitions,
            configs=configs,
            is_stable=is_stable,
            durable_by_broker=self.world.internal_durable,
        )
        self.world.topics.append(topic)
        given = [
            m.CreateTopicsRequestCreatableTopicConfig(name=key, value=value)
            for key, value in {"file.delete.delay.ms": "1000", **configs}.items()
            if value is not None
        ]
        asked = m.CreateTopicsRequestCreatableTopic(
            name=name, num_partitions=partitions, replication_factor=1, configs=given
        )
        answer = yield Ask(m.CreateTopicsRequest(topics=[asked]), 7)
        if answer is None:
            return
        result = answer.topics[0]
        expect(not result.error_code, f"creating {name}: {result.error_code} {result.error_message}")
        topic.is_there(result.topic_id)

    def _delete(self, topic: TopicHistory) -> Action:
        topic.state = "doomed"
        topic.follow()
        state = m.DeleteTopicsRequestDeleteTopicState(name=None, topic_id=topic.topic_id)
        answer = yield Ask(m.DeleteTopicsRequest(topics=[state], timeout_ms=1000), 6)
        if answer is None:
            return
        expect(not answer.responses[0].error_code, f"deleting {topic.name}: {answer.responses[0]}")
        topic.state = "gone"
        topic.follow()

    def _any_topic(self) -> TopicHistory | None:
        there = [topic for topic in self.world.topics if topic.state == "there"]
        return self.random.choice(there) if there else None

    def _grow(self) -> Action:
        topic = self._any_topic()
        if topic is None or topic.partitions >= PARTITIONS_MAX:
            return
        topic.partitions_asked = topic.partitions + 1
        asked = m.CreatePartitionsRequestCreatePartitionsTopic(
            name=topic.name, count=topic.partitions + 1, assignments=None
        )
        answer = yield Ask(m.CreatePartitionsRequest(topics=[asked], timeout_ms=1000), 3)
        if answer is None or topic.state != "there":
            return
        expect(not answer.results[0].error_code, f"growing {topic.name}: {answer.results[0]}")
        topic.partitions, topic.partitions_asked = topic.partitions_asked, 0
        topic.follow()

    def _alter(self) -> Action:
        topic = self._any_topic()
        if topic is None:
            return
        name, value = self.random.choice(
            (
                ("max.message.bytes", str(self.random.randrange(100_000, 200_000))),
                ("max.message.bytes", None),
                ("flush.messages", "1"),
                ("flush.messages", None),
                ("flush.ms", str(self.random.choice((100, 5000)))),
                ("retention.bytes", str(self.random.choice((500, 3000)))),
                ("retention.ms", str(self.random.choice((2000, 60_000)))),
                ("retention.ms", None),
            )
        )
        if topic.is_compacted and name.startswith("retention"):
            return
        topic.configs_asked.setdefault(name, []).append(value)
        topic.follow()
        config = m.IncrementalAlterConfigsRequestAlterableConfig(
            name=name, config_operation=_DELETE if value is None else _SET, value=value
        )
        resource = m.IncrementalAlterConfigsRequestAlterConfigsResource(
            resource_type=_TOPIC_RESOURCE, resource_name=topic.name, configs=[config]
        )
        answer = yield Ask(m.IncrementalAlterConfigsRequest(resources=[resource]), 1)
        if answer is None or topic.state != "there":
            return
        expect(not answer.responses[0].error_code, f"altering {topic.name}: {answer.responses[0]}")
        topic.configs[name] = value
        topic.configs_asked.pop(name, None)
        topic.follow()

    def _delete_records(self) -> Action:
        topic = self._any_topic()
        if topic is None or topic.is_compacted or not topic.is_stable:
            return
        history = self.random.choice(topic.histories)
        offset = self.random.randrange(history.seen_end + 1)
        before = history.start_asked
        history.start_asked = max(history.start_asked, offset)
        partition = m.DeleteRecordsRequestDeleteRecordsPartition(
            partition_index=history.partition, offset=offset
        )
        asked = m.DeleteRecordsRequestDeleteRecordsTopic(name=topic.name, partitions=[partition])
        answer: Any = yield Ask(m.DeleteRecordsRequest(topics=[asked], timeout_ms=1000), 2)
        if answer is None:
            return
        result = answer.topics[0].partitions[0]
        code = ErrorCode(result.error_code)
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            history.start_asked = before
        expect(
            code is ErrorCode.NONE or (code is ErrorCode.OFFSET_OUT_OF_RANGE),
            f"{history.name}: deleting records got {code.name}",
        )
        if code is ErrorCode.NONE:
            expect(result.low_watermark >= offset, f"{history.name}: low watermark {result.low_watermark}")
            history.start_deleted = max(history.start_deleted, offset)
