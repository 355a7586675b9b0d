"""One cleaning, from the offset map to the `.cleaned` files: Apache Kafka's log cleaner on one log.

First the dirty range is read for the latest offset of each key, as far as the map has room; then all segments
from the log's beginning to there are read again, and what stays is written to new ones. Old segments are only
read, so that nothing is lost whenever it ends. A new segment that would be as the old one is not kept: the
old one may be in memory, and consumers may be reading it.

It runs wherever its disk and clock are: in a process of its own (cleaning_process.py), or in this one.
"""

from collections.abc import Callable, Iterator, Sequence

from barnabas.base.clock import Clock
from barnabas.base.disk import Disk, DiskFile
from barnabas.base.errors import DecodeError
from barnabas.protocol.record_batch import BatchHeader
from barnabas.protocol.record_places import iter_record_places
from barnabas.storage.compaction.batch_filter import BatchFilter, control_type_of, records_of
from barnabas.storage.compaction.cleaned_segment import (
    CleanedSegment,
    CleaningDamageError,
    remove_cleaned_files,
)
from barnabas.storage.compaction.grouping import SizedSegment, group_segments
from barnabas.storage.compaction.offset_map import OffsetMap
from barnabas.storage.compaction.segment_pieces import Piece, read_pieces
from barnabas.storage.compaction.task import (
    CleanedGroup,
    CleaningFailure,
    CleaningProgress,
    CleaningResult,
    CleaningStatistics,
    CleaningTask,
    FailureKind,
    SegmentToClean,
)
from barnabas.storage.compaction.throttle import Throttle
from barnabas.storage.compaction.transactions import CleanedTransactions
from barnabas.storage.compaction.verdicts import Verdicts
from barnabas.storage.indexes.transaction_index import AbortedTransaction, TransactionIndex
from barnabas.storage.segment import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    file_stem,
)


class CleaningAbortedError(Exception):
    """Somebody asked a cleaning to end."""


