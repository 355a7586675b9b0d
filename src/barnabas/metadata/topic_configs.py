"""A topic's effective configs as the LogConfig of its logs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barnabas.base.dataclass import fields
from barnabas.metadata.config_definitions import BrokerConfigs, topic_value
from barnabas.storage.log_config import LogConfig, TimestampType


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
