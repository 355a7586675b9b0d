"""What a leader checks of the records a client produces, and what it changes in them (P2, P3).

The order of checks and the error codes are those of Apache Kafka 4.4, asked on the wire. The usual batch
passes through untouched: only its first 16 bytes (base offset, length, leader epoch) are written anew by
the log, and what follows goes to disk as the view of the request frame it came in. A batch whose
timestamp fields change gets a new 61-byte header before the same records. Only another
`compression.type` or wrong offset deltas make new record bytes.

Records are looked at by `summarize_records`, which makes no objects; records that break a rule are
looked for one by one only after the summary says that there are some.

On purpose different from Apache Kafka 4.4:
- Malformed records or a malformed compressed stream: INVALID_RECORD. There some of these are
  UNKNOWN_SERVER_ERROR, and bytes left behind a compressed stream are let through.
- An attribute that names no codec: UNSUPPORTED_COMPRESSION_TYPE, there UNKNOWN_SERVER_ERROR.
- Offset deltas that are not 0, 1, 2, ...: the records are renumbered, as Kafka does when it recompresses.
  Otherwise Kafka stores an uncompressed batch as it came, so that consumers see offsets that belong to
  other batches, and answers UNKNOWN_SERVER_ERROR to a compressed one.
- The LogAppendTime bit from a client is refused always (P3). Kafka lets it through on a CreateTime topic
  and takes the header's max timestamp for every record's.
- At most RECORD_ERRORS_MAX record errors are named.
"""

from barnabas.base import limits
from barnabas.base.dataclass import dataclass
from barnabas.base.disk import Buffer
from barnabas.base.errors import ApiError, DecodeError, ErrorCode
from barnabas.protocol.checksum import crc32c
from barnabas.protocol.compression import Codec, compress, decompress
from barnabas.protocol.record_batch import (
    ATTRIBUTES_POSITION,
    CODEC_MASK,
    CONTROL_BIT,
    HEADER,
    HEADER_BYTES,
    LENGTH,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
    BatchHeader,
    HeaderFields,
    TimestampType,
    restamped_header,
)
from barnabas.protocol.record_walk import RecordsSummary, summarize_records
from barnabas.protocol.records import wrap_int64
from barnabas.protocol.records_one_by_one import iter_record_facts, renumber_records
from barnabas.storage.producer_state.states import AppendOrigin

RECORD_ERRORS_MAX = 1000
"""Record errors one partition's answer names: a batch may hold millions of records, all of them wrong."""

_MAGIC_POSITION = 16
_LENGTH_MIN = 14  # of any magic
_INT64_MAX = (1 << 63) - 1
_ZSTD_VERSION_MIN = 7

