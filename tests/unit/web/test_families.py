"""Metrics from statistics: names, labels, values, and the page that tells of them."""

import re
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from barnabas.base.durations import bucket_of
from barnabas.handlers.group_statistics import GROUP_COLUMNS, GROUP_OFFSET_COLUMNS
from barnabas.handlers.local_statistics import PARTITION_COLUMNS
from barnabas.web.catalogue import METRICS
from barnabas.web.families import families
from barnabas.web.recent import flushes_as_requests, times_of
from barnabas.web.scrape import _Given

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"

PURGATORY = {
    "num_delayed_operations": 3,
    "purgatory_size": 5,
    "watched_keys": 2,
    "completed": 7,
    "expired": 11,
    "cancelled": 13,
    "keys_to_check": 0,
}

LISTENER = {
    "name": "INSIDE",
    "accepted": 9,
    "connections": 4,
    "requests_received": 100,
    "reads": 98,
    "bytes_received": 5_000,
    "bytes_sent": 70_000,
    "sends": 90,
    "send_files": 10,
    "partial_sends": 1,
    "zero_copy_bytes": 60_000,
    "staged_bytes": 8_000,
    "handshakes_failed": 3,
}

COLD_READS = {
    "hits": 1,
    "misses": 2,
    "waits": 3,
    "waiting": 4,
    "failures": 5,
    "read_bytes": 6,
    "ahead_bytes": 7,
    "wait_us": 2_500_000,
}

CLEANER = {
    "cleaned": 4,
    "recopy_percent": 12,
    "max_buffer_utilization_percent": 34,
    "max_clean_time_secs": 5,
    "max_compaction_delay_secs": 6,
    "max_dirty_percent": 78,
    "time_since_last_run_ms": 9_000,
    "dead_thread_count": 1,
    "uncleanable": [["/a", 2, 3_000], ["/b", 0, 0]],
    "running": [{"log": "a-b-3", "elapsed_ms": 10, "bytes_done": 25, "bytes_expected": 100}],
}

FETCH_VERIFICATION = {"checked_bytes": 100, "on_helper_bytes": 60, "damaged": 2, "refused": 3}

GROUP_COMMIT = {"appends": 30, "rounds": 2, "syncs": 3, "files": 4, "syncing": 1, "due": 2}

TRANSACTIONS = {
    "by_state": {"Empty": 2, "Ongoing": 3},
    "oldest_open_ms": 2_500,
    "shards": {"Initial": 1, "Loading": 2, "Active": 40, "Failed": 4, "Closed": 0},
    "loads": 7,
    "load_us": 1_500_000,
    "appends": 20,
    "append_failures": 9,
}

GROUPS = {
    "offset_count": 3,
    "offset_commits": 8,
    "offset_expirations": 2,
    "offset_deletions": 1,
    "completed_rebalances": 5,
    "consumer_rebalances": 6,
    "shards": {"Initial": 1, "Loading": 2, "Active": 40, "Failed": 4, "Closed": 0},
    "loads": 7,
    "load_us": 1_500_000,
    "appends": 20,
    "records": 30,
    "append_failures": 9,
    "timers": 11,
    "columns": list(GROUP_COLUMNS),
    "rows": [
        ['odd "group"', "classic", "Stable", 2],
        ["b", "classic", "PreparingRebalance", 1],
        ["c", "consumer", "Reconciling", 3],
        ["d", "consumer", "Empty", 0],
    ],
    "offset_columns": list(GROUP_OFFSET_COLUMNS),
    "offset_rows": [
        ['odd "group"', "t", 0, 10, 25],
        ['odd "group"', "t", 1, 30, 28],
        ['odd "group"', "gone", 0, 5, None],
    ],
}


def row(topic, partition, **figures):
    values = dict.fromkeys(PARTITION_COLUMNS, 0)
    values |= {"is_leader": True, "is_offline": False, "replicas": 3, "in_sync_replicas": 3}
    values |= {"min_in_sync_replicas": 2, "topic": topic, "partition": partition, **figures}
    return [values[name] for name in PARTITION_COLUMNS]


def phase(*durations_us):
    return {"sum_us": sum(durations_us), "buckets": [[bucket_of(us), 1] for us in durations_us]}


