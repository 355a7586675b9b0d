"""The controller: Kafka's answers, durable before they are given, and the same image after a restart."""

from __future__ import annotations

import random

import pytest

from barnabas.base.dataclass import replace
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.metadata.config_changes import ConfigAlteration, ConfigOperation, ResourceAlteration
from barnabas.metadata.controller import Controller, TopicCreation
from barnabas.metadata.feature_changes import FeatureUpdate, UpgradeType
from barnabas.metadata.image import ConfigResourceType, MetadataDelta, MetadataImage
from barnabas.metadata.metadata_log import MetadataLogConfig
from barnabas.metadata.topic_changes import PartitionsCreation

from .broker_node import Node

SNAPSHOT_OFTEN = MetadataLogConfig(max_record_bytes_between_snapshots=2000, max_retention_bytes=8000)


def same(image: MetadataImage, other: MetadataImage) -> bool:
    return (
        image.topics == other.topics
        and set(image.topics_by_id) == set(other.topics_by_id)
        and image.configs == other.configs
        and image.features == other.features
        and image.next_producer_id == other.next_producer_id
    )


def one(controller: Controller, creation: TopicCreation) -> tuple[ErrorCode, str | None]:
    result = controller.create_topics([creation], validate_only=True)[0]
    return result.error, result.message


@pytest.fixture(scope="module")
def controller() -> Controller:
    made = Node().start()
    for name in ("present", "with.dot"):
        assert made.create_topics([TopicCreation(name=name, num_partitions=2)])[0].error is ErrorCode.NONE
    return made


def test_a_new_log_begins_as_apache_kafkas_does() -> None:
    image = Node().start().image
    assert list(image.features.items()) == [
        ("metadata.version", 33),
        ("eligible.leader.replicas.version", 1),
        ("group.version", 1),
        ("share.version", 2),
        ("streams.version", 1),
        ("transaction.version", 2),
    ]
    assert image.config(ConfigResourceType.BROKER, "") == {"min.insync.replicas": "1"}
    assert not image.brokers[1].fenced


MANUAL = "A manual partition assignment was specified, but"
INCLUDES = "The manual partition assignment includes"


@pytest.mark.parametrize(
    ("creation", "error", "message"),
    [
        (TopicCreation(name=""), 17, "Topic name is invalid: the empty string is not allowed"),
        (TopicCreation(name=".."), 17, "Topic name is invalid: '..' is not allowed"),
        (
            TopicCreation(name="a/b"),
            17,
            "Topic name is invalid: 'a/b' contains one or more characters other than ASCII alphanumerics, "
            "'.', '_' and '-'",
        ),
        (TopicCreation(name="a\n"), 17, None),
        (TopicCreation(name="x" * 250), 17, None),
        (TopicCreation(name="x" * 249), 0, None),
        (TopicCreation(name="present"), 36, "Topic 'present' already exists."),
        (TopicCreation(name="with_dot"), 17, "Topic 'with_dot' collides with existing topic: with.dot"),
        (
            TopicCreation(name="__cluster_metadata"),
            42,
            "Creation of internal topic __cluster_metadata is prohibited.",
        ),
        (
            TopicCreation(name="n", num_partitions=0),
            37,
            "Number of partitions was set to an invalid non-positive value.",
        ),
        (
            TopicCreation(name="n", replication_factor=0),
            38,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        ),
        (TopicCreation(name="n", replication_factor=3), 38, None),
        (
            TopicCreation(name="n", num_partitions=2, assignments={0: [1]}),
            42,
            f"{MANUAL} numPartitions was not set to -1.",
        ),
        (
            TopicCreation(name="n", replication_factor=1, assignments={0: [1]}),
            42,
            f"{MANUAL} replication factor was not set to -1.",
        ),
        (
            TopicCreation(name="n", assignments={1: [1]}),
            39,
            "partitions should be a consecutive 0-based integer sequence",
        ),
        (TopicCreation(name="n", assignments={0: [1, 1]}), 39, f"{INCLUDES} the broker 1 more than once."),
        (TopicCreation(name="n", assignments={0: []}), 39, f"{INCLUDES} an empty replica list."),
        (
            TopicCreation(name="n", assignments={0: [2]}),
            39,
            f"{INCLUDES} broker 2, but no such broker is registered.",
        ),
        (
            TopicCreation(name="n", num_partitions=10_001),
            44,
            "Excessively large number of partitions per request.",
        ),
        (
            TopicCreation(name="n", num_partitions=10_000),
            44,
            "Unable to perform excessively large batch operation.",
        ),
        (
            TopicCreation(name="n", configs={"retention.ms": "x", "nope": "y"}),
            40,
            "Unknown topic config name: nope",
        ),
        (
            TopicCreation(name="n", configs={"retention.ms": None}),
            40,
            "Null value not supported for topic configs: retention.ms",
        ),
        (
            TopicCreation(name="n", configs={"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"}),
            40,
            "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)",
        ),
        (
            TopicCreation(name="n", configs={"remote.storage.enable": "true"}),
            40,
            "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote "
            "log storage.",
        ),
        (
            TopicCreation(name="n", configs={"local.retention.ms": "1000"}),
            40,
            "local.retention.ms says what stays local of a topic in tiered storage, which is disabled in the "
            "broker",
        ),
        (
            TopicCreation(name="n", configs={"local.retention.bytes": "0"}),
            40,
            "local.retention.bytes says what stays local of a topic in tiered storage, which is disabled in "
            "the broker",
        ),
        (
            TopicCreation(name="n", configs={"local.retention.ms": "-2", "local.retention.bytes": " -2"}),
            0,
            None,
        ),
    ],
)
def test_creation_is_answered_with_kafkas_code_and_words(
    controller: Controller, creation: TopicCreation, error: int, message: str | None
) -> None:
    code, text = one(controller, creation)
    assert code == error
    if message is not None:
        assert text == message


