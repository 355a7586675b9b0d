"""What a consumer at the end of a partition feels of another one that reads from the disk (F44, KAFKA-7504).

    python benchmarks/cold_reads.py [--gib N] [--slow] [--rounds N] [--directory PATH] [--batch-kib N]

A broker of its own holds a topic of N GiB (2, or 10 with --slow). Before each run the files are pushed out of
the page cache (fsync, posix_fadvise DONTNEED), and cachestat says whether that went well. One process polls
the same 1-KiB record a thousand times a second and keeps every latency; another reads the topic from its
first to its last offset, 1 MiB a fetch, as fast as it can or as --reader-mb lets it. The runs take turns:

    alone     the hot consumer and nobody else
    warm      beside a reader of the same data from memory: what sharing the machine costs
    cold      beside a reader from the disk, with cold.read.threads=4
    blocking  the same with cold.read.threads=0: the loop waits for the disk

Told are p50, p99, p99.9 and the longest of the hot consumer's polls, the reader's throughput, and the ratio
of the p99 to that alone: medians over the rounds. The three processes share the machine's cores, and on a
busy one the latencies tell more of the scheduler than of the disk. So as root the kernel's delay accounting
is on meanwhile (kernel.task_delayacct), and it is told how long the loop's thread has waited for the disk,
which no neighbour can change; else that is 0.

On a virtual machine the disk is served by threads of the hypervisor, which may be on the same account as the
machine's cores: reading much then stops all cores for milliseconds, whoever reads and whatever else runs. So
`stalls.py` watches the cores meanwhile (as root), and the p99 is told a second time of the polls during which
not all cores stood still at once, and a third time of those during which none did. With --cores the clients
and the broker get cores of their own: the hot consumer and the broker's loop one, the reader the other.
"""

import argparse
import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hot_path import batch, cpu_s
from stalls import Stalls, StallWatch, touches
from start import SERVE, stop

from barnabas.base.page_cache import PageCache
from barnabas.cli.client.admin import create_topic
from barnabas.cli.client.cluster import Cluster
from barnabas.protocol import frames, messages
from barnabas.protocol.api_keys import ApiKey
from barnabas.protocol.record_batch import HEADER, LOG_OVERHEAD_BYTES
from tools.client_frames import FETCH_VERSION, fetch_frame, produce_frame, with_length

