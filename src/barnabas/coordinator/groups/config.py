"""The settings that group coordinators read, by Kafka's names and defaults."""

from __future__ import annotations

from barnabas.base.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConfig:
    """The broker's settings, with a group's own (resource type GROUP) laid over them.

    Times in milliseconds but for offsets_retention_minutes.
    """

    group_initial_rebalance_delay_ms: int = 3000
    group_min_session_timeout_ms: int = 6000
    group_max_session_timeout_ms: int = 1800000
    group_max_size: int = 2147483647
    consumer_session_timeout_ms: int = 45000
    consumer_heartbeat_interval_ms: int = 5000
    group_consumer_max_size: int = 2147483647
    group_consumer_assignors: tuple[str, ...] = ("uniform", "range")
    group_consumer_assignment_interval_ms: int = 1000
    group_consumer_migration_policy: str = "bidirectional"
    group_consumer_regex_refresh_interval_ms: int = 600000
    offset_metadata_max_bytes: int = 4096
    offsets_retention_minutes: int = 10080
    offsets_retention_check_interval_ms: int = 600000
