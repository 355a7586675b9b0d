"""kafkajs produces, consumes and administers; others read what it wrote and it what they wrote."""

from collections.abc import Callable

import pytest

from tests import toolchain
from tests.interop.client import Client, ProduceSettings
from tests.interop.client_node import KafkajsClient
from tests.interop.records import FIRST_TIMESTAMP_MS, PARTITIONS, compare, make_records

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

RECORDS = 10_000
RECORDS_SLOW = 100_000


@pytest.fixture(scope="module")
def kafkajs():
    try:
        client = KafkajsClient()
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(str(missing))
    yield client
    client.close()


@pytest.mark.parametrize(
    ("codec", "idempotent", "reader"),
    [("none", True, "librdkafka"), ("gzip", False, "franz-go"), ("snappy", True, "java")],
)
def test_what_kafkajs_writes_others_read(
    kafkajs: KafkajsClient,
    codec: str,
    idempotent: bool,
    reader: str,
    bootstrap: str,
    slow: bool,
    client_named: Callable[[str], Client],
    make_topic: Callable[..., str],
    record_property: Callable[[str, object], None],
) -> None:
    record_property("matrix_producer", "kafkajs")
    record_property("matrix_consumers", reader)
    record_property("matrix_codec", codec)
    count = RECORDS_SLOW if slow else RECORDS
    records = [kafkajs.sendable(record) for record in make_records(count, seed=3)]
    topic = make_topic(f"kafkajs-{codec}")
    settings = ProduceSettings(codec=codec, idempotent=idempotent)
    offsets = kafkajs.produce(bootstrap, topic, records, settings)
    assert sorted(offsets) == sorted(i // PARTITIONS for i in range(len(records)))
    start = dict.fromkeys(range(PARTITIONS), 0)
    compare(records, client_named(reader).consume(bootstrap, topic, len(records), start))


@pytest.mark.parametrize(
    ("codec", "writer"),
    [("none", "java"), ("gzip", "librdkafka"), ("snappy", "franz-go"), ("none", "kafkajs")],
)
def test_kafkajs_reads_what_others_write(
    kafkajs: KafkajsClient,
    codec: str,
    writer: str,
    bootstrap: str,
    slow: bool,
    client_named: Callable[[str], Client],
    make_topic: Callable[..., str],
    record_property: Callable[[str, object], None],
) -> None:
    record_property("matrix_producer", writer)
    record_property("matrix_consumers", "kafkajs")
    record_property("matrix_codec", codec)
    producer = kafkajs if writer == "kafkajs" else client_named(writer)
    count = RECORDS_SLOW if slow else RECORDS
    records = [producer.sendable(record) for record in make_records(count, seed=6)]
    topic = make_topic(f"to-kafkajs-{codec}")
    producer.produce(bootstrap, topic, records, ProduceSettings(codec=codec))
    start = dict.fromkeys(range(PARTITIONS), 0)
    expected = [kafkajs.seen(record) for record in records]
    compare(expected, kafkajs.consume(bootstrap, topic, len(records), start))


def test_kafkajs_reads_from_the_middle(
    kafkajs: KafkajsClient, bootstrap: str, make_topic: Callable[..., str]
) -> None:
    topic = make_topic("kafkajs-middle")
    records = [kafkajs.sendable(record) for record in make_records(200, seed=9)]
    kafkajs.produce(bootstrap, topic, records, ProduceSettings())
    consumed = kafkajs.consume(bootstrap, topic, 100, {0: 40, 1: 60})
    found = {
        partition: [one.offset for one in consumed if one.record.partition == partition]
        for partition in (0, 1)
    }
    assert found == {0: list(range(40, 100)), 1: list(range(60, 100))}


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_acks(
    kafkajs: KafkajsClient,
    acks: int,
    bootstrap: str,
    client_named: Callable[[str], Client],
    make_topic: Callable[..., str],
) -> None:
    records = [kafkajs.sendable(record) for record in make_records(200, seed=4)]
    topic = make_topic("kafkajs-acks")
    kafkajs.produce(bootstrap, topic, records, ProduceSettings(acks=acks))
    start = dict.fromkeys(range(PARTITIONS), 0)
    compare(records, client_named("librdkafka").consume(bootstrap, topic, len(records), start))


def test_offsets_by_time(kafkajs: KafkajsClient, bootstrap: str, make_topic: Callable[..., str]) -> None:
    topic = make_topic("kafkajs-time")
    records = [
        kafkajs.sendable(record)._replace(timestamp_ms=FIRST_TIMESTAMP_MS + i * 10)
        for i, record in enumerate(make_records(200, seed=5))
    ]
    kafkajs.produce(bootstrap, topic, records, ProduceSettings())
    assert kafkajs.offset_range(bootstrap, topic) == {0: (0, 100), 1: (0, 100)}
    middle_ms = FIRST_TIMESTAMP_MS + 100 * 10
    assert kafkajs.offsets_for_time(bootstrap, topic, middle_ms) == {0: 50, 1: 50}
    assert kafkajs.offsets_for_time(bootstrap, topic, middle_ms * 2) == {0: None, 1: None}


def test_the_cluster(kafkajs: KafkajsClient, bootstrap: str) -> None:
    cluster_id, brokers = kafkajs.ask("cluster", bootstrap).split()
    assert (len(cluster_id), brokers) == (22, "1")
