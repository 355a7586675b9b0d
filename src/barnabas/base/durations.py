"""Durations counted without keeping any: how many fell into each bucket of a quarter octave.

A count is one look-up in a table and one addition, a quantile is off by an eighth at most, and an hour in
microseconds needs 124 buckets. Buckets are never reset; whoever reads them twice knows what lies between.

Rejected: a library's histogram (prometheus_client's takes 3 us and a lock a time) and keeping a sample of
durations, as Kafka does, which costs an allocation and loses the slowest.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.base.dataclass import dataclass
from barnabas.base.hints import Final

BUCKETS: Final = 128
TABLE_SIZE: Final = 1024
"""Durations whose bucket is looked up; filling a larger table would take a millisecond of every start."""

_LAST: Final = BUCKETS - 1


def bucket_of(duration_us: int) -> int:
    """Return the bucket of a duration; negative ones, which no clock should give, count as zero."""
    if duration_us < 4:
        return max(duration_us, 0)
    exponent = duration_us.bit_length() - 3
    return min(4 * exponent + (duration_us >> exponent), _LAST)


def bucket_end_us(bucket: int) -> int:
    """Return the first duration above a bucket."""
    if bucket < 4:
        return bucket + 1
    exponent = bucket // 4 - 1
    return (bucket % 4 + 5) << exponent


# The same as bucket_of for each of them would cost a start 3 ms.
BUCKET_OF: Final = b"".join(
    bytes((bucket,)) * (bucket_end_us(bucket) - bucket_end_us(bucket - 1))
    for bucket in range(bucket_of(TABLE_SIZE - 1) + 1)
)


class DurationHistogram:
    """Durations of one kind.

    Attributes:
        counts: durations by bucket.
        sum_us: of all durations.
    """

    __slots__ = ("counts", "sum_us")

    def __init__(self) -> None:
        self.counts = [0] * BUCKETS
        self.sum_us = 0

    def add(self, duration_us: int) -> None:
        """Count one duration."""
        self.counts[bucket_of(duration_us)] += 1
        self.sum_us += duration_us

    def statistics(self) -> HistogramStatistics:
        """Return what was counted."""
        return statistics_of(self.counts, self.sum_us)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramStatistics:
    """What a histogram holds: only buckets that are not empty, as (bucket, count)."""

    sum_us: int
    buckets: tuple[tuple[int, int], ...]


def statistics_of(counts: Sequence[int], sum_us: int) -> HistogramStatistics:
    """Return what was counted."""
    buckets = tuple((bucket, count) for bucket, count in enumerate(counts) if count)
    return HistogramStatistics(sum_us=sum_us, buckets=buckets)
