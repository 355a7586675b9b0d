"""A log on a given disk, as its tests want it: few arguments, time in hand."""

from typing import Any

from barnabas.base.disk import Disk
from barnabas.protocol.record_batch_builder import BatchBuilder
from barnabas.sim.clock import ManualClock
from barnabas.sim.disk import MemoryDisk
from barnabas.storage.deletions import PendingDeletions
from barnabas.storage.loading.recovery import OpeningLog, OpenResult, open_log
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.segment_cache import SegmentCache

TOPIC_ID = bytes(range(16))
FIRST_TIMESTAMP = 1_700_000_000_000


def batch(
    count: int = 1, *, timestamp: int = FIRST_TIMESTAMP, value_bytes: int = 10, **options: Any
) -> bytes:
    """One produced batch; equal arguments make equal bytes, record n is n ms later than the first."""
    builder = BatchBuilder(**options)
    for number in range(count):
        builder.append(timestamp=timestamp + number, key=b"k", value=b"v" * value_bytes)
    return bytes(builder.build())


class LogHarness:
    """One partition on one disk.

    Attributes:
        failures: what took the directory offline.
    """

    def __init__(
        self,
        disk: Disk | None = None,
        *,
        root: str = "/data",
        topic: str = "t",
        config: LogConfig | None = None,
        cache: SegmentCache | None = None,
    ) -> None:
        self.clock = ManualClock(FIRST_TIMESTAMP)
        self.disk: Any = disk or MemoryDisk(self.clock)
        self.disk.make_dirs(root)
        self.root = root
        self.topic = topic
        self.path = f"{root}/{topic}-0"
        self.config = config or LogConfig()
        self.cache = cache or SegmentCache()
        self.deletions = PendingDeletions(self.disk)
        self.failures: list[OSError] = []
        self.restart()

    def restart(self) -> None:
        """Forget that the directory failed."""
        self.directory = LogDirectory(self.disk, self.root, lambda _, error: self.failures.append(error))

    def open_result(self, **options: Any) -> OpenResult:
        opening = OpeningLog(
            directory=self.directory, path=self.path, topic=self.topic, partition=0,
            config=self.config, clock=self.clock, cache=self.cache, deletions=self.deletions,
            random_below=lambda limit: limit - 1, **options,
        )  # fmt: skip
        return open_log(opening)

    def open(self, **options: Any) -> Log:
        return self.open_result(**options).log

    def names(self) -> list[str]:
        return list(self.disk.list_dir(self.path))

    def content(self, name: str) -> bytes:
        file = self.disk.open_readonly(f"{self.path}/{name}")
        try:
            return bytes(file.read_at(0, file.size()))
        finally:
            file.close()


def marker(producer_id: int, *, commit: bool, epoch: int = 0, coordinator_epoch: int = 0) -> bytes:
    """A control batch that ends a transaction."""
    builder = BatchBuilder(
        producer_id=producer_id, producer_epoch=epoch, is_transactional=True, is_control=True
    )
    builder.append(
        timestamp=FIRST_TIMESTAMP,
        key=b"\0\0" + (1 if commit else 0).to_bytes(2, "big"),
        value=b"\0\0" + coordinator_epoch.to_bytes(4, "big"),
    )
    return bytes(builder.build())
