"""Checking a segment batch by batch after a crash, and making anew what can be derived from it.

Two steps. `scan_segment` reads the file once, in pieces into one buffer, and walks it by one flat loop: a
batch costs one struct, one checksum and a handful of comparisons. It touches nothing but the file, so scans
of many segments may run on several threads. `apply_scan` then takes the outcome into the log, in the order of
offsets: whoever scanned, and whenever, what comes of it is the same.

Of a producer's batches only the first of a run and the last five matter to its state, so no more are kept:
a gigabyte of an idempotent producer's small batches would otherwise cost more to apply than to check.
"""

import zlib
from array import array
from collections import deque
from collections.abc import Callable
from struct import Struct

from barnabas.base.disk import Disk, DiskFile
from barnabas.base.named_tuple import NamedTuple
from barnabas.protocol.checksum import crc32c
from barnabas.protocol.record_batch import (
    ATTRIBUTES_POSITION,
    CONTROL_BIT,
    HEADER,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    TRANSACTIONAL_BIT,
)
from barnabas.storage.batch_scan import BatchHead
from barnabas.storage.indexes.offset_index import OffsetIndex
from barnabas.storage.indexes.time_index import NO_TIMESTAMP, TimeIndex
from barnabas.storage.leader_epochs import LeaderEpochs
from barnabas.storage.producer_state.entry import BATCHES_REMEMBERED
from barnabas.storage.producer_state.replay import apply_head
from barnabas.storage.producer_state.states import EndTransactionMarker, ProducerStates, parse_marker
from barnabas.storage.segment import LOG_SUFFIX, RELATIVE_OFFSET_MAX, LogSegment

_PIECE_BYTES = 1024 * 1024
"""What is read at once. With less, threads pass the interpreter's lock to each other more often: two of them
take a third longer at 256 KiB."""

_AHEAD_BYTES = 8 * 1024 * 1024
"""What is brought in at once from a disk; the kernel's own reading ahead goes by less."""

_CRC_FROM = ATTRIBUTES_POSITION
_OLD_HEAD = Struct(">8xiIb")  # length, CRC-32, magic behind the offset
_OLD_CRC_FROM = 16
_OLD_SIZE_MIN = 26

_FIELDS = Struct(">qiibIhi8xqqh")
"""Of a header: base offset, length, leader epoch, magic, CRC, attributes, last offset delta, max timestamp,
producer id and epoch."""

_KIND = TRANSACTIONAL_BIT | CONTROL_BIT
_KEPT_BATCH = Struct(f">q{HEADER_BYTES}sbi")
"""A producer's batch: position, header, what marker it is, and that one's coordinator epoch."""

_NO_MARKER = -1
_RUNS_MAX = 4096
"""Producers whose last batches are held back at one time."""


class UnsupportedLogError(Exception):
    """A log that holds what this broker cannot read and must not touch."""


class ScanRequest(NamedTuple):
    """Which segment to scan, and what its batches must fit between.

    Attributes:
        size: bytes of the file to look at.
        before: base offset of the next segment, which this one's batches must stay below; None for the last.
    """

    disk: Disk
    path: str
    base_offset: int
    size: int
    index_interval_bytes: int
    before: int | None


class SegmentScan(NamedTuple):
    """What a scan found.

    Attributes:
        valid_bytes: from the start to the first bad batch, or all.
        next_offset: behind the last good batch.
        contiguous: no offset is left out between the good batches.
        damage: what is wrong at `valid_bytes`; None when all is good.
        epochs: (leader epoch, offset) of each batch whose epoch is higher than any before it.
        producer_batches: those that matter of producers, packed, in the order of their effects.
    """

    valid_bytes: int
    next_offset: int
    contiguous: bool
    damage: str | None
    offset_index: OffsetIndex
    time_index: TimeIndex
    max_timestamp: int
    max_timestamp_offset: int
    epochs: list[tuple[int, int]]
    producer_batches: bytearray


def scan_request(disk: Disk, segment: LogSegment, before: int | None) -> ScanRequest:
    """Return the request that scans a segment as it is now."""
    return ScanRequest(
        disk, segment.path(LOG_SUFFIX), segment.base_offset, segment.size,
        segment.index_interval_bytes, before,
    )  # fmt: skip


def scan_segment(request: ScanRequest, progress: Callable[[int], None]) -> SegmentScan:
    """Check every batch of a segment; on any thread, whatever the log does meanwhile.

    Args:
        progress: told how many bytes were looked at so far.

    Raises:
        UnsupportedLogError: a batch of an old format.
        ApiError: CORRUPT_MESSAGE, a control batch with a right checksum makes no sense.
        OSError: the disk refuses.
    """
    if not request.size:
        return _scan(request, None, progress)
    file = request.disk.open_readonly(request.path)
    try:
        return _scan(request, file, progress)
    finally:
        file.close()


