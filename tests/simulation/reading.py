"""What members of both protocols do alike: read on, commit what they read, ask where to begin."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from barnabas.protocol import messages as m
from tests.simulation.world import GROUP, HEARTBEAT_MS, Ask, Life, Mind, Sleep, TopicPartition, World

COMMIT_VERSION = 9
FETCH_VERSION = 8

RETRY_MS = 200


class Reader(Mind):
    """A member that reads.

    Attributes:
        member_id, generation: as the coordinator told; the generation is a consumer's epoch.
        positions: where it is in what it owns; not there until it has asked where to begin.
    """

    def __init__(self, world: World, name: str, instance_id: str | None) -> None:
        super().__init__(world, name, instance_id)
        self.member_id = ""
        self.generation = -1
        self.positions: dict[TopicPartition, int] = {}

    def heard(self) -> None:
        """It was answered as a member: its session began anew when the coordinator got the request."""
        self.heard_ms = max(self.heard_ms, self.session_began_ms)

    def lose(self, partitions: Iterable[TopicPartition] | None = None) -> None:
        """Stop reading these; all of them by default."""
        for partition in list(self.owned if partitions is None else partitions):
            self.owned.discard(partition)
            self.positions.pop(partition, None)

    def sleep(self) -> Sleep:
        """About a heartbeat's interval."""
        return Sleep(HEARTBEAT_MS // 2 + self.world.random.randrange(HEARTBEAT_MS // 2))

    def read_on(self) -> None:
        """Read some records."""
        for partition in self.positions:
            self.positions[partition] += self.world.random.randrange(10)

    def commit(self) -> Life:
        """Commit where it is; whether it may is the coordinator's to say."""
        offsets = dict(self.positions)
        if not offsets:
            return
        topics: dict[str, Any] = {}
        for (name, number), offset in sorted(offsets.items()):
            topic = topics.setdefault(
                name, m.OffsetCommitRequestOffsetCommitRequestTopic(name=name, partitions=[])
            )
            topic.partitions.append(
                m.OffsetCommitRequestOffsetCommitRequestPartition(
                    partition_index=number, committed_offset=offset, committed_metadata=""
                )
            )
        request = m.OffsetCommitRequest(
            group_id=GROUP,
            generation_id_or_member_epoch=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            topics=list(topics.values()),
        )
        answer = yield Ask(request, COMMIT_VERSION)
        if answer is None:
            return
        for topic in answer.topics:
            for one in topic.partitions:
                if one.error_code == 0:
                    partition = (topic.name, one.partition_index)
                    self.world.committed(partition, offsets[partition])

    def begin(self) -> Life:
        """Ask where to begin in what it owns and does not read yet."""
        while missing := sorted(self.owned - self.positions.keys()):
            acked = {partition: self.world.acked.get(partition, 0) for partition in missing}
            topics: dict[str, Any] = {}
            for name, number in missing:
                topic = topics.setdefault(
                    name, m.OffsetFetchRequestOffsetFetchRequestTopics(name=name, partition_indexes=[])
                )
                topic.partition_indexes.append(number)
            group = m.OffsetFetchRequestOffsetFetchRequestGroup(group_id=GROUP, topics=list(topics.values()))
            answer = yield Ask(m.OffsetFetchRequest(groups=[group]), FETCH_VERSION)
            if answer is None or answer.groups[0].error_code:
                yield Sleep(RETRY_MS)
                continue
            for found in answer.groups[0].topics:
                for one in found.partitions:
                    partition = (found.name, one.partition_index)
                    self.world.fetched(partition, one.committed_offset, acked[partition])
                    if partition in self.owned:
                        self.positions[partition] = max(one.committed_offset, 0)
