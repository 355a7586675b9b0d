"""A topic's effective configs as the LogConfig of its logs.

Most topics of a broker set nothing, or the same few things, so LogConfigs makes one value for all that do: a
start with ten thousand logs would otherwise spend most of its time on parsing the same texts. What it
remembers is found by content, so nobody has to tell it of a change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from barnabas.base.dataclass import fields
from barnabas.base.hints import Any, Final
from barnabas.metadata.config_definitions import BrokerConfigs, topic_value
from barnabas.storage.log_config import LogConfig, TimestampType

LOG_CONFIGS_MAX: Final = 1024
"""Different LogConfigs remembered; they are a few hundred bytes each, and easily made again."""


def topic_log_config(overrides: Mapping[str, str], brokers: BrokerConfigs) -> LogConfig:
    """Return the LogConfig of a topic: its overrides, else the broker's, else the defaults.

    Raises:
        ConfigError: a value is malformed, which validation before storing keeps from happening.
    """
    values: dict[str, Any] = {}
    for item in fields(LogConfig):
        value: Any = topic_value(item.name.replace("_", "."), overrides, brokers)[0]
        if item.name == "cleanup_policy":
            value = frozenset(value)
        elif item.name == "message_timestamp_type":
            value = TimestampType(value)
        values[item.name] = value
    # A hidden config for tests of Apache Kafka, which may go below the smallest segment otherwise allowed.
    if "internal.segment.bytes" in overrides:
        values["segment_bytes"], _ = topic_value("internal.segment.bytes", overrides, brokers)
    return LogConfig(**values)


class LogConfigs:
    """Makes LogConfigs, each once for all topics that set the same.

    Args:
        brokers: what is set for this broker now.
    """

    __slots__ = ("_brokers", "_known", "_made_for")

    def __init__(self, brokers: Callable[[], BrokerConfigs]) -> None:
        self._brokers = brokers
        self._known: dict[frozenset[tuple[str, str]], LogConfig] = {}
        self._made_for: tuple[dict[str, str], dict[str, str]] = ({}, {})

    def of(self, overrides: Mapping[str, str]) -> LogConfig:
        """Return the LogConfig of a topic with these overrides; raises as topic_log_config()."""
        brokers = self._brokers()
        if self._made_for != (brokers.broker, brokers.cluster):
            # Copies: the image changes its own in place.
            self._made_for = (dict(brokers.broker), dict(brokers.cluster))
            self._known.clear()
        key = frozenset(overrides.items())
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= LOG_CONFIGS_MAX:
                self._known.clear()
            known = self._known[key] = topic_log_config(overrides, brokers)
        return known
