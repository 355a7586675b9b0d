"""What the replica layer costs: reads, appends, parking, waking, and the memory of parked fetches.

    python benchmarks/replica.py [--json]

One partition in a temporary directory, no sockets: the handler's and the network's share is not in it.
Times are the best of several runs of a tight loop, in microseconds per call; memory is what tracemalloc
counts per parked fetch, its request and its entries in purgatory and timing wheel included.
"""

import argparse
import json
import platform
import tempfile
import time
import tracemalloc
from collections import deque
from collections.abc import Callable, Mapping

from barnabas.base.clock import SystemClock
from barnabas.base.disk import OsDisk
from barnabas.base.uuids import NULL_UUID
from barnabas.metadata.image import MetadataDelta, MetadataImage
from barnabas.metadata.records import VersionedRecord
from barnabas.protocol import messages
from barnabas.protocol.record_batch_builder import BatchBuilder
from barnabas.replica.fetch import FetchIsolation, FetchOutcome, FetchParams, FetchPartition
from barnabas.replica.manager import ReplicaManager
from barnabas.replica.produce import AppendPartition
from barnabas.storage.deletions import PendingDeletions
from barnabas.storage.loading.recovery import OpeningLog, open_log
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.segment_cache import SegmentCache
from barnabas.storage.topic_partition import TopicPartition
from barnabas.timing.timer_wheel import TimerWheel

TOPIC = "events"
TOPIC_ID = bytes(range(16))
PARKED = 10_000


class LogFolder:
    """A store of logs that opens each partition in one directory."""

    def __init__(self, path: str) -> None:
        self.disk = OsDisk()
        self.path = path
        self.high_watermarks: Mapping[tuple[str, int], int] = {}
        self.logs: Mapping[TopicPartition, Log] = {}

    def get_or_create(
        self, topic: str, partition: int, topic_id: bytes, config: LogConfig, *, is_new: bool
    ) -> Log:
        del is_new
        opening = OpeningLog(
            directory=LogDirectory(self.disk, self.path),
            path=f"{self.path}/{topic}-{partition}",
            topic=topic,
            partition=partition,
            config=config,
            clock=SystemClock(),
            cache=SegmentCache(),
            deletions=PendingDeletions(self.disk),
            random_below=lambda _: 0,
            topic_id=topic_id,
        )
        return open_log(opening).log

    def set_aside(self, topic: str, partition: int) -> None: ...

    def delete(self, topic: str, partition: int) -> None: ...

    def checkpoint_high_watermarks(self, high_watermarks: Mapping[tuple[str, int], int]) -> None: ...


class Bench:
    """A replica manager with one partition."""

    def __init__(self, path: str) -> None:
        self.clock = SystemClock()
        self.wheel = TimerWheel(self.clock.monotonic_ms())
        self.soon: deque[Callable[[], None]] = deque()
        image = MetadataImage()
        self.manager = ReplicaManager(
            local_id=1,
            clock=self.clock,
            wheel=self.wheel,
            call_soon=self.soon.append,
            log_manager=LogFolder(path),
            image=image,
            log_config_for=lambda _: LogConfig(),
        )
        delta = MetadataDelta()
        for record in (
            messages.TopicRecord(name=TOPIC, topic_id=TOPIC_ID),
            messages.PartitionRecord(
                partition_id=0,
                topic_id=TOPIC_ID,
                replicas=[1],
                isr=[1],
                leader=1,
                leader_epoch=0,
                directories=[bytes(15) + b"\x09"],
            ),
        ):
            image.replay(VersionedRecord(record), delta)
        self.manager.apply_delta(delta, image)
        self.partition = self.manager.partitions.by_name[TOPIC, 0]
        builder = BatchBuilder()
        builder.append(timestamp=self.clock.wall_ms(), key=None, value=b"v" * 940)
        self.batch = bytes(builder.build())
        for _ in range(20):
            self.append()

    @property
    def end(self) -> int:
        return self.partition.log.log_end_offset

    def append(self) -> None:
        asked = AppendPartition(TOPIC, TOPIC_ID, 0, self.batch)
        self.manager.append(acks=-1, timeout_ms=1_000, partitions=[asked], respond=_ignore)

    def turn(self) -> bool:
        calls = list(self.soon)
        self.soon.clear()
        for call in calls:
            call()
        return bool(calls)


