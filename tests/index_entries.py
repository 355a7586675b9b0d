"""Whether the entries of a segment's indexes say what its batches do."""

from collections.abc import Iterator

from barnabas.protocol.record_batch import iter_batches
from barnabas.storage.segment import LogSegment


def wrong_entries(segment: LogSegment, content: bytes) -> Iterator[str]:
    """Tell what is wrong with entries.

    Args:
        content: of the segment's log file.
    """
    places, largest_at, largest = {}, {}, -1
    for at, header in iter_batches(content):
        largest = max(largest, header.max_timestamp)
        places[header.last_offset] = at
        largest_at[header.last_offset] = largest
    for number in range(len(segment.offset_index)):
        offset, position = segment.offset_index.entry(number)
        if places.get(offset) != position:
            yield f"the index entry {offset}, {position} points at no batch"
    for number in range(len(segment.time_index)):
        timestamp, offset = segment.time_index.entry(number)
        if largest_at.get(offset) != timestamp:
            yield f"the time index entry {timestamp}, {offset} is wrong"
