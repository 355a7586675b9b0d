"""Answers on their way out: what the socket did not take at once.

A queue exists only while something waits, so an idle connection has none. Heap parts in a row go out
by one sendmsg; a slice goes by sendfile behind a header sent with MSG_MORE, or through a staging buffer
of the loop: what the socket did not take of the staging buffer is read again later, which is cheaper
than a buffer per connection.

A slice that is not in memory is not sent: the queue has it brought in by `ColdReads`, lets the loop go on,
and asks for a turn when it is there (F44). What was found there, or brought there, is sent without asking
again.

Every slice that enters is released once: when its last byte is out, or by `discard`.
"""

import errno
from collections import deque
from collections.abc import Callable, Sequence

from barnabas.base.cold_reads import ColdReads
from barnabas.base.dataclass import dataclass
from barnabas.base.enums import Enum, auto
from barnabas.base.region import GUARD_PIECE_BYTES, FileSlice
from barnabas.net.contracts import Part, Transport

Buffer = bytes | bytearray | memoryview

SHARED_TURN_BYTES = 256 * 1024
"""What one connection may send before the others have their turn, 0.1 to 0.2 ms, while small answers go out.
With 1 MiB the p99 of a small fetch beside a bulk reader was twice that alone, with this it is the same."""

BULK_TURN_BYTES = 1024 * 1024
"""The same while nobody waits for small answers: a sendfile costs less the longer it is, a fifth here."""

JOIN_BYTES_MAX = 64 * 1024
"""Up to this size parts are joined and sent by one call; joining 128 KiB costs four times a sendmsg."""

