"""The broker under test, and the clients."""

import itertools
import logging
import random
import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from tests import toolchain, under_test
from tests.broker import BarnabasBroker
from tests.interop.client import Client
from tests.interop.client_aiokafka import AiokafkaClient
from tests.interop.client_confluent import ConfluentClient
from tests.interop.client_go import GoClient, KafkaGoClient
from tests.interop.client_java import JavaClient
from tests.interop.client_kafka_python import KafkaPythonClient
from tests.interop.client_node import ConfluentJsClient
from tests.interop.command_line import Run, runner
from tests.interop.records import PARTITIONS
from tests.oracle.kafka_tools import KafkaTools, shared_tools

LEADERS_TIMEOUT_S = 30
LEADERS_ASKED_S = 3

_CLIENTS: dict[str, Callable[[], Client]] = {
    "librdkafka": ConfluentClient,
    "java": JavaClient,
    "kafka-python": KafkaPythonClient,
    "aiokafka": AiokafkaClient,
    "franz-go": lambda: GoClient("franz-go"),
    "sarama": lambda: GoClient("sarama"),
    "kafka-go": KafkaGoClient,
    "confluent-js": ConfluentJsClient,
}


@pytest.fixture(scope="session")
def bootstrap(request: pytest.FixtureRequest) -> str:
    """Where the broker under test listens."""
    return str(request.getfixturevalue(under_test.chosen()).bootstrap)


@pytest.fixture(scope="session")
def tools() -> KafkaTools:
    """Apache Kafka's command line tools, in one JVM."""
    try:
        return shared_tools()
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(str(missing))


@pytest.fixture(scope="session")
def client_named() -> Iterator[Callable[[str], Client]]:
    """Clients by name, each made once."""
    made: dict[str, Client] = {}

    def get(name: str) -> Client:
        if name not in made:
            try:
                made[name] = _CLIENTS[name]()
            except toolchain.ToolchainMissingError as missing:
                toolchain.unavailable(str(missing))
        return made[name]

    yield get
    for client in made.values():
        client.close()


@pytest.fixture
def run(barnabas: BarnabasBroker) -> Run:
    """Runs a command against the broker that tests share."""
    return runner(barnabas.bootstrap)


@pytest.fixture(scope="session")
def make_topic(bootstrap: str) -> Callable[..., str]:
    """A function that creates a topic with a fresh name and waits until it can be used."""
    # It outlives the broker by a moment: nobody wants to read of its refused connections.
    admin = AdminClient({"bootstrap.servers": bootstrap}, logger=_silent_logger())
    numbers = itertools.count()
    run = random.SystemRandom().randrange(1_000_000)

    def make(prefix: str, partitions: int = PARTITIONS, config: dict[str, str] | None = None) -> str:
        topic = f"{prefix}-{run}-{next(numbers)}"
        made = admin.create_topics(
            [NewTopic(topic, partitions, 1, config=config or {})], operation_timeout=30
        )
        made[topic].result(30)
        _wait_for_leaders(admin, [TopicPartition(topic, partition) for partition in range(partitions)])
        return topic

    return make


def _wait_for_leaders(admin: AdminClient, partitions: list[TopicPartition]) -> None:
    """Return once the broker leads all of them.

    Apache Kafka answers CreateTopics when the controller knows the topic; its broker makes the logs a
    moment later and says NOT_LEADER_OR_FOLLOWER until then. Records with acks=0 would be lost.
    """
    deadline = time.monotonic() + LEADERS_TIMEOUT_S
    while True:
        # librdkafka now and then waits for a leader until a request times out, and finds it when asked anew.
        asked = admin.list_offsets(
            {partition: OffsetSpec.latest() for partition in partitions}, request_timeout=LEADERS_ASKED_S
        )
        try:
            for future in asked.values():
                future.result(LEADERS_TIMEOUT_S)
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


def _silent_logger() -> logging.Logger:
    logger = logging.getLogger("tests.interop.silent")
    logger.setLevel(logging.CRITICAL + 1)
    return logger
