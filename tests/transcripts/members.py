"""The requests of a scenario's members, made of a verb and a few words, and what the members remember."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from barnabas.protocol import messages as m
from barnabas.protocol.api_keys import ApiKey
from tests.group_host import GroupHost

SESSION_MS = 30_000
REBALANCE_MS = 60_000
TOPIC_IDS_FROM = 10


def seconds_ms(text: str) -> int:
    """Return the milliseconds of `1.5s`."""
    assert text.endswith("s"), text
    return round(float(text[:-1]) * 1000)


def partitions_of(words: Iterable[str]) -> dict[str, list[int]]:
    """Return the partitions of `six:0,1 three:2`, `six:` for none of six."""
    found: dict[str, list[int]] = {}
    for word in words:
        name, _, numbers = word.partition(":")
        found[name] = [int(number) for number in numbers.split(",") if number]
    return found


class Arguments:
    """The words behind a verb: fields as name=value, and the others."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self._given = dict(word.split("=", 1) for word in words if "=" in word)

    def text(self, name: str, default: Any = None) -> Any:
        """Return a field."""
        return self._given.get(name, default)

    def number(self, name: str, default: int) -> int:
        """Return a number."""
        return int(self._given.get(name, default))

    def time_ms(self, name: str, default: int) -> int:
        """Return a time."""
        return seconds_ms(self._given[name]) if name in self._given else default

    def names(self, name: str, default: str = "") -> list[str]:
        """Return a list of words."""
        return [word for word in self._given.get(name, default).split(",") if word]

    def __contains__(self, name: str) -> bool:
        return name in self._given


def subscription(topics: list[str], owned: dict[str, list[int]], generation: int) -> bytes:
    """What a consumer tells of itself in JoinGroup."""
    told = m.ConsumerProtocolSubscription(
        topics=topics,
        owned_partitions=[
            m.ConsumerProtocolSubscriptionTopicPartition(topic=name, partitions=numbers)
            for name, numbers in owned.items()
        ],
        generation_id=generation,
    )
    return b"\x00\x03" + told.encode(3)


def assignment(words: Iterable[str]) -> bytes:
    """What a leader gives a member in SyncGroup."""
    told = m.ConsumerProtocolAssignment(
        assigned_partitions=[
            m.ConsumerProtocolAssignmentTopicPartition(topic=name, partitions=numbers)
            for name, numbers in partitions_of(words).items()
        ]
    )
    return b"\x00\x03" + told.encode(3)


