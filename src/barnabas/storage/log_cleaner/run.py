"""One cleaning of one log, from its task to the swap, as the loop keeps it."""

from __future__ import annotations

from barnabas.base.hints import TYPE_CHECKING
from barnabas.storage.compaction.cleaned_segment import remove_cleaned_files
from barnabas.storage.compaction.task import Cleaning, CleaningResult
from barnabas.storage.log import Log
from barnabas.storage.log_cleaner.selection import LogToClean
from barnabas.storage.topic_partition import TopicPartition

if TYPE_CHECKING:
    from barnabas.storage.flush.work import FlushWork
    from barnabas.storage.segment_replacement import SegmentReplacement


class CleaningRun:
    """A cleaning under way; the log's claim (`CleaningClaim`).

    Args:
        began_ms: monotonic time.

    Attributes:
        flush: while the log is being synced.
        cleaning: what does the work, once all is synced.
        result: what came of the work, once the helper is back.
        replacement: once new segments are on their way in.
        is_ended: somebody changed the log, or the broker stops: nothing of it is wanted any more.
    """

    __slots__ = ("began_ms", "cleaning", "flush", "found", "is_ended", "key", "log", "replacement", "result")

    def __init__(self, key: TopicPartition, log: Log, found: LogToClean, began_ms: int) -> None:
        self.key = key
        self.log = log
        self.found = found
        self.began_ms = began_ms
        self.flush: FlushWork | None = None
        self.cleaning: Cleaning | None = None
        self.result: CleaningResult | None = None
        self.replacement: SegmentReplacement | None = None
        self.is_ended = False

    def work(self) -> None:
        """Run the cleaning; on a helper thread."""
        assert self.cleaning is not None
        self.result = self.cleaning.run()

    def end(self) -> None:
        """Stop at once; on the loop."""
        self.is_ended = True
        if self.cleaning is not None:
            self.cleaning.abort()

    def remove_files(self) -> None:
        """Unlink what a cleaning left that came too late; on a helper thread. A start removes the rest."""
        remove_cleaned_files(self.log.directory.disk, self.log.path)