# Looking a member up in its enum costs more than any check below it, so the hot path uses these.
_CODECS = tuple(Codec)
_USUAL_ATTRIBUTES = frozenset(
    codec | bit
    for codec in (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)
    for bit in (0, TRANSACTIONAL_BIT)
)
"""Of a client's batch; others, such as those with zstd, are good only with some requests."""
_NO_HEADER = (0,) * len(BatchHeader._fields)
"""Stands for the fields where no header fits: no frame is as short as its length says."""
_NONE = Codec.NONE
_ZSTD = Codec.ZSTD
_LOG_APPEND_TIME = TimestampType.LOG_APPEND_TIME
_CLIENT = AppendOrigin.CLIENT
_INVALID_RECORD = ErrorCode.INVALID_RECORD


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationRules:
    """What a topic's configuration asks of produced records; the defaults are Kafka's."""

    max_message_bytes: int = 1048588
    """max.message.bytes: the largest batch, header and all, as it came and as it is stored."""
    is_compacted: bool = False
    """cleanup.policy contains compact: records need keys."""
    timestamp_type: TimestampType = TimestampType.CREATE_TIME
    """message.timestamp.type."""
    timestamp_before_max_ms: int = _INT64_MAX
    """message.timestamp.before.max.ms."""
    timestamp_after_max_ms: int = 3600000
    """message.timestamp.after.max.ms."""
    codec: Codec | None = None
    """compression.type; None is `producer`: whatever the batch has."""
    compression_level: int | None = None
    """compression.<codec>.level; None is the codec's default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordError:
    """One refused record of a batch (KIP-467)."""

    batch_index: int
    message: str


class RecordsRejectedError(ApiError):
    """A batch refused for some of its records: all of them are refused with it (KIP-467)."""

    def __init__(self, code: ErrorCode, message: str, record_errors: list[RecordError]) -> None:
        super().__init__(code, message)
        self.record_errors = record_errors


def validate_produced_records(
    records: Buffer | None,
    rules: ValidationRules,
    *,
    api_version: int,
    now_ms: int,
    origin: AppendOrigin = AppendOrigin.CLIENT,
    decompressed_bytes_max: int = limits.DECOMPRESSED_BATCH_BYTES_MAX,
) -> tuple[HeaderFields, tuple[memoryview, ...]]:
    """Check the records field of one partition of a Produce request (P2) and stamp it (P3).

    Args:
        records: as decoded from the frame, which stays referenced by the result.
        api_version: of the request; zstd needs 7 (KIP-110).
        now_ms: wall time, for bounds and LogAppendTime.
        origin: coordinators may write control batches.

    Returns:
        A batch fit to be appended but for its base offset and leader epoch: the fields of its header, and
        its bytes, one part behind the other, of which the first holds the header. They are views of the
        frame where nothing changed.

    Raises:
        ApiError: CORRUPT_MESSAGE, MESSAGE_TOO_LARGE, INVALID_RECORD, UNSUPPORTED_COMPRESSION_TYPE.
        RecordsRejectedError: INVALID_RECORD or INVALID_TIMESTAMP, naming records.
    """
    frame = records if isinstance(records, memoryview) else memoryview(records or b"")
    size_bytes = len(frame)
    fields: HeaderFields = HEADER.unpack_from(frame) if size_bytes >= HEADER_BYTES else _NO_HEADER
    (base_offset, length, _, magic, crc, attributes, last_delta, base_timestamp, max_timestamp, producer_id,
     _, base_sequence, count) = fields  # fmt: skip
    # All is asked at once of what nearly every producer sends: one batch, the whole frame, nothing amiss.
    if (
        length != size_bytes - LOG_OVERHEAD_BYTES
        or size_bytes > rules.max_message_bytes
        or magic != MAGIC
        or base_offset
        or attributes not in _USUAL_ATTRIBUTES
        or not 0 <= last_delta == count - 1
        or (base_sequence < 0 <= producer_id)
        or crc32c(frame[ATTRIBUTES_POSITION:], 0) != crc
    ):
        # One thing after the other, in Kafka's order, to say what is wrong, if anything is.
        _check_header(_only_batch(frame, api_version), frame, rules, origin)
        frame = frame[: length + LOG_OVERHEAD_BYTES]
    stored = frame[HEADER_BYTES:]
    codec = _CODECS[attributes & CODEC_MASK]
    try:
        section: Buffer = stored
        if codec is not _NONE:
            section = decompress(codec, stored, decompressed_bytes_max=decompressed_bytes_max)
        summary = summarize_records(section, count)
    except DecodeError as error:
        raise ApiError(ErrorCode.INVALID_RECORD, f"malformed records: {error}") from None

    highest = base_timestamp + summary.timestamp_delta_max
    by_append_time = rules.timestamp_type is _LOG_APPEND_TIME
    if by_append_time:
        is_mistimed = False
        largest = now_ms
    else:
        # A sum beyond 64 bits wraps in Java; it is then looked at record by record.
        is_mistimed = (
            highest > now_ms + rules.timestamp_after_max_ms
            or base_timestamp + summary.timestamp_delta_min < now_ms - rules.timestamp_before_max_ms
            or highest > _INT64_MAX
        )
        largest = highest if highest > NO_TIMESTAMP else NO_TIMESTAMP
    if is_mistimed or (rules.is_compacted and summary.keyless_index >= 0):
        _refuse_wrong_records(fields, section, summary, rules, now_ms)

    if summary.misplaced_index >= 0 or (rules.codec is not None and rules.codec is not codec):
        if summary.misplaced_index >= 0:
            section = renumber_records(section, count)
        return _rewritten(fields, section, largest, codec if rules.codec is None else rules.codec, rules)
    if largest != max_timestamp or by_append_time:
        return _restamped(BatchHeader._make(fields), stored, rules.timestamp_type, largest)
    return fields, (frame,)


def _only_batch(frame: memoryview, api_version: int) -> BatchHeader:
    """Return the header of the one batch in `frame`; a cut batch behind it is no batch, as in Kafka."""
    length = _whole_batch_length(frame, 0)
    if length is None:
        raise ApiError(ErrorCode.INVALID_RECORD, "the records hold no whole batch")
    if frame[_MAGIC_POSITION] != MAGIC:
        raise ApiError(
            ErrorCode.INVALID_RECORD, f"magic {frame[_MAGIC_POSITION]}: only batches of magic 2 are taken"
        )
    if length < HEADER_BYTES - LOG_OVERHEAD_BYTES:
        raise ApiError(ErrorCode.CORRUPT_MESSAGE, f"batch length {length} is shorter than a header")
    header = BatchHeader._make(HEADER.unpack_from(frame))
    codec_id = header.attributes & CODEC_MASK
    if codec_id >= len(_CODECS):
        raise ApiError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"unknown compression type id {codec_id}")
    if api_version < _ZSTD_VERSION_MIN and codec_id == _ZSTD:
        raise ApiError(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"zstd needs Produce v7, this is v{api_version}"
        )
    if (
        len(frame) > length + LOG_OVERHEAD_BYTES
        and _whole_batch_length(frame, length + LOG_OVERHEAD_BYTES) is not None
    ):
        raise ApiError(ErrorCode.INVALID_RECORD, "the records hold more than one batch")
    return header


def _whole_batch_length(frame: memoryview, position: int) -> int | None:
    """Return the length field of the batch at `position`; None when no whole batch is there."""
    left = len(frame) - position
    if left <= _MAGIC_POSITION:
        return None
    length: int = LENGTH.unpack_from(frame, position)[1]
    if length < _LENGTH_MIN:
        raise ApiError(ErrorCode.CORRUPT_MESSAGE, f"batch length {length} is shorter than any batch")
    magic = frame[position + _MAGIC_POSITION]
    if magic > MAGIC:
        raise ApiError(ErrorCode.CORRUPT_MESSAGE, f"unknown magic {magic}")
    return length if length + LOG_OVERHEAD_BYTES <= left else None


def _check_header(
    header: BatchHeader, frame: memoryview, rules: ValidationRules, origin: AppendOrigin
) -> None:
    """Check all that the header says, in Kafka's order."""
    invalid = _INVALID_RECORD
    size_bytes = header.batch_length + LOG_OVERHEAD_BYTES
    if header.base_offset != 0:
        raise ApiError(invalid, f"base offset is {header.base_offset}, a producer's is 0")
    if size_bytes > rules.max_message_bytes:
        raise ApiError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"batch of {size_bytes} bytes, max.message.bytes is {rules.max_message_bytes}",
        )
    if crc32c(frame[ATTRIBUTES_POSITION:size_bytes], 0) != header.crc:
        raise ApiError(ErrorCode.CORRUPT_MESSAGE, f"checksum {header.crc:#010x} does not match the batch")
    if header.last_offset_delta < 0:
        raise ApiError(invalid, f"last offset delta is {header.last_offset_delta}")
    if header.records_count <= 0:
        raise ApiError(invalid, f"records count is {header.records_count}")
    if header.records_count != header.last_offset_delta + 1:
        raise ApiError(invalid, f"{header.records_count} records in offsets 0 to {header.last_offset_delta}")
    if header.attributes & CONTROL_BIT and origin is _CLIENT:
        raise ApiError(invalid, "control batches are not for clients to write")
    if header.producer_id >= 0 and header.base_sequence < 0 and origin is _CLIENT:
        raise ApiError(invalid, f"producer id {header.producer_id} with base sequence {header.base_sequence}")
    if header.attributes & TIMESTAMP_TYPE_BIT:
        raise ApiError(ErrorCode.INVALID_TIMESTAMP, "the timestamp type LogAppendTime is the broker's to set")


