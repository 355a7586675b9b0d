"""Writing a batch anew with some of its records, or with none, as Apache Kafka's cleaner does.

Base and last offset, producer, epoch, first sequence number, leader epoch, codec and kind of timestamp stay
as they were, so that neither a reader nor a producer that asks for its state sees a difference. The base
timestamp becomes the delete horizon, or else that of the first record that stays; so the timestamp delta
of each record is written anew, while everything behind it is copied as it is.
"""

from collections.abc import Iterator, Sequence
from itertools import compress as chosen_of

from barnabas.base.errors import DecodeError
from barnabas.protocol.checksum import crc32c
from barnabas.protocol.compression import Codec, compress
from barnabas.protocol.record_batch import (
    ATTRIBUTES_POSITION,
    CODEC_MASK,
    DELETE_HORIZON_BIT,
    HEADER,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_BIT,
    BatchHeader,
)
from barnabas.protocol.record_places import RecordPlaces
from barnabas.protocol.records import wrap_int64
from barnabas.protocol.varint import decode_varlong, encode_varint
from barnabas.storage.compaction.verdicts import Verdicts

_INT64_MAX = 2**63 - 1

_STAYS = bytes(verdict in (Verdicts.STAYS, Verdicts.TOMBSTONE) for verdict in range(0x100))


class Kept:
    """The records of one batch that stay.

    Attributes:
        count: of them.
        has_tombstone: whether one of them has no value.
    """

    __slots__ = ("_portions", "count", "has_tombstone")

    def __init__(self) -> None:
        self._portions: list[tuple[Sequence[int], Sequence[int]]] = []  # where each begins and ends
        self.count = 0
        self.has_tombstone = False

    def add_all(self, places: RecordPlaces) -> None:
        """Keep neighbouring records, all of them."""
        starts = places.starts
        self._portions.append((starts[:-1], starts[1:]))
        self.count += len(starts) - 1
        self.has_tombstone = self.has_tombstone or bool(places.valueless)

    def add_chosen(self, places: RecordPlaces, stays: Sequence[bool]) -> None:
        """Keep some of them: those whose item of `stays` is True."""
        starts = list(chosen_of(places.starts[:-1], stays))
        self._portions.append((starts, list(chosen_of(places.starts[1:], stays))))
        self.count += len(starts)
        self.has_tombstone = self.has_tombstone or any(stays[number] for number in places.valueless)

    def add_by_verdicts(self, places: RecordPlaces, verdicts: bytearray) -> None:
        """Keep those that stay by the verdicts on their batch."""
        starts, first = places.starts, places.first_index
        stays = verdicts[first : first + len(starts) - 1].translate(_STAYS)
        chosen = list(chosen_of(starts[:-1], stays))
        self._portions.append((chosen, list(chosen_of(starts[1:], stays))))
        self.count += len(chosen)

    def spans(self) -> Iterator[tuple[int, int]]:
        """Yield where each record begins and ends."""
        for starts, ends in self._portions:
            yield from zip(starts, ends, strict=True)


def rewritten_batch(
    section: bytes, header: BatchHeader, kept: Kept, delete_horizon_ms: int | None
) -> tuple[bytes, int]:
    """Return a batch of the records that stay, and its largest timestamp.

    Args:
        section: the uncompressed records of the old batch.
        kept: at least one of them.
        delete_horizon_ms: of the new batch; None is none.
    Raises:
        DecodeError: a record is malformed.
    """
    try:
        parts, base_timestamp, max_timestamp = _with_new_deltas(section, header, kept, delete_horizon_ms)
    except IndexError:
        raise DecodeError(f"record is cut at byte {len(section)}") from None
    records = b"".join(parts)
    attributes = header.attributes & ~DELETE_HORIZON_BIT
    if delete_horizon_ms is not None:
        attributes |= DELETE_HORIZON_BIT
    codec = header.codec
    if codec is not Codec.NONE:
        records = compress(codec, records)
    changed = header._replace(
        batch_length=HEADER_BYTES - LOG_OVERHEAD_BYTES + len(records),
        attributes=attributes,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        records_count=kept.count,
    )
    return _with_checksum(changed, records), max_timestamp


def emptied_batch(header: BatchHeader) -> bytes:
    """Return a batch without records that keeps the offsets and the producer of another."""
    attributes = header.attributes & ~(CODEC_MASK | DELETE_HORIZON_BIT)
    changed = header._replace(
        batch_length=HEADER_BYTES - LOG_OVERHEAD_BYTES,
        attributes=attributes,
        base_timestamp=NO_TIMESTAMP,
        records_count=0,
    )
    return _with_checksum(changed, b"")


def _with_checksum(header: BatchHeader, records: bytes) -> bytes:
    head = HEADER.pack(*header)
    crc = crc32c(records, crc32c(head[ATTRIBUTES_POSITION:], 0))
    return HEADER.pack(*header._replace(crc=crc)) + records


def _with_new_deltas(
    section: bytes, header: BatchHeader, kept: Kept, delete_horizon_ms: int | None
) -> tuple[list[bytes], int, int]:
    """Return the pieces of the records that stay, the base timestamp and the largest timestamp."""
    old_base = header.base_timestamp
    append_time = header.max_timestamp if header.attributes & TIMESTAMP_TYPE_BIT else None
    base = delete_horizon_ms
    max_timestamp = NO_TIMESTAMP
    heads: dict[tuple[int, int], bytes] = {}  # a batch's timestamps are close together, its lengths alike
    parts: list[bytes] = []
    for position, end in kept.spans():
        while section[position] >= 0x80:
            position += 1
        position += 2  # behind the length and the attributes
        raw = section[position]
        if raw < 0x80:
            delta = (raw >> 1) ^ -(raw & 1)
            position += 1
        else:
            delta, position = decode_varlong(section, position, end)
        timestamp = old_base + delta if append_time is None else append_time
        if not -_INT64_MAX <= timestamp <= _INT64_MAX:
            timestamp = wrap_int64(timestamp)
        if base is None:
            base = timestamp
        if timestamp > max_timestamp:  # noqa: PLR1730 - max() is a call
            max_timestamp = timestamp
        key = timestamp, end - position
        head = heads.get(key)
        if head is None:
            # Attributes have no meaning yet and are written as 0.
            shifted = b"\0" + encode_varint(wrap_int64(timestamp - base))
            head = heads[key] = encode_varint(len(shifted) + end - position) + shifted
        parts += (head, section[position:end])
    assert base is not None, "no record stays"
    return parts, base, max_timestamp if append_time is None else append_time
