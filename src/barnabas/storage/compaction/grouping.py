"""Which old segments become one new segment.

Neighbours are put together as long as the new segment certainly keeps every bound: its bytes and its indexes
cannot be larger than the old ones' together, and offsets are counted from its base in 31 bits. So the
small segments that earlier cleanings left grow together again.
"""

from collections.abc import Sequence

from barnabas.base.named_tuple import NamedTuple
from barnabas.storage.compaction.task import SegmentToClean
from barnabas.storage.segment import RELATIVE_OFFSET_MAX


class SizedSegment(NamedTuple):
    """A segment with the bytes of its indexes."""

    segment: SegmentToClean
    offset_index_bytes: int
    time_index_bytes: int


def group_segments(
    segments: Sequence[SizedSegment],
    *,
    segment_bytes_max: int,
    index_bytes_max: int,
    first_uncleanable_offset: int,
) -> list[list[SegmentToClean]]:
    """Return the segments in groups, in order; each has at least one.

    Args:
        first_uncleanable_offset: bounds the offsets of the last segment.
    """
    groups: list[list[SegmentToClean]] = []
    size = offset_index = time_index = 0
    for number, sized in enumerate(segments):
        segment = sized.segment
        # The next segment's base bounds this one's offsets without a look into it.
        end = (
            segments[number + 1].segment.base_offset
            if number + 1 < len(segments)
            else first_uncleanable_offset
        )
        size += segment.size_bytes
        offset_index += sized.offset_index_bytes
        time_index += sized.time_index_bytes
        if (
            groups
            and size <= segment_bytes_max
            and offset_index <= index_bytes_max
            and time_index <= index_bytes_max
            and (segment.size_bytes == 0 or end - 1 - groups[-1][0].base_offset <= RELATIVE_OFFSET_MAX)
        ):
            groups[-1].append(segment)
        else:
            groups.append([segment])
            size = segment.size_bytes
            offset_index, time_index = sized.offset_index_bytes, sized.time_index_bytes
    return groups
