"""ApiVersions, Metadata, DescribeCluster, FindCoordinator, InitProducerId."""

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.base.uuids import NULL_UUID
from barnabas.handlers.routes import ROUTES
from barnabas.metadata.topic_changes import TopicCreationResult
from barnabas.protocol import messages
from barnabas.protocol.api_keys import ApiKey
from tests.unit.handlers.conftest import TOPIC_ID


def _software(**fields):
    return messages.ApiVersionsRequest(
        **{"client_software_name": "test", "client_software_version": "1.0", **fields}
    )


@pytest.mark.parametrize("version", range(6))
def test_p5_api_versions_tells_what_is_served(peer, version):
    response = peer.send(_software() if version >= 3 else messages.ApiVersionsRequest(), version)
    assert response.error_code == 0
    told = {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}
    assert told[ApiKey.PRODUCE] == (0, 13)
    assert told[ApiKey.FETCH] == (4, 18)
    assert set(told) == set(ROUTES)


def test_api_versions_leaves_out_minimum_zero_below_version_4(peer):
    three = {f.name for f in peer.send(_software(), 3).supported_features}
    four = {f.name for f in peer.send(_software(), 4).supported_features}
    assert three == {"metadata.version"}
    assert {"group.version", "transaction.version", "metadata.version"} <= four


def test_api_versions_tells_finalized_features(peer, services):
    services.image.features = {"metadata.version": 33, "group.version": 1}
    response = peer.send(_software(), 3)
    assert {f.name: f.max_version_level for f in response.finalized_features} == {
        "metadata.version": 33,
        "group.version": 1,
        "kraft.version": 1,  # of the quorum's log, not of a feature record
    }
    assert response.finalized_features_epoch == 5


@pytest.mark.parametrize("name", ["", "-x", "x-", "a b", "x" * 3 + "/"])
def test_kip511_software_must_look_like_a_name(peer, name):
    assert peer.send(_software(client_software_name=name), 3).error_code == ErrorCode.INVALID_REQUEST
    assert peer.send(_software(client_software_version=name), 3).error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("cluster_id", "node_id", "expected"),
    [
        ("cluster", 1, ErrorCode.NONE),
        ("another", 1, ErrorCode.REBOOTSTRAP_REQUIRED),
        ("cluster", 2, ErrorCode.REBOOTSTRAP_REQUIRED),
        (None, -1, ErrorCode.NONE),
        (None, 1, ErrorCode.INVALID_REQUEST),
        ("cluster", -1, ErrorCode.INVALID_REQUEST),
    ],
)
def test_kip1242_a_client_that_means_another_node_is_sent_back(peer, cluster_id, node_id, expected):
    response = peer.send(_software(cluster_id=cluster_id, node_id=node_id), 5)
    assert response.error_code == expected


def _asked(*names):
    return [messages.MetadataRequestMetadataRequestTopic(name=name) for name in names]


@pytest.mark.parametrize("version", range(14))
def test_metadata_of_all_topics(peer, version):
    request = messages.MetadataRequest(topics=None if version else [])
    response = peer.send(request, version)
    assert [(b.node_id, b.host, b.port) for b in response.brokers] == [(1, "broker.example", 9092)]
    (topic,) = response.topics
    assert (topic.name, topic.error_code) == ("events", 0)
    assert [(p.partition_index, p.leader_id, p.isr_nodes) for p in topic.partitions] == [
        (0, 1, [1]),
        (1, 1, [1]),
    ]
    if version >= 7:
        assert topic.partitions[0].leader_epoch == 3
    if version >= 10:
        assert topic.topic_id == TOPIC_ID


def test_metadata_of_no_topics(peer):
    assert peer.send(messages.MetadataRequest(topics=[]), 1).topics == []


def test_metadata_of_an_unknown_topic_without_creation(peer):
    request = messages.MetadataRequest(topics=_asked("nope", "events"), allow_auto_topic_creation=False)
    first, second = peer.send(request, 9).topics
    assert (first.name, first.error_code, first.partitions) == (
        "nope",
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        [],
    )
    assert second.error_code == 0


def test_metadata_by_id(peer):
    asked = [
        messages.MetadataRequestMetadataRequestTopic(name=None, topic_id=TOPIC_ID),
        messages.MetadataRequestMetadataRequestTopic(name=None, topic_id=bytes(15) + b"\x77"),
    ]
    known, unknown = peer.send(messages.MetadataRequest(topics=asked), 12).topics
    assert (known.name, known.error_code) == ("events", 0)
    assert (unknown.name, unknown.error_code) == (None, ErrorCode.UNKNOWN_TOPIC_ID)


