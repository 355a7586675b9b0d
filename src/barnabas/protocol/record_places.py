"""Where the records of a batch lie, and their keys: what compaction needs to know of them, and no more.

Compaction asks of every record for its key, its offset, whether it has a value, and where its bytes begin;
values and headers are only copied. As in record_walk.py, neighbouring records of one shape (the same length,
the same widths of varints) are read together by strided slices, others one by one; records come in portions
of bounded size, so that a batch of millions of tiny records does not become millions of objects.

Rejected: decode_records, which makes four objects of each record, and asking record_walk.py, which checks
what a client sent and therefore reads more of each record than is wanted here.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from barnabas.base.errors import DecodeError
from barnabas.base.named_tuple import NamedTuple
from barnabas.protocol.records import RECORD_BYTES_MIN
from barnabas.protocol.varint import decode_varint, decode_varlong

PORTION_RECORDS_MAX = 8192
"""Records that are described at once; a few MiB of objects."""

_RUN_RECORDS_MIN = 16
"""A run shorter than this costs more than reading its records one by one."""
_BACKOFF_MAX = 4096


class RecordPlaces(NamedTuple):
    """Some neighbouring records of a batch.

    Attributes:
        first_index: of the first one in the batch.
        starts: where each begins (its length), and where the last one ends.
        offset_deltas: of each.
        keys: of each; None where there is none.
        valueless: indexes into these lists of records without a value: tombstones.
    """

    first_index: int
    starts: Sequence[int]
    offset_deltas: Sequence[int]
    keys: list[bytes | None]
    valueless: list[int]


class _Shape(NamedTuple):
    """The structural bytes of a record, from its start."""

    stride: int
    fixed: tuple[int, ...]
    """Bytes that are the same in each record of a run: lengths of the record, of its key and of its value."""
    varying: tuple[int, ...]
    """Bytes of the two deltas, whose values differ but whose widths must not."""
    offset_start: int
    offset_end: int
    key_start: int
    key_bytes: int
    """-1 is none."""
    has_value: bool


def iter_record_places(
    section: bytes,
    records_count: int,
    *,
    is_dense: bool,
    wants_keys: bool = True,
    offset_delta_max: int = 0x7FFFFFFF,
) -> Iterator[RecordPlaces]:
    """Yield what there is to know of all records that fill `section`, in portions.

    Args:
        section: the uncompressed records.
        is_dense: the offset deltas are 0, 1, 2, ... as a producer sends them, and need not be read.
        offset_delta_max: of the batch; offset deltas that are read must ascend up to here at most.
        wants_keys: False leaves them None in runs of records, where they would cost most.
    Raises:
        DecodeError: malformed, cut, or bytes left over.
    """
    end = len(section)
    if records_count < 0 or records_count * RECORD_BYTES_MIN > end:
        raise DecodeError(f"{records_count} records cannot fit into {end} bytes")
    index = position = 0
    next_try = 0 if records_count >= _RUN_RECORDS_MIN else records_count
    backoff = 1
    last_delta = -1
    while index < records_count:
        portion_max = min(records_count - index, PORTION_RECORDS_MAX)
        try:
            places: RecordPlaces | None = None
            if index >= next_try:
                places = _read_run(
                    section, position, end, index, portion_max, is_dense=is_dense, wants_keys=wants_keys
                )
                backoff = 1 if places is not None else min(backoff * 2, _BACKOFF_MAX)
                next_try = index + backoff if places is None else index + len(places.keys)
            if places is None:
                portion_max = min(portion_max, max(next_try - index, 1))
                places = _read_singles(section, position, end, index, portion_max, is_dense=is_dense)
        except IndexError:
            raise DecodeError(f"record is cut at byte {end}") from None
        if not is_dense:
            deltas = places.offset_deltas
            if deltas[0] <= last_delta or deltas[-1] > offset_delta_max or not _ascends(deltas):
                raise DecodeError(f"offsets of the records before byte {places.starts[-1]} are out of order")
            last_delta = deltas[-1]
        yield places
        index += len(places.keys)
        position = places.starts[-1]
    if position != end:
        raise DecodeError(f"{end - position} bytes are left behind {records_count} records")


def _ascends(deltas: Sequence[int]) -> bool:
    return all(earlier < later for earlier, later in pairwise(deltas))


def _read_singles(  # noqa: PLR0912 - one flat loop: a call per field would double its cost
    data: bytes, position: int, end: int, index: int, count: int, *, is_dense: bool
) -> RecordPlaces:
    starts: list[int] = []
    deltas: list[int] = []
    keys: list[bytes | None] = []
    valueless: list[int] = []
    for number in range(count):
        starts.append(position)
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
        if raw & 1 or record_end > end or raw >> 1 < RECORD_BYTES_MIN - 1:
            raise DecodeError(f"record before byte {position} has a length that does not fit")
        position += 1  # attributes
        while data[position] >= 0x80:
            position += 1
        position += 1  # behind the timestamp delta
        raw = data[position]
        if is_dense or raw < 0x80:
            if not is_dense:
                deltas.append(raw >> 1)
            while data[position] >= 0x80:
                position += 1
            position += 1
        else:
            value, position = decode_varint(data, position, record_end)
            deltas.append(value)

        raw = data[position]
        if raw < 0x80:
            position += 1
        else:
            value, position = decode_varint(data, position, record_end)
            raw = value * 2 if value >= 0 else 1
        if raw & 1:
            keys.append(None)
        else:
            behind = position + (raw >> 1)
            keys.append(data[position:behind])
            position = behind
        # The length of the value and the count of headers are to come.
        if position + 2 > record_end:
            raise DecodeError(f"record that ends at byte {record_end} has a key beyond it")
        if data[position] & 1:  # negative: the sign is the lowest bit
            valueless.append(number)
        position = record_end
    starts.append(position)
    return RecordPlaces(index, starts, range(index, index + count) if is_dense else deltas, keys, valueless)


def _read_shape(data: bytes, start: int, end: int) -> _Shape:
    """Read one record up to its value, noting its structural bytes."""
    size, position = decode_varint(data, start, end)
    record_end = position + size
    if size < RECORD_BYTES_MIN - 1 or record_end > end:
        raise DecodeError(f"record of {size} bytes at byte {position}, {end - position} are left")
    fixed = list(range(position - start))
    delta_start = position + 1
    _, offset_start = decode_varlong(data, delta_start, record_end)
    _, offset_end = decode_varint(data, offset_start, record_end)
    key_bytes, key_start = decode_varint(data, offset_end, record_end)
    fixed.extend(range(offset_end - start, key_start - start))
    value_start = key_start + max(key_bytes, 0)
    if value_start + 2 > record_end:
        raise DecodeError(f"record that ends at byte {record_end} has a key beyond it")
    fixed.append(value_start - start)
    return _Shape(
        record_end - start,
        tuple(fixed),
        tuple(range(delta_start - start, offset_end - start)),
        offset_start - start,
        offset_end - start,
        key_start - start,
        max(key_bytes, -1),
        data[value_start] & 1 == 0,
    )


def _read_run(
    data: bytes, position: int, end: int, index: int, portion_max: int, *, is_dense: bool, wants_keys: bool
) -> RecordPlaces | None:
    """Read records of one shape from `position`; None when too few have it."""
    shape = _read_shape(data, position, end)
    stride = shape.stride
    length = min(portion_max, (end - position) // stride)
    if (
        length < _RUN_RECORDS_MIN
        or data[position : position + _RUN_RECORDS_MIN * stride : stride].count(data[position])
        < _RUN_RECORDS_MIN
    ):
        return None
    for place in shape.fixed:
        column = data[position + place : position + length * stride : stride]
        byte = column[:1]
        if column != byte * length:
            length -= len(column.lstrip(byte))
    for place in shape.varying:
        # Every byte of a varint but its last has the high bit; so the widths are the same.
        column = data[position + place : position + length * stride : stride]
        wrong = column.translate(_IS_SMALL if data[position + place] >= 0x80 else _IS_LARGE).find(b"\x01")
        if wrong >= 0:
            length = wrong
    if length < _RUN_RECORDS_MIN:
        return None
    stop = position + length * stride
    return RecordPlaces(
        index,
        range(position, stop + 1, stride),
        range(index, index + length) if is_dense else _offset_deltas(data, position, stop, shape),
        _keys(data, position, length, shape) if wants_keys else [None] * length,
        [] if shape.has_value else list(range(length)),
    )


def _keys(data: bytes, position: int, length: int, shape: _Shape) -> list[bytes | None]:
    key_bytes, stride = shape.key_bytes, shape.stride
    if key_bytes < 0:
        return [None] * length
    first = position + shape.key_start
    return [data[at : at + key_bytes] for at in range(first, first + length * stride, stride)]


def _offset_deltas(data: bytes, position: int, stop: int, shape: _Shape) -> list[int]:
    columns = [
        data[position + place : stop : shape.stride] for place in range(shape.offset_start, shape.offset_end)
    ]
    if len(columns) == 1:
        return [low >> 1 for low in columns[0]]
    if len(columns) == 2:
        return [(low & 0x7F | high << 7) >> 1 for low, high in zip(*columns, strict=True)]
    deltas = [0] * len(columns[0])
    for column in reversed(columns):
        deltas = [delta << 7 | byte & 0x7F for delta, byte in zip(deltas, column, strict=True)]
    return [delta >> 1 for delta in deltas]


_IS_SMALL = bytes(0x01 if byte < 0x80 else 0x00 for byte in range(0x100))
_IS_LARGE = bytes(0x00 if byte < 0x80 else 0x01 for byte in range(0x100))