def _refuse_wrong_records(
    fields: HeaderFields, section: Buffer, summary: RecordsSummary, rules: ValidationRules, now_ms: int
) -> None:
    """Raise RecordsRejectedError for those that break a rule; maybe none does, since -1 is no time."""
    header = BatchHeader._make(fields)
    highest = now_ms + rules.timestamp_after_max_ms
    lowest = now_ms - rules.timestamp_before_max_ms
    checks_time = rules.timestamp_type is not _LOG_APPEND_TIME
    errors: list[RecordError] = []
    total = 0
    code = ErrorCode.INVALID_RECORD
    for index, delta, has_key in iter_record_facts(section, header.records_count):
        timestamp = wrap_int64(header.base_timestamp + delta)
        if rules.is_compacted and not has_key:
            message = "a record of a compacted topic needs a key"
        elif checks_time and timestamp != NO_TIMESTAMP and not lowest <= timestamp <= highest:
            code = ErrorCode.INVALID_TIMESTAMP
            message = f"timestamp {timestamp} is not between {max(lowest, -_INT64_MAX - 1)} and {highest}"
        else:
            continue
        total += 1
        if len(errors) < RECORD_ERRORS_MAX:
            errors.append(RecordError(batch_index=index, message=message))
    if errors:
        raise RecordsRejectedError(code, f"{total} of {header.records_count} records were refused", errors)
    earliest = header.base_timestamp + summary.timestamp_delta_min
    latest = header.base_timestamp + summary.timestamp_delta_max
    if checks_time and (latest > _INT64_MAX or earliest < -_INT64_MAX - 1):
        raise ApiError(ErrorCode.INVALID_TIMESTAMP, "timestamps beyond 64 bits")


