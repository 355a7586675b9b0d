"""What a topic sets about its logs, under Apache Kafka's names and with its defaults.

One frozen value per topic: the metadata layer makes a new one when a config changes and hands it to the
logs, so a log never sees half a change. A dictionary of strings was rejected: every reader would
have to parse and default on its own, on the hot path.

Units are those of the config's name. -1 means unbounded where Kafka says so.
"""

from barnabas.base.dataclass import dataclass
from barnabas.base.enums import Enum

INT64_MAX = 2**63 - 1


class TimestampType(Enum):
    """`message.timestamp.type`: whose clock stamps a record."""

    CREATE_TIME = "CreateTime"
    LOG_APPEND_TIME = "LogAppendTime"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """Topic-level configs; each attribute is Kafka's config name with underscores for dots.

    Attributes:
        cleanup_policy: any of "delete" and "compact"; empty (KIP-1059) neither expires nor compacts.
        compression_type: "producer" keeps the producer's choice, else uncompressed, gzip, snappy, lz4, zstd.
        segment_jitter_ms: up to so much is taken off segment_ms, drawn once per segment.
        message_timestamp_before_max_ms, message_timestamp_after_max_ms: how far a CreateTime timestamp
            may lie behind and ahead of the broker's clock (KIP-937).
        flush_messages: records appended before a flush is forced; the default leaves it to the kernel.
        local_retention_ms, local_retention_bytes: -2 means "as retention_*"; tiering only.
    """

    cleanup_policy: frozenset[str] = frozenset({"delete"})
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    delete_retention_ms: int = 86_400_000
    file_delete_delay_ms: int = 60_000
    flush_messages: int = INT64_MAX
    flush_ms: int = INT64_MAX
    index_interval_bytes: int = 4096
    local_retention_bytes: int = -2
    local_retention_ms: int = -2
    max_compaction_lag_ms: int = INT64_MAX
    max_message_bytes: int = 1_048_588
    message_timestamp_after_max_ms: int = 3_600_000
    message_timestamp_before_max_ms: int = INT64_MAX
    message_timestamp_type: TimestampType = TimestampType.CREATE_TIME
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    min_insync_replicas: int = 1
    preallocate: bool = False
    remote_storage_enable: bool = False
    retention_bytes: int = -1
    retention_ms: int = 604_800_000
    segment_bytes: int = 1_073_741_824
    segment_index_bytes: int = 10_485_760
    segment_jitter_ms: int = 0
    segment_ms: int = 604_800_000
    unclean_leader_election_enable: bool = False

    @property
    def compact(self) -> bool:
        """Whether the log cleaner may remove superseded records."""
        return "compact" in self.cleanup_policy

    @property
    def delete(self) -> bool:
        """Whether retention may remove segments."""
        return "delete" in self.cleanup_policy

    @property
    def roll_ms(self) -> int:
        """Age at which a segment is rolled: a compacted one early enough for max.compaction.lag.ms."""
        if "compact" in self.cleanup_policy and self.max_compaction_lag_ms > 0:
            return min(self.max_compaction_lag_ms, self.segment_ms)
        return self.segment_ms
