"""What a log configuration asks of produced records."""

import pytest

from barnabas.protocol.compression import Codec
from barnabas.protocol.record_batch import TimestampType
from barnabas.replica.validation_rules import validation_rules
from barnabas.storage.batch_validation import ValidationRules
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_config import TimestampType as ConfigTimestampType


@pytest.mark.parametrize(
    ("name", "codec", "level"),
    [
        ("producer", None, None),
        ("uncompressed", Codec.NONE, None),
        ("gzip", Codec.GZIP, 7),
        ("snappy", Codec.SNAPPY, None),
        ("lz4", Codec.LZ4, 11),
        ("zstd", Codec.ZSTD, -3),
    ],
)
def test_rules_of_a_configuration(name: str, codec: Codec | None, level: int | None) -> None:
    config = LogConfig(
        compression_type=name,
        compression_gzip_level=7,
        compression_lz4_level=11,
        compression_zstd_level=-3,
        cleanup_policy=frozenset({"compact", "delete"}),
        max_message_bytes=77,
        message_timestamp_type=ConfigTimestampType.LOG_APPEND_TIME,
        message_timestamp_before_max_ms=1,
        message_timestamp_after_max_ms=2,
    )
    assert validation_rules(config) == ValidationRules(
        max_message_bytes=77,
        is_compacted=True,
        timestamp_type=TimestampType.LOG_APPEND_TIME,
        timestamp_before_max_ms=1,
        timestamp_after_max_ms=2,
        codec=codec,
        compression_level=level,
    )


def test_default_rules_are_those_of_the_default_configuration() -> None:
    assert validation_rules(LogConfig()) == ValidationRules()
