"""From the broker's statistics to metric families, one function a part of the broker.

Which metrics there are and what they mean is told in `catalogue`; here they get their values.
"""

from collections.abc import Iterator, Mapping

from prometheus_client.metrics_core import Metric

from barnabas.base.durations import bucket_end_us
from barnabas.base.hints import Any, Final
from barnabas.protocol.messages import BY_KEY
from barnabas.web.catalogue import METRICS
from barnabas.web.cleaner_families import cleaner_families
from barnabas.web.group_families import group_families
from barnabas.web.partition_families import partition_families
from barnabas.web.recent import FLUSHES, PHASES, PhaseTimes, Times
from barnabas.web.transaction_families import transaction_families

QUANTILES: Final = (
    ("0.50", 0.5),
    ("0.75", 0.75),
    ("0.95", 0.95),
    ("0.98", 0.98),
    ("0.99", 0.99),
    ("0.999", 0.999),
)

DURATION_BUCKETS_US: Final = tuple(2**exponent for exponent in range(6, 27))
"""Upper bounds of barnabas_request_duration_seconds, 64 us to 67 s: ends of the broker's own buckets."""

_FETCH: Final = 1
_PHASE_NAMES: Final = {
    "total": "totaltimems",
    "local": "localtimems",
    "remote": "remotetimems",
    "send": "responsesendtimems",
}
_NEVER_QUEUED: Final = ("requestqueuetimems", "responsequeuetimems")
_STATES: Final = {"RUNNING": 3, "STOPPING": 6, "STOPPED": 7}


def family(name: str) -> Metric:
    """Return an empty family of the catalogue."""
    info = METRICS[name]
    return Metric(name, info.help, info.kind)


def single(name: str, value: float, labels: Mapping[str, str] | None = None) -> Metric:
    """Return a family of one sample."""
    made = family(name)
    made.add_sample(METRICS[name].shown_name, dict(labels or {}), value)
    return made


def labelled(name: str, values: Mapping[Any, float], *label_names: str) -> Metric:
    """Return a family of one sample per combination of labels, which are the keys: tuples of texts."""
    made = family(name)
    for labels, value in values.items():
        made.add_sample(METRICS[name].shown_name, dict(zip(label_names, labels, strict=True)), value)
    return made


def families(
    statistics: Mapping[str, Any], times: Times, recent: Times, flushes: tuple[Times, Times]
) -> Iterator[Metric]:
    """Yield all metrics of a broker.

    Args:
        statistics: what the broker's command of that name tells.
        times, recent: of its requests, since its start and in the last minutes.
        flushes: the same of its logs' syncs.
    """
    yield single(
        "barnabas_build_info",
        1,
        {
            "version": statistics["version"],
            "cluster_id": statistics["cluster_id"],
            "node_id": str(statistics["node_id"]),
        },
    )
    yield from _requests(statistics["requests"], times, recent)
    yield from partition_families(statistics)
    yield from _waiting(statistics["waiting"])
    yield from _sessions(statistics["fetch_sessions"])
    yield from _sockets(statistics["reactor"])
    yield from _cold_reads(statistics["cold_reads"])
    yield from _fetch_verification(statistics["fetch_verification"])
    yield from _logs(statistics)
    yield from _flushes(statistics["flushes"]["group_commit"], *flushes)
    yield from _controller(statistics)
    yield from group_families(statistics["groups"])
    yield from transaction_families(statistics["transactions"])
    yield from cleaner_families(statistics["log_cleaner"], statistics["log_directories"])
    yield single("barnabas_timers_waiting", statistics["timers"]["waiting"])
    yield single("barnabas_request_log_lines", statistics["request_log"]["lines"])
    yield single("barnabas_request_log_dropped", statistics["request_log"]["dropped"])


def _request_names(api_key: int) -> tuple[str, ...]:
    # Kafka tells fetches of consumers and of followers apart, and both together.
    return ("Fetch", "FetchConsumer") if api_key == _FETCH else (BY_KEY[api_key].name,)


