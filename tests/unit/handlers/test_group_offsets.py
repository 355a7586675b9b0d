"""FindCoordinator, OffsetCommit, OffsetFetch and OffsetDelete in every version, over a real coordinator.

What Apache Kafka answers is compared in tests/golden/test_groups.py.
"""

from typing import Any

import pytest

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.handlers.routes import ROUTES
from barnabas.handlers.services import Services
from barnabas.metadata.topic_changes import TopicCreationResult
from barnabas.protocol import messages as m
from barnabas.protocol.api_keys import ApiKey
from barnabas.replica.produce import OFFSETS_TOPIC
from tests.unit.handlers.administered import administered
from tests.unit.handlers.conftest import Peer

T = "alpha"
UNKNOWN_ID = bytes(range(16))
FIRST_WITH_IDS = 10


@pytest.fixture
def services() -> Services:
    return administered()


@pytest.fixture
def peer(services: Services) -> Peer:
    made = Peer(services)
    topic = m.CreateTopicsRequestCreatableTopic(name=T, num_partitions=3, replication_factor=1)
    assert made.send(m.CreateTopicsRequest(topics=[topic]), 7).topics[0].error_code == 0
    return made


def versions(key: ApiKey) -> list[int]:
    return list(ROUTES[key].versions)


# FindCoordinator


@pytest.mark.parametrize("version", versions(ApiKey.FIND_COORDINATOR))
def test_the_coordinator_is_told_and_its_topic_made(peer: Peer, services: Services, version: int) -> None:
    batched = version >= 4
    request = m.FindCoordinatorRequest(
        key="" if batched else "g", coordinator_keys=["g", ""] if batched else []
    )
    response = peer.send(request, version)
    found = response.coordinators if batched else [response]
    assert [(one.error_code, one.node_id, one.host, one.port) for one in found] == [
        (0, 1, "broker.example", 9092)
    ] * (2 if batched else 1)
    assert len(services.image.topics[OFFSETS_TOPIC].partitions) == 3


def test_share_groups_have_no_coordinator(peer: Peer) -> None:
    request = m.FindCoordinatorRequest(key_type=2, coordinator_keys=["k"])
    (found,) = peer.send(request, 6).coordinators
    assert (found.error_code, found.node_id, found.port) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1, -1)
    assert "share groups" in found.error_message
    (found,) = peer.send(request, 5).coordinators
    assert found.error_code == ErrorCode.INVALID_REQUEST


