"""What validation needs of a batch's records, without making objects of them.

A leader has to look at every record a client sends: the largest timestamp goes into the time index, a
compacted topic needs keys, and a malformed record would stop every consumer at that offset. In Python
that look is the dearest part of a produce of small records, so it is done in two ways.

Runs. Records of one producer often have the same shape: the same length, the same widths of varints.
For n such records one behind the other, byte k of each is the strided slice data[k::stride], and a
comparison of slices checks n records at the speed of C. A record's structural bytes are found by reading
the first one whole; a run ends at the first record whose length, or any structural byte, differs. By
induction each record of the run starts where the stride says: the one before has the same length bytes.

Singles. Everything else is walked record by record, with one- and two-byte varints inlined. After a run
that did not pay, the next is tried only after twice as many records, so records of random sizes cost
almost nothing extra.

All arithmetic is on ints and bytes, in free functions, so that this file can be compiled as it is.
Rejected: decoding into Record objects (five times the cost), and trusting the header's max timestamp.
"""

from struct import Struct

from barnabas.base.disk import Buffer
from barnabas.base.errors import DecodeError
from barnabas.base.named_tuple import NamedTuple
from barnabas.protocol.records import RECORD_BYTES_MIN
from barnabas.protocol.varint import decode_varint, decode_varlong

_RUN_RECORDS_MIN = 16
"""A run shorter than this costs more than walking its records one by one."""
_RUN_COLUMNS_MAX = 48
"""Structural bytes of one record beyond which a run is not tried: very many headers."""
_BACKOFF_MAX = 4096
_COPY_RECORD_BYTES_MAX = 2048
"""Mean record size up to which the records are copied for the walk."""

# Zigzag offset deltas: 0-63 have one byte, to 8191 two, to 1048575 three. The columns of consecutive
# deltas repeat: the low byte every 64, the middle one every 8192.
_ONE_BYTE_END = 64
_TWO_BYTES_END = 8192
_THREE_BYTES_END = 1048576
_LOW_COLUMN = bytes(range(0x80, 0x100, 2)) * 128
_MIDDLE_COLUMN = b"".join(bytes((high,)) * 64 for high in range(0x80))
_MIDDLE_COLUMN_CONTINUED = b"".join(bytes((high,)) * 64 for high in range(0x80, 0x100))
_EVEN_BYTES = bytes(range(0, 0x100, 2))

# How a lone record begins: its length in one byte or two, attributes (unused), no deltas, the key's length.
_LONE_NARROW = Struct("<BxHB")
_LONE_WIDE = Struct("<HxHB")
_LONE_MIN = RECORD_BYTES_MIN
_LONE_NARROW_MAX = 1 + 63
_LONE_WIDE_MIN = 2 + 64
_LONE_WIDE_MAX = 2 + 8191
_ONE_BYTE_VALUE_MAX = 1 + 63
_TWO_BYTES_VALUE_MIN = 2 + 64


class RecordsSummary:
    """What the records of a batch amount to; a walk fills it in.

    Attributes:
        keyless_index: the first record without a key; -1 when all have one.
        misplaced_index: the first record whose offset delta is not its index; -1 when all are in place.
    """

    __slots__ = ("keyless_index", "misplaced_index", "timestamp_delta_max", "timestamp_delta_min")

    def __init__(self) -> None:
        self.timestamp_delta_max = -(1 << 63)
        self.timestamp_delta_min = (1 << 63) - 1
        self.keyless_index = -1
        self.misplaced_index = -1


def _lone(keyless_index: int) -> RecordsSummary:
    summary = RecordsSummary()
    summary.timestamp_delta_max = summary.timestamp_delta_min = 0
    summary.keyless_index = keyless_index
    return summary


_LONE_KEYED = _lone(-1)
_LONE_KEYLESS = _lone(0)


