"""One situation: what members of a group ask over their connections, and what each is answered.

A step stands for an age of clients: in step 0 each API is spoken in its first version, in step 1 in its
second, and so on until its last. Ids that a broker draws go into later requests as that broker gave them;
what is to be compared is made of the frames afterwards (recorded.py).
"""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from barnabas.protocol import messages as m
from barnabas.protocol.api_keys import ApiKey
from tests.interop.first_slice.asker import UNKNOWN_ID
from tests.interop.group_situations.line import Line
from tests.interop.situations.exchange import Exchange

LAST_STEP = 9
"""JoinGroup has the most versions of all."""

SETTLES_WITHIN_S = 30
WAITS_S = 0.3
"""How long nothing is heard of who waits; an answer that is due comes sooner."""

AUTHORIZED_FROM = {ApiKey.DESCRIBE_GROUPS: 3}

JOIN_SESSION_MS = 30_000
JOIN_REBALANCE_MS = 30_000

INSTANCE_FROM = {ApiKey.JOIN_GROUP: 5, ApiKey.OFFSET_COMMIT: 7}
"""Others take an instance id from version 3 on."""

TOPIC_IDS_FROM = 10
"""Of OffsetCommit and OffsetFetch."""


def version_at(step: int, key: int) -> int:
    """Return the version in which clients of a step speak an API."""
    versions = m.BY_KEY[key].valid_versions
    return min(versions[0] + step, versions[-1])


def subscription(*topics: str, owned: Mapping[str, list[int]] | None = None, version: int = 1) -> bytes:
    """What a consumer tells of itself in JoinGroup."""
    kept = [
        m.ConsumerProtocolSubscriptionTopicPartition(topic=name, partitions=numbers)
        for name, numbers in (owned or {}).items()
    ]
    told = m.ConsumerProtocolSubscription(topics=list(topics), owned_partitions=kept)
    return version.to_bytes(2, "big") + told.encode(version)


def assignment(version: int = 1, **topics: list[int]) -> bytes:
    """What a leader gives a member in SyncGroup."""
    given = [
        m.ConsumerProtocolAssignmentTopicPartition(topic=name, partitions=numbers)
        for name, numbers in topics.items()
    ]
    told = m.ConsumerProtocolAssignment(assigned_partitions=given)
    return version.to_bytes(2, "big") + told.encode(version)


