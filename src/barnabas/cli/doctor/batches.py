"""One pass over a segment's batches that goes on behind damage.

Every batch's checksum, records and place are checked. What is no batch is passed over to the next one whose
checksum
is right: a search through bytes, since nothing in the format says where batches begin but the one before.
What a batch should have been is asked of `restoring.py`.

A base offset lies outside of the checksum. One that does not follow its predecessor is judged when the next
batch
is known: if that one would follow, had this one followed, then the offset is what is wrong. What remains is a
gap, which compaction leaves, and nothing else that is in order.
"""

from collections.abc import Iterator
from struct import Struct

from barnabas.base.dataclass import dataclass
from barnabas.base.disk import DiskFile
from barnabas.cli.doctor.findings import Finding, Fix, Loss, Patch, Severity
from barnabas.cli.doctor.restoring import LENGTH_POSITION, MAGIC_POSITION, records_are_whole, restore_batch
from barnabas.protocol.checksum import crc32c
from barnabas.protocol.record_batch import (
    ATTRIBUTES_POSITION,
    CRC_POSITION,
    HEADER,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    BatchHeader,
)

WINDOW_BYTES = 1024 * 1024
WHOLE_BATCH_BYTES_MAX = 128 * 1024 * 1024
"""A batch is read whole up to this size; what says it is longer is no batch: 100 times what Kafka takes."""
_CODEC_MAX = 4
_OFFSET = Struct(">q")
_KNOWN_ATTRIBUTES = 0x7F
_FINE = ("", "")
_RESTORED = {
    LENGTH_POSITION: ("batch-length", "length"),
    MAGIC_POSITION: ("batch-magic", "magic"),
    CRC_POSITION: ("batch-crc-field", "checksum, not what it covers,"),
}


@dataclass(slots=True, kw_only=True)
class GoodBatch:
    """A batch whose checksum is right, perhaps after restoring.

    Attributes:
        header: as it should be.
        content: the batch's bytes, as they should be but for the base offset.
    """

    position: int
    header: BatchHeader
    content: bytes

    @property
    def end(self) -> int:
        return self.position + self.header.size_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentPlace:
    """What is known around a segment.

    Attributes:
        path: of its log file.
        limit: base offset of the next segment, which offsets stay below; None for the last one.
        gaps: whether offsets may be missing: the topic is compacted.
        synced_to: what lies at or beyond this offset was never promised to be on the disk.
    """

    path: str
    base_offset: int
    limit: int | None
    gaps: bool
    synced_to: int


