"""Steps that describe and alter configs of every kind of resource."""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.protocol import messages as m
from barnabas.protocol.api_keys import ApiKey as K
from tests.golden.admin_step import Step, step, versions

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3

BROKER_KEYS = [
    "log.retention.ms",
    "log.retention.hours",
    "message.max.bytes",
    "num.partitions",
    "compression.type",
    "max.connections.per.ip",
    "ssl.keystore.password",
    "min.insync.replicas",
    "unclean.leader.election.enable",
    "log.cleaner.io.max.bytes.per.second",
    "no.such.key",
]


def config_steps() -> Iterator[Step]:
    """Yield steps that describe, alter and describe again."""
    for version in versions(K.DESCRIBE_CONFIGS):
        yield from _describe(version, "before")
    yield from _describe_refused()
    yield from _alter_refused()
    yield from _incrementally_refused()
    yield from _changes()
    yield from _list_resources()
    for version in versions(K.DESCRIBE_CONFIGS):
        yield from _describe(version, "after")
    yield from _undo()
    yield from _describe(4, "undone")


def _ask(*resources: tuple[int, str, list[str] | None]) -> m.DescribeConfigsRequest:
    return m.DescribeConfigsRequest(
        resources=[
            m.DescribeConfigsRequestDescribeConfigsResource(
                resource_type=kind, resource_name=name, configuration_keys=keys
            )
            for kind, name, keys in resources
        ],
        include_synonyms=True,
    )


def _describe(version: int, when: str) -> Iterator[Step]:
    asks = {
        "topic": _ask((TOPIC, "alpha", None), (TOPIC, "beta", None)),
        "topic-keys": _ask((TOPIC, "alpha", ["retention.ms", "max.message.bytes", "no.such.key"])),
        "broker-keys": _ask((BROKER, "1", BROKER_KEYS)),
        "cluster": _ask((BROKER, "", None)),
        "group": _ask((GROUP, "g", None)),
        "metrics": _ask((METRICS, "m", None)),
    }
    for scenario, request in asks.items():
        yield step(K.DESCRIBE_CONFIGS, version, f"{scenario}-{when}", request)
    plain = _ask((TOPIC, "alpha", None))
    plain.include_synonyms = False
    yield step(K.DESCRIBE_CONFIGS, version, f"no-synonyms-{when}", plain)


def _describe_refused() -> Iterator[Step]:
    for version in versions(K.DESCRIBE_CONFIGS):
        asks = {
            "broker": _ask((BROKER, "1", None)),
            "no-keys": _ask((TOPIC, "alpha", [])),
            "unknown-topic": _ask((TOPIC, "missing", None)),
            "bad-topic": _ask((TOPIC, "a/b", None)),
            "no-topic": _ask((TOPIC, "", None)),
            "other-broker": _ask((BROKER, "7", None)),
            "no-number": _ask((BROKER, "one", None)),
            "other-logger": _ask((LOGGER, "7", None)),
            "no-logger": _ask((LOGGER, "", None)),
            "no-group": _ask((GROUP, "", None)),
            "no-metrics": _ask((METRICS, "", None)),
            "bad-kind": _ask((99, "x", None)),
            "unknown-kind": _ask((0, "x", None)),
            "twice": _ask((TOPIC, "alpha", ["retention.ms"]), (TOPIC, "alpha", ["retention.ms"])),
            "nothing": _ask(),
        }
        for scenario, request in asks.items():
            yield step(K.DESCRIBE_CONFIGS, version, scenario, request)


_Values = dict[str, str | None]


def _replace(*resources: tuple[int, str, _Values], validate_only: bool = False) -> m.Message:
    return m.AlterConfigsRequest(
        resources=[
            m.AlterConfigsRequestAlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[m.AlterConfigsRequestAlterableConfig(name=k, value=v) for k, v in values.items()],
            )
            for kind, name, values in resources
        ],
        validate_only=validate_only,
    )