def _rewritten(
    fields: HeaderFields, section: Buffer, max_timestamp: int, codec: Codec, rules: ValidationRules
) -> tuple[HeaderFields, tuple[memoryview, ...]]:
    """Return the batch with other record bytes: another codec, or offset deltas put right."""
    level = rules.compression_level if codec is rules.codec else None
    stored: Buffer = section if codec is _NONE else compress(codec, section, level)
    size_bytes = HEADER_BYTES + len(stored)
    if size_bytes > rules.max_message_bytes:
        raise ApiError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"batch of {size_bytes} bytes as stored, max.message.bytes is {rules.max_message_bytes}",
        )
    header = BatchHeader._make(fields)
    header = header._replace(
        batch_length=size_bytes - LOG_OVERHEAD_BYTES, attributes=header.attributes & ~CODEC_MASK | codec
    )
    return _restamped(header, memoryview(stored), rules.timestamp_type, max_timestamp)


def _restamped(
    header: BatchHeader, stored: memoryview, timestamp_type: TimestampType, max_timestamp: int
) -> tuple[HeaderFields, tuple[memoryview, ...]]:
    """Return the batch with another header before its records as they are stored."""
    header = restamped_header(header, stored, timestamp_type, max_timestamp)
    return header, (memoryview(HEADER.pack(*header)), stored)
