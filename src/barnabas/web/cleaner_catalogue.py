"""The metrics of compaction by name, as rows of `catalogue`: name, kind, help, Kafka's bean.

Kafka's threads are cleanings here; one whose process died and is to be started again counts as a dead thread.
"""

from barnabas.base.hints import Final

_CLEANER: Final = "kafka.log:type=LogCleaner,name="
_MANAGER: Final = "kafka.log:type=LogCleanerManager,name="

CLEANER_ROWS: Final = (
    (
        "kafka_log_logcleaner_cleaner_recopy_percent",
        "gauge",
        "Of what the last cleanings read, how much they wrote again.",
        f"{_CLEANER}cleaner-recopy-percent",
    ),
    (
        "kafka_log_logcleaner_max_buffer_utilization_percent",
        "gauge",
        "How full the table of keys got in the last cleanings.",
        f"{_CLEANER}max-buffer-utilization-percent",
    ),
    (
        "kafka_log_logcleaner_max_clean_time_secs",
        "gauge",
        "The longest time of the last cleanings.",
        f"{_CLEANER}max-clean-time-secs",
    ),
    (
        "kafka_log_logcleaner_max_compaction_delay_secs",
        "gauge",
        "How long records have been dirty beyond max.compaction.lag.ms, at most.",
        f"{_CLEANER}max-compaction-delay-secs",
    ),
    (
        "kafka_log_logcleaner_deadthreadcount",
        "gauge",
        "Cleanings that failed for another reason than the log and wait to be begun again.",
        f"{_CLEANER}DeadThreadCount",
    ),
    (
        "kafka_log_logcleanermanager_max_dirty_percent",
        "gauge",
        "The dirty share of the dirtiest log, when logs were last looked at.",
        f"{_MANAGER}max-dirty-percent",
    ),
    (
        "kafka_log_logcleanermanager_time_since_last_run_ms",
        "gauge",
        "Time since logs were looked at; none are while all cleanings are at work.",
        f"{_MANAGER}time-since-last-run-ms",
    ),
    (
        "kafka_log_logcleanermanager_uncleanable_partitions_count",
        "gauge",
        "Logs of a directory that are damaged and not cleaned any more.",
        f"{_MANAGER}uncleanable-partitions-count",
    ),
    (
        "kafka_log_logcleanermanager_uncleanable_bytes",
        "gauge",
        "Their bytes that would be cleaned.",
        f"{_MANAGER}uncleanable-bytes",
    ),
    ("barnabas_log_cleanings", "counter", "Cleanings of logs that were completed.", ""),
    ("barnabas_log_cleaning_progress_ratio", "gauge", "How much of a cleaning under way is done.", ""),
)