COLD_PIECE_BYTES = 1024 * 1024
"""What is brought in at once of a cold slice: one wait for the disk for several turns' worth of sending."""

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
    READING = auto()
    """The next bytes come from the disk first; a turn is asked for when they are in memory (F44)."""


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
    """The parts that wait on one connection, in order.

    Attributes:
        heap_bytes: of parts in memory, of one that is out in part all.
    """

    __slots__ = (
        "_cold_reads",
        "_corked",
        "_counters",
        "_offset",
        "_parts",
        "_read_error",
        "_reading",
        "_resume",
        "_staging",
        "_transport",
        "_warm_end",
        "_zero_copy_min_bytes",
        "heap_bytes",
    )

    def __init__(
        self,
        transport: Transport,
        *,
        staging: memoryview,
        zero_copy_min_bytes: int,
        counters: OutputCounters,
        cold_reads: ColdReads | None = None,
        resume: Callable[[], None] | None = None,
    ) -> None:
        """Make an empty queue.

        Args:
            staging: the loop's buffer for slices that are copied.
            zero_copy_min_bytes: slices of this size and more go by sendfile; COPY_ALL: none.
            cold_reads: None sends whatever is asked for, and waits for the disk within.
            resume: called when a flush that ended with READING can go on.
        """
        self._transport = transport
        self._staging = staging
        self._zero_copy_min_bytes = zero_copy_min_bytes
        self._counters = counters
        self._parts: deque[Part] = deque()
        self.heap_bytes = 0
        self._offset = 0  # bytes of the first part that are out
        self._corked = False  # the socket holds back its last partial packet
        self._cold_reads = cold_reads
        self._resume = resume
        self._reading: FileSlice | None = None  # being brought in
        self._read_error: OSError | None = None
        self._warm_end = 0  # bytes of the first part, a slice, up to which it is in memory

    def __len__(self) -> int:
        """How many parts wait."""
        return len(self._parts)

    @property
    def is_reading(self) -> bool:
        """Whether the disk is waited for, and nothing can be sent."""
        return self._reading is not None

    @property
    def waiting_bytes(self) -> int:
        """Bytes that wait, slices included."""
        return sum(map(len, self._parts)) - self._offset

    def extend(self, parts: Sequence[Part]) -> None:
        """Queue parts behind the others; empty ones are left out."""
        for part in parts:
            if len(part):
                self._parts.append(part)
                if part.__class__ is not FileSlice:
                    self.heap_bytes += len(part)
            elif isinstance(part, FileSlice):
                part.release()

    def discard(self) -> None:
        """Drop what waits and release its slices."""
        parts = self._parts
        while parts:
            part = parts.popleft()
            if isinstance(part, FileSlice):
                part.release()
        self._offset = self.heap_bytes = 0
        self._reading = self._resume = None

    def doubt(self) -> None:
        """Ask again what is in memory: what was found there a while ago may be gone."""
        self._warm_end = 0

    def flush(self, share_bytes: int) -> tuple[Progress, int]:
        """Send until done, blocked, cold, or the turn's share is used up; return that and the bytes sent.

        Args:
            share_bytes: of this turn; at least so much is sent if the socket takes it, and not much more.

        Raises:
            OSError: the peer is gone.
            SliceError, SliceCutError: a slice could not be read. What was sent cannot be taken back:
                the connection must close.
        """
        if self._reading is not None:
            return Progress.READING, 0
        parts = self._parts
        sent_bytes = 0
        while parts:
            if sent_bytes >= share_bytes:
                return Progress.YIELDED, sent_bytes
            part = parts[0]
            try:
                if part.__class__ is not FileSlice:
                    wanted, sent = self._send_heap(share_bytes)
                elif part.length >= self._zero_copy_min_bytes:
                    wanted, sent = self._send_file(part, share_bytes)
                else:
                    wanted, sent = self._send_staged(part)
            except BlockingIOError:
                return Progress.BLOCKED, sent_bytes
            if wanted == 0:
                return Progress.READING, sent_bytes
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

    def _send_heap(self, share_bytes: int) -> tuple[int, int]:
        """Send the heap parts at the head; return the bytes offered and the bytes taken."""
        gathered: list[Buffer] = []
        wanted = 0
        more = False
        for part in self._parts:
            if isinstance(part, FileSlice):
                more = True
                break
            if len(gathered) == _GATHER_PARTS_MAX or wanted >= share_bytes:
                break
            piece = part if gathered or not self._offset else memoryview(part)[self._offset :]
            gathered.append(piece)
            wanted += len(piece)
        self._counters.sends += 1
        if wanted <= JOIN_BYTES_MAX and len(gathered) > 1:
            gathered = [b"".join(gathered)]
        return wanted, self._transport.send_parts(gathered, more)

    def _send_file(self, part: FileSlice, share_bytes: int) -> tuple[int, int]:
        """Send from the page cache; return the bytes wanted, 0 when they are not there, and those taken."""
        offset = self._offset
        wanted = min(part.length - offset, share_bytes)
        if self._cold_reads is not None:
            if self._warm_end > offset:
                wanted = min(wanted, self._warm_end - offset)
            elif self._is_cold(part, offset, min(part.length - offset, COLD_PIECE_BYTES)):
                return 0, 0
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
        """Copy and send; return the bytes wanted, 0 when they are not in memory, and the bytes taken."""
        staging = self._staging
        wanted = min(part.length - self._offset, len(staging))
        if part.guard is not None:
            # Whole pieces are compared: what reaches into the next one would be read twice.
            wanted = min(wanted, GUARD_PIECE_BYTES - self._offset % GUARD_PIECE_BYTES)
        try:
            if self._cold_reads is None or self._warm_end >= self._offset + wanted:
                self._raise_read_error()
                got = part.read_into(self._offset, staging[:wanted])
            else:
                tried = part.try_read_into(self._offset, staging[:wanted])
                if tried is None:
                    self._cold_reads.misses += 1
                    self._bring_in(part, self._offset, min(part.length - self._offset, COLD_PIECE_BYTES))
                    return 0, 0
                self._cold_reads.was_ready(part.leased, part.position + self._offset, wanted)
                got = tried
        except OSError as error:
            raise SliceError(part, error) from error
        if got < wanted:
            raise _cut(part, self._offset + got)
        last = len(self._parts) == 1 and self._offset + wanted == part.length
        self._counters.sends += 1
        sent = self._transport.send_parts([staging[:wanted]], not last)
        self._counters.staged_bytes += sent
        return wanted, sent

    def _is_cold(self, part: FileSlice, offset: int, wanted: int) -> bool:
        """Tell whether a piece must be brought in, and have that done; else note that it is in memory."""
        cold_reads = self._cold_reads
        assert cold_reads is not None
        try:
            self._raise_read_error()
            is_ready = cold_reads.is_ready(part.leased, part.position + offset, wanted)
        except OSError as error:
            raise SliceError(part, error) from error
        if is_ready:
            self._warm_end = offset + wanted
            return False
        self._bring_in(part, offset, wanted)
        return True

    def _bring_in(self, part: FileSlice, offset: int, length: int) -> None:
        assert self._cold_reads is not None
        self._reading = part
        self._warm_end = offset + length
        self._cold_reads.read(part.leased, part.position + offset, length, self._is_read)

    def _is_read(self, error: OSError | None) -> None:
        """The helper is back: go on, unless the queue was discarded meanwhile."""
        if self._reading is None:
            return
        self._reading = None
        if error is not None:
            self._read_error = error
            self._warm_end = 0
        if self._resume is not None:
            self._resume()

    def _raise_read_error(self) -> None:
        """Let the disk's error of a helper be the error of the piece it was sent for."""
        error, self._read_error = self._read_error, None
        if error is not None:
            raise error

    def _advance(self, sent: int) -> None:
        """Take `sent` bytes off the head."""
        parts = self._parts
        offset = self._offset + sent
        while parts and offset >= len(parts[0]):
            part = parts.popleft()
            offset -= len(part)
            if isinstance(part, FileSlice):
                part.release()
                self._warm_end = 0
            else:
                self.heap_bytes -= len(part)
        self._offset = offset


def read_slice(part: FileSlice, cold_reads: ColdReads | None, buffer: memoryview) -> Buffer | None:
    """Return a slice's bytes, all of them; None when they are not in memory. The slice is not released.

    Args:
        cold_reads: counts the hit or the miss; None waits for the disk.
        buffer: at least as long as the slice; may hold what is returned.

    Raises:
        SliceError, SliceCutError: as `OutputQueue.flush`.
    """
    data: Buffer
    try:
        if cold_reads is None:
            data = part.read()
        else:
            got = part.try_read_into(0, buffer)
            if got is None:
                cold_reads.misses += 1
                return None
            cold_reads.was_ready(part.leased, part.position, part.length)
            data = buffer[:got]
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
