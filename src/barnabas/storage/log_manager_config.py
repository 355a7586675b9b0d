"""What a broker's configs say about all of its logs together."""

from barnabas.base.dataclass import dataclass
from barnabas.storage.loading.recovery import PRODUCER_ID_EXPIRATION_MS
from barnabas.storage.log_config import INT64_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class LogManagerConfig:
    """Broker configs; each attribute is Kafka's `log.*` or `producer.*` name."""

    flush_offset_checkpoint_interval_ms: int = 60_000
    flush_start_offset_checkpoint_interval_ms: int = 60_000
    flush_scheduler_interval_ms: int = INT64_MAX
    retention_check_interval_ms: int = 300_000
    producer_id_expiration_ms: int = PRODUCER_ID_EXPIRATION_MS
    producer_id_expiration_check_interval_ms: int = 600_000
    sealed_index_bytes_max: int = 64 * 1024 * 1024
    sealed_files_max: int = 512
    recovery_threads_per_data_dir: int = 1
    initial_task_delay_ms: int = 30_000
    trusts_future_timestamps: bool = True
