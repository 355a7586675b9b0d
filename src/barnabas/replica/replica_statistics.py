"""Figures of the replica layer: its partitions, and what waits."""

from barnabas.base.dataclass import dataclass
from barnabas.replica.fetch import FetchReason
from barnabas.timing.purgatory import PurgatoryStatistics


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingStatistics:
    """What waits, and how often a fetch was answered for each reason (F46)."""

    fetches_by_reason: dict[FetchReason, int]
    fetch_purgatory: PurgatoryStatistics
    produce_purgatory: PurgatoryStatistics
    delete_records_purgatory: PurgatoryStatistics


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaManagerStatistics:
    """Gauges of the partitions."""

    partition_count: int
    leader_count: int
    offline_partition_count: int
    under_min_isr_partition_count: int
