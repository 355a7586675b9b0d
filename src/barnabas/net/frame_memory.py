"""Memory for large frames, used again once nobody looks at the last frame in it.

Fresh memory costs more than receiving into it: the kernel hands out zeroed pages one fault at a time, 0.9 ms
for 1 MiB where four connections produce at once (measured under a hypervisor), against 0.2 ms for the
bytes themselves. The handler may keep a frame for as long as it likes, so it gives nothing back: a
bytearray refuses to change its size while a view of it exists (documented), which is asked before each use.

Counting references would tell the same less reliably; an mmap per frame has the faults this avoids.
"""

POOLED_FRAME_BYTES_MAX = 1024 * 1024 + 64 * 1024
"""Frames up to this size can use pooled memory: a batch of the default max.message.bytes and its request."""

POOL_BUFFERS_MAX = 16
"""17 MiB in all, and only once that many large frames were in hand at a time."""


class FrameMemory:
    """A loop's pool. Buffers are made when first needed and kept."""

    __slots__ = ("_buffers", "_lent")

    def __init__(self) -> None:
        self._buffers: list[bytearray] = []
        self._lent: set[int] = set()  # indexes of buffers whose frame is still being received

    def take(self, length: int) -> int | None:
        """Lend a buffer that holds `length` bytes; None when it is too long or all are in use.

        Returns:
            A number for `buffer` and `give_back`.
        """
        if length > POOLED_FRAME_BYTES_MAX:
            return None
        for number, buffer in enumerate(self._buffers):
            if number not in self._lent and not _is_viewed(buffer):
                self._lent.add(number)
                return number
        if len(self._buffers) == POOL_BUFFERS_MAX:
            return None
        self._buffers.append(bytearray(POOLED_FRAME_BYTES_MAX))
        self._lent.add(len(self._buffers) - 1)
        return len(self._buffers) - 1

    def buffer(self, number: int) -> bytearray:
        """Return a lent buffer."""
        return self._buffers[number]

    def give_back(self, number: int) -> None:
        """The frame is whole, or its connection gone; views of it keep the buffer from being lent again."""
        self._lent.discard(number)

    @property
    def held_bytes(self) -> int:
        return len(self._buffers) * POOLED_FRAME_BYTES_MAX


def _is_viewed(buffer: bytearray) -> bool:
    try:
        buffer.append(0)
    except BufferError:
        return True
    del buffer[-1]
    return False