def _scan(  # noqa: PLR0912, PLR0915 - one flat loop: a call per batch would double its cost
    request: ScanRequest, file: DiskFile | None, progress: Callable[[int], None]
) -> SegmentScan:
    size_max, base_offset, interval = request.size, request.base_offset, request.index_interval_bytes
    buffer = bytearray(min(_PIECE_BYTES, max(size_max, HEADER_BYTES)))
    view = memoryview(buffer)
    buffer_bytes = len(buffer)
    unpack_from = _FIELDS.unpack_from
    index_offsets, index_positions, time_index = array("I"), array("I"), TimeIndex(base_offset)
    time_index.clear()  # so that whatever the file holds is replaced
    epochs: list[tuple[int, int]] = []
    kept = _ProducerBatches()
    since_entry = piece_start = at = have = 0
    max_timestamp, max_timestamp_offset, indexed_timestamp = NO_TIMESTAMP, base_offset, NO_TIMESTAMP
    next_offset = base_offset
    last_max = base_offset + RELATIVE_OFFSET_MAX if request.before is None else request.before - 1
    epoch_known = -1
    contiguous = True
    damage: str | None = None
    while True:
        if have - at < HEADER_BYTES:
            piece_start, at = piece_start + at, 0
            have = _refill(file, size_max, view, piece_start)
            progress(piece_start)
            if have < HEADER_BYTES:
                damage = _why_no_header(file, size_max, piece_start)
                break
        (base, length, epoch, magic, crc, attributes, delta, max_time, producer_id, producer_epoch
         ) = unpack_from(buffer, at)  # fmt: skip
        size = length + LOG_OVERHEAD_BYTES
        end = at + size
        if end > have or magic != MAGIC or size < HEADER_BYTES:
            position = piece_start + at
            if magic != MAGIC or size < HEADER_BYTES or size > size_max - position:
                damage = _why_no_header(file, size_max, position)
                break
            if size > buffer_bytes:
                view.release()
                buffer = bytearray(size)
                view = memoryview(buffer)
                buffer_bytes = size
            piece_start, at, end = position, 0, size
            have = _refill(file, size_max, view, position)
            if end > have:
                damage = "the file ends within a batch"
                break
        last_offset = base + delta
        if base != next_offset:
            contiguous = False
        if (
            base < next_offset
            or delta < 0
            or last_offset > last_max
            or crc32c(view[at + _CRC_FROM : end], 0) != crc
        ):
            damage = _why_no_batch(base, delta, next_offset, last_max)
            break
        if max_time > max_timestamp:
            max_timestamp, max_timestamp_offset = max_time, last_offset
        if since_entry > interval:
            index_offsets.append(last_offset - base_offset)
            index_positions.append(piece_start + at)
            if max_timestamp > indexed_timestamp:
                time_index.maybe_append(max_timestamp, max_timestamp_offset)
                indexed_timestamp = max_timestamp
            since_entry = 0
        since_entry += size
        if epoch > epoch_known:
            epochs.append((epoch, base))
            epoch_known = epoch
        if producer_id >= 0:
            if attributes & CONTROL_BIT:
                marker = parse_marker(view[at:end])
                kept.add_control(producer_id, piece_start + at, buffer[at : at + HEADER_BYTES], marker)
            else:
                key = producer_id, producer_epoch, attributes & _KIND
                kept.add(key, piece_start + at, buffer[at : at + HEADER_BYTES])
        next_offset = last_offset + 1
        at = end
    if next_offset > base_offset:
        time_index.maybe_append(max_timestamp, max_timestamp_offset)
    kept.finish()
    return SegmentScan(
        piece_start + at, next_offset, contiguous, damage,
        OffsetIndex.made_of(base_offset, index_offsets, index_positions), time_index,
        max_timestamp, max_timestamp_offset, epochs, kept.packed,
    )  # fmt: skip