@pytest.fixture
def statistics():
    return {
        "version": "1.2",
        "cluster_id": "c",
        "node_id": 7,
        "requests": [
            {
                "api_key": 1,
                "api_version": 16,
                "requests": 2,
                "total": phase(100, 500_000),
                "local": phase(90, 400),
                "remote": phase(499_000),
                "send": phase(10, 600),
            },
            {
                "api_key": 1,
                "api_version": 17,
                "requests": 1,
                "total": phase(300),
                "local": phase(200),
                "remote": phase(),
                "send": phase(100),
            },
        ],
        "request_log": {"lines": 3, "dropped": 1},
        "reactor": {
            "state": "RUNNING",
            "turns": 10,
            "events": 20,
            "refused_per_ip": 1,
            "closed_idle": 2,
            "accept_failures": 3,
            "listeners": [LISTENER],
        },
        "timers": {"waiting": 6},
        "cold_reads": dict(COLD_READS),
        "waiting": {
            "fetches_by_reason": {"TIMEOUT": 4},
            "fetch_purgatory": PURGATORY,
            "produce_purgatory": PURGATORY | {"num_delayed_operations": 1},
            "delete_records_purgatory": PURGATORY,
        },
        "fetch_sessions": {
            "session_count": 2,
            "partition_count": 20,
            "evictions": 1,
            "created": 5,
            "refused": 6,
        },
        "retired_traffic": {
            "messages_in": 1_000,
            "bytes_in": 1,
            "bytes_out": 1,
            "fetches": 1,
            "produces": 1,
            "failed_produces": 1,
        },
        "logs": {"logs": 2},
        "log_cleaner": dict(CLEANER),
        "fetch_verification": dict(FETCH_VERIFICATION),
        "flushes": {"times": phase(1_000, 3_000, 3_000), "group_commit": dict(GROUP_COMMIT)},
        "log_directories": [["/a", True], ["/b", False]],
        "metadata_log": {"end_offset": 50, "epoch": 3},
        "brokers": {"active": 1, "fenced": 0},
        "cluster": {"topics": 1, "partitions": 2, "offline_partitions": 0, "imbalanced_partitions": 1},
        "groups": dict(GROUPS),
        "transactions": dict(TRANSACTIONS),
        "partition_columns": list(PARTITION_COLUMNS),
        "partitions": [
            row('odd "topic"\\', 0, messages_in=10, size_bytes=77, log_end_offset=10),
            row('odd "topic"\\', 1, messages_in=5, in_sync_replicas=1, has_late_transaction=True),
            row("b", 0, in_sync_replicas=2, is_offline=True, has_late_transaction=True),
        ],
    }


