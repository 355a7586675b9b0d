"""What each real client does while it is recorded: a little of everything it is used for."""

import asyncio
import time

from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaConsumer

from tests.golden.proxy import RecordingProxy
from tests.interop.client import Client, ProduceSettings
from tests.interop.client_aiokafka import AiokafkaClient
from tests.interop.client_confluent import ConfluentClient
from tests.interop.client_java import JavaClient
from tests.interop.client_kafka_python import KafkaPythonClient
from tests.interop.records import FIRST_TIMESTAMP_MS, PARTITIONS, make_records
from tests.oracle.kafka_tools import run_tool

TOPIC = "clients"
RECORDS = 12
TOOLS = "org.apache.kafka.tools"

JAVA_TOOLS: tuple[tuple[str, ...], ...] = (
    (
        f"{TOOLS}.TopicCommand",
        "--create",
        "--topic",
        "tool",
        "--partitions",
        "2",
        "--config",
        "retention.ms=9000000",
    ),
    (f"{TOOLS}.TopicCommand", "--describe", "--topic", "tool"),
    (f"{TOOLS}.TopicCommand", "--alter", "--topic", "tool", "--partitions", "3"),
    (f"{TOOLS}.TopicCommand", "--list"),
    (f"{TOOLS}.GetOffsetShell", "--topic", TOPIC),
    (f"{TOOLS}.LogDirsCommand", "--describe", "--topic-list", TOPIC),
    (f"{TOOLS}.ClientMetricsCommand", "--list"),
    (f"{TOOLS}.consumer.group.ConsumerGroupCommand", "--list", "--state"),
    (f"{TOOLS}.consumer.group.ConsumerGroupCommand", "--describe", "--all-groups"),
    (f"{TOOLS}.FeatureCommand", "describe"),
    (f"{TOOLS}.MetadataQuorumCommand", "describe", "--status"),
    (f"{TOOLS}.TransactionsCommand", "list"),
    (f"{TOOLS}.ConfigCommand", "--describe", "--all", "--entity-type", "topics", "--entity-name", "tool"),
    (f"{TOOLS}.ConfigCommand", "--alter", "--add-config", "retention.ms=1000", "--topic", "tool"),
    (f"{TOOLS}.TopicCommand", "--delete", "--topic", "tool"),
)


def play_clients(bootstrap: str, proxy: RecordingProxy) -> None:
    """Let every client work through the proxy."""
    proxy.client = "librdkafka"
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(30)
    time.sleep(1)
    clients: tuple[Client, ...] = (ConfluentClient(), KafkaPythonClient(), AiokafkaClient(), JavaClient())
    for client in clients:
        proxy.client = client.name
        _records_there_and_back(bootstrap, client)
        client.close()
    proxy.client = "librdkafka"
    _librdkafka_group_and_transaction(bootstrap)
    proxy.client = "kafka-python"
    _kafka_python_group(bootstrap)
    proxy.client = "aiokafka"
    asyncio.run(_aiokafka_group(bootstrap))
    proxy.client = "java"
    for tool, *arguments in JAVA_TOOLS:
        done = run_tool(tool, "--bootstrap-server", bootstrap, *arguments)
        if done.returncode != 0:
            print(f"{tool} {' '.join(arguments)}: {(done.stdout + done.stderr)[-300:]}")
    run_tool(
        f"{TOOLS}.consumer.ConsoleConsumer",
        *("--bootstrap-server", bootstrap, "--topic", TOPIC, "--from-beginning", "--max-messages", "5"),
        *("--consumer-property", "group.id=java", "--timeout-ms", "20000"),
    )


def _records_there_and_back(bootstrap: str, client: Client) -> None:
    records = [client.sendable(record) for record in make_records(RECORDS, seed=3)]
    for settings in (ProduceSettings(codec="zstd", idempotent=True), ProduceSettings(codec="none", acks=1)):
        client.produce(bootstrap, TOPIC, records, settings)
    client.consume(bootstrap, TOPIC, RECORDS, dict.fromkeys(range(PARTITIONS), 0))
    client.offset_range(bootstrap, TOPIC)
    client.offsets_for_time(bootstrap, TOPIC, FIRST_TIMESTAMP_MS)


def _librdkafka_group_and_transaction(bootstrap: str) -> None:
    for protocol in ("classic", "consumer"):
        consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"librdkafka-{protocol}",
                "group.protocol": protocol,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        consumer.subscribe([TOPIC])
        assert consumer.consume(1, timeout=30)
        consumer.commit(asynchronous=False)
        producer = Producer(
            {"bootstrap.servers": bootstrap, "transactional.id": f"golden-{protocol}", "log_level": 0}
        )
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce(TOPIC, b"in a transaction")
        producer.send_offsets_to_transaction(
            consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), 30
        )
        producer.commit_transaction(30)
        producer.begin_transaction()
        producer.produce(TOPIC, b"in a transaction that is given up")
        producer.flush(30)
        producer.abort_transaction(30)
        consumer.close()


def _kafka_python_group(bootstrap: str) -> None:
    consumer = KafkaConsumer(
        TOPIC, bootstrap_servers=bootstrap, group_id="kafka-python", auto_offset_reset="earliest"
    )
    assert consumer.poll(timeout_ms=30_000, max_records=1)
    consumer.commit()
    consumer.close()


async def _aiokafka_group(bootstrap: str) -> None:
    consumer = AIOKafkaConsumer(
        TOPIC, bootstrap_servers=bootstrap, group_id="aiokafka", auto_offset_reset="earliest"
    )
    async with consumer:
        await consumer.getone()
        await consumer.commit()
