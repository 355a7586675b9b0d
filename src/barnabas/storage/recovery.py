"""Opening a log: what is trusted, what is checked, what is cut off.

After a clean stop everything is trusted; only the last segment's tail is walked to find the log's end.
Otherwise each segment from the recovery point on is read once, in large pieces into one buffer: every batch's
checksum and the order of offsets are checked, indexes, leader epochs and producer state are made anew, and
at the first bad batch the log ends: the rest of that segment is cut and later segments are deleted.
Below the recovery point everything was synced, so it is trusted as well.

A batch of the old formats 0 and 1 with a right checksum is somebody's data, not damage: it stops the
opening instead of being cut off.
"""

import logging
import zlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

from barnabas.base.clock import Clock
from barnabas.base.disk import Disk
from barnabas.base.errors import ApiError
from barnabas.protocol.checksum import crc32c
from barnabas.protocol.record_batch import HEADER, HEADER_BYTES, LOG_OVERHEAD_BYTES, MAGIC
from barnabas.storage import producer_snapshot
from barnabas.storage.batch_scan import BatchHead, read_heads
from barnabas.storage.checkpoints import LEADER_EPOCH_FILE, CheckpointError
from barnabas.storage.deletions import PendingDeletions
from barnabas.storage.leader_epochs import LeaderEpochs
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.partition_metadata import read_topic_id
from barnabas.storage.producer_replay import apply_head, rebuild_producers
from barnabas.storage.producer_state import ProducerStates
from barnabas.storage.segment import (
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    RELATIVE_OFFSET_MAX,
    SEGMENT_SUFFIXES,
    TIME_INDEX_SUFFIX,
    LogSegment,
    SealedSegmentCache,
)
from barnabas.storage.segments import Segments

log = logging.getLogger(__name__)

CLEANED_SUFFIX = ".cleaned"
SWAP_SUFFIX = ".swap"
_PIECE_BYTES = 1024 * 1024
_OFFSET_DIGITS = 20
_OLD_MAGIC_CRC_AT = 12
_OLD_MAGIC_CRC_FROM = 16
_OLD_SIZE_MIN = 26

PRODUCER_ID_EXPIRATION_MS = 86_400_000
"""producer.id.expiration.ms unless set."""

Progress = Callable[[str, int, int], None]
"""Called with (log name, bytes checked, bytes to check) while batches are checked."""


class UnsupportedLogError(Exception):
    """A log that holds what this broker cannot read and must not touch."""


class OpenResult(NamedTuple):
    """A log and what opening it did.

    Attributes:
        truncated_bytes: cut off as damaged, later segments included.
        checked_bytes: batches read and checked.
    """

    log: Log
    truncated_bytes: int
    checked_bytes: int


def open_log(
    *,
    directory: LogDirectory,
    path: str,
    topic: str,
    partition: int,
    config: LogConfig,
    clock: Clock,
    cache: SealedSegmentCache,
    deletions: PendingDeletions,
    random_below: Callable[[int], int],
    clean: bool = False,
    recovery_point: int = 0,
    log_start_offset: int = 0,
    topic_id: bytes | None = None,
    producer_expiration_ms: int = PRODUCER_ID_EXPIRATION_MS,
    progress: Progress | None = None,
) -> OpenResult:
    """Open a partition's directory, or make it.

    Args:
        path: the partition's directory.
        random_below: draws the segment jitter (Entropy.random_below).
        clean: the last stop left a marker; nothing is checked.
        recovery_point, log_start_offset: from the checkpoints of the log directory.
        topic_id: of a new log; an existing one has it in partition.metadata.

    Raises:
        ApiError: KAFKA_STORAGE_ERROR; the directory is offline then.
        UnsupportedLogError: old batch formats; nothing was changed.
    """
    opening = _Opening(
        disk=directory.disk, path=path, name=f"{topic}-{partition}", config=config, clock=clock, cache=cache,
        progress=progress,
    )  # fmt: skip
    try:
        return opening.run(
            directory, topic, partition, deletions, random_below, clean, recovery_point, log_start_offset,
            topic_id, producer_expiration_ms,
        )  # fmt: skip
    except OSError as error:
        raise directory.failed(error, f"opening {path}") from error


