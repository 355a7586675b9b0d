"""kafka-consumer-groups, kafka-groups and the consuming tools; BARNABAS_TEST_BROKER=kafka proves the tests.

All run in one JVM. What they print as tables is read by its headings.
"""

import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests import under_test
from tests.broker import BarnabasBroker
from tests.oracle.jvm import java
from tests.oracle.kafka import KafkaBroker
from tests.oracle.kafka_tools import KafkaTools, Said

pytestmark = [pytest.mark.interop, pytest.mark.java, pytest.mark.timeout(180)]

GROUPS = ".consumer.group.ConsumerGroupCommand"
TOPIC = "sales"
PARTITIONS = 3
RECORDS = 10
"""In each partition, one an hour, the last half an hour ago."""
HOUR_MS = 3_600_000
DEADLINE_S = 60

Broker = BarnabasBroker | KafkaBroker
Tool = Callable[..., Said]
Row = dict[str, str]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with under_test.make_broker(tmp_path_factory.mktemp("group-tools")) as running:
        yield running


@pytest.fixture(scope="module")
def tool(broker: Broker, tools: KafkaTools) -> Tool:
    """Run a tool that is expected to end with `status`."""

    def run(name: str, *arguments: str, status: int = 0) -> Said:
        said = tools.run(name, "--bootstrap-server", broker.bootstrap, *arguments)
        assert said.status == status, said
        return said

    return run


@pytest.fixture(scope="module")
def times(broker: Broker) -> list[int]:
    """The topic with its records; their timestamps, the same in each partition."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(30)
    last_ms = int(time.time() * 1000) - HOUR_MS // 2
    stamps = [last_ms - HOUR_MS * (RECORDS - 1 - number) for number in range(RECORDS)]
    producer = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})
    for stamp in stamps:
        for partition in range(PARTITIONS):
            producer.produce(TOPIC, value=b"sold", partition=partition, timestamp=stamp)
    assert producer.flush(DEADLINE_S) == 0
    return stamps


class Members:
    """Members in this process, which tell their group no news unless they are polled."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._made: list[Consumer] = []

    def add(self, group: str, client_id: str, **options: object) -> Consumer:
        member = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": group,
                "client.id": client_id,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                **{name.replace("_", "."): value for name, value in options.items()},
            }
        )
        member.subscribe([TOPIC])
        self._made.append(member)
        return member

    def poll_until(self, condition: Callable[[], bool], *members: Consumer) -> None:
        """Poll these until it is so."""
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < deadline
            for member in members:
                member.poll(0.05)

    def share(self, *members: Consumer) -> None:
        """Poll these until each has a share of the topic."""
        share = PARTITIONS // len(members)

        def shared() -> bool:
            counts = [len(member.assignment()) for member in members]
            return sum(counts) == PARTITIONS and min(counts) >= share

        self.poll_until(shared, *members)

    def close(self) -> None:
        for member in self._made:
            member.close()


@pytest.fixture
def members(broker: Broker, times: list[int]) -> Iterator[Members]:
    made = Members(broker.bootstrap)
    yield made
    made.close()


def commit(broker: Broker, group: str, offsets: list[int]) -> None:
    """Commit as one who manages partitions by himself: the group is empty."""
    simple = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    asked = [TopicPartition(TOPIC, partition, offset) for partition, offset in enumerate(offsets)]
    simple.commit(offsets=asked, asynchronous=False)
    simple.close()


def rows(said: Said) -> list[Row]:
    """Read a table by where its headings stand, since what is in a column may be blank."""
    lines = [line for line in said.out.splitlines() if line.strip()]
    head = next(number for number, line in enumerate(lines) if line.startswith("GROUP"))
    headings = list(re.finditer(r"\S+(?: \(ID\))?", lines[head]))
    starts = [heading.start() for heading in headings]
    spans = list(zip(headings, starts, [*starts[1:], None], strict=True))
    return [{name[0]: line[start:end].strip() for name, start, end in spans} for line in lines[head + 1 :]]


def offsets_of(said: Said, column: str) -> dict[int, str]:
    """Partition -> what stands in a column."""
    return {int(row["PARTITION"]): row[column] for row in rows(said)}


