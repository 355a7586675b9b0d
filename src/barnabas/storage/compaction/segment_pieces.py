"""Reading a segment's batches in pieces of the size of an I/O buffer, each batch with its checksum checked.

Apache Kafka's cleaner does not check checksums. Here a damaged batch ends the cleaning: rewritten, its damage
would get a good checksum and nobody could find it any more.
"""

from collections.abc import Callable, Iterator

from barnabas.base.disk import DiskFile
from barnabas.base.errors import DecodeError
from barnabas.protocol.record_batch import (
    HEADER_BYTES,
    LENGTH,
    LOG_OVERHEAD_BYTES,
    BatchHeader,
    crc_matches,
    parse_header,
)
from barnabas.storage.compaction.cleaned_segment import CleaningDamageError

Piece = list[tuple[bytes, BatchHeader]]
"""Whole batches, one behind the other."""


def read_pieces(
    file: DiskFile,
    size: int,
    offsets: range,
    buffer_bytes: int,
    count_bytes: Callable[[int], None],
) -> Iterator[Piece]:
    """Yield all batches of a segment.

    Args:
        size: bytes of the file that hold batches.
        offsets: that the segment may hold.
        buffer_bytes: read at once; more for a batch that is larger.
        count_bytes: told how much was read, for throttling.
    Raises:
        CleaningDamageError: there is something else than whole, good batches in ascending order of offsets.
        OSError: the disk refuses.
    """
    position = 0
    last_offset = offsets.start - 1
    while position < size:
        data = file.read_at(position, min(max(buffer_bytes, HEADER_BYTES), size - position))
        piece, used = _batches_in(file, data, position)
        if not piece:
            data = _read_large(file, position, size, data)
            piece, used = _batches_in(file, data, position)
            if not piece:
                raise CleaningDamageError(f"{file.path} ends within the batch at byte {position}")
        count_bytes(used)
        for _, header in piece:
            if header.base_offset <= last_offset or header.last_offset_delta < 0:
                raise CleaningDamageError(
                    f"{file.path}: a batch from offset {header.base_offset} stands behind {last_offset}"
                )
            if header.last_offset >= offsets.stop:
                raise CleaningDamageError(
                    f"{file.path}: offset {header.last_offset} is in a segment that ends below {offsets.stop}"
                )
            last_offset = header.last_offset
        yield piece
        position += used


def _batches_in(file: DiskFile, data: bytes, file_position: int) -> tuple[Piece, int]:
    """Return the whole batches of `data`, and how many bytes they have."""
    piece: Piece = []
    at, end = 0, len(data)
    while end - at >= HEADER_BYTES:
        try:
            header = parse_header(data, at)
        except DecodeError as error:
            raise CleaningDamageError(f"{file.path} at byte {file_position + at}: {error}") from None
        behind = at + header.size_bytes
        if behind > end:
            break
        if not crc_matches(data, at, header):
            raise CleaningDamageError(f"{file.path} at byte {file_position + at}: the checksum is wrong")
        piece.append((data[at:behind], header))
        at = behind
    return piece, at


def _read_large(file: DiskFile, position: int, size: int, data: bytes) -> bytes:
    """Read a batch that is larger than the buffer, once it is known to be there."""
    length = LENGTH.unpack_from(data)[1] + LOG_OVERHEAD_BYTES if len(data) >= LENGTH.size else 0
    if length < HEADER_BYTES or length > size - position:
        raise CleaningDamageError(
            f"{file.path} at byte {position}: no whole batch, {size - position} bytes are left"
        )
    return file.read_at(position, length)