def summarize_records(section: Buffer, records_count: int) -> RecordsSummary:
    """Check the structure of all records that fill `section`, and sum them up.

    Args:
        section: the uncompressed records.
        records_count: at least 1.

    Returns:
        The sums; not to be changed, since plain records share theirs.

    Raises:
        DecodeError: malformed, cut, or bytes left over.
    """
    end = len(section)
    if records_count == 1 and (lone := _summarize_lone(section, end)) is not None:
        return lone
    if records_count < 1 or records_count * RECORD_BYTES_MIN > end:
        raise DecodeError(f"{records_count} records cannot fit into {end} bytes")
    summary = RecordsSummary()
    if end > records_count * _COPY_RECORD_BYTES_MAX and not isinstance(section, bytes):
        position = _walk_large(section, end, records_count, summary)
    else:
        # Indexing a memoryview costs twice as much as indexing bytes: for small records a copy pays.
        data = section if isinstance(section, bytes) else bytes(section)
        try:
            if records_count < _RUN_RECORDS_MIN:
                position = _walk_singles(data, 0, end, 0, records_count, summary)
            else:
                position = _walk(data, end, records_count, summary)
        except IndexError:
            raise DecodeError(f"record is cut at byte {end}") from None
    if position != end:
        raise DecodeError(f"{end - position} bytes are left behind {records_count} records")
    return summary


def _summarize_lone(section: Buffer, end: int) -> RecordsSummary | None:
    """Sum up the only record of a batch when it is of the plainest kind, as of a producer that does not wait.

    That is: no deltas, a key of less than 64 bytes, a value of less than 8 KiB, no headers. Then each length
    follows from the bytes that are left, so nothing is decoded: what is there is compared with what must be.
    None leaves it, and what is wrong with it, to the walk.
    """
    if _LONE_WIDE_MIN <= end <= _LONE_WIDE_MAX:
        length, deltas, key = _LONE_WIDE.unpack_from(section)
        size = end - 2
        expected = size << 1 & 0x7E | 0x80 | size >> 6 << 8  # the two bytes of a varint, the first one lowest
        value_at = 6
    elif _LONE_MIN <= end <= _LONE_NARROW_MAX:
        length, deltas, key = _LONE_NARROW.unpack_from(section)
        expected = (end - 1) << 1
        value_at = 5
    else:
        return None
    if length != expected or deltas or key > 0x7F:
        return None
    keyless = key & 1
    if not keyless:
        value_at += key >> 1
    left = end - 1 - value_at  # behind the value there is one byte, the count of headers
    if left >= _TWO_BYTES_VALUE_MIN:
        size = left - 2
        if section[value_at] != size << 1 & 0x7E | 0x80 or section[value_at + 1] != size >> 6:
            return None
    elif left < 1 or section[value_at] != (left - 1) << 1 or left > _ONE_BYTE_VALUE_MAX:
        return None
    if section[end - 1]:
        return None
    return _LONE_KEYLESS if keyless else _LONE_KEYED


def _walk(data: bytes, end: int, count: int, summary: RecordsSummary) -> int:
    """Walk small records, in runs where they allow it; return the position behind them.

    Raises:
        IndexError: a record is cut.
    """
    index = position = next_try = 0
    backoff = 1
    while index < count:
        if index < next_try:
            stop = min(count, next_try)
            position = _walk_singles(data, position, end, index, stop, summary)
            index = stop
            continue
        length, behind = _walk_run(data, position, end, index, count, summary)
        if length:
            index += length
            position = behind
            backoff = 1
            next_try = index
        else:
            next_try = index + backoff
            backoff = min(backoff * 2, _BACKOFF_MAX)
    return position


def _walk_large(data: Buffer, end: int, count: int, summary: RecordsSummary) -> int:
    """Walk records whose bytes are too many to copy: what a few calls per record cost is nothing there."""
    position = 0
    for index in range(count):
        position, delta, offset_delta, has_key = read_record(data, position, end)
        summary.timestamp_delta_max = max(summary.timestamp_delta_max, delta)
        summary.timestamp_delta_min = min(summary.timestamp_delta_min, delta)
        if offset_delta != index and summary.misplaced_index < 0:
            summary.misplaced_index = index
        if not has_key and summary.keyless_index < 0:
            summary.keyless_index = index
    return position


