"""What a start costs: from exec to the first ApiVersions answer over a socket, memory at rest, and stopping.

    python benchmarks/start.py [--runs N]

Three kinds of start, medians of their runs: a fresh directory (formatted and registered on the way), a
directory with 100 topics that was stopped cleanly, and a bare interpreter for comparison. The time is wall
time from just before the process is made until the answer's last byte; "ready in" is what the broker says of
itself.

Bytecode files are written and used, as for any installed package: PYTHONDONTWRITEBYTECODE is removed from the
environment of the processes measured, and the first run is not counted. Files are in the page cache.
"""

import argparse
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from barnabas.cli.client.admin import create_topic
from barnabas.cli.client.cluster import Cluster

TOPICS = 100
REST_S = 0.3
SERVE = [str(Path(sys.executable).with_name("barnabas")), "serve", "--listen", "127.0.0.1:0", "--data-dir"]
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

# ApiVersions v0, correlation id 7, no client id.
API_VERSIONS = bytes.fromhex("0000000a 0012 0000 00000007 ffff")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    answer_ms: float
    cpu_ms: float
    ready_ms: float
    rss_mib: float
    stop_ms: float


def read_exactly(connection: socket.socket, length: int) -> bytes:
    got = b""
    while len(got) < length:
        more = connection.recv(length - len(got))
        assert more, "the broker hung up"
        got += more
    return got


def serve(directory: str) -> tuple[subprocess.Popen[str], int, str]:
    """Start a broker; return its process, port and the line it says when ready."""
    broker = subprocess.Popen(
        [*SERVE, directory], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True, close_fds=False
    )
    assert broker.stdout is not None
    listening = broker.stdout.readline()
    return broker, int(listening.rpartition(":")[2]), broker.stdout.readline()


def stop(broker: subprocess.Popen[str]) -> float:
    """Stop a broker; return how many milliseconds it took."""
    began = time.perf_counter()
    broker.send_signal(signal.SIGTERM)
    assert broker.wait() == 0, "the broker did not stop cleanly"
    return (time.perf_counter() - began) * 1000


def resident_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmRSS")


def processor_ms(pid: int) -> float:
    """Return the processor time of a process of one thread so far, which a busy machine changes little."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6


def measure(directory: str) -> Run:
    began = time.perf_counter()
    broker, port, ready = serve(directory)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(API_VERSIONS)
        body = read_exactly(connection, int.from_bytes(read_exactly(connection, 4)))
        answer_ms = (time.perf_counter() - began) * 1000
        cpu_ms = processor_ms(broker.pid)
    assert body[:6] == bytes.fromhex("00000007 0000"), "not an ApiVersions answer without error"
    time.sleep(REST_S)
    rss_mib = resident_mib(broker.pid)
    return Run(
        answer_ms=answer_ms,
        cpu_ms=cpu_ms,
        ready_ms=float(ready.split()[2]),
        rss_mib=rss_mib,
        stop_ms=stop(broker),
    )


def report(name: str, runs: list[Run]) -> None:
    answers = sorted(run.answer_ms for run in runs)
    print(
        f"{name:20} {statistics.median(answers):7.0f} ms ({answers[0]:.0f}-{answers[-1]:.0f})"
        f"  processor {statistics.median(run.cpu_ms for run in runs):4.0f} ms"
        f"  ready in {statistics.median(run.ready_ms for run in runs):4.0f} ms"
        f"  {statistics.median(run.rss_mib for run in runs):5.1f} MiB"
        f"  stop {statistics.median(run.stop_ms for run in runs):4.0f} ms"
    )


def fresh(runs: int) -> list[Run]:
    measured = []
    for _ in range(runs + 1):
        directory = tempfile.mkdtemp()
        measured.append(measure(directory))
        shutil.rmtree(directory)
    return measured[1:]


def existing(runs: int) -> list[Run]:
    directory = tempfile.mkdtemp()
    broker, port, _ = serve(directory)
    with Cluster([("127.0.0.1", port)]) as cluster:
        for number in range(TOPICS):
            create_topic(cluster, f"topic-{number}", partitions=1)
    stop(broker)
    measured = [measure(directory) for _ in range(runs + 1)]
    shutil.rmtree(directory)
    return measured[1:]


def interpreter(runs: int) -> None:
    times = []
    for _ in range(runs + 1):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], env=ENVIRONMENT, check=True, close_fds=False)
        times.append((time.perf_counter() - began) * 1000)
    print(f"{'bare interpreter':20} {statistics.median(times[1:]):7.0f} ms")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    interpreter(runs)
    report("fresh directory", fresh(runs))
    report(f"{TOPICS} topics", existing(runs))


if __name__ == "__main__":
    main()
