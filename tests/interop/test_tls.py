"""Real clients over TLS, each showing a certificate: what they write they read, byte for byte."""

import asyncio
import random
from collections.abc import Callable, Iterator, Mapping

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioTopicPartition
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as PyTopicPartition

from tests import toolchain
from tests.broker import BarnabasBroker
from tests.certificates import Certificates
from tests.interop.client import ProduceSettings
from tests.interop.client_go import GoClient
from tests.interop.client_java import JavaClient
from tests.interop.records import PARTITIONS, compare, make_records

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

RECORDS, RECORDS_SLOW = 500, 20_000
VALUES = [random.Random(number).randbytes(size) for number, size in enumerate((1, 100, 20_000, 700_000) * 4)]
TIMEOUT_S = 60


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("tls-certificates"))


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, certificates: Certificates) -> Iterator[BarnabasBroker]:
    """A broker whose only listener does TLS and wants certificates."""
    overrides = {
        "listener.security.protocol.map": "PLAINTEXT:SSL,CONTROLLER:PLAINTEXT",
        "ssl.client.auth": "required",
        **certificates.broker_overrides(),
    }
    with BarnabasBroker(tmp_path_factory.mktemp("tls-broker"), overrides=overrides) as running:
        yield running


@pytest.fixture(scope="module")
def rdkafka(broker: BarnabasBroker, certificates: Certificates) -> dict[str, object]:
    """Settings of librdkafka."""
    return {
        "bootstrap.servers": broker.bootstrap,
        "security.protocol": "SSL",
        "ssl.ca.location": str(certificates.truststore),
        "ssl.certificate.location": str(certificates.client_store),
        "ssl.key.location": str(certificates.client_store),
    }


@pytest.fixture(scope="module")
def make_tls_topic(rdkafka: dict[str, object]) -> Callable[[str], str]:
    admin = AdminClient(rdkafka)

    def make(name: str) -> str:
        admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result(TIMEOUT_S)
        return name

    return make


def test_librdkafka(rdkafka: dict[str, object], make_tls_topic: Callable[[str], str]) -> None:
    topic = make_tls_topic("librdkafka")
    producer = Producer(rdkafka)
    for value in VALUES:
        producer.produce(topic, value, partition=0)
    assert producer.flush(TIMEOUT_S) == 0
    consumer = Consumer({**rdkafka, "group.id": "none", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert [consumer.consume(1, TIMEOUT_S)[0].value() for _ in VALUES] == VALUES
    consumer.close()


def test_a_client_without_certificate_is_refused(rdkafka: dict[str, object]) -> None:
    bare = {
        key: value
        for key, value in rdkafka.items()
        if key not in ("ssl.certificate.location", "ssl.key.location")
    }
    with pytest.raises(KafkaException) as refused:
        AdminClient(bare).list_topics(timeout=3)
    assert refused.value.args[0].code() == KafkaError._TRANSPORT


def test_kafka_python(
    broker: BarnabasBroker, certificates: Certificates, make_tls_topic: Callable[[str], str]
) -> None:
    topic = make_tls_topic("kafka-python")
    settings = {
        "bootstrap_servers": broker.bootstrap,
        "security_protocol": "SSL",
        "ssl_context": certificates.client_context(with_certificate=True),
    }
    producer = KafkaProducer(**settings)
    for value in VALUES:
        producer.send(topic, value, partition=0)
    producer.flush(TIMEOUT_S)
    producer.close(5)
    consumer = KafkaConsumer(**settings, enable_auto_commit=False, consumer_timeout_ms=TIMEOUT_S * 1000)
    consumer.assign([PyTopicPartition(topic, 0)])
    consumer.seek_to_beginning()
    assert [next(consumer).value for _ in VALUES] == VALUES
    consumer.close()


def test_aiokafka(
    broker: BarnabasBroker, certificates: Certificates, make_tls_topic: Callable[[str], str]
) -> None:
    topic = make_tls_topic("aiokafka")
    settings = {
        "bootstrap_servers": broker.bootstrap,
        "security_protocol": "SSL",
        "ssl_context": certificates.client_context(with_certificate=True),
    }

    async def run() -> list[bytes]:
        async with AIOKafkaProducer(**settings) as producer:
            for value in VALUES:
                await producer.send_and_wait(topic, value, partition=0)
        async with AIOKafkaConsumer(**settings, enable_auto_commit=False) as consumer:
            consumer.assign([AioTopicPartition(topic, 0)])
            consumer.seek(AioTopicPartition(topic, 0), 0)
            return [(await consumer.getone()).value for _ in VALUES]

    assert asyncio.run(asyncio.wait_for(run(), TIMEOUT_S)) == VALUES


class TlsJavaClient(JavaClient):
    """The Java client with its stores."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        super().__init__()
        self._tls = settings

    def produce_options(self, settings: ProduceSettings) -> Mapping[str, object]:
        return {**super().produce_options(settings), **self._tls}


@pytest.mark.java
def test_java(
    broker: BarnabasBroker, certificates: Certificates, make_tls_topic: Callable[[str], str], slow: bool
) -> None:
    settings = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.truststore),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.client_pkcs8),
    }
    topic = make_tls_topic("java")
    try:
        client = TlsJavaClient(settings)
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(str(missing))
    records = [client.sendable(record) for record in make_records(RECORDS_SLOW if slow else RECORDS, seed=3)]
    try:
        client.produce(broker.bootstrap, topic, records, ProduceSettings(codec="lz4"))
        start = dict.fromkeys(range(PARTITIONS), 0)
        consumed = client.consume(broker.bootstrap, topic, len(records), start, settings)
        compare([client.seen(record) for record in records], consumed)
    finally:
        client.close()


def test_franz_go(
    broker: BarnabasBroker,
    certificates: Certificates,
    make_tls_topic: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
    slow: bool,
) -> None:
    monkeypatch.setenv("BARNABAS_TLS_AUTHORITY", str(certificates.truststore))
    monkeypatch.setenv("BARNABAS_TLS_CLIENT", str(certificates.client_store))
    topic = make_tls_topic("franz-go")
    try:
        client = GoClient("franz-go")
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(str(missing))
    records = [client.sendable(record) for record in make_records(RECORDS_SLOW if slow else RECORDS, seed=4)]
    try:
        client.produce(broker.bootstrap, topic, records, ProduceSettings(codec="snappy"))
        consumed = client.consume(broker.bootstrap, topic, len(records), dict.fromkeys(range(PARTITIONS), 0))
        compare([client.seen(record) for record in records], consumed)
    finally:
        client.close()
