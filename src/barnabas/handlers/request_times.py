"""How long requests took, counted without keeping any: one RequestTimes per API and version.

Durations fall into buckets of a quarter octave: a count is one look-up in a table and one addition, a
quantile is off by an eighth at most, and an hour in microseconds needs 124 buckets. Time spent waiting for
others (remote) is counted for those that waited only: the rest is the difference to all. Buckets are never
reset; whoever reads them twice knows what lies between.

Rejected: a library's histogram (prometheus_client's takes 3 us and a lock a time) and keeping a sample of
durations, as Kafka does, which costs an allocation and loses the slowest.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.base.dataclass import dataclass
from barnabas.base.hints import Final

BUCKETS: Final = 128
_TABLE_SIZE: Final = 1024
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


# The same as bucket_of for each of them, which would cost a start 3 ms.
_BUCKET_OF: Final = b"".join(
    bytes((bucket,)) * (bucket_end_us(bucket) - bucket_end_us(bucket - 1))
    for bucket in range(bucket_of(_TABLE_SIZE - 1) + 1)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramStatistics:
    """What a histogram holds: only buckets that are not empty, as (bucket, count)."""

    sum_us: int
    buckets: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTimesStatistics:
    """The times of one API and version.

    Attributes:
        requests: answered, or ended without an answer (acks=0).
        total, local, send: of all requests.
        remote: of those that waited.
    """

    api_key: int
    api_version: int
    requests: int
    total: HistogramStatistics
    local: HistogramStatistics
    remote: HistogramStatistics
    send: HistogramStatistics


class RequestTimes:
    """The requests of one API and version, by duration.

    Attributes:
        total_counts, local_counts, send_counts: requests by bucket.
        local_us, send_us: sums; that of the totals follows from the others.
        remote: of those that waited; None while none has, as with most APIs.
    """

    __slots__ = (
        "api_key",
        "api_version",
        "local_counts",
        "local_us",
        "remote",
        "send_counts",
        "send_us",
        "total_counts",
    )

    def __init__(self, api_key: int, api_version: int) -> None:
        self.api_key = api_key
        self.api_version = api_version
        self.total_counts = [0] * BUCKETS
        self.local_counts = [0] * BUCKETS
        self.local_us = 0
        self.send_counts = [0] * BUCKETS
        self.send_us = 0
        self.remote: DurationHistogram | None = None

    def statistics(self) -> RequestTimesStatistics:
        """Return what was counted."""
        remote_us = 0 if self.remote is None else self.remote.sum_us
        return RequestTimesStatistics(
            api_key=self.api_key,
            api_version=self.api_version,
            requests=sum(self.total_counts),
            total=_statistics(self.total_counts, self.local_us + remote_us + self.send_us),
            local=_statistics(self.local_counts, self.local_us),
            remote=_statistics(() if self.remote is None else self.remote.counts, remote_us),
            send=_statistics(self.send_counts, self.send_us),
        )


def count_at_once(times: RequestTimes, received_us: int, responded_us: int, sent_us: int) -> None:
    """Count one request that was answered without waiting: nearly all, so nothing is done twice here.

    Args:
        received_us, responded_us, sent_us: when it came, when its answer was there, and when the socket had
            that; on the monotonic clock.
    """
    local_us, send_us, total_us = responded_us - received_us, sent_us - responded_us, sent_us - received_us
    if total_us < _TABLE_SIZE:  # none of the others is longer
        table = _BUCKET_OF
        times.total_counts[table[total_us]] += 1
        times.local_counts[table[local_us]] += 1
        times.send_counts[table[send_us]] += 1
    else:
        times.total_counts[bucket_of(total_us)] += 1
        times.local_counts[bucket_of(local_us)] += 1
        times.send_counts[bucket_of(send_us)] += 1
    times.local_us += local_us
    times.send_us += send_us


def count_request(
    times: RequestTimes, received_us: int, parked_us: int, responded_us: int, sent_us: int
) -> None:
    """Count one request, as `count_at_once`.

    Args:
        parked_us: when it began to wait; -1 when it was answered at once.
    """
    if parked_us < 0:
        count_at_once(times, received_us, responded_us, sent_us)
        return
    if times.remote is None:
        times.remote = DurationHistogram()
    times.remote.add(responded_us - parked_us)
    times.total_counts[bucket_of(sent_us - received_us)] += 1
    times.local_counts[bucket_of(parked_us - received_us)] += 1
    times.local_us += parked_us - received_us
    times.send_counts[bucket_of(sent_us - responded_us)] += 1
    times.send_us += sent_us - responded_us


def _statistics(counts: Sequence[int], sum_us: int) -> HistogramStatistics:
    buckets = tuple((bucket, count) for bucket, count in enumerate(counts) if count)
    return HistogramStatistics(sum_us=sum_us, buckets=buckets)
