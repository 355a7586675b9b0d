"""The config tables, and how a value comes about: overrides, broker-level fallbacks, defaults.

Kafka's order: topic override; then, for the broker config it falls back to, the value set for this broker,
for all brokers, in the properties file; then the default. The same walk gives DescribeConfigs its source
and synonyms and the log its effective value, so the two cannot disagree.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.base.dataclass import dataclass
from barnabas.base.enums import IntEnum
from barnabas.base.hints import Final
from barnabas.metadata.config_table_broker import BROKER_ROWS
from barnabas.metadata.config_table_topic import (
    CLIENT_METRICS_ROWS,
    GROUP_ROWS,
    TOPIC_ROWS,
    TOPIC_SYNONYMS,
)
from barnabas.metadata.config_types import (
    ConfigDefinition,
    ConfigError,
    ConfigTable,
    ConfigValue,
    DefinitionRow,
    UnknownConfigError,
    value_text,
)

OWN_ROWS: Final[tuple[DefinitionRow, ...]] = (
    ("cold.read.ahead.bytes", "INT", "4194304", "LOW", "0..1073741824", "own"),
    ("cold.read.threads", "INT", "4", "LOW", "0..64", "own"),
    ("connections.parked.fetch", "STRING", "complete", "LOW", "in complete,mute", "own"),
    ("fetch.mode", "STRING", "auto", "LOW", "in auto,heap,zero_copy", "own"),
    ("fetch.verify.crc", "BOOLEAN", "false", "LOW", "", "own"),
    ("fetch.tls.read.bytes", "INT", "65536", "LOW", "1024..131072", "own"),
    ("log.flush.threads", "INT", "8", "LOW", "1..64", "own"),
    ("log.retention.future.timestamps", "STRING", "keep", "LOW", "in keep,mtime", "own"),
    ("ssl.handshake.timeout.ms", "INT", "10000", "LOW", "1..", "own"),
    ("metrics.listener", "STRING", None, "LOW", "", "own"),
    ("request.log.file", "STRING", None, "LOW", "", "own"),
    ("request.log.file.max.bytes", "LONG", "268435456", "LOW", "1048576..", "own"),
)
"""Configs of this broker that Apache Kafka does not have."""

LISTENER_PREFIX: Final = "listener.name."

BROKER: Final = ConfigTable((*BROKER_ROWS, *OWN_ROWS))
TOPIC: Final = ConfigTable(TOPIC_ROWS)
GROUP: Final = ConfigTable(GROUP_ROWS)
CLIENT_METRICS: Final = ConfigTable(CLIENT_METRICS_ROWS)

BROKER_SYNONYMS: Final[Mapping[str, tuple[tuple[str, int], ...]]] = {
    synonyms[0][0]: synonyms for synonyms in TOPIC_SYNONYMS.values() if len(synonyms) > 1
}
"""Broker config -> itself and coarser ones it yields to when unset, with factors to its unit."""


class ConfigSource(IntEnum):
    """Where a value comes from; the numbers of the protocol."""

    UNKNOWN = 0
    TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


@dataclass(frozen=True, slots=True)
class ConfigSynonym:
    """One place a value could come from; the first in a list is the one that holds."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigEntry:
    """An effective config as CreateTopics and DescribeConfigs answer it. Sensitive values are None."""

    name: str
    value: str | None
    source: ConfigSource
    read_only: bool = False
    is_sensitive: bool = False
    type: str = "STRING"
    synonyms: tuple[ConfigSynonym, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerConfigs:
    """What is set for a broker, as texts, strongest first: for it, for all brokers, in its properties."""

    broker: Mapping[str, str]
    cluster: Mapping[str, str]
    static: Mapping[str, str]

    def layers(self) -> tuple[tuple[ConfigSource, Mapping[str, str]], ...]:
        """Return (source, values), strongest first."""
        return (
            (ConfigSource.DYNAMIC_BROKER_CONFIG, self.broker),
            (ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, self.cluster),
            (ConfigSource.STATIC_BROKER_CONFIG, self.static),
        )

    def synonyms(self, name: str) -> list[ConfigSynonym]:
        """Return every place the broker config has a value, strongest first, the default last."""
        found: list[ConfigSynonym] = []
        synonyms = BROKER_SYNONYMS.get(name, ((name, 1),))
        of_listener = broker_definition(name) if name.startswith(LISTENER_PREFIX) else None
        if of_listener is not None:
            synonyms = ((name, 1), (of_listener.name, 1))
        for synonym, _ in synonyms:
            definition = broker_definition(synonym)
            for source, values in self.layers():
                if synonym in values:
                    found.append(ConfigSynonym(synonym, _shown(definition, values[synonym]), source))
            if synonym in BROKER and definition is not None and definition.default is not None:
                text = value_text(definition.default, definition.type)
                found.append(ConfigSynonym(synonym, text, ConfigSource.DEFAULT_CONFIG))
        while found and found[0].name != name and found[0].source is ConfigSource.DEFAULT_CONFIG:
            found.pop(0)
        return found

    def value(self, name: str) -> tuple[ConfigValue, ConfigSource]:
        """Return the effective value of a broker config and its source.

        Raises:
            UnknownConfigError, ConfigError: no such config; a value of the properties is malformed.
        """
        definition = BROKER.definition(name)
        for synonym, factor in BROKER_SYNONYMS.get(name, ((name, 1),)):
            for source, values in self.layers():
                if synonym in values:
                    parsed = BROKER.parse(synonym, values[synonym])
                    return _scaled(parsed, factor), source
        for synonym, factor in BROKER_SYNONYMS.get(name, ()):
            default = BROKER.definition(synonym).default
            if default is not None:
                return _scaled(default, factor), ConfigSource.DEFAULT_CONFIG
        return definition.default, ConfigSource.DEFAULT_CONFIG


def broker_definition(name: str) -> ConfigDefinition | None:
    """Return the definition of a broker config, also of a listener (`listener.name.x.`); None if unknown.

    Such a prefix may name a SASL mechanism, too: `listener.name.x.plain.sasl.jaas.config`.
    """
    if name in BROKER:
        return BROKER.definition(name)
    if name.startswith(LISTENER_PREFIX):
        for base in (name.split(".", 3)[3:], name.split(".", 4)[4:]):
            if base and base[0] in BROKER:
                return BROKER.definition(base[0])
    return None


def _shown(definition: ConfigDefinition | None, text: str) -> str | None:
    """Return a text as it is described: what is unknown or secret is never shown."""
    if definition is None or definition.sensitive:
        return None
    return text


def _scaled(value: ConfigValue, factor: int) -> ConfigValue:
    if factor == 1 or not isinstance(value, int):
        return value
    # log.retention.hours=-1 means unbounded, whatever the unit.
    return value if value < 0 else value * factor


def topic_value(
    name: str, overrides: Mapping[str, str], brokers: BrokerConfigs
) -> tuple[ConfigValue, ConfigSource]:
    """Return the effective value of a topic config and its source.

    Raises:
        UnknownConfigError, ConfigError: no such config; a stored value is malformed.
    """
    definition = TOPIC.definition(name)
    if name in overrides:
        return definition.parse(overrides[name]), ConfigSource.TOPIC_CONFIG
    synonyms = TOPIC_SYNONYMS.get(name)
    if synonyms is None:
        return definition.default, ConfigSource.DEFAULT_CONFIG
    return brokers.value(synonyms[0][0])


def describe_topic(overrides: Mapping[str, str], brokers: BrokerConfigs) -> list[ConfigEntry]:
    """Return every config of a topic: all that are public, and internal ones that are set."""
    entries = []
    for name in TOPIC.names():
        definition = TOPIC.definition(name)
        if definition.internal and name not in overrides:
            continue
        value, source = topic_value(name, overrides, brokers)
        synonyms: list[ConfigSynonym] = []
        if name in overrides:
            synonyms.append(
                ConfigSynonym(name, value_text(value, definition.type), ConfigSource.TOPIC_CONFIG)
            )
        if name in TOPIC_SYNONYMS:
            synonyms += brokers.synonyms(TOPIC_SYNONYMS[name][0][0])
        entries.append(
            ConfigEntry(
                name=name,
                value=value_text(value, definition.type),
                source=source,
                type=definition.type,
                synonyms=tuple(synonyms),
            )
        )
    return entries


def describe_broker(brokers: BrokerConfigs, *, own: bool = False) -> list[ConfigEntry]:
    """Return every config of a broker, those of unknown names that are set included.

    Args:
        own: with the configs Apache Kafka does not have.
    """
    set_names = [name for _, values in brokers.layers() for name in values]
    names = list(dict.fromkeys((*set_names, *BROKER.names())))
    entries = []
    for name in names:
        definition = broker_definition(name)
        if definition is None:
            synonyms = tuple(brokers.synonyms(name))
            entries.append(
                ConfigEntry(
                    name=name,
                    value=None,
                    source=synonyms[0].source,
                    read_only=True,
                    is_sensitive=True,
                    type="UNKNOWN",
                    synonyms=synonyms,
                )
            )
            continue
        if (definition.internal and name not in set_names) or ("own" in definition.flags and not own):
            continue
        synonyms = tuple(brokers.synonyms(name))
        entries.append(
            ConfigEntry(
                name=name,
                value=synonyms[0].value if synonyms else None,
                source=synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
                read_only=name not in BROKER or not definition.dynamic,
                is_sensitive=definition.sensitive,
                type=definition.type,
                synonyms=synonyms,
            )
        )
    return entries


def describe_cluster_default(cluster: Mapping[str, str]) -> list[ConfigEntry]:
    """Return what is set for all brokers."""
    entries = []
    source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    for name, text in cluster.items():
        definition = broker_definition(name)
        shown = _shown(definition, text)
        entries.append(
            ConfigEntry(
                name=name,
                value=shown,
                source=source,
                read_only=definition is None or name not in BROKER or not definition.dynamic,
                is_sensitive=shown is None,
                type=definition.type if definition else "UNKNOWN",
                synonyms=(ConfigSynonym(name, shown, source),),
            )
        )
    return entries


def describe_group(overrides: Mapping[str, str], brokers: BrokerConfigs) -> list[ConfigEntry]:
    """Return every config of a group; they fall back to `group.` broker configs."""
    entries = []
    for name in GROUP.names():
        definition = GROUP.definition(name)
        if definition.internal and name not in overrides:
            continue
        fallback, fallback_text = group_fallback(name, brokers)
        synonyms = [ConfigSynonym(fallback, fallback_text, ConfigSource.DEFAULT_CONFIG)]
        value, source = fallback_text, ConfigSource.DEFAULT_CONFIG
        if name in overrides:
            value, source = overrides[name], ConfigSource.GROUP_CONFIG
            synonyms.insert(0, ConfigSynonym(name, value, source))
        entries.append(
            ConfigEntry(name=name, value=value, source=source, type=definition.type, synonyms=tuple(synonyms))
        )
    return entries


def group_fallback(name: str, brokers: BrokerConfigs) -> tuple[str, str | None]:
    """Return the broker config a group config falls back to, and its effective text."""
    broker_name = "group.streams.assignors" if name == "streams.assignor.name" else f"group.{name}"
    if broker_name not in BROKER:
        definition = GROUP.definition(name)
        return name, value_text(definition.default, definition.type)
    value, _ = brokers.value(broker_name)
    if name == "streams.assignor.name" and isinstance(value, tuple):
        value = value[0] if value else None  # the first assignor is the default one
    return broker_name, value_text(value, BROKER.definition(broker_name).type)


def describe_client_metrics(overrides: Mapping[str, str]) -> list[ConfigEntry]:
    """Return every config of a client metrics subscription."""
    entries = []
    for name in CLIENT_METRICS.names():
        definition = CLIENT_METRICS.definition(name)
        text = overrides.get(name)
        source = ConfigSource.DEFAULT_CONFIG if text is None else ConfigSource.CLIENT_METRICS_CONFIG
        shown = value_text(definition.default, definition.type) if text is None else text
        synonyms = () if text is None else (ConfigSynonym(name, text, source),)
        entries.append(
            ConfigEntry(name=name, value=shown, source=source, type=definition.type, synonyms=synonyms)
        )
    return entries


__all__ = [
    "BROKER",
    "BROKER_SYNONYMS",
    "CLIENT_METRICS",
    "GROUP",
    "TOPIC",
    "BrokerConfigs",
    "ConfigDefinition",
    "ConfigEntry",
    "ConfigError",
    "ConfigSource",
    "ConfigSynonym",
    "ConfigTable",
    "ConfigValue",
    "UnknownConfigError",
    "describe_broker",
    "describe_client_metrics",
    "describe_cluster_default",
    "describe_group",
    "describe_topic",
    "group_fallback",
    "topic_value",
]
