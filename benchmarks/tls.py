"""What a GB of records costs a broker's loop over TLS, by how much is read of the log at once.

    python benchmarks/tls.py [--gigabytes 1] [--rounds 3]

The loop runs in a process of its own and tells its CPU time; one client reads slices of 1 MiB from the page
cache. CPU time bears a busy machine better than throughput does; compare the medians.
"""

import argparse
import multiprocessing
import ssl
import statistics
import sys
import tempfile
import time
from multiprocessing.connection import Connection as Pipe
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from barnabas.base.disk import OsDisk
from barnabas.base.region import FileSlice, LeasedFile
from barnabas.net.connection import Connection
from barnabas.net.listener_config import ListenerConfig
from barnabas.net.reactor import Reactor
from barnabas.timing.timer_wheel import TimerWheel
from tests.certificates import Certificates

MIB = 1 << 20
READ_SIZES = (16 * 1024, 32 * 1024, 64 * 1024, 128 * 1024)
SHARED_FILE_MIB = 64
LOOK_MS = 50


class Handler:
    """Answers each request with the next MiB of a file."""

    def __init__(self, leased: LeasedFile) -> None:
        self.leased = leased
        self.number = 0

    def connection_opened(self, connection: Connection) -> None: ...

    def connection_closed(self, connection: Connection) -> None: ...

    def request_waiting(self, connection: Connection, frame: memoryview) -> None: ...

    def request_received(self, connection: Connection, _: memoryview) -> None:
        position = self.number % SHARED_FILE_MIB * MIB
        self.number += 1
        connection.respond([b"header", FileSlice(self.leased, position, MIB)])


def serve(directory: Path, read_bytes: int, pipe: Pipe) -> None:
    """Serve until told to stop; send the port, then the CPU time used."""
    certificates_config = pipe.recv()
    reactor = Reactor(timers=TimerWheel(time.monotonic_ns() // 1_000_000))
    leased = LeasedFile(OsDisk().open_readonly(str(directory / "log")))
    config = ListenerConfig(host="127.0.0.1", port=0, tls=certificates_config, tls_read_bytes=read_bytes)
    listener = reactor.listen(config, Handler(leased))
    pipe.send(listener.port)
    began = time.process_time()
    is_told = False

    def look() -> None:
        nonlocal is_told
        is_told = pipe.poll()
        reactor.call_later(LOOK_MS, look)

    look()
    while not is_told:
        reactor.run_turn()
    pipe.send((time.process_time() - began, listener.statistics().staged_bytes))


def measure(directory: Path, certificates: Certificates, read_bytes: int, count: int) -> float:
    """Return CPU seconds per GB."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=serve, args=(directory, read_bytes, theirs))
    process.start()
    ours.send(certificates.config())
    port = ours.recv()
    context = certificates.client_context()
    import socket

    request = (4).to_bytes(4, "big") + b"next"
    with context.wrap_socket(
        socket.create_connection(("127.0.0.1", port)), server_hostname="localhost"
    ) as client:
        buffer = memoryview(bytearray(256 * 1024))
        client.sendall(request * 2)
        for number in range(count):
            left = 4 + 6 + MIB
            while left:
                got = client.recv_into(buffer[: min(left, len(buffer))])
                assert got, "hung up"
                left -= got
            if number < count - 2:
                client.sendall(request)
        assert client.version() == ssl.HAS_TLSv1_3 * "TLSv1.3"
        ours.send("stop")
    cpu_s, staged_bytes = ours.recv()
    process.join(10)
    assert staged_bytes == count * MIB
    return cpu_s / (staged_bytes / 1e9)


def main() -> None:
    """Measure each size in turn, several times."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gigabytes", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    count = max(4, int(options.gigabytes * 1e9 / MIB))
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "log").write_bytes(bytes(range(256)) * (SHARED_FILE_MIB * MIB // 256))
        certificates = Certificates(directory / "certificates")
        found: dict[int, list[float]] = {size: [] for size in READ_SIZES}
        for _ in range(options.rounds):
            for size in READ_SIZES:
                found[size].append(measure(directory, certificates, size, count))
    for size, costs in found.items():
        spread = f"{min(costs):.2f}-{max(costs):.2f}"
        print(f"{size // 1024:4} KiB: {statistics.median(costs):.2f} CPU-s/GB  ({spread})")


if __name__ == "__main__":
    main()
