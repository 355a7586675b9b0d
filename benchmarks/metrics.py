"""The figures that are told: what each is called, its unit, which way is better, what is derived."""

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.processes import Use


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """How a figure is told."""

    label: str
    unit: str
    more_is_better: bool = False


METRICS: dict[str, Metric] = {
    "per_second": Metric(label="requests", unit="/s", more_is_better=True),
    "gigabytes_per_second": Metric(label="throughput", unit="GB/s", more_is_better=True),
    "megabytes_per_second": Metric(label="throughput", unit="MB/s", more_is_better=True),
    "records_per_second": Metric(label="records", unit="/s", more_is_better=True),
    "cpu_s_per_gb": Metric(label="server's CPU", unit="s/GB"),
    "cpu_us_per_request": Metric(label="server's CPU", unit="us/request"),
    "client_cpu_s_per_gb": Metric(label="client's CPU", unit="s/GB"),
    "cpu_s": Metric(label="server's CPU", unit="s"),
    "cpu_s_in_30_s": Metric(label="server's CPU", unit="s in 30 s"),
    "p50_us": Metric(label="p50", unit="us"),
    "p99_us": Metric(label="p99", unit="us"),
    "p999_us": Metric(label="p99.9", unit="us"),
    "max_us": Metric(label="longest", unit="us"),
    "first_us": Metric(label="first answer, p50", unit="us"),
    "last_us": Metric(label="last answer, p50", unit="us"),
    "last_max_us": Metric(label="last answer, longest", unit="us"),
    "bytes_each": Metric(label="memory per parked fetch", unit="bytes"),
    "connection_bytes_each": Metric(label="per idle connection", unit="bytes"),
    "rebalance_s": Metric(label="rebalance", unit="s"),
    "join_s": Metric(label="forming", unit="s"),
    "cpu_us_per_heartbeat": Metric(label="server's CPU", unit="us/heartbeat"),
    "start_s": Metric(label="start", unit="s"),
    "start_after_stop_s": Metric(label="start after a stop", unit="s"),
    "stop_s": Metric(label="stop", unit="s"),
    "seconds": Metric(label="time", unit="s"),
    "seconds_per_gib": Metric(label="time", unit="s/GiB"),
    "resident_mb": Metric(label="memory at rest", unit="MB"),
    "peak_mb": Metric(label="peak memory", unit="MB"),
    "reader_megabytes_per_second": Metric(label="cold reader", unit="MB/s", more_is_better=True),
    "cached_share": Metric(label="share in the page cache before", unit=""),
    "answer_kb": Metric(label="answer", unit="KB"),
}


def derived(found: Mapping[str, float], use: Use) -> dict[str, float]:
    """Return figures with those that follow from the server's use; a workload's own are kept.

    Args:
        found: may hold `gigabytes` and `requests`, totals that costs are told per.
    """
    whole = {"cpu_s": use.cpu_s, "peak_mb": use.peak_mb, "foreign_share": use.foreign_share}
    if gigabytes := found.get("gigabytes"):
        whole["cpu_s_per_gb"] = use.cpu_s / gigabytes
    if requests := found.get("requests"):
        whole["cpu_us_per_request"] = use.cpu_s / requests * 1e6
    return {**whole, **found}