class _Opening:
    """The steps of one opening, and what they hand on."""

    def __init__(
        self, *, disk: Disk, path: str, name: str, config: LogConfig, clock: Clock, cache: SealedSegmentCache,
        progress: Progress | None,
    ) -> None:  # fmt: skip
        self.disk = disk
        self.path = path
        self.name = name
        self.config = config
        self.now_ms = clock.wall_ms()
        self.clock = clock
        self.cache = cache
        self.progress = progress
        self.segments = Segments()
        self.truncated_bytes = 0
        self.checked_bytes = 0
        self.indexless: list[LogSegment] = []

    def run(
        self, directory: LogDirectory, topic: str, partition: int, deletions: PendingDeletions,
        random_below: Callable[[int], int], clean: bool, recovery_point: int, log_start_offset: int,
        topic_id: bytes | None, producer_expiration_ms: int,
    ) -> OpenResult:  # fmt: skip
        disk, path = self.disk, self.path
        fresh = not disk.is_dir(path)
        if fresh:
            disk.make_dirs(path)
        names = [] if fresh else _finish_swaps(disk, path)
        stored_topic_id = None if fresh else read_topic_id(disk, path)
        epochs = LeaderEpochs(f"{path}/{LEADER_EPOCH_FILE}")
        try:
            if LEADER_EPOCH_FILE in names:
                epochs.load(disk)
        except CheckpointError as error:
            log.warning("%s: %s; all batches are checked to make it anew", self.name, error)
            epochs.clear()
            clean, recovery_point = False, 0
        producers = ProducerStates(disk, path, producer_expiration_ms)
        producers.found_snapshots(_snapshot_offsets(names))
        self._find_segments(names, random_below)

        recovery_point = max(recovery_point, 0)
        self._check_segments(clean, recovery_point, epochs, producers, log_start_offset)
        self._drop_segments_below(log_start_offset)
        if not len(self.segments):
            self.segments.add(
                LogSegment.create(
                    disk=disk,
                    cache=self.cache,
                    directory=path,
                    base_offset=log_start_offset,
                    created_ms=self.now_ms,
                    index_interval_bytes=self.config.index_interval_bytes,
                    jitter_ms=_jitter(self.config, random_below),
                )  # fmt: skip
            )
        active = self.segments.active
        end_offset = active.next_offset()
        active.remember_from(end_offset)
        log_start_offset = max(log_start_offset, self.segments.first.base_offset)
        epochs.truncate_from_end(end_offset)
        if log_start_offset:
            epochs.truncate_from_start(log_start_offset)
        producers.drop_stray_snapshots(self.segments.base_offsets)
        rebuild_producers(
            producers, self.segments, log_start_offset, end_offset, self.now_ms, clean=clean and not fresh
        )
        opened = Log(
            directory=directory, path=path, topic=topic, partition=partition, config=self.config,
            clock=self.clock, cache=self.cache, deletions=deletions, segments=self.segments,
            leader_epochs=epochs, producers=producers, log_start_offset=log_start_offset,
            log_end_offset=end_offset,
            recovery_point=end_offset if clean and not self.truncated_bytes else min(recovery_point, end_offset),
            topic_id=stored_topic_id or topic_id,
            topic_id_durable=stored_topic_id is not None or topic_id is None,
            random_below=random_below, fresh=fresh,
        )  # fmt: skip
        return OpenResult(opened, self.truncated_bytes, self.checked_bytes)

    def _find_segments(self, names: Sequence[str], random_below: Callable[[int], int]) -> None:
        present = set(names)
        for name in names:
            stem, dot, suffix = name.partition(".")
            suffix = dot + suffix
            if suffix not in SEGMENT_SUFFIXES or not _is_offset(stem):
                continue
            if suffix != LOG_SUFFIX:
                if stem + LOG_SUFFIX not in present:
                    log.warning("%s: %s belongs to no segment and is deleted", self.name, name)
                    self.disk.unlink(f"{self.path}/{name}")
                continue
            segment = LogSegment(
                disk=self.disk, cache=self.cache, directory=self.path, base_offset=int(stem), size=0,
                created_ms=self.now_ms, index_interval_bytes=self.config.index_interval_bytes,
                jitter_ms=_jitter(self.config, random_below),
            )  # fmt: skip
            segment.size = segment.leased.file.size()
            self.segments.add(segment)
            if stem + INDEX_SUFFIX not in present or stem + TIME_INDEX_SUFFIX not in present:
                self.indexless.append(segment)
        for segment in list(self.segments)[:-1]:
            segment.sealed = True
            self.cache.touch(segment)

    def _check_segments(
        self,
        clean: bool,
        recovery_point: int,
        epochs: LeaderEpochs,
        producers: ProducerStates,
        start_offset: int,
    ) -> None:
        """Check every batch behind the recovery point; make missing indexes of what is trusted."""
        unflushed = [] if clean or not len(self.segments) else self.segments.from_floor(recovery_point)
        to_check = sum(segment.size for segment in unflushed)
        if unflushed:
            # The file may know epochs whose batches are lost; those that are left tell theirs.
            epochs.truncate_from_end(unflushed[0].base_offset)
        for segment in self.indexless:
            if segment not in unflushed:
                self._rebuild_indexes(segment)
        for segment in unflushed:
            base_offset = segment.base_offset
            if producers.map_end_offset != base_offset:
                rebuild_producers(
                    producers, self._segments_below(base_offset), min(start_offset, base_offset), base_offset,
                    self.now_ms, snapshot=False,
                )  # fmt: skip
            higher = self.segments.higher(base_offset)
            next_base = higher.base_offset if higher is not None else None
            checked = check_segment(segment, epochs, producers, self._teller(to_check), before=next_base)
            self.checked_bytes += checked.valid_bytes
            producers.take_snapshot()
            if checked.valid_bytes < segment.size or self._hole_behind(checked, next_base):
                self._cut(segment, checked.valid_bytes)
                return

    def _hole_behind(self, checked: "CheckedSegment", next_base: int | None) -> bool:
        """Whether the end of a segment was lost while the next one survived a power failure.

        Only compaction leaves offsets out on purpose. Apache Kafka serves such a log with its hole; here the
        log ends before it, so that what is left is what was written first.
        """
        return (
            next_base is not None
            and checked.next_offset < next_base
            and checked.contiguous
            and not self.config.compact
        )

    def _teller(self, to_check: int) -> Callable[[int], None]:
        """Return what `check_segment` tells its progress within one segment to."""
        report, name, done = self.progress, self.name, self.checked_bytes
        if report is None:
            return lambda _: None
        return lambda count: report(name, done + count, to_check)

    def _rebuild_indexes(self, segment: LogSegment) -> None:
        log.warning("%s: segment %d lacks an index, it is made anew", self.name, segment.base_offset)
        try:
            segment.rebuild_indexes()
        except ApiError as error:
            # What is trusted is not cut: reads up to the damage go on, those behind it are refused.
            log.error("%s", error)
        segment.write_indexes(even_if_empty=True)

    def _segments_below(self, offset: int) -> Segments:
        below = Segments()
        for segment in self.segments:
            if segment.base_offset < offset:
                below.add(segment)
        return below

    def _cut(self, segment: LogSegment, valid_bytes: int) -> None:
        """Cut a damaged segment and drop all behind it, from the last, so a crash leaves no hole."""
        later = [other for other in self.segments if other.base_offset > segment.base_offset]
        self.truncated_bytes = segment.size - valid_bytes + sum(other.size for other in later)
        log.warning(
            "%s: damaged at byte %d of segment %d; %d bytes and %d later segments are cut off",
            self.name, valid_bytes, segment.base_offset, segment.size - valid_bytes, len(later),
        )  # fmt: skip
        for other in reversed(later):
            self._drop(other)
        if segment.sealed:
            segment.unseal()
        # As in Log.truncate_to: names first, and the cut for certain before anything is appended behind it.
        self.disk.sync_dir(self.path)
        segment.leased.file.truncate(valid_bytes)
        segment.leased.file.sync()
        segment.size = valid_bytes

    def _drop(self, segment: LogSegment) -> None:
        self.segments.remove(segment.base_offset)
        segment.abandon()
        for suffix in SEGMENT_SUFFIXES:
            if self.disk.exists(segment.path(suffix)):
                self.disk.unlink(segment.path(suffix))

    def _drop_segments_below(self, log_start_offset: int) -> None:
        """When the log ends before its checkpointed start, nothing of it may be read: start over there."""
        if len(self.segments) and self.segments.active.next_offset() < log_start_offset:
            log.warning("%s ends before its start %d; it starts over there", self.name, log_start_offset)
            for segment in list(self.segments):
                self._drop(segment)


