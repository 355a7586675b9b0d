"""Whole frames out of a byte stream cut anywhere.

A frame is a 4-byte big-endian length and that many bytes. The reader exists only while a connection
has a frame begun; an idle connection has none. Small frames gather by appending what the loop's shared
buffer received; a large one gets its own memory, which the socket then fills directly.

The peer's length is a claim: memory grows with the bytes that came, to at most GROWTH times them, and
never beyond the frame. Allocating the claimed length at once would let 10,000 connections of five bytes
each ask for a terabyte.
"""

from barnabas.base.errors import ProtocolError
from barnabas.base.limits import READ_CHUNK_BYTES

LENGTH_BYTES = 4

DIRECT_MIN_BYTES = 32 * 1024
"""Received bytes of one frame from which on it has its own memory, if a shared buffer's worth is missing."""

RECEIVE_BYTES_MAX = 1024 * 1024
"""What one receive may bring of a large frame, so that a fast sender leaves the others their turn."""

GROWTH = 4
"""Zeroing and moving cost about 40 us for a frame of 1 MiB at this step; at 2 they cost twice that."""


def _length_failure(length: int, frame_bytes_max: int) -> ProtocolError | None:
    """Return what is wrong with a length that no request may have."""
    if length <= 0:
        return ProtocolError(f"frame length {length} is not positive")
    if length > frame_bytes_max:
        return ProtocolError(
            f"frame length {length} is larger than socket.request.max.bytes ({frame_bytes_max});"
            " perhaps the peer speaks another protocol, or TLS"
        )
    return None


class FrameReader:
    """Gathers the frames of one stream. Feed it; ask `is_empty` to know whether to keep it.

    Attributes:
        failure: set by a length that is not positive or too large; the stream is then lost. Frames that
            were whole before it are returned all the same.
    """

    __slots__ = ("_buffer", "_filled", "_frame_bytes_max", "_length", "failure")

    def __init__(self, frame_bytes_max: int) -> None:
        self.failure: ProtocolError | None = None
        self._frame_bytes_max = frame_bytes_max
        self._buffer = bytearray()  # the length while that is incomplete, then the frame without it
        self._filled = 0  # bytes of the frame received; the buffer may be longer in direct mode
        self._length = 0  # the frame's length; 0 while unknown

    @property
    def is_empty(self) -> bool:
        """Whether no frame is begun."""
        return self._length == 0 and not self._buffer and self.failure is None

    @property
    def buffered_bytes(self) -> int:
        """Memory held for the frame begun."""
        return len(self._buffer)

    def feed(self, data: bytearray | memoryview, count: int) -> list[memoryview]:
        """Take `count` bytes from the start of `data` and return the frames they complete.

        Each frame is a writable view of memory of its own. Call it when `direct_buffer` is None.
        """
        frames: list[memoryview] = []
        position = 0
        while position < count and self.failure is None:
            if self._length == 0:
                position = self._take_length(data, position, count)
                continue
            take = min(self._length - self._filled, count - position)
            self._buffer += data[position : position + take]
            self._filled += take
            position += take
            if self._filled == self._length:
                frames.append(self._take_frame())
        return frames

    def direct_buffer(self) -> memoryview | None:
        """Return memory for the frame's next bytes when it is large enough to be received in place.

        Release the view before the next call. None: receive elsewhere and feed.
        """
        filled = self._filled
        if filled < DIRECT_MIN_BYTES:
            return None
        if filled == len(self._buffer):
            if self._length - filled <= READ_CHUNK_BYTES:
                return None
            grown = bytearray(min(self._length, filled * GROWTH))
            grown[:filled] = self._buffer
            self._buffer = grown
        return memoryview(self._buffer)[filled : filled + RECEIVE_BYTES_MAX]

    def direct_filled(self, count: int) -> memoryview | None:
        """Note that `count` bytes came into `direct_buffer`; return the frame when it is whole."""
        self._filled += count
        return self._take_frame() if self._filled == self._length else None

    def _take_length(self, data: bytearray | memoryview, position: int, count: int) -> int:
        end = min(count, position + LENGTH_BYTES - len(self._buffer))
        self._buffer += data[position:end]
        if len(self._buffer) == LENGTH_BYTES:
            length = int.from_bytes(self._buffer, "big", signed=True)
            self.failure = _length_failure(length, self._frame_bytes_max)
            self._length = length
            self._buffer = bytearray()
        return end

    def _take_frame(self) -> memoryview:
        frame = memoryview(self._buffer)
        self._buffer = bytearray()
        self._filled = self._length = 0
        return frame
