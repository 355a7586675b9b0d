"""From bytes that shall be appended to headers and the parts of one write."""

from collections.abc import Sequence
from struct import Struct

from barnabas.base.disk import Buffer
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.protocol.checksum import crc32c
from barnabas.protocol.record_batch import (
    ATTRIBUTES_POSITION,
    CONTROL_BIT,
    CRC_POSITION,
    HEADER,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    NO_TIMESTAMP,
    PREFIX,
    HeaderFields,
)
from barnabas.storage.batch_scan import BatchHead, parse_head
from barnabas.storage.producer_state.states import EndTransactionMarker, parse_marker

_CRC = Struct(">I")
_PREFIX_BYTES = PREFIX.size
_new_tuple = tuple.__new__  # BatchHead(...) would be one more Python call for every append


class IncomingBatches:
    """Batches that are ready to be written.

    Attributes:
        heads: their headers, with final offsets; positions count from the first batch.
        parts: their bytes.
        size: of all of them.
        last_offset, max_timestamp: the largest of all of them; -1 when there are none.
        markers: by number of the batch, for those that end a transaction.
    """

    __slots__ = ("heads", "last_offset", "markers", "max_timestamp", "parts", "size")

    def __init__(  # noqa: PLR0917 - the hot path gives them by place, which costs less than by name
        self,
        heads: list[BatchHead],
        parts: list[Buffer],
        size: int,
        last_offset: int,
        max_timestamp: int,
        markers: dict[int, EndTransactionMarker],
    ) -> None:
        self.heads = heads
        self.parts = parts
        self.size = size
        self.last_offset = last_offset
        self.max_timestamp = max_timestamp
        self.markers = markers


def header_of(parts: Sequence[Buffer]) -> HeaderFields:
    """Return the header of a batch that nobody has looked at.

    Raises:
        ApiError: CORRUPT_MESSAGE for what is no batch.
    """
    header: HeaderFields = HEADER.unpack_from(parts[0], 0)
    _, length, _, magic, _, _, last_delta, *_ = header
    if magic != MAGIC or last_delta < 0 or length + LOG_OVERHEAD_BYTES != sum(map(len, parts)):
        raise ApiError(ErrorCode.CORRUPT_MESSAGE, "no record batch")
    return header


def stamp_batches(
    batches: Sequence[tuple[HeaderFields, Sequence[Buffer]]], first_offset: int, leader_epoch: int
) -> IncomingBatches:
    """Give batches the offsets from `first_offset` on and the leader's epoch, without copying their records.

    Args:
        batches: the header of each, and its bytes, the header in the first part.
    """
    heads: list[BatchHead] = []
    written: list[Buffer] = []
    markers: dict[int, EndTransactionMarker] = {}
    size = 0
    last_offset, newest = first_offset - 1, NO_TIMESTAMP
    for header, parts in batches:
        (_, length, _, _, _, attributes, last_delta, base_timestamp, max_timestamp, producer_id,
         producer_epoch, base_sequence, count) = header  # fmt: skip
        if attributes & CONTROL_BIT and producer_id >= 0:
            _note_marker(markers, len(heads), b"".join(parts))
        offset = last_offset + 1
        last_offset = offset + last_delta
        batch_bytes = length + LOG_OVERHEAD_BYTES
        heads.append(_new_tuple(BatchHead, (
            size, batch_bytes, offset, last_offset, leader_epoch, attributes, base_timestamp, max_timestamp,
            producer_id, producer_epoch, base_sequence, count,
        )))  # fmt: skip
        first = parts[0]
        if not isinstance(first, memoryview):
            first = memoryview(first)
        written += (PREFIX.pack(offset, length, leader_epoch), first[_PREFIX_BYTES:])
        if len(parts) > 1:
            written += parts[1:]
        size += batch_bytes
        if max_timestamp > newest:  # noqa: PLR1730 - max() is a call
            newest = max_timestamp
    return IncomingBatches(heads, written, size, last_offset, newest, markers)


def take_batches(records: Buffer, next_offset: int) -> IncomingBatches:
    """Take whole batches as they are, with their offsets and epochs, after checking them.

    Args:
        next_offset: they must lie at or behind it, in order.

    Raises:
        ApiError: CORRUPT_MESSAGE for a wrong CRC or a cut batch, OFFSET_OUT_OF_RANGE.
    """
    view = memoryview(records)
    heads: list[BatchHead] = []
    markers: dict[int, EndTransactionMarker] = {}
    position = 0
    while position < len(view):
        head = parse_head(view, position, position) if len(view) - position >= HEADER_BYTES else None
        if head is None or position + head.size > len(view):
            raise ApiError(ErrorCode.CORRUPT_MESSAGE, f"no whole batch at byte {position}")
        batch = view[position : position + head.size]
        if crc32c(batch[ATTRIBUTES_POSITION:], 0) != _CRC.unpack_from(batch, CRC_POSITION)[0]:
            raise ApiError(ErrorCode.CORRUPT_MESSAGE, f"the batch at offset {head.base_offset} is damaged")
        if head.base_offset < next_offset:
            raise ApiError(
                ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {head.base_offset} where {next_offset} is due"
            )
        if head.is_control and head.producer_id >= 0:
            _note_marker(markers, len(heads), batch)
        heads.append(head)
        next_offset = head.last_offset + 1
        position += head.size
    newest = max((head.max_timestamp for head in heads), default=NO_TIMESTAMP)
    return IncomingBatches(heads, [view], position, next_offset - 1, newest, markers)


def _note_marker(markers: dict[int, EndTransactionMarker], number: int, batch: Buffer) -> None:
    """Note the marker of a control batch, if it is one that ends a transaction."""
    marker = parse_marker(batch)
    if marker is not None:
        markers[number] = marker