def read_record(data: Buffer, position: int, end: int) -> tuple[int, int, int, bool]:
    """Check one record; return (position behind, timestamp delta, offset delta, has a key)."""
    size, position = decode_varint(data, position, end)
    record_end = position + size
    if size < RECORD_BYTES_MIN - 1 or record_end > end:
        raise DecodeError(f"record of {size} bytes at byte {position}, {end - position} are left")
    delta, position = decode_varlong(data, position + 1, record_end)
    offset_delta, position = decode_varint(data, position, record_end)
    key_size, position = decode_varint(data, position, record_end)
    position += max(key_size, 0)
    value_size, position = decode_varint(data, position, record_end)
    position += max(value_size, 0)
    _check_headers(data, position, record_end)
    return record_end, delta, offset_delta, key_size >= 0


def _walk_singles(  # noqa: PLR0912, PLR0915, PLR0917 - one flat loop: a call per field would double its cost
    data: bytes, position: int, end: int, index: int, stop: int, summary: RecordsSummary
) -> int:
    """Walk records one by one up to `stop`; return the position behind them."""
    delta_max, delta_min = summary.timestamp_delta_max, summary.timestamp_delta_min
    while index < stop:
        raw = data[position]
        byte = data[position + 1]
        if raw < 0x80:
            position += 1
        elif byte < 0x80:
            raw = raw & 0x7F | byte << 7
            position += 2
        else:
            value, position = decode_varint(data, position, end)
            raw = value * 2 if value >= 0 else 1
        record_end = position + (raw >> 1)
        if raw & 1 or record_end > end:
            raise DecodeError(f"record before byte {position} has a length that does not fit")
        position += 1  # attributes, unused

        raw = data[position]
        byte = data[position + 1]
        if raw < 0x80:
            delta = raw >> 1 if raw & 1 == 0 else -(raw >> 1) - 1
            position += 1
        elif byte < 0x80:
            raw = raw & 0x7F | byte << 7
            delta = raw >> 1 if raw & 1 == 0 else -(raw >> 1) - 1
            position += 2
        else:
            delta, position = decode_varlong(data, position, record_end)
        if delta > delta_max:  # noqa: PLR1730 - max() is a call
            delta_max = delta
        if delta < delta_min:  # noqa: PLR1730 - min() is a call
            delta_min = delta

        raw = data[position]
        byte = data[position + 1]
        if raw < 0x80:
            offset_raw = raw
            position += 1
        elif byte < 0x80:
            offset_raw = raw & 0x7F | byte << 7
            position += 2
        else:
            value, position = decode_varint(data, position, record_end)
            offset_raw = value * 2 if value >= 0 else 1
        if offset_raw != index << 1 and summary.misplaced_index < 0:
            summary.misplaced_index = index

        raw = data[position]
        if raw < 0x80:
            position += 1
        else:
            value, position = decode_varint(data, position, record_end)
            raw = value * 2 if value >= 0 else 1
        if raw & 1 == 0:
            position += raw >> 1
        elif summary.keyless_index < 0:
            summary.keyless_index = index
        # Nothing beyond this record is read as a length: position may only grow up to its end.
        if position >= record_end:
            raise DecodeError(f"record that ends at byte {record_end} has a key beyond it")

        raw = data[position]
        byte = data[position + 1]
        if raw < 0x80:
            position += 1
        elif byte < 0x80:
            raw = raw & 0x7F | byte << 7
            position += 2
        else:
            value, position = decode_varint(data, position, record_end)
            raw = value * 2 if value >= 0 else 1
        if raw & 1 == 0:
            position += raw >> 1
        if position + 1 != record_end or data[position]:
            _check_headers(data, position, record_end)
        position = record_end
        index += 1
    summary.timestamp_delta_max, summary.timestamp_delta_min = delta_max, delta_min
    return position