def test_an_empty_group_is_listed_and_described(broker: Broker, tool: Tool, times: list[int]) -> None:
    commit(broker, "resting", [0, 4, 10])
    assert "resting" in tool(GROUPS, "--list").out.split()
    assert {"GROUP": "resting", "STATE": "Empty"} in rows(tool(GROUPS, "--list", "--state"))
    assert "resting" in tool(GROUPS, "--list", "--state", "Empty").out
    assert "resting" not in tool(GROUPS, "--list", "--state", "Stable").out
    described = tool(GROUPS, "--describe", "--group", "resting")
    assert "has no active members" in described.err + described.out
    assert offsets_of(described, "CURRENT-OFFSET") == {0: "0", 1: "4", 2: "10"}
    assert offsets_of(described, "LOG-END-OFFSET") == {0: "10", 1: "10", 2: "10"}
    assert offsets_of(described, "LAG") == {0: "10", 1: "6", 2: "0"}
    assert {row["CONSUMER-ID"] for row in rows(described)} == {"-"}
    (state,) = rows(tool(GROUPS, "--describe", "--group", "resting", "--state"))
    assert (state["STATE"], state["#MEMBERS"]) == ("Empty", "0")


def test_a_stable_group_is_described_with_its_members(broker: Broker, tool: Tool, members: Members) -> None:
    one, other = members.add("working", "one"), members.add("working", "other", group_instance_id="seat")
    members.share(one, other)
    one.commit(offsets=[TopicPartition(TOPIC, 1, 7)], asynchronous=False)
    (state,) = rows(tool(GROUPS, "--describe", "--group", "working", "--state"))
    assert (state["STATE"], state["#MEMBERS"], state["ASSIGNMENT-STRATEGY"]) == ("Stable", "2", "range")
    assert state["COORDINATOR (ID)"].split()[0] == broker.bootstrap
    verbose = rows(tool(GROUPS, "--describe", "--group", "working", "--members", "--verbose"))
    by_client = {row["CLIENT-ID"]: row for row in verbose}
    assert sorted(by_client) == ["one", "other"]
    assert sorted(row["#PARTITIONS"] for row in verbose) == ["1", "2"]
    shares = {re.sub(r"[^\d,]", "", row["CURRENT-ASSIGNMENT"].removeprefix(TOPIC)) for row in verbose}
    assert shares == {"0,1", "2"}
    assert by_client["other"]["GROUP-INSTANCE-ID"] == "seat"
    assert {row["HOST"] for row in verbose} == {"/127.0.0.1"}
    offsets = rows(tool(GROUPS, "--describe", "--group", "working", "--offsets"))
    assert {(row["PARTITION"], row["CURRENT-OFFSET"], row["LAG"]) for row in offsets} == {
        ("0", "-", "-"), ("1", "7", "3"), ("2", "-", "-"),
    }  # fmt: skip
    assert {row["CLIENT-ID"] for row in offsets} == {"one", "other"}
    assert {"GROUP": "working", "STATE": "Stable"} in rows(tool(GROUPS, "--list", "--state", "stable"))
    refused = tool(GROUPS, "--delete", "--group", "working")
    assert "GroupNotEmptyException" in refused.out + refused.err
    earliest = ("--topic", TOPIC, "--to-earliest", "--execute")
    kept = tool(GROUPS, "--reset-offsets", "--group", "working", *earliest)
    assert "inactive" in kept.out + kept.err


def test_a_group_that_waits_for_a_member_prepares_a_rebalance(tool: Tool, members: Members) -> None:
    one = members.add("waiting", "one")
    members.share(one)
    # Nobody polls the first, so it does not give back what it has, and the group waits for it.
    other = members.add("waiting", "other")

    def state() -> str:
        return rows(tool(GROUPS, "--describe", "--group", "waiting", "--state"))[0]["STATE"]

    members.poll_until(lambda: state() == "PreparingRebalance", other)
    assert "waiting" in tool(GROUPS, "--list", "--state", "PreparingRebalance").out
    members.share(one, other)
    assert state() == "Stable"


