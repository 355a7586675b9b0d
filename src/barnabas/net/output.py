"""Answers on their way out: what the socket did not take at once.

A queue exists only while something waits, so an idle connection has none. Heap parts in a row go out
by one sendmsg; a slice goes by sendfile behind a header sent with MSG_MORE, or through a staging buffer
of the loop: what the socket did not take of the staging buffer is read again later, which is cheaper
than a buffer per connection.

Every slice that enters is released once: when its last byte is out, or by `discard`.
"""

import errno
from collections import deque
from collections.abc import Sequence

from barnabas.base.dataclass import dataclass
from barnabas.base.enums import Enum, auto
from barnabas.base.region import FileSlice
from barnabas.net.contracts import Part, Transport

Buffer = bytes | bytearray | memoryview

SEND_BYTES_PER_TURN_MAX = 1024 * 1024
"""What one connection may send before the others have their turn; about 0.2 ms of copying."""

JOIN_BYTES_MAX = 64 * 1024
"""Up to this size parts are joined and sent by one call; joining 128 KiB costs four times a sendmsg."""

COPY_ALL = 2**62
"""A zero-copy threshold that no slice reaches."""

_GATHER_PARTS_MAX = 64
"""Parts of one sendmsg. More would not send faster, and the kernel refuses more than 1024."""

_SOCKET_ERRNOS = frozenset(
    (
        errno.EPIPE,
        errno.ECONNRESET,
        errno.ECONNABORTED,
        errno.ENOTCONN,
        errno.ESHUTDOWN,
        errno.ETIMEDOUT,
        errno.EHOSTUNREACH,
        errno.ENETUNREACH,
        errno.ENETDOWN,
        errno.ENOBUFS,
    )
)


class SliceError(Exception):
    """A slice's file could not be read: the file's fault, not the peer's (F43)."""

    def __init__(self, failed: FileSlice, cause: OSError) -> None:
        super().__init__(f"cannot read {failed.path}: {cause}")
        self.failed = failed
        self.cause = cause


class SliceCutError(Exception):
    """A slice's file ends before the slice does: truncated after the answer was made."""


class Progress(Enum):
    """How a flush ended."""

    DONE = auto()
    """Everything is out."""
    BLOCKED = auto()
    """The socket takes no more; go on when it is writable."""
    YIELDED = auto()
    """The turn's share is used up; go on in the next turn."""


@dataclass(slots=True, kw_only=True)
class OutputCounters:
    """What the connections of one listener sent.

    Attributes:
        sends: calls that sent heap bytes.
        partial_sends: calls, sendfile included, after which something was left.
        send_files: sendfile calls.
        zero_copy_bytes: bytes that went by sendfile.
        staged_bytes: bytes of slices that were read and copied.
    """

    sends: int = 0
    partial_sends: int = 0
    send_files: int = 0
    zero_copy_bytes: int = 0
    staged_bytes: int = 0


