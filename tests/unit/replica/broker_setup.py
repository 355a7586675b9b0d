"""A replica manager over real logs on a disk in memory; time and turns of the loop are in the test's hand."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.uuids import NULL_UUID
from barnabas.metadata.image import MetadataDelta, MetadataImage
from barnabas.metadata.records import VersionedRecord
from barnabas.protocol import messages
from barnabas.protocol.record_batch_builder import BatchBuilder
from barnabas.replica.fetch import (
    CONSUMER_REPLICA_ID,
    ClientMetadata,
    FetchIsolation,
    FetchOutcome,
    FetchParams,
    FetchPartition,
)
from barnabas.replica.manager import ReplicaManager
from barnabas.replica.partition import Partition
from barnabas.replica.produce import AppendOutcome, AppendPartition
from barnabas.sim.clock import ManualClock
from barnabas.sim.disk import MemoryDisk
from barnabas.storage.deletions import PendingDeletions
from barnabas.storage.loading import recovery
from barnabas.storage.loading.recovery import OpeningLog, open_log
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.segment_cache import SegmentCache
from barnabas.storage.topic_partition import TopicPartition
from barnabas.timing.timer_wheel import TimerWheel

LOCAL_ID = 1
TOPIC = "events"
TOPIC_ID = bytes(range(16))
CLIENT = ClientMetadata(client_id="test")


def open_log_class(monkeypatch: pytest.MonkeyPatch) -> type[Log]:
    """Give brokers made from here on logs of a class whose methods a test can replace.

    `Log` itself is a struct when compiled, and nothing of that can be.
    """

    class OpenLog(Log):
        pass

    monkeypatch.setattr(recovery, "Log", OpenLog)
    return OpenLog


def batch(count: int = 1, value_bytes: int = 10, **options: Any) -> bytes:
    """One produced batch; equal arguments make equal sizes."""
    builder = BatchBuilder(**options)
    for _ in range(count):
        builder.append(timestamp=1_700_000_000_000, key=None, value=b"v" * value_bytes)
    return bytes(builder.build())


BATCH_BYTES = len(batch())


class Logs:
    """Stands where the log manager is: opens logs on a disk in memory."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.disk = MemoryDisk()
        self.disk.make_dirs("/data")
        self.directory = LogDirectory(self.disk, "/data")
        self.cache = SegmentCache()
        self.deletions = PendingDeletions(self.disk)
        self.high_watermarks: dict[tuple[str, int], int] = {}
        self.checkpointed: list[dict[tuple[str, int], int]] = []
        self.logs: dict[TopicPartition, Log] = {}
        self.aside: list[tuple[str, int]] = []
        self.delete_error: ApiError | None = None
        self.deleted: list[tuple[str, int]] = []
        self.log_start_writes: list[list[str]] = []
        self.takes_ms = 0  # to make or delete a log

    def get_or_create(
        self, topic: str, partition: int, topic_id: bytes | None, config: LogConfig, *, is_new: bool = True
    ) -> Log:
        self.directory.check()
        key = TopicPartition(topic, partition)
        log = self.logs.get(key)
        if log is not None and log.topic_id != topic_id:
            raise ApiError(ErrorCode.INCONSISTENT_TOPIC_ID)
        if log is None:
            self.clock.advance_ms(self.takes_ms)
            opening = OpeningLog(
                directory=self.directory,
                path=f"/data/{topic}-{partition}",
                topic=topic,
                partition=partition,
                config=config,
                clock=self.clock,
                cache=self.cache,
                deletions=self.deletions,
                random_below=lambda bound: 0,
                topic_id=topic_id,
            )
            log = self.logs[key] = open_log(opening).log
        return log

    def delete(self, topic: str, partition: int) -> None:
        if self.delete_error is not None:
            raise self.delete_error
        self.clock.advance_ms(self.takes_ms)
        self.deleted.append((topic, partition))
        self.take_away(topic, partition)

    def set_aside(self, topic: str, partition: int) -> None:
        self.aside.append((topic, partition))
        self.take_away(topic, partition)

    def take_away(self, topic: str, partition: int) -> None:
        log = self.logs.pop(TopicPartition(topic, partition))
        log.move_directory(f"{log.path}.{len(self.aside) + len(self.deleted)}-gone")
        log.abandon()

    def when_log_starts_are_written(self, changed: Iterable[LogDirectory], then: Callable[[], None]) -> None:
        self.log_start_writes.append([directory.path for directory in changed])
        then()

    def checkpoint_high_watermarks(self, high_watermarks: Mapping[tuple[str, int], int]) -> None:
        self.checkpointed.append(dict(high_watermarks))