def test_a_topic_that_cannot_be_made_is_told_with_the_reason_and_logged_once(
    peer: Peer, services: Services, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(creations: Any) -> list[TopicCreationResult]:
        code = ErrorCode.INVALID_REPLICATION_FACTOR
        return [TopicCreationResult(name=OFFSETS_TOPIC, error=code, message="too many")]

    monkeypatch.setattr(services.controller, "create_topics", refuse)
    for _ in range(3):
        (found,) = peer.send(m.FindCoordinatorRequest(coordinator_keys=["g"]), 4).coordinators
        assert (found.error_code, found.error_message) == (15, "too many")
    assert caplog.text.count("too many") == 1


@pytest.mark.parametrize("key_type", [0, 1], ids=["group", "transaction"])
def test_a_disk_that_fails_under_the_topic_is_no_coordinator(
    key_type: int, peer: Peer, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(creations: Any) -> list[TopicCreationResult]:
        raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "disk")

    monkeypatch.setattr(services.controller, "create_topics", fail)
    asked = m.FindCoordinatorRequest(coordinator_keys=["g"], key_type=key_type)
    (found,) = peer.send(asked, 4).coordinators
    assert (found.error_code, found.error_message) == (15, "disk")


def test_an_unknown_kind_is_an_invalid_request(peer: Peer) -> None:
    request = m.FindCoordinatorRequest(key_type=3, coordinator_keys=["k"])
    assert peer.send(request, 4).coordinators[0].error_code == ErrorCode.INVALID_REQUEST


# Offsets


def find(peer: Peer) -> None:
    peer.send(m.FindCoordinatorRequest(coordinator_keys=["g"]), 4)


def topic_of(services: Services, version: int, name: str) -> dict[str, Any]:
    """A topic as the version names it."""
    if version < FIRST_WITH_IDS:
        return {"name": name}
    known = services.image.topics.get(name)
    return {"topic_id": UNKNOWN_ID if known is None else known.topic_id}


def commit(
    peer: Peer, services: Services, version: int, asked: dict[str, dict[int, int]], **more: Any
) -> list[tuple[str, int, int]]:
    """Commit and return (topic, partition, error) of each partition, in the answer's order."""
    topics = [
        m.OffsetCommitRequestOffsetCommitRequestTopic(
            partitions=[
                m.OffsetCommitRequestOffsetCommitRequestPartition(
                    partition_index=number, committed_offset=offset, committed_metadata="m"
                )
                for number, offset in partitions.items()
            ],
            **topic_of(services, version, name),
        )
        for name, partitions in asked.items()
    ]
    request = m.OffsetCommitRequest(group_id="g", topics=topics, **more)
    names = {topic.topic_id: name for name, topic in services.image.topics.items()}
    return [
        (topic.name or names.get(topic.topic_id, "?"), one.partition_index, one.error_code)
        for topic in peer.send(request, version).topics
        for one in topic.partitions
    ]


def fetch(
    peer: Peer, services: Services, version: int, asked: dict[str, list[int]] | None
) -> dict[tuple[str, int], tuple[int, str, int]]:
    """Fetch and return (offset, metadata, error) of each partition."""
    if version >= 8:
        topics = None
        if asked is not None:
            topics = [
                m.OffsetFetchRequestOffsetFetchRequestTopics(
                    partition_indexes=numbers, **topic_of(services, version, name)
                )
                for name, numbers in asked.items()
            ]
        group = m.OffsetFetchRequestOffsetFetchRequestGroup(group_id="g", topics=topics)
        (answer,) = peer.send(m.OffsetFetchRequest(groups=[group]), version).groups
    else:
        named = None
        if asked is not None:
            named = [
                m.OffsetFetchRequestOffsetFetchRequestTopic(name=name, partition_indexes=numbers)
                for name, numbers in asked.items()
            ]
        answer = peer.send(m.OffsetFetchRequest(group_id="g", topics=named), version)
    assert answer.error_code == 0
    names = {topic.topic_id: name for name, topic in services.image.topics.items()}
    return {
        (
            topic.name if version < FIRST_WITH_IDS else names.get(topic.topic_id, "?"),
            one.partition_index,
        ): (one.committed_offset, one.metadata, one.error_code)
        for topic in answer.topics
        for one in topic.partitions
    }


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_COMMIT))
def test_what_does_not_exist_fails_alone_and_comes_first(
    peer: Peer, services: Services, version: int
) -> None:
    find(peer)
    unknown = 100 if version >= FIRST_WITH_IDS else 3
    told = commit(peer, services, version, {T: {0: 5, 7: 1}, "none": {0: 1}})
    none = "?" if version >= FIRST_WITH_IDS else "none"
    assert told == [(T, 7, 3), (T, 0, 0), (none, 0, unknown)]
    assert fetch(peer, services, 8, None) == {(T, 0): (5, "m", 0)}


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_COMMIT))
def test_a_commit_of_nothing_that_exists_makes_no_group(peer: Peer, services: Services, version: int) -> None:
    find(peer)
    assert len(commit(peer, services, version, {"none": {0: 1}})) == 1
    groups = [shard.groups for shard in services.groups.active_shards()]
    assert not any(groups)


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_FETCH))
def test_offsets_are_fetched_in_every_version(peer: Peer, services: Services, version: int) -> None:
    find(peer)
    commit(peer, services, 9, {T: {0: 5, 1: 6}})
    wanted = {(T, 0): (5, "m", 0), (T, 2): (-1, "", 0)}
    assert fetch(peer, services, version, {T: [0, 2]}) == wanted
    if version >= 2:
        assert fetch(peer, services, version, None) == {(T, 0): (5, "m", 0), (T, 1): (6, "m", 0)}


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_FETCH))
def test_topics_that_do_not_exist_have_no_offsets(peer: Peer, services: Services, version: int) -> None:
    find(peer)
    if version >= FIRST_WITH_IDS:
        assert fetch(peer, services, version, {"none": [0]}) == {("?", 0): (-1, "", 100)}
    else:
        assert fetch(peer, services, version, {"none": [0]}) == {("none", 0): (-1, "", 0)}


