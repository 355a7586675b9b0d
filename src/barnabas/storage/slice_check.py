"""Checking what a fetch is about to serve: `fetch.verify.crc`.

A slice is read once, in pieces, without being kept: every whole batch's checksum, and what lies outside of
it, since the CRC covers neither base offset, length, magic nor leader epoch. A wrong length or magic gives a
wrong checksum; a base offset must rise from batch to batch, from the one before the slice to the one behind
it; the leader epoch must be the one the log knows for that offset.

Of two batches that overlap one has a wrong base offset. It is the one that does not follow its predecessor
without a gap; when that is not known, the earlier one, so that nothing doubtful is served. A batch that moved
within a gap of a compacted log cannot be told from a right one.

The slice is read again when it is sent. So checksums of its pieces are kept, four bytes for 64 KiB, and
every piece is compared once more (`SliceGuard`): holding all bytes until a slow consumer has taken them would
cost as much memory as consumers ask for.
"""

from array import array
from collections.abc import Sequence
from struct import Struct

from barnabas.base.dataclass import dataclass
from barnabas.base.disk import DiskFile
from barnabas.base.errors import ApiError
from barnabas.base.hints import Final
from barnabas.base.region import GUARD_PIECE_BYTES, SliceGuard
from barnabas.protocol.checksum import crc32c
from barnabas.protocol.record_batch import (
    ATTRIBUTES_POSITION,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC,
)
from barnabas.storage.batch_scan import read_heads
from barnabas.storage.leader_epochs import EpochEntry

_READ_BYTES: Final = 2 * GUARD_PIECE_BYTES
"""Read at once. A thread lets go of the interpreter while it reads: after a millisecond of walking tiny
batches the loop has its turn."""
_NOWHERE: Final = -1
_OFFSET_END: Final = 2**63 - 1
_OFFSET_BYTES: Final = 8

_unpack_head = Struct(">qiibIhi").unpack_from


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceQuestion:
    """A slice, and what is known around it.

    Attributes:
        position, length: of the slice in the segment's file; it begins with a batch.
        walk_from: where a batch begins before the slice, to find the batch just before it; the slice's own
            position when there is none.
        segment_size: bytes of the file that hold batches.
        base_offset: of the segment.
        fetch_offset: what is asked for.
        offset_limit: no offset of the segment reaches it: base offset of the next segment, or the log's end.
        may_skip: whether offsets may be missing: the topic is compacted.
        epochs: the leader epochs from the one of `fetch_offset` on; empty when the log knows none.
    """

    position: int
    length: int
    walk_from: int
    segment_size: int
    base_offset: int
    fetch_offset: int
    offset_limit: int
    may_skip: bool = True
    epochs: Sequence[EpochEntry] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSlice:
    """What is right of a slice.

    Attributes:
        good_end: position in the file behind the last batch that may be served.
        damage: why the slice ends there, before its own last whole batch; None when nothing is wrong.
        misled: a batch before the slice holds the fetch offset: an index led behind it.
        guard: checksums of the slice's pieces, from its position on.
    """

    good_end: int
    damage: str | None
    misled: bool
    guard: SliceGuard


class _Order:
    """The batches so far, as far as the next one's place depends on them."""

    __slots__ = ("anchored", "contiguous", "damage", "limit", "next_offset", "start")

    def __init__(self, next_offset: int, contiguous: bool, limit: int) -> None:
        self.next_offset = next_offset  # the least the next batch may begin with
        self.contiguous = contiguous  # the last batch follows its predecessor without a gap
        self.limit = limit
        self.anchored = True  # what comes before the slice is known
        self.start = (
            _NOWHERE  # where the last batch of the slice begins; with damage, where the good ones end
        )
        self.damage: str | None = None

    def overlapped(self, position: int) -> int:
        """Return where the wrong one begins: the batch at `position`, or the last one, which it overlaps."""
        return position if self.contiguous or self.start == _NOWHERE else self.start


