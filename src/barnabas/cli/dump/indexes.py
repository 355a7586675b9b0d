"""The three indexes of a segment: their entries, and each entry against the log it points into.

Preallocated indexes of a running broker end in zeros; they are padding and only counted.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from struct import Struct

from barnabas.base.dataclass import dataclass
from barnabas.base.disk import DiskFile
from barnabas.cli.dump.batches import BatchSpan
from barnabas.cli.dump.findings import Findings, Problem, Row

_OFFSET_ENTRY = Struct(">ii")
_TIME_ENTRY = Struct(">qi")
_TRANSACTION_ENTRY = Struct(">hqqqq")
_CHUNK_ENTRIES = 4096


@dataclass(frozen=True, slots=True)
class SegmentSpans:
    """The batches of the log beside an index, in order."""

    spans: Sequence[BatchSpan]
    last_offsets: Sequence[int]

    @classmethod
    def of(cls, spans: Sequence[BatchSpan]) -> "SegmentSpans":
        return cls(spans, [span.header.last_offset for span in spans])

    def holding(self, offset: int) -> BatchSpan | None:
        """Return the batch whose range has the offset."""
        index = bisect_right(self.last_offsets, offset - 1)
        if index == len(self.spans) or self.spans[index].header.base_offset > offset:
            return None
        return self.spans[index]


def dump_offset_index(file: DiskFile, base_offset: int, log: SegmentSpans | None) -> Findings:
    """Yield the entries of a .index: batch last offset -> where the batch begins.

    Args:
        log: None when there is no log beside the index to compare with.
    """
    by_position = {span.position: span for span in log.spans} if log is not None else {}
    previous = (-1, -1)
    for at, fields in _entries(file, _OFFSET_ENTRY):
        if isinstance(fields, Problem):
            yield fields
            continue
        relative, position = fields
        offset = base_offset + relative
        yield Row(kind="entry", values={"offset": offset, "position": position})
        if relative <= previous[0] or position <= previous[1]:
            yield Problem(text=f"entry {offset} -> {position} does not rise", position=at)
        previous = (relative, position)
        if log is None:
            continue
        span = by_position.get(position)
        if span is None:
            yield Problem(text=f"no batch of the log begins at byte {position}", position=at)
        elif span.header.last_offset != offset:
            yield Problem(
                text=f"the batch at byte {position} ends with offset {span.header.last_offset}, not {offset}",
                position=at,
            )


def dump_time_index(file: DiskFile, base_offset: int, log: SegmentSpans | None) -> Findings:
    """Yield the entries of a .timeindex: largest timestamp so far -> offset of its batch's end."""
    previous = (-1, -1)
    for at, fields in _entries(file, _TIME_ENTRY):
        if isinstance(fields, Problem):
            yield fields
            continue
        timestamp, relative = fields
        offset = base_offset + relative
        yield Row(kind="entry", values={"timestamp": timestamp, "offset": offset})
        if timestamp <= previous[0] or relative < previous[1]:
            yield Problem(text=f"entry {timestamp} -> {offset} does not rise", position=at)
        previous = (timestamp, relative)
        if log is None:
            continue
        span = log.holding(offset)
        if span is None:
            yield Problem(text=f"the log has no offset {offset}", position=at)
        elif span.header.max_timestamp != timestamp:
            yield Problem(
                text=f"the batch of offset {offset} reaches {span.header.max_timestamp}, not {timestamp}",
                position=at,
            )


def dump_transaction_index(file: DiskFile, base_offset: int, log: SegmentSpans | None) -> Findings:
    """Yield the aborted transactions of a .txnindex."""
    previous = -1
    for at, fields in _entries(file, _TRANSACTION_ENTRY):
        if isinstance(fields, Problem):
            yield fields
            continue
        version, producer_id, first, last, last_stable = fields
        yield Row(
            kind="aborted",
            values={
                "version": version,
                "producer_id": producer_id,
                "first_offset": first,
                "last_offset": last,
                "last_stable_offset": last_stable,
            },
        )
        if version != 0:
            yield Problem(text=f"entry of version {version}", position=at)
        if not first <= last or last < base_offset or last <= previous:
            yield Problem(text=f"aborted transaction {first} to {last} behind {previous}", position=at)
        previous = last
        span = log.holding(last) if log is not None else None
        if log is not None and (
            span is None or not span.header.is_control or span.header.producer_id != producer_id
        ):
            yield Problem(text=f"offset {last} is no end of a transaction of {producer_id}", position=at)


def _entries(file: DiskFile, layout: Struct) -> Iterator[tuple[int, tuple[int, ...] | Problem]]:
    """Yield (position, fields) up to the padding, and Problems about the file as a whole."""
    size = file.size()
    whole = size - size % layout.size
    zero = bytes(layout.size)
    position = 0
    while position < whole:
        chunk = file.read_at(position, min(_CHUNK_ENTRIES * layout.size, whole - position))
        for at in range(0, len(chunk) - layout.size + 1, layout.size):
            # The first entry may be all zeros only in a time index that was never written; a real
            # offset index entry has a position above 0, since the first batch never gets one.
            if chunk[at : at + layout.size] == zero:
                yield from _padding(file, position + at, whole)
                whole = 0
                break
            yield position + at, layout.unpack_from(chunk, at)
        position += len(chunk)
        if not chunk:
            break
    if size % layout.size:
        yield (
            size,
            Problem(
                text=f"{size} bytes are no multiple of an entry's {layout.size}",
                position=size - size % layout.size,
            ),
        )


def _padding(file: DiskFile, start: int, end: int) -> Iterator[tuple[int, Problem]]:
    position = start
    while position < end:
        chunk = file.read_at(position, min(1 << 20, end - position))
        if not chunk:
            break
        if chunk.count(0) != len(chunk):
            yield position, Problem(text="entries follow where only padding is left", position=position)
            return
        position += len(chunk)
    yield start, Problem(text=f"{end - start} bytes of preallocated space", position=start, damage=False)
