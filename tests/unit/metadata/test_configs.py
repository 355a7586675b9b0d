"""Config definitions: parsing, validation and resolution, as Apache Kafka 4.4 answered the same questions."""

import json
from pathlib import Path
from typing import Any

import pytest

from barnabas.base.errors import ApiError
from barnabas.metadata import config_docs
from barnabas.metadata.config_changes import validate_broker_configs
from barnabas.metadata.config_definitions import (
    BROKER,
    CLIENT_METRICS,
    GROUP,
    TOPIC,
    BrokerConfigs,
    ConfigEntry,
    ConfigError,
    describe_broker,
    describe_topic,
    topic_value,
)
from barnabas.metadata.config_types import PROTOCOL_TYPE_IDS, java_double_text, value_text
from barnabas.metadata.topic_configs import topic_log_config

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "metadata"
TABLES = {"broker": BROKER, "topic": TOPIC, "group": GROUP, "client_metrics": CLIENT_METRICS}
STATIC = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "broker.id": "1",
    "controller.quorum.bootstrap.servers": "127.0.0.1:29413",
    "listeners": "PLAINTEXT://127.0.0.1:29412,CONTROLLER://127.0.0.1:29413",
    "advertised.listeners": "PLAINTEXT://127.0.0.1:29412",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "log.dirs": "/var/lib/kafka",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}
BROKERS = BrokerConfigs(
    broker={
        "nope": "1",
        "listener.name.plaintext.ssl.keystore.location": "x",
        "num.io.threads": "9",
        "sasl.enabled.mechanisms": "PLAIN",
    },
    cluster={"min.insync.replicas": "2", "nope": "1"},
    static=STATIC,
)
NOTHING = BrokerConfigs(broker={}, cluster={}, static={})


def golden(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (GOLDEN / name).read_text().splitlines()]


def test_values_and_errors_are_those_of_apache_kafka() -> None:
    for case in golden("config_parsing.jsonl"):
        definition = TABLES[case["table"]].definition(case["name"])
        try:
            got = {"value": value_text(definition.parse(case["text"]), definition.type)}
        except ConfigError as error:
            got = {"error": str(error)}
        assert got == {key: case[key] for key in ("value", "error") if key in case}, case


def test_every_default_is_a_value_of_its_definition() -> None:
    for table in TABLES.values():
        for name in table.names():
            definition = table.definition(name)
            if definition.default_text and not definition.required and definition.type != "CLASS":
                definition.parse(definition.default_text)


def described(entry: ConfigEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "value": entry.value,
        "source": int(entry.source),
        "read_only": entry.read_only,
        "is_sensitive": entry.is_sensitive,
        "type": PROTOCOL_TYPE_IDS.get(entry.type, 0),
        "synonyms": [[s.name, s.value, int(s.source)] for s in entry.synonyms],
    }


def test_a_broker_is_described_as_apache_kafka_describes_it() -> None:
    ours = sorted(map(described, describe_broker(BROKERS)), key=lambda entry: str(entry["name"]))
    assert ours == golden("describe_broker.jsonl")


def test_a_topic_is_described_as_apache_kafka_describes_it() -> None:
    entries = map(described, describe_topic({"cleanup.policy": "delete,compact"}, BROKERS))
    keys = ("name", "value", "source", "synonyms")
    ours = [{key: entry[key] for key in keys} for entry in entries]
    assert ours == golden("describe_topic.jsonl")


@pytest.mark.parametrize(
    ("static", "retention_ms"),
    [
        ({}, 604_800_000),
        ({"log.retention.hours": "2"}, 7_200_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, 180_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "4"}, 4),
        ({"log.retention.hours": "-1"}, -1),
    ],
)
def test_finer_units_win(static: dict[str, str], retention_ms: int) -> None:
    brokers = BrokerConfigs(broker={}, cluster={}, static=static)
    assert topic_log_config({}, brokers).retention_ms == retention_ms
    assert topic_log_config({"retention.ms": "9"}, brokers).retention_ms == 9


