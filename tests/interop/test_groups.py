"""Consumer groups of every client, each member a process: joined, killed, paused, and the broker killed.

groups/judge.py judges what the members said in each scenario: no partition has two owners, no record is
delivered to another than its owner, nothing is skipped, nothing committed goes back.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests import toolchain, under_test
from tests.broker import BarnabasBroker
from tests.interop.client import Client
from tests.interop.client_java import JavaClient
from tests.interop.groups.group import PARTITIONS, SESSION_MS, Group, Stream
from tests.interop.groups.judge import owners
from tests.interop.groups.member import KINDS
from tests.oracle.kafka import KafkaBroker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(400)]

Broker = BarnabasBroker | KafkaBroker

OVERRIDES = {
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "500",
}
"""With the consumer protocol the broker sets what members of the classic one set for themselves."""

FULL = ("librdkafka", "librdkafka-848")
"""Whose whole scenario is part of every run; the others' only of the full-size ones."""

STATIC = ("librdkafka", "librdkafka-848", "franz-go")
PROMPT = ("librdkafka", "librdkafka-848", "franz-go", "aiokafka")

MAX_POLL_MS = 8_000
LONG_SESSION_MS = 45_000
READY_TIMEOUT_S = 60
ATTEMPTS = 3


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that a test may kill and start."""
    made = under_test.make_broker(tmp_path_factory.mktemp("groups"), overrides=OVERRIDES)
    with made as running:
        yield running


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker whose sessions are so long that nothing in a test can come of their end."""
    overrides = OVERRIDES | {"group.consumer.session.timeout.ms": str(LONG_SESSION_MS)}
    with under_test.make_broker(tmp_path_factory.mktemp("patient"), overrides=overrides) as running:
        yield running


def topic_on(broker: Broker, name: str) -> str:
    """Make a topic of 12 partitions."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result(30)
    return name


def group_on(broker: Broker, kind: str, topic: str, folder: Path, **options: int) -> Group:
    """Make a group of a client's members that subscribe to the topic."""
    try:
        KINDS[kind].command()
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(str(missing))
    return Group(f"group-{topic}", KINDS[kind], broker.bootstrap, topic, folder, **options)


def slow_unless(chosen: tuple[str, ...], kinds: Iterable[str] = KINDS) -> list[object]:
    return [name if name in chosen else pytest.param(name, marks=pytest.mark.slow) for name in kinds]


def committed_offsets(broker: Broker, group: str, topic: str) -> dict[int, int]:
    """Ask the broker what a group has committed.

    Not by librdkafka's admin client, which dies of a segmentation fault where the coordinator still loads.
    """
    asker = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group, "log_level": 0})
    asked = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]
    deadline = time.monotonic() + READY_TIMEOUT_S
    try:
        while True:
            try:
                answers = asker.committed(asked, timeout=30)
            except KafkaException:
                # Apache Kafka answers clients before it has loaded its groups.
                assert time.monotonic() < deadline
                time.sleep(0.1)
            else:
                return {one.partition: one.offset for one in answers if one.offset >= 0}
    finally:
        asker.close()


def ends(stream: Stream) -> dict[int, int]:
    """Each partition's end offset, once all is stored."""
    counts = dict.fromkeys(range(PARTITIONS), 0)
    for value in stream.stored:
        counts[int(value) % PARTITIONS] += 1
    return counts


@pytest.mark.parametrize("kind", slow_unless(FULL))
def test_members_come_die_and_sleep_and_the_broker_is_killed(
    kind: str, broker: Broker, tmp_path: Path, slow: bool
) -> None:
    topic = topic_on(broker, f"long-life-{kind}")
    stream = Stream(broker.bootstrap, topic)
    with group_on(broker, kind, topic, tmp_path, max_poll_ms=MAX_POLL_MS) as group:
        stream.start()
        group.add("a", "b", "c")
        group.settle("a", "b", "c")
        group.add("d")
        group.settle("a", "b", "c", "d")
        # Likely the classic group's leader, and one that sleeps beyond its session, as a laptop does.
        group.members["a"].kill()
        group.members["b"].stop()
        group.settle("c", "d")
        group.members["b"].resume()
        group.settle("b", "c", "d")
        if slow and KINDS[kind].notices_pauses:
            group.members["c"].command(f"pause {MAX_POLL_MS / 1000 + 8}")
            group.settle("b", "d")
            group.settle("b", "c", "d")
        stream.stop()
        group.got(stream.stored)
        group.committed(ends(stream))

        killed_at = time.time()
        broker.kill()
        broker.start()
        # Apache Kafka comes back after more than a session, so that members may have lost theirs.
        all_stay = time.time() - killed_at < SESSION_MS / 1000 / 2
        assert committed_offsets(broker, group.name, topic) == ends(stream)
        before = set(stream.stored)
        stream.send(10 * PARTITIONS)
        stream.flush()
        group.got(stream.stored)
        group.committed(ends(stream))
        group.close_all()
        assert committed_offsets(broker, group.name, topic) == ends(stream)

        assert group.judge(until=math.inf if all_stay else killed_at).faults == []
        values = group.judge().values
        assert set(values) == set(stream.stored)
        after = {count for value, count in values.items() if value not in before}
        assert after == {1} or not all_stay, "who stays in the group reads on where it was"


