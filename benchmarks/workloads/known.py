"""All workloads, in the order they run: of those that share servers, many partitions come last."""

from benchmarks.workloads import (
    cold_reads,
    groups,
    kafka_tools,
    large_fetches,
    latency,
    librdkafka,
    lifecycle,
    many_partitions,
    small_requests,
    waiting,
)
from benchmarks.workloads.workload import Workload

WORKLOADS: dict[str, Workload] = {
    one.WORKLOAD.name: one.WORKLOAD
    for one in (
        small_requests,
        large_fetches,
        librdkafka,
        kafka_tools,
        latency,
        cold_reads,
        many_partitions,
        waiting,
        groups,
        lifecycle,
    )
}
