"""The administrative APIs over a real controller; what Apache Kafka answers is compared in tests/golden."""

import logging
from pathlib import Path

import pytest

import barnabas
from barnabas.base.errors import ErrorCode
from barnabas.handlers.broker_loggers import MODULES
from barnabas.handlers.routes import ROUTES
from barnabas.metadata.image import ConfigResourceType
from barnabas.protocol import messages as m
from barnabas.protocol.api_keys import ApiKey
from barnabas.sim.disk import SPACE_BYTES
from tests.unit.handlers.administered import DIRECTORIES, administered
from tests.unit.handlers.conftest import Peer, replay
from tests.unit.replica.broker_setup import batch

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32


@pytest.fixture
def services():
    return administered()


@pytest.fixture
def peer(services):
    made = Peer(services)
    topics = [
        m.CreateTopicsRequestCreatableTopic(name=name, num_partitions=count, replication_factor=1)
        for name, count in (("alpha", 3), ("beta", 4))
    ]
    answer = made.send(m.CreateTopicsRequest(topics=topics), 7)
    assert [topic.error_code for topic in answer.topics] == [0, 0]
    return made


def _versions(key):
    return list(ROUTES[key].versions)


# Partitions ------------------------------------------------------------------------------------------


def _grow(*topics, validate_only=False):
    return m.CreatePartitionsRequest(
        topics=[
            m.CreatePartitionsRequestCreatePartitionsTopic(name=name, count=count, assignments=None)
            for name, count in topics
        ],
        validate_only=validate_only,
    )


@pytest.mark.parametrize("version", _versions(ApiKey.CREATE_PARTITIONS))
def test_partitions_are_added_and_led(peer, services, version):
    (result,) = peer.send(_grow(("alpha", 5)), version).results
    assert (result.name, result.error_code) == ("alpha", 0)
    assert [p.leader for p in services.image.topics["alpha"].partitions.values()] == [1] * 5
    assert services.replicas.partitions.get("alpha", 4).is_leader


def test_validating_adds_no_partition(peer, services):
    assert peer.send(_grow(("alpha", 5), validate_only=True), 3).results[0].error_code == 0
    assert len(services.image.topics["alpha"].partitions) == 3


def test_each_topic_grows_or_fails_alone(peer, services):
    results = peer.send(_grow(("alpha", 9), ("missing", 2), ("beta", 5), ("alpha", 4)), 3).results
    assert {r.name: r.error_code for r in results} == {
        "alpha": ErrorCode.INVALID_REQUEST,
        "missing": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "beta": 0,
    }
    assert len(services.image.topics["alpha"].partitions) == 3


# Configs ---------------------------------------------------------------------------------------------


def _describe(*resources, keys=None, **fields):
    return m.DescribeConfigsRequest(
        resources=[
            m.DescribeConfigsRequestDescribeConfigsResource(
                resource_type=kind, resource_name=name, configuration_keys=keys
            )
            for kind, name in resources
        ],
        **fields,
    )


def _alter(kind, name, *changes, validate_only=False):
    config = m.IncrementalAlterConfigsRequestAlterableConfig
    resource = m.IncrementalAlterConfigsRequestAlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[config(name=k, config_operation=op, value=v) for k, op, v in changes],
    )
    return m.IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)


@pytest.mark.parametrize("version", _versions(ApiKey.DESCRIBE_CONFIGS))
def test_a_topics_config_tells_where_it_comes_from(peer, version):
    peer.send(_alter(TOPIC, "alpha", ("retention.ms", 0, "60000")), 1)
    (result,) = peer.send(_describe((TOPIC, "alpha"), keys=["retention.ms", "segment.ms"]), version).results
    found = {c.name: (c.value, c.config_source) for c in result.configs}
    assert found == {"retention.ms": ("60000", 1), "segment.ms": ("604800000", 5)}


