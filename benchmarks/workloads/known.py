"""All workloads, in the order they run."""

from benchmarks.workloads import (
    cold_reads,
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
        latency,
        waiting,
        many_partitions,
        cold_reads,
        lifecycle,
    )
}
