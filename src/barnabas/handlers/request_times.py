"""How long requests took, counted without keeping any: one RequestTimes per API and version.

Durations fall into buckets of a quarter octave: a count is one look-up in a table and one addition, a
quantile is off by an eighth at most, and an hour in microseconds needs 124 buckets. Time spent waiting for
others (remote) is counted for those that waited only: the rest is the difference to all. Buckets are never
reset; whoever reads them twice knows what lies between.

Rejected: a library's histogram (prometheus_client's takes 3 us and a lock a time) and keeping a sample of
durations, as Kafka does, which costs an allocation and loses the slowest.
"""

from __future__ import annotations

from typing import Final

from barnabas.base.dataclass import dataclass

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
    """The requests of one API and version."""

    __slots__ = ("api_key", "api_version", "local", "remote", "requests", "send", "total")

    def __init__(self, api_key: int, api_version: int) -> None:
        self.api_key = api_key
        self.api_version = api_version
        self.requests = 0
        self.total = DurationHistogram()
        self.local = DurationHistogram()
        self.send = DurationHistogram()
        self.remote: DurationHistogram | None = None  # most APIs never wait

    def statistics(self) -> RequestTimesStatistics:
        """Return what was counted."""
        return RequestTimesStatistics(
            api_key=self.api_key,
            api_version=self.api_version,
            requests=self.requests,
            total=_statistics(self.total),
            local=_statistics(self.local),
            remote=_statistics(self.remote),
            send=_statistics(self.send),
        )


def count_request(
    times: RequestTimes, received_us: int, parked_us: int, responded_us: int, sent_us: int
) -> None:
    """Count one request, from the moments of its life on the monotonic clock.

    Args:
        parked_us: when it began to wait; -1 when it was answered at once.
        responded_us: when its answer was there.
        sent_us: when the socket had taken the answer.
    """
    times.requests += 1
    local_us = responded_us - received_us
    if parked_us >= 0:
        if times.remote is None:
            times.remote = DurationHistogram()
        times.remote.add(responded_us - parked_us)
        local_us = parked_us - received_us
    total_us = sent_us - received_us
    if total_us >= _TABLE_SIZE or local_us < 0 or sent_us < responded_us:
        times.total.add(total_us)
        times.local.add(local_us)
        times.send.add(sent_us - responded_us)
        return
    # None is longer than the total.
    table = _BUCKET_OF
    total, local, send = times.total, times.local, times.send
    total.counts[table[total_us]] += 1
    total.sum_us += total_us
    local.counts[table[local_us]] += 1
    local.sum_us += local_us
    send_us = sent_us - responded_us
    send.counts[table[send_us]] += 1
    send.sum_us += send_us


def _statistics(histogram: DurationHistogram | None) -> HistogramStatistics:
    if histogram is None:
        return HistogramStatistics(sum_us=0, buckets=())
    buckets = tuple((bucket, count) for bucket, count in enumerate(histogram.counts) if count)
    return HistogramStatistics(sum_us=histogram.sum_us, buckets=buckets)
