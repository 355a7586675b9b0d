"""A group moves from the classic to the consumer protocol and back, member by member, while records flow.

In between it has members of both. groups/judge.py judges as for any other group: no partition has two owners,
no record is lost.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import ConsumerGroupType
from confluent_kafka.admin import AdminClient, NewTopic

from tests import toolchain, under_test
from tests.broker import BarnabasBroker
from tests.interop.groups.group import HEARTBEAT_MS, PARTITIONS, Group, Stream
from tests.interop.groups.member import KINDS
from tests.oracle.kafka import KafkaBroker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(400)]

OVERRIDES = {
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": str(HEARTBEAT_MS),
    "group.consumer.heartbeat.interval.ms": str(HEARTBEAT_MS),
}


class MixedGroup(Group):
    """A group whose members speak one protocol or the other."""

    def add_of(self, kind: str, name: str) -> None:
        """Start a member of another kind."""
        self.kind = KINDS[kind]
        kept = [setting for setting in self._settings if not setting.startswith("protocol=")]
        self._settings = [*kept, f"protocol={self.kind.protocol}"]
        self.add(name)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasBroker | KafkaBroker]:
    made = under_test.make_broker(tmp_path_factory.mktemp("migration"), overrides=OVERRIDES)
    with made as running:
        yield running


def group_type(broker: BarnabasBroker | KafkaBroker, name: str) -> ConsumerGroupType:
    """Ask the broker which protocol a group has."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    listed = admin.list_consumer_groups().result(30).valid
    return next(group.type for group in listed if group.group_id == name)


@pytest.mark.parametrize(
    ("classic", "consumer"),
    [
        ("librdkafka", "librdkafka-848"),
        pytest.param("java", "java-848", marks=[pytest.mark.java, pytest.mark.slow]),
    ],
)
def test_a_group_changes_its_protocol_and_back_under_load(
    classic: str, consumer: str, broker: BarnabasBroker | KafkaBroker, tmp_path: Path
) -> None:
    try:
        KINDS[classic].command()
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(str(missing))
    topic = f"moved-{classic}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(30)
    stream = Stream(broker.bootstrap, topic)
    with MixedGroup(f"group-{topic}", KINDS[classic], broker.bootstrap, topic, tmp_path) as group:
        stream.start()
        group.add("a", "b")
        group.settle("a", "b")
        assert group_type(broker, group.name) is ConsumerGroupType.CLASSIC
        group.add_of(consumer, "c")
        group.settle("a", "b", "c")
        assert group_type(broker, group.name) is ConsumerGroupType.CONSUMER
        group.close("a")
        group.settle("b", "c")
        group.add_of(consumer, "d")
        group.close("b")
        group.settle("c", "d")
        # And back.
        group.add_of(classic, "e")
        group.settle("c", "d", "e")
        group.close("c")
        group.members["d"].kill()
        group.settle("e")
        assert group_type(broker, group.name) is ConsumerGroupType.CLASSIC
        group.add_of(classic, "f")
        group.settle("e", "f")
        stream.stop()
        group.got(stream.stored)
        group.close_all()
        judgement = group.judge()
        assert judgement.faults == []
        assert set(judgement.values) == set(stream.stored)
