"""What waiting costs: parked fetches, their memory, their processor time, and how soon an append wakes them.

    python benchmarks/long_poll.py [--parked 10000] [--idle-s 30] [--appends 1000] [--watchers 1000]

A broker of its own on a fresh directory, raw connections from this process. Each parked fetch is a connection
with one Fetch v16 of one partition at its end (min_bytes 1, max_wait far away), as librdkafka sends it.
Wake-up times are taken by this process: from before the produce is sent until the fetch's answer is read, so
they hold the produce, two passes of loopback and this client's own work; they are upper bounds. The same
script measures Apache Kafka when given `--broker HOST:PORT --pid PID` of one that runs (memory is then left
out: the heap says little).
"""

import argparse
import os
import resource
import select
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hot_path import cpu_s
from start import resident_mib

from barnabas.protocol import messages as m
from barnabas.protocol.record_batch_builder import BatchBuilder
from tests.broker import BarnabasBroker
from tests.net.wire import Wire, fetch_request, frame_of, produce_request

FETCH_VERSION = 16
PRODUCE_VERSION = 9
PARKED_MS = 600_000
MIB = 1024 * 1024


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--parked", type=int, default=10_000)
    parser.add_argument("--idle-s", type=float, default=30)
    parser.add_argument("--appends", type=int, default=1000)
    parser.add_argument("--watchers", type=int, default=1000)
    parser.add_argument("--broker", help="HOST:PORT of one that runs already")
    parser.add_argument("--pid", type=int, help="its process")
    options = parser.parse_args()
    _raise_descriptor_limit(options.parked + 1000)
    if options.broker:
        port = int(options.broker.rpartition(":")[2])
        measure(port, options.pid, options, memory=False)
        return
    with (
        tempfile.TemporaryDirectory(prefix="barnabas-bench-") as folder,
        BarnabasBroker(Path(folder)) as broker,
    ):
        measure(broker.port, broker.pid, options, memory=True)


def measure(port: int, pid: int | None, options: argparse.Namespace, *, memory: bool) -> None:
    name = f"long-poll-{os.getpid()}"
    with Wire(port) as control:
        control.make_topic(f"{name}-idle")
        control.make_topic(f"{name}-one")
        control.make_topic(f"{name}-many")
        idle_id = _topic_id(control, f"{name}-idle")
        # Connections first, so that memory per parked fetch is that of the fetch alone.
        idle = [Wire(port) for _ in range(options.parked)]
        for wire in idle:
            wire.ask(m.ApiVersionsRequest(), 0)
        if pid is not None and memory:
            before_mib = resident_mib(pid)
        for wire in idle:
            wire.sock.sendall(_parked_fetch(idle_id))
        control.ask(m.ApiVersionsRequest(), 0)
        time.sleep(1)
        if pid is not None:
            if memory:
                grown = (resident_mib(pid) - before_mib) * MIB
                print(f"memory per parked fetch: {grown / len(idle):.0f} bytes")
            spent = cpu_s(pid)
            time.sleep(options.idle_s)
            spent = cpu_s(pid) - spent
            print(
                f"{len(idle)} parked fetches: {spent:.2f} s of processor time in {options.idle_s:.0f} s",
                flush=True,
            )
        _one_watcher(port, control, f"{name}-one", options.appends)
        _many_watchers(port, control, f"{name}-many", options.watchers)
        for wire in idle:
            wire.close()


def _one_watcher(port: int, control: Wire, topic: str, appends: int) -> None:
    taken = []
    topic_id = _topic_id(control, topic)
    with Wire(port) as watcher:
        for offset in range(appends):
            watcher.sock.sendall(_parked_fetch(topic_id, offset))
            time.sleep(0.002)  # it is parked by then
            started = time.perf_counter()
            control.sock.sendall(_produce(topic))
            watcher.receive_frame()
            taken.append((time.perf_counter() - started) * 1000)
            control.receive_frame()
    taken.sort()
    print(
        f"one watcher, {appends} appends: p50 {_quantile(taken, 0.5):.2f} ms,"
        f" p99 {_quantile(taken, 0.99):.2f} ms, max {taken[-1]:.2f} ms",
        flush=True,
    )


def _many_watchers(port: int, control: Wire, topic: str, count: int) -> None:
    topic_id = _topic_id(control, topic)
    watchers = [Wire(port) for _ in range(count)]
    last = []
    with select.epoll() as poll:
        by_fd = {wire.sock.fileno(): wire for wire in watchers}
        for fd in by_fd:
            poll.register(fd, select.EPOLLIN)
        for offset in range(5):
            for wire in watchers:
                wire.sock.sendall(_parked_fetch(topic_id, offset))
            time.sleep(1)
            waiting = set(by_fd)
            started = time.perf_counter()
            control.sock.sendall(_produce(topic))
            while waiting:
                # Without sleeping: waking this process would be most of what the broker's sends cost.
                for fd, _ in poll.poll(0):
                    by_fd[fd].receive_frame()
                    waiting.discard(fd)
            last.append((time.perf_counter() - started) * 1000)
            control.receive_frame()
    print(
        f"{count} watchers of one partition: the last answered after {statistics.median(last):.0f} ms"
        f" (median of {len(last)}, best {min(last):.0f}, worst {max(last):.0f})",
        flush=True,
    )
    for wire in watchers:
        wire.close()


def _parked_fetch(topic_id: bytes, offset: int = 0) -> bytes:
    request = fetch_request("", offset)
    request.topics[0].topic_id = topic_id
    request.max_wait_ms = PARKED_MS
    return frame_of(request, FETCH_VERSION)


def _topic_id(control: Wire, topic: str) -> bytes:
    asked = m.MetadataRequest(topics=[m.MetadataRequestMetadataRequestTopic(name=topic)])
    found: bytes = control.ask(asked, 12).topics[0].topic_id
    return found


def _produce(topic: str) -> bytes:
    builder = BatchBuilder()
    builder.append(timestamp=int(time.time() * 1000), key=None, value=b"v" * 100)
    return frame_of(produce_request(topic, bytes(builder.build()), acks=1), PRODUCE_VERSION)


def _quantile(ascending: list[float], share: float) -> float:
    return ascending[min(len(ascending) - 1, int(len(ascending) * share))]


def _raise_descriptor_limit(wanted: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, wanted), hard), hard))


if __name__ == "__main__":
    main()
