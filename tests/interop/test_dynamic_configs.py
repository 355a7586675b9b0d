"""Configs take effect while the broker runs: a request that changes one, then what a client sees of it."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.protocol import messages as m
from barnabas.protocol.api_keys import ApiKey
from barnabas.protocol.compression import Codec
from barnabas.protocol.record_batch import parse_header
from barnabas.protocol.record_batch_builder import BatchBuilder
from tests.broker import BarnabasBroker
from tests.golden.script import Wire

pytestmark = pytest.mark.interop

TOPIC, BROKER = 2, 4
RETENTION_CHECK_MS = 100
DEADLINE_S = 10
API_VERSIONS = bytes.fromhex("0000000a 0012 0000 00000001 0000")


class Admin:
    """One connection with what these tests ask."""

    def __init__(self, broker: BarnabasBroker) -> None:
        self.broker = broker
        self.wire = Wire(broker.port)
        self.topic_ids: dict[str, bytes] = {}

    def create(self, name: str) -> None:
        topic = m.CreateTopicsRequestCreatableTopic(name=name, num_partitions=1, replication_factor=1)
        made = self.wire.ask("", ApiKey.CREATE_TOPICS, 7, m.CreateTopicsRequest(topics=[topic]))
        assert made.topics[0].error_code == 0, made
        self.topic_ids[name] = bytes(made.topics[0].topic_id)

    def set(self, kind: int, name: str, **values: str | None) -> None:
        """Set configs, or delete those that are None; underscores stand for dots."""
        config = m.IncrementalAlterConfigsRequestAlterableConfig
        resource = m.IncrementalAlterConfigsRequestAlterConfigsResource(
            resource_type=kind,
            resource_name=name,
            configs=[
                config(name=key.replace("_", "."), config_operation=int(value is None), value=value)
                for key, value in values.items()
            ],
        )
        request = m.IncrementalAlterConfigsRequest(resources=[resource])
        answer = self.wire.ask("", ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request)
        assert answer.responses[0].error_code == 0, answer

    def produce(self, name: str, value: bytes) -> m.Struct:
        builder = BatchBuilder()
        builder.append(timestamp=int(time.time() * 1000) - 60_000, key=None, value=value)
        part = m.ProduceRequestPartitionProduceData(index=0, records=builder.build())
        topic = m.ProduceRequestTopicProduceData(topic_id=self.topic_ids[name], partition_data=[part])
        request = m.ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[topic])
        return self.wire.ask("", ApiKey.PRODUCE, 13, request).responses[0].partition_responses[0]

    def log_files(self, name: str) -> list[str]:
        return sorted(path.name for path in (self.broker.data_dir / f"{name}-0").glob("*.log"))


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasBroker]:
    overrides = {"node.id": "1", "log.retention.check.interval.ms": str(RETENTION_CHECK_MS)}
    with BarnabasBroker(tmp_path_factory.mktemp("dynamic"), overrides=overrides) as running:
        yield running
        assert "fault while" not in running.log_tail()


@pytest.fixture
def admin(broker: BarnabasBroker) -> Iterator[Admin]:
    made = Admin(broker)
    yield made
    made.wire.close()


def test_a_topics_largest_message(admin: Admin) -> None:
    admin.create("largest")
    assert admin.produce("largest", bytes(2000)).error_code == 0
    admin.set(TOPIC, "largest", max_message_bytes="1000")
    assert admin.produce("largest", bytes(2000)).error_code == ErrorCode.MESSAGE_TOO_LARGE
    admin.set(TOPIC, "largest", max_message_bytes=None)
    assert admin.produce("largest", bytes(2000)).error_code == 0


@pytest.mark.parametrize("broker_name", ["", "1"], ids=["cluster", "broker"])
def test_a_brokers_default_reaches_topics_without_their_own(admin: Admin, broker_name: str) -> None:
    inheriting, own = f"inheriting-{broker_name}", f"own-{broker_name}"
    admin.create(inheriting)
    admin.create(own)
    admin.set(TOPIC, own, max_message_bytes="1000000")
    admin.set(BROKER, broker_name, message_max_bytes="1000")
    assert admin.produce(inheriting, bytes(2000)).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert admin.produce(own, bytes(2000)).error_code == 0
    admin.set(BROKER, broker_name, message_max_bytes=None)
    assert admin.produce(inheriting, bytes(2000)).error_code == 0


def test_whose_clock_stamps_records(admin: Admin) -> None:
    admin.create("stamped")
    assert admin.produce("stamped", b"v").log_append_time_ms == -1
    admin.set(TOPIC, "stamped", message_timestamp_type="LogAppendTime")
    assert admin.produce("stamped", b"v").log_append_time_ms > 0
    admin.set(TOPIC, "stamped", message_timestamp_type=None)
    assert admin.produce("stamped", b"v").log_append_time_ms == -1


def test_the_codec_on_disk(admin: Admin) -> None:
    admin.create("packed")
    admin.set(TOPIC, "packed", compression_type="gzip")
    admin.produce("packed", bytes(1000))
    content = (admin.broker.data_dir / "packed-0" / f"{0:020}.log").read_bytes()
    assert parse_header(content, 0).codec is Codec.GZIP


def test_when_a_segment_is_full_and_how_much_is_kept(admin: Admin) -> None:
    admin.create("kept")
    admin.set(TOPIC, "kept", segment_bytes=str(1 << 20), max_message_bytes=str(1 << 20))
    for _ in range(4):
        assert admin.produce("kept", bytes(600_000)).error_code == 0
    assert len(admin.log_files("kept")) == 4
    admin.set(TOPIC, "kept", retention_bytes="700000")
    deadline = time.monotonic() + DEADLINE_S
    while len(admin.log_files("kept")) > 2:
        assert time.monotonic() < deadline, "nothing was deleted"
        time.sleep(0.02)


def _is_served(broker: BarnabasBroker) -> bool:
    with socket.create_connection((broker.host, broker.port), timeout=5) as sock:
        sock.sendall(API_VERSIONS)
        try:
            return bool(sock.recv(1))
        except ConnectionResetError:
            return False


@pytest.mark.parametrize("key", ["max_connections_per_ip", "max_connections_per_ip_overrides"])
def test_connections_of_an_address(admin: Admin, key: str) -> None:
    assert _is_served(admin.broker)
    admin.set(BROKER, "1", **{key: "127.0.0.1:1" if key.endswith("overrides") else "1"})
    assert not _is_served(admin.broker), "the administrator's own connection is the one allowed"
    admin.set(BROKER, "1", **{key: None})
    assert _is_served(admin.broker)


def test_a_cordoned_directory_gets_no_new_topics(admin: Admin) -> None:
    admin.set(BROKER, "1", cordoned_log_dirs="*")
    topic = m.CreateTopicsRequestCreatableTopic(name="cordoned", num_partitions=1, replication_factor=1)
    request = m.CreateTopicsRequest(topics=[topic])
    refused = admin.wire.ask("", ApiKey.CREATE_TOPICS, 7, request).topics[0]
    assert refused.error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    told = admin.wire.ask("", ApiKey.DESCRIBE_LOG_DIRS, 5, m.DescribeLogDirsRequest(topics=[]))
    assert [one.is_cordoned for one in told.results] == [True]
    admin.set(BROKER, "1", cordoned_log_dirs=None)
    admin.create("cordoned")


def test_dynamic_configs_outlive_a_restart(tmp_path: Path) -> None:
    with BarnabasBroker(tmp_path, overrides={"node.id": "1"}) as broker:
        admin = Admin(broker)
        admin.create("largest")
        admin.set(TOPIC, "largest", max_message_bytes="1000")
        admin.set(BROKER, "1", max_connections_per_ip="1")
        admin.wire.close()
        broker.restart()
        again = Admin(broker)
        again.topic_ids = admin.topic_ids
        assert again.produce("largest", bytes(2000)).error_code == ErrorCode.MESSAGE_TOO_LARGE
        assert not _is_served(broker)
        again.wire.close()
