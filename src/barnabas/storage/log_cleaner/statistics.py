"""What the log cleaner tells of itself: the figures of Apache Kafka's beans, and the words in the broker's
log."""

from __future__ import annotations

from barnabas.base.dataclass import dataclass
from barnabas.storage.compaction.task import CleaningResult, CleaningStatistics
from barnabas.storage.log_cleaner.run import CleaningRun


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningCleaning:
    """A cleaning under way.

    Attributes:
        name: of the log.
        bytes_done, bytes_expected: read, and to be read at most.
    """

    name: str
    elapsed_ms: int
    bytes_done: int
    bytes_expected: int

    @classmethod
    def of(cls, run: CleaningRun, now_ms: int) -> RunningCleaning:
        """Look at a run; `now_ms` is monotonic."""
        done, expected = (0, run.found.total_bytes) if run.cleaning is None else run.cleaning.progress
        return cls(
            name=run.log.name,
            elapsed_ms=now_ms - run.began_ms,
            bytes_done=done,
            bytes_expected=expected,
        )

    @property
    def share(self) -> float:
        """How much of it is done, from 0.0 to 1.0."""
        return min(1.0, self.bytes_done / self.bytes_expected) if self.bytes_expected else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanerStatistics:
    """The cleaner's figures.

    Attributes:
        cleaned: cleanings that were completed since the start.
        last: of the last cleanings, as many as may run at one time: what Kafka's threads tell.
        load_factor: how full the table of keys may get.
        max_dirty_ratio: of the dirtiest log, when the logs were last looked at.
        max_compaction_delay_ms: the longest that one was dirty beyond max.compaction.lag.ms then.
        time_since_last_run_ms: since the logs were looked at.
        waiting_after_crash: cleanings whose process died and that wait to be begun again.
        uncleanable: by directory, logs that are not cleaned since they are damaged, and their dirty bytes.
    """

    cleaned: int
    running: list[RunningCleaning]
    last: list[CleaningStatistics]
    load_factor: float
    max_dirty_ratio: float
    max_compaction_delay_ms: int
    time_since_last_run_ms: int
    waiting_after_crash: int
    uncleanable: dict[str, tuple[int, int]]

    def figures(self) -> dict[str, object]:
        """Return Kafka's figures and what is under way, in plain values."""
        read = sum([one.bytes_read for one in self.last])
        written = sum([one.bytes_written for one in self.last])
        full = max([one.map_entries / max(1, one.map_entries_max) for one in self.last], default=0.0)
        return {
            "cleaned": self.cleaned,
            "recopy_percent": int(100 * written / max(1, read)),
            "max_buffer_utilization_percent": int(100 * full * self.load_factor),
            "max_clean_time_secs": max([one.elapsed_ms for one in self.last], default=0) // 1000,
            "max_compaction_delay_secs": self.max_compaction_delay_ms // 1000,
            "max_dirty_percent": int(100 * self.max_dirty_ratio),
            "time_since_last_run_ms": self.time_since_last_run_ms,
            "dead_thread_count": self.waiting_after_crash,
            "uncleanable": [[path, *counts] for path, counts in sorted(self.uncleanable.items())],
            "running": [
                {
                    "log": one.name,
                    "elapsed_ms": one.elapsed_ms,
                    "bytes_done": one.bytes_done,
                    "bytes_expected": one.bytes_expected,
                }
                for one in self.running
            ],
        }


def describe(run: CleaningRun, result: CleaningResult, now_ms: int) -> str:
    """Say in a line what a cleaning did; `now_ms` is monotonic."""
    did = result.statistics
    replaced = sum([len(group.replaced) for group in result.groups])
    text = (
        f"cleaned {run.log.name} from offset {run.found.first_dirty_offset} to {result.cleaned_to_offset} in "
        f"{(now_ms - run.began_ms) / 1000:.1f} s: {replaced} segments of "
        f"{did.bytes_read} bytes became {len(result.groups)} of {did.bytes_written}; "
        f"{did.records_written} of {did.records_read} records stay, {did.map_entries} keys were compared"
    )
    if did.throttled_ms:
        text += (
            f"; {did.throttled_ms / 1000:.1f} s were waited to stay below log.cleaner.io.max.bytes.per.second"
        )
    if did.invalid_records:
        text += f"; {did.invalid_records} records without a key were dropped"
    return text
