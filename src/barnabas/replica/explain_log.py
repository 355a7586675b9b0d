"""The part of an explanation that lies in the log: segment, index entry, headers, end, cut, slice.

Every step asks the piece that a read asks; what a read keeps to itself, the headers it walks over, is walked
here once more.
"""

from __future__ import annotations

from barnabas.base.hints import TYPE_CHECKING, Final
from barnabas.base.named_tuple import NamedTuple
from barnabas.storage import batch_scan, log_read
from barnabas.storage.append_info import FetchDataInfo

if TYPE_CHECKING:
    from barnabas.base.region import FileSlice
    from barnabas.replica.fetch import FetchPartitionResult
    from barnabas.storage.log import Log
    from barnabas.storage.offset_metadata import LogOffsetMetadata
    from barnabas.storage.segment import LogSegment

HEADERS_TOLD_MAX: Final = 200
"""Of the headers walked over; a damaged index could make it a segment's."""

LogStep = tuple[str, str, str, dict[str, object]]
"""Name, rule, text, facts."""


class LogRead(NamedTuple):
    """What is asked of the log.

    Attributes:
        max_bytes: what is left of all limits.
        limit_words: which of them that is.
    """

    offset: int
    bound: LogOffsetMetadata
    max_bytes: int
    min_one_message: bool
    limit_words: str
    include_aborted: bool


class _Place(NamedTuple):
    segment: LogSegment
    position: int
    size: int


def explain_log_read(log: Log, read: LogRead, result: FetchPartitionResult) -> tuple[list[LogStep], bool]:
    """Return the steps, and whether they lead to what was read."""
    steps, place = _find(log, read.offset)
    if place is None:
        return steps, result.records is None
    segment = place.segment
    found = result.offset_metadata
    agrees = (found.segment_base_offset, found.position_in_segment) == (segment.base_offset, place.position)
    end = log_read.end_position(segment, read.bound)
    steps.append(_end_step(segment, read, end))
    if end is None:
        return steps, agrees and result.records is None
    cut, length = _cut_step(log, place, read, end)
    steps.append(cut)
    limit = max(read.max_bytes, place.size) if read.min_one_message else read.max_bytes
    records = result.records
    if length <= 0 or limit < place.size:
        steps.append(("slice", "F7", "no records: what is left cannot hold the first batch", {"length": 0}))
        return steps, agrees and records is None
    if records is None:
        return steps, False
    agrees = agrees and (records.position, records.length) == (place.position, length)
    steps.append(
        (
            "slice",
            "F22",
            f"the records are {length} bytes from byte {place.position} of {records.path}, leased, none read",
            {"file": records.path, "position": place.position, "length": length},
        )
    )
    steps.append(_residency_step(records))
    if read.include_aborted:
        steps.append(_aborted_step(log, segment, result))
    return steps, agrees


def _find(log: Log, offset: int) -> tuple[list[LogStep], _Place | None]:
    """Follow the offset to a batch, segment by segment as a read does (F18)."""
    steps: list[LogStep] = []
    segment = log.segments.floor(offset)
    why = "the last one that begins at or below the offset"
    while segment is not None:
        facts: dict[str, object] = {"base_offset": segment.base_offset, "size": segment.size}
        count = len(log.segments)
        name = segment.path(".log").rpartition("/")[2]
        steps.append(("segment", "F18", f"{name} of {count}, {segment.size} bytes: {why}", facts))
        in_memory = segment.remembers(offset)
        found = segment.find(offset)
        steps += _position_steps(segment, offset, found, in_memory=in_memory)
        if found is not None:
            return steps, _Place(segment, *found)
        why = "the one before has nothing at or after the offset"
        segment = log.segments.higher(segment.base_offset)
    steps.append(("segment", "F18", "no segment has a batch at or after the offset: empty", {}))
    return steps, None


