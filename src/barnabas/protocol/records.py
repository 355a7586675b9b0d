"""The records inside a batch v2: fully checked decoding, and encoding.

    length varint, attributes i8 (unused), timestamp delta varlong, offset delta varint,
    key (varint length, -1 null), value (the same), headers (varint count; key and value each with length)

Decoding walks one contiguous buffer with local variables and the one-byte varint inlined, since that is
what nearly every varint of a record is. Each length is compared with what is left before it is used, so
the work and the memory are proportional to the bytes given. Header keys that are not UTF-8 survive a
round trip as lone surrogates; replacing them, as Java does, would change what a rewrite stores.
"""

from collections.abc import Sequence

from barnabas.base.dataclass import dataclass, field
from barnabas.base.disk import Buffer
from barnabas.base.errors import DecodeError
from barnabas.protocol.varint import decode_varint, decode_varlong, encode_varint

RecordHeader = tuple[str, bytes | None]
"""A record header: key and value (KIP-82)."""

RECORD_BYTES_MIN = 7
"""Length, attributes, two deltas, two null lengths and a header count, a byte each."""

_ONE_BYTE = tuple(bytes((number << 1,)) for number in range(64))
"""The varints of 0 to 63."""

_INT64_MIN = -(1 << 63)
_INT64_SPAN = 1 << 64


# Not frozen, not keyword-only: a frozen dataclass takes three times as long to make, and a batch holds
# thousands of them.
@dataclass(slots=True)
class Record:
    """One record, with its place in the log resolved."""

    offset: int
    timestamp: int
    """Milliseconds since 1970; -1 is none. The append time in a LogAppendTime batch."""
    key: bytes | None
    value: bytes | None
    headers: Sequence[RecordHeader] = field(default=())


def wrap_int64(value: int) -> int:
    """Return `value` as Java's long arithmetic would have it."""
    return (value - _INT64_MIN) % _INT64_SPAN + _INT64_MIN


def decode_records(  # noqa: PLR0912 - one-byte varints are inlined: a batch holds thousands of records
    section: Buffer,
    *,
    records_count: int,
    base_offset: int,
    base_timestamp: int,
    log_append_time_ms: int | None = None,
) -> list[Record]:
    """Read exactly `records_count` records that fill `section`.

    Args:
        section: the uncompressed records.
        log_append_time_ms: stands in for every record's own timestamp when given.
    Raises:
        DecodeError: malformed, cut, or bytes left over.
    """
    # Slices of bytes are what keys and values shall be; a memoryview would cost a second copy of each.
    data = section if isinstance(section, bytes) else bytes(section)
    end = len(data)
    if records_count < 0 or records_count * RECORD_BYTES_MIN > end:
        raise DecodeError(f"{records_count} records cannot fit into {end} bytes")
    records: list[Record] = []
    position = 0
    try:
        for _ in range(records_count):
            byte = data[position]
            if byte < 0x80:
                size = (byte >> 1) ^ -(byte & 1)
                position += 1
            else:
                size, position = decode_varint(data, position, end)
            record_end = position + size
            if size < RECORD_BYTES_MIN - 1 or record_end > end:
                raise DecodeError(f"record of {size} bytes at byte {position}, {end - position} are left")
            position += 1  # attributes
            byte = data[position]
            if byte < 0x80:
                timestamp_delta = (byte >> 1) ^ -(byte & 1)
                position += 1
            else:
                timestamp_delta, position = decode_varlong(data, position, record_end)
            offset_delta, position = decode_varint(data, position, record_end)
            key, position = _decode_bytes(data, position, record_end)
            value, position = _decode_bytes(data, position, record_end)
            if position + 1 == record_end and data[position] == 0:
                headers: Sequence[RecordHeader] = ()
            else:
                headers, position = _decode_headers(data, position, record_end)
                if position != record_end:
                    raise DecodeError(f"record ends at byte {record_end} but was read to {position}")
            timestamp = base_timestamp + timestamp_delta if log_append_time_ms is None else log_append_time_ms
            if not _INT64_MIN <= timestamp < -_INT64_MIN:
                timestamp = wrap_int64(timestamp)
            records.append(Record(base_offset + offset_delta, timestamp, key, value, headers))
            position = record_end
    except IndexError:
        raise DecodeError(f"record is cut at byte {end}") from None
    if position != end:
        raise DecodeError(f"{end - position} bytes are left behind {records_count} records")
    return records


def _decode_bytes(data: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    """Read a length and as many bytes; a negative length is null, as Kafka reads it."""
    byte = data[position]
    if byte < 0x80:
        position += 1
        size = (byte >> 1) ^ -(byte & 1)
    else:
        size, position = decode_varint(data, position, end)
    if size < 0:
        return None, position
    behind = position + size
    if behind > end:
        raise DecodeError(f"{size} bytes at byte {position}, {end - position} are left")
    return data[position:behind], behind


def _decode_headers(data: bytes, position: int, end: int) -> tuple[list[RecordHeader], int]:
    count, position = decode_varint(data, position, end)
    # A header has two lengths, so the count is bounded before anything is made of it.
    if count < 0 or count * 2 > end - position:
        raise DecodeError(f"{count} headers at byte {position}, {end - position} bytes are left")
    headers: list[RecordHeader] = []
    for _ in range(count):
        key, position = _decode_bytes(data, position, end)
        if key is None:
            raise DecodeError(f"header key before byte {position} is null")
        value, position = _decode_bytes(data, position, end)
        headers.append((key.decode("utf-8", "surrogateescape"), value))
    return headers, position


def encode_record(
    timestamp_delta: int,
    offset_delta: int,
    key: Buffer | None,
    value: Buffer | None,
    headers: Sequence[tuple[str, Buffer | None]] = (),
) -> bytes:
    """Return one record as it stands in a batch, its length in front."""
    if key is not None and value is not None and not headers:
        # What coordinators write: one join, and a look-up for most lengths.
        key_size, value_size = len(key), len(value)
        body = b"".join(
            (
                b"\x00",
                _ONE_BYTE[timestamp_delta] if 0 <= timestamp_delta < 64 else encode_varint(timestamp_delta),
                _ONE_BYTE[offset_delta] if 0 <= offset_delta < 64 else encode_varint(offset_delta),
                _ONE_BYTE[key_size] if key_size < 64 else encode_varint(key_size),
                key,
                _ONE_BYTE[value_size] if value_size < 64 else encode_varint(value_size),
                value,
                b"\x00",
            )
        )
        size = len(body)
        return (_ONE_BYTE[size] if size < 64 else encode_varint(size)) + body
    parts: list[Buffer] = [b"\x00", encode_varint(timestamp_delta), encode_varint(offset_delta)]
    _append_bytes(parts, key)
    _append_bytes(parts, value)
    parts.append(encode_varint(len(headers)))
    for header_key, header_value in headers:
        _append_bytes(parts, header_key.encode("utf-8", "surrogateescape"))
        _append_bytes(parts, header_value)
    body = b"".join(parts)
    return encode_varint(len(body)) + body


def _append_bytes(parts: list[Buffer], content: Buffer | None) -> None:
    if content is None:
        parts.append(b"\x01")
        return
    parts.append(encode_varint(len(content)))
    parts.append(content)
