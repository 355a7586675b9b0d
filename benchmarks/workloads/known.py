"""All workloads, in the order they run."""

from benchmarks.workloads import large_fetches, librdkafka, small_requests
from benchmarks.workloads.workload import Workload

WORKLOADS: dict[str, Workload] = {
    one.WORKLOAD.name: one.WORKLOAD for one in (small_requests, large_fetches, librdkafka)
}