class InProcessCleaning:
    """A cleaning in this process, on whatever thread calls `run`.

    Args:
        sleep_ms: pauses that thread, for the bound on I/O.
        on_progress: called after each read, with how far it is; may raise CleaningAbortedError.
    """

    def __init__(
        self,
        task: CleaningTask,
        disk: Disk,
        clock: Clock,
        sleep_ms: Callable[[int], None],
        on_progress: Callable[[CleaningProgress], None] | None = None,
    ) -> None:
        self._task = task
        self._disk = disk
        self._clock = clock
        self._on_progress = on_progress
        self._is_aborted = False
        self._bytes_done = 0
        dirty = _dirty_segments(task)
        self._bytes_expected = task.size_bytes + sum(segment.size_bytes for segment in dirty)
        bases = [segment.base_offset for segment in task.segments]
        # Where each segment's offsets end: at the next one's.
        self._ends = dict(zip(bases, [*bases[1:], task.first_uncleanable_offset], strict=True))
        self._statistics = CleaningStatistics()
        self._throttle = Throttle(task.io_bytes_per_second_max, clock, sleep_ms, self._check)

    @property
    def progress(self) -> CleaningProgress:
        """How far it has come."""
        return CleaningProgress(self._bytes_done, self._bytes_expected)

    def abort(self) -> None:
        """Make `run` end soon; from any thread, any time."""
        self._is_aborted = True

    def run(self) -> CleaningResult:
        """Clean the log; see `task.Cleaning`."""
        task = self._task
        try:
            cleaned_to_offset, groups = self._clean()
        except CleaningAbortedError:
            failure = CleaningFailure(kind=FailureKind.ABORTED, message="aborted")
        except (CleaningDamageError, DecodeError) as error:
            failure = CleaningFailure(kind=FailureKind.CORRUPT, message=str(error))
        except OSError as error:
            failure = CleaningFailure(kind=FailureKind.IO, message=str(error), errno=error.errno or 0)
        else:
            return CleaningResult(
                cleaned_to_offset=cleaned_to_offset, groups=tuple(groups), statistics=self._statistics
            )
        remove_cleaned_files(self._disk, task.path)
        return CleaningResult(
            cleaned_to_offset=task.first_dirty_offset,
            groups=(),
            statistics=self._statistics,
            failure=failure,
        )

    def _check(self) -> None:
        if self._is_aborted:
            raise CleaningAbortedError
        if self._on_progress is not None:
            self._on_progress(self.progress)

    def _count_read(self, size_bytes: int) -> None:
        self._bytes_done += size_bytes
        self._check()
        self._throttle.count(size_bytes)

    def _clean(self) -> tuple[int, list[CleanedGroup]]:
        task, statistics = self._task, self._statistics
        started_us = self._clock.monotonic_us()
        remove_cleaned_files(self._disk, task.path)
        aborted = self._aborted_transactions()
        offset_map, verdicts = self._build_map(aborted)
        statistics.map_elapsed_ms = (self._clock.monotonic_us() - started_us) // 1000
        cleaned_to_offset = offset_map.latest_offset + 1
        batch_filter = BatchFilter(
            offset_map=offset_map,
            verdicts=verdicts,
            transactions=CleanedTransactions(aborted),
            active_producers=task.active_producers,
            high_watermark=task.first_uncleanable_offset
            if task.high_watermark is None
            else task.high_watermark,
            now_ms=task.now_ms,
            delete_retention_ms=task.delete_retention_ms,
            statistics=statistics,
        )
        groups = group_segments(
            [self._sized(segment) for segment in task.segments if segment.base_offset < cleaned_to_offset],
            segment_bytes_max=task.segment_bytes,
            index_bytes_max=task.segment_index_bytes,
            first_uncleanable_offset=task.first_uncleanable_offset,
        )
        cleaned = [self._clean_group(group, batch_filter) for group in groups]
        self._disk.sync_dir(task.path)
        statistics.throttled_ms = self._throttle.slept_ms
        statistics.elapsed_ms = (self._clock.monotonic_us() - started_us) // 1000
        return cleaned_to_offset, [group for group in cleaned if group is not None]

    # What is known of the log ------------------------------------------------------------------

    def _aborted_transactions(self) -> list[AbortedTransaction]:
        aborted = list(self._task.aborted_beyond)
        for segment in self._task.segments:
            path = file_stem(self._task.path, segment.base_offset) + TRANSACTION_INDEX_SUFFIX
            try:
                aborted += TransactionIndex.load(self._disk, path).entries
            except ValueError as error:
                raise CleaningDamageError(str(error)) from None
        return aborted

    def _sized(self, segment: SegmentToClean) -> SizedSegment:
        stem = file_stem(self._task.path, segment.base_offset)
        sizes = [
            self._disk.size(stem + suffix) if self._disk.exists(stem + suffix) else 0
            for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX)
        ]
        return SizedSegment(segment, *sizes)

    def _pieces(self, file: DiskFile, segment: SegmentToClean) -> Iterator[Piece]:
        offsets = range(segment.base_offset, self._ends[segment.base_offset])
        return read_pieces(file, segment.size_bytes, offsets, self._task.io_buffer_bytes, self._count_read)

    # The offset map ----------------------------------------------------------------------------

    def _build_map(self, aborted: Sequence[AbortedTransaction]) -> tuple[OffsetMap, Verdicts]:
        """Read the dirty range as far as the map holds it."""
        task, statistics = self._task, self._statistics
        first_dirty = task.first_dirty_offset
        offsets_count = max(task.first_uncleanable_offset - first_dirty, 1)
        verdicts = Verdicts(first_dirty, offsets_count)
        offset_map = OffsetMap(
            task.dedupe_buffer_bytes, task.dedupe_load_factor, verdicts, offsets_count, task.hash_seed
        )
        # What ended before the dirty range must not be taken for ongoing in it.
        transactions = CleanedTransactions(
            transaction for transaction in aborted if transaction.last_offset >= first_dirty
        )
        dirty = _dirty_segments(task)
        for segment in dirty:
            if not self._map_segment(segment, offset_map, transactions):
                break
            # Offsets that are missing at the segment's end are known to be missing.
            offset_map.note_read_to(self._ends[segment.base_offset] - 1)
        statistics.map_entries, statistics.map_entries_max = offset_map.entries, offset_map.entries_max
        return offset_map, verdicts

    def _map_segment(
        self, segment: SegmentToClean, offset_map: OffsetMap, transactions: CleanedTransactions
    ) -> bool:
        """Put a segment's keys into the map; False when it got full."""
        first_dirty = self._task.first_dirty_offset
        statistics = self._statistics
        file = self._disk.open_readonly(file_stem(self._task.path, segment.base_offset) + LOG_SUFFIX)
        try:
            for piece in self._pieces(file, segment):
                for batch, header in piece:
                    statistics.map_bytes_read += len(batch)
                    if header.last_offset < first_dirty:
                        continue
                    if header.is_control:
                        transactions.on_marker(
                            header.last_offset, header.producer_id, control_type_of(batch, header)
                        )
                        statistics.map_records_read += 1
                    elif transactions.on_data_batch(
                        header.last_offset, header.producer_id, is_transactional=header.is_transactional
                    ):
                        statistics.map_records_read += header.records_count
                    else:
                        records_read = _map_batch(batch, header, offset_map, first_dirty)
                        statistics.map_records_read += records_read
                        if records_read < header.records_count:
                            return False
                    offset_map.note_read_to(header.last_offset)
        finally:
            file.close()
        return True

    # Writing -----------------------------------------------------------------------------------

    def _clean_group(self, group: Sequence[SegmentToClean], batch_filter: BatchFilter) -> CleanedGroup | None:
        """Write one new segment; None when the old one is as good."""
        task = self._task
        cleaned = CleanedSegment(self._disk, task.path, group[0].base_offset, task.index_interval_bytes)
        try:
            has_changed = len(group) > 1
            for segment in group:
                has_changed |= self._clean_segment(segment, cleaned, batch_filter)
            if has_changed:
                return cleaned.finish(group)
        finally:
            cleaned.close()
        cleaned.remove()
        self._statistics.segments_unchanged += 1
        return None

    def _clean_segment(
        self, segment: SegmentToClean, cleaned: CleanedSegment, batch_filter: BatchFilter
    ) -> bool:
        """Write what stays of a segment; return whether anything is different from before."""
        statistics = self._statistics
        has_changed = False
        file = self._disk.open_readonly(file_stem(self._task.path, segment.base_offset) + LOG_SUFFIX)
        try:
            for piece in self._pieces(file, segment):
                kept = []
                for batch, header in piece:
                    statistics.bytes_read += len(batch)
                    stays = batch_filter.filter(batch, header)
                    if stays is not None:
                        kept.append(stays)
                        has_changed |= stays.content is not batch
                    else:
                        has_changed = True
                written = cleaned.append(kept)
                statistics.bytes_written += written
                self._throttle.count(written)
                for transaction in batch_filter.aborted_kept:
                    cleaned.add_aborted(transaction)
                batch_filter.aborted_kept.clear()
        finally:
            file.close()
        return has_changed


