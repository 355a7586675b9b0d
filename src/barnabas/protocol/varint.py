"""Variable-length integers as record batches hold them: base 128, little end first, zigzag when signed.

Records use the zigzag forms of 32 and 64 bits; KRaft record frames and compact types the unsigned one.
A decoder returns (value, next position), so that a caller's loop keeps its position in a local. The
message codecs inline their own one-byte case; these functions are for everything that is not generated.
"""

from barnabas.base.errors import DecodeError

Buffer = bytes | bytearray | memoryview

_INT32_BITS = 32
_INT64_BITS = 64


def _decode(buffer: Buffer, position: int, end: int, bits: int) -> tuple[int, int]:
    value = 0
    shift = 0
    while position < end:
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> bits:
                raise DecodeError(f"varint before byte {position} exceeds {bits} bits")
            return value, position
        shift += 7
        if shift >= bits:
            raise DecodeError(f"varint before byte {position} is longer than {bits} bits allow")
    raise DecodeError(f"varint is cut at byte {position}")


def decode_uvarint(buffer: Buffer, position: int, end: int) -> tuple[int, int]:
    """Read an unsigned varint of at most 32 bits from buffer[position:end].

    Returns:
        The value and the position behind it.
    Raises:
        DecodeError: cut, or longer than five bytes.
    """
    return _decode(buffer, position, end, _INT32_BITS)


def decode_varint(buffer: Buffer, position: int, end: int) -> tuple[int, int]:
    """Read a zigzag varint of 32 bits, as `decode_uvarint` does."""
    if position < end:
        raw = buffer[position]
        if raw < 0x80:
            return (raw >> 1) ^ -(raw & 1), position + 1
    raw, position = _decode(buffer, position, end, _INT32_BITS)
    return (raw >> 1) ^ -(raw & 1), position


def decode_varlong(buffer: Buffer, position: int, end: int) -> tuple[int, int]:
    """Read a zigzag varint of 64 bits, at most ten bytes, as `decode_uvarint` does."""
    raw, position = _decode(buffer, position, end, _INT64_BITS)
    return (raw >> 1) ^ -(raw & 1), position


def encode_uvarint(value: int) -> bytes:
    """Return the bytes of a non-negative integer below 2**64."""
    if 0 <= value < 0x80:
        return _ONE_BYTE[value]
    if value < 0 or value >> _INT64_BITS:
        raise ValueError(f"{value} is no unsigned 64-bit integer")
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def encode_varint(value: int) -> bytes:
    """Return the zigzag bytes of a signed integer of at most 64 bits (varint and varlong are alike)."""
    return encode_uvarint(value << 1 if value >= 0 else (-value << 1) - 1)


def varint_bytes(value: int) -> int:
    """Return how many bytes `encode_varint(value)` has."""
    raw = value << 1 if value >= 0 else (-value << 1) - 1
    return (raw.bit_length() + 6) // 7 or 1


_ONE_BYTE = tuple(bytes((value,)) for value in range(0x80))
