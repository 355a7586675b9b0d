"""A range of a file that travels from the log to the socket without its bytes being read.

It lies below both `net` and `storage`, so that neither imports the other. A slice leases its file:
retention, truncation, deletion and close may drop their own hold on the file at any time, and the
descriptor still stays open until the last response that needs it has gone out or died (F22).
"""

import errno
from collections.abc import Callable, Sequence

from barnabas.base.disk import Buffer, DiskFile
from barnabas.base.hints import Final

GUARD_PIECE_BYTES: Final = 64 * 1024
"""Of a guarded slice, what is compared at once."""


class LeasedFile:
    """An open file that closes when its owner and all slices have let go."""

    __slots__ = ("_holders", "file")

    def __init__(self, file: DiskFile) -> None:
        self.file = file
        self._holders = 1  # the owner

    def acquire(self) -> None:
        """Hold the file open; each call needs one release."""
        assert self._holders > 0, f"lease on a closed file: {self.file.path}"
        self._holders += 1

    def release(self) -> None:
        """Let go; the last one closes the file."""
        assert self._holders > 0, f"released too often: {self.file.path}"
        self._holders -= 1
        if self._holders == 0:
            self.file.close()

    @property
    def holders(self) -> int:
        """Owner and slices that hold the file now; 0 when it is closed."""
        return self._holders


class SliceGuard:
    """What the pieces of a slice were when they were checked; compares them when they are read to be sent.

    Args:
        checksum: of bytes, going on from a value.
        values: of each GUARD_PIECE_BYTES from the slice's position on; the last may be of a shorter piece.
        checked_bytes: of all pieces together. The slice may be shorter, never longer.
    """

    __slots__ = ("_checksum", "_values", "checked_bytes")

    def __init__(
        self, checksum: Callable[[Buffer, int], int], values: Sequence[int], checked_bytes: int
    ) -> None:
        self._checksum = checksum
        self._values = values
        self.checked_bytes = checked_bytes

    def holds(self, offset: int, piece: Buffer) -> bool:
        """Whether a whole piece at `offset` in the slice is what it was."""
        return self._checksum(piece, 0) == self._values[offset // GUARD_PIECE_BYTES]


class FileSlice:
    """`length` bytes of a file from `position`, held open until released.

    Whoever ends up with a slice releases it once: the transport when the bytes are out or the
    connection is gone, or whoever decides not to send it.

    Attributes:
        guard: what was checked and must not have changed since; None when nothing was.
    """

    __slots__ = ("_leased", "_released", "guard", "length", "position")

    def __init__(self, leased: LeasedFile, position: int, length: int) -> None:
        leased.acquire()
        self._leased = leased
        self._released = False
        self.position = position
        self.length = length
        self.guard: SliceGuard | None = None

    def __len__(self) -> int:
        return self.length

    @property
    def path(self) -> str:
        """The file's path when it was opened; it may have been renamed or unlinked since."""
        return self._leased.file.path

    @property
    def leased(self) -> LeasedFile:
        """The file, for whoever must hold it open longer than the slice."""
        return self._leased

    def fileno(self) -> int:
        """The descriptor to send from."""
        return self._leased.file.fileno()

    def read(self) -> bytes:
        """Return the bytes; fewer than `length` when the file was cut meanwhile."""
        if self.guard is not None:
            content = bytearray(self.length)
            return bytes(content[: self.read_into(0, memoryview(content))])
        return self._leased.file.read_at(self.position, self.length)

    def try_read_into(self, offset: int, buffer: memoryview) -> int | None:
        """As `read_into`, but None when that would wait for the disk (F44)."""
        wanted = min(len(buffer), self.length - offset)
        file = self._leased.file
        if self.guard is not None:
            return self._read_guarded(self.guard, offset, buffer[:wanted], file.try_read_into)
        return file.try_read_into(self.position + offset, buffer[:wanted])

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Fill `buffer` from `offset` within the slice; return the bytes read, 0 past the file's end.

        Raises:
            OSError: the disk refuses; or EBADMSG, the bytes are not those that were checked.
        """
        wanted = min(len(buffer), self.length - offset)
        file = self._leased.file
        if self.guard is not None:
            return self._read_guarded(self.guard, offset, buffer[:wanted], file.read_into) or 0
        return file.read_into(self.position + offset, buffer[:wanted])

    def _read_guarded(
        self,
        guard: SliceGuard,
        offset: int,
        buffer: memoryview,
        read_into: Callable[[int, memoryview], int | None],
    ) -> int | None:
        """Read whole pieces, compare them, and give what was asked for of them."""
        first = offset - offset % GUARD_PIECE_BYTES
        end = offset + len(buffer)
        last = min(-(-end // GUARD_PIECE_BYTES) * GUARD_PIECE_BYTES, guard.checked_bytes)
        exact = first == offset and last == end
        pieces = buffer if exact else memoryview(bytearray(last - first))
        got = read_into(self.position + first, pieces)
        if got is None:
            return None
        if got < len(pieces):
            return 0  # cut meanwhile
        for at in range(0, got, GUARD_PIECE_BYTES):
            if not guard.holds(first + at, pieces[at : at + GUARD_PIECE_BYTES]):
                raise OSError(errno.EBADMSG, "the bytes have changed since they were checked", self.path)
        if not exact:
            buffer[:] = pieces[offset - first : end - first]
        return len(buffer)

    def release(self) -> None:
        """Give the lease back; only the first call counts."""
        if not self._released:
            self._released = True
            self._leased.release()
