"""Metrics of transactions, from the broker's statistics: their rows of `catalogue`, and their values."""

from collections.abc import Iterator, Mapping

from prometheus_client.metrics_core import Metric

from barnabas.base.hints import Any, Final
from barnabas.web.catalogue import METRICS

_LOADING: Final = ("Initial", "Loading")


def transaction_families(transactions: Mapping[str, Any] | None) -> Iterator[Metric]:
    """Yield metrics of transactions; none while nobody has used one."""
    if transactions is None:
        return
    yield _family("barnabas_transactional_ids", "state", transactions["by_state"])
    yield _single("barnabas_transaction_oldest_open_seconds", transactions["oldest_open_ms"] / 1e3)
    shards = transactions["shards"]
    by_state = {
        "loading": sum(shards[state] for state in _LOADING),
        "active": shards["Active"],
        "failed": shards["Failed"],
    }
    yield _family("barnabas_transaction_partitions", "state", by_state)
    yield _single("barnabas_transaction_loads", transactions["loads"])
    yield _single("barnabas_transaction_load_seconds", transactions["load_us"] / 1e6)
    yield _single("barnabas_transaction_appends", transactions["appends"])
    yield _single("barnabas_transaction_append_failures", transactions["append_failures"])


def _family(name: str, label: str, values: Mapping[str, float]) -> Metric:
    info = METRICS[name]
    made = Metric(name, info.help, info.kind)
    for value_of, value in values.items():
        made.add_sample(info.shown_name, {label: value_of}, value)
    return made


def _single(name: str, value: float) -> Metric:
    info = METRICS[name]
    made = Metric(name, info.help, info.kind)
    made.add_sample(info.shown_name, {}, value)
    return made