def check_slice(file: DiskFile, question: SliceQuestion) -> CheckedSlice:
    """Read a slice and say how much of it may be served. Any thread may call it while the file stays open.

    Raises:
        OSError: the disk refuses.
    """
    order, misled = _batches_before(file, question)
    walk = _Walk(question, order)
    checksums = array("I")
    if order.damage is not None:
        guard = SliceGuard(crc32c, checksums, 0)
        return CheckedSlice(good_end=question.position, damage=order.damage, misled=misled, guard=guard)
    end = question.position + question.length
    buffer = memoryview(bytearray(max(1, min(_READ_BYTES, question.length))))
    at_file = question.position
    while at_file < end and order.damage is None:
        got = file.read_into(at_file, buffer[: end - at_file])
        if got == 0:
            break
        for at in range(0, got, GUARD_PIECE_BYTES):
            checksums.append(crc32c(buffer[at : min(got, at + GUARD_PIECE_BYTES)], 0))
        at_file += got
        walk.feed(buffer[:got])
    good_end = walk.position if order.damage is None else min(walk.position, order.start)
    if order.damage is None:
        good_end = _check_behind(file, question, order, good_end)
        if good_end == question.position and order.damage is None:
            order.damage = f"the batch at byte {question.position} reaches beyond the end of its segment"
    guard = SliceGuard(crc32c, checksums, at_file - question.position)
    return CheckedSlice(good_end=good_end, damage=order.damage, misled=misled, guard=guard)


def _batches_before(file: DiskFile, question: SliceQuestion) -> tuple[_Order, bool]:
    """Walk the headers up to the slice; return what must follow, and whether the slice begins too late."""
    order = _Order(question.base_offset, question.position == 0, question.offset_limit)
    behind = question.walk_from
    head = None
    try:
        for head in read_heads(file, question.walk_from, question.position):
            order.contiguous = head.base_offset == order.next_offset
            order.next_offset = head.last_offset + 1
            behind = head.position + head.size
    except ApiError:
        behind = _NOWHERE
    if behind != question.position or (head is None and question.position != 0):
        # Nothing sound leads here: the slice's own batches have to speak for themselves.
        order = _Order(question.base_offset, False, question.offset_limit)
        order.anchored = False
        return order, False
    if head is None:
        return order, False
    if order.next_offset <= question.fetch_offset and not _is_sound(file, head.position, head.size):
        # It may well hold the offset: how far it reaches is part of what is wrong.
        first = file.read_at(question.position, _OFFSET_BYTES)
        if int.from_bytes(first, "big") > question.fetch_offset:
            order.damage = f"the CRC of the batch at byte {head.position}, before the slice, is wrong"
            order.start = question.position
    return order, order.next_offset > question.fetch_offset


def ends_soundly(file: DiskFile, walk_from: int, end: int) -> bool:
    """Whether the last batch of a segment is good: what follows a gap may be served then.

    Args:
        walk_from: where a batch begins, not far before the last one.

    Raises:
        OSError: the disk refuses.
    """
    last = None
    try:
        for head in read_heads(file, walk_from, end):
            last = head
    except ApiError:
        return False
    if last is None:
        return walk_from == end
    return last.position + last.size == end and _is_sound(file, last.position, last.size)


def _is_sound(file: DiskFile, position: int, size: int) -> bool:
    batch = memoryview(file.read_at(position, size))
    if len(batch) != size:
        return False
    stored: int = _unpack_head(batch, 0)[4]
    return crc32c(batch[ATTRIBUTES_POSITION:], 0) == stored