class _ProducerBatches:
    """The batches of producers that decide what is known of them at the segment's end.

    A run is batches of one producer in one epoch, all in transactions or none. Its first may begin a
    transaction and is kept at once; of the others the last five say what duplicates look like.
    """

    __slots__ = ("_runs", "packed")

    def __init__(self) -> None:
        self.packed = bytearray()
        self._runs: dict[int, tuple[tuple[int, int, int], deque[tuple[int, bytearray]]]] = {}

    def add(self, key: tuple[int, int, int], position: int, header: bytearray) -> None:
        run = self._runs.get(key[0])
        if run is not None and run[0] == key:
            run[1].append((position, header))
            return
        if run is not None:
            self._flush(key[0])
        elif len(self._runs) >= _RUNS_MAX:
            self.finish()
        self._keep(position, header)
        self._runs[key[0]] = key, deque(maxlen=BATCHES_REMEMBERED)

    def add_control(
        self, producer_id: int, position: int, header: bytearray, marker: EndTransactionMarker | None
    ) -> None:
        self._flush(producer_id)
        if marker is not None:
            self._keep(position, header, int(marker.commit), marker.coordinator_epoch)

    def finish(self) -> None:
        for producer_id in list(self._runs):
            self._flush(producer_id)

    def _flush(self, producer_id: int) -> None:
        run = self._runs.pop(producer_id, None)
        if run is not None:
            for position, header in run[1]:
                self._keep(position, header)

    def _keep(
        self, position: int, header: bytearray, marker: int = _NO_MARKER, coordinator_epoch: int = 0
    ) -> None:
        self.packed += _KEPT_BATCH.pack(position, bytes(header), marker, coordinator_epoch)


def apply_scan(
    segment: LogSegment, scan: SegmentScan, epochs: LeaderEpochs, producers: ProducerStates
) -> None:
    """Take in what a scan found: the indexes, which are written, leader epochs and producers."""
    segment.reset_indexes()
    for epoch, offset in scan.epochs:
        if epoch > epochs.latest_epoch:
            epochs.assign(epoch, offset)
    for position, header, marker_kind, coordinator_epoch in _KEPT_BATCH.iter_unpack(scan.producer_batches):
        (base, length, epoch, _, _, attributes, delta, base_time, max_time, producer_id, producer_epoch,
         sequence, count) = HEADER.unpack(header)  # fmt: skip
        head = BatchHead(
            position, length + LOG_OVERHEAD_BYTES, base, base + delta, epoch, attributes, base_time, max_time,
            producer_id, producer_epoch, sequence, count,
        )  # fmt: skip
        marker = (
            None if marker_kind == _NO_MARKER else EndTransactionMarker(marker_kind == 1, coordinator_epoch)
        )
        apply_head(segment, producers, head, marker=marker)
    producers.map_end_offset = max(producers.map_end_offset, scan.next_offset)
    segment.adopt_indexes(scan.offset_index, scan.time_index, scan.max_timestamp, scan.max_timestamp_offset)


def _refill(file: DiskFile | None, size: int, view: memoryview, position: int) -> int:
    """Fill the buffer from `position`, out of what the disk was made to bring in at once."""
    wanted = min(len(view), size - position)
    if file is None or wanted <= 0:
        return 0
    piece = view[:wanted]
    got = file.try_read_into(position, piece)  # `is_cached` is not for several threads
    if got is None:
        file.bring_in(position, min(_AHEAD_BYTES, size - position))
        got = file.read_into(position, piece)
    return got


def _why_no_batch(base: int, delta: int, next_offset: int, last_max: int) -> str:
    if base < next_offset:
        return f"a batch of offset {base} where {next_offset} is the lowest that fits"
    if delta < 0:
        return f"a batch with a last offset delta of {delta}"
    if base + delta > last_max:
        return f"a batch up to offset {base + delta}, where {last_max} is the last that fits"
    return "a batch with a wrong checksum"


def _why_no_header(file: DiskFile | None, size: int, position: int) -> str | None:
    """Say what the bytes are that are no header, None at the end of the file.

    Raises:
        UnsupportedLogError: they are a whole message of magic 0 or 1.
    """
    left = size - position
    if file is None or left <= 0:
        return None
    head = file.read_at(position, min(left, HEADER_BYTES))
    if len(head) >= _OLD_HEAD.size:
        length, stored, magic = _OLD_HEAD.unpack_from(head)
        whole = length + LOG_OVERHEAD_BYTES
        if (
            magic in (0, 1)
            and _OLD_SIZE_MIN <= whole <= left
            and zlib.crc32(file.read_at(position + _OLD_CRC_FROM, whole - _OLD_CRC_FROM)) == stored
        ):
            raise UnsupportedLogError(
                f"{file.path} holds message format {magic} at byte {position}; "
                "only format 2 (Kafka 0.11 and later) is supported"
            )
        if magic == MAGIC and whole > left:
            return f"a batch that claims {whole} bytes where {left} are left"
    if not any(head):
        return "zeros"
    return "no batch header" if left >= HEADER_BYTES else "less than a batch header"