def test_groups_of_one_request_are_answered_in_order_each_on_its_own(peer: Peer, services: Services) -> None:
    find(peer)
    commit(peer, services, 9, {T: {0: 5}})
    group = m.OffsetFetchRequestOffsetFetchRequestGroup
    asked = [group(group_id=name, topics=None) for name in ("x", "g", "y")]
    answers = peer.send(m.OffsetFetchRequest(groups=asked), 9).groups
    assert [(one.group_id, len(one.topics)) for one in answers] == [("x", 0), ("g", 1), ("y", 0)]


@pytest.mark.parametrize("version", [1, 2, 8])
def test_a_group_without_coordinator_is_told_where_the_version_can(
    peer: Peer, services: Services, version: int
) -> None:
    """Nobody made the topic."""
    code = ErrorCode.NOT_COORDINATOR
    if version >= 8:
        group = m.OffsetFetchRequestOffsetFetchRequestGroup(group_id="g", topics=None)
        assert peer.send(m.OffsetFetchRequest(groups=[group]), version).groups[0].error_code == code
        return
    topic = m.OffsetFetchRequestOffsetFetchRequestTopic(name=T, partition_indexes=[0])
    answer = peer.send(m.OffsetFetchRequest(group_id="g", topics=[topic]), version)
    if version == 1:
        assert answer.topics[0].partitions[0].error_code == code
    else:
        assert (answer.error_code, answer.topics) == (code, [])


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_COMMIT))
def test_a_commit_without_coordinator_fails_for_each_partition(
    peer: Peer, services: Services, version: int
) -> None:
    told = commit(peer, services, version, {T: {0: 1, 9: 1}})
    assert told == [(T, 9, 3), (T, 0, ErrorCode.NOT_COORDINATOR)]


def delete(peer: Peer, group: str, asked: dict[str, list[int]]) -> Any:
    topics = [
        m.OffsetDeleteRequestOffsetDeleteRequestTopic(
            name=name,
            partitions=[
                m.OffsetDeleteRequestOffsetDeleteRequestPartition(partition_index=n) for n in numbers
            ],
        )
        for name, numbers in asked.items()
    ]
    return peer.send(m.OffsetDeleteRequest(group_id=group, topics=topics), 0)


def test_offsets_are_deleted_and_what_does_not_exist_is_told(peer: Peer, services: Services) -> None:
    find(peer)
    commit(peer, services, 9, {T: {0: 5, 1: 6}})
    answer = delete(peer, "g", {T: [0, 8], "none": [1]})
    assert answer.error_code == 0
    assert [
        (topic.name, [(one.partition_index, one.error_code) for one in topic.partitions])
        for topic in answer.topics
    ] == [(T, [(8, 3), (0, 0)]), ("none", [(1, 3)])]
    assert fetch(peer, services, 9, None) == {(T, 1): (6, "m", 0)}


def test_offsets_of_a_group_without_a_name_or_without_existence_are_not_deleted(peer: Peer) -> None:
    find(peer)
    assert delete(peer, "", {T: [0]}).error_code == ErrorCode.INVALID_GROUP_ID
    assert delete(peer, "none", {T: [0]}).error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_an_offset_of_the_topic_before_is_not_told_for_the_new_one(peer: Peer, services: Services) -> None:
    find(peer)
    commit(peer, services, 9, {T: {0: 5}})
    for shard in services.groups.active_shards():
        offset = shard.offsets.committed.get("g", T, 0)
        if offset is not None:
            offset.topic_id = UNKNOWN_ID
    assert fetch(peer, services, 5, {T: [0]}) == {(T, 0): (-1, "", 0)}
    assert fetch(peer, services, 10, {T: [0]}) == {(T, 0): (-1, "", 0)}
