"""Walking the headers of record batches in a file, and nothing but the headers.

A segment's index is sparse, so a read lands up to `index.interval.bytes` before the batch it wants and
walks the last stretch from header to header. The walk reads small windows: only headers when batches
are large, one page when they are small enough for a page to hold several. mmap was rejected: a file that
is cut while it is mapped kills the process, and the simulated disk has nothing to map.
"""

from collections.abc import Callable, Iterator
from struct import Struct

from barnabas.base.disk import Buffer, DiskFile
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.named_tuple import NamedTuple
from barnabas.protocol.record_batch import (
    CONTROL_BIT,
    HEADER,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    TRANSACTIONAL_BIT,
)

RELATIVE_OFFSET_MAX = 2**31 - 1
"""How far above a segment's base offset its batches may reach."""

_SMALL_BATCH_BYTES = 2048
_WINDOW_BYTES = 4096

_FOR_OFFSET = Struct(">qi4xb6xi")
_FOR_TIMESTAMP = Struct(">qi4xb6xi8xq")


class BatchPlace(NamedTuple):
    """Where a batch lies in its segment."""

    base_offset: int
    last_offset: int
    position: int
    size: int


class BatchHead(NamedTuple):
    """A batch's header and place."""

    position: int
    size: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    attributes: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL_BIT)

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record; wraps from 2**31-1 to 0."""
        if self.base_sequence < 0:
            return self.base_sequence
        return (self.base_sequence + (self.last_offset - self.base_offset)) & 0x7FFFFFFF


def corrupt(file: DiskFile, position: int, what: str) -> ApiError:
    """Return the error for bytes that are no batch."""
    return ApiError(ErrorCode.CORRUPT_MESSAGE, f"{file.path} at byte {position}: {what}")


def find_offset(
    file: DiskFile,
    start: int,
    end: int,
    offset: int,
    read_at: Callable[[int, int], Buffer] | None = None,
) -> BatchPlace | None:
    """Return the first batch at or after `start` whose last offset is at least `offset`.

    Args:
        start: position of a batch.
        end: bytes of the file that hold batches.
        read_at: reads the file in place of its own.

    Raises:
        ApiError: CORRUPT_MESSAGE when a header cannot be one.
    """
    unpack_from = _FOR_OFFSET.unpack_from
    need = _FOR_OFFSET.size
    position = window_start = start
    window: Buffer = b""
    window_bytes = HEADER_BYTES
    read_at = read_at or file.read_at
    while position + HEADER_BYTES <= end:
        at = position - window_start
        if at + need > len(window):
            window = read_at(position, min(window_bytes, end - position))
            window_start, at = position, 0
            if len(window) < need:
                raise corrupt(file, position, "the file ends inside a batch header")
        base_offset, length, magic, last_delta = unpack_from(window, at)
        size = LOG_OVERHEAD_BYTES + length
        if size < HEADER_BYTES or magic != MAGIC or last_delta < 0 or base_offset < 0:
            raise corrupt(file, position, f"no batch header (length {length}, magic {magic})")
        if base_offset + last_delta >= offset:
            return BatchPlace(base_offset, base_offset + last_delta, position, size)
        position += size
        window_bytes = _WINDOW_BYTES if size <= _SMALL_BATCH_BYTES else HEADER_BYTES
    return None


def find_timestamp(  # noqa: PLR0917 - where, and what
    file: DiskFile,
    start: int,
    end: int,
    timestamp: int,
    from_offset: int,
    read_at: Callable[[int, int], Buffer] | None = None,
) -> Iterator[BatchPlace]:
    """Yield the batches at or after `start` that may hold a record as late as `timestamp`.

    Only batches that reach `from_offset` and whose header says a timestamp >= `timestamp` come.

    Args:
        read_at: reads the file in place of its own.
    """
    unpack_from = _FOR_TIMESTAMP.unpack_from
    position = start
    read_at = read_at or file.read_at
    while position + HEADER_BYTES <= end:
        header = read_at(position, HEADER_BYTES)
        if len(header) < HEADER_BYTES:
            raise corrupt(file, position, "the file ends inside a batch header")
        base_offset, length, magic, last_delta, max_timestamp = unpack_from(header, 0)
        size = LOG_OVERHEAD_BYTES + length
        if size < HEADER_BYTES or magic != MAGIC or last_delta < 0:
            raise corrupt(file, position, f"no batch header (length {length}, magic {magic})")
        if max_timestamp >= timestamp and base_offset + last_delta >= from_offset:
            yield BatchPlace(base_offset, base_offset + last_delta, position, size)
        position += size


def read_heads(file: DiskFile, start: int, end: int) -> Iterator[BatchHead]:
    """Yield the header of every batch in [start, end)."""
    position = window_start = start
    window = b""
    window_bytes = HEADER_BYTES
    while position + HEADER_BYTES <= end:
        at = position - window_start
        if at + HEADER_BYTES > len(window):
            window = file.read_at(position, min(window_bytes, end - position))
            window_start, at = position, 0
            if len(window) < HEADER_BYTES:
                raise corrupt(file, position, "the file ends inside a batch header")
        head = parse_head(window, at, position)
        if head is None:
            raise corrupt(file, position, "no batch header")
        yield head
        position += head.size
        window_bytes = _WINDOW_BYTES if head.size <= _SMALL_BATCH_BYTES else HEADER_BYTES


def read_heads_in_order(file: DiskFile, end: int, base_offset: int) -> Iterator[BatchHead]:
    """Yield the headers of a segment's batches; offsets that an index could not hold are damage.

    Args:
        base_offset: of the segment.

    Raises:
        ApiError: CORRUPT_MESSAGE.
    """
    due = base_offset
    for head in read_heads(file, 0, end):
        if head.base_offset < due or head.last_offset - base_offset > RELATIVE_OFFSET_MAX:
            what = f"offsets {head.base_offset} to {head.last_offset} behind {due - 1}"
            raise corrupt(file, head.position, what)
        yield head
        due = head.last_offset + 1


def parse_head(buffer: bytes | bytearray | memoryview, at: int, position: int) -> BatchHead | None:
    """Return the header at `at` of `buffer`, or None when the 61 bytes cannot be one.

    Args:
        position: where the batch lies in its file, for the result.
    """
    (
        base_offset, length, leader_epoch, magic, _, attributes, last_delta,
        base_timestamp, max_timestamp, producer_id, producer_epoch, base_sequence, count,
    ) = HEADER.unpack_from(buffer, at)  # fmt: skip
    if length < HEADER_BYTES - LOG_OVERHEAD_BYTES or magic != MAGIC or last_delta < 0 or base_offset < 0:
        return None
    return BatchHead(
        position, LOG_OVERHEAD_BYTES + length, base_offset, base_offset + last_delta, leader_epoch,
        attributes, base_timestamp, max_timestamp, producer_id, producer_epoch, base_sequence, count,
    )  # fmt: skip
