"""What the segments of all logs hold open and in memory, bounded together."""

from collections import OrderedDict
from collections.abc import Callable

from barnabas.base.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.storage.segment import LogSegment


class SegmentCache:
    """Bounds descriptors of all segments and index entries of sealed ones; least recently used go first.

    Args:
        index_bytes_max: bytes of index entries that sealed segments keep in memory.
        files_max: open log files. Slices and flushes in flight may hold further ones open.

    Attributes:
        used: notes a use of an open file; a plain function of C, since every append and read calls it.
    """

    __slots__ = ("_files_max", "_held", "_index_bytes", "_index_bytes_max", "_open", "used")

    def __init__(self, index_bytes_max: int = 64 * 1024 * 1024, files_max: int = 512) -> None:
        self._index_bytes_max = index_bytes_max
        self._files_max = files_max
        self._index_bytes = 0
        self._held: OrderedDict[LogSegment, int] = OrderedDict()
        self._open: OrderedDict[LogSegment, None] = OrderedDict()
        self.used: Callable[[LogSegment], None] = self._open.move_to_end

    def opened(self, segment: "LogSegment") -> None:
        """Note that a segment opened its file, which may make others close theirs."""
        self._open[segment] = None
        while len(self._open) > self._files_max and len(self._open) > 1:
            self._open.popitem(last=False)[0].close_file()

    def loaded(self, segment: "LogSegment") -> None:
        """Note that a sealed segment holds its indexes, which may make others drop theirs."""
        held = self._held
        self._index_bytes += segment.held_index_bytes - held.pop(segment, 0)
        held[segment] = segment.held_index_bytes
        while len(held) > 1 and self._index_bytes > self._index_bytes_max:
            oldest, size = held.popitem(last=False)
            self._index_bytes -= size
            oldest.drop_indexes()

    def closed(self, segment: "LogSegment") -> None:
        """Note that a segment closed its file."""
        self._open.pop(segment, None)

    def forget(self, segment: "LogSegment") -> None:
        """Stop counting a segment's indexes: it is gone, or active again."""
        self._index_bytes -= self._held.pop(segment, 0)

    def statistics(self) -> dict[str, int]:
        """Open files, sealed segments with indexes in memory, and the bytes of their entries."""
        return {"files": len(self._open), "segments": len(self._held), "index_bytes": self._index_bytes}