def test_a_group_of_the_consumer_protocol(tool: Tool, members: Members) -> None:
    one = members.add("modern", "one", group_protocol="consumer")
    members.share(one)
    one.commit(offsets=[TopicPartition(TOPIC, 0, 3)], asynchronous=False)
    (state,) = rows(tool(GROUPS, "--describe", "--group", "modern", "--state"))
    assert (state["STATE"], state["#MEMBERS"], state["ASSIGNMENT-STRATEGY"]) == ("Stable", "1", "uniform")
    (verbose,) = rows(tool(GROUPS, "--describe", "--group", "modern", "--members", "--verbose"))
    assert verbose["CURRENT-ASSIGNMENT"] == verbose["TARGET-ASSIGNMENT"] == f"{TOPIC}:0,1,2"
    assert verbose["CURRENT-EPOCH"] == verbose["TARGET-EPOCH"]
    assert {"GROUP": "modern", "TYPE": "Consumer"} in rows(tool(GROUPS, "--list", "--type", "consumer"))
    assert "modern" not in tool(GROUPS, "--list", "--type", "classic").out


def test_a_group_that_nobody_knows(tool: Tool, times: list[int]) -> None:
    for what in ("--offsets", "--members", "--state"):
        # The tool ends with 0 all the same.
        said = tool(GROUPS, "--describe", "--group", "nobody's", what)
        assert "GroupIdNotFoundException" in said.out + said.err
    said = tool(GROUPS, "--delete", "--group", "nobody's")
    assert "GroupIdNotFoundException" in said.out + said.err