def _check_headers(data: Buffer, position: int, end: int) -> None:
    """Check that the headers from `position` fill the record; their one-byte lengths are inlined."""
    count, position = decode_varint(data, position, end)
    if count < 0 or count * 2 > end - position:
        raise DecodeError(f"{count} headers at byte {position}, {end - position} bytes are left")
    for place in range(count * 2):
        if position >= end:
            raise DecodeError(f"record header is cut at byte {end}")
        size = data[position]
        if size < 0x80:
            position += 1
            size = size >> 1 if size & 1 == 0 else -1
        else:
            size, position = decode_varint(data, position, end)
        if size >= 0:
            position += size
            if position > end:
                raise DecodeError(f"record header of {size} bytes reaches beyond byte {end}")
        elif place & 1 == 0:
            raise DecodeError(f"record header key before byte {position} is null")
    if position != end:
        raise DecodeError(f"record ends at byte {end} but was read to {position}")


class _Shape(NamedTuple):
    """Where the structural bytes of one record are, from its start."""

    stride: int
    fixed: list[int]
    """Bytes that must be the same in every record of a run: all lengths and counts."""
    delta_start: int
    offset_start: int
    key_start: int
    """The end of the offset delta."""
    has_key: bool


def _record_shape(data: bytes, start: int, end: int) -> _Shape:
    """Read one record whole, noting its structural bytes."""
    size, position = decode_varint(data, start, end)
    record_end = position + size
    if size < RECORD_BYTES_MIN - 1 or record_end > end:
        raise DecodeError(f"record of {size} bytes at byte {position}, {end - position} are left")
    fixed = list(range(position - start))
    delta_start = position + 1
    _, offset_start = decode_varlong(data, delta_start, record_end)
    _, key_start = decode_varint(data, offset_start, record_end)
    has_key = True
    position = key_start
    for part in (0, 1):
        size, behind = decode_varint(data, position, record_end)
        fixed.extend(range(position - start, behind - start))
        if part == 0:
            has_key = size >= 0
        position = behind + (size if size > 0 else 0)
    count, behind = decode_varint(data, position, record_end)
    _check_headers(data, position, record_end)
    fixed.extend(range(position - start, behind - start))
    position = behind
    for _ in range(count * 2):
        if len(fixed) > _RUN_COLUMNS_MAX:
            break
        size, behind = decode_varint(data, position, record_end)
        fixed.extend(range(position - start, behind - start))
        position = behind + (size if size > 0 else 0)
    return _Shape(
        record_end - start, fixed, delta_start - start, offset_start - start, key_start - start, has_key
    )