def _refused_values() -> dict[str, tuple[int, str, _Values]]:
    return {
        "unknown-key": (TOPIC, "alpha", {"no.such.config": "1"}),
        "bad-value": (TOPIC, "alpha", {"retention.ms": "soon"}),
        "null-value": (TOPIC, "alpha", {"retention.ms": None}),
        "out-of-range": (TOPIC, "alpha", {"segment.bytes": "1"}),
        "bad-choice": (TOPIC, "alpha", {"compression.type": "zip"}),
        "tiered": (TOPIC, "alpha", {"remote.storage.enable": "true"}),
        "unknown-topic": (TOPIC, "missing", {"retention.ms": "1"}),
        "bad-topic": (TOPIC, "a/b", {"retention.ms": "1"}),
        "no-topic": (TOPIC, "", {"retention.ms": "1"}),
        "static-broker": (BROKER, "1", {"num.partitions": "3"}),
        "static-cluster": (BROKER, "", {"num.partitions": "3"}),
        "bad-broker-value": (BROKER, "1", {"log.retention.ms": "soon"}),
        "bad-cluster-value": (BROKER, "", {"message.max.bytes": "-5"}),
        "other-broker": (BROKER, "7", {"log.retention.ms": "1"}),
        "no-number": (BROKER, "one", {"log.retention.ms": "1"}),
        "listener-for-all": (BROKER, "", {"listener.name.plaintext.ssl.keystore.type": "JKS"}),
        "bare-keystore": (BROKER, "1", {"ssl.keystore.location": "/tmp/none"}),
        "cordon-unknown": (BROKER, "1", {"cordoned.log.dirs": "/no/such/directory"}),
        "cordon-for-all": (BROKER, "", {"cordoned.log.dirs": "*"}),
        "too-many-threads": (BROKER, "1", {"num.io.threads": "100"}),
        "too-few-threads": (BROKER, "", {"num.network.threads": "0"}),
        "bad-overrides": (BROKER, "1", {"max.connections.per.ip.overrides": "nonsense"}),
        "other-listeners": (BROKER, "1", {"listeners": "SSL://127.0.0.1:1"}),
        "bad-dedupe-size": (BROKER, "1", {"log.cleaner.dedupe.buffer.size": "10"}),
        "retention-zero": (BROKER, "1", {"log.retention.ms": "0"}),
        "mechanisms": (BROKER, "", {"sasl.enabled.mechanisms": "PLAIN"}),
        "roll-zero": (BROKER, "1", {"log.roll.ms": "0"}),
        "too-many-cleaners": (BROKER, "1", {"log.cleaner.threads": "50"}),
        "unclean": (BROKER, "", {"unclean.leader.election.enable": "maybe"}),
        "broker-min-isr": (BROKER, "1", {"min.insync.replicas": "2"}),
        "unknown-group-key": (GROUP, "g", {"no.such.config": "1"}),
        "group-out-of-range": (GROUP, "g", {"consumer.session.timeout.ms": "1"}),
        "no-group": (GROUP, "", {"consumer.session.timeout.ms": "50000"}),
        "unknown-metrics-key": (METRICS, "m", {"no.such.config": "1"}),
        "metrics-interval": (METRICS, "m", {"interval.ms": "1"}),
        "metrics-match": (METRICS, "m", {"match": "nothing"}),
        "no-metrics": (METRICS, "", {"interval.ms": "60000"}),
        "bad-kind": (99, "x", {"retention.ms": "1"}),
        "unknown-kind": (0, "x", {"retention.ms": "1"}),
    }


def _alter_refused() -> Iterator[Step]:
    for version in versions(K.ALTER_CONFIGS):
        for scenario, resource in _refused_values().items():
            yield step(K.ALTER_CONFIGS, version, scenario, _replace(resource))
        validated = _replace((TOPIC, "alpha", {"retention.ms": "1"}), validate_only=True)
        yield step(K.ALTER_CONFIGS, version, "validated", validated)
        bad = ("alpha", {"retention.ms": "soon"})
        both = _replace((TOPIC, *bad), (TOPIC, "beta", {"retention.ms": "1"}), validate_only=True)
        yield step(K.ALTER_CONFIGS, version, "one-of-two-wrong", both)
        yield step(K.ALTER_CONFIGS, version, "nothing", _replace())
        yield step(K.ALTER_CONFIGS, version, "other-logger", _replace((LOGGER, "7", {"a": "INFO"})))


def _alter(
    *resources: tuple[int, str, list[tuple[str, int, str | None]]], validate_only: bool = False
) -> m.Message:
    return m.IncrementalAlterConfigsRequest(
        resources=[
            m.IncrementalAlterConfigsRequestAlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    m.IncrementalAlterConfigsRequestAlterableConfig(name=k, config_operation=op, value=v)
                    for k, op, v in changes
                ],
            )
            for kind, name, changes in resources
        ],
        validate_only=validate_only,
    )


def _incrementally_refused() -> Iterator[Step]:
    for version in versions(K.INCREMENTAL_ALTER_CONFIGS):
        key = K.INCREMENTAL_ALTER_CONFIGS
        for scenario, (kind, name, values) in _refused_values().items():
            request = _alter((kind, name, [(k, SET, v) for k, v in values.items()]))
            yield step(key, version, scenario, request)
        asks = {
            "validated": _alter((TOPIC, "alpha", [("retention.ms", SET, "1")]), validate_only=True),
            "append-to-number": _alter((TOPIC, "alpha", [("retention.ms", APPEND, "1")])),
            "subtract-from-number": _alter((TOPIC, "alpha", [("retention.ms", SUBTRACT, "1")])),
            "append-bad-item": _alter((TOPIC, "alpha", [("cleanup.policy", APPEND, "burn")])),
            "bad-operation": _alter((TOPIC, "alpha", [("retention.ms", 9, "1")])),
            "delete-unknown": _alter(
                (TOPIC, "alpha", [("no.such.config", DELETE, None)]), validate_only=True
            ),
            "delete-unset": _alter((TOPIC, "beta", [("retention.ms", DELETE, None)])),
            "same-key-twice": _alter(
                (TOPIC, "alpha", [("retention.ms", SET, "1"), ("retention.ms", DELETE, None)])
            ),
            "same-resource-twice": _alter(
                (TOPIC, "beta", [("retention.ms", SET, "1")]), (TOPIC, "beta", [("retention.ms", SET, "2")])
            ),
            "one-of-two-wrong": _alter(
                (TOPIC, "alpha", [("retention.ms", SET, "x")]),
                (TOPIC, "beta", [("retention.ms", SET, "1")]),
                validate_only=True,
            ),
            "remove-cluster-min-isr": _alter((BROKER, "", [("min.insync.replicas", DELETE, None)])),
            "logger-level": _alter((LOGGER, "1", [("ROOT", SET, "LOUD")])),
            "logger-append": _alter((LOGGER, "1", [("ROOT", APPEND, "INFO")])),
            "logger-root-delete": _alter((LOGGER, "1", [("ROOT", DELETE, None)])),
            "logger-unknown": _alter((LOGGER, "1", [("no.such.logger.at.all", SET, "INFO")])),
            "other-logger": _alter((LOGGER, "7", [("ROOT", SET, "INFO")])),
            "no-logger": _alter((LOGGER, "", [("ROOT", SET, "INFO")])),
            "empty": _alter((TOPIC, "alpha", [])),
            "nothing": _alter(),
        }
        for scenario, request in asks.items():
            yield step(key, version, scenario, request)