class CheckedSegment(NamedTuple):
    """What checking a segment found.

    Attributes:
        valid_bytes: from the start to the first bad batch, or all.
        next_offset: behind the last good batch.
        contiguous: no offset is left out between the good batches.
    """

    valid_bytes: int
    next_offset: int
    contiguous: bool


def check_segment(
    segment: LogSegment,
    epochs: LeaderEpochs,
    producers: ProducerStates,
    progress: Callable[[int], None],
    *,
    before: int | None = None,
) -> CheckedSegment:
    """Check every batch of a segment, make its indexes anew, and apply what it tells.

    Args:
        before: base offset of the next segment, which this one's batches must stay below.

    Raises:
        UnsupportedLogError: a batch of an old format.
    """
    segment.reset_indexes()
    segment.write_indexes(even_if_empty=True)
    file = segment.leased.file
    buffer = bytearray(min(_PIECE_BYTES, max(segment.size, HEADER_BYTES)))
    view = memoryview(buffer)
    unpack_from = HEADER.unpack_from
    note_batch = segment.note_batch
    piece_start = at = have = 0
    size_left = segment.size
    last = segment.base_offset - 1
    last_max = segment.base_offset + RELATIVE_OFFSET_MAX if before is None else before - 1
    epoch_known = epochs.latest_epoch
    contiguous = True
    while True:
        if have - at < HEADER_BYTES:
            piece_start, have, at = piece_start + at, _refill(segment, view, piece_start + at), 0
            progress(piece_start)
            if have < HEADER_BYTES:
                break
        (base, length, epoch, magic, crc, attributes, delta, base_time, max_time, producer_id, producer_epoch,
         sequence, count) = unpack_from(buffer, at)  # fmt: skip
        size = length + LOG_OVERHEAD_BYTES
        position = piece_start + at
        if magic != MAGIC or size < HEADER_BYTES:
            _refuse_old_format(segment, position, length, magic)
            break
        if size > size_left - position:
            break
        end = at + size
        if end > have:
            if size > len(buffer):
                view.release()
                buffer = bytearray(size)
                view = memoryview(buffer)
            piece_start, have, at = position, _refill(segment, view, position), 0
            progress(piece_start)
            end = size
            if end > have:
                break
        last_offset = base + delta
        if base <= last or delta < 0 or last_offset > last_max or crc32c(view[at + 21 : end], 0) != crc:
            break
        note_batch(position, size, last_offset, max_time)
        if epoch > epoch_known:
            epochs.assign(epoch, base)
            epoch_known = epoch
        if producer_id >= 0:
            head = BatchHead(
                position, size, base, last_offset, epoch, attributes, base_time, max_time, producer_id,
                producer_epoch, sequence, count,
            )  # fmt: skip
            apply_head(segment, producers, head, view[at:end])
        contiguous = contiguous and base == last + 1
        last = last_offset
        at = end
    producers.map_end_offset = max(producers.map_end_offset, last + 1)
    segment.time_index.maybe_append(segment.max_timestamp, segment.max_timestamp_offset)
    segment.write_indexes()
    segment.bytes_since_index_entry = 0
    return CheckedSegment(piece_start + at, last + 1, contiguous)


