"""Metrics of compaction, from the broker's statistics: their rows of `catalogue`, and their values."""

from collections.abc import Iterator, Mapping, Sequence

from prometheus_client.metrics_core import Metric

from barnabas.base.hints import Any, Final
from barnabas.web.catalogue import METRICS

_FIGURES: Final = (
    ("kafka_log_logcleaner_cleaner_recopy_percent", "recopy_percent"),
    ("kafka_log_logcleaner_max_buffer_utilization_percent", "max_buffer_utilization_percent"),
    ("kafka_log_logcleaner_max_clean_time_secs", "max_clean_time_secs"),
    ("kafka_log_logcleaner_max_compaction_delay_secs", "max_compaction_delay_secs"),
    ("kafka_log_logcleaner_deadthreadcount", "dead_thread_count"),
    ("kafka_log_logcleanermanager_max_dirty_percent", "max_dirty_percent"),
    ("kafka_log_logcleanermanager_time_since_last_run_ms", "time_since_last_run_ms"),
    ("barnabas_log_cleanings", "cleaned"),
)


def cleaner_families(
    cleaner: Mapping[str, Any] | None, directories: Sequence[tuple[str, bool]]
) -> Iterator[Metric]:
    """Yield metrics of the cleaner; zeros while there was nothing to clean, and it was not made.

    Args:
        directories: path of each log directory, and whether it works.
    """
    told: Mapping[str, Any] = cleaner or {"uncleanable": [[path, 0, 0] for path, _ in directories]}
    for name, figure in _FIGURES:
        made = _family(name)
        made.add_sample(METRICS[name].shown_name, {}, told.get(figure, 0))
        yield made
    counts = _family("kafka_log_logcleanermanager_uncleanable_partitions_count")
    sizes = _family("kafka_log_logcleanermanager_uncleanable_bytes")
    for path, count, size in told["uncleanable"]:
        counts.add_sample(counts.name, {"logDirectory": path}, count)
        sizes.add_sample(sizes.name, {"logDirectory": path}, size)
    yield counts
    yield sizes
    progress = _family("barnabas_log_cleaning_progress_ratio")
    for one in told.get("running", ()):
        share = one["bytes_done"] / one["bytes_expected"] if one["bytes_expected"] else 1.0
        topic, _, partition = one["log"].rpartition("-")
        progress.add_sample(progress.name, {"topic": topic, "partition": partition}, min(1.0, share))
    yield progress


def _family(name: str) -> Metric:
    info = METRICS[name]
    return Metric(name, info.help, info.kind)
