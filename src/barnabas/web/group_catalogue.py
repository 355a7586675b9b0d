"""The metrics of groups by name, as rows of `catalogue`: name, kind, help, Kafka's bean.

Lag per group and partition is no metric of Kafka's broker. It has the names that kafka_exporter
(github.com/danielqsj/kafka_exporter) gives it, which the usual dashboards of consumer lag ask for.
"""

from barnabas.base.hints import Final

_COORDINATOR: Final = "kafka.server:type=group-coordinator-metrics,"
_MANAGER: Final = "kafka.coordinator.group:type=GroupMetadataManager,name="

COORDINATOR_PREFIX: Final = "kafka_server_group_coordinator_metrics_"
MANAGER_PREFIX: Final = "kafka_coordinator_group_groupmetadatamanager_"

GROUP_ROWS: Final = (
    (
        f"{COORDINATOR_PREFIX}group_count",
        "gauge",
        "Groups by protocol: classic or consumer.",
        f"{_COORDINATOR}group-count",
    ),
    (
        f"{COORDINATOR_PREFIX}classic_group_count",
        "gauge",
        "Classic groups by state.",
        f"{_COORDINATOR}classic-group-count",
    ),
    (
        f"{COORDINATOR_PREFIX}consumer_group_count",
        "gauge",
        "Consumer groups (KIP-848) by state.",
        f"{_COORDINATOR}consumer-group-count",
    ),
    (f"{COORDINATOR_PREFIX}offset_count", "gauge", "Committed offsets kept.", f"{_COORDINATOR}offset-count"),
    (
        f"{COORDINATOR_PREFIX}offset_commit_count",
        "unknown",
        "Offsets committed since the start or a load.",
        f"{_COORDINATOR}offset-commit-count",
    ),
    (
        f"{COORDINATOR_PREFIX}offset_expiration_count",
        "unknown",
        "Offsets that expired.",
        f"{_COORDINATOR}offset-expiration-count",
    ),
    (
        f"{COORDINATOR_PREFIX}offset_deletion_count",
        "unknown",
        "Offsets that an administrator deleted.",
        f"{_COORDINATOR}offset-deletion-count",
    ),
    (
        f"{COORDINATOR_PREFIX}group_completed_rebalance_count",
        "unknown",
        "Rebalances of classic groups that were completed.",
        f"{_COORDINATOR}group-completed-rebalance-count",
    ),
    (
        f"{COORDINATOR_PREFIX}consumer_group_rebalance_count",
        "unknown",
        "New epochs of consumer groups.",
        f"{_COORDINATOR}consumer-group-rebalance-count",
    ),
    (
        f"{COORDINATOR_PREFIX}num_partitions",
        "gauge",
        "Partitions of __consumer_offsets by state: loading, active or failed.",
        f"{_COORDINATOR}num-partitions",
    ),
    (f"{MANAGER_PREFIX}numoffsets", "gauge", "Committed offsets kept.", f"{_MANAGER}NumOffsets"),
    (f"{MANAGER_PREFIX}numgroups", "gauge", "Classic groups.", f"{_MANAGER}NumGroups"),
    (
        f"{MANAGER_PREFIX}numgroupspreparingrebalance",
        "gauge",
        "Classic groups that wait for members to join.",
        f"{_MANAGER}NumGroupsPreparingRebalance",
    ),
    (
        f"{MANAGER_PREFIX}numgroupscompletingrebalance",
        "gauge",
        "Classic groups that wait for their leader's assignment.",
        f"{_MANAGER}NumGroupsCompletingRebalance",
    ),
    (
        f"{MANAGER_PREFIX}numgroupsstable",
        "gauge",
        "Classic groups at work.",
        f"{_MANAGER}NumGroupsStable",
    ),
    (
        f"{MANAGER_PREFIX}numgroupsempty",
        "gauge",
        "Classic groups without members.",
        f"{_MANAGER}NumGroupsEmpty",
    ),
    (f"{MANAGER_PREFIX}numgroupsdead", "gauge", "Classic groups going away.", f"{_MANAGER}NumGroupsDead"),
    ("kafka_consumergroup_members", "gauge", "Members of a group (kafka_exporter's name).", ""),
    (
        "kafka_consumergroup_current_offset",
        "gauge",
        "What a group committed of a partition (kafka_exporter's name).",
        "",
    ),
    (
        "kafka_consumergroup_lag",
        "gauge",
        "How far a partition's high watermark is ahead of that (kafka_exporter's name).",
        "",
    ),
    ("kafka_consumergroup_lag_sum", "gauge", "The same, of all of a topic (kafka_exporter's name).", ""),
    ("barnabas_group_loads", "counter", "Partitions of __consumer_offsets that were loaded.", ""),
    ("barnabas_group_load_seconds", "counter", "Time from the beginning of loads to their end.", ""),
    ("barnabas_group_appends", "counter", "Batches of groups' records that were appended.", ""),
    ("barnabas_group_append_failures", "counter", "Changes of groups that could not be appended.", ""),
    ("barnabas_group_timers", "gauge", "Sessions and other deadlines of groups that are set.", ""),
)
