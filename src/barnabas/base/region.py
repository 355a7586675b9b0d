"""A range of a file that travels from the log to the socket without its bytes being read.

It lies below both `net` and `storage`, so that neither imports the other. A slice leases its file:
retention, truncation, deletion and close may drop their own hold on the file at any time, and the
descriptor still stays open until the last response that needs it has gone out or died (F22).
"""

from barnabas.base.disk import DiskFile


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


class FileSlice:
    """`length` bytes of a file from `position`, held open until released.

    Whoever ends up with a slice releases it once: the transport when the bytes are out or the
    connection is gone, or whoever decides not to send it.
    """

    __slots__ = ("_leased", "_released", "length", "position")

    def __init__(self, leased: LeasedFile, position: int, length: int) -> None:
        leased.acquire()
        self._leased = leased
        self._released = False
        self.position = position
        self.length = length

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
        return self._leased.file.read_at(self.position, self.length)

    def try_read_into(self, offset: int, buffer: memoryview) -> int | None:
        """As `read_into`, but None when that would wait for the disk (F44)."""
        wanted = min(len(buffer), self.length - offset)
        return self._leased.file.try_read_into(self.position + offset, buffer[:wanted])

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Fill `buffer` from `offset` within the slice; return the bytes read, 0 past the file's end."""
        wanted = min(len(buffer), self.length - offset)
        return self._leased.file.read_into(self.position + offset, buffer[:wanted])

    def release(self) -> None:
        """Give the lease back; only the first call counts."""
        if not self._released:
            self._released = True
            self._leased.release()