POLLS_PER_SECOND = 1000
ALONE_S = 4
SLOW_GIB = 10
QUIET = ("--override", "replica.high.watermark.checkpoint.interval.ms=3600000")
"""Checkpoints are synced by the loop, behind whatever else the disk does: not what is measured here."""
DELAY_ACCOUNTING = Path("/proc/sys/kernel/task_delayacct")
CONDITIONS = {"alone": 4, "warm": 4, "cold": 4, "blocking": 0}
"""Name -> cold.read.threads."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--gib", type=float, default=2)
    parser.add_argument("--slow", action="store_true", help=f"{SLOW_GIB} GiB")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch-kib", type=int, default=64)
    parser.add_argument("--directory", type=Path, help="where the data go; kept, and used again, when given")
    parser.add_argument("--only", default="", help="conditions, separated by commas")
    parser.add_argument("--override", action="append", default=[], help="KEY=VALUE for the broker")
    parser.add_argument(
        "--reader-mb", type=float, default=0, help="MB/s the reader takes at most; 0: no limit"
    )
    parser.add_argument(
        "--cores",
        action="store_true",
        help="hot consumer and loop on one core, reader on another",
    )
    parser.add_argument("--role", help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role == "hot":
        poll_until_told(options.port)
    elif options.role == "reader":
        read_all(options.port, options.reader_mb * 1e6)
    elif options.directory is not None:
        options.directory.mkdir(parents=True, exist_ok=True)
        with delay_accounting():
            compare(options, options.directory)
    else:
        with tempfile.TemporaryDirectory() as folder, delay_accounting():
            compare(options, Path(folder))


@contextlib.contextmanager
def delay_accounting() -> Iterator[None]:
    """Let the kernel count how long threads that are made meanwhile wait for disks, if it lets us."""
    try:
        before = DELAY_ACCOUNTING.read_text()
        DELAY_ACCOUNTING.write_text("1")
    except OSError:
        yield
        return
    try:
        yield
    finally:
        DELAY_ACCOUNTING.write_text(before)


def compare(options: argparse.Namespace, folder: Path) -> None:
    size = int((SLOW_GIB if options.slow else options.gib) * 2**30)
    names = [name for name in CONDITIONS if not options.only or name in options.only.split(",")]
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for number in range(options.rounds):
        for name in names:
            broker, port = serve(folder, CONDITIONS[name], options.override)
            try:
                fill(port, folder, size, options.batch_kib * 1024)
                held = hold(folder, in_memory=name == "warm")
                runs[name].append(run(name, port, broker.pid, options) | {"held": held})
            finally:
                stop(broker)
            print(f"round {number + 1} {name:9} {line(runs[name][-1])}", flush=True)
    print(f"\nmedians of {options.rounds} rounds, {size / 2**30:g} GiB in batches of {options.batch_kib} KiB")
    for name, found in runs.items():
        print(f"{name:9} {line(medians(found))}{times_alone(found, runs.get('alone', []))}")


def medians(found: list[dict[str, float]]) -> dict[str, float]:
    return {key: statistics.median(one[key] for one in found) for key in found[0]}


def times_alone(found: list[dict[str, float]], alone: list[dict[str, float]]) -> str:
    """Tell the p99s as multiples of those alone, of the medians."""
    if not alone:
        return ""
    ratios = [medians(found)[key] / medians(alone)[key] for key in ("p99_us", "p99_some_us", "p99_none_us")]
    return "  p99 {:.2f} times that alone ({:.2f}, {:.2f})".format(*ratios)


def line(found: dict[str, float]) -> str:
    return (
        f"p50 {found['p50_us']:5.0f} p99 {found['p99_us']:6.0f}"
        f" (not all stalled {found['p99_some_us']:.0f}, none {found['p99_none_us']:.0f})"
        f" p99.9 {found['p999_us']:6.0f}"
        f" max {found['max_us']:6.0f} us, reader {found['mb_per_second']:5.0f} MB/s,"
        f" broker {found['broker_cpu_s']:.2f} s CPU, loop waited {found['disk_wait_ms']:.0f} ms for the disk,"
        f" all cores stalled {found['stalled_ms']:.0f} ms, {found['stolen']:.0%} stolen,"
        f" {found['held']:.0%} in memory before"
    )


def serve(folder: Path, threads: int, overrides: list[str]) -> tuple[subprocess.Popen[str], int]:
    command = [*SERVE, str(folder / "data"), "--override", f"cold.read.threads={threads}", *QUIET]
    for override in overrides:
        command += ["--override", override]
    broker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, close_fds=False)
    assert broker.stdout is not None
    port = int(broker.stdout.readline().rpartition(":")[2])
    broker.stdout.readline()
    return broker, port


def run(name: str, port: int, pid: int, options: argparse.Namespace) -> dict[str, float]:
    """Return the hot consumer's latencies, the reader's throughput, and what the broker did for it."""
    topic_id(port, "hot")  # answered when the loop is done with what it did before
    before_s, before_ms = cpu_s(pid), disk_wait_ms(pid)
    hot = start("hot", port)
    assert hot.stdout is not None
    hot.stdout.readline()  # it polls
    watch = StallWatch().begin()
    if options.cores:
        os.sched_setaffinity(pid, {0})
        os.sched_setaffinity(hot.pid, {0})
    mb_per_second = 0.0
    if name == "alone":
        time.sleep(ALONE_S)
    else:
        time.sleep(0.3)
        reader = start("reader", port, options.reader_mb)
        if options.cores:
            time.sleep(0.3)  # helpers are made when the first cold range is asked for
            for thread in {reader.pid, *map(int, os.listdir(f"/proc/{pid}/task"))} - {pid}:
                os.sched_setaffinity(thread, {1})
        mb_per_second = finish(reader)["mb_per_second"]
    polls = finish(hot)["polls"]
    return latencies(polls, watch.end()) | {
        "mb_per_second": mb_per_second,
        "broker_cpu_s": cpu_s(pid) - before_s,
        "disk_wait_ms": disk_wait_ms(pid) - before_ms,
    }


def latencies(polls: list[tuple[int, int]], stalls: Stalls) -> dict[str, float]:
    """Return what polls took, all of them and those that met no stall of the machine."""

    def of(left_out: list[tuple[int, int]], *shares: float) -> list[float]:
        took = sorted(end - begin for begin, end in polls if not touches(left_out, begin, end))
        return [took[min(len(took) - 1, int(len(took) * share))] / 1000 for share in shares]

    p50, p99, p999, longest = of([], 0.5, 0.99, 0.999, 1)
    return {
        "p50_us": p50,
        "p99_us": p99,
        "p999_us": p999,
        "max_us": longest,
        "p99_some_us": of(stalls.all_cores, 0.99)[0],
        "p99_none_us": of(stalls.any_core, 0.99)[0],
        "stalled_ms": sum(end - begin for begin, end in stalls.all_cores) / 1e6,
        "stolen": stalls.stolen,
    }


def disk_wait_ms(pid: int) -> float:
    """Return how long a process's first thread, the loop's, has waited for disks."""
    fields = Path(f"/proc/{pid}/task/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[39]) * 1000 / os.sysconf("SC_CLK_TCK")


def start(role: str, port: int, reader_mb: float = 0) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, __file__, "--role", role, "--port", str(port), "--reader-mb", str(reader_mb)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    told, _ = process.communicate("")
    assert process.returncode == 0
    found: dict[str, Any] = json.loads(told)
    return found


# The data


def fill(port: int, folder: Path, size: int, batch_bytes: int) -> None:
    """Make both topics and write what is to be read, unless that was done before."""
    cluster = Cluster([("127.0.0.1", port)])
    if (folder / "data" / "cold-0").exists():
        return
    for name in ("hot", "cold"):
        create_topic(cluster, name, partitions=1)
    with connect(port) as connection:
        now_ms = time.time_ns() // 1_000_000
        ask(connection, produce_frame(topic_id(port, "hot"), batch(1024, now_ms), 1))
        request = produce_frame(topic_id(port, "cold"), batch(batch_bytes - 100, now_ms), 1)
        for _ in range(size // batch_bytes):
            ask(connection, request)


def topic_id(port: int, name: str) -> bytes:
    found = Cluster([("127.0.0.1", port)]).topic(name)
    assert found is not None
    return bytes(found.topic_id)


def hold(folder: Path, *, in_memory: bool) -> float:
    """Bring the cold topic's files into the page cache or push them out; return the share that is in it."""
    held = total = 0
    cache = PageCache()
    for path in sorted((folder / "data" / "cold-0").iterdir()):
        with path.open("rb") as file:
            fd, size = file.fileno(), path.stat().st_size
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            if in_memory:
                cache.bring_in(fd, 0, size)
            pieces = range(0, size, 2**20)
            held += sum(cache.holds(fd, at, min(2**20, size - at)) for at in pieces)
            total += len(pieces)
    return held / total