def _ignore(outcome: object) -> None: ...


def _release(outcome: FetchOutcome) -> None:
    outcome.release()


def best_us(call: Callable[[], object], rounds: int = 5, count: int = 5_000) -> float:
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, (time.perf_counter() - start) / count)
    return round(best * 1e6, 2)


def params(max_wait_ms: int) -> FetchParams:
    return FetchParams(
        max_wait_ms=max_wait_ms, min_bytes=1, max_bytes=50 << 20, isolation=FetchIsolation.HIGH_WATERMARK
    )


def measure_calls(bench: Bench) -> dict[str, float]:
    manager = bench.manager
    at_once, waiting = params(0), params(500)
    end = bench.end

    def fetch(offset: int, max_bytes: int, how: FetchParams, owner: object = None) -> None:
        manager.fetch(how, [FetchPartition(TOPIC, TOPIC_ID, 0, offset, max_bytes)], _release, owner)

    def park_and_leave() -> None:
        fetch(end, 1 << 20, waiting, "connection")
        manager.connection_gone("connection")

    def park_and_answer() -> None:
        fetch(end, 1 << 20, waiting, "connection")
        manager.complete_parked_fetches("connection")

    return {
        "empty fetch": best_us(lambda: fetch(end, 1 << 20, at_once)),
        "1-KiB fetch at the end": best_us(lambda: fetch(end - 1, 1 << 20, at_once)),
        "1-KiB fetch in the middle": best_us(lambda: fetch(3, 1_024, at_once)),
        "park, then disconnect": best_us(park_and_leave),
        "park, then answer empty": best_us(park_and_answer),
        "1-KiB append": best_us(bench.append),
    }


def measure_parked(bench: Bench) -> dict[str, float]:
    manager = bench.manager
    waiting = params(600_000)
    end = bench.end
    answered: list[float] = []

    def respond(outcome: FetchOutcome) -> None:
        outcome.release()
        answered.append(time.perf_counter())

    owners = [object() for _ in range(PARKED)]
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for owner in owners:
        manager.fetch(waiting, [FetchPartition(TOPIC, NULL_UUID, 0, end, 1 << 20)], respond, owner)
    per_fetch = (tracemalloc.get_traced_memory()[0] - before) / PARKED
    tracemalloc.stop()
    assert not bench.soon
    sleeps_ms = (bench.wheel.next_deadline_ms() or 0) - bench.clock.monotonic_ms()
    start = time.perf_counter()
    bench.append()
    produced = time.perf_counter()
    longest = 0.0
    turns = 0
    while True:
        begin = time.perf_counter()
        if not bench.turn():
            break
        turns += 1
        longest = max(longest, time.perf_counter() - begin)
    assert len(answered) == PARKED
    return {
        "bytes per parked fetch": round(per_fetch),
        "meanwhile the loop may sleep, s": round(sleeps_ms / 1000),
        "the produce that wakes all, us": round((produced - start) * 1e6, 1),
        "turns to wake all": turns,
        "longest turn, ms": round(longest * 1e3, 2),
        "last consumer answered after, ms": round((answered[-1] - start) * 1e3, 1),
        "per woken fetch, us": round((answered[-1] - produced) / PARKED * 1e6, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON only")
    as_json = parser.parse_args().json
    with tempfile.TemporaryDirectory() as path:
        bench = Bench(path)
        figures: dict[str, object] = {
            "python": platform.python_version(),
            "kernel": platform.release(),
            "us per call": measure_calls(bench),
            f"{PARKED} parked": measure_parked(bench),
        }
    if as_json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        if isinstance(value, dict):
            print(f"{name}:")
            for inner, figure in value.items():
                print(f"  {inner:36} {figure:>10}")
        else:
            print(f"{name}: {value}")


if __name__ == "__main__":
    main()