@pytest.mark.parametrize(
    ("kind", "name", "alteration", "error", "message"),
    [
        (2, "nope", ("retention.ms", 0, "1"), 3, "The topic 'nope' does not exist."),
        (2, "", ("retention.ms", 0, "1"), 42, "Default topic resources are not allowed."),
        (2, "present", ("retention.ms", 0, None), 42, "Null value not supported for : retention.ms"),
        (
            2,
            "present",
            ("retention.ms", 2, "5"),
            40,
            "Can't APPEND to key retention.ms because its type is not LIST.",
        ),
        (
            4,
            "1",
            ("log.retention.hours", 0, "1"),
            42,
            "Cannot update these configs dynamically: [log.retention.hours]",
        ),
        (4, "2", ("log.retention.ms", 0, "1"), 42, "Unexpected broker id, expected 1, but received 2"),
        (4, "x", ("log.retention.ms", 0, "1"), 42, "Node id must be an integer, but it is: x"),
        (
            4,
            "1",
            ("min.insync.replicas", 0, "2"),
            40,
            "Broker-level min.insync.replicas cannot be altered while ELR is enabled.",
        ),
        (
            4,
            "",
            ("min.insync.replicas", 1, None),
            40,
            "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.",
        ),
        (
            4,
            "",
            ("sasl.enabled.mechanisms", 0, "PLAIN"),
            42,
            "Cannot update these configs at default cluster level, broker id must be specified: "
            "[sasl.enabled.mechanisms]",
        ),
        (4, "", ("nope", 0, "1"), 0, None),
        (32, "", ("consumer.session.timeout.ms", 0, "50000"), 42, "Default group resources are not allowed."),
        (
            32,
            "g",
            ("consumer.session.timeout.ms", 0, "5"),
            40,
            "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive.",
        ),
        (
            32,
            "g",
            ("streams.num.standby.replicas", 0, "9"),
            40,
            "streams.num.standby.replicas must be less than or equal to 2",
        ),
        (32, "g", ("nope", 0, "5"), 40, "Unknown group config name: nope"),
        (
            16,
            "s",
            ("interval.ms", 0, "5"),
            42,
            "Invalid value 5 for interval.ms, interval must be between 100 and 3600000 (1 hour)",
        ),
        (16, "s", ("match", 0, "client_id=["), 40, "Illegal client matching pattern: client_id=["),
        (16, "s", ("match", 0, "client_id=x.*"), 0, None),
        (99, "s", ("a", 0, "b"), 42, "Unknown resource type 99"),
    ],
)
def test_config_changes_are_answered_with_kafkas_code_and_words(
    controller: Controller,
    kind: int,
    name: str,
    alteration: tuple[str, int, str | None],
    error: int,
    message: str,
) -> None:
    key, operation, value = alteration
    resource = ResourceAlteration(
        resource_type=kind,
        resource_name=name,
        alterations=[ConfigAlteration(name=key, operation=operation, value=value)],
    )
    result = controller.incremental_alter_configs([resource], validate_only=True)[0]
    assert (result.error, result.message) == (error, message)