def _dirty_segments(task: CleaningTask) -> list[SegmentToClean]:
    """Return the segments that hold the dirty range."""
    segments = task.segments
    first = 0
    while first + 1 < len(segments) and segments[first + 1].base_offset <= task.first_dirty_offset:
        first += 1
    return list(segments[first:])


def _map_batch(batch: bytes, header: BatchHeader, offset_map: OffsetMap, first_dirty: int) -> int:
    """Put a batch's keys into the map; return how many records were looked at: fewer when it got full."""
    base_offset, count = header.base_offset, header.records_count
    is_dense = count == header.last_offset_delta + 1
    for places in iter_record_places(
        records_of(batch, header), count, is_dense=is_dense, offset_delta_max=header.last_offset_delta
    ):
        offsets: Sequence[int]
        if is_dense:
            first = base_offset + places.first_index
            offsets = range(first, first + len(places.keys))
        else:
            offsets = [base_offset + delta for delta in places.offset_deltas]
        keys, valueless = places.keys, places.valueless
        clean = 0
        if base_offset < first_dirty:
            clean = sum(offset < first_dirty for offset in offsets)
            keys, offsets = keys[clean:], offsets[clean:]
            valueless = [number - clean for number in valueless if number >= clean]
        taken = offset_map.put_all(keys, offsets, valueless)
        if taken < len(keys):
            return places.first_index + clean + taken
    return count
