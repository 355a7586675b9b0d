"""Metrics of partitions and topics, from the rows of the broker's statistics."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter

from prometheus_client.metrics_core import Metric

from barnabas.base.hints import Any, Final
from barnabas.web.catalogue import METRICS

_TRAFFIC: Final = {
    "messages_in": "messagesin",
    "bytes_in": "bytesin",
    "bytes_out": "bytesout",
    "fetches": "totalfetchrequests",
    "produces": "totalproducerequests",
    "failed_produces": "failedproducerequests",
}
_OF_A_PARTITION: Final = {
    "kafka_log_log_size": "size_bytes",
    "kafka_log_log_logstartoffset": "log_start_offset",
    "kafka_log_log_logendoffset": "log_end_offset",
    "kafka_log_log_numlogsegments": "segments",
    "barnabas_log_high_watermark": "high_watermark",
    "kafka_cluster_partition_replicascount": "replicas",
    "kafka_cluster_partition_insyncreplicascount": "in_sync_replicas",
}


def partition_families(statistics: Mapping[str, Any]) -> Iterator[Metric]:
    """Yield traffic by topic, figures by partition, and the gauges that count partitions."""
    columns = {name: position for position, name in enumerate(statistics["partition_columns"])}
    rows = statistics["partitions"]
    yield from _traffic(columns, rows, statistics["retired_traffic"])
    labels = [{"topic": row[columns["topic"]], "partition": str(row[columns["partition"]])} for row in rows]
    for name, column in _OF_A_PARTITION.items():
        yield _by_partition(name, labels, map(itemgetter(columns[column]), rows))
    yield from _replication(columns, rows, labels)


def _traffic(
    columns: Mapping[str, int], rows: list[list[Any]], retired: Mapping[str, int]
) -> Iterator[Metric]:
    for column, name in _TRAFFIC.items():
        topics: Counter[str] = Counter()
        for row in rows:
            topics[row[columns["topic"]]] += row[columns[column]]
        made = _family(f"kafka_server_brokertopicmetrics_{name}")
        shown = METRICS[made.name].shown_name
        made.add_sample(shown, {}, sum(topics.values()) + retired[column])
        for topic, value in topics.items():
            made.add_sample(shown, {"topic": topic}, value)
        yield made


def _replication(
    columns: Mapping[str, int], rows: list[list[Any]], labels: list[dict[str, str]]
) -> Iterator[Metric]:
    leading = [bool(row[columns["is_leader"]]) for row in rows]
    in_sync = [row[columns["in_sync_replicas"]] for row in rows]
    replicas = [row[columns["replicas"]] for row in rows]
    minimum = [row[columns["min_in_sync_replicas"]] for row in rows]
    under = [
        int(led and count < wanted) for led, count, wanted in zip(leading, in_sync, replicas, strict=True)
    ]
    under_min = [
        int(led and count < wanted) for led, count, wanted in zip(leading, in_sync, minimum, strict=True)
    ]
    at_min = [
        int(led and count == wanted) for led, count, wanted in zip(leading, in_sync, minimum, strict=True)
    ]
    for name, values in (
        ("kafka_cluster_partition_underreplicated", under),
        ("kafka_cluster_partition_underminisr", under_min),
        ("kafka_cluster_partition_atminisr", at_min),
    ):
        yield _by_partition(name, labels, values)
    for name, value in (
        ("partitioncount", len(rows)),
        ("leadercount", sum(leading)),
        ("offlinereplicacount", sum(bool(row[columns["is_offline"]]) for row in rows)),
        ("underreplicatedpartitions", sum(under)),
        ("underminisrpartitioncount", sum(under_min)),
        ("atminisrpartitioncount", sum(at_min)),
        (
            "partitionswithlatetransactionscount",
            sum(bool(row[columns["has_late_transaction"]]) for row in rows),
        ),
    ):
        made = _family(f"kafka_server_replicamanager_{name}")
        made.add_sample(made.name, {}, value)
        yield made


def _by_partition(name: str, labels: list[dict[str, str]], values: Iterable[float]) -> Metric:
    made = _family(name)
    for its_labels, value in zip(labels, values, strict=True):
        made.add_sample(name, its_labels, value)
    return made


def _family(name: str) -> Metric:
    return Metric(name, METRICS[name].help, METRICS[name].kind)
