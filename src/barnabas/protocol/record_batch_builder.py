"""Making record batches v2, byte for byte as Java's client makes them.

Records are encoded as they are appended; build() compresses the section once, at the end, since the
codecs of this package take whole buffers. The first record's timestamp is the base of all deltas, as in
Java, so that an uncompressed batch of the same records is the same bytes.
"""

from collections.abc import Sequence

from barnabas.base.disk import Buffer
from barnabas.protocol.checksum import crc32c
from barnabas.protocol.compression import Codec, compress
from barnabas.protocol.record_batch import (
    ATTRIBUTES_POSITION,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    HEADER,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
)
from barnabas.protocol.records import encode_record

_OFFSET_DELTA_MAX = 0x7FFFFFFF


class BatchBuilder:
    """Collects records and makes one batch of them.

    Args:
        codec, compression_level: how the records are compressed; see `compression.compress`.
        base_offset: the first offset; a producer leaves 0.
        partition_leader_epoch: a producer leaves -1.
        producer_id, producer_epoch, base_sequence: of an idempotent producer (KIP-98).
        is_control: markers of a transaction or of the quorum; see control_records.py.
        log_append_time_ms: makes a LogAppendTime batch of that time; None is CreateTime.
        delete_horizon_ms: when compaction may drop tombstones (KIP-534).
    """

    __slots__ = (
        "_base_timestamp",
        "_last_offset",
        "_level",
        "_max_timestamp",
        "_parts",
        "attributes",
        "base_offset",
        "base_sequence",
        "codec",
        "log_append_time_ms",
        "partition_leader_epoch",
        "producer_epoch",
        "producer_id",
        "records_bytes",
    )

    def __init__(
        self,
        *,
        codec: Codec = Codec.NONE,
        compression_level: int | None = None,
        base_offset: int = 0,
        partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        is_transactional: bool = False,
        is_control: bool = False,
        log_append_time_ms: int | None = None,
        delete_horizon_ms: int | None = None,
    ) -> None:
        if is_transactional and producer_id == NO_PRODUCER_ID:
            raise ValueError("a transactional batch needs a producer id")
        self.codec = codec
        self._level = compression_level
        self.base_offset = base_offset
        self.partition_leader_epoch = partition_leader_epoch
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.log_append_time_ms = log_append_time_ms
        self.attributes = (
            codec
            | (TIMESTAMP_TYPE_BIT if log_append_time_ms is not None else 0)
            | (TRANSACTIONAL_BIT if is_transactional else 0)
            | (CONTROL_BIT if is_control else 0)
            | (DELETE_HORIZON_BIT if delete_horizon_ms is not None else 0)
        )
        self.records_bytes = 0
        """Uncompressed records so far."""
        self._base_timestamp = delete_horizon_ms
        self._max_timestamp = NO_TIMESTAMP
        self._last_offset = base_offset - 1
        self._parts: list[bytes] = []

    def __len__(self) -> int:
        return len(self._parts)

    @property
    def size_bytes(self) -> int:
        """What build() would return now, before compression."""
        return HEADER_BYTES + self.records_bytes

    @property
    def next_offset(self) -> int:
        return self._last_offset + 1

    def append(
        self,
        *,
        timestamp: int,
        key: Buffer | None,
        value: Buffer | None,
        headers: Sequence[tuple[str, Buffer | None]] = (),
        offset: int | None = None,
    ) -> int:
        """Add a record and return its offset.

        Args:
            timestamp: milliseconds since 1970, or -1.
            offset: for a rewrite that keeps offsets; above the last one. None is the next.
        """
        offset = self._last_offset + 1 if offset is None else offset
        if not self._last_offset < offset <= self.base_offset + _OFFSET_DELTA_MAX:
            raise ValueError(
                f"offset {offset} cannot follow {self._last_offset} in a batch from {self.base_offset}"
            )
        if self._base_timestamp is None:
            self._base_timestamp = timestamp
        encoded = encode_record(
            timestamp - self._base_timestamp, offset - self.base_offset, key, value, headers
        )
        self._parts.append(encoded)
        self.records_bytes += len(encoded)
        self._last_offset = offset
        self._max_timestamp = max(self._max_timestamp, timestamp)
        return offset

    def build(self, *, last_offset: int | None = None) -> bytes:
        """Return the batch.

        Args:
            last_offset: the end of the batch's range when compaction removed its last records; such a
                batch may have no records at all.
        Raises:
            ValueError: no records and no last_offset.
        """
        last = self._last_offset if last_offset is None else last_offset
        if last < max(self._last_offset, self.base_offset):
            raise ValueError("a batch without records needs a last offset")
        records = b"".join(self._parts)
        if self.codec is not Codec.NONE and self._parts:
            records = compress(self.codec, records, self._level)
        head = (
            self.attributes,
            last - self.base_offset,
            NO_TIMESTAMP if self._base_timestamp is None else self._base_timestamp,
            self._max_timestamp if self.log_append_time_ms is None else self.log_append_time_ms,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            len(self._parts),
        )
        prefix = (
            self.base_offset,
            HEADER_BYTES - LOG_OVERHEAD_BYTES + len(records),
            self.partition_leader_epoch,
            MAGIC,
        )
        header = HEADER.pack(*prefix, 0, *head)
        crc = crc32c(records, crc32c(header[ATTRIBUTES_POSITION:], 0))
        return HEADER.pack(*prefix, crc, *head) + records
