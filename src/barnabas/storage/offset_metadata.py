"""An offset together with the place where its batch starts.

With the place known, "how many bytes lie between these two offsets" is a subtraction (F26) and "where may
this read end" needs no search (F20). A NamedTuple, not a dataclass: one is made for every append and
every read, and a frozen dataclass costs four times as much to make.
"""

from barnabas.base.named_tuple import NamedTuple

UNKNOWN_SEGMENT = -1
UNKNOWN_POSITION = -1


class LogOffsetMetadata(NamedTuple):
    """An offset and, when known, its segment and byte position.

    Attributes:
        message_offset: the offset.
        segment_base_offset: base offset of the segment it lies in; -1 unknown.
        position_in_segment: byte position of the batch that holds it, or of the segment's end; -1 unknown.
    """

    message_offset: int
    segment_base_offset: int = UNKNOWN_SEGMENT
    position_in_segment: int = UNKNOWN_POSITION

    @property
    def message_offset_only(self) -> bool:
        """Whether the place is unknown; `Log.offset_metadata` finds it."""
        return self.segment_base_offset == UNKNOWN_SEGMENT and self.position_in_segment == UNKNOWN_POSITION

    def on_older_segment(self, that: "LogOffsetMetadata") -> bool:
        """Whether this offset's segment comes before that one's; False when either is unknown."""
        if self.message_offset_only or that.message_offset_only:
            return False
        return self.segment_base_offset < that.segment_base_offset


UNKNOWN_OFFSET_METADATA = LogOffsetMetadata(-1, 0, 0)
"""Stands for "no offset"; below every real one."""
