"""What can be put back of a damaged batch, because something else tells what it was.

The CRC does not cover a batch's base offset, length, leader epoch and magic, nor itself; each of them
follows from what is around it, and the CRC then says whether the guess was right. Of what it does cover, a
single flipped
bit can be found: a CRC is linear, so that each position has a syndrome of its own. A batch of 16 KiB that has
other damage looks so by chance once in 30,000; so its records have to be in order as well.
"""

from struct import Struct

from barnabas.base.errors import DecodeError
from barnabas.cli.doctor.findings import Patch
from barnabas.protocol.checksum import crc32c
from barnabas.protocol.record_batch import (
    ATTRIBUTES_POSITION,
    CRC_POSITION,
    HEADER,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    BatchHeader,
    records_section,
)
from barnabas.protocol.record_walk import summarize_records

ONE_BIT_BYTES_MAX = 1024 * 1024 + 4096
"""Of a batch in which one flipped bit is looked for: a second of computing. Kafka's batches are no larger."""

MAGIC_POSITION = 16
LENGTH_POSITION = 8
_LENGTH = Struct(">i")
_CRC = Struct(">I")
_POLYNOMIAL = 0x82F63B78


def one_bit(value: int) -> bool:
    """Whether exactly one bit is set."""
    return value != 0 and value & (value - 1) == 0


def restore_batch(data: bytes, size: int, position: int) -> tuple[Patch, ...]:
    """Return the patches that make a batch right, none when there is no telling.

    Args:
        data: from the batch's first byte on, `size` at least.
        size: where the batch ends, as what follows it tells.
        position: of the batch in its file.
    """
    if not HEADER_BYTES <= size <= len(data):
        return ()
    patches: list[Patch] = []
    header = BatchHeader._make(HEADER.unpack_from(data, 0))
    if header.size_bytes != size:
        patches.append(
            Patch(position=position + LENGTH_POSITION, content=_LENGTH.pack(size - LOG_OVERHEAD_BYTES))
        )
    if header.magic != MAGIC:
        patches.append(Patch(position=position + MAGIC_POSITION, content=bytes((MAGIC,))))
    computed = crc32c(memoryview(data)[ATTRIBUTES_POSITION:size], 0)
    if computed == header.crc:
        return tuple(patches)
    if patches:
        return ()  # two faults at once: the guesses prove nothing
    if one_bit(computed ^ header.crc):
        # Any damage of what is covered changes about half of the bits.
        return (Patch(position=position + CRC_POSITION, content=_CRC.pack(computed)),)
    if size > ONE_BIT_BYTES_MAX:
        return ()
    bit = _flipped_bit(computed ^ header.crc, size - ATTRIBUTES_POSITION)
    if bit is None:
        return ()
    at = ATTRIBUTES_POSITION + bit // 8
    mended = bytearray(data[:size])
    mended[at] ^= 1 << (bit % 8)
    if not records_are_whole(bytes(mended)):
        return ()
    return (Patch(position=position + at, content=bytes((mended[at],))),)


def records_are_whole(batch: bytes) -> bool:
    """Whether the records of a batch can be read and are as many as its header says."""
    try:
        header = BatchHeader._make(HEADER.unpack_from(batch, 0))
        section = records_section(batch, 0, header)
        if header.records_count == 0:
            return len(section) == 0
        summarize_records(section, header.records_count)
    except DecodeError:
        return False
    return True


def _flipped_bit(syndrome: int, length: int) -> int | None:
    """Return which bit of `length` bytes, byte times 8 and bit from the lowest, has that syndrome alone.

    The syndrome of the last byte's lowest-order term is stepped backwards through the message, bit by bit.
    """
    # In the reflected form the last bit to enter the register is bit 7 of the last byte: its syndrome is the
    # polynomial itself. Each bit before it is one step of the register further.
    value = _POLYNOMIAL
    for distance in range(length * 8):
        if value == syndrome:
            from_end, bit = divmod(distance, 8)
            return (length - 1 - from_end) * 8 + (7 - bit)
        value = (value >> 1) ^ _POLYNOMIAL if value & 1 else value >> 1
    return None
