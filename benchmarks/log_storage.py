"""What appends, reads, recovery and opening of a log cost: `python benchmarks/log_storage.py`.

Runs on a temporary directory of the real file system, page-cached; prints medians of a few rounds.
"""

import argparse
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

from barnabas.base.clock import SystemClock
from barnabas.base.disk import OsDisk
from barnabas.protocol.record_batch_builder import BatchBuilder
from barnabas.storage.deletions import PendingDeletions
from barnabas.storage.loading.recovery import OpeningLog, OpenResult, open_log
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.segment_cache import SegmentCache

ROUNDS = 5
TIMESTAMP = 1_700_000_000_000


def batch(size: int, **options: Any) -> bytes:
    builder = BatchBuilder(**options)
    builder.append(timestamp=TIMESTAMP, key=None, value=bytes(max(size - 75, 1)))
    return bytes(builder.build())


def open_in(folder: str, name: str, **options: Any) -> OpenResult:
    disk = OsDisk()
    opening = OpeningLog(
        directory=LogDirectory(disk, folder),
        path=f"{folder}/{name}-0",
        topic=name,
        partition=0,
        config=LogConfig(segment_ms=2**60),
        clock=SystemClock(),
        cache=SegmentCache(),
        deletions=PendingDeletions(disk),
        random_below=lambda _: 0,
        topic_id=bytes(range(16)),
        **options,
    )
    return open_log(opening)


def per_call_us(call: Callable[[int], object], count: int) -> float:
    took = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for number in range(count):
            call(number)
        took.append((time.perf_counter() - start) / count * 1e6)
    return statistics.median(took)


def appends(folder: str) -> None:
    for size in (100, 1024, 16 * 1024, 256 * 1024):
        log = open_in(folder, f"append{size}").log
        made = batch(size)
        parts = [memoryview(made)]
        count = 20_000 if size <= 1024 else 2_000 if size <= 65_536 else 400
        took = per_call_us(lambda _, log=log, parts=parts: log.append(parts, leader_epoch=0), count)
        print(f"append {len(made):7} B          {took:8.2f} us  {len(made) / took:8.0f} MB/s")
        log.abandon()
    log = open_in(folder, "many").log
    parts = [memoryview(batch(1024))]
    many = [parts] * 16
    from barnabas.storage.producer_state.states import AppendOrigin

    took = per_call_us(
        lambda _: log.append_batches(many, leader_epoch=0, origin=AppendOrigin.COORDINATOR), 2_000
    )
    print(f"append 16 x 1024 B         {took / 16:8.2f} us  per batch")
    log.abandon()


def idempotent_appends(folder: str) -> None:
    log = open_in(folder, "idempotent").log
    count = 10_000
    made = [
        [batch(1024, producer_id=5, producer_epoch=0, base_sequence=number)]
        for number in range(count * ROUNDS)
    ]
    sent = iter(made)
    took = per_call_us(lambda _: log.append(next(sent), leader_epoch=0), count)
    print(f"append    1024 B idempotent{took:8.2f} us")
    log.abandon()


def reads(folder: str) -> None:
    for size in (100, 1024, 65_536):
        log = open_in(folder, f"read{size}").log
        made = [batch(size)]
        count = 20_000 if size <= 1024 else 1_000
        for _ in range(count):
            log.append(made, leader_epoch=0)
        end = log.log_end_offset_metadata

        def fetch(offset: int, log: Log = log, end: Any = end) -> None:
            data = log.read(offset, end, 1024 * 1024, min_one_message=True)
            if data.records is not None:
                data.records.release()

        tail = per_call_us(lambda _, fetch=fetch, count=count: fetch(count - 1), 20_000)
        anywhere = per_call_us(lambda n, fetch=fetch, count=count: fetch(n * 7919 % count), 20_000)
        at_end = per_call_us(lambda _, fetch=fetch, count=count: fetch(count), 20_000)
        print(
            f"read of {size:6} B batches   tail {tail:5.2f} us, "
            f"any offset {anywhere:5.2f} us, at end {at_end:5.2f} us"
        )
        log.abandon()


def recovery(folder: str, mib: int) -> None:
    for size in (1024, 16 * 1024, 256 * 1024, 1024 * 1024):
        name = f"recover{size}"
        log = open_in(folder, name).log
        made = [batch(size)]
        for _ in range(mib * 1024 * 1024 // size):
            log.append(made, leader_epoch=0)
        log.abandon()
        took = []
        for _ in range(3):
            start = time.perf_counter()
            result = open_in(folder, name)
            took.append(time.perf_counter() - start)
            checked = result.checked_bytes
            result.log.abandon()
        seconds = statistics.median(took)
        print(f"recovery, {size:7} B batches {seconds / checked * 2**30:8.3f} s/GiB")


def opening(folder: str) -> None:
    count = 500
    for number in range(count):
        log = open_in(folder, f"open{number}").log
        log.append([batch(1024)], leader_epoch=0)
        log.close()
    start = time.perf_counter()
    logs = [open_in(folder, f"open{number}", clean=True).log for number in range(count)]
    took = (time.perf_counter() - start) / count * 1e6
    print(f"clean opening              {took:8.1f} us per log")
    for log in logs:
        log.abandon()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=256, help="bytes to recover, in MiB")
    parser.add_argument("--directory", default=None, help="where to write")
    arguments = parser.parse_args()
    print(f"{platform.python_implementation()} {platform.python_version()}, {platform.platform()}")
    with tempfile.TemporaryDirectory(dir=arguments.directory) as folder:
        appends(folder)
        idempotent_appends(folder)
        reads(folder)
        opening(folder)
        recovery(folder, arguments.mib)


if __name__ == "__main__":
    main()