def _walk_run(  # noqa: PLR0912, PLR0917
    data: bytes, position: int, end: int, index: int, count: int, summary: RecordsSummary
) -> tuple[int, int]:
    """Check a run of records of one shape from `position`; return (records, position behind), or (0, 0)."""
    size, body = decode_varint(data, position, end)
    stride = body + size - position
    if size < RECORD_BYTES_MIN - 1:
        return 0, 0
    most = min(count - index, (end - position) // stride, _offset_width_end(index) - index)
    if most < _RUN_RECORDS_MIN:
        return 0, 0
    probe = data[position : position + _RUN_RECORDS_MIN * stride : stride]
    if probe.count(data[position]) != _RUN_RECORDS_MIN:
        return 0, 0
    shape = _record_shape(data, position, end)
    if len(shape.fixed) > _RUN_COLUMNS_MAX:
        return 0, 0

    length = most
    for place in shape.fixed:
        column = data[position + place : position + length * stride : stride]
        byte = column[:1]
        if column != byte * length:
            length -= len(column.lstrip(byte))
            if length < _RUN_RECORDS_MIN:
                return 0, 0
    deltas: list[bytes] = []
    for place in range(shape.delta_start, shape.offset_start):
        column = data[position + place : position + length * stride : stride]
        # Every byte of a varint but the last has the high bit; so the widths are the same.
        wrong = column.translate(_IS_LAST if place + 1 < shape.offset_start else _IS_NOT_LAST)
        first_wrong = wrong.find(b"\x01")
        if first_wrong >= 0:
            length = first_wrong
            if length < _RUN_RECORDS_MIN:
                return 0, 0
        deltas.append(column)
    if not _offsets_follow(data, position, stride, length, index, shape):
        return 0, 0
    deltas = [column[:length] for column in deltas]
    if deltas[0].translate(None, _EVEN_BYTES):
        return 0, 0  # negative deltas: their zigzag order is not the order of their values
    _sum_up_deltas(deltas, summary)
    if not shape.has_key and summary.keyless_index < 0:
        summary.keyless_index = index
    return length, position + length * stride


_IS_LAST = bytes(0x01 if byte < 0x80 else 0x00 for byte in range(0x100))
_IS_NOT_LAST = bytes(0x00 if byte < 0x80 else 0x01 for byte in range(0x100))


def _offset_width_end(index: int) -> int:
    """Return the index at which the offset delta's bytes stop following the tables."""
    if index < _ONE_BYTE_END:
        return _ONE_BYTE_END
    if index < _TWO_BYTES_END:
        return _TWO_BYTES_END
    if index < _THREE_BYTES_END:
        return (index // _TWO_BYTES_END + 1) * _TWO_BYTES_END
    return index  # a million records in one batch: walked singly from there on


def _offsets_follow(  # noqa: PLR0917
    data: bytes, position: int, stride: int, length: int, index: int, shape: _Shape
) -> bool:
    """Tell whether the offset deltas of a run are index, index + 1, ..."""
    low = index % _TWO_BYTES_END
    if index < _ONE_BYTE_END:
        expected = [_EVEN_BYTES[index : index + length]]
    elif index < _TWO_BYTES_END:
        expected = [_LOW_COLUMN[low : low + length], _MIDDLE_COLUMN[low : low + length]]
    else:
        expected = [
            _LOW_COLUMN[low : low + length],
            _MIDDLE_COLUMN_CONTINUED[low : low + length],
            bytes((index // _TWO_BYTES_END,)) * length,
        ]
    if shape.key_start - shape.offset_start != len(expected):
        return False
    stop = position + length * stride
    return all(
        data[position + shape.offset_start + place : stop : stride] == column
        for place, column in enumerate(expected)
    )


def _sum_up_deltas(columns: list[bytes], summary: RecordsSummary) -> None:
    """Add the non-negative deltas of a run, given as columns from the lowest byte to the highest."""
    columns.reverse()
    for wants_max in (True, False):
        place = _extreme_index(columns, wants_max)
        raw = 0
        for column in columns:
            raw = raw << 7 | column[place] & 0x7F
        delta = raw >> 1
        if wants_max:
            summary.timestamp_delta_max = max(summary.timestamp_delta_max, delta)
        else:
            summary.timestamp_delta_min = min(summary.timestamp_delta_min, delta)


def _extreme_index(columns: list[bytes], wants_max: bool) -> int:
    """Return the first index of the largest (or smallest) value, columns given highest byte first.

    Timestamps mostly rise, so that the records with the extreme high byte stand together and the next
    byte needs to be looked at only there; otherwise all values are compared.
    """
    start, stop = 0, len(columns[0])
    for column in columns:
        part = column[start:stop]
        extreme = _extreme_byte(part, wants_max)
        first = part.index(extreme)
        behind = part.rindex(extreme) + 1
        if part.count(extreme) != behind - first:
            values = list(zip(*columns, strict=True))
            return values.index(max(values) if wants_max else min(values))
        start, stop = start + first, start + behind
    return start


def _extreme_byte(part: bytes, wants_max: bool) -> int:
    """Return the largest or smallest byte; at C speed when it is the last, respectively the first."""
    if wants_max:
        guess = part[-1]
        beyond = part.translate(None, _ALL_BYTES[: guess + 1])
        return max(beyond) if beyond else guess
    guess = part[0]
    beyond = part.translate(None, _ALL_BYTES[guess:])
    return min(beyond) if beyond else guess


_ALL_BYTES = bytes(range(0x100))
