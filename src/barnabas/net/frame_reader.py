"""Whole frames out of a byte stream cut anywhere.

A frame is a 4-byte big-endian length and that many bytes. A reader exists only while a connection has a
frame begun; an idle connection has none. Small frames gather by appending what the loop's shared
buffer received; a large one gets memory that the socket then fills directly.

The peer's length is a claim: memory grows with the bytes that came, to at most GROWTH times them and
never beyond the frame, save for the loop's bounded pool. Allocating the claimed length at once would let
10,000 connections of five bytes each ask for a terabyte.
"""

from struct import Struct

from barnabas.base.errors import ProtocolError
from barnabas.base.limits import READ_CHUNK_BYTES
from barnabas.net.frame_memory import FrameMemory

LENGTH_BYTES = 4

DIRECT_MIN_BYTES = 32 * 1024
"""Received bytes of one frame from which on it has its own memory, if a shared buffer's worth is missing."""

RECEIVE_BYTES_MAX = 1024 * 1024
"""What one receive may bring of a large frame, so that a fast sender leaves the others their turn."""

GROWTH = 4
"""Each step moves what came before; at 2, a frame of 64 MiB is moved once more in all."""

_unpack_length = Struct(">i").unpack_from


def length_failure(length: int, frame_bytes_max: int) -> ProtocolError | None:
    """Return what is wrong with a frame's length; None when nothing is."""
    if length <= 0:
        return ProtocolError(f"frame length {length} is not positive")
    if length > frame_bytes_max:
        return ProtocolError(
            f"frame length {length} is larger than socket.request.max.bytes ({frame_bytes_max});"
            " perhaps the peer speaks another protocol, or TLS"
        )
    return None


def split_frames(
    data: memoryview, position: int, count: int, frame_bytes_max: int
) -> tuple[list[memoryview], int]:
    """Copy the whole frames out of data[position:count] and return them and where the rest starts.

    It stops before a frame that is not whole or whose length is not allowed.
    """
    frames = []
    while count - position > LENGTH_BYTES:
        (length,) = _unpack_length(data, position)
        start = position + LENGTH_BYTES
        if length <= 0 or length > frame_bytes_max or start + length > count:
            break
        position = start + length
        frames.append(memoryview(bytearray(data[start:position])))
    return frames, position


class FrameReader:
    """Gathers the frame that is begun, and those behind it.

    Attributes:
        failure: set by a length that is not positive or too large; the stream is then lost. Frames that
            were whole before it are returned all the same.
    """

    __slots__ = ("_buffer", "_filled", "_frame_bytes_max", "_length", "_memory", "_number", "failure")

    def __init__(self, frame_bytes_max: int, memory: FrameMemory) -> None:
        self.failure: ProtocolError | None = None
        self._frame_bytes_max = frame_bytes_max
        self._memory = memory
        self._number: int | None = None  # of the pooled buffer in use
        self._buffer = bytearray()  # the length while that is incomplete, then the frame without it
        self._filled = 0  # bytes of the frame received; the buffer is longer when it is filled directly
        self._length = 0  # the frame's length; 0 while unknown

    @property
    def is_empty(self) -> bool:
        """Whether no frame is begun."""
        return self._length == 0 and not self._buffer and self.failure is None

    @property
    def buffered_bytes(self) -> int:
        """Memory held for the frame begun."""
        return len(self._buffer)

    def feed(self, data: memoryview, position: int, count: int) -> list[memoryview]:
        """Take data[position:count] and return the frames that it completes.

        Each frame is a writable view of memory of its own. Call it when `direct_buffer` is None.
        """
        frames: list[memoryview] = []
        while position < count and self.failure is None:
            if self._length == 0:
                if not self._buffer:
                    whole, position = split_frames(data, position, count, self._frame_bytes_max)
                    frames += whole
                position = self._take_length(data, position, count)
                continue
            take = min(self._length - self._filled, count - position)
            if take >= DIRECT_MIN_BYTES and self._filled == 0 and self._take_pooled(take):
                self._buffer[:take] = data[position : position + take]
            else:
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
            begun = self._buffer
            if not self._take_pooled(filled):
                self._buffer = bytearray(min(self._length, filled * GROWTH))
            self._buffer[:filled] = begun
        end = min(len(self._buffer), self._length, filled + RECEIVE_BYTES_MAX)
        return memoryview(self._buffer)[filled:end]

    def direct_filled(self, count: int) -> memoryview | None:
        """Note that `count` bytes came into `direct_buffer`; return the frame when it is whole."""
        self._filled += count
        return self._take_frame() if self._filled == self._length else None

    def discard(self) -> None:
        """Drop the frame begun; its connection is gone."""
        self._give_back()
        self._buffer = bytearray()
        self._filled = self._length = 0

    def _take_length(self, data: memoryview, position: int, count: int) -> int:
        end = min(count, position + LENGTH_BYTES - len(self._buffer))
        self._buffer += data[position:end]
        if len(self._buffer) == LENGTH_BYTES:
            length = int.from_bytes(self._buffer, "big", signed=True)
            self.failure = length_failure(length, self._frame_bytes_max)
            self._length = length
            self._buffer = bytearray()
        return end

    def _take_pooled(self, received: int) -> bool:
        """Use pooled memory for a frame of which much is missing still; False when there is none."""
        if self._number is not None or self._length - received <= READ_CHUNK_BYTES:
            return False
        self._number = self._memory.take(self._length)
        if self._number is None:
            return False
        self._buffer = self._memory.buffer(self._number)
        return True

    def _take_frame(self) -> memoryview:
        frame = memoryview(self._buffer)[: self._length]
        self._give_back()
        self._buffer = bytearray()
        self._filled = self._length = 0
        return frame

    def _give_back(self) -> None:
        if self._number is not None:
            self._memory.give_back(self._number)
            self._number = None