def test_dynamic_values_win_over_static_ones() -> None:
    brokers = BrokerConfigs(
        broker={"log.segment.bytes": "3000000"},
        cluster={"log.segment.bytes": "2000000", "log.roll.ms": "7"},
        static={"log.segment.bytes": "1500000", "log.roll.ms": "8"},
    )
    config = topic_log_config({}, brokers)
    assert (config.segment_bytes, config.segment_ms) == (3_000_000, 7)
    assert topic_value("segment.bytes", {"segment.bytes": " 1048576 "}, brokers)[0] == 1_048_576


def test_defaults_are_those_of_the_log() -> None:
    assert topic_log_config({}, NOTHING) == type(topic_log_config({}, NOTHING))()


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.5, "0.5"), (1.0, "1.0"), (0.001, "0.001"), (1e-4, "1.0E-4"), (1.25e9, "1.25E9"), (0.0, "0.0")],
)
def test_doubles_print_as_in_java(number: float, text: str) -> None:
    assert java_double_text(number) == text


def test_every_public_topic_group_and_own_config_is_documented() -> None:
    for table, about in (
        (TOPIC, config_docs.topic_documentation),
        (GROUP, config_docs.group_documentation),
        (CLIENT_METRICS, config_docs.client_metrics_documentation),
    ):
        public = [name for name in table.names() if not table.definition(name).internal]
        assert [name for name in public if not about(name)] == []
    own = [name for name in BROKER.names() if "own" in BROKER.definition(name).flags]
    assert [name for name in own if not config_docs.broker_documentation(name)] == []
    assert set(config_docs.BROKER_DOCS) <= set(BROKER.names())
    hours = config_docs.broker_documentation("log.retention.hours")
    assert hours is not None
    assert "retention.ms, in hours" in hours


def test_replication_quotas_are_configs_of_brokers_that_show_once_they_are_set() -> None:
    name = "leader.replication.throttled.rate"
    assert name not in {entry.name for entry in describe_broker(NOTHING)}
    set_here = BrokerConfigs(broker={name: "1000"}, cluster={}, static={})
    (entry,) = [entry for entry in describe_broker(set_here) if entry.name == name]
    assert (entry.value, entry.type, entry.read_only) == ("1000", "LONG", False)
    assert [synonym.name for synonym in entry.synonyms] == [name]
    with pytest.raises(ApiError, match="Value must be at least 0"):
        validate_broker_configs({name: "-1"}, per_broker=False)


def test_a_listeners_config_falls_back_to_the_brokers() -> None:
    own = "listener.name.plaintext.max.connections"
    (entry,) = [
        e for e in describe_broker(BrokerConfigs(broker={own: "5"}, cluster={}, static={})) if e.name == own
    ]
    assert [(synonym.name, synonym.value) for synonym in entry.synonyms] == [
        (own, "5"),
        ("max.connections", "2147483647"),
    ]


def test_of_listeners_only_three_configs_may_be_set_for_all_brokers() -> None:
    validate_broker_configs({"listener.name.plaintext.max.connections": "5"}, per_broker=False)
    with pytest.raises(ApiError, match="broker id must be specified"):
        validate_broker_configs({"listener.name.plaintext.ssl.keystore.location": "x"}, per_broker=False)


def test_what_cannot_change_is_refused_before_its_value_is_looked_at() -> None:
    with pytest.raises(ApiError, match="Cannot update these configs dynamically"):
        validate_broker_configs({"log.initial.task.delay.ms": "x"}, per_broker=True)


def test_f3_followers_fetch_with_apache_kafkas_defaults() -> None:
    described = {
        entry.name: entry.value for entry in describe_broker(BrokerConfigs(broker={}, cluster={}, static={}))
    }
    assert (described["replica.fetch.wait.max.ms"], described["replica.fetch.min.bytes"]) == ("500", "1")