class OutputQueue:
    """The parts that wait on one connection, in order."""

    __slots__ = (
        "_corked",
        "_counters",
        "_offset",
        "_parts",
        "_staging",
        "_transport",
        "_zero_copy_min_bytes",
    )

    def __init__(
        self,
        transport: Transport,
        *,
        staging: memoryview,
        zero_copy_min_bytes: int,
        counters: OutputCounters,
    ) -> None:
        """Make an empty queue.

        Args:
            staging: the loop's buffer for slices that are copied.
            zero_copy_min_bytes: slices of this size and more go by sendfile; COPY_ALL: none.
        """
        self._transport = transport
        self._staging = staging
        self._zero_copy_min_bytes = zero_copy_min_bytes
        self._counters = counters
        self._parts: deque[Part] = deque()
        self._offset = 0  # bytes of the first part that are out
        self._corked = False  # the socket holds back its last partial packet

    def __len__(self) -> int:
        """How many parts wait."""
        return len(self._parts)

    @property
    def waiting_bytes(self) -> int:
        """Bytes that wait, slices included."""
        return sum(map(len, self._parts)) - self._offset

    def extend(self, parts: Sequence[Part]) -> None:
        """Queue parts behind the others; empty ones are left out."""
        for part in parts:
            if len(part):
                self._parts.append(part)
            elif isinstance(part, FileSlice):
                part.release()

    def discard(self) -> None:
        """Drop what waits and release its slices."""
        parts = self._parts
        while parts:
            part = parts.popleft()
            if isinstance(part, FileSlice):
                part.release()
        self._offset = 0

    def flush(self) -> tuple[Progress, int]:
        """Send until done, blocked, or the turn's share is used up; return that and the bytes sent.

        Raises:
            OSError: the peer is gone.
            SliceError, SliceCutError: a slice could not be read. What was sent cannot be taken back:
                the connection must close.
        """
        parts = self._parts
        sent_bytes = 0
        while parts:
            if sent_bytes >= SEND_BYTES_PER_TURN_MAX:
                return Progress.YIELDED, sent_bytes
            part = parts[0]
            try:
                if part.__class__ is not FileSlice:
                    wanted, sent = self._send_heap()
                elif part.length >= self._zero_copy_min_bytes:
                    wanted, sent = self._send_file(part)
                else:
                    wanted, sent = self._send_staged(part)
            except BlockingIOError:
                return Progress.BLOCKED, sent_bytes
            sent_bytes += sent
            if sent < wanted:
                self._advance(sent)
                self._counters.partial_sends += 1
                return Progress.BLOCKED, sent_bytes
            self._advance(sent)
        if self._corked:
            self._corked = False
            self._transport.cork(False)
        return Progress.DONE, sent_bytes

    def _send_heap(self) -> tuple[int, int]:
        """Send the heap parts at the head; return the bytes offered and the bytes taken."""
        gathered: list[Buffer] = []
        wanted = 0
        more = False
        for part in self._parts:
            if isinstance(part, FileSlice):
                more = True
                break
            if len(gathered) == _GATHER_PARTS_MAX or wanted >= SEND_BYTES_PER_TURN_MAX:
                break
            piece = part if gathered or not self._offset else memoryview(part)[self._offset :]
            gathered.append(piece)
            wanted += len(piece)
        self._counters.sends += 1
        if wanted <= JOIN_BYTES_MAX and len(gathered) > 1:
            gathered = [b"".join(gathered)]
        return wanted, self._transport.send_parts(gathered, more)

    def _send_file(self, part: FileSlice) -> tuple[int, int]:
        offset = self._offset
        wanted = min(part.length - offset, SEND_BYTES_PER_TURN_MAX)
        if not self._corked and len(self._parts) > 1:
            # sendfile has no MSG_MORE: without the cork, what follows the slice costs a packet of its own.
            self._corked = True
            self._transport.cork(True)
        self._counters.send_files += 1
        try:
            sent = self._transport.send_file(part.fileno(), part.position + offset, wanted)
        except BlockingIOError:
            raise
        except OSError as error:
            if error.errno in _SOCKET_ERRNOS:
                raise
            raise SliceError(part, error) from error
        if sent == 0:
            raise _cut(part, offset)
        self._counters.zero_copy_bytes += sent
        return wanted, sent

    def _send_staged(self, part: FileSlice) -> tuple[int, int]:
        staging = self._staging
        wanted = min(part.length - self._offset, len(staging))
        try:
            got = part.read_into(self._offset, staging[:wanted])
        except OSError as error:
            raise SliceError(part, error) from error
        if got < wanted:
            raise _cut(part, self._offset + got)
        last = len(self._parts) == 1 and self._offset + wanted == part.length
        self._counters.sends += 1
        sent = self._transport.send_parts([staging[:wanted]], not last)
        self._counters.staged_bytes += sent
        return wanted, sent

    def _advance(self, sent: int) -> None:
        """Take `sent` bytes off the head."""
        parts = self._parts
        offset = self._offset + sent
        while parts and offset >= len(parts[0]):
            part = parts.popleft()
            offset -= len(part)
            if isinstance(part, FileSlice):
                part.release()
        self._offset = offset


def read_slice(part: FileSlice) -> bytes:
    """Return a slice's bytes, all of them; the slice is not released.

    Raises:
        SliceError, SliceCutError: as `OutputQueue.flush`.
    """
    try:
        data = part.read()
    except OSError as error:
        raise SliceError(part, error) from error
    if len(data) < part.length:
        raise _cut(part, len(data))
    return data


def _cut(part: FileSlice, offset: int) -> SliceCutError:
    return SliceCutError(
        f"{part.path} ends {part.length - offset} bytes before the slice"
        f" of {part.length} bytes at {part.position} that was to be sent"
    )