class Broker:
    """One broker's replica layer.

    Attributes:
        configs: topic -> its log configuration; change it, then replay a ConfigRecord.
    """

    def __init__(self, partitions: int = 1, *, config: LogConfig | None = None, **options: Any) -> None:
        self.clock = ManualClock()
        self.wheel = TimerWheel(self.clock.monotonic_ms())
        self.soon: deque[Callable[[], None]] = deque()
        self.logs = Logs(self.clock)
        self.image = MetadataImage()
        self.configs: dict[str, LogConfig] = {TOPIC: config or LogConfig()}
        self.manager = ReplicaManager(
            local_id=LOCAL_ID,
            clock=self.clock,
            wheel=self.wheel,
            call_soon=self.soon.append,
            log_manager=self.logs,
            image=self.image,
            log_config_for=lambda topic: self.configs.get(topic, LogConfig()),
            **options,
        )
        self.logs.directory._on_failure = lambda directory, error: self.manager.log_directory_failed(
            directory
        )
        if partitions:
            self.create(TOPIC, TOPIC_ID, partitions)

    # Metadata

    def replay(self, *records: messages.Message) -> None:
        delta = MetadataDelta()
        for record in records:
            self.image.replay(VersionedRecord(record), delta)
        self.manager.apply_delta(delta, self.image)

    def create(self, topic: str, topic_id: bytes, partitions: int, **placement: Any) -> None:
        self.replay(
            messages.TopicRecord(name=topic, topic_id=topic_id),
            *(self.partition_record(number, topic_id, **placement) for number in range(partitions)),
        )

    @staticmethod
    def partition_record(
        number: int,
        topic_id: bytes = TOPIC_ID,
        *,
        leader: int = LOCAL_ID,
        leader_epoch: int = 0,
        partition_epoch: int = 0,
        replicas: Sequence[int] = (LOCAL_ID,),
        isr: Sequence[int] | None = None,
    ) -> messages.Message:
        return messages.PartitionRecord(
            partition_id=number,
            topic_id=topic_id,
            replicas=list(replicas),
            isr=list(replicas if isr is None else isr),
            leader=leader,
            leader_epoch=leader_epoch,
            partition_epoch=partition_epoch,
            directories=[bytes(15) + b"\x09"] * len(replicas),
        )

    def partition(self, number: int = 0, topic: str = TOPIC) -> Partition:
        return self.manager.partitions.by_name[topic, number]

    # Time

    def turn(self) -> bool:
        """One turn of the loop: what was called soon runs, what those call waits."""
        calls = list(self.soon)
        self.soon.clear()
        for call in calls:
            call()
        return bool(calls)

    def settle(self) -> int:
        """Turn until nothing is left to do; return how many turns that took."""
        turns = 0
        while self.turn():
            turns += 1
            assert turns < 100_000, "the loop never comes to rest"
        return turns

    def pass_ms(self, milliseconds: int) -> None:
        self.clock.advance_ms(milliseconds)
        self.wheel.advance(self.clock.monotonic_ms())
        self.settle()

    # Requests

    def append(
        self,
        number: int = 0,
        records: bytes | None = None,
        *,
        acks: int = 1,
        settle: bool = True,
        **options: Any,
    ) -> list[AppendOutcome]:
        """Produce one batch; return the answers so far (a list that fills when it waits)."""
        outcomes: list[AppendOutcome] = []
        asked = AppendPartition(TOPIC, NULL_UUID, number, batch() if records is None else records)
        self.manager.append(
            acks=acks,
            timeout_ms=options.pop("timeout_ms", 1_000),
            partitions=[asked],
            respond=outcomes.append,
            **options,
        )
        if settle:
            self.settle()
        return outcomes

    def fetch(self, *asked: FetchPartition, owner: object = None, **params: Any) -> list[FetchOutcome]:
        """Fetch; return the answers so far (a list that fills when it parks)."""
        outcomes: list[FetchOutcome] = []
        self.manager.fetch(fetch_params(**params), list(asked), outcomes.append, owner)
        return outcomes

    @property
    def parked(self) -> int:
        return self.manager.waiting_statistics().fetch_purgatory.num_delayed_operations


def fetch_params(
    *,
    max_wait_ms: int = 500,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    isolation: FetchIsolation = FetchIsolation.HIGH_WATERMARK,
    replica_id: int = CONSUMER_REPLICA_ID,
    **more: Any,
) -> FetchParams:
    more.setdefault("client_metadata", CLIENT)
    return FetchParams(
        replica_id=replica_id,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation=isolation,
        **more,
    )


def ask(
    offset: int = 0, number: int = 0, *, max_bytes: int = 1 << 20, topic: str = TOPIC, **more: Any
) -> FetchPartition:
    return FetchPartition(topic, more.pop("topic_id", NULL_UUID), number, offset, max_bytes, **more)


def api_error(call: Callable[[], object]) -> ErrorCode:
    """Return the code that a call fails with."""
    try:
        call()
    except ApiError as error:
        return error.code
    return ErrorCode.NONE