def _changes() -> Iterator[Step]:
    key = K.INCREMENTAL_ALTER_CONFIGS
    topic = _alter(
        (
            TOPIC,
            "alpha",
            [
                ("cleanup.policy", SUBTRACT, "compact"),
                ("retention.ms", DELETE, None),
                ("max.message.bytes", SET, "2000000"),
                ("leader.replication.throttled.replicas", APPEND, "0:1,1:1"),
            ],
        ),
        (TOPIC, "beta", [("cleanup.policy", APPEND, "compact"), ("segment.bytes", SET, " 2097152 ")]),
    )
    yield step(key, 1, "topic-changed", topic, changes=True)
    cluster = [("log.retention.ms", SET, "7200000"), ("message.max.bytes", SET, "1500000")]
    yield step(key, 1, "cluster-changed", _alter((BROKER, "", cluster)), changes=True)
    broker = [("log.retention.ms", SET, "3600000"), ("max.connections.per.ip", SET, "1000")]
    yield step(key, 1, "broker-changed", _alter((BROKER, "1", broker)), changes=True)
    unknown = [("some.plugin.key", SET, "value")]
    yield step(key, 1, "plugin-key", _alter((BROKER, "", unknown)), changes=True)
    group = [("consumer.session.timeout.ms", SET, "50000")]
    yield step(key, 1, "group-changed", _alter((GROUP, "g", group)), changes=True)
    metrics: list[tuple[str, int, str | None]] = [
        ("interval.ms", SET, "60000"),
        ("metrics", SET, "org.apache.kafka.producer."),
        ("match", SET, "client_id=a.*"),
    ]
    yield step(key, 1, "metrics-changed", _alter((METRICS, "m", metrics)), changes=True)
    replaced = _replace((TOPIC, "with.dots", {"retention.bytes": "1000000", "flush.messages": "9"}))
    yield step(K.ALTER_CONFIGS, 2, "replaced", replaced, changes=True)
    replaced_again = _replace((TOPIC, "with.dots", {"retention.bytes": "2000000"}))
    yield step(K.ALTER_CONFIGS, 2, "replaced-again", replaced_again, changes=True)
    seen = _ask((TOPIC, "with.dots", ["retention.bytes", "flush.messages"]))
    yield step(K.DESCRIBE_CONFIGS, 4, "replaced", seen)


def _list_resources() -> Iterator[Step]:
    request = m.ListConfigResourcesRequest
    yield step(K.LIST_CONFIG_RESOURCES, 0, "metrics", request())
    for scenario, kinds in {
        "all": [],
        "topics": [TOPIC],
        "brokers": [BROKER],
        "loggers": [LOGGER],
        "groups": [GROUP],
        "metrics": [METRICS],
        "some": [METRICS, GROUP],
        "bad": [99],
        "some-bad": [TOPIC, 99],
    }.items():
        yield step(K.LIST_CONFIG_RESOURCES, 1, scenario, request(resource_types=kinds))


def _undo() -> Iterator[Step]:
    key = K.INCREMENTAL_ALTER_CONFIGS
    gone: list[tuple[str, int, str | None]] = [("log.retention.ms", DELETE, None)]
    cluster = [*gone, ("message.max.bytes", DELETE, None), ("some.plugin.key", DELETE, None)]
    yield step(key, 1, "cluster-undone", _alter((BROKER, "", cluster)), changes=True)
    broker = [*gone, ("max.connections.per.ip", DELETE, None)]
    yield step(key, 1, "broker-undone", _alter((BROKER, "1", broker)), changes=True)
    group = [("consumer.session.timeout.ms", DELETE, None)]
    yield step(key, 1, "group-undone", _alter((GROUP, "g", group)), changes=True)
    metrics = [("interval.ms", DELETE, None), ("metrics", DELETE, None), ("match", DELETE, None)]
    yield step(key, 1, "metrics-undone", _alter((METRICS, "m", metrics)), changes=True)
