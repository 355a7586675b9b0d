"""Metrics of groups, from their rows in the broker's statistics."""

from collections import Counter
from collections.abc import Iterator, Mapping

from prometheus_client.metrics_core import Metric

from barnabas.base.hints import Any, Final
from barnabas.web.catalogue import METRICS
from barnabas.web.group_catalogue import COORDINATOR_PREFIX, MANAGER_PREFIX

CLASSIC_STATES: Final = ("PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty")
CONSUMER_STATES: Final = ("Empty", "Assigning", "Reconciling", "Stable", "Dead")
_LOADING: Final = ("Initial", "Loading")

Samples = Mapping[tuple[str, ...], float]


def group_families(groups: Mapping[str, Any] | None) -> Iterator[Metric]:
    """Yield metrics of groups; none while nobody has used one."""
    if groups is None:
        return
    yield from _counts(groups)
    yield from _figures(groups)
    yield from _lags(groups)


def _counts(groups: Mapping[str, Any]) -> Iterator[Metric]:
    column = {name: place for place, name in enumerate(groups["columns"])}
    found = Counter((row[column["type"]], row[column["state"]]) for row in groups["rows"])
    classic = {state: found["classic", state] for state in CLASSIC_STATES}
    consumer = {state: found["consumer", state] for state in CONSUMER_STATES}
    by_protocol: Samples = {("classic",): sum(classic.values()), ("consumer",): sum(consumer.values())}
    yield _family(
        f"{COORDINATOR_PREFIX}group_count",
        by_protocol,
        "protocol",
    )
    for kind, states in (("classic", classic), ("consumer", consumer)):
        samples: Samples = {(_tag(state),): count for state, count in states.items()}
        yield _family(f"{COORDINATOR_PREFIX}{kind}_group_count", samples, "state")
    yield _family(f"{MANAGER_PREFIX}numgroups", {(): sum(classic.values())})
    for state, count in classic.items():
        yield _family(f"{MANAGER_PREFIX}numgroups{state.lower()}", {(): count})
    members: Samples = {(row[column["group"]],): row[column["members"]] for row in groups["rows"]}
    yield _family("kafka_consumergroup_members", members, "consumergroup")


def _tag(state: str) -> str:
    """How Kafka's bean names a state: its words in lower case, with hyphens."""
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in state).removeprefix("-")


def _figures(groups: Mapping[str, Any]) -> Iterator[Metric]:
    shards = groups["shards"]
    yield _family(
        f"{COORDINATOR_PREFIX}num_partitions",
        {
            ("loading",): sum(shards[state] for state in _LOADING),
            ("active",): shards["Active"],
            ("failed",): shards["Failed"],
        },
        "state",
    )
    for name, figure in (
        (f"{COORDINATOR_PREFIX}offset_count", "offset_count"),
        (f"{COORDINATOR_PREFIX}offset_commit_count", "offset_commits"),
        (f"{COORDINATOR_PREFIX}offset_expiration_count", "offset_expirations"),
        (f"{COORDINATOR_PREFIX}offset_deletion_count", "offset_deletions"),
        (f"{COORDINATOR_PREFIX}group_completed_rebalance_count", "completed_rebalances"),
        (f"{COORDINATOR_PREFIX}consumer_group_rebalance_count", "consumer_rebalances"),
        (f"{MANAGER_PREFIX}numoffsets", "offset_count"),
        ("barnabas_group_loads", "loads"),
        ("barnabas_group_appends", "appends"),
        ("barnabas_group_append_failures", "append_failures"),
        ("barnabas_group_timers", "timers"),
    ):
        yield _family(name, {(): groups[figure]})
    yield _family("barnabas_group_load_seconds", {(): groups["load_us"] / 1e6})


def _lags(groups: Mapping[str, Any]) -> Iterator[Metric]:
    current: dict[tuple[str, ...], float] = {}
    lag: dict[tuple[str, ...], float] = {}
    sums: dict[tuple[str, ...], float] = {}
    for group, topic, partition, committed, end in groups["offset_rows"]:
        labels = (group, topic, str(partition))
        current[labels] = committed
        if end is not None:
            # A commit may be ahead of what this broker has, after a reset for example.
            lag[labels] = max(0, end - committed)
            sums[group, topic] = sums.get((group, topic), 0) + lag[labels]
    names = ("consumergroup", "topic", "partition")
    yield _family("kafka_consumergroup_current_offset", current, *names)
    yield _family("kafka_consumergroup_lag", lag, *names)
    yield _family("kafka_consumergroup_lag_sum", sums, "consumergroup", "topic")


def _family(name: str, values: Samples, *label_names: str) -> Metric:
    info = METRICS[name]
    made = Metric(name, info.help, info.kind)
    for labels, value in values.items():
        made.add_sample(info.shown_name, dict(zip(label_names, labels, strict=True)), value)
    return made