class _Walk:
    """Checks batches as their bytes come.

    Attributes:
        position: in the file, of the batch that is being read.
    """

    __slots__ = ("_carried", "_crc", "_left", "_order", "_question", "_size", "_stored", "position")

    def __init__(self, question: SliceQuestion, order: _Order) -> None:
        self._question = question
        self._order = order
        self.position = question.position
        self._carried = b""  # the beginning of a header that the last piece cut
        self._left = self._size = self._crc = self._stored = 0  # of a batch that it cut

    def feed(self, data: memoryview) -> None:
        """Check what is whole now."""
        at = 0
        got = len(data)
        order = self._order
        while at < got and order.damage is None:
            if not self._left:
                if not self._carried:
                    at = self._whole_batches(data, at)
                need = HEADER_BYTES - len(self._carried)
                header = self._carried + bytes(data[at : at + need])
                at += need
                if len(header) < HEADER_BYTES:
                    self._carried = header
                    return
                self._carried = b""
                self._begin(header)
                if self._left == 0:
                    continue
            take = min(self._left, got - at)
            self._crc = crc32c(data[at : at + take], self._crc)
            at += take
            self._left -= take
            if not self._left:
                self._end_batch()

    def _whole_batches(self, data: memoryview, at: int) -> int:
        """Pass over good batches that lie whole in `data`; return where the first other one begins.

        One struct, one checksum and some comparisons a batch: batches of a hundred bytes are ten thousand in
        the MiB that a consumer asks for.
        """
        order = self._order
        got = len(data)
        start, next_offset, contiguous, limit = order.start, order.next_offset, order.contiguous, order.limit
        epochs = self._question.epochs
        known, until = _epoch_at(epochs, next_offset)
        position = self.position
        while got - at >= HEADER_BYTES:
            base, length, epoch, magic, stored, _, delta = _unpack_head(data, at)
            end = at + length + LOG_OVERHEAD_BYTES
            if (
                magic != MAGIC
                or length < HEADER_BYTES - LOG_OVERHEAD_BYTES
                or end > got
                or delta < 0
                or base < next_offset
                or base + delta >= limit
                or (epochs and (epoch != known or base >= until))
                or crc32c(data[at + ATTRIBUTES_POSITION : end], 0) != stored
            ):
                break
            contiguous = base == next_offset
            next_offset = base + delta + 1
            start = position
            position += end - at
            at = end
        order.start, order.next_offset, order.contiguous = start, next_offset, contiguous
        self.position = position
        return at

    def _begin(self, header: bytes) -> None:
        """Check a header; note damage, and where it begins, or the batch, which is the last one then."""
        order, question, position = self._order, self._question, self.position
        base, length, epoch, magic, stored, _, delta = _unpack_head(header, 0)
        size = length + LOG_OVERHEAD_BYTES
        what = None
        start = position
        if magic != MAGIC or size < HEADER_BYTES or delta < 0:
            what = f"there is no batch header at byte {position}"
        elif size > question.segment_size - position:
            what = f"the batch at byte {position} reaches beyond the end of its segment"
        elif base < order.next_offset:
            start = order.overlapped(position)
            what = f"the batches around byte {position} overlap: {base} where {order.next_offset} was due"
        elif base + delta >= order.limit:
            what = f"the batch at byte {position} reaches offset {base + delta}, beyond {order.limit - 1}"
        elif question.epochs and epoch != _epoch_at(question.epochs, base)[0]:
            what = f"the batch at byte {position} has leader epoch {epoch}, not that of its offset {base}"
        if what is not None:
            order.damage, order.start = what, start
            self._left = 0
            return
        order.contiguous = base == order.next_offset
        order.next_offset = base + delta + 1
        order.start = position
        self._size, self._left, self._stored = size, size - HEADER_BYTES, stored
        self._crc = crc32c(header[ATTRIBUTES_POSITION:], 0)
        if not self._left:
            self._end_batch()

    def _end_batch(self) -> None:
        if self._crc != self._stored:
            self._order.damage = f"the CRC of the batch at byte {self.position} is wrong"
            return
        self.position += self._size


def _check_behind(file: DiskFile, question: SliceQuestion, order: _Order, good_end: int) -> int:
    """Compare the slice's last whole batch with the one behind it; return where the good ones end."""
    if order.start == _NOWHERE or order.contiguous:
        return good_end
    if order.start >= good_end:
        return good_end  # the last header belongs to a batch that the slice cuts, and was compared with it
    if good_end == question.segment_size and order.anchored and not question.may_skip:
        order.damage = f"the batch at byte {order.start} does not follow the one before, and none follows it"
        return order.start
    if good_end + HEADER_BYTES > question.segment_size:
        return good_end
    header = file.read_at(good_end, HEADER_BYTES)
    if len(header) < HEADER_BYTES:
        return good_end
    base, length, _, magic, *_ = _unpack_head(header, 0)
    is_batch = magic == MAGIC and length + LOG_OVERHEAD_BYTES >= HEADER_BYTES
    if is_batch and base < order.next_offset:
        order.damage = (
            f"the batch at byte {order.start} reaches offset {order.next_offset - 1}, "
            f"the next one begins with {base}"
        )
        return order.start
    return good_end


def _epoch_at(epochs: Sequence[EpochEntry], offset: int) -> tuple[int, int]:
    """Return the epoch of an offset, and where the next one begins."""
    found = epochs[0].epoch if epochs else _NOWHERE
    for entry in epochs:
        if entry.start_offset > offset:
            return found, entry.start_offset
        found = entry.epoch
    return found, _OFFSET_END