# The clients


def connect(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def ask(connection: socket.socket, request: bytes) -> memoryview:
    connection.sendall(with_length(request))
    length = int.from_bytes(receive(connection, 4), "big")
    return receive(connection, length)


def receive(connection: socket.socket, length: int) -> memoryview:
    data = memoryview(bytearray(length))
    got = 0
    while got < length:
        count = connection.recv_into(data[got:])
        assert count, "the broker closed the connection"
        got += count
    return data


def poll_until_told(port: int) -> None:
    """Poll until standard input ends; print when each poll began and ended."""
    request = fetch_frame(topic_id(port, "hot"), 0)
    polls: list[tuple[int, int]] = []
    with connect(port) as connection:
        for _ in range(200):
            ask(connection, request)
        print("polling", flush=True)
        os.set_blocking(0, False)
        while not ended():
            began = time.monotonic_ns()
            answer = ask(connection, request)
            polls.append((began, time.monotonic_ns()))
            assert len(answer) > 1024
            time.sleep(1 / POLLS_PER_SECOND)
    report({"polls": polls})


def ended() -> bool:
    try:
        return os.read(0, 1) == b""
    except BlockingIOError:
        return False


def read_all(port: int, bytes_per_second: float) -> None:
    """Read the cold topic from its first to its last offset; print how fast that was.

    Only the first answer is looked at. Of the others the kernel throws the records away, since a consumer
    elsewhere would not use this machine's processors: batches of one record and one size need no look.
    """
    asked, offset, total = topic_id(port, "cold"), 0, 0
    thrown_away = bytearray(1 << 20)
    with connect(port) as connection:
        first = ask(connection, fetch_frame(asked, 0))
        _, body = frames.decode_response_header(first, ApiKey.FETCH, FETCH_VERSION)
        records = messages.FetchResponse.decode(first, FETCH_VERSION, body).responses[0].partitions[0].records
        assert isinstance(records, memoryview)
        other_bytes = len(first) - len(records)
        batch_bytes = LOG_OVERHEAD_BYTES + HEADER.unpack_from(records, 0)[1]
        began = time.perf_counter()
        while True:
            connection.sendall(with_length(fetch_frame(asked, offset)))
            length = int.from_bytes(receive(connection, 4), "big")
            left = length
            while left:
                count = connection.recv_into(thrown_away, min(left, len(thrown_away)), socket.MSG_TRUNC)
                assert count, "the broker closed the connection"
                left -= count
            if length < batch_bytes:
                break
            offset += max(1, (length - other_bytes + 4) // batch_bytes)
            total += length
            if bytes_per_second:
                time.sleep(max(0.0, began + total / bytes_per_second - time.perf_counter()))
        seconds = time.perf_counter() - began
    report({"mb_per_second": total / 1e6 / seconds})


def report(found: dict[str, Any]) -> None:
    print(json.dumps(found))


if __name__ == "__main__":
    main()