def test_append_and_subtract_start_from_the_default() -> None:
    controller = Node().start()
    controller.create_topics([TopicCreation(name="t")])

    def change(operation: ConfigOperation, value: str) -> str | None:
        controller.incremental_alter_configs(
            [
                ResourceAlteration(
                    resource_type=2,
                    resource_name="t",
                    alterations=[ConfigAlteration(name="cleanup.policy", operation=operation, value=value)],
                )
            ]
        )
        return controller.image.config(ConfigResourceType.TOPIC, "t").get("cleanup.policy")

    assert change(ConfigOperation.APPEND, "compact") == "delete,compact"
    assert change(ConfigOperation.APPEND, "compact") == "delete,compact"
    assert change(ConfigOperation.SUBTRACT, "delete") == "compact"
    assert change(ConfigOperation.SUBTRACT, "compact") == ""


def test_alter_configs_replaces_what_was_set() -> None:
    controller = Node().start()
    controller.create_topics([TopicCreation(name="t", configs={"retention.ms": "1", "segment.ms": "2"})])
    given = [ConfigAlteration(name="flush.ms", value="3")]
    controller.alter_configs([ResourceAlteration(resource_type=2, resource_name="t", alterations=given)])
    assert controller.image.config(ConfigResourceType.TOPIC, "t") == {"flush.ms": "3"}


@pytest.mark.parametrize(
    ("update", "words"),
    [
        (FeatureUpdate(feature="nope", level=1), "Local controller 1 does not support this feature."),
        (FeatureUpdate(feature="group.version", level=2), "Local controller 1 only supports versions 0-1"),
        (
            FeatureUpdate(feature="group.version", level=0),
            "Can't downgrade the version of this feature without",
        ),
        (FeatureUpdate(feature="group.version", level=-1), "A feature version cannot be less than 0."),
        (
            FeatureUpdate(feature="metadata.version", level=32, upgrade_type=UpgradeType.UNSAFE_DOWNGRADE),
            "Unsafe metadata downgrade is not supported in this version.",
        ),
        (
            FeatureUpdate(feature="nope", level=0, upgrade_type=UpgradeType.SAFE_DOWNGRADE),
            "Feature nope not found.",
        ),
    ],
)
def test_features_are_refused_with_kafkas_words(
    controller: Controller, update: FeatureUpdate, words: str
) -> None:
    with pytest.raises(ApiError) as caught:
        controller.update_features([update])
    assert caught.value.code is ErrorCode.INVALID_UPDATE_VERSION
    assert words in str(caught.value)


def administer(controller: Controller) -> None:
    """Do some of everything that leaves records."""
    controller.create_topics([TopicCreation(name=f"t{i}", num_partitions=3) for i in range(5)])
    controller.create_partitions([PartitionsCreation(name="t1", count=7)])
    controller.delete_topics(names=["t2"])
    controller.allocate_producer_ids()
    setting = [ConfigAlteration(name="retention.ms", value="5")]
    controller.incremental_alter_configs(
        [ResourceAlteration(resource_type=2, resource_name="t3", alterations=setting)]
    )
    down = FeatureUpdate(feature="streams.version", level=0, upgrade_type=UpgradeType.SAFE_DOWNGRADE)
    controller.update_features([down])


@pytest.mark.parametrize("config", [MetadataLogConfig(), SNAPSHOT_OFTEN])
def test_a_restart_gives_the_same_image(config: MetadataLogConfig) -> None:
    node = Node(config=config)
    controller = node.start()
    administer(controller)
    assert "streams.version" not in controller.image.features
    before = controller.image
    controller.stop()
    again = node.start()
    assert same(again.image, before)
    assert again.log.epoch == controller.log.epoch + 1
    # A clean stop leaves leaderships as they are.
    assert again.image.topics["t1"].partitions[6].leader_epoch == 0