def in_utc(stamp_ms: int) -> str:
    """As --to-datetime takes it."""
    moment = datetime.fromtimestamp(stamp_ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (("--to-earliest",), [0, 0, 0]),
        (("--to-latest",), [10, 10, 10]),
        (("--to-current",), [5, 5, 5]),
        (("--to-offset", "8"), [8, 8, 8]),
        (("--to-offset", "99"), [10, 10, 10]),
        (("--shift-by", "2"), [7, 7, 7]),
        (("--shift-by", "-3"), [2, 2, 2]),
        (("--shift-by", "-9"), [0, 0, 0]),
        (("--by-duration", "PT2H"), [8, 8, 8]),
        (("--to-datetime", "3"), [3, 3, 3]),
    ],
    ids=lambda value: " ".join(value)[2:] if isinstance(value, tuple) else "",
)
def test_offsets_are_reset(
    how: tuple[str, ...], expected: list[int], broker: Broker, tool: Tool, times: list[int]
) -> None:
    if how[0] == "--to-datetime":
        # Half an hour before the record.
        how = ("--to-datetime", in_utc(times[int(how[1])] - HOUR_MS // 2))
    commit(broker, "moved", [5, 5, 5])
    asked = (GROUPS, "--reset-offsets", "--group", "moved", "--topic", TOPIC, *how)
    wanted = {partition: str(offset) for partition, offset in enumerate(expected)}
    assert offsets_of(tool(*asked, "--dry-run"), "NEW-OFFSET") == wanted
    described = tool(GROUPS, "--describe", "--group", "moved")
    assert offsets_of(described, "CURRENT-OFFSET") == {0: "5", 1: "5", 2: "5"}, "a dry run moves nothing"
    assert offsets_of(tool(*asked, "--execute"), "NEW-OFFSET") == wanted
    described = tool(GROUPS, "--describe", "--group", "moved")
    assert offsets_of(described, "CURRENT-OFFSET") == wanted


def test_one_partition_is_reset_and_offsets_travel_in_a_file(
    broker: Broker, tool: Tool, times: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    commit(broker, "partly", [5, 5, 5])
    group = (GROUPS, "--reset-offsets", "--group", "partly")
    tool(*group, "--topic", f"{TOPIC}:1", "--to-earliest", "--execute")
    exported = tool(*group, "--all-topics", "--to-current", "--export").out
    assert sorted(exported.split()) == [f"{TOPIC},0,5", f"{TOPIC},1,0", f"{TOPIC},2,5"]
    path = tmp_path_factory.mktemp("offsets") / "offsets.csv"
    path.write_text(f"{TOPIC},0,1\n{TOPIC},2,9\n")
    tool(*group, "--from-file", str(path), "--execute")
    described = tool(GROUPS, "--describe", "--group", "partly")
    assert offsets_of(described, "CURRENT-OFFSET") == {0: "1", 1: "0", 2: "9"}


def test_offsets_and_groups_are_deleted(broker: Broker, tool: Tool, times: list[int]) -> None:
    commit(broker, "leaving", [1, 2, 3])
    said = tool(GROUPS, "--delete-offsets", "--group", "leaving", "--topic", f"{TOPIC}:0").out
    assert "Successful" in said
    assert offsets_of(tool(GROUPS, "--describe", "--group", "leaving"), "CURRENT-OFFSET") == {1: "2", 2: "3"}
    tool(GROUPS, "--delete-offsets", "--group", "leaving", "--topic", TOPIC)
    commit(broker, "left", [1, 2, 3])
    said = tool(GROUPS, "--delete", "--group", "left").out
    assert "was successful" in said
    assert "left" not in tool(GROUPS, "--list").out


def test_offsets_of_a_subscribed_topic_stay(tool: Tool, members: Members) -> None:
    one = members.add("busy", "one")
    members.share(one)
    one.commit(offsets=[TopicPartition(TOPIC, 0, 3)], asynchronous=False)
    said = tool(GROUPS, "--delete-offsets", "--group", "busy", "--topic", TOPIC)
    assert "subscribed" in said.out + said.err
    assert offsets_of(tool(GROUPS, "--describe", "--group", "busy"), "CURRENT-OFFSET")[0] == "3"


def test_all_kinds_of_groups_are_listed(broker: Broker, tool: Tool, members: Members) -> None:
    commit(broker, "simple", [1, 1, 1])
    members.share(members.add("old", "one"))
    members.share(members.add("new", "one", group_protocol="consumer"))
    found = {row["GROUP"]: row for row in rows(Said(0, tool(".GroupsCommand", "--list").out, ""))}
    assert (found["old"]["TYPE"], found["old"]["PROTOCOL"]) == ("Classic", "consumer")
    assert (found["new"]["TYPE"], found["new"]["PROTOCOL"]) == ("Consumer", "consumer")
    consumers = tool(".GroupsCommand", "--list", "--consumer").out
    assert all(re.search(rf"^{name} ", consumers, re.MULTILINE) for name in ("old", "new", "simple"))
    only = tool(".GroupsCommand", "--list", "--group-type", "consumer").out
    assert re.search(r"^new ", only, re.MULTILINE)
    assert not re.search(r"^old ", only, re.MULTILINE)


def test_the_console_consumer_reads_on_where_its_group_was(tool: Tool, times: list[int]) -> None:
    console = (
        ".consumer.ConsoleConsumer", "--topic", TOPIC, "--group", "console", "--from-beginning",
        "--timeout-ms", "20000",
    )  # fmt: skip
    assert tool(*console, "--max-messages", "20").out.split() == ["sold"] * 20
    assert tool(*console, "--max-messages", "10").out.split() == ["sold"] * 10
    described = tool(GROUPS, "--describe", "--group", "console")
    assert set(offsets_of(described, "LAG").values()) == {"0"}


def test_the_consumer_performance_test(tool: Tool, times: list[int]) -> None:
    said = tool(
        ".ConsumerPerformance", "--topic", TOPIC, "--num-records", "30", "--group", "performance",
        "--timeout", "20000",
    )  # fmt: skip
    head, figures = said.out.splitlines()[-2:]
    named = dict(zip((word.strip() for word in head.split(",")), figures.split(", "), strict=True))
    assert named["data.consumed.in.nMsg"] == "30"


def test_the_verifiable_consumer(broker: Broker, times: list[int]) -> None:
    # It runs until it has all it shall have, and tells of its partitions by events.
    done = subprocess.run(
        java(
            "org.apache.kafka.tools.VerifiableConsumer", "--bootstrap-server", broker.bootstrap,
            "--topic", TOPIC, "--group-id", "verifiable", "--max-messages", "30",
            "--reset-policy", "earliest",
        ),
        capture_output=True, text=True, check=False, timeout=DEADLINE_S,
    )  # fmt: skip
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assigned = next(event for event in events if event["name"] == "partitions_assigned")
    assert sorted(one["partition"] for one in assigned["partitions"]) == [0, 1, 2]
    assert sum(event["count"] for event in events if event["name"] == "records_consumed") == 30
    assert any(event["name"] == "offsets_committed" and event["success"] for event in events)
