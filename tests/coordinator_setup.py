"""The group coordinator over real logs on a disk in memory; time and metadata are in the test's hand."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from barnabas.base.entropy import SystemEntropy
from barnabas.coordinator.groups.config import GroupConfig
from barnabas.coordinator.groups.coordinator import GroupCoordinator
from barnabas.coordinator.groups.shard import GroupShard
from barnabas.coordinator.runtime.config import RuntimeConfig
from barnabas.coordinator.runtime.outcome import Outcome
from barnabas.metadata.image import MetadataDelta
from barnabas.metadata.records import VersionedRecord
from barnabas.metadata.topic_changes import TopicCreation
from barnabas.protocol import messages
from tests.runtime_setup import OFFSETS_TOPIC, OFFSETS_TOPIC_ID, PARTITIONS, Answers
from tests.unit.replica.broker_setup import Broker


class Groups:
    """The group coordinator of a broker.

    Args:
        config: of all groups.
        logs: what the topic's partitions hold already; empty ones by default.
    """

    def __init__(
        self,
        config: GroupConfig | None = None,
        *,
        logs: Sequence[bytes] = (b"",) * PARTITIONS,
        **options: Any,
    ) -> None:
        self.broker = Broker(partitions=0)
        self.partitions = len(logs)
        for number, content in enumerate(logs):
            if content:
                self._lay(f"/data/{OFFSETS_TOPIC}-{number}", content)
        self.config = config or GroupConfig()
        self.options = options
        self.broker.create(OFFSETS_TOPIC, OFFSETS_TOPIC_ID, self.partitions)
        self.broker.settle()
        self.restart()

    def _lay(self, directory: str, content: bytes) -> None:
        disk = self.broker.logs.disk
        disk.make_dirs(directory)
        file = disk.open(f"{directory}/{0:020}.log", create=True)
        file.write_at(0, [content])
        file.close()

    def restart(self) -> None:
        broker = self.broker
        controller: Any = SimpleNamespace(image=broker.image, metadata_offset=0)
        self.coordinator = GroupCoordinator(
            config=RuntimeConfig(topic=OFFSETS_TOPIC, partition_count=self.partitions, **self.options),
            topic=TopicCreation(name=OFFSETS_TOPIC),
            config_of=lambda group_id: self.config,
            controller=controller,
            replicas=broker.manager,
            clock=broker.clock,
            entropy=SystemEntropy(),
            wheel=broker.wheel,
            call_soon=broker.soon.append,
        )

    def write(self, group_id: str, operation: Callable[[GroupShard, int], Outcome[Any]]) -> Answers:
        answers = Answers()
        self.coordinator.write(group_id, operation, answers.replies.append, answers.errors.append)
        return answers

    def read(self, group_id: str, operation: Callable[[GroupShard, int], Any]) -> Answers:
        answers = Answers()
        self.coordinator.read(group_id, operation, answers.replies.append, answers.errors.append)
        return answers

    def shard(self, group_id: str) -> GroupShard:
        """The shard of a group, loaded if need be."""
        return self.read(group_id, lambda shard, now_ms: shard).reply

    def replay(self, *records: messages.Message) -> None:
        """Change the metadata."""
        delta = MetadataDelta()
        for record in records:
            self.broker.image.replay(VersionedRecord(record), delta)
        self.broker.manager.apply_delta(delta, self.broker.image)
        self.coordinator.metadata_changed(delta)
        self.broker.settle()

    def create_topic(self, name: str, topic_id: bytes, partitions: int = 1) -> None:
        self.broker.create(name, topic_id, partitions)
        self.broker.settle()
