"""Request times of the last minutes, from counters that only grow.

A snapshot is kept now and then; the difference between now and the oldest one within the window is the recent
past. Kafka's own histograms weigh the last five minutes most, so that is the window.
"""

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from barnabas.base.durations import bucket_end_us
from barnabas.base.hints import Any

WINDOW_US = 300_000_000
SNAPSHOT_INTERVAL_US = 10_000_000

PHASES = ("total", "local", "remote", "send")

FLUSHES = (-1, "total")
"""Where Times holds those of `flushes_as_requests`."""


@dataclass(slots=True)
class PhaseTimes:
    """Durations of one phase of one API: bucket -> count, those of zero apart."""

    buckets: dict[int, int] = field(default_factory=dict)
    zeros: int = 0
    sum_us: int = 0

    def add(self, buckets: Mapping[int, int], zeros: int, sum_us: int) -> None:
        """Add further durations, or take them away by negative counts."""
        for bucket, count in buckets.items():
            self.buckets[bucket] = self.buckets.get(bucket, 0) + count
        self.zeros += zeros
        self.sum_us += sum_us

    @property
    def count(self) -> int:
        return sum(self.buckets.values()) + self.zeros

    def quantile_us(self, quantile: float) -> float:
        """Return the duration that this share of all does not exceed, to an eighth; NaN without any."""
        count = self.count
        if count <= 0:
            return math.nan
        rank = quantile * count - self.zeros
        if rank <= 0:
            return 0.0
        for bucket, inside in sorted(self.buckets.items()):
            if inside and rank <= inside:
                start_us = bucket_end_us(bucket - 1) if bucket else 0
                return start_us + (bucket_end_us(bucket) - start_us) * rank / inside
            rank -= inside
        return math.nan


Times = dict[tuple[int, str], PhaseTimes]
"""(api key, phase) -> its durations, over all versions."""


class RecentTimes:
    """The snapshots of one broker."""

    def __init__(self) -> None:
        self._snapshots: deque[tuple[int, Times]] = deque()

    def update(self, now_us: int, requests: list[dict[str, Any]]) -> tuple[Times, Times]:
        """Return the times since the broker's start, and those of the window.

        Args:
            now_us: the broker's monotonic clock.
            requests: as the broker tells them.
        """
        snapshots = self._snapshots
        if snapshots and snapshots[-1][0] > now_us:
            snapshots.clear()  # another broker
        now = times_of(requests)
        while len(snapshots) > 1 and snapshots[1][0] <= now_us - WINDOW_US:
            snapshots.popleft()
        before = snapshots[0][1] if snapshots else {}
        if not snapshots or now_us - snapshots[-1][0] >= SNAPSHOT_INTERVAL_US:
            snapshots.append((now_us, now))
        return now, {key: _difference(times, before.get(key)) for key, times in now.items()}


def times_of(requests: list[dict[str, Any]]) -> Times:
    """Return the times by API and phase of what the broker tells by API and version."""
    found: Times = {}
    for entry in requests:
        for phase in PHASES:
            told = entry[phase]
            buckets = dict(map(tuple, told["buckets"]))
            zeros = entry["requests"] - sum(buckets.values())
            times = found.setdefault((entry["api_key"], phase), PhaseTimes())
            times.add(buckets, zeros, told["sum_us"])
    return found


def flushes_as_requests(times: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the times of syncs of logs as those of requests are told, so that they are kept alike.

    They are found under FLUSHES afterwards.
    """
    nothing = {"sum_us": 0, "buckets": []}
    count = sum(count for _, count in times["buckets"])
    api_key, phase = FLUSHES
    return [{"api_key": api_key, "requests": count, **dict.fromkeys(PHASES, nothing), phase: times}]


def _difference(now: PhaseTimes, before: PhaseTimes | None) -> PhaseTimes:
    made = PhaseTimes()
    made.add(now.buckets, now.zeros, now.sum_us)
    if before is not None:
        made.add({bucket: -count for bucket, count in before.buckets.items()}, -before.zeros, -before.sum_us)
    return made
