"""How the log cleaner works, under Apache Kafka's names; what a topic sets is in `log_config.py`."""

from barnabas.base.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanerConfig:
    """Broker configs; each attribute is Kafka's `log.cleaner.*` name.

    Attributes:
        threads: logs cleaned at one time; 0 cleans nothing.
        backoff_ms: rest when no log is dirty enough.
        dedupe_buffer_bytes: `dedupe.buffer.size`, memory for keys over all cleanings.
        dedupe_load_factor: `io.buffer.load.factor`, how full the table of keys may get.
        io_buffer_bytes: `io.buffer.size`, over all cleanings.
        io_bytes_per_second_max: `io.max.bytes.per.second`, reads and writes over all cleanings.
    """

    threads: int = 1
    backoff_ms: int = 15_000
    dedupe_buffer_bytes: int = 128 * 1024 * 1024
    dedupe_load_factor: float = 0.9
    io_buffer_bytes: int = 512 * 1024
    io_bytes_per_second_max: float = 1.7976931348623157e308

    def share_of(self, amount: int) -> int:
        """Return one cleaning's part of what all of them share."""
        return amount // max(1, self.threads)
