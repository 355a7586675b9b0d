"""What AKHQ, Kafka UI, Kafdrop and Redpanda Console ask to show a cluster: answered as Apache Kafka answers.

tools/ConsoleCalls.java makes their calls and prints lines; the lines of both brokers are compared.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker import BarnabasBroker
from tests.oracle.kafka import KafkaBroker, running
from tests.oracle.kafka_tools import KafkaTools

pytestmark = [pytest.mark.interop, pytest.mark.java, pytest.mark.timeout(180)]

TOPIC = "shown"
RECORDS = "".join(f"key{number}:value{number}\n" for number in range(20))

ELSEWHERE = (
    "advertised.listeners",
    "controller.quorum.bootstrap.servers",
    "listeners",
    "log.dirs",
    "node.id",
)
"""Configs whose values say where a broker runs."""


@pytest.fixture(scope="module")
def kafka_apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """An Apache Kafka of which this module knows every topic."""
    with running(tmp_path_factory.mktemp("consoles-kafka")) as broker:
        yield broker


def static_configs(broker: KafkaBroker) -> dict[str, str]:
    """What Apache Kafka was told, but for where it runs: so that DescribeConfigs can be compared."""
    lines = [line.split("=", 1) for line in broker.properties_path.read_text().splitlines()]
    elsewhere = (*ELSEWHERE, "process.roles", "controller.listener.names")
    return {name: value for name, value in lines if name not in elsewhere}


def shown(tools: KafkaTools, bootstrap: str) -> dict[str, list[str]]:
    """Make a topic with records, then all calls; return the lines by section."""
    server = ("--bootstrap-server", bootstrap)
    made = tools.run(".TopicCommand", *server, "--create", "--topic", TOPIC, "--partitions", "3")
    assert made.status == 0, made
    properties = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
    tools.run(".ConsoleProducer", *server, "--topic", TOPIC, *properties, stdin=RECORDS)
    said = tools.run("ConsoleCalls", bootstrap, TOPIC)
    assert said.status == 0, said
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in said.out.splitlines():
        if line.startswith("# "):
            lines = sections.setdefault(line[2:], [])
        elif not line.startswith(tuple(f"{name}=" for name in ELSEWHERE)):
            lines.append(line)
    return sections


@pytest.fixture(scope="module")
def both(
    kafka_apart: KafkaBroker, tools: KafkaTools, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    directory: Path = tmp_path_factory.mktemp("consoles")
    overrides = {**static_configs(kafka_apart), "node.id": str(kafka_apart.node_id)}
    with BarnabasBroker(directory, overrides=overrides) as ours:
        return shown(tools, kafka_apart.bootstrap), shown(tools, ours.bootstrap)


SECTIONS = (
    "cluster", "features", "quorum", "topics", "topic", "topic configs", "broker configs", "cluster configs",
    "unknown topic", "unknown topic's configs", "offsets", "log directories", "reassignments",
    "config resources", "groups", "acls", "producers", "messages",
)  # fmt: skip


@pytest.mark.parametrize("section", SECTIONS)
def test_a_console_is_shown_what_apache_kafka_shows(
    section: str, both: tuple[dict[str, list[str]], dict[str, list[str]]]
) -> None:
    theirs, ours = both
    assert ours[section] == theirs[section]


def test_nothing_is_left_out(both: tuple[dict[str, list[str]], dict[str, list[str]]]) -> None:
    assert set(both[0]) == set(both[1]) == set(SECTIONS)
    assert len(both[1]["broker configs"]) > 300
    assert len(both[1]["messages"]) == 2 + 20
