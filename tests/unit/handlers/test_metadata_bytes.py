"""Metadata responses joined from cached topics are what the generated encoder makes, and never stale."""

import pytest

from barnabas.handlers import api_03_metadata
from barnabas.handlers.metadata_bytes import encode_response, encode_topic
from barnabas.protocol import messages as m
from tests.unit.handlers.conftest import TOPIC_ID, replay

VERSIONS = range(14)


def _response(version: int, topics: list[m.Struct]) -> m.MetadataResponse:
    response = m.MetadataResponse(
        brokers=[m.MetadataResponseMetadataResponseBroker(node_id=1, host="h", port=9, rack="r")],
        cluster_id="c",
        controller_id=1,
        topics=topics,
    )
    if 8 <= version <= 10:
        response.cluster_authorized_operations = 77
    if version >= 13:
        response.error_code = 9
    return response


def _topic(name: str | None, partitions: int) -> m.Struct:
    return m.MetadataResponseMetadataResponseTopic(
        error_code=5,
        name=name,
        topic_id=TOPIC_ID,
        partitions=[
            m.MetadataResponseMetadataResponsePartition(
                partition_index=number, leader_id=1, replica_nodes=[1], isr_nodes=[1]
            )
            for number in range(partitions)
        ],
    )


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("count", [0, 1, 3, 200])
def test_joined_bytes_are_those_of_the_generated_encoder(version, count):
    topics = [_topic(f"t{number}", number % 4) for number in range(count)]
    if version >= 12:
        topics += [_topic(None, 0)]
    whole = _response(version, topics).encode(version)
    parts = [encode_topic(topic, version) for topic in topics]
    assert encode_response(_response(version, []), parts, version) == whole


def test_a_topic_is_encoded_once_for_each_version(peer, monkeypatch):
    made = []

    def counted(topic, version):
        made.append((topic.name, version))
        return encode_topic(topic, version)

    monkeypatch.setattr(api_03_metadata, "encode_topic", counted)
    for version in (1, 9, 12, 12, 9, 1):
        assert [t.name for t in peer.send(m.MetadataRequest(topics=None), version).topics] == ["events"]
    assert made == [("events", 1), ("events", 9), ("events", 12)]


def test_asked_for_operations_are_not_mixed_up_with_others(peer):
    plain = m.MetadataRequest(topics=None)
    asked = m.MetadataRequest(topics=None, include_topic_authorized_operations=True)
    told = [peer.send(request, 12).topics[0].topic_authorized_operations for request in (plain, asked, plain)]
    assert told == [-(2**31), 3576, -(2**31)]


def test_a_changed_partition_is_told(peer, services):
    request = m.MetadataRequest(topics=None)
    assert peer.send(request, 12).topics[0].partitions[1].leader_epoch == 3
    replay(services.image, m.PartitionChangeRecord(partition_id=1, topic_id=TOPIC_ID, leader=1))
    assert peer.send(request, 12).topics[0].partitions[1].leader_epoch == 4


def test_a_new_partition_is_told(peer, services):
    request = m.MetadataRequest(topics=None)
    assert len(peer.send(request, 12).topics[0].partitions) == 2
    record = m.PartitionRecord(partition_id=2, topic_id=TOPIC_ID, replicas=[1], isr=[1], leader=1)
    replay(services.image, record)
    assert len(peer.send(request, 12).topics[0].partitions) == 3


def test_a_changed_broker_is_told(peer, services, replicas, monkeypatch):
    request = m.MetadataRequest(topics=None)
    assert peer.send(request, 12).topics[0].partitions[0].offline_replicas == []
    monkeypatch.setattr(replicas, "offline_replicas", lambda _: [1], raising=True)
    assert peer.send(request, 12).topics[0].partitions[0].offline_replicas == [], "nothing changed yet"
    replay(services.image, m.RegisterBrokerRecord(broker_id=1, broker_epoch=7, fenced=True))
    assert peer.send(request, 12).topics[0].partitions[0].offline_replicas == [1]
