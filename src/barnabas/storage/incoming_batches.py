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
    PREFIX,
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
        markers: by number of the batch, for those that end a transaction.
        epochs: (leader epoch, first offset of it), ascending.
    """

    __slots__ = ("epochs", "heads", "markers", "parts", "size")

    def __init__(self) -> None:
        self.heads: list[BatchHead] = []
        self.parts: list[Buffer] = []
        self.size = 0
        self.markers: dict[int, EndTransactionMarker] = {}
        self.epochs: list[tuple[int, int]] = []


def stamp_batches(
    batches: Sequence[Sequence[Buffer]], first_offset: int, leader_epoch: int
) -> IncomingBatches:
    """Give batches the offsets from `first_offset` on and the leader's epoch, without copying their records.

    Raises:
        ApiError: CORRUPT_MESSAGE for what is no batch.
    """
    incoming = IncomingBatches()
    incoming.epochs.append((leader_epoch, first_offset))
    offset = first_offset
    for parts in batches:
        first = parts[0]
        (_, length, _, magic, _, attributes, delta, base_timestamp, max_timestamp, producer_id,
         producer_epoch, base_sequence, count) = HEADER.unpack_from(first, 0)  # fmt: skip
        size = length + LOG_OVERHEAD_BYTES
        if magic != MAGIC or delta < 0 or size != (len(first) if len(parts) == 1 else sum(map(len, parts))):
            raise ApiError(ErrorCode.CORRUPT_MESSAGE, "no record batch")
        if attributes & CONTROL_BIT and producer_id >= 0:
            _note_marker(incoming, b"".join(parts))
        last_offset = offset + delta
        head = _new_tuple(BatchHead, (
            incoming.size, size, offset, last_offset, leader_epoch, attributes, base_timestamp, max_timestamp,
            producer_id, producer_epoch, base_sequence, count,
        ))  # fmt: skip
        incoming.heads.append(head)
        incoming.parts += (
            PREFIX.pack(offset, length, leader_epoch),
            memoryview(first)[_PREFIX_BYTES:],
            *parts[1:],
        )
        incoming.size += size
        offset = last_offset + 1
    return incoming


def take_batches(records: Buffer, next_offset: int) -> IncomingBatches:
    """Take whole batches as they are, with their offsets and epochs, after checking them.

    Args:
        next_offset: they must lie at or behind it, in order.

    Raises:
        ApiError: CORRUPT_MESSAGE for a wrong CRC or a cut batch, OFFSET_OUT_OF_RANGE.
    """
    view = memoryview(records)
    incoming = IncomingBatches()
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
            _note_marker(incoming, batch)
        incoming.heads.append(head)
        incoming.epochs.append((head.leader_epoch, head.base_offset))
        next_offset = head.last_offset + 1
        position += head.size
    incoming.parts.append(view)
    incoming.size = position
    return incoming


def _note_marker(incoming: IncomingBatches, batch: Buffer) -> None:
    """Note the marker of the batch that is added next."""
    marker = parse_marker(batch)
    if marker is not None:
        incoming.markers[len(incoming.heads)] = marker
