"""Produced by each client, consumed by itself and by others, with each codec, every field compared."""

from collections.abc import Callable

import pytest

from tests.interop.client import Client, ProduceSettings
from tests.interop.records import FIRST_TIMESTAMP_MS, PARTITIONS, compare, make_records

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

CLIENTS = ("librdkafka", "java", "kafka-python", "aiokafka", "franz-go", "sarama", "kafka-go", "confluent-js")
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
RECORDS = 10_000
RECORDS_SLOW = 100_000
RECORDS_ACKS = 1_000

ACKS = {
    "acks=0": ProduceSettings(acks=0),
    "acks=1": ProduceSettings(acks=1),
    "acks=all": ProduceSettings(acks=-1),
    "idempotent": ProduceSettings(acks=-1, idempotent=True),
}

ClientNamed = Callable[[str], Client]
MakeTopic = Callable[..., str]


def consumers_of(producer: str, codec: str) -> tuple[str, ...]:
    """Itself and one other, so that every client reads from others."""
    others = [name for name in CLIENTS if name != producer]
    return producer, others[(CODECS.index(codec) + 2 * CLIENTS.index(producer)) % len(others)]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("producer", CLIENTS)
def test_every_field_survives(
    producer: str,
    codec: str,
    bootstrap: str,
    slow: bool,
    client_named: ClientNamed,
    make_topic: MakeTopic,
    record_property: Callable[[str, object], None],
) -> None:
    consumers = consumers_of(producer, codec)
    record_property("matrix_producer", producer)
    record_property("matrix_consumers", ",".join(consumers))
    record_property("matrix_codec", codec)
    count = RECORDS_SLOW if slow else RECORDS
    client = client_named(producer)
    records = [client.sendable(record) for record in make_records(count, seed=CODECS.index(codec))]
    topic = make_topic(f"matrix-{producer}-{codec}")
    settings = ProduceSettings(codec=codec, idempotent=True)
    offsets = client.produce(bootstrap, topic, records, settings)
    assert sorted(offsets) == sorted(i // PARTITIONS for i in range(len(records)))
    start = dict.fromkeys(range(PARTITIONS), 0)
    for consumer in consumers:
        reader = client_named(consumer)
        expected = [reader.seen(record) for record in records]
        compare(expected, reader.consume(bootstrap, topic, len(records), start))


@pytest.mark.parametrize("acks", ACKS)
@pytest.mark.parametrize("producer", CLIENTS)
def test_acks(
    producer: str, acks: str, bootstrap: str, client_named: ClientNamed, make_topic: MakeTopic
) -> None:
    client = client_named(producer)
    records = [client.sendable(record) for record in make_records(RECORDS_ACKS, seed=7)]
    topic = make_topic(f"acks-{producer}")
    settings = ACKS[acks]
    offsets = client.produce(bootstrap, topic, records, settings)
    if settings.acks != 0:
        assert sorted(offsets) == sorted(i // PARTITIONS for i in range(len(records)))
    # Without idempotence a client that retries may reorder; on one connection to one broker none does.
    expected = [client.seen(record) for record in records]
    compare(expected, client.consume(bootstrap, topic, len(records), dict.fromkeys(range(PARTITIONS), 0)))


@pytest.mark.parametrize("name", CLIENTS)
def test_offsets_and_reading_from_the_middle(
    name: str, bootstrap: str, client_named: ClientNamed, make_topic: MakeTopic
) -> None:
    client = client_named(name)
    topic = make_topic(f"offsets-{name}")
    assert client.offset_range(bootstrap, topic) == dict.fromkeys(range(PARTITIONS), (0, 0))
    # In order of time, so that the first record not older than a time is easy to name.
    records = [
        client.sendable(record)._replace(timestamp_ms=FIRST_TIMESTAMP_MS + i * 10)
        for i, record in enumerate(make_records(RECORDS_ACKS, seed=8))
    ]
    client.produce(bootstrap, topic, records, ProduceSettings(codec="lz4"))
    per_partition = RECORDS_ACKS // PARTITIONS
    assert client.offset_range(bootstrap, topic) == dict.fromkeys(range(PARTITIONS), (0, per_partition))

    middle_ms = FIRST_TIMESTAMP_MS + RECORDS_ACKS // 2 * 10
    found = client.offsets_for_time(bootstrap, topic, middle_ms)
    assert found == dict.fromkeys(range(PARTITIONS), per_partition // 2)
    late = client.offsets_for_time(bootstrap, topic, FIRST_TIMESTAMP_MS + RECORDS_ACKS * 10)
    assert late == dict.fromkeys(range(PARTITIONS))

    start = {partition: per_partition // 2 + partition for partition in range(PARTITIONS)}
    wanted = sum(per_partition - offset for offset in start.values())
    consumed = client.consume(bootstrap, topic, wanted, start)
    for partition, first in start.items():
        mine = [seen for seen in consumed if seen.record.partition == partition]
        sent = [client.seen(record) for record in records if record.partition == partition]
        assert [seen.offset for seen in mine] == list(range(first, per_partition))
        assert [seen.record for seen in mine] == sent[first:]
