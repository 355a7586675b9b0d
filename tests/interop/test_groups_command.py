"""`barnabas groups` against a running broker, as a user runs it; groups are made by real consumers."""

import json
import time
import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.broker import BarnabasBroker
from tests.interop.command_line import Run

pytestmark = pytest.mark.interop

JOIN_TIMEOUT_S = 30
RECORDS = 5


@pytest.fixture
def topic(run: Run) -> str:
    """Two partitions; the first holds five records."""
    name = f"groups-{uuid.uuid4().hex[:8]}"
    run("topics", "create", name, "--partitions", "2")
    run("produce", name, "--partition", "0", stdin=b"record\n" * RECORDS)
    return name


@pytest.fixture
def group() -> str:
    return f"group-{uuid.uuid4().hex[:8]}"


def consumer_of(broker: BarnabasBroker, group: str, protocol: str = "classic") -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": group,
            "client.id": "reader",
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )


@pytest.fixture(params=["classic", "consumer"])
def member(
    request: pytest.FixtureRequest, barnabas: BarnabasBroker, topic: str, group: str
) -> Iterator[Consumer]:
    """A member that owns both partitions and has committed 3 of the first."""
    consumer = consumer_of(barnabas, group, request.param)
    consumer.subscribe([topic])
    deadline = time.monotonic() + JOIN_TIMEOUT_S
    while len(consumer.assignment()) < 2:
        consumer.poll(0.1)
        assert time.monotonic() < deadline, "it never gets its partitions"
    consumer.commit(offsets=[TopicPartition(topic, 0, 3)], asynchronous=False)
    yield consumer
    consumer.close()


@pytest.fixture
def committed(barnabas: BarnabasBroker, topic: str, group: str) -> str:
    """A group without members that has committed 3 of the first partition."""
    consumer = consumer_of(barnabas, group)
    consumer.commit(offsets=[TopicPartition(topic, 0, 3)], asynchronous=False)
    consumer.close()
    return group


def partitions(run: Run, group: str) -> dict[int, dict[str, object]]:
    described = json.loads(run("groups", "describe", group, "-o", "json").stdout)[0]
    return {one["partition"]: one for one in described["partitions"]}


def test_a_group_with_a_member_is_described(run: Run, group: str, topic: str, member: Consumer) -> None:
    described = json.loads(run("groups", "describe", group, "-o", "json").stdout)[0]
    assert described["state"] == "Stable"
    assert described["protocol_type"] == "consumer"
    (one,) = described["members"]
    assert one["client_id"] == "reader"
    assert one["partitions"] == [f"{topic}-0", f"{topic}-1"]
    first, second = described["partitions"]
    assert first["committed_offset"] == 3
    assert first["end_offset"] == RECORDS
    assert first["lag"] == 2
    assert first["member_id"] == one["member_id"]
    assert second["committed_offset"] is None
    assert second["lag"] is None
    text = run("groups", "describe", group).stdout.decode()
    assert text.splitlines()[0].startswith(f"{group}  Stable  ")
    assert one["member_id"] in run("groups", "describe", group, "--members").stdout.decode()


def test_groups_are_listed_by_state_and_type(run: Run, group: str, member: Consumer) -> None:
    listed = {one["name"]: one for one in json.loads(run("groups", "list", "-o", "json").stdout)}
    assert listed[group]["state"] == "Stable"
    kind = listed[group]["type"]
    other = {"classic": "consumer", "consumer": "classic"}[kind]
    assert group in run("groups", "list", "--state", "stable", "--type", kind).stdout.decode()
    assert group not in run("groups", "list", "--type", other).stdout.decode()
    assert group not in run("groups", "list", "--state", "Empty").stdout.decode()