def test_metadata_operations_only_when_asked(peer):
    asked = messages.MetadataRequest(
        topics=_asked("events"),
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )
    response = peer.send(asked, 8)
    assert response.topics[0].topic_authorized_operations == 3576
    assert response.cluster_authorized_operations == 8096
    silent = peer.send(messages.MetadataRequest(topics=_asked("events")), 8)
    assert silent.topics[0].topic_authorized_operations == -(2**31)
    assert silent.cluster_authorized_operations == -(2**31)


@pytest.mark.parametrize("version", range(3))
def test_describe_cluster(peer, version):
    response = peer.send(messages.DescribeClusterRequest(), version)
    assert (response.cluster_id, response.controller_id) == ("cluster", 1)
    assert [(b.broker_id, b.host, b.port) for b in response.brokers] == [(1, "broker.example", 9092)]


@pytest.mark.parametrize(
    ("endpoint_type", "code"),
    [(2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (9, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)],
)
def test_kip919_only_brokers_can_be_described(peer, endpoint_type, code):
    response = peer.send(messages.DescribeClusterRequest(endpoint_type=endpoint_type), 1)
    assert response.error_code == code


@pytest.mark.parametrize("version", range(6))
def test_producer_ids_are_given_once(peer, version):
    ids = [
        peer.send(messages.InitProducerIdRequest(transactional_id=None), version).producer_id
        for _ in range(3)
    ]
    assert ids == [1000, 1001, 1002]


def test_producer_ids_go_on_with_the_next_block(services, peer):
    from barnabas.coordinator.transactions.producer_ids import ProducerIds

    blocks = iter([range(2), range(1000, 1002)])
    services.producer_ids = ProducerIds(lambda: next(blocks))
    ids = [peer.send(messages.InitProducerIdRequest(transactional_id=None), 0).producer_id for _ in range(4)]
    assert ids == [0, 1, 1000, 1001]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"transactional_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"transactional_id": None, "producer_id": 5}, ErrorCode.INVALID_REQUEST),
        ({"transactional_id": None, "producer_epoch": 5}, ErrorCode.INVALID_REQUEST),
        ({"transactional_id": "t", "producer_id": 5}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_init_producer_id_refusals(peer, fields, code):
    response = peer.send(messages.InitProducerIdRequest(**fields), 4)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (code, -1, -1)


def test_null_topic_id_is_no_id(peer):
    asked = [messages.MetadataRequestMetadataRequestTopic(name="events", topic_id=NULL_UUID)]
    assert peer.send(messages.MetadataRequest(topics=asked), 12).topics[0].name == "events"


def test_create_topics_refuses_a_partition_placed_twice_and_keeps_the_others(peer, services):
    asked = []
    services.controller.create_topics = lambda creations, validate_only: (
        asked.extend(creations) or [TopicCreationResult(name=creation.name) for creation in creations]
    )
    place = messages.CreateTopicsRequestCreatableReplicaAssignment
    topic = messages.CreateTopicsRequestCreatableTopic
    twice = [place(partition_index=0, broker_ids=[1]), place(partition_index=0, broker_ids=[1])]
    request = messages.CreateTopicsRequest(topics=[topic(name="a", assignments=twice), topic(name="b")])
    response = peer.send(request, 7)
    assert {t.name: t.error_code for t in response.topics} == {
        "a": ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        "b": ErrorCode.NONE,
    }
    assert [creation.name for creation in asked] == ["b"]
    assert next(t for t in response.topics if t.name == "b").error_message is None


@pytest.mark.parametrize("version", range(10, 14))
def test_metadata_refuses_a_topic_with_neither_name_nor_id_in_every_version(peer, version):
    request = messages.MetadataRequest(topics=[messages.MetadataRequestMetadataRequestTopic(name=None)])
    response = peer.send(request, version)
    assert [t.error_code for t in response.topics] == [ErrorCode.INVALID_REQUEST]


@pytest.mark.parametrize("name", ["", ".", "no/slash", "x" * 250])
def test_metadata_tells_wrong_names_from_unknown_ones(peer, name):
    topics = [messages.MetadataRequestMetadataRequestTopic(name=asked) for asked in (name, "nope")]
    request = messages.MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    errors = {t.name: t.error_code for t in peer.send(request, 9).topics}
    assert errors == {name: ErrorCode.INVALID_TOPIC_EXCEPTION, "nope": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_unstable_versions_are_neither_served_nor_told():
    assert ROUTES[22].versions.stop - 1 == 5
    assert ROUTES[22].advertised.stop - 1 == 5
