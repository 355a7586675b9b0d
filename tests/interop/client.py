"""What every client under test can do, so that one test serves them all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tests.interop.records import Consumed, Record

DEADLINE_S = 60
"""For one step of one client; far above what a step takes, so that only a hang reaches it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceSettings:
    """How to produce.

    Args:
        codec: none, gzip, snappy, lz4 or zstd.
        acks: 0, 1 or -1.
        idempotent: with a producer id; needs acks -1.
    """

    codec: str = "none"
    acks: int = -1
    idempotent: bool = False


class Client(Protocol):
    """A client library; each call makes and closes its own producer or consumer."""

    name: str

    def sendable(self, record: Record) -> Record:
        """Return the record without what this library's producer refuses to send."""

    def seen(self, record: Record) -> Record:
        """Return the record as this library's consumer shows it."""

    def produce(
        self, bootstrap: str, topic: str, records: Sequence[Record], settings: ProduceSettings
    ) -> list[int]:
        """Send all records to their partitions and return the offsets that were acknowledged.

        Returns:
            One offset a record, in the order of `records`; -1 where acks=0 tells none.
        """

    def consume(self, bootstrap: str, topic: str, count: int, start: Mapping[int, int]) -> list[Consumed]:
        """Assign the partitions of `start`, read from these offsets until `count` records are there."""

    def offsets_for_time(self, bootstrap: str, topic: str, timestamp_ms: int) -> dict[int, int | None]:
        """Return, for each partition, the first offset whose record is not older; None without one."""

    def offset_range(self, bootstrap: str, topic: str) -> dict[int, tuple[int, int]]:
        """Return (first offset, end offset) of each partition."""

    def close(self) -> None:
        """Let go of what is kept between steps."""