class Talk:
    """All connections of one situation, and what was said on them.

    Attributes:
        group: the group's name, of no other situation.
        exchanges: all that is compared, in the order it was asked.
        known: a value of this broker's own -> the name under which it is compared.
        ids: a member's name in the situation -> its member id.
    """

    def __init__(self, port: int, group: str, step: int) -> None:
        self.port = port
        self.group = group
        self.step = step
        self.exchanges: list[Exchange] = []
        self.known: dict[str, str] = {str(port): "its port"}
        self.ids: dict[str, str] = {}
        self.topic_ids: dict[str, bytes] = {"nowhere": UNKNOWN_ID}
        self._lines: dict[str, Line] = {}
        self._open: dict[str, int] = {}
        self.learn_topics()

    def close(self) -> None:
        """Hang up everywhere."""
        for line in self._lines.values():
            line.close()

    def v(self, key: int) -> int:
        """The version of an API in this step."""
        return version_at(self.step, key)

    # Asking ------------------------------------------------------------------------------------------

    def send(self, who: str, request: m.Message, version: int | None = None) -> None:
        """Ask over someone's connection and leave the answer for `hear`."""
        key = request.api_key
        assert key is not None
        spoken = self.v(key) if version is None else version
        line = self._line(who)
        line.send(spoken, request)
        self._open[who] = len(self.exchanges)
        name = m.BY_KEY[key].name
        self.exchanges.append(
            Exchange(f"{len(self.exchanges)} {who}: {name} v{spoken}", key, spoken, line.sent, None)
        )

    def hear(self, who: str) -> Any:
        """Return the answer to what someone asked last; None when the broker closed the connection."""
        place = self._open.pop(who)
        heard = self._line(who).receive()
        if heard is None:
            self._lines.pop(who).close()
            return None
        frame, answer = heard
        self.exchanges[place] = self.exchanges[place]._replace(response=frame)
        if isinstance(answer, m.JoinGroupResponse | m.ConsumerGroupHeartbeatResponse) and answer.member_id:
            self.ids[who] = answer.member_id
            self.known.setdefault(answer.member_id, f"member {who}")
        return answer

    def ask(self, who: str, request: m.Message, version: int | None = None) -> Any:
        """Ask and return the answer."""
        self.send(who, request, version)
        return self.hear(who)

    def expect_waiting(self, *names: str) -> None:
        """Assert that none of them is answered for a while."""
        deadline = time.monotonic() + WAITS_S
        for who in names:
            left_s = max(0.0, deadline - time.monotonic())
            assert not self._line(who).is_answered(left_s), f"{who} does not have to wait"

    def aside(self, request: m.Message, version: int) -> Any:
        """Ask what is not compared."""
        line = self._line(" aside")
        line.send(version, request)
        heard = line.receive()
        assert heard is not None, f"the broker hung up on {request}"
        return heard[1]

    def hang_up(self, who: str) -> None:
        """End someone's connection, whatever is under way on it."""
        self._lines.pop(who).close()
        place = self._open.pop(who, None)
        if place is not None:
            self.known[f"unheard {place}"] = "nobody heard the answer"

    def _line(self, who: str) -> Line:
        if who not in self._lines:
            self._lines[who] = Line(self.port)
        return self._lines[who]

    # Waiting for the broker ----------------------------------------------------------------------------

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Return when it holds."""
        deadline = time.monotonic() + SETTLES_WITHIN_S
        while not holds():
            assert time.monotonic() < deadline, f"it never comes to this: {what}"
            time.sleep(0.01)

    def until_state(self, state: str, members: int | None = None) -> None:
        """Return when the classic group is in a state, with so many members."""

        def holds() -> bool:
            asked = m.DescribeGroupsRequest(groups=[self.group])
            found = self.aside(asked, 5).groups[0]
            return found.group_state == state and members in (None, len(found.members))

        self.until(holds, f"{state} with {members} members")

    def until_listed(self, state: str) -> None:
        """Return when ListGroups tells this state of the group, whatever its type."""

        def holds() -> bool:
            listed = self.aside(m.ListGroupsRequest(), 4).groups
            return (self.group, state) in [(group.group_id, group.group_state) for group in listed]

        self.until(holds, state)

    # Topics ------------------------------------------------------------------------------------------

    def learn_topics(self) -> None:
        """Learn the ids of all topics that there are."""
        for topic in self.aside(m.MetadataRequest(topics=None), 12).topics:
            self.topic_ids[topic.name] = bytes(topic.topic_id)
            self.known[bytes(topic.topic_id).hex()] = f"id of {topic.name}"

    def own_topic(self, name: str, partitions: int = 1) -> str:
        """Make a topic that no other situation knows and return its name."""
        full = f"{self.group}.{name}"
        topic = m.CreateTopicsRequestCreatableTopic(
            name=full, num_partitions=partitions, replication_factor=1
        )
        made = self.aside(m.CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7)
        assert made.topics[0].error_code == 0, made

        def is_led() -> bool:
            asked = m.MetadataRequestMetadataRequestTopic(name=full)
            found = self.aside(m.MetadataRequest(topics=[asked]), 12).topics[0]
            return len(found.partitions) == partitions and all(p.leader_id >= 0 for p in found.partitions)

        self.until(is_led, f"{full} has leaders")
        self.learn_topics()
        return full

    def add_partitions(self, topic: str, count: int) -> None:
        """Raise the number of a topic's partitions."""
        asked = m.CreatePartitionsRequestCreatePartitionsTopic(name=topic, count=count, assignments=None)
        answer = self.aside(m.CreatePartitionsRequest(topics=[asked], timeout_ms=10_000), 2)
        assert answer.results[0].error_code == 0, answer

    def delete_topic(self, topic: str) -> None:
        """Delete a topic and return when the broker has forgotten it."""
        answer = self.aside(m.DeleteTopicsRequest(topic_names=[topic], timeout_ms=10_000), 5)
        assert answer.responses[0].error_code == 0, answer

        def is_gone() -> bool:
            asked = m.MetadataRequest(
                topics=[m.MetadataRequestMetadataRequestTopic(name=topic)], allow_auto_topic_creation=False
            )
            return bool(self.aside(asked, 9).topics[0].error_code == 3)

        self.until(is_gone, f"{topic} is gone")

    def configure_group(self, **configs: object) -> None:
        """Set configs of the group; names with _ for dots."""
        altered = [
            m.IncrementalAlterConfigsRequestAlterableConfig(
                name=name.replace("_", "."), config_operation=0, value=str(value)
            )
            for name, value in configs.items()
        ]
        resource = m.IncrementalAlterConfigsRequestAlterConfigsResource(
            resource_type=32, resource_name=self.group, configs=altered
        )
        answer = self.aside(m.IncrementalAlterConfigsRequest(resources=[resource]), 1)
        assert answer.responses[0].error_code == 0, answer

    # Members of classic groups -----------------------------------------------------------------------

    def join_request(self, who: str, **fields: Any) -> m.JoinGroupRequest:
        """Make a JoinGroup with the member's id as far as it has one.

        Args:
            fields: of the request, by name; `protocols` as {name: metadata}; `instance` and
                `member` for short.
        """
        offered = fields.pop("protocols", {"range": subscription("six")})
        request = m.JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=JOIN_SESSION_MS,
            member_id=fields.pop("member", self.ids.get(who, "")),
            protocol_type="consumer",
            protocols=[
                m.JoinGroupRequestJoinGroupRequestProtocol(name=name, metadata=metadata)
                for name, metadata in offered.items()
            ],
        )
        if self.v(ApiKey.JOIN_GROUP) >= 1:
            request.rebalance_timeout_ms = JOIN_REBALANCE_MS
        instance = fields.pop("instance", None)
        if instance is not None:
            request.group_instance_id = instance
        for name, value in fields.items():
            setattr(request, name, value)
        return request

    def enter(self, who: str, **fields: Any) -> None:
        """Send JoinGroup; from version 4 on, first get a member id with one more."""
        if self.v(ApiKey.JOIN_GROUP) >= 4 and who not in self.ids and "instance" not in fields:
            self.ask(who, self.join_request(who, **fields))
        self.send(who, self.join_request(who, **fields))

    def join(self, who: str, **fields: Any) -> Any:
        """Enter and hear."""
        self.enter(who, **fields)
        return self.hear(who)

    def sync_request(self, who: str, generation: int, **fields: Any) -> m.SyncGroupRequest:
        """Make a SyncGroup.

        Args:
            fields: `given` as {name of a member: assignment}, others by name.
        """
        given = fields.pop("given", {})
        request = m.SyncGroupRequest(
            group_id=self.group,
            generation_id=generation,
            member_id=fields.pop("member", self.ids.get(who, "")),
            assignments=[
                m.SyncGroupRequestSyncGroupRequestAssignment(
                    member_id=self.ids.get(name, name), assignment=data
                )
                for name, data in given.items()
            ],
        )
        if self.v(ApiKey.SYNC_GROUP) >= 5:
            request.protocol_type = "consumer"
            request.protocol_name = "range"
        for name, value in fields.items():
            setattr(request, "group_instance_id" if name == "instance" else name, value)
        return request

    def sync(self, who: str, generation: int, **fields: Any) -> Any:
        """SyncGroup and hear."""
        return self.ask(who, self.sync_request(who, generation, **fields))

    def heartbeat(self, who: str, generation: int, **fields: Any) -> Any:
        """Heartbeat of a classic member."""
        request = m.HeartbeatRequest(
            group_id=fields.pop("group_id", self.group),
            generation_id=generation,
            member_id=fields.pop("member", self.ids.get(who, "")),
        )
        for name, value in fields.items():
            setattr(request, "group_instance_id" if name == "instance" else name, value)
        return self.ask(who, request)

    def leave(self, who: str, *others: tuple[str, str | None], group_id: str | None = None) -> Any:
        """Leave; from version 3 on as many as one likes, each as (member id, instance id)."""
        request = m.LeaveGroupRequest(group_id=self.group if group_id is None else group_id)
        if self.v(ApiKey.LEAVE_GROUP) >= 3:
            leaving = others or ((self.ids.get(who, ""), None),)
            request.members = [
                m.LeaveGroupRequestMemberIdentity(member_id=member, group_instance_id=instance)
                for member, instance in leaving
            ]
        else:
            request.member_id = others[0][0] if others else self.ids.get(who, "")
        return self.ask(who, request)

    def form(self, *names: str, **fields: Any) -> int:
        """Let members join in this order and sync, each with its share of `six`; return the generation.

        Only the first is answered at its first JoinGroup: each one that comes makes the others join anew.
        """
        answer = self.join(names[0], **fields)
        for number, who in enumerate(names[1:], 2):
            self.enter(who, **fields)
            self.until_state("PreparingRebalance", number)
            for other in names[: number - 1]:
                self.send(other, self.join_request(other, **fields))
            for other in names[:number]:
                answer = self.hear(other)
        generation = int(answer.generation_id)
        given = {who: assignment(six=list(range(n, 6, len(names)))) for n, who in enumerate(names)}
        self.sync(names[0], generation, given=given)
        for who in names[1:]:
            self.sync(who, generation)
        return generation

    # Offsets -----------------------------------------------------------------------------------------

    def commit(
        self, who: str, generation: int, topics: Mapping[str, Mapping[int, int]], **fields: Any
    ) -> Any:
        """OffsetCommit of {topic: {partition: offset}}.

        Args:
            generation: -1 for one that is no member.
            fields: `metadata` and `leader_epoch` of all offsets, others of the request by name.
        """
        version = self.v(ApiKey.OFFSET_COMMIT)
        metadata = fields.pop("metadata", "")
        epoch = fields.pop("leader_epoch", -1)
        request = m.OffsetCommitRequest(
            group_id=fields.pop("group_id", self.group),
            generation_id_or_member_epoch=generation,
            member_id=fields.pop("member", self.ids.get(who, "") if generation >= 0 else ""),
        )
        for name, offsets in topics.items():
            topic = m.OffsetCommitRequestOffsetCommitRequestTopic(
                partitions=[
                    m.OffsetCommitRequestOffsetCommitRequestPartition(
                        partition_index=number,
                        committed_offset=offset,
                        committed_leader_epoch=epoch,
                        committed_metadata=metadata,
                    )
                    for number, offset in offsets.items()
                ]
            )
            if version >= TOPIC_IDS_FROM:
                topic.topic_id = self.topic_ids.get(name, UNKNOWN_ID)
            else:
                topic.name = name
            request.topics.append(topic)
        for name, value in fields.items():
            setattr(request, "group_instance_id" if name == "instance" else name, value)
        return self.ask(who, request)

    def fetch(
        self,
        who: str,
        topics: Mapping[str, Iterable[int]] | None,
        *,
        version: int | None = None,
        **fields: Any,
    ) -> Any:
        """OffsetFetch of {topic: partitions}, of all when None.

        Args:
            fields: `member`, `epoch`, `group_id`, `require_stable`.
        """
        spoken = self.v(ApiKey.OFFSET_FETCH) if version is None else version
        stable = fields.pop("require_stable", None)
        if spoken >= 8:
            request = m.OffsetFetchRequest(groups=[self.fetch_group(spoken, topics, **fields)])
        else:
            asked = [
                m.OffsetFetchRequestOffsetFetchRequestTopic(name=name, partition_indexes=list(numbers))
                for name, numbers in (topics or {}).items()
            ]
            request = m.OffsetFetchRequest(
                group_id=fields.get("group_id", self.group), topics=None if topics is None else asked
            )
        if stable is not None and spoken >= 7:
            request.require_stable = stable
        return self.ask(who, request, spoken)

    def fetch_group(
        self, version: int, topics: Mapping[str, Iterable[int]] | None, **fields: Any
    ) -> m.OffsetFetchRequestOffsetFetchRequestGroup:
        """One group of an OffsetFetch from version 8 on."""
        asked: list[m.OffsetFetchRequestOffsetFetchRequestTopics] = []
        for name, numbers in (topics or {}).items():
            topic = m.OffsetFetchRequestOffsetFetchRequestTopics(partition_indexes=list(numbers))
            if version >= TOPIC_IDS_FROM:
                topic.topic_id = self.topic_ids.get(name, UNKNOWN_ID)
            else:
                topic.name = name
            asked.append(topic)
        group = m.OffsetFetchRequestOffsetFetchRequestGroup(
            group_id=fields.get("group_id", self.group), topics=None if topics is None else asked
        )
        if version >= 9:
            group.member_id = fields.get("member")
            group.member_epoch = fields.get("epoch", -1)
        return group