def test_synonyms_and_documentation_only_when_asked_for(peer):
    peer.send(_alter(BROKER, "", ("log.retention.ms", 0, "7")), 1)
    plain = peer.send(_describe((TOPIC, "alpha"), keys=["retention.ms"]), 4).results[0].configs[0]
    assert (plain.value, plain.synonyms, plain.documentation) == ("7", [], None)
    asked = _describe(
        (TOPIC, "alpha"), keys=["retention.ms"], include_synonyms=True, include_documentation=True
    )
    told = peer.send(asked, 4).results[0].configs[0]
    assert next((s.name, s.value, s.source) for s in told.synonyms) == ("log.retention.ms", "7", 3)
    assert len(told.documentation) > 10


@pytest.mark.parametrize(("kind", "name"), [(TOPIC, "alpha"), (BROKER, "1"), (GROUP, "g"), (METRICS, "m")])
def test_public_configs_are_documented(peer, kind, name):
    told = peer.send(_describe((kind, name), include_documentation=True), 4).results[0].configs
    assert [config.name for config in told if not config.documentation] == []


def test_topics_that_set_the_same_are_described_alike_and_others_not(peer):
    peer.send(_alter(TOPIC, "beta", ("retention.ms", 0, "1")), 1)
    request = _describe((TOPIC, "alpha"), (TOPIC, "beta"), (TOPIC, "alpha"), keys=["retention.ms"])
    told = [(r.resource_name, r.configs[0].value) for r in peer.send(request, 4).results]
    assert told == [("alpha", "604800000"), ("beta", "1"), ("alpha", "604800000")]


def test_secrets_are_not_told(peer):
    key = "listener.name.plaintext.ssl.keystore.password"
    assert peer.send(_alter(BROKER, "1", (key, 0, "secret")), 1).responses[0].error_code == 0
    (config,) = peer.send(_describe((BROKER, "1"), keys=[key], include_synonyms=True), 4).results[0].configs
    assert (config.value, config.is_sensitive) == (None, True)
    assert [synonym.value for synonym in config.synonyms] == [None]


def test_altering_replaces_everything_and_incrementally_only_what_is_named(peer, services):
    resource = m.AlterConfigsRequestAlterConfigsResource(
        resource_type=TOPIC,
        resource_name="alpha",
        configs=[m.AlterConfigsRequestAlterableConfig(name="retention.ms", value="5")],
    )
    peer.send(_alter(TOPIC, "alpha", ("flush.ms", 0, "7")), 1)
    assert peer.send(m.AlterConfigsRequest(resources=[resource]), 2).responses[0].error_code == 0
    config = services.image.config(ConfigResourceType.TOPIC, "alpha")
    assert dict(config) == {"retention.ms": "5"}
    peer.send(_alter(TOPIC, "alpha", ("flush.ms", 0, "7")), 1)
    assert dict(config) == {"retention.ms": "5", "flush.ms": "7"}


def test_a_config_reaches_the_logs(peer, services):
    log = services.replicas.partitions.get("alpha", 2).log
    peer.send(_alter(TOPIC, "alpha", ("retention.ms", 0, "5")), 1)
    assert log.config.retention_ms == 5
    peer.send(_alter(TOPIC, "alpha", ("retention.ms", 1, None)), 1)
    peer.send(_alter(BROKER, "1", ("log.retention.ms", 0, "6")), 1)
    assert log.config.retention_ms == 6


def test_validating_changes_nothing(peer, services):
    request = _alter(TOPIC, "alpha", ("retention.ms", 0, "5"), validate_only=True)
    assert peer.send(request, 1).responses[0].error_code == 0
    assert services.image.config(ConfigResourceType.TOPIC, "alpha") == {}


@pytest.fixture
def own_logger():
    name = "barnabas.handlers.dispatch"
    yield name
    logging.getLogger(name).setLevel(logging.NOTSET)


def test_kip412_loggers_can_be_seen_set_and_reset(peer, own_logger):
    def level():
        request = _describe((LOGGER, "1"), keys=[own_logger])
        return peer.send(request, 4).results[0].configs[0].value

    before = level()
    change = _alter(LOGGER, "1", (own_logger, 0, "DEBUG"))
    assert peer.send(change, 1).responses[0].error_code == 0
    assert level() == "DEBUG"
    assert logging.getLogger(own_logger).isEnabledFor(logging.DEBUG)
    assert peer.send(_alter(LOGGER, "1", (own_logger, 1, None)), 1).responses[0].error_code == 0
    assert level() == before