def _requests(requests: list[Mapping[str, Any]], times: Times, recent: Times) -> Iterator[Metric]:
    counts = {
        (name, str(entry["api_version"])): entry["requests"]
        for entry in requests
        for name in _request_names(entry["api_key"])
    }
    yield labelled("kafka_network_requestmetrics_requests", counts, "request", "version")
    for phase in PHASES:
        made = family(f"kafka_network_requestmetrics_{_PHASE_NAMES[phase]}")
        for (api_key, its_phase), found in times.items():
            if its_phase == phase:
                for name in _request_names(api_key):
                    _add_summary(made, {"request": name}, found, recent[api_key, phase])
        yield made
    zero = {key: PhaseTimes(zeros=found.count) for key, found in times.items() if key[1] == "total"}
    for queue in _NEVER_QUEUED:
        made = family(f"kafka_network_requestmetrics_{queue}")
        for (api_key, _), found in zero.items():
            for name in _request_names(api_key):
                _add_summary(made, {"request": name}, found, found)
        yield made
    histogram = family("barnabas_request_duration_seconds")
    for (api_key, phase), found in times.items():
        _add_histogram(histogram, {"request": BY_KEY[api_key].name, "phase": phase}, found)
    yield histogram


def _add_summary(made: Metric, labels: Mapping[str, str], times: PhaseTimes, recent: PhaseTimes) -> None:
    for text, quantile in QUANTILES:
        made.add_sample(made.name, {**labels, "quantile": text}, recent.quantile_us(quantile) / 1000)
    made.add_sample(f"{made.name}_count", dict(labels), times.count)
    made.add_sample(f"{made.name}_sum", dict(labels), times.sum_us / 1000)


def _add_histogram(made: Metric, labels: Mapping[str, str], times: PhaseTimes) -> None:
    count = times.zeros
    left = sorted(times.buckets.items(), reverse=True)
    for limit_us in DURATION_BUCKETS_US:
        while left and bucket_end_us(left[-1][0]) <= limit_us:
            count += left.pop()[1]
        made.add_sample(f"{made.name}_bucket", {**labels, "le": repr(limit_us / 1e6)}, count)
    made.add_sample(f"{made.name}_bucket", {**labels, "le": "+Inf"}, times.count)
    made.add_sample(f"{made.name}_count", dict(labels), times.count)
    made.add_sample(f"{made.name}_sum", dict(labels), times.sum_us / 1e6)


def _waiting(waiting: Mapping[str, Any]) -> Iterator[Metric]:
    purgatories = {
        ("Fetch",): waiting["fetch_purgatory"],
        ("Produce",): waiting["produce_purgatory"],
        ("DeleteRecords",): waiting["delete_records_purgatory"],
    }
    for name, figure in (
        ("kafka_server_delayedoperationpurgatory_numdelayedoperations", "num_delayed_operations"),
        ("kafka_server_delayedoperationpurgatory_purgatorysize", "purgatory_size"),
        ("barnabas_delayed_operations_completed", "completed"),
        ("barnabas_delayed_operations_expired", "expired"),
        ("barnabas_delayed_operations_cancelled", "cancelled"),
    ):
        values = {labels: figures[figure] for labels, figures in purgatories.items()}
        yield labelled(name, values, "delayedOperation")
    yield single(
        "kafka_server_delayedfetchmetrics_expires",
        waiting["fetch_purgatory"]["expired"],
        {"fetcherType": "consumer"},
    )
    reasons = {(reason,): count for reason, count in waiting["fetches_by_reason"].items()}
    yield labelled("barnabas_fetch_answers", reasons, "reason")


def _sessions(sessions: Mapping[str, int]) -> Iterator[Metric]:
    prefix = "kafka_server_fetchsessioncache_"
    yield single(f"{prefix}numincrementalfetchsessions", sessions["session_count"])
    yield single(f"{prefix}numincrementalfetchpartitionscached", sessions["partition_count"])
    yield single(f"{prefix}incrementalfetchsessionevictions", sessions["evictions"])
    yield single("barnabas_fetch_sessions_created", sessions["created"])
    yield single("barnabas_fetch_sessions_refused", sessions["refused"])