def test_offsets_of_a_group_with_members_stay(run: Run, group: str, topic: str, member: Consumer) -> None:
    refused = run("groups", "reset-offsets", group, "--topic", topic, "--to-earliest", "--execute", code=1)
    assert refused.stderr.decode() == f"barnabas: group {group} is Stable: it has members, stop them first\n"
    assert partitions(run, group)[0]["committed_offset"] == 3
    assert (
        b"GROUP_SUBSCRIBED_TO_TOPIC"
        in run("groups", "delete-offsets", group, "--topic", topic, code=1).stderr
    )
    assert b"NON_EMPTY_GROUP" in run("groups", "delete", group, code=1).stderr


def test_resetting_is_only_shown_at_first(run: Run, committed: str, topic: str) -> None:
    shown = run("groups", "reset-offsets", committed, "--topic", topic, "--to-latest").stdout.decode()
    assert shown.startswith(f"{committed}: nothing is changed without --execute\n")
    assert partitions(run, committed)[0]["committed_offset"] == 3


@pytest.mark.parametrize(
    ("how", "first"),
    [
        (("--to-earliest",), 0),
        (("--to-latest",), RECORDS),
        (("--to-current",), 3),
        (("--to-offset", "4"), 4),
        (("--to-offset", "99"), RECORDS),
        (("--shift-by", "-2"), 1),
        (("--shift-by", "-10"), 0),
        (("--to-datetime", "2001-01-01"), 0),
        (("--to-datetime", "2999-01-01"), RECORDS),
        (("--by-duration", "PT1H"), 0),
    ],
)
def test_offsets_are_reset(run: Run, committed: str, topic: str, how: tuple[str, ...], first: int) -> None:
    run("groups", "reset-offsets", committed, "--topic", f"{topic}:0", *how, "--execute")
    assert partitions(run, committed)[0]["committed_offset"] == first


def test_all_that_was_committed_is_reset(run: Run, committed: str) -> None:
    done = run(
        "groups", "reset-offsets", committed, "--all-topics", "--to-earliest", "--execute", "-o", "json"
    )
    told = json.loads(done.stdout)
    assert told["executed"] is True
    assert [(one["partition"], one["new_offset"]) for one in told["partitions"]] == [(0, 0)]


def test_a_new_group_gets_offsets(run: Run, group: str, topic: str) -> None:
    run("groups", "reset-offsets", group, "--topic", topic, "--to-latest", "--execute")
    assert [one["committed_offset"] for one in partitions(run, group).values()] == [RECORDS, 0]


def test_one_group_that_cannot_be_deleted_does_not_keep_the_others(run: Run, committed: str) -> None:
    done = run("groups", "delete", "missing", committed, code=1)
    assert done.stdout.decode() == f"deleted {committed}\n"
    assert b"missing: GROUP_ID_NOT_FOUND" in done.stderr
    assert committed not in run("groups", "list").stdout.decode()


def test_offsets_of_a_topic_that_has_none_are_not_deleted_in_silence(run: Run, committed: str) -> None:
    assert (
        b"nothing of ghost" in run("groups", "delete-offsets", committed, "--topic", "ghost", code=1).stderr
    )


def test_offsets_and_groups_are_deleted(run: Run, committed: str, topic: str) -> None:
    said = run("groups", "delete-offsets", committed, "--topic", topic).stdout.decode()
    assert said == f"deleted the offset of {topic}-0\n"
    run("groups", "reset-offsets", committed, "--topic", topic, "--to-latest", "--execute")
    assert run("groups", "delete", committed).stdout.decode() == f"deleted {committed}\n"
    assert (
        run("groups", "describe", committed, code=1)
        .stderr.decode()
        .startswith(f"barnabas: group {committed}: GROUP_ID_NOT_FOUND")
    )
    assert committed not in run("groups", "list").stdout.decode()


def test_a_partition_that_is_not_there(run: Run, committed: str, topic: str) -> None:
    refused = run("groups", "reset-offsets", committed, "--topic", f"{topic}:7", "--to-latest", code=1)
    assert refused.stderr.decode() == f"barnabas: topic {topic} has 2 partition(s), there is no 7\n"
