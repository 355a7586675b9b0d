"""Record batches v2: the header, the checksum, walking a buffer of batches, stamping them in place.

A batch is 61 bytes of header and a records section, the same on the wire and on disk. Everything the
log needs of a batch stands in the header, so it is read by one precompiled Struct into a named tuple
and the records are left alone; records.py reads them, record_batch_builder.py makes batches.

    base offset i64, batch length i32 (of what follows), partition leader epoch i32, magic i8, crc u32,
    attributes i16, last offset delta i32, base timestamp i64, max timestamp i64, producer id i64,
    producer epoch i16, base sequence i32, records count i32

The CRC covers attributes to the end, so a leader assigns base offset and epoch without touching it.
Batches of magic 0 and 1 are recognised and refused: Apache Kafka 4 neither accepts nor writes them.
An object per batch with lazy fields was rejected: one unpack of all fields costs less than one
attribute of such an object.
"""

from collections.abc import Iterator
from struct import Struct

from barnabas.base import limits
from barnabas.base.disk import Buffer
from barnabas.base.enums import IntEnum
from barnabas.base.errors import DecodeError
from barnabas.base.named_tuple import NamedTuple
from barnabas.protocol.checksum import crc32c
from barnabas.protocol.compression import Codec, decompress
from barnabas.protocol.records import Record, decode_records

MAGIC = 2
HEADER_BYTES = 61
LOG_OVERHEAD_BYTES = 12
"""Base offset and batch length: what a batch has before the bytes that its length counts."""
CRC_POSITION = 17
ATTRIBUTES_POSITION = 21
"""Where the checksummed part begins."""

NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_PARTITION_LEADER_EPOCH = -1

CODEC_MASK = 0x07
TIMESTAMP_TYPE_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20
DELETE_HORIZON_BIT = 0x40

HEADER = Struct(">qiibIhiqqqhii")
HeaderFields = tuple[int, ...]
"""What HEADER unpacks: the fields of BatchHeader, for code that is too hot to give each its name."""
LENGTH = Struct(">qi")
PREFIX = Struct(">qii")
"""The fields before the magic, which a leader overwrites: base offset, batch length, leader epoch."""
_ATTRIBUTES_TO_MAX_TIMESTAMP = Struct(">hiqq")
_CRC = Struct(">I")
_OFFSET = Struct(">q")
_EPOCH = Struct(">i")

_MAGIC_POSITION = 16
_EPOCH_POSITION = 12
# A batch of magic 0 or 1 is at least this long; it is only read as far as its magic byte.
_LENGTH_MIN_ANY_MAGIC = 14


class TimestampType(IntEnum):
    """Who set the timestamps of a batch's records (KIP-32)."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class UnsupportedMagicError(DecodeError):
    """A batch whose magic is not 2: an old message set, or no batch at all."""

    def __init__(self, magic: int, position: int) -> None:
        super().__init__(f"batch at byte {position} has magic {magic}, only {MAGIC} is supported")
        self.magic = magic


class BatchHeader(NamedTuple):
    """The 61 bytes before the records, in wire order."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    @property
    def size_bytes(self) -> int:
        """The whole batch, header and all."""
        return self.batch_length + LOG_OVERHEAD_BYTES

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> Codec:
        """The records' codec.

        Raises:
            DecodeError: the attributes name none.
        """
        value = self.attributes & CODEC_MASK
        if value > Codec.ZSTD:
            raise DecodeError(f"unknown compression type id: {value}")
        return Codec(value)

    @property
    def timestamp_type(self) -> TimestampType:
        return (
            TimestampType.LOG_APPEND_TIME
            if self.attributes & TIMESTAMP_TYPE_BIT
            else TimestampType.CREATE_TIME
        )

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL_BIT)

    @property
    def delete_horizon_ms(self) -> int | None:
        """When compaction may drop the batch's tombstones; it stands in the base timestamp (KIP-534)."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_BIT else None

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID

    @property
    def last_sequence(self) -> int:
        """The last record's sequence, which wraps from 2**31-1 to 0; -1 without a producer."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF


def parse_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """Read the batch header at `position`; the records need not be there.

    Args:
        buffer: at least the header; the batch's own length is checked to be possible, not to be present.
    Raises:
        UnsupportedMagicError: magic 0, 1 or above 2.
        DecodeError: cut before the header's end, or a length shorter than a header.
    """
    if len(buffer) - position < HEADER_BYTES:
        _raise_short(buffer, position)
    header = BatchHeader._make(HEADER.unpack_from(buffer, position))
    if header[3] != MAGIC or header[1] < HEADER_BYTES - LOG_OVERHEAD_BYTES:
        _raise_bad_header(header, position)
    return header


def _raise_short(buffer: Buffer, position: int) -> None:
    if len(buffer) - position > _MAGIC_POSITION:
        magic = buffer[position + _MAGIC_POSITION]
        if magic != MAGIC:
            raise UnsupportedMagicError(magic, position)
    raise DecodeError(
        f"batch header at byte {position} is cut: {len(buffer) - position} of {HEADER_BYTES} bytes"
    )


def _raise_bad_header(header: BatchHeader, position: int) -> None:
    if header.batch_length < _LENGTH_MIN_ANY_MAGIC:
        raise DecodeError(f"batch at byte {position} has length {header.batch_length}")
    if header.magic != MAGIC:
        raise UnsupportedMagicError(header.magic, position)
    raise DecodeError(f"batch at byte {position} has length {header.batch_length}, shorter than its header")


