"""What a cluster knows besides records: topics and their ids, configs, groups and their offsets.

Asked over the wire, so that both brokers are asked the same way; each must answer what the other would.
"""

import time
from typing import Any, NamedTuple

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    ConfigResource,
    ConfigSource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from barnabas.protocol import messages as m
from tests.interop.test_transaction_takeover import Broker
from tests.net.wire import Wire

_DEADLINE_S = 60
_SET_HERE = (
    ConfigSource.DYNAMIC_TOPIC_CONFIG,
    ConfigSource.DYNAMIC_BROKER_CONFIG,
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
)


class ClusterState(NamedTuple):
    """What must be the same at the next broker.

    Attributes:
        topics: name -> (topic id, partitions).
        configs: (type, name) -> what was set dynamically.
        groups: id -> (topic, partition) -> (offset, metadata).
        starts: (topic, partition) -> log start offset.
    """

    topics: dict[str, tuple[str, int]]
    configs: dict[tuple[str, str], dict[str, str]]
    groups: dict[str, dict[tuple[str, int], tuple[int, str]]]
    starts: dict[tuple[str, int], int]


def admin_of(broker: Broker) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})


def retried(ask: Any) -> Any:
    """Return what `ask` does, again while a broker that just started says that it is not ready."""
    deadline = time.monotonic() + _DEADLINE_S
    while True:
        try:
            return ask()
        except KafkaException as failure:
            error = failure.args[0]
            if not (error.retriable() or error.code() < 0) or time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def state_of(broker: Broker, groups: list[str]) -> ClusterState:
    """Ask a broker for all of it."""
    admin = admin_of(broker)
    topics = _topics(admin)
    asked = [TopicPartition(name, p) for name, (_, count) in topics.items() for p in range(count)]
    places = {place: OffsetSpec.earliest() for place in asked}
    found = retried(lambda: {key: one.result(30) for key, one in admin.list_offsets(places).items()})
    return ClusterState(
        topics=topics,
        configs=_configs(admin, sorted(topics)),
        groups={group: _offsets(admin, group) for group in groups},
        starts={(key.topic, key.partition): one.offset for key, one in found.items()},
    )


def _topics(admin: AdminClient) -> dict[str, tuple[str, int]]:
    names = [n for n in admin.list_topics(timeout=30).topics if not n.startswith("__share")]
    described = admin.describe_topics(TopicCollection(names))
    made = {name: one.result(30) for name, one in described.items()}
    return {name: (str(one.topic_id), len(one.partitions)) for name, one in made.items()}


def _configs(admin: AdminClient, topics: list[str]) -> dict[tuple[str, str], dict[str, str]]:
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in topics]
    resources.append(ConfigResource(ResourceType.BROKER, "1"))
    found = {}
    for resource, answer in admin.describe_configs(resources).items():
        entries = answer.result(30).values()
        found[resource.restype.name, resource.name] = {
            entry.name: str(entry.value) for entry in entries if ConfigSource(entry.source) in _SET_HERE
        }
    return found


def _offsets(admin: AdminClient, group: str) -> dict[tuple[str, int], tuple[int, str]]:
    def ask() -> Any:
        (answer,) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values()
        return answer.result(30)

    listed = retried(ask).topic_partitions
    return {(one.topic, one.partition): (one.offset, one.metadata or "") for one in listed}


def make_topics(broker: Broker, topics: dict[str, tuple[int, dict[str, str]]]) -> None:
    """Create topics: name -> (partitions, configs)."""
    admin = admin_of(broker)
    wanted = [NewTopic(name, count, 1, config=configs) for name, (count, configs) in topics.items()]
    for made in admin.create_topics(wanted).values():
        made.result(30)


def delete_topic(broker: Broker, name: str) -> None:
    admin = admin_of(broker)  # kept: an answer does not outlive its client
    admin.delete_topics([name])[name].result(30)


def set_config(broker: Broker, kind: ResourceType, resource: str, name: str, value: str) -> None:
    """Set one config; an empty resource name is that of all brokers, which librdkafka cannot say."""
    change = m.IncrementalAlterConfigsRequestAlterableConfig(name=name, config_operation=0, value=value)
    asked = m.IncrementalAlterConfigsRequestAlterConfigsResource(
        resource_type=kind.value, resource_name=resource, configs=[change]
    )
    with Wire(broker.port) as wire:
        answer = wire.ask(m.IncrementalAlterConfigsRequest(resources=[asked], validate_only=False), 1)
    assert [one.error_code for one in answer.responses] == [0], answer


def trim(broker: Broker, topic: str, offset: int) -> None:
    """Delete what lies below an offset of partition 0."""
    place = TopicPartition(topic, 0, offset)
    admin = admin_of(broker)
    retried(lambda: admin.delete_records([place])[place].result(30))