def test_an_unclean_stop_bumps_leader_epochs() -> None:
    node = Node()
    controller = node.start()
    controller.create_topics([TopicCreation(name="t")])
    controller.abandon()
    assert node.start().image.topics["t"].partitions[0].leader_epoch == 1


@pytest.mark.parametrize("seed", range(12))
def test_what_was_answered_survives_power_loss(seed: int) -> None:
    node = Node(seed=seed, config=SNAPSHOT_OFTEN)
    chance = random.Random(seed)
    answered: list[str] = []
    blocks: list[range] = []
    for round_number in range(4):
        controller = node.start()
        assert set(answered) <= set(controller.image.topics), f"seed {seed}"
        for number in range(chance.randrange(1, 8)):
            name = f"r{round_number}-{number}"
            assert controller.create_topics([TopicCreation(name=name, num_partitions=2)])[0].error == 0
            answered.append(name)
            blocks.append(controller.allocate_producer_ids())
        node.disk.crash(chance)
    ids = [block.start for block in blocks]
    assert len(set(ids)) == len(ids), f"seed {seed}: a block was given twice"


def test_a_failed_sync_changes_nothing_in_memory() -> None:
    node = Node()
    controller = node.start()
    topics = dict(controller.image.topics)

    def refuse(what: str, path: str) -> None:
        if what == "sync" and path.endswith(".log"):
            raise OSError(5, "Input/output error")

    node.disk.on_operation = refuse
    with pytest.raises(ApiError) as caught:
        controller.create_topics([TopicCreation(name="lost")])
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert controller.image.topics == topics


def test_subscribers_hear_after_the_image_holds_it() -> None:
    controller = Node().start()
    heard: list[MetadataDelta] = []

    def listen(delta: MetadataDelta, image: MetadataImage) -> None:
        assert all(topic_id in image.topics_by_id for topic_id in delta.topics_created)
        heard.append(delta)

    controller.subscribe(listen)
    topic_id = controller.create_topics([TopicCreation(name="t", num_partitions=2)])[0].topic_id
    assert list(heard[0].topics_created) == [topic_id]
    assert heard[0].partitions_changed == {(topic_id, 0): None, (topic_id, 1): None}
    controller.delete_topics(ids=[topic_id])
    assert list(heard[1].topics_deleted) == [topic_id]
    assert heard[1].partitions_changed == {}


def test_a_topic_named_by_name_and_id_is_not_deleted() -> None:
    controller = Node().start()
    topic_id = controller.create_topics([TopicCreation(name="t")])[0].topic_id
    results = controller.delete_topics(names=["t"], ids=[topic_id])
    assert [result.error for result in results] == [ErrorCode.INVALID_REQUEST]
    assert "t" in controller.image.topics


def test_encoded_topics_are_made_once_until_something_changes() -> None:
    controller = Node().start()
    controller.create_topics([TopicCreation(name="t"), TopicCreation(name="other")])
    made: list[str] = []

    def encode(topic: object) -> bytes:
        made.append(getattr(topic, "name", ""))
        return b"x"

    def ask(name: str) -> None:
        controller.image.encoded_topic(controller.image.topics[name], (13, "PLAINTEXT"), encode)

    for name in ("t", "other", "t", "other"):
        ask(name)
    assert made == ["t", "other"]
    controller.create_partitions([PartitionsCreation(name="t", count=2)])
    for name in ("t", "other"):
        ask(name)
    assert made == ["t", "other", "t"]
    broker = controller.image.brokers[1]
    controller.image._set_broker(replace(broker, rack="r"), MetadataDelta())
    ask("other")
    assert made == ["t", "other", "t", "other"]


def test_topics_of_one_request_that_set_the_same_share_the_description_of_their_configs() -> None:
    creations = [
        TopicCreation(name="one", num_partitions=1, configs={"retention.ms": "5"}),
        TopicCreation(name="two", num_partitions=1, configs={"retention.ms": "5"}),
        TopicCreation(name="other", num_partitions=1),
    ]
    first, second, other = (result.configs for result in Node().start().create_topics(creations))
    assert first is second
    assert {entry.value for entry in first if entry.name == "retention.ms"} == {"5"}
    assert {entry.value for entry in other if entry.name == "retention.ms"} == {"604800000"}