def _position_steps(
    segment: LogSegment, offset: int, found: tuple[int, int] | None, *, in_memory: bool
) -> list[LogStep]:
    """Tell how a segment went from an offset to a position (F19)."""
    if in_memory:
        where = "none reaches it" if found is None else f"the one at byte {found[0]}, {found[1]} bytes long"
        text = f"the newest batches are remembered, no index and no file is read: {where}"
        return [("position", "F19", text, {"source": "memory", "position": found and found[0]})]
    entry_offset, start = segment.offset_index.lookup(offset)
    entries = len(segment.offset_index)
    facts: dict[str, object] = {"entries": entries, "offset": entry_offset, "position": start}
    if start == 0:
        text = f"of {entries} sparse index entries none is at or below offset {offset}: from byte 0"
    else:
        text = (
            f"of {entries} sparse index entries the last at or below is offset {entry_offset} -> byte {start}"
        )
    end = segment.size if found is None else found[0] + found[1]
    heads: list[dict[str, int]] = []
    for head in batch_scan.read_heads(segment.leased.file, start, end):
        if len(heads) == HEADERS_TOLD_MAX:
            break
        heads.append({"position": head.position, "base_offset": head.base_offset,
                      "last_offset": head.last_offset, "size": head.size})  # fmt: skip
    count = f"{len(heads)} batch header{'' if len(heads) == 1 else 's'} walked over from byte {start}"
    if found is None:
        scanned = f"{count}: none reaches offset {offset}"
    else:
        scanned = (
            f"{count}: the batch at byte {found[0]}, {found[1]} bytes long, is the first to reach {offset}"
        )
        if len(heads) < HEADERS_TOLD_MAX:
            scanned += f" ({heads[-1]['base_offset']}..{heads[-1]['last_offset']})"
    return [
        ("index", "F19", text, facts),
        ("scan", "F19", scanned, {"headers": heads, "position": found and found[0]}),
    ]


def _end_step(segment: LogSegment, read: LogRead, end: int | None) -> LogStep:
    bound = read.bound
    if end is None:
        text = "where the bound lies in the file is not known: empty"
    elif bound.segment_base_offset > segment.base_offset:
        text = f"the bound lies in a later segment: to this one's end, byte {end}"
    else:
        text = f"the bound lies in this segment: to its byte {end}, where a batch begins or the file ends"
    return "end", "F20", text, {"end_position": end}


def _cut_step(log: Log, place: _Place, read: LogRead, end: int) -> tuple[LogStep, int]:
    available = end - place.position
    limit = max(read.max_bytes, place.size) if read.min_one_message else read.max_bytes
    length = min(available, limit)
    facts: dict[str, object] = {
        "available_bytes": available,
        "max_bytes": read.max_bytes,
        "first_batch_bytes": place.size,
        "length": max(length, 0),
    }
    if limit < place.size:
        cut_by, rule = "nothing fits", "F7"
        text = (
            f"{read.limit_words} cannot hold the first batch ({place.size} bytes), and this is not the first"
        )
    elif available <= limit:
        later = log.segments.higher(place.segment.base_offset) is not None
        at_end = end == place.segment.size and later
        cut_by, rule = ("segment end", "F23") if at_end else ("bound", "F21")
        why = "a fetch never crosses a segment" if at_end else "the bound falls on a batch's start"
        text = f"{available} bytes are there, within {read.limit_words}: {why}"
    elif limit > read.max_bytes:
        cut_by, rule = "first batch", "F7"
        text = f"the first batch goes out whole, {place.size} bytes, even above {read.limit_words}"
    else:
        cut_by, rule = "limit", "F21"
        text = f"{read.limit_words} cuts {available} bytes to {length}; it may split the last batch"
    return ("cut", rule, text, {**facts, "cut_by": cut_by}), length


def _residency_step(records: FileSlice) -> LogStep:
    is_cached = records.leased.file.is_cached(records.position, records.length)
    if is_cached:
        text = "all of it is in the page cache: no disk is waited for"
    else:
        text = (
            "it is not all in the page cache: helper threads bring it in, and other connections do not wait"
        )
    return "residency", "F44", text, {"in_page_cache": is_cached}


def _aborted_step(log: Log, segment: LogSegment, result: FetchPartitionResult) -> LogStep:
    assert result.records is not None
    data = FetchDataInfo(result.offset_metadata, result.records)
    found = log_read.aborted_transactions(log.segments, segment, data, log.log_end_offset)
    listed = [{"producer_id": entry.producer_id, "first_offset": entry.first_offset} for entry in found]
    text = "no aborted transaction overlaps the slice"
    if found:
        text = f"{len(found)} aborted transactions for the consumer to skip: " + ", ".join(
            f"producer {entry.producer_id} from {entry.first_offset}" for entry in found[:3]
        )
    return "aborted", "F17", text, {"aborted_transactions": listed}