def _sockets(reactor: Mapping[str, Any]) -> Iterator[Metric]:
    listeners = reactor["listeners"]
    for name, figure in (
        ("kafka_server_socket_server_metrics_connection_count", "connections"),
        ("kafka_server_socket_server_metrics_connection_creation", "accepted"),
        ("kafka_server_socket_server_metrics_incoming_byte", "bytes_received"),
        ("kafka_server_socket_server_metrics_outgoing_byte", "bytes_sent"),
        ("kafka_server_socket_server_metrics_request", "requests_received"),
        ("kafka_server_socket_server_metrics_failed_authentication", "handshakes_failed"),
    ):
        values = {(told["name"], "0"): told[figure] for told in listeners}
        yield labelled(name, values, "listener", "networkProcessor")
    for name, label, figures in (
        ("barnabas_slice_bytes", "mode", {"zero_copy": "zero_copy_bytes", "heap": "staged_bytes"}),
        ("barnabas_sends", "kind", {"memory": "sends", "sendfile": "send_files"}),
    ):
        pairs = {(told["name"], key): told[figure] for told in listeners for key, figure in figures.items()}
        yield labelled(name, pairs, "listener", label)
    for name, figure in (("barnabas_partial_sends", "partial_sends"), ("barnabas_reads", "reads")):
        yield labelled(name, {(told["name"],): told[figure] for told in listeners}, "listener")
    yield single("barnabas_connections_refused_per_ip", reactor["refused_per_ip"])
    yield single("barnabas_connections_closed_idle", reactor["closed_idle"])
    yield single("barnabas_accept_failures", reactor["accept_failures"])
    yield single("barnabas_loop_turns", reactor["turns"])
    yield single("barnabas_loop_events", reactor["events"])
    yield single("kafka_server_kafkaserver_brokerstate", _STATES[reactor["state"]])


def _cold_reads(cold: Mapping[str, int] | None) -> Iterator[Metric]:
    if cold is None:
        return  # switched off
    for name, figure in (
        ("hits", "hits"),
        ("misses", "misses"),
        ("waits", "waits"),
        ("waiting", "waiting"),
        ("failures", "failures"),
        ("bytes", "read_bytes"),
        ("ahead_bytes", "ahead_bytes"),
    ):
        yield single(f"barnabas_cold_read_{name}", cold[figure])
    yield single("barnabas_cold_read_wait_seconds", cold["wait_us"] / 1e6)


def _fetch_verification(told: Mapping[str, int] | None) -> Iterator[Metric]:
    if told is None:
        return  # fetch.verify.crc=false
    for name, figure in (
        ("bytes", "checked_bytes"),
        ("helper_bytes", "on_helper_bytes"),
        ("damaged", "damaged"),
        ("refused", "refused"),
    ):
        yield single(f"barnabas_fetch_verify_{name}", told[figure])


def _logs(statistics: Mapping[str, Any]) -> Iterator[Metric]:
    directories = {(path,): int(not online) for path, online in statistics["log_directories"]}
    yield single("kafka_log_logmanager_offlinelogdirectorycount", sum(directories.values()))
    yield labelled("kafka_log_logmanager_logdirectoryoffline", directories, "logDirectory")
    for name, figures in (
        ("barnabas_logs", statistics["logs"]),
        ("barnabas_metadata_log", statistics["metadata_log"]),
    ):
        values = {(figure,): value for figure, value in figures.items() if isinstance(value, int)}
        yield labelled(name, values, "figure")


def _flushes(group_commit: Mapping[str, int], times: Times, recent: Times) -> Iterator[Metric]:
    made = family("kafka_log_logflushstats_logflushrateandtimems")
    _add_summary(made, {}, times[FLUSHES], recent[FLUSHES])
    yield made
    for figure in ("appends", "rounds", "syncs", "files"):
        yield single(f"barnabas_group_commit_{figure}", group_commit[figure])
    yield single("barnabas_group_commit_waiting", group_commit["syncing"] + group_commit["due"])


def _controller(statistics: Mapping[str, Any]) -> Iterator[Metric]:
    prefix = "kafka_controller_kafkacontroller_"
    cluster, brokers, log = statistics["cluster"], statistics["brokers"], statistics["metadata_log"]
    yield single(f"{prefix}activecontrollercount", 1)
    yield single(f"{prefix}activebrokercount", brokers["active"])
    yield single(f"{prefix}fencedbrokercount", brokers["fenced"])
    yield single(f"{prefix}globaltopiccount", cluster["topics"])
    yield single(f"{prefix}globalpartitioncount", cluster["partitions"])
    yield single(f"{prefix}offlinepartitionscount", cluster["offline_partitions"])
    yield single(f"{prefix}preferredreplicaimbalancecount", cluster["imbalanced_partitions"])
    yield single(f"{prefix}lastappliedrecordoffset", log["end_offset"] - 1)
    yield single("kafka_server_raft_metrics_current_state_info", 1, {"state": "leader"})
    yield single("kafka_server_raft_metrics_current_epoch", log["epoch"])
    yield single("kafka_server_raft_metrics_log_end_offset", log["end_offset"])
    yield single("kafka_server_raft_metrics_high_watermark", log["end_offset"])
    yield single("kafka_server_raft_metrics_current_leader", statistics["node_id"])
    yield single("kafka_server_broker_metadata_metrics_last_applied_record_offset", log["end_offset"] - 1)
