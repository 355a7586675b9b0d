"""What came into and went out of one partition: the figures behind Kafka's BrokerTopicMetrics.

Kept with the partition, where every request finds it without a look-up by topic; whoever wants sums per topic
adds them up. The figures of partitions that are gone are kept as one sum, so that the broker's totals never
fall, while those of a deleted topic vanish, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from barnabas.base.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.replica.fetch import FetchPartition, FetchPartitionResult
    from barnabas.replica.partition import Partition
    from barnabas.storage.append_info import AppendInfo


class PartitionTraffic:
    """Counters since the partition was opened.

    Attributes:
        messages_in, bytes_in: appended by producers; a repeated batch does not count.
        bytes_out: of the batches that fetches were answered with.
        fetches: reads; a fetch that was parked reads twice.
        produces: batches that were to be appended.
        failed_produces: those that a check of their content refused.
    """

    __slots__ = ("bytes_in", "bytes_out", "failed_produces", "fetches", "messages_in", "produces")

    def __init__(self) -> None:
        self.messages_in = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.fetches = 0
        self.produces = 0
        self.failed_produces = 0

    def add(self, other: PartitionTraffic) -> None:
        """Take over the figures of a partition that is gone."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def appended(self, info: AppendInfo) -> None:
        """Count one batch that was appended, or was there already."""
        self.produces += 1
        if not info.duplicate:
            self.messages_in += info.last_offset - info.first_offset + 1
            self.bytes_in += info.bytes_appended


def count_out(
    partitions: Mapping[tuple[str, int], Partition],
    requests: Sequence[FetchPartition],
    results: Sequence[FetchPartitionResult],
) -> None:
    """Count what a fetch is answered with."""
    for request, result in zip(requests, results, strict=True):
        if result.records is not None:
            traffic = partitions[request.topic, request.partition].traffic
            traffic.bytes_out += result.records.length