def test_loggers_are_named_before_they_wrote_a_line(peer):
    told = peer.send(_describe((LOGGER, "1")), 4).results[0].configs
    package = Path(barnabas.__file__).parent
    logging_modules = {
        ".".join(("barnabas", *path.relative_to(package).with_suffix("").parts))
        for path in package.rglob("*.py")
        if "Logger(__name__)" in path.read_text() and path.parent.name != "cli"
    }
    assert logging_modules == set(MODULES), "handlers/broker_loggers.py names them"
    assert {config.name for config in told} >= logging_modules | {"root", "barnabas", "kafka.request.logger"}


def test_the_request_log_is_switched_at_run_time(peer, services):
    name = "kafka.request.logger"
    try:
        assert peer.send(_alter(LOGGER, "1", (name, 0, "DEBUG")), 1).responses[0].error_code == 0
        assert services.request_log.on
        assert peer.send(_alter(LOGGER, "1", (name, 0, "INFO")), 1).responses[0].error_code == 0
        assert not services.request_log.on
    finally:
        logging.getLogger(name).setLevel(logging.NOTSET)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("no.such.logger", 0, "INFO"), ErrorCode.INVALID_CONFIG),
        (("barnabas", 0, "LOUD"), ErrorCode.INVALID_CONFIG),
        (("root", 1, None), ErrorCode.INVALID_REQUEST),
        (("barnabas", 2, "INFO"), ErrorCode.INVALID_REQUEST),
        (("barnabas", 7, "INFO"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_loggers_refuse_what_makes_no_sense(peer, change, code):
    assert peer.send(_alter(LOGGER, "1", change), 1).responses[0].error_code == code


def test_validated_loggers_stay(peer, own_logger):
    request = _alter(LOGGER, "1", (own_logger, 0, "TRACE"), validate_only=True)
    assert peer.send(request, 1).responses[0].error_code == 0
    assert not logging.getLogger(own_logger).isEnabledFor(5)


def test_resources_with_configs_are_listed(peer):
    peer.send(_alter(GROUP, "g", ("consumer.session.timeout.ms", 0, "50000")), 1)
    told = peer.send(m.ListConfigResourcesRequest(resource_types=[]), 1).config_resources
    assert {(r.resource_type, r.resource_name) for r in told} == {
        (TOPIC, "alpha"), (TOPIC, "beta"), (BROKER, "1"), (LOGGER, "1"), (GROUP, "g"),
    }  # fmt: skip


# Log directories -------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", _versions(ApiKey.DESCRIBE_LOG_DIRS))
def test_replicas_are_told_where_they_lie(peer, services, version):
    log = services.replicas.partitions.get("alpha", 0).log
    services.replicas.partitions.get("alpha", 0).append_as_leader(
        batch(), acks=1, origin=_client(), request_version=13, now_ms=1_700_000_000_000
    )
    results = peer.send(m.DescribeLogDirsRequest(topics=None), version).results
    assert [result.log_dir for result in results] == list(DIRECTORIES)
    placed = {
        (topic.name, part.partition_index): (result.log_dir, part.partition_size, part.offset_lag)
        for result in results
        for topic in result.topics
        for part in topic.partitions
    }
    assert len(placed) == 7
    assert placed["alpha", 0] == (log.directory.path, log.size, 0)
    if version >= 4:
        assert {(r.total_bytes, r.usable_bytes) for r in results} == {(SPACE_BYTES, SPACE_BYTES)}


def _client():
    from barnabas.storage.producer_state.states import AppendOrigin

    return AppendOrigin.CLIENT


def test_a_failed_directory_hides_nothing_of_the_others(peer, services):
    services.logs.directories[1].failed(OSError(5, "broken"), "testing")
    good, bad = peer.send(m.DescribeLogDirsRequest(topics=None), 4).results
    assert (good.error_code, bad.error_code) == (0, ErrorCode.KAFKA_STORAGE_ERROR)
    assert good.topics
    assert bad.topics == []


# Topics page by page ---------------------------------------------------------------------------------


def _pages(peer, names=(), limit=2000):
    cursor = None
    while True:
        request = m.DescribeTopicPartitionsRequest(
            topics=[m.DescribeTopicPartitionsRequestTopicRequest(name=name) for name in names],
            response_partition_limit=limit,
            cursor=cursor,
        )
        page = peer.send(request, 0)
        yield [(t.name, p.partition_index) for t in page.topics for p in t.partitions]
        if page.next_cursor is None:
            return
        cursor = m.DescribeTopicPartitionsRequestCursor(
            topic_name=page.next_cursor.topic_name, partition_index=page.next_cursor.partition_index
        )


EVERYTHING = [("alpha", n) for n in range(3)] + [("beta", n) for n in range(4)]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("names", [(), ("beta", "alpha")])
def test_pages_give_each_partition_once(peer, names, limit):
    pages = list(_pages(peer, names, limit))
    assert [entry for page in pages for entry in page] == EVERYTHING
    assert max(map(len, pages)) <= limit


def test_the_broker_limits_a_page_too(peer):
    assert [len(page) for page in _pages(peer)] == [5, 2]


# The rest --------------------------------------------------------------------------------------------


def test_kip966_eligible_leader_replicas_are_told(peer, services):
    topic_id = services.image.topics["alpha"].topic_id
    change = m.PartitionChangeRecord(
        partition_id=0, topic_id=topic_id, eligible_leader_replicas=[1], last_known_elr=[2]
    )
    replay(services.image, change)
    topic = m.DescribeTopicPartitionsRequestTopicRequest(name="alpha")
    told = peer.send(m.DescribeTopicPartitionsRequest(topics=[topic]), 0).topics[0].partitions[0]
    assert (told.eligible_leader_replicas, told.last_known_elr) == ([1], [2])


def test_only_a_leader_tells_of_producers(peer, services):
    services.replicas.partitions.get("alpha", 0).leader_id = 2
    topic = m.DescribeProducersRequestTopicRequest(name="alpha", partition_indexes=[0, 1])
    parts = peer.send(m.DescribeProducersRequest(topics=[topic]), 0).topics[0].partitions
    assert [p.error_code for p in parts] == [ErrorCode.NOT_LEADER_OR_FOLLOWER, 0]


@pytest.mark.parametrize("version", _versions(ApiKey.DESCRIBE_QUORUM))
def test_the_quorum_is_this_node(peer, services, version):
    part = m.DescribeQuorumRequestPartitionData(partition_index=0)
    topic = m.DescribeQuorumRequestTopicData(topic_name="__cluster_metadata", partitions=[part])
    response = peer.send(m.DescribeQuorumRequest(topics=[topic]), version)
    (told,) = response.topics[0].partitions
    (voter,) = told.current_voters
    assert (told.leader_id, voter.replica_id, told.observers) == (1, 1, [])
    assert told.high_watermark == voter.log_end_offset == services.controller.log.end_offset
    if version >= 2:
        assert [(n.node_id, n.listeners[0].port) for n in response.nodes] == [(1, 9093)]
        assert any(voter.replica_directory_id)


def test_features_change_all_or_none(peer, services):
    def update(*levels, validate_only=False):
        keys = [
            m.UpdateFeaturesRequestFeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=2)
            for name, level in levels
        ]
        request = m.UpdateFeaturesRequest(feature_updates=keys, validate_only=validate_only)
        return peer.send(request, 2).error_code

    assert update(("share.version", 1), validate_only=True) == 0
    assert services.image.features["share.version"] == 2
    assert update(("share.version", 1), ("no.such", 1)) == ErrorCode.INVALID_UPDATE_VERSION
    assert services.image.features["share.version"] == 2
    assert update(("share.version", 1)) == 0
    assert services.image.features["share.version"] == 1


def test_a_partition_that_lay_on_more_brokers_can_be_drawn_together(peer, services):
    topic_id = services.image.topics["alpha"].topic_id
    replay(
        services.image,
        m.PartitionChangeRecord(
            partition_id=0, topic_id=topic_id, replicas=[2, 1], isr=[1, 2], adding_replicas=[2],
            directories=[bytes(15) + b"\x08", bytes(15) + b"\x09"],
        ),
    )  # fmt: skip
    listed = peer.send(m.ListPartitionReassignmentsRequest(topics=None), 0).topics
    assert [(t.name, t.partitions[0].adding_replicas) for t in listed] == [("alpha", [2])]

    def reassign(replicas, **fields):
        part = m.AlterPartitionReassignmentsRequestReassignablePartition(partition_index=0, replicas=replicas)
        topic = m.AlterPartitionReassignmentsRequestReassignableTopic(name="alpha", partitions=[part])
        request = m.AlterPartitionReassignmentsRequest(topics=[topic], **fields)
        return peer.send(request, 1).responses[0].partitions[0].error_code

    kept = reassign([1], allow_replication_factor_change=False)
    assert kept == ErrorCode.INVALID_REPLICATION_FACTOR
    assert reassign([1]) == 0
    partition = services.image.partition("alpha", 0)
    assert (partition.replicas, partition.isr, partition.leader) == ((1,), (1,), 1)
    assert partition.directories == (bytes(15) + b"\x09",)
    assert reassign(None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    assert peer.send(m.ListPartitionReassignmentsRequest(topics=None), 0).topics == []


def test_a_reassignment_can_be_cancelled(peer, services):
    topic_id = services.image.topics["alpha"].topic_id
    replay(
        services.image,
        m.PartitionChangeRecord(
            partition_id=0, topic_id=topic_id, replicas=[1, 2], adding_replicas=[2],
            directories=[bytes(15) + b"\x08", bytes(15) + b"\x09"],
        ),
    )  # fmt: skip
    part = m.AlterPartitionReassignmentsRequestReassignablePartition(partition_index=0, replicas=None)
    topic = m.AlterPartitionReassignmentsRequestReassignableTopic(name="alpha", partitions=[part])
    response = peer.send(m.AlterPartitionReassignmentsRequest(topics=[topic]), 0)
    assert response.responses[0].partitions[0].error_code == 0
    assert services.image.partition("alpha", 0).replicas == (1,)


def test_a_broker_that_is_gone_can_be_forgotten(peer, services):
    replay(services.image, m.RegisterBrokerRecord(broker_id=2, broker_epoch=7))
    assert peer.send(m.UnregisterBrokerRequest(broker_id=2), 0).error_code == 0
    assert set(services.image.brokers) == {1}
    assert peer.send(m.UnregisterBrokerRequest(broker_id=1), 0).error_code == ErrorCode.INVALID_REQUEST


def test_cordoned_everywhere_nothing_new_is_placed(peer, services):
    services.controller.cordon(services.controller._node.log_dirs)
    topic = m.CreateTopicsRequestCreatableTopic(name="new", num_partitions=1, replication_factor=1)
    refused = peer.send(m.CreateTopicsRequest(topics=[topic]), 7).topics[0]
    assert refused.error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    grown = peer.send(_grow(("alpha", 9)), 3).results[0]
    assert grown.error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    services.controller.cordon([])
    assert peer.send(m.CreateTopicsRequest(topics=[topic]), 7).topics[0].error_code == 0


def test_new_logs_avoid_a_cordoned_directory(peer, services):
    services.logs.directories[0].cordoned = True
    topic = m.CreateTopicsRequestCreatableTopic(name="new", num_partitions=9, replication_factor=1)
    peer.send(m.CreateTopicsRequest(topics=[topic]), 7)
    placed = {services.replicas.partitions.get("new", n).log.directory.path for n in range(9)}
    assert placed == {DIRECTORIES[1]}