def _refill(segment: LogSegment, view: memoryview, position: int) -> int:
    wanted = min(len(view), segment.size - position)
    return segment.leased.file.read_into(position, view[:wanted]) if wanted > 0 else 0


def _refuse_old_format(segment: LogSegment, position: int, length: int, magic: int) -> None:
    """Raise when the bytes are a whole message set of magic 0 or 1."""
    size = length + LOG_OVERHEAD_BYTES
    if magic not in (0, 1) or not _OLD_SIZE_MIN <= size <= segment.size - position:
        return
    content = segment.leased.file.read_at(position, size)
    stored = int.from_bytes(content[_OLD_MAGIC_CRC_AT:_OLD_MAGIC_CRC_FROM], "big")
    if zlib.crc32(content[_OLD_MAGIC_CRC_FROM:]) == stored:
        raise UnsupportedLogError(
            f"{segment.path(LOG_SUFFIX)} holds message format {magic} at byte {position}; "
            "only format 2 (Kafka 0.11 and later) is supported"
        )


def _finish_swaps(disk: Disk, path: str) -> list[str]:
    """Remove what an interrupted deletion or compaction left, finish a complete swap; return what is there then.

    A cleaned segment is written as `.cleaned`, renamed to `.swap` once synced, and to its final name after
    the segments it replaces are gone. So `.cleaned` files are half made, unless a `.swap` below them shows
    that their set was complete up to there; `.swap` files at or above the first `.cleaned` are not.
    """
    names = disk.list_dir(path)
    if not any(name.endswith((DELETED_SUFFIX, CLEANED_SUFFIX, SWAP_SUFFIX)) for name in names):
        return names
    cleaned = [
        int(n[:_OFFSET_DIGITS])
        for n in names
        if n.endswith(CLEANED_SUFFIX) and _is_offset(n[:_OFFSET_DIGITS])
    ]
    first_cleaned = min(cleaned, default=None)
    swaps: list[str] = []
    for name in names:
        if name.endswith((DELETED_SUFFIX, CLEANED_SUFFIX)):
            disk.unlink(f"{path}/{name}")
        elif name.endswith(SWAP_SUFFIX):
            offset = name[:_OFFSET_DIGITS]
            if not _is_offset(offset) or (first_cleaned is not None and int(offset) >= first_cleaned):
                disk.unlink(f"{path}/{name}")
            else:
                swaps.append(name)
    for name in swaps:
        if name.endswith(LOG_SUFFIX + SWAP_SUFFIX):
            _drop_replaced(disk, path, name)
    for name in swaps:
        disk.rename(f"{path}/{name}", f"{path}/{name.removesuffix(SWAP_SUFFIX)}")
    if swaps:
        disk.sync_dir(path)
    return disk.list_dir(path)


def _drop_replaced(disk: Disk, path: str, swap_name: str) -> None:
    """Delete the segments whose records a complete swap file holds."""
    base = int(swap_name[:_OFFSET_DIGITS])
    file = disk.open_readonly(f"{path}/{swap_name}")
    try:
        end = base
        for head in read_heads(file, 0, file.size()):
            end = head.last_offset + 1
    finally:
        file.close()
    for name in disk.list_dir(path):
        stem, dot, suffix = name.partition(".")
        if dot + suffix in SEGMENT_SUFFIXES and _is_offset(stem) and base <= int(stem) < max(end, base + 1):
            disk.unlink(f"{path}/{name}")


def _snapshot_offsets(names: Sequence[str]) -> list[int]:
    suffix = producer_snapshot.SUFFIX
    return [int(n[: -len(suffix)]) for n in names if n.endswith(suffix) and _is_offset(n[: -len(suffix)])]


def _is_offset(stem: str) -> bool:
    return len(stem) == _OFFSET_DIGITS and stem.isascii() and stem.isdigit()


def _jitter(config: LogConfig, random_below: Callable[[int], int]) -> int:
    below = min(config.segment_jitter_ms, config.segment_ms)
    return random_below(below) if below > 0 else 0
