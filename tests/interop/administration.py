"""What an administrator does with one topic, by the Python clients; the other languages have the same.

Create it with a config, once more, look at it, alter the config, grow it, delete it. Each answers what it saw
in a dict like `EXPECTED`; a refusal that is not expected raises.
"""

import asyncio
from collections.abc import Callable, Mapping
from types import MappingProxyType

import aiokafka.admin
import confluent_kafka.admin as confluent
import kafka.admin
import kafka.errors
from confluent_kafka import KafkaError, KafkaException

from tests.interop.client import DEADLINE_S

RETENTION = "retention.ms"
FIRST, LATER = "3600000", "7200000"
EXPECTED: Mapping[str, object] = MappingProxyType(
    {
        "created": True,
        "again": "exists",
        "partitions": 2,
        "configured": FIRST,
        "altered": LATER,
        "grown": 3,
        "listed": True,
        "left": False,
    }
)

Saw = dict[str, object]


def administer_by_librdkafka(bootstrap: str, topic: str) -> Saw:
    """confluent-kafka."""
    admin = confluent.AdminClient({"bootstrap.servers": bootstrap})
    resource = confluent.ConfigResource(confluent.ResourceType.TOPIC, topic)

    def create() -> None:
        wanted = confluent.NewTopic(topic, 2, 1, config={RETENTION: FIRST})
        admin.create_topics([wanted])[topic].result(DEADLINE_S)

    def partitions() -> int:
        return len(admin.list_topics(topic, timeout=DEADLINE_S).topics[topic].partitions)

    def config() -> str:
        return str(admin.describe_configs([resource])[resource].result(DEADLINE_S)[RETENTION].value)

    def listed() -> bool:
        return topic in admin.list_topics(timeout=DEADLINE_S).topics

    create()
    saw: Saw = {"created": True, "again": "made"}
    try:
        create()
    except KafkaException as failure:
        exists = failure.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS
        saw["again"] = "exists" if exists else str(failure)
    saw |= {"partitions": partitions(), "configured": config()}
    change = confluent.ConfigEntry(RETENTION, LATER, incremental_operation=confluent.AlterConfigOpType.SET)
    altered = confluent.ConfigResource(confluent.ResourceType.TOPIC, topic, incremental_configs=[change])
    admin.incremental_alter_configs([altered])[altered].result(DEADLINE_S)
    saw["altered"] = config()
    admin.create_partitions([confluent.NewPartitions(topic, 3)])[topic].result(DEADLINE_S)
    saw |= {"grown": partitions(), "listed": listed()}
    admin.delete_topics([topic])[topic].result(DEADLINE_S)
    saw["left"] = listed()
    return saw


def administer_by_kafka_python(bootstrap: str, topic: str) -> Saw:
    """kafka-python."""
    admin = kafka.admin.KafkaAdminClient(bootstrap_servers=bootstrap)
    resource = kafka.admin.ConfigResource

    def create() -> None:
        admin.create_topics([kafka.admin.NewTopic(topic, 2, 1, topic_configs={RETENTION: FIRST})])

    def partitions() -> int:
        (described,) = admin.describe_topics([topic])
        return len(described["partitions"])

    def config() -> str:
        asked = [resource(kafka.admin.ConfigResourceType.TOPIC, topic)]
        return str(admin.describe_configs(asked)["topic"][topic][RETENTION]["value"])

    try:
        create()
        saw: Saw = {"created": True, "again": "made"}
        try:
            create()
        except kafka.errors.TopicAlreadyExistsError:
            saw["again"] = "exists"
        saw |= {"partitions": partitions(), "configured": config()}
        admin.alter_configs(
            [resource(kafka.admin.ConfigResourceType.TOPIC, topic, configs={RETENTION: LATER})]
        )
        saw["altered"] = config()
        admin.create_partitions({topic: kafka.admin.NewPartitions(3)})
        saw |= {"grown": partitions(), "listed": topic in admin.list_topics()}
        admin.delete_topics([topic])
        saw["left"] = topic in admin.list_topics()
    finally:
        admin.close()
    return saw


def administer_by_aiokafka(bootstrap: str, topic: str) -> Saw:
    """aiokafka: its calls answer Kafka's responses as they are."""
    return asyncio.run(asyncio.wait_for(_administer_by_aiokafka(bootstrap, topic), DEADLINE_S))


async def _administer_by_aiokafka(bootstrap: str, topic: str) -> Saw:
    admin = aiokafka.admin.AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    of_topic = aiokafka.admin.config_resource.ConfigResourceType.TOPIC
    resource = aiokafka.admin.config_resource.ConfigResource

    async def create() -> int:
        wanted = aiokafka.admin.NewTopic(topic, 2, 1, topic_configs={RETENTION: FIRST})
        answer = await admin.create_topics([wanted])
        return int(answer.topic_errors[0][1])

    async def partitions() -> int:
        (described,) = await admin.describe_topics([topic])
        return len(described["partitions"])

    async def config() -> str:
        (answer,) = await admin.describe_configs([resource(of_topic, topic)])
        entries = answer.resources[0][4]
        return next(str(value) for name, value, *_ in entries if name == RETENTION)

    try:
        saw: Saw = {"created": await create() == 0}
        again = await create()
        saw["again"] = "exists" if again == kafka.errors.TopicAlreadyExistsError.errno else again
        saw |= {"partitions": await partitions(), "configured": await config()}
        await admin.alter_configs([resource(of_topic, topic, configs={RETENTION: LATER})])
        saw["altered"] = await config()
        await admin.create_partitions({topic: aiokafka.admin.NewPartitions(3)})
        saw |= {"grown": await partitions(), "listed": topic in await admin.list_topics()}
        await admin.delete_topics([topic])
        saw["left"] = topic in await admin.list_topics()
    finally:
        await admin.close()
    return saw


BY_NAME: Mapping[str, Callable[[str, str], Saw]] = MappingProxyType(
    {
        "librdkafka": administer_by_librdkafka,
        "kafka-python": administer_by_kafka_python,
        "aiokafka": administer_by_aiokafka,
    }
)
