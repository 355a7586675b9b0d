"""What a topic's log configuration asks of the records that clients produce to it.

Validation takes rules of its own, so that it can be tested without configurations; this is the one place
that knows how Kafka's config values spell them. Partitions keep the result until their configuration changes.
"""

from barnabas.protocol.compression import Codec
from barnabas.protocol.record_batch import TimestampType as BatchTimestampType
from barnabas.storage.batch_validation import ValidationRules
from barnabas.storage.log_config import LogConfig, TimestampType


def validation_rules(config: LogConfig) -> ValidationRules:
    """Return the rules that a log configuration stands for.

    Raises:
        ValueError: compression.type names no codec; the metadata layer lets none through.
    """
    codec = _codec(config.compression_type)
    return ValidationRules(
        max_message_bytes=config.max_message_bytes,
        is_compacted=config.compact,
        timestamp_type=(
            BatchTimestampType.LOG_APPEND_TIME
            if config.message_timestamp_type is TimestampType.LOG_APPEND_TIME
            else BatchTimestampType.CREATE_TIME
        ),
        timestamp_before_max_ms=config.message_timestamp_before_max_ms,
        timestamp_after_max_ms=config.message_timestamp_after_max_ms,
        codec=codec,
        compression_level=_level(codec, config),
    )


def _codec(compression_type: str) -> Codec | None:
    if compression_type == "producer":
        return None
    if compression_type == "uncompressed":
        return Codec.NONE
    try:
        return Codec[compression_type.upper()]
    except KeyError:
        raise ValueError(f"compression.type {compression_type!r} names no codec") from None


def _level(codec: Codec | None, config: LogConfig) -> int | None:
    if codec is Codec.GZIP:
        return None if config.compression_gzip_level == -1 else config.compression_gzip_level
    if codec is Codec.LZ4:
        return config.compression_lz4_level
    if codec is Codec.ZSTD:
        return config.compression_zstd_level
    return None
