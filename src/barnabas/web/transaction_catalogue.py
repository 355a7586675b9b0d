"""The metrics of transactions by name, as rows of `catalogue`: name, kind, help, Kafka's bean.

Apache Kafka tells how long its loads took at most and in the mean, nothing of the transactions themselves;
these names are our own.
"""

from barnabas.base.hints import Final

TRANSACTION_ROWS: Final = (
    ("barnabas_transactional_ids", "gauge", "Transactional ids by the state of their transaction.", ""),
    (
        "barnabas_transaction_oldest_open_seconds",
        "gauge",
        "For how long the oldest open transaction has been; 0 without any.",
        "",
    ),
    (
        "barnabas_transaction_partitions",
        "gauge",
        "Partitions of __transaction_state by state: loading, active, failed.",
        "",
    ),
    ("barnabas_transaction_loads", "counter", "Partitions of __transaction_state that were loaded.", ""),
    ("barnabas_transaction_load_seconds", "counter", "Time from the beginning of loads to their end.", ""),
    ("barnabas_transaction_appends", "counter", "Changes of transactions that were appended.", ""),
    (
        "barnabas_transaction_append_failures",
        "counter",
        "Changes of transactions that could not be appended.",
        "",
    ),
)