class SegmentScan:
    """Iterates over good batches, in order; findings gather in `findings`.

    Attributes:
        findings: what was found; those about a batch come before it is yielded.
        next_offset: behind the last good batch.
    """

    def __init__(self, file: DiskFile, place: SegmentPlace, next_offset: int) -> None:
        """
        Args:
            next_offset: behind the segment before; the base offset when that is higher or unknown.
        """
        self.findings: list[Finding] = []
        self.next_offset = next_offset
        self._file = file
        self._size = file.size()
        self._place = place
        self._window = b""
        self._window_start = 0
        self._epoch = -1  # of the last good batch
        self._bad: tuple[int, int, str, str] | None = None  # damage whose lost offsets the next batch tells
        self._suspect: GoodBatch | None = None  # waits for the batch behind it

    def __iter__(self) -> Iterator[GoodBatch]:
        position = 0
        while position < self._size:
            batch, end, damage = self._batch_at(position)
            if batch is not None:
                yield from self._in_order(batch)
            else:
                yield from self._settle(None)
                self._note_bad(position, end, *damage)
            position = end
        yield from self._settle(None)
        self._tell_bad(None)

    # Finding batches

    def _batch_at(self, position: int) -> tuple[GoodBatch | None, int, tuple[str, str]]:
        """Return the batch at a position or None, where to go on, and what is wrong instead of a batch."""
        header = self._header(position)
        if header is not None and self._crc_of(position, header.size_bytes) == header.crc:
            content = self._read(position, header.size_bytes)
            batch = GoodBatch(position=position, header=header, content=content)
            if records_are_whole(content):
                return batch, batch.end, _FINE
            what = f"the checksum of the batch of offset {header.base_offset} is right, its records are not"
            return None, batch.end, ("batch-records", what)
        if header is not None:
            restored = self._restored(position, position + header.size_bytes)
            if restored is not None:
                return restored, restored.end, _FINE
        end = self._resync(position, header)
        restored = self._restored(position, end)
        if restored is not None:
            return restored, end, _FINE
        cut = end == self._size and self._place.limit is None
        why = "no batch, or one that is cut" if header is None else "a batch whose checksum is wrong"
        return None, end, ("batch-cut" if cut else "batch-crc", f"bytes {position} to {end - 1} hold {why}")

    def _header(self, position: int) -> BatchHeader | None:
        """Return what looks like a header, of a batch that fits into the file."""
        data = self._read(position, HEADER_BYTES)
        return self._plausible(data, 0, position) if len(data) == HEADER_BYTES else None

    def _plausible(self, data: bytes, at: int, position: int) -> BatchHeader | None:
        header = BatchHeader._make(HEADER.unpack_from(data, at))
        size = header.batch_length + LOG_OVERHEAD_BYTES
        if (
            header.magic != MAGIC
            or not HEADER_BYTES <= size <= min(self._size - position, WHOLE_BATCH_BYTES_MAX)
            or header.last_offset_delta < 0
        ):
            return None
        return header

    def _resync(self, position: int, header: BatchHeader | None) -> int:
        """Return where the next good batch begins, or the file's end."""
        if header is not None:
            end = position + header.size_bytes
            if end == self._size or self._is_good_at(end):
                return end
        at = position + 1
        while at + HEADER_BYTES <= self._size:
            piece = self._file.read_at(at, WINDOW_BYTES + HEADER_BYTES)
            found = self._search(piece, at)
            if found is not None:
                return found
            if len(piece) < WINDOW_BYTES + HEADER_BYTES:
                break
            at += WINDOW_BYTES
        return self._size

    def _search(self, piece: bytes, start: int) -> int | None:
        """Return where a good batch begins within a piece of the file."""
        at = piece.find(MAGIC, MAGIC_POSITION) - MAGIC_POSITION
        while at >= 0 and at + HEADER_BYTES <= len(piece):
            header = self._plausible(piece, at, start + at)
            if (
                header is not None
                and header.base_offset >= 0
                and not header.attributes & ~_KNOWN_ATTRIBUTES
                and header.attributes & 0x07 <= _CODEC_MAX
                and 0 <= header.records_count <= header.last_offset_delta + 1
                and self._crc_of(start + at, header.size_bytes) == header.crc
            ):
                return start + at
            at = piece.find(MAGIC, at + MAGIC_POSITION + 1) - MAGIC_POSITION
        return None

    def _is_good_at(self, position: int) -> bool:
        header = self._header(position)
        return header is not None and self._crc_of(position, header.size_bytes) == header.crc

    def _restored(self, position: int, end: int) -> GoodBatch | None:
        """Return the batch that should lie there, if that can be told; and tell what is to be put back."""
        size = end - position
        if size < HEADER_BYTES or size > WHOLE_BATCH_BYTES_MAX:
            return None
        data = self._read(position, size)
        patches = restore_batch(data, size, position)
        if not patches:
            return None
        mended = bytearray(data)
        for patch in patches:
            at = patch.position - position
            mended[at : at + len(patch.content)] = patch.content
        content = bytes(mended)
        header = self._plausible(content, 0, position)
        if header is None or not records_are_whole(content):
            return None
        kind, name = _RESTORED.get(patches[0].position - position, ("batch-bit", ""))
        cause = (
            f"the {name} of the batch is wrong; it follows from what is around it"
            if name
            else f"one bit of byte {patches[0].position} has flipped; the checksum tells which"
        )
        self.findings.append(
            Finding(
                severity=Severity.DAMAGE,
                kind=kind,
                file=self._place.path,
                position=position,
                offset=header.base_offset,
                cause=cause,
                fix=Fix.RESTORE,
                end=end,
                patches=patches,
            )
        )
        return GoodBatch(position=position, header=header, content=content)

    # Order

    def _in_order(self, batch: GoodBatch) -> Iterator[GoodBatch]:
        """Yield the batches whose place is certain now."""
        yield from self._settle(batch.header.base_offset)
        if batch.header.base_offset == self.next_offset and self._below_limit(batch.header.last_offset):
            yield self._accept(batch)
        else:
            self._suspect = batch

    def _below_limit(self, offset: int) -> bool:
        return self._place.limit is None or offset < self._place.limit

    def _settle(self, following: int | None) -> Iterator[GoodBatch]:
        """Judge the batch that did not follow its predecessor, by the one behind it; None at the end."""
        batch, self._suspect = self._suspect, None
        if batch is None:
            return
        header = batch.header
        due, count = self.next_offset, header.last_offset_delta + 1
        behind = following if following is not None else self._place.limit
        if self._bad is None and behind == due + count and header.base_offset != due:
            yield self._renumbered(batch, due)
        elif header.base_offset >= due and (behind is None or header.next_offset <= behind):
            yield self._accept(batch)
        elif self._bad is None and behind is None and not self._place.gaps:
            yield self._renumbered(batch, due)
        else:
            self._note_bad(
                batch.position,
                batch.end,
                "batch-order",
                f"the batch begins with offset {header.base_offset} where {due} was due: it overlaps others",
            )

    def _renumbered(self, batch: GoodBatch, due: int) -> GoodBatch:
        wrong = batch.header.base_offset
        self.findings.append(
            Finding(
                severity=Severity.DAMAGE,
                kind="batch-base-offset",
                file=self._place.path,
                position=batch.position,
                offset=due,
                fix=Fix.RESTORE,
                end=batch.end,
                cause=f"the batch says it begins with offset {wrong}; those around it say {due}",
                patches=(Patch(position=batch.position, content=_OFFSET.pack(due)),),
            )
        )
        batch.header = batch.header._replace(base_offset=due)
        return self._accept(batch)

    def _accept(self, batch: GoodBatch) -> GoodBatch:
        base = batch.header.base_offset
        had_damage = self._bad is not None
        self._tell_bad(base)
        if base > self.next_offset and not had_damage and not self._place.gaps:
            self.findings.append(
                Finding(
                    severity=Severity.DAMAGE,
                    kind="offset-gap",
                    file=self._place.path,
                    position=batch.position,
                    offset=self.next_offset,
                    cause=f"offsets {self.next_offset} to {base - 1} are missing; the topic is not compacted",
                )
            )
        self.next_offset = batch.header.next_offset
        self._epoch = batch.header.partition_leader_epoch
        return batch

    # Damage

    def _note_bad(self, position: int, end: int, kind: str, cause: str) -> None:
        if self._bad is not None:
            start, _, first_kind, first_cause = self._bad
            if self._bad[1] == position:
                self._bad = (start, end, first_kind, first_cause)
                return
            self._tell_bad(None)
        self._bad = (position, end, kind, cause)

    def _tell_bad(self, following: int | None) -> None:
        """Tell of damage, now that the offset behind it is known, or will not be."""
        if self._bad is None:
            return
        position, end, kind, cause = self._bad
        self._bad = None
        following = following if following is not None else self._place.limit
        last = following - 1 if following is not None else -1
        at_end = end == self._size and self._place.limit is None
        unpromised = at_end and self.next_offset >= self._place.synced_to
        if unpromised:
            cause += "; they were never synced, and a start ends the log there"
        self.findings.append(
            Finding(
                severity=Severity.NOTE if unpromised else Severity.DAMAGE,
                kind=kind,
                file=self._place.path,
                position=position,
                offset=self.next_offset,
                cause=cause,
                fix=Fix.CUT if at_end else Fix.DROP,
                end=end,
                loss=Loss(
                    first_offset=self.next_offset,
                    last_offset=last,
                    records=max(0, last - self.next_offset + 1) if last >= 0 else -1,
                    size_bytes=end - position,
                ),
            )
        )

    # Reading

    def _read(self, position: int, length: int) -> bytes:
        """Return bytes of the file, by way of a window that moves on."""
        at = position - self._window_start
        if at < 0 or at + length > len(self._window):
            self._window = self._file.read_at(position, max(length, WINDOW_BYTES))
            self._window_start, at = position, 0
        return self._window[at : at + length]

    def _crc_of(self, position: int, size: int) -> int:
        return crc32c(memoryview(self._read(position, size))[ATTRIBUTES_POSITION:], 0)