def samples(statistics):
    times = times_of(statistics["requests"])
    registry = CollectorRegistry()
    flushes = times_of(flushes_as_requests(statistics["flushes"]["times"]))
    registry.register(_Given(families(statistics, times, times, (flushes, flushes))))
    text = generate_latest(registry).decode()
    return {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_topics_are_summed_and_the_broker_keeps_what_is_gone(statistics):
    told = samples(statistics)
    name = "kafka_server_brokertopicmetrics_messagesin_total"
    assert told[name, 'odd "topic"\\'] == 15
    assert told[name,] == 1_015


def test_replication_gauges_count_partitions(statistics):
    told = samples(statistics)
    prefix = "kafka_server_replicamanager"
    counts = {
        name: told[f"{prefix}_{name}",]
        for name in (
            "partitioncount",
            "leadercount",
            "offlinereplicacount",
            "underreplicatedpartitions",
            "underminisrpartitioncount",
            "atminisrpartitioncount",
            "partitionswithlatetransactionscount",
        )
    }
    assert list(counts.values()) == [3, 3, 1, 2, 1, 1, 2]
    assert told["kafka_cluster_partition_underminisr", "1", 'odd "topic"\\'] == 1


def test_groups_are_counted_by_protocol_and_state(statistics):
    told = samples(statistics)
    prefix = "kafka_server_group_coordinator_metrics"
    assert told[f"{prefix}_group_count", "classic"] == 2
    assert told[f"{prefix}_group_count", "consumer"] == 2
    assert told[f"{prefix}_classic_group_count", "preparing-rebalance"] == 1
    assert told[f"{prefix}_classic_group_count", "stable"] == 1
    assert told[f"{prefix}_consumer_group_count", "reconciling"] == 1
    assert told[f"{prefix}_consumer_group_count", "assigning"] == 0
    assert told[f"{prefix}_offset_commit_count",] == 8
    assert told[f"{prefix}_num_partitions", "loading"] == 3
    assert told["kafka_coordinator_group_groupmetadatamanager_numgroups",] == 2
    assert told["kafka_coordinator_group_groupmetadatamanager_numgroupspreparingrebalance",] == 1
    assert told["kafka_consumergroup_members", "c"] == 3
    assert told["barnabas_group_load_seconds_total",] == 1.5


def test_transactions_are_counted_by_state(statistics):
    told = samples(statistics)
    assert told["barnabas_transactional_ids", "Ongoing"] == 3
    assert told["barnabas_transaction_oldest_open_seconds",] == 2.5
    assert told["barnabas_transaction_partitions", "loading"] == 3
    assert told["barnabas_transaction_load_seconds_total",] == 1.5
    statistics["transactions"] = None
    names = [name for name, *_ in samples(statistics) if "transaction" in name]
    assert all("latetransactions" in name for name in names)


def test_lag_is_from_what_was_committed_to_the_high_watermark(statistics):
    told = samples(statistics)
    group = 'odd "group"'
    # Labels in their order: consumergroup, partition, topic.
    assert told["kafka_consumergroup_lag", group, "0", "t"] == 15
    assert told["kafka_consumergroup_lag", group, "1", "t"] == 0, "ahead of this broker"
    assert told["kafka_consumergroup_lag_sum", group, "t"] == 15
    assert told["kafka_consumergroup_current_offset", group, "0", "gone"] == 5
    assert ("kafka_consumergroup_lag", group, "0", "gone") not in told


def test_a_broker_without_groups_tells_of_none(statistics):
    statistics["groups"] = None
    names = [name for name, *_ in samples(statistics) if "group" in name]
    assert all("group_commit" in name for name in names)


def test_times_are_told_over_all_versions(statistics):
    told = samples(statistics)
    prefix = "kafka_network_requestmetrics"
    assert told[f"{prefix}_requests_total", "Fetch", "17"] == 1
    assert told[f"{prefix}_totaltimems_count", "Fetch"] == 3
    assert told[f"{prefix}_totaltimems_sum", "Fetch"] == pytest.approx(500.4)
    assert told[f"{prefix}_remotetimems_count", "FetchConsumer"] == 3
    assert told[f"{prefix}_remotetimems", "0.50", "Fetch"] == 0, "most did not wait"
    assert told[f"{prefix}_remotetimems", "0.999", "Fetch"] == pytest.approx(499, rel=0.2)
    histogram = "barnabas_request_duration_seconds_bucket"
    # Labels in their order: le, phase, request.
    assert told[histogram, "6.4e-05", "remote", "Fetch"] == 2
    assert told[histogram, "0.000256", "total", "Fetch"] == 1
    assert told[histogram, "0.000512", "total", "Fetch"] == 2
    assert told[histogram, "+Inf", "total", "Fetch"] == 3


def test_f41_f44_bytes_by_mode_and_cold_reads(statistics):
    told = samples(statistics)
    assert told["barnabas_slice_bytes_total", "INSIDE", "zero_copy"] == 60_000
    assert told["barnabas_slice_bytes_total", "INSIDE", "heap"] == 8_000
    assert told["barnabas_cold_read_wait_seconds_total",] == 2.5
    statistics["cold_reads"] = None
    assert ("barnabas_cold_read_hits_total",) not in samples(statistics)


def test_failed_handshakes_are_told(statistics):
    name = "kafka_server_socket_server_metrics_failed_authentication_total"
    assert samples(statistics)[name, "INSIDE", "0"] == 3


def test_f32_purgatory_gauges(statistics):
    told = samples(statistics)
    prefix = "kafka_server_delayedoperationpurgatory"
    assert told[f"{prefix}_numdelayedoperations", "Fetch"] == 3
    assert told[f"{prefix}_numdelayedoperations", "Produce"] == 1
    assert told[f"{prefix}_purgatorysize", "Fetch"] == 5
    assert told["kafka_server_delayedfetchmetrics_expires_total", "consumer"] == 11


def test_a_lost_directory_shows(statistics):
    told = samples(statistics)
    assert told["kafka_log_logmanager_offlinelogdirectorycount",] == 1
    assert told["kafka_log_logmanager_logdirectoryoffline", "/b"] == 1


def test_every_metric_of_the_catalogue_is_told_and_no_other(statistics):
    times = times_of(statistics["requests"])
    flushes = times_of(flushes_as_requests(statistics["flushes"]["times"]))
    told = families(statistics, times, times, (flushes, flushes))
    assert sorted(family.name for family in told) == sorted(METRICS)


def test_the_cleaner_is_told_with_what_it_is_at_and_what_it_gave_up(statistics):
    told = samples(statistics)
    assert told["kafka_log_logcleaner_cleaner_recopy_percent",] == 12
    assert told["kafka_log_logcleaner_deadthreadcount",] == 1
    assert told["kafka_log_logcleanermanager_max_dirty_percent",] == 78
    assert told["kafka_log_logcleanermanager_uncleanable_partitions_count", "/a"] == 2
    assert told["kafka_log_logcleanermanager_uncleanable_bytes", "/a"] == 3_000
    assert told["barnabas_log_cleanings_total",] == 4
    assert told["barnabas_log_cleaning_progress_ratio", "3", "a-b"] == 0.25


def test_a_broker_that_never_cleaned_tells_so(statistics):
    statistics["log_cleaner"] = None
    told = samples(statistics)
    assert told["kafka_log_logcleaner_cleaner_recopy_percent",] == 0
    assert told["kafka_log_logcleanermanager_uncleanable_partitions_count", "/b"] == 0


def test_the_page_tells_of_every_metric():
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) \| (.*?) \|$", PAGE.read_text(), re.MULTILINE)
    expected = [
        (info.shown_name, info.kind, info.help, f"`{info.bean}`" if info.bean else "-")
        for info in METRICS.values()
    ]
    assert rows == expected


def test_syncs_of_logs_are_told_with_what_shared_them(statistics):
    told = samples(statistics)
    name = "kafka_log_logflushstats_logflushrateandtimems"
    assert told[f"{name}_count",] == 3
    assert told[f"{name}_sum",] == 7
    assert 2.6 < told[name, "0.99"] < 3.4
    assert told["barnabas_group_commit_appends_total",] == 30
    assert told["barnabas_group_commit_syncs_total",] == 3
    assert told["barnabas_group_commit_files_total",] == 4
    assert told["barnabas_group_commit_waiting",] == 3
