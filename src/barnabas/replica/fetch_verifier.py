"""`fetch.verify.crc`: no batch is served whose checksum, or whose place, is not right.

Each slice of a fetch is checked before its answer is made. What is damaged is left out: the good batches
before it are served, and a fetch that begins with it hears CORRUPT_MESSAGE for that partition, and nobody
else hears anything. Small slices in memory are checked on the loop; all others by a helper, as a look-up that
meets a cold page is (F44): the whole fetch is made anew when that is done, and finds the verdict in its
FetchParams, so that nothing of a first read is kept over a wait.

Rejected: checking on the way to the socket. The answer's error code is out by then, and only closing the
connection would be left, for everything that the fetch asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from barnabas.base.cold_reads import ColdReadError
from barnabas.base.dataclass import dataclass
from barnabas.base.errors import ErrorCode
from barnabas.base.hints import Final
from barnabas.base.limits import FETCH_DAMAGE_REMEMBERED_MAX
from barnabas.base.logger import Logger
from barnabas.base.region import FileSlice, LeasedFile
from barnabas.replica.fetch import FetchParams, FetchPartition, FetchPartitionResult
from barnabas.replica.partition import Partition
from barnabas.storage.segment import LogSegment
from barnabas.storage.slice_check import CheckedSlice, SliceQuestion, check_slice, ends_soundly

_log = Logger(__name__)

CHECKED_ON_LOOP_BYTES_MAX: Final = 128 * 1024
"""Of one slice in memory: 20 to 40 us of reading and checking, less than handing it over and back."""

CHECKED_AT_ONCE_BYTES_MAX: Final = 4 * 1024 * 1024
"""Of one slice that may not be set aside any more: a fetch that waited, or one that was tried too often."""

ReadAgain = Callable[[], FetchPartitionResult]


@dataclass(slots=True, kw_only=True)
class VerifyStatistics:
    """What was checked.

    Attributes:
        checked_bytes: of slices, each as often as it was to be served.
        on_helper_bytes: of these, checked off the loop.
        damaged: places where damage was found, each once as far as they are remembered.
        refused: answers with CORRUPT_MESSAGE for what was found here.
    """

    checked_bytes: int = 0
    on_helper_bytes: int = 0
    damaged: int = 0
    refused: int = 0


class FetchVerifier:
    """Checks slices before they are answered with. For the loop's thread.

    Attributes:
        statistics: what was checked.
    """

    __slots__ = ("_known", "statistics")

    def __init__(self) -> None:
        self.statistics = VerifyStatistics()
        self._known: dict[tuple[str, int], None] = {}  # damage that was told of

    def verified(
        self,
        partition: Partition,
        request: FetchPartition,
        params: FetchParams,
        result: FetchPartitionResult,
        read_again: ReadAgain,
    ) -> FetchPartitionResult:
        """Return a result of which every whole batch is right, or an error.

        Args:
            result: with records; released when something else is returned.
            read_again: as `result` was read.

        Raises:
            ColdReadError: a helper checks it; try again then. `result` is released.
            ApiError: KAFKA_STORAGE_ERROR, CORRUPT_MESSAGE.
        """
        records = result.records
        assert records is not None
        segment = partition.log.segments.floor(result.offset_metadata.segment_base_offset)
        assert segment is not None
        try:
            checked = self._checked(partition, segment, request, params, records)
        except OSError as error:
            records.release()
            raise partition.log.directory.failed(error, f"checking {partition.log.name}") from error
        except BaseException:
            records.release()
            raise
        if checked.misled and not segment.indexes_rebuilt:
            records.release()
            _log.warning(
                "%s: its index leads behind offset %d, it is made anew", records.path, request.fetch_offset
            )
            segment.rebuild_indexes()
            params.checked = None
            again = read_again()
            if again.records is None:
                return again
            return self.verified(partition, request, params, again, read_again)
        damage = checked.damage
        if damage is None and (checked.misled or self._follows_damage(partition, segment, request, records)):
            damage = f"offset {request.fetch_offset} should lie before byte {records.position}"
            checked = CheckedSlice(good_end=records.position, damage=damage, misled=True, guard=checked.guard)
        if damage is not None:
            self._tell(partition, records.path, checked.good_end, damage)
        return self._cut(result, records, checked)

    def _checked(
        self,
        partition: Partition,
        segment: LogSegment,
        request: FetchPartition,
        params: FetchParams,
        records: FileSlice,
    ) -> CheckedSlice:
        key = (records.leased, records.position)
        known = None if params.checked is None else params.checked.get(key)
        if known is not None:
            return known
        length = records.length
        on_loop = params.may_wait or (
            length <= CHECKED_ON_LOOP_BYTES_MAX and records.leased.file.is_cached(records.position, length)
        )
        if params.may_wait:
            length = min(length, max(CHECKED_AT_ONCE_BYTES_MAX, _first_batch_bytes(records)))
        question = _question(partition, segment, request, records, length)
        self.statistics.checked_bytes += length
        if on_loop:
            return check_slice(records.leased.file, question)
        self.statistics.on_helper_bytes += length
        if params.checked is None:
            params.checked = {}
        work = partial(_check_for, params.checked, key, question)
        raise ColdReadError(records.leased, records.position, length, work)

    def _follows_damage(
        self, partition: Partition, segment: LogSegment, request: FetchPartition, records: FileSlice
    ) -> bool:
        """Whether the offset asked for may have been lost at the end of the segment before."""
        if records.position or segment.base_offset <= request.fetch_offset:
            return False
        before = partition.log.segments.floor(request.fetch_offset)
        if before is None or before is segment or not before.size:
            return False
        walk_from = before.offset_index.position_before(before.size)
        return not ends_soundly(before.leased.file, walk_from, before.size)

    def _cut(
        self, result: FetchPartitionResult, records: FileSlice, checked: CheckedSlice
    ) -> FetchPartitionResult:
        """Leave out what is not good."""
        good_bytes = min(checked.good_end - records.position, records.length)
        if good_bytes <= 0:
            records.release()
            self.statistics.refused += 1
            return FetchPartitionResult(ErrorCode.CORRUPT_MESSAGE)
        if good_bytes < records.length:
            result.records = FileSlice(records.leased, records.position, good_bytes)
            records.release()
            records = result.records
        records.guard = checked.guard
        return result

    def _tell(self, partition: Partition, path: str, position: int, damage: str) -> None:
        """Log damage once."""
        if (path, position) in self._known:
            return
        self.statistics.damaged += 1
        if len(self._known) >= FETCH_DAMAGE_REMEMBERED_MAX:
            del self._known[next(iter(self._known))]
        self._known[path, position] = None
        _log.error(
            "%s is damaged and not served from byte %d of %s on: %s; see `barnabas doctor`",
            partition.log.name, position, path, damage,
        )  # fmt: skip


def _question(
    partition: Partition, segment: LogSegment, request: FetchPartition, records: FileSlice, length: int
) -> SliceQuestion:
    log = partition.log
    higher = log.segments.higher(segment.base_offset)
    epochs = log.leader_epochs.entries
    known = log.leader_epochs.epoch_for(segment.base_offset)
    return SliceQuestion(
        position=records.position,
        length=length,
        walk_from=segment.offset_index.position_before(records.position),
        segment_size=segment.size,
        base_offset=segment.base_offset,
        fetch_offset=request.fetch_offset,
        offset_limit=log.log_end_offset if higher is None else higher.base_offset,
        may_skip=log.config.compact,
        # Of the segment; where its beginning is of no known epoch, nothing can be said.
        epochs=tuple([entry for entry in epochs if entry.epoch >= known]) if known >= 0 else (),
    )


def _first_batch_bytes(records: FileSlice) -> int:
    """Return how long the first batch says it is: it is served whole, whatever the limits (F7)."""
    head = records.leased.file.read_at(records.position, 12)
    return int.from_bytes(head[8:], "big") + 12


def _check_for(
    checked: dict[tuple[LeasedFile, int], CheckedSlice], key: tuple[LeasedFile, int], question: SliceQuestion
) -> None:
    """Run by a helper thread; the fetch that `checked` belongs to reads it afterwards only."""
    checked[key] = check_slice(key[0].file, question)
