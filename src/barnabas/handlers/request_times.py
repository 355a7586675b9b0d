"""How long requests took, counted without keeping any: one RequestTimes per API and version.

Durations fall into the buckets of `base/durations.py`. Time spent waiting for others (remote) is counted for
those that waited only: the rest is the difference to all.
"""

from __future__ import annotations

from barnabas.base.dataclass import dataclass
from barnabas.base.durations import (
    BUCKET_OF,
    BUCKETS,
    TABLE_SIZE,
    DurationHistogram,
    HistogramStatistics,
    bucket_of,
    statistics_of,
)


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
            total=statistics_of(self.total_counts, self.local_us + remote_us + self.send_us),
            local=statistics_of(self.local_counts, self.local_us),
            remote=statistics_of(() if self.remote is None else self.remote.counts, remote_us),
            send=statistics_of(self.send_counts, self.send_us),
        )


def count_at_once(times: RequestTimes, received_us: int, responded_us: int, sent_us: int) -> None:
    """Count one request that was answered without waiting: nearly all, so nothing is done twice here.

    Args:
        received_us, responded_us, sent_us: when it came, when its answer was there, and when the socket had
            that; on the monotonic clock.
    """
    local_us, send_us, total_us = responded_us - received_us, sent_us - responded_us, sent_us - received_us
    if total_us < TABLE_SIZE:  # none of the others is longer
        table = BUCKET_OF
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
    local_us, remote_us, send_us = parked_us - received_us, responded_us - parked_us, sent_us - responded_us
    total_us = sent_us - received_us
    table, size = BUCKET_OF, TABLE_SIZE
    times.remote.counts[table[remote_us] if 0 <= remote_us < size else bucket_of(remote_us)] += 1
    times.remote.sum_us += remote_us
    times.total_counts[table[total_us] if 0 <= total_us < size else bucket_of(total_us)] += 1
    times.local_counts[table[local_us] if 0 <= local_us < size else bucket_of(local_us)] += 1
    times.local_us += local_us
    times.send_counts[table[send_us] if 0 <= send_us < size else bucket_of(send_us)] += 1
    times.send_us += send_us