@pytest.mark.parametrize("kind", KINDS)
def test_a_member_joins_and_one_closes_and_its_partitions_go_to_the_others_at_once(
    kind: str, patient: Broker, tmp_path: Path
) -> None:
    topic = topic_on(patient, f"handed-over-{kind}")
    stream = Stream(patient.bootstrap, topic)
    stream.send(PARTITIONS * 5)
    stream.flush()
    with group_on(patient, kind, topic, tmp_path, session_ms=LONG_SESSION_MS) as group:
        group.add("a")
        group.settle("a")
        group.add("b")
        group.settle("a", "b")
        closing = time.time()
        group.close("a")
        group.settle("b")
        # Far from a session, which the others would otherwise have to wait for.
        assert time.time() - closing < LONG_SESSION_MS / 1000 / 2
        stream.send(PARTITIONS * 5)
        stream.flush()
        group.got(stream.stored)
        group.committed(ends(stream))
        group.close_all()
        judgement = group.judge()
        assert judgement.faults == []
        assert set(judgement.values) == set(stream.stored)
        assert committed_offsets(patient, group.name, topic) == ends(stream)


@pytest.mark.parametrize(
    "kind", slow_unless(STATIC, [name for name, kind in KINDS.items() if kind.is_static])
)
def test_a_static_member_restarts_without_a_rebalance(kind: str, patient: Broker, tmp_path: Path) -> None:
    topic = topic_on(patient, f"restarted-{kind}")
    stream = Stream(patient.bootstrap, topic)
    with group_on(patient, kind, topic, tmp_path, session_ms=LONG_SESSION_MS) as group:
        group.add("a", instance="first")
        group.settle("a")
        group.add("b", instance="second")
        group.settle("a", "b")
        stream.send(PARTITIONS * 5)
        stream.flush()
        group.got(stream.stored)
        group.committed(ends(stream))
        quiet, before = len(group.snapshot()), owners(group.snapshot())
        # The first is likely the group's leader: it comes back as another member in the same seat.
        if KINDS[kind].protocol == "classic":
            group.members["a"].kill()
        else:
            # In the consumer protocol a seat is kept until its session ends, unless its holder said goodbye.
            group.close("a")
        group.add("a again", instance="first")
        group.wait(
            lambda events: any(one.member == "a again" and one.partitions for one in events), "assigned anew"
        )
        stream.send(PARTITIONS * 5)
        stream.flush()
        group.got(stream.stored)
        since = [one for one in group.snapshot()[quiet:] if one.event != "record"]
        moved = [one for one in since if one.member == "b" and one.event != "committed" and one.partitions]
        if KINDS[kind].asks_as_leader:
            moved = [one for one in moved if set(one.partitions) != before["b"]]
        assert moved == []


@pytest.mark.parametrize("kind", slow_unless(PROMPT, [name for name in KINDS if not name.startswith("java")]))
def test_a_new_groups_first_record_is_there_within_a_second(
    kind: str, bootstrap: str, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic = make_topic("first-record", PARTITIONS)
    stream = Stream(bootstrap, topic)
    stream.send(PARTITIONS)
    stream.flush()
    took_s = []
    for attempt in range(ATTEMPTS):
        with Group(f"first-{kind}-{attempt}-{topic}", KINDS[kind], bootstrap, topic, tmp_path) as group:
            group.add("a")
            group.wait(lambda events: any(one.event == "record" for one in events), "given a record")
            moments = {one.event: one.at for one in reversed(group.snapshot())}
            took_s.append(moments["record"] - moments["started"])
            group.close_all()
        if took_s[-1] < 1:
            return
    # What the machine does besides makes single attempts slow, never all of them.
    pytest.fail(f"a new group's first record came after {took_s} s")


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_new_groups_first_record_reaches_a_warm_jvm_within_a_second(
    protocol: str, bootstrap: str, make_topic: Callable[..., str], client_named: Callable[[str], Client]
) -> None:
    topic = make_topic("first-record-java", PARTITIONS)
    stream = Stream(bootstrap, topic)
    stream.send(PARTITIONS)
    stream.flush()
    java = client_named("java")
    assert isinstance(java, JavaClient)
    groups = [f"first-{number}-{topic}" for number in range(ATTEMPTS + 1)]
    took_ms = [int(java.ask("first-record", bootstrap, topic, group, protocol)) for group in groups]
    assert min(took_ms) < 1000, took_ms
