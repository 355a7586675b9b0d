"""Compaction: which log is cleaned when, and what comes of it. The work itself is done elsewhere.

Every so often all compacted logs are looked at, some in each turn of the loop, and the dirtiest are given to
cleanings, `log.cleaner.threads` at a time. A cleaning runs on a helper thread, which waits for a process of
its own (`compaction/`), and leaves new segments beside the old ones. The loop swaps them in by renaming
(`segment_replacement.py`) and notes how far the log is clean, for the checkpoint.

Whoever cuts, moves or deletes a log need not know of this: the log tells its claim (`CleaningClaim`), and the
cleaning ends. A log whose cleaning says that it is damaged is left alone from then on; others go on.

A log is synced to its end before it is cleaned. A record that supersedes another, or ends its transaction, is
then not lost when the other is gone; and a start that checks a log behind its recovery point meets no gaps
that it could take for losses.

Rejected: Apache Kafka's thread that loops for ever. Everything it looks at and changes would need locks here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial

from barnabas.base.clock import Clock
from barnabas.base.entropy import Entropy
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import TYPE_CHECKING, Final
from barnabas.base.logger import Logger
from barnabas.base.worker import RunBlocking
from barnabas.storage.compaction.task import CleaningFactory, CleaningResult, FailureKind
from barnabas.storage.log import Log
from barnabas.storage.log_cleaner import selection
from barnabas.storage.log_cleaner.config import CleanerConfig
from barnabas.storage.log_cleaner.run import CleaningRun
from barnabas.storage.log_cleaner.selection import LogToClean
from barnabas.storage.log_cleaner.statistics import CleanerStatistics, RunningCleaning, describe
from barnabas.storage.log_cleaner.task import make_task
from barnabas.storage.log_cleaner.trouble import CleanerTrouble
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.topic_partition import TopicPartition

if TYPE_CHECKING:
    from barnabas.storage.log_manager import LogManager

log = Logger(__name__)

LOGS_PER_PIECE: Final = 64
"""Compacted logs looked at in one turn of the loop: a millisecond or two."""

LOGS_PASSED_PER_PIECE: Final = 5_000
"""Logs that are not compacted and passed over in one turn."""

REPORT_INTERVAL_MS: Final = 60_000
"""How often the progress of cleanings is told in the log."""

CallLater = Callable[[int, Callable[[], None]], object]
CallSoon = Callable[[Callable[[], None]], object]


class LogCleaner:
    """Cleans the compacted logs of a broker. For the loop's thread.

    Args:
        manager: whose logs are cleaned.
        make_cleaning: makes what does the work of one task.
        run_cleaning: where it runs: on as many threads as there may be cleanings.
        run_blocking: where directories are synced.
        call_later, call_soon: run a call in a later turn of the loop, after so many milliseconds or in the
            next.
        expire: has what retention allows deleted from a log, now or soon: those that are compacted and
            deleted from are looked at here every time, as in Kafka, since a cleaning holds their segments.

    Attributes:
        running: cleanings that have not ended, by log.
        trouble: logs that are not cleaned, and why.
    """

    def __init__(
        self,
        manager: LogManager,
        *,
        config: CleanerConfig,
        clock: Clock,
        entropy: Entropy,
        make_cleaning: CleaningFactory,
        run_cleaning: RunBlocking,
        run_blocking: RunBlocking,
        call_later: CallLater,
        call_soon: CallSoon,
        expire: Callable[[TopicPartition], None],
    ) -> None:
        self._manager = manager
        self._expire = expire
        self._config = config
        self._clock = clock
        self._entropy = entropy
        self._make_cleaning = make_cleaning
        self._run_cleaning = run_cleaning
        self._run_blocking = run_blocking
        self._call_later = call_later
        self._call_soon = call_soon
        self.running: dict[TopicPartition, CleaningRun] = {}
        self.trouble = CleanerTrouble(clock.monotonic_ms)
        self._candidates: list[tuple[TopicPartition, Log, LogToClean]] = []
        self._scan: Iterator[None] | None = None
        self._timer = 0  # of the timers that were set the last one counts
        self._is_reporting = False
        self._is_stopped = False
        self._last_runs: deque[CleaningResult] = deque(maxlen=max(1, config.threads))
        self._last_scan_ms = clock.monotonic_ms()
        self._max_dirty_ratio = 0.0
        self._max_delay_ms = 0
        self._cleaned = 0

    # What others ask for -------------------------------------------------------------------------

    def start(self) -> None:
        """Look for what is to be cleaned, now and from now on."""
        self._call_soon(self._begin_scan)

    def stop(self) -> None:
        """End all cleanings, and begin no more."""
        self._is_stopped = True
        for run in list(self.running.values()):
            self._end(run)

    def reconfigure(self, config: CleanerConfig) -> None:
        """Go on by other configs; cleanings under way begin anew by them, as in Kafka."""
        if config == self._config:
            return
        self._config = config
        self._last_runs = deque(self._last_runs, maxlen=max(1, config.threads))
        for run in list(self.running.values()):
            self._end(run)
        self._call_soon(self._begin_scan)

    def policies_changed(self) -> None:
        """End the cleanings of logs that are not to be compacted any more, as Kafka does."""
        for run in list(self.running.values()):
            if not run.log.config.compact:
                self._end(run)

    def abort(self, key: TopicPartition) -> None:
        """End the cleaning of a log, if there is one; it may be begun again.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR, what is not in yet could not be removed.
        """
        run = self.running.get(key)
        if run is not None and run.log.cleaning is run:
            run.log.end_cleaning()

    def abandon(self) -> None:
        """Let go of the files of syncs that will not come back: the thread that ran them has ended."""
        for run in self.running.values():
            if run.flush is not None:
                run.flush.release()
                run.flush = None

    def directory_failed(self, directory: LogDirectory) -> None:
        """End the cleanings of a directory that is offline."""
        for run in list(self.running.values()):
            if run.log.directory is directory:
                self._end(run)

    def statistics(self) -> CleanerStatistics:
        """Return the figures of Kafka's cleaner, and how far the cleanings under way are."""
        now_ms = self._clock.monotonic_ms()
        return CleanerStatistics(
            cleaned=self._cleaned,
            running=[
                RunningCleaning.of(run, now_ms) for run in self.running.values() if run.log.cleaning is run
            ],
            last=[result.statistics for result in self._last_runs],
            load_factor=self._config.dedupe_load_factor,
            max_dirty_ratio=self._max_dirty_ratio,
            max_compaction_delay_ms=self._max_delay_ms,
            time_since_last_run_ms=now_ms - self._last_scan_ms,
            waiting_after_crash=min(self.trouble.crashed, max(1, self._config.threads)),
            uncleanable=self._uncleanable_by_directory(),
        )

    # Looking -------------------------------------------------------------------------------------

    def _begin_scan(self) -> None:
        if self._is_stopped or self._scan is not None or len(self.running) >= self._config.threads:
            return
        self._timer += 1
        self._last_scan_ms = self._clock.monotonic_ms()
        self.trouble.forget_unless(self._manager.logs)
        self._candidates = []
        self._max_dirty_ratio, self._max_delay_ms = 0.0, 0
        self._scan = self._look_at_all()
        self._go_on_looking()

    def _go_on_looking(self) -> None:
        if self._is_stopped or self._scan is None:
            return
        for _ in self._scan:
            self._call_soon(self._go_on_looking)
            return
        self._scan = None
        self._choose()

    def _look_at_all(self) -> Iterator[None]:
        """Find the candidates; yield where others may have their turn."""
        room = 0
        for key, known in list(self._manager.logs.items()):
            room += 1
            if "compact" in known.config.cleanup_policy and self._manager.logs.get(key) is known:
                room += LOGS_PASSED_PER_PIECE // LOGS_PER_PIECE
                self._look_at(key, known)
            if room >= LOGS_PASSED_PER_PIECE:
                room = 0
                yield

    def _look_at(self, key: TopicPartition, known: Log) -> None:
        if not known.directory.online or key in self.running or self.trouble.is_uncleanable(key, known):
            return
        if key in self._manager.moving:
            return  # to another directory: what is copied is not to change
        high_watermark = self._manager.retention_high_watermark(key)
        if high_watermark is None:
            return
        if known.config.delete:
            self._expire(key)
        if len(known.segments) == 1:
            return  # the active segment is never cleaned
        checkpointed = self._manager.checkpoints.cleaner_offsets.get(key)
        try:
            found = selection.measure(known, checkpointed, high_watermark, self._clock.wall_ms())
        except OSError as error:
            known.directory.failed(error, f"looking for what to clean in {known.name}")
            return
        except ApiError as error:
            if error.code is not ErrorCode.KAFKA_STORAGE_ERROR:
                self.trouble.mark_uncleanable(key, known, str(error))
            return
        if found.is_reset:
            self._note_cleaned_to(key, known, found.first_dirty_offset)
        if found.total_bytes == 0:
            return
        self._max_dirty_ratio = max(self._max_dirty_ratio, found.cleanable_ratio)
        self._max_delay_ms = max(self._max_delay_ms, found.compaction_delay_ms)
        if found.is_due(known.config.min_cleanable_dirty_ratio):
            self._candidates.append((key, known, found))

    def _choose(self) -> None:
        """Begin to clean the dirtiest."""
        self._candidates.sort(key=_dirtiness, reverse=True)
        wait_ms = self._config.backoff_ms
        for key, known, found in self._candidates:
            if len(self.running) >= self._config.threads:
                break
            if self._manager.logs.get(key) is not known or not known.directory.online:
                continue
            if (
                key in self._manager.moving
                or known.segments.active.base_offset < found.first_uncleanable_offset
            ):
                continue  # it changed while others were looked at
            if self.trouble.may_try(key):
                self._clean(key, known, found)
        self._candidates = []
        wait_ms = min(wait_ms, self.trouble.next_try_in_ms(wait_ms))
        self._timer += 1
        self._call_later(max(1, wait_ms), partial(self._timer_rang, self._timer))

    def _timer_rang(self, timer: int) -> None:
        if timer == self._timer:
            self._begin_scan()

    # Cleaning ------------------------------------------------------------------------------------

    def _clean(self, key: TopicPartition, known: Log, found: LogToClean) -> None:
        """Take hold of a log, and have it synced first."""
        assert known.cleaning is None, f"{known.name} is being cleaned"
        run = CleaningRun(key, known, found, self._clock.monotonic_ms())
        self.running[key] = known.cleaning = run
        try:
            run.flush = known.begin_flush()
        except ApiError as error:
            log.debug("%s", error)  # its directory failed, which was told
            self._over(run)
            return
        if run.flush is None:
            self._begin(run)
        else:
            self._run_blocking(run.flush.run, partial(self._is_flushed, run))

    def _is_flushed(self, run: CleaningRun, error: OSError | None) -> None:
        work, run.flush = run.flush, None
        if work is None:
            return  # `abandon` was quicker
        try:
            run.log.finish_flush(work, error)
        except ApiError as failure:
            log.debug("%s", failure)
            run.is_ended = True
        if run.is_ended or run.log.recovery_point < run.found.first_uncleanable_offset:
            self._over(run)
        else:
            self._begin(run)

    def _begin(self, run: CleaningRun) -> None:
        """Give a log that is synced to a cleaning."""
        known, found = run.log, run.found
        seed = int.from_bytes(self._entropy.random_bytes(8), "big")
        try:
            task = make_task(
                known, found, self._config, now_ms=self._clock.wall_ms(), hash_seed=seed,
                high_watermark=self._manager.retention_high_watermark(run.key),
            )  # fmt: skip
        except OSError as error:
            known.directory.failed(error, f"looking at segments of {known.name}")
            self._over(run)
            return
        except ValueError as error:
            self.trouble.mark_uncleanable(run.key, known, str(error))
            self._over(run)
            return
        # How much is synced is on the disk before anything is swapped in: see `_is_cleaned`.
        self._manager.checkpoints.write_recovery_points()
        run.cleaning = self._make_cleaning(task)
        log.info(
            "cleaning %s: %d of %d bytes, from offset %d to %d, are dirty",
            known.name, found.cleanable_bytes, task.size_bytes, found.first_dirty_offset,
            found.first_uncleanable_offset,
        )  # fmt: skip
        if not self._is_reporting:
            self._is_reporting = True
            self._call_later(REPORT_INTERVAL_MS, self._report)
        self._run_cleaning(run.work, partial(self._is_cleaned, run))

    def _is_cleaned(self, run: CleaningRun, error: OSError | None) -> None:
        """The helper is back: new segments lie beside the old ones, or it failed."""
        result = run.result
        if result is None:
            self._failed(run, FailureKind.CRASHED, str(error))
        elif result.failure is not None:
            self._failed(run, result.failure.kind, result.failure.message, result.failure.errno)
        else:
            # Behind the checkpoint of recovery points, in its queue. Were the process killed before that is
            # written, new segments would be there whose gaps the start after the next takes for losses.
            self._run_blocking(lambda: None, lambda _: self._is_checkpointed(run, result))

    def _is_checkpointed(self, run: CleaningRun, result: CleaningResult) -> None:
        if run.is_ended:
            self._run_blocking(run.remove_files, lambda _: self._over(run))
        else:
            self._swap(run, result)

    def _swap(self, run: CleaningRun, result: CleaningResult) -> None:
        try:
            run.replacement = run.log.replace_segments(result.groups)
        except ValueError as error:  # a fault of ours: nothing takes segments away without ending the claim
            log.error("what was cleaned does not fit: %s", error)
            run.log.cleaning = None
            self._run_blocking(run.remove_files, lambda _: self._over(run))
            return
        self._step(run)

    def _step(self, run: CleaningRun) -> None:
        """Go on with putting new segments in their places."""
        if run.is_ended:
            self._over(run)
            return
        assert run.replacement is not None
        try:
            goes_on = run.log.step_replacement()
        except ApiError as error:
            log.error("%s", error)
            self._over(run)
            return
        if goes_on:
            self._run_blocking(run.replacement.run, partial(self._is_synced, run))
        else:
            self._complete(run)

    def _is_synced(self, run: CleaningRun, error: OSError | None) -> None:
        if error is not None and not run.is_ended:
            run.log.directory.failed(error, f"replacing segments of {run.log.name}")
            run.is_ended = True
        if run.replacement is not None:
            run.replacement.synced()
        self._step(run)

    def _complete(self, run: CleaningRun) -> None:
        result = run.result
        assert result is not None
        run.log.cleaning = None
        self._cleaned += 1
        self._last_runs.append(result)
        self.trouble.went_well(run.key)
        self._note_cleaned_to(run.key, run.log, result.cleaned_to_offset)
        log.info("%s", describe(run, result, self._clock.monotonic_ms()))
        self._expire(run.key)  # what had to wait
        self._over(run)

    def _note_cleaned_to(self, key: TopicPartition, cleaned: Log, offset: int) -> None:
        self._manager.checkpoints.cleaned_to(key, cleaned.directory, offset)

    # Trouble and ends ----------------------------------------------------------------------------

    def _failed(self, run: CleaningRun, kind: FailureKind, message: str, errno: int = 0) -> None:
        if run.log.cleaning is run:
            run.log.cleaning = None
        if not run.is_ended and kind is not FailureKind.ABORTED:
            self.trouble.met(run.key, run.log, kind, message, errno)
        self._over(run)

    def _end(self, run: CleaningRun) -> None:
        """End a run whatever stage it has reached; what it cannot undo, a start does."""
        if run.log.cleaning is run:
            try:
                run.log.end_cleaning()
            except ApiError as error:
                log.error("%s", error)

    def _over(self, run: CleaningRun) -> None:
        """Nothing of a run is under way any more: its log, or another, may be cleaned."""
        if run.log.cleaning is run:
            run.log.cleaning = None
        del self.running[run.key]
        self._call_soon(self._begin_scan)

    def _uncleanable_by_directory(self) -> dict[str, tuple[int, int]]:
        """Return, for each directory, how many logs are left alone, and how many dirty bytes they hold."""
        counts = {directory.path: (0, 0) for directory in self._manager.directories}
        for key in self.trouble.uncleanable:
            known = self._manager.logs.get(key)
            if known is None or not self.trouble.is_uncleanable(key, known):
                continue
            start = self._manager.checkpoints.cleaner_offsets.get(key, 0)
            dirty = sum([segment.size for segment in known.segments.from_floor(start)[:-1]])
            count, size = counts[known.directory.path]
            counts[known.directory.path] = count + 1, size + dirty
        return counts

    def _report(self) -> None:
        """Tell how far cleanings are that take long."""
        self._is_reporting = False
        now_ms = self._clock.monotonic_ms()
        for run in self.running.values():
            progress = RunningCleaning.of(run, now_ms)
            if not run.is_ended and progress.elapsed_ms >= REPORT_INTERVAL_MS:
                log.info(
                    "cleaning %s: %.0f%% of %d bytes after %d s", run.log.name, 100 * progress.share,
                    progress.bytes_expected, progress.elapsed_ms // 1000,
                )  # fmt: skip
        if self.running and not self._is_stopped:
            self._is_reporting = True
            self._call_later(REPORT_INTERVAL_MS, self._report)


def _dirtiness(candidate: tuple[TopicPartition, Log, LogToClean]) -> float:
    return candidate[2].cleanable_ratio