def crc_matches(buffer: Buffer, position: int, header: BatchHeader) -> bool:
    """Tell whether the checksum of a whole batch at `position` is right."""
    end = position + header.size_bytes
    covered = memoryview(buffer)[position + ATTRIBUTES_POSITION : end]
    if len(covered) != header.size_bytes - ATTRIBUTES_POSITION:
        return False
    return crc32c(covered, 0) == header.crc


def iter_batches(
    buffer: Buffer, position: int = 0, end: int | None = None, *, allow_partial_tail: bool = False
) -> Iterator[tuple[int, BatchHeader]]:
    """Yield (position, header) of each batch in buffer[position:end], sizes checked before use.

    Args:
        allow_partial_tail: a cut batch at the end (a Fetch may split the last one) ends the walk
            instead of being an error.
    Raises:
        DecodeError, UnsupportedMagicError: as `parse_header`, or a batch that reaches beyond `end`.
    """
    end = len(buffer) if end is None else min(end, len(buffer))
    while position < end:
        left = end - position
        if left < LOG_OVERHEAD_BYTES or left < LENGTH.unpack_from(buffer, position)[1] + LOG_OVERHEAD_BYTES:
            if allow_partial_tail:
                return
            raise DecodeError(f"batch at byte {position} is cut: {left} bytes are left")
        header = parse_header(buffer, position)
        yield position, header
        position += header.batch_length + LOG_OVERHEAD_BYTES


def records_section(
    buffer: Buffer,
    position: int,
    header: BatchHeader,
    *,
    decompressed_bytes_max: int = limits.DECOMPRESSED_BATCH_BYTES_MAX,
) -> Buffer:
    """Return the records of a batch as bytes, decompressed within a bound; a view when not compressed.

    Raises:
        DecodeError: the batch is cut, or its compressed stream is malformed or too large.
    """
    end = position + header.size_bytes
    if end > len(buffer):
        raise DecodeError(
            f"batch at byte {position} is cut: {len(buffer) - position} of {header.size_bytes} bytes"
        )
    section = memoryview(buffer)[position + HEADER_BYTES : end]
    codec = header.codec
    if codec is Codec.NONE:
        return section
    return decompress(codec, section, decompressed_bytes_max=decompressed_bytes_max)


def parse_records(
    buffer: Buffer,
    position: int,
    header: BatchHeader,
    *,
    decompressed_bytes_max: int = limits.DECOMPRESSED_BATCH_BYTES_MAX,
) -> list[Record]:
    """Read all records of the batch at `position`, with their offsets and timestamps resolved.

    Raises:
        DecodeError: anything malformed, cut, left over, or larger than the bound.
    """
    section = records_section(buffer, position, header, decompressed_bytes_max=decompressed_bytes_max)
    append_time = header.max_timestamp if header.attributes & TIMESTAMP_TYPE_BIT else None
    return decode_records(
        section,
        records_count=header.records_count,
        base_offset=header.base_offset,
        base_timestamp=header.base_timestamp,
        log_append_time_ms=append_time,
    )


def stamp_offset_and_epoch(
    batch: bytearray | memoryview, position: int, base_offset: int, partition_leader_epoch: int
) -> None:
    """Write what the leader assigns; both lie outside the CRC.

    Args:
        batch: writable; holds a whole header at `position`.
    """
    _OFFSET.pack_into(batch, position, base_offset)
    _EPOCH.pack_into(batch, position + _EPOCH_POSITION, partition_leader_epoch)


def stamp_max_timestamp(
    batch: bytearray | memoryview,
    position: int,
    header: BatchHeader,
    timestamp_type: TimestampType,
    max_timestamp: int,
) -> None:
    """Write the timestamp type and max timestamp, and the CRC over the whole batch again.

    Args:
        batch: writable; holds the whole batch at `position`.
    """
    attributes = _with_timestamp_type(header.attributes, timestamp_type)
    _ATTRIBUTES_TO_MAX_TIMESTAMP.pack_into(
        batch,
        position + ATTRIBUTES_POSITION,
        attributes,
        header.last_offset_delta,
        header.base_timestamp,
        max_timestamp,
    )
    covered = memoryview(batch)[position + ATTRIBUTES_POSITION : position + header.size_bytes]
    _CRC.pack_into(batch, position + CRC_POSITION, crc32c(covered, 0))


def restamped_header(
    header: BatchHeader, records: Buffer, timestamp_type: TimestampType, max_timestamp: int
) -> BatchHeader:
    """Return the header that `stamp_max_timestamp` would leave, for a batch that must not be written to.

    Args:
        records: the batch's bytes behind the header, as they are stored.
    """
    changed = header._replace(
        attributes=_with_timestamp_type(header.attributes, timestamp_type), max_timestamp=max_timestamp
    )
    head = HEADER.pack(*changed)
    return changed._replace(crc=crc32c(records, crc32c(head[ATTRIBUTES_POSITION:], 0)))


def _with_timestamp_type(attributes: int, timestamp_type: TimestampType) -> int:
    if timestamp_type is TimestampType.LOG_APPEND_TIME:
        return attributes | TIMESTAMP_TYPE_BIT
    return attributes & ~TIMESTAMP_TYPE_BIT
