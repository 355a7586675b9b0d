"""Apache Kafka's own command line tools against a broker; BARNABAS_TEST_BROKER=kafka proves the tests.

All tools but one run in one JVM. The tests share a topic and follow each other, as an administrator would.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import under_test
from tests.broker import BarnabasBroker
from tests.oracle.kafka import KafkaBroker
from tests.oracle.kafka_tools import KafkaTools, Said, run_tool

pytestmark = [pytest.mark.interop, pytest.mark.java, pytest.mark.timeout(120)]

TOPIC = "orders"
RECORDS = ["a:one", "b:two", "c:three", "d:four"]

Tool = Callable[..., Said]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasBroker | KafkaBroker]:
    with under_test.make_broker(tmp_path_factory.mktemp("tools"), overrides={"node.id": "1"}) as running:
        yield running


@pytest.fixture(scope="module")
def tool(broker: BarnabasBroker | KafkaBroker, tools: KafkaTools) -> Tool:
    """Run a tool that is expected to end with `status`."""

    def run(name: str, *arguments: str, stdin: str = "", status: int = 0) -> Said:
        said = tools.run(name, "--bootstrap-server", broker.bootstrap, *arguments, stdin=stdin)
        assert said.status == status, said
        return said

    return run


@pytest.fixture(scope="module")
def topic(tool: Tool) -> str:
    """A topic with 3 partitions."""
    made = tool(
        ".TopicCommand",
        "--create",
        "--topic",
        TOPIC,
        "--partitions",
        "3",
        "--config",
        "retention.ms=60000000",
    )
    assert f"Created topic {TOPIC}." in made.out
    return TOPIC


def test_topics_are_created_once(tool: Tool, topic: str) -> None:
    again = tool(".TopicCommand", "--create", "--topic", topic, status=1)
    assert f"Topic '{topic}' already exists." in again.out
    kept = tool(".TopicCommand", "--create", "--topic", topic, "--if-not-exists")
    assert "Error" not in kept.out


def test_topics_are_described_and_listed(tool: Tool, topic: str) -> None:
    said = tool(".TopicCommand", "--describe", "--topic", topic).out
    head, *partitions = said.splitlines()
    assert re.match(
        rf"Topic: {topic}\tTopicId: \S{{22}}\tPartitionCount: \d\tReplicationFactor: 1\t"
        "Configs: min.insync.replicas=1,retention.ms=60000000$",
        head,
    )
    assert partitions[0] == (
        f"\tTopic: {topic}\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\tElr: \tLastKnownElr: "
    )
    assert topic in tool(".TopicCommand", "--list").out.splitlines()
    assert "does not exist" in tool(".TopicCommand", "--describe", "--topic", "missing", status=1).err


def test_topics_grow(tool: Tool, topic: str) -> None:
    tool(".TopicCommand", "--alter", "--topic", topic, "--partitions", "4")
    assert "PartitionCount: 4" in tool(".TopicCommand", "--describe", "--topic", topic).out
    refused = tool(".TopicCommand", "--alter", "--topic", topic, "--partitions", "2", status=1)
    assert "would not be an increase" in refused.out + refused.err


def test_produced_records_are_consumed_from_a_partition(tool: Tool, topic: str) -> None:
    properties = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
    tool(".ConsoleProducer", "--topic", topic, *properties, stdin="\n".join(RECORDS) + "\n")
    offsets = tool(".GetOffsetShell", "--topic", topic).out.split()
    counts = {line.split(":")[1]: int(line.split(":")[2]) for line in offsets}
    assert sum(counts.values()) == len(RECORDS)
    seen: list[str] = []
    for partition, count in counts.items():
        if count:
            said = tool(
                ".consumer.ConsoleConsumer", "--topic", topic, "--partition", partition,
                "--offset", "earliest", "--max-messages", str(count), "--timeout-ms", "10000",
                "--formatter-property", "print.key=true", "--formatter-property", "key.separator=:",
            )  # fmt: skip
            seen += said.out.split()
    assert sorted(seen) == RECORDS


def test_topic_configs(tool: Tool, topic: str) -> None:
    entity = ("--entity-type", "topics", "--entity-name", topic)
    changes = ("--add-config", "max.message.bytes=2000000", "--delete-config", "retention.ms")
    assert "Completed updating" in tool(".ConfigCommand", "--alter", *entity, *changes).out
    said = tool(".ConfigCommand", "--describe", *entity).out
    assert "max.message.bytes=2000000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG" in said
    assert "retention.ms=" not in said
    everything = tool(".ConfigCommand", "--describe", "--all", *entity).out
    assert "retention.ms=604800000 sensitive=false synonyms={}" in everything
    wrong = tool(".ConfigCommand", "--alter", *entity, "--add-config", "retention.ms=soon", status=1)
    assert "Not a number of type LONG" in wrong.err


def test_broker_configs(tool: Tool) -> None:
    default = ("--entity-type", "brokers", "--entity-default")
    one = ("--entity-type", "brokers", "--entity-name", "1")
    tool(".ConfigCommand", "--alter", *default, "--add-config", "log.retention.ms=7200000")
    tool(".ConfigCommand", "--alter", *one, "--add-config", "max.connections.per.ip=1000")
    assert "log.retention.ms=7200000" in tool(".ConfigCommand", "--describe", *default).out
    assert "max.connections.per.ip=1000" in tool(".ConfigCommand", "--describe", *one).out
    everything = tool(".ConfigCommand", "--describe", "--all", *one).out
    assert "  log.retention.hours=168 sensitive=false" in everything
    assert "log.retention.ms=7200000 sensitive=false synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG" in everything
    fixed = tool(".ConfigCommand", "--alter", *one, "--add-config", "num.partitions=3", status=1)
    assert "Cannot update these configs dynamically: [num.partitions]" in fixed.err
    tool(".ConfigCommand", "--alter", *default, "--delete-config", "log.retention.ms")
    assert "log.retention.ms" not in tool(".ConfigCommand", "--describe", *default).out


def test_group_and_client_metrics_configs(tool: Tool) -> None:
    group = ("--entity-type", "groups", "--entity-name", "g")
    tool(".ConfigCommand", "--alter", *group, "--add-config", "consumer.session.timeout.ms=50000")
    assert "consumer.session.timeout.ms=50000" in tool(".ConfigCommand", "--describe", *group).out
    tool(".ClientMetricsCommand", "--alter", "--name", "m", "--interval", "60000")
    assert "interval.ms=60000" in tool(".ClientMetricsCommand", "--describe", "--name", "m").out
    assert tool(".ClientMetricsCommand", "--list").out.split() == ["m"]


def test_log_directories(tool: Tool, topic: str) -> None:
    said = tool(".LogDirsCommand", "--describe", "--topic-list", topic).out
    (broker,) = json.loads(said.splitlines()[-1])["brokers"]
    (directory,) = broker["logDirs"]
    assert (broker["broker"], directory["error"]) == (1, None)
    replicas = {replica["partition"]: replica for replica in directory["partitions"]}
    assert sorted(replicas) == [f"{topic}-{number}" for number in range(4)]
    assert sum(replica["size"] for replica in replicas.values()) > 0
    assert {(replica["offsetLag"], replica["isFuture"]) for replica in replicas.values()} == {(0, False)}


def test_features(tool: Tool) -> None:
    said = tool(".FeatureCommand", "describe").out
    levels = {line.split()[1]: line.split()[7] for line in said.splitlines()}
    assert levels["metadata.version"] == "4.4-IV2"
    assert levels["transaction.version"] == "2"
    dry = tool(".FeatureCommand", "downgrade", "--feature", "share.version=1", "--dry-run")
    assert "share.version can be downgraded to 1." in dry.out
    wrong = tool(".FeatureCommand", "upgrade", "--feature", "group.version=9", status=1)
    assert "only supports versions 0-1" in wrong.out + wrong.err


def test_the_metadata_quorum(tool: Tool) -> None:
    status = tool(".MetadataQuorumCommand", "describe", "--status").out
    assert re.search(r"LeaderId: +1\n", status)
    assert re.search(r'CurrentVoters: +\[\{"id": 1, "directoryId": "\S{22}"', status)
    replication = tool(".MetadataQuorumCommand", "describe", "--replication").out.splitlines()
    assert [line.split()[0] for line in replication] == ["NodeId", "1"]
    assert replication[1].split()[-1] == "Leader"


def test_the_cluster(broker: BarnabasBroker | KafkaBroker, tools: KafkaTools) -> None:
    # This tool wants its command before the server.
    server = ("--bootstrap-server", broker.bootstrap)
    assert re.match(r"Cluster ID: \S{22}\n", tools.run(".ClusterTool", "cluster-id", *server).out)
    assert " unfenced " in tools.run(".ClusterTool", "list-endpoints", *server).out


def test_leaders_and_reassignments(tool: Tool, topic: str) -> None:
    elected = tool(
        ".LeaderElectionCommand", "--election-type", "preferred", "--topic", topic, "--partition", "0"
    )
    assert f"Valid replica already elected for partitions {topic}-0" in elected.out
    listed = tool(".reassign.ReassignPartitionsCommand", "--list")
    assert "No partition reassignments found." in listed.out


def test_records_are_deleted(tool: Tool, topic: str, tmp_path: Path) -> None:
    wanted = tmp_path / "delete.json"
    parts = [{"topic": topic, "partition": number, "offset": -1} for number in range(4)]
    wanted.write_text(json.dumps({"version": 1, "partitions": parts}))
    ends = tool(".GetOffsetShell", "--topic", topic).out.split()
    said = tool(".DeleteRecordsCommand", "--offset-json-file", str(wanted)).out
    assert "Records delete operation completed" in said
    assert tool(".GetOffsetShell", "--topic", topic, "--time", "earliest").out.split() == ends


def test_the_verifiable_producer(broker: BarnabasBroker | KafkaBroker, topic: str) -> None:
    # Its records are acknowledged after its main method has returned, so it needs a JVM of its own.
    done = run_tool(
        "org.apache.kafka.tools.VerifiableProducer", "--bootstrap-server", broker.bootstrap,
        "--topic", topic, "--max-messages", "200",
    )  # fmt: skip
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[-1] == {**lines[-1], "name": "tool_data", "sent": 200, "acked": 200}


def test_the_producer_performance_test(tool: Tool, topic: str) -> None:
    said = tool(
        ".ProducerPerformance", "--topic", topic, "--num-records", "20000", "--record-size", "100",
        "--throughput", "-1",
    )  # fmt: skip
    assert said.out.splitlines()[-1].startswith("20000 records sent, ")


def test_topics_are_deleted(tool: Tool, topic: str) -> None:
    tool(".TopicCommand", "--delete", "--topic", topic)
    assert "does not exist" in tool(".TopicCommand", "--describe", "--topic", topic, status=1).err
