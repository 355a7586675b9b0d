"""F44 on a real disk: a broker's files are pushed out of memory, and what its consumers read is the same.

Some file systems (tmpfs) keep everything in memory: these tests then say so and are skipped.
"""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.base.page_cache import PageCache
from barnabas.net.local_client import ask, socket_path
from barnabas.protocol.record_batch import iter_batches
from barnabas.protocol.record_batch_builder import BatchBuilder
from tests.broker import BarnabasBroker
from tests.net.wire import Wire, fetch_request, frame_of

TOPIC = "cold"
BATCHES = 40
BATCH_BYTES = 200_000
SEGMENT_BYTES = 10 * BATCH_BYTES
SMALL_BYTES = 16 * 1024
MODES = ("auto", "zero_copy", "heap")


@pytest.fixture(params=MODES)
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BarnabasBroker]:
    overrides = {"fetch.mode": request.param, "log.segment.bytes": str(SEGMENT_BYTES)}
    with BarnabasBroker(tmp_path, overrides=overrides) as running:
        with Wire(running.port) as wire:
            wire.make_topic(TOPIC)
            for number in range(BATCHES):
                builder = BatchBuilder()
                builder.append(timestamp=1_700_000_000_000 + number, key=None, value=os.urandom(BATCH_BYTES))
                assert wire.produce(TOPIC, bytes(builder.build())).error_code == 0
        yield running


def log_files(broker: BarnabasBroker) -> list[Path]:
    return sorted((broker.data_dir / f"{TOPIC}-0").glob("*.log"))


def evict(broker: BarnabasBroker) -> None:
    """Push the partition's files out of memory, indexes and all; skip where they stay."""
    cache = PageCache()
    for path in (broker.data_dir / f"{TOPIC}-0").iterdir():
        if path.suffix == ".tmp":  # on its way to another name
            continue
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            if path.suffix == ".log" and cache.holds(file.fileno(), 0, path.stat().st_size):
                pytest.skip(f"the file system of {path} keeps files in memory, or cannot be asked")


def statistics(broker: BarnabasBroker) -> dict[str, Any]:
    found: dict[str, Any] = ask(socket_path(str(broker.data_dir)), "statistics")["cold_reads"]
    return found


def read_all(port: int, max_bytes: int = 1 << 20) -> bytes:
    """Read the topic from its first to its last offset; return the whole batches."""
    content, offset = bytearray(), 0
    with Wire(port) as wire:
        while offset < BATCHES:
            found = wire.fetch(TOPIC, offset, max_bytes=max_bytes)
            assert found.error_code == 0
            for at, header in iter_batches(bytes(found.records), allow_partial_tail=True):
                content += found.records[at : at + header.size_bytes]
                offset = header.last_offset + 1
    return bytes(content)


def test_f44_cold_records_are_read_by_helpers_and_are_the_same(broker: BarnabasBroker) -> None:
    written = b"".join(path.read_bytes() for path in log_files(broker))
    assert len(log_files(broker)) > 3
    evict(broker)
    assert read_all(broker.port) == written
    found = statistics(broker)
    assert found["misses"] > 0
    assert found["waits"] > 0
    assert found["waiting"] == 0
    assert found["failures"] == 0
    assert found["read_bytes"] > 0


def test_f44_a_start_finds_cold_indexes_and_headers_by_helpers(broker: BarnabasBroker) -> None:
    broker.stop()
    written = b"".join(path.read_bytes() for path in log_files(broker))
    broker.start()
    evict(broker)
    assert read_all(broker.port, SMALL_BYTES) == written
    found = statistics(broker)
    assert found["waits"] > 0
    assert found["failures"] == 0


def test_f44_peers_that_leave_while_the_disk_is_read_leave_nothing_behind(broker: BarnabasBroker) -> None:
    written = b"".join(path.read_bytes() for path in log_files(broker))
    evict(broker)
    leaving = [
        threading.Thread(target=leave_at_once, args=(broker.port, offset)) for offset in range(0, 40, 4)
    ]
    for thread in leaving:
        thread.start()
    for thread in leaving:
        thread.join()
    assert read_all(broker.port) == written
    deadline = time.monotonic() + 30
    while statistics(broker)["waiting"]:
        assert time.monotonic() < deadline, "reads for peers that left never end"
        time.sleep(0.01)


def leave_at_once(port: int, offset: int) -> None:
    with Wire(port) as wire:
        wire.sock.sendall(frame_of(fetch_request(TOPIC, offset), 12))