class Members:
    """What members know: their ids, generations and epochs; and how they ask.

    Args:
        names: member id -> name, for whoever renders answers; filled here.

    Attributes:
        group: all requests are about it.
    """

    def __init__(self, host: GroupHost, names: dict[str, str]) -> None:
        self.group = "g"
        self._host = host
        self._names = names
        self._ids: dict[str, str] = {}
        self._generations: dict[str, int] = {}
        self._epochs: dict[str, int] = {}
        self._verbs: dict[str, tuple[int, Callable[[str, Arguments, int], m.Message]]] = {
            "joins": (ApiKey.JOIN_GROUP, self._join),
            "syncs": (ApiKey.SYNC_GROUP, self._sync),
            "beats": (ApiKey.HEARTBEAT, self._beat),
            "leaves": (ApiKey.LEAVE_GROUP, self._leave),
            "enters": (ApiKey.CONSUMER_GROUP_HEARTBEAT, self._enter),
            "reports": (ApiKey.CONSUMER_GROUP_HEARTBEAT, self._report),
            "goes": (ApiKey.CONSUMER_GROUP_HEARTBEAT, lambda who, given, _: self._end(who, given, -1)),
            "pauses": (ApiKey.CONSUMER_GROUP_HEARTBEAT, lambda who, given, _: self._end(who, given, -2)),
            "commits": (ApiKey.OFFSET_COMMIT, self._commit),
            "fetches": (ApiKey.OFFSET_FETCH, self._fetch),
        }

    def request(self, who: str, verb: str, given: Arguments) -> tuple[m.Message, int]:
        """Return what is asked, and in which version: the last unless one is given.

        Raises:
            ValueError: an unknown verb.
        """
        if verb not in self._verbs:
            raise ValueError(f"{who} {verb}: nobody knows how")
        key, make = self._verbs[verb]
        version = given.number("v", m.BY_KEY[key].valid_versions[-1])
        return make(who, given, version), version

    def heard(self, who: str, answer: m.Message) -> None:
        """Remember what an answer tells a member."""
        if isinstance(answer, m.JoinGroupResponse | m.ConsumerGroupHeartbeatResponse) and answer.member_id:
            self.call(who, answer.member_id)
        if isinstance(answer, m.JoinGroupResponse) and answer.error_code == 0:
            self._generations[who] = answer.generation_id
        if isinstance(answer, m.ConsumerGroupHeartbeatResponse) and answer.error_code == 0:
            self._epochs[who] = answer.member_epoch

    def call(self, who: str, member_id: str) -> None:
        """Let a member have an id; a later one of the same is called `a2`, `a3`."""
        if member_id not in self._names:
            count = sum(name.rstrip("0123456789") == who for name in self._names.values())
            self._names[member_id] = who if count == 0 else f"{who}{count + 1}"
        self._ids[who] = member_id

    def _id(self, who: str, given: Arguments) -> str:
        told = given.text("member")
        if told is None:
            return self._ids.get(who, "")
        if told == "none":
            return ""
        return next((member for member, name in self._names.items() if name == told), told)

    # Classic members -----------------------------------------------------------------------------------

    def _join(self, who: str, given: Arguments, version: int) -> m.Message:
        topics = given.names("topics", "six")
        owned = partitions_of(given.text("owned", "").split("/")) if "owned" in given else {}
        told = subscription(topics, owned, self._generations.get(who, -1) if owned else -1)
        request = m.JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=given.time_ms("session", SESSION_MS),
            member_id=self._id(who, given),
            protocol_type=given.text("type", "consumer"),
            protocols=[
                m.JoinGroupRequestJoinGroupRequestProtocol(name=name, metadata=told)
                for name in given.names("protocols", "range")
            ],
        )
        if version >= 1:
            request.rebalance_timeout_ms = given.time_ms("rebalance", REBALANCE_MS)
        if version >= 5:
            request.group_instance_id = given.text("instance")
        return request

    def _sync(self, who: str, given: Arguments, version: int) -> m.Message:
        """Fields are members with what the leader gives them; `generation`, `instance` besides."""
        told = {
            name: assignment(value.split("/"))
            for name, value in (word.split("=") for word in given.words if "=" in word)
            if name not in ("generation", "instance", "v", "member", "protocol")
        }
        request = m.SyncGroupRequest(
            group_id=self.group,
            generation_id=given.number("generation", self._generations.get(who, -1)),
            member_id=self._id(who, given),
            assignments=[
                m.SyncGroupRequestSyncGroupRequestAssignment(
                    member_id=self._ids.get(name, name), assignment=data
                )
                for name, data in told.items()
            ],
        )
        if version >= 3:
            request.group_instance_id = given.text("instance")
        if version >= 5:
            request.protocol_type, request.protocol_name = "consumer", given.text("protocol", "range")
        return request

    def _beat(self, who: str, given: Arguments, version: int) -> m.Message:
        request = m.HeartbeatRequest(
            group_id=self.group,
            generation_id=given.number("generation", self._generations.get(who, -1)),
            member_id=self._id(who, given),
        )
        if version >= 3:
            request.group_instance_id = given.text("instance")
        return request

    def _leave(self, who: str, given: Arguments, version: int) -> m.Message:
        if version < 3:
            return m.LeaveGroupRequest(group_id=self.group, member_id=self._id(who, given))
        leaving = m.LeaveGroupRequestMemberIdentity(
            member_id=self._id(who, given), group_instance_id=given.text("instance")
        )
        return m.LeaveGroupRequest(group_id=self.group, members=[leaving])

    # Consumers -----------------------------------------------------------------------------------------

    def _heartbeat(self, who: str, given: Arguments, epoch: int) -> m.ConsumerGroupHeartbeatRequest:
        member_id = self._id(who, given) or f"id-of-{who}"
        if who not in self._ids and "member" not in given:
            self.call(who, member_id)
        request = m.ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=member_id,
            member_epoch=given.number("epoch", epoch),
            instance_id=given.text("instance"),
            subscribed_topic_regex=given.text("regex"),
            server_assignor=given.text("assignor"),
        )
        if "owned" in given:
            request.topic_partitions = [
                m.ConsumerGroupHeartbeatRequestTopicPartitions(
                    topic_id=self._host.topic_id(name), partitions=numbers
                )
                for name, numbers in partitions_of(given.text("owned").split("/")).items()
                if name
            ]
        if "topics" in given:
            request.subscribed_topic_names = given.names("topics")
        return request

    def _enter(self, who: str, given: Arguments, version: int) -> m.Message:
        request = self._heartbeat(who, given, 0)
        request.rebalance_timeout_ms = given.time_ms("rebalance", REBALANCE_MS)
        request.topic_partitions = []
        if "topics" not in given and "regex" not in given:
            request.subscribed_topic_names = ["six"]
        return request

    def _report(self, who: str, given: Arguments, version: int) -> m.Message:
        return self._heartbeat(who, given, self._epochs.get(who, 0))

    def _end(self, who: str, given: Arguments, epoch: int) -> m.Message:
        return self._heartbeat(who, given, epoch)

    # Offsets -------------------------------------------------------------------------------------------

    def _commit(self, who: str, given: Arguments, version: int) -> m.Message:
        """Fields are partitions, `six:0=10`; the generation is the member's, or its epoch."""
        known = self._epochs.get(who, self._generations.get(who, -1))
        request = m.OffsetCommitRequest(
            group_id=self.group,
            generation_id_or_member_epoch=given.number("generation", known),
            member_id=self._id(who, given),
        )
        if version >= 7:
            request.group_instance_id = given.text("instance")
        for word in given.words:
            place, equals, offset = word.partition("=")
            name, colon, number = place.partition(":")
            if not (equals and colon):
                continue
            topic = m.OffsetCommitRequestOffsetCommitRequestTopic(
                partitions=[
                    m.OffsetCommitRequestOffsetCommitRequestPartition(
                        partition_index=int(number),
                        committed_offset=int(offset),
                        committed_metadata=given.text("metadata", ""),
                    )
                ]
            )
            self._name(topic, name, version)
            request.topics.append(topic)
        return request

    def _fetch(self, who: str, given: Arguments, version: int) -> m.Message:
        asked: list[m.OffsetFetchRequestOffsetFetchRequestTopics] | None = None
        if given.words[:1] != ["all"]:
            asked = []
            for name, numbers in partitions_of(word for word in given.words if "=" not in word).items():
                topic = m.OffsetFetchRequestOffsetFetchRequestTopics(partition_indexes=numbers)
                self._name(topic, name, version)
                asked.append(topic)
        group = m.OffsetFetchRequestOffsetFetchRequestGroup(group_id=self.group, topics=asked)
        if "member" in given:
            group.member_id = self._id(who, given)
            group.member_epoch = given.number("epoch", -1)
        return m.OffsetFetchRequest(groups=[group], require_stable=given.text("stable") == "yes")

    def _name(self, topic: Any, name: str, version: int) -> None:
        if version >= TOPIC_IDS_FROM:
            topic.topic_id = self._host.topic_id(name)
        else:
            topic.name = name
