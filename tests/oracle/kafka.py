"""Start, stop and question a real Apache Kafka broker.

One process in KRaft's combined mode on free ports of 127.0.0.1 with its files in one directory, which
may also be one that Barnabas wrote. A JVM takes seconds to start, so tests share one broker through the
session fixture `kafka` and only make their own when they must restart it.
"""

import contextlib
import os
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO

from tests import toolchain
from tests.oracle.jvm import SIMPLE_LOGGER, java
from tests.oracle.kafka_tools import STORAGE, shared_tools

START_TIMEOUT_S = 90
STOP_TIMEOUT_S = 30
LOG_TAIL_CHARS = 6000


def free_ports(count: int) -> list[int]:
    """Return ports of 127.0.0.1 that were free just now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for sock in sockets:
            sock.bind(("127.0.0.1", 0))
        return [sock.getsockname()[1] for sock in sockets]


class KafkaBroker:
    """A broker process of Apache Kafka over one directory.

    Args:
        directory: holds `data` (log.dirs), server.properties and broker.log; made when missing.
        data_dir: log.dirs when it lies elsewhere, for example one that Barnabas wrote.
        overrides: further lines for server.properties.
    """

    def __init__(
        self,
        directory: Path,
        *,
        data_dir: Path | None = None,
        node_id: int = 1,
        overrides: Mapping[str, str] | None = None,
    ) -> None:
        self.directory = directory
        self.data_dir = data_dir or directory / "data"
        self.properties_path = directory / "server.properties"
        self.log_path = directory / "broker.log"
        self.port, self.controller_port = free_ports(2)
        self.node_id = node_id
        self._overrides = dict(overrides or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._log_file: IO[bytes] | None = None
        directory.mkdir(parents=True, exist_ok=True)

    @property
    def bootstrap(self) -> str:
        """HOST:PORT for clients."""
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The JVM's process id."""
        assert self._process is not None, "not running"
        return self._process.pid

    @property
    def formatted(self) -> bool:
        return (self.data_dir / "meta.properties").exists()

    def write_properties(self) -> None:
        """Write server.properties for the current ports."""
        properties = {
            "process.roles": "broker,controller",
            "node.id": str(self.node_id),
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{self.controller_port}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self.controller_port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": str(self.data_dir),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "5",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "5",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "log.initial.task.delay.ms": "500",
            "num.network.threads": "1",
            "num.io.threads": "2",
            "log.cleaner.dedupe.buffer.size": "2097152",
            "unstable.api.versions.enable": "false",
            **self._overrides,
        }
        text = "".join(f"{name}={value}\n" for name, value in properties.items())
        self.properties_path.write_text(text)

    def format(self, *arguments: str) -> None:
        """Run kafka-storage format with a new cluster id.

        Args:
            arguments: further ones, for example ("--feature", "kraft.version=1").
        """
        self.write_properties()
        done = shared_tools().run(
            STORAGE,
            "format",
            "--standalone",
            "-t",
            "oraclekafkaoracle0000w",
            "-c",
            str(self.properties_path),
            *arguments,
        )
        assert done.status == 0, f"kafka-storage format failed:\n{done.out}{done.err}"

    def start(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Format when nobody did, start, and return once it answers clients.

        Raises:
            AssertionError: it exited or did not answer in time; the message ends with its log.
        """
        assert self._process is None, "already running"
        if not self.formatted:
            self.format()
        self.write_properties()
        command = java("kafka.Kafka", str(self.properties_path), archive="broker")
        command.insert(1, f"{SIMPLE_LOGGER}.log.org.apache.kafka=info")
        command.insert(1, f"{SIMPLE_LOGGER}.log.kafka=info")
        command.insert(1, f"{SIMPLE_LOGGER}.showDateTime=true")
        self._log_file = self.log_path.open("ab")
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self._log_file, stderr=subprocess.STDOUT
        )
        deadline = time.monotonic() + timeout_s
        while not answers(self.port):
            if self._process.poll() is not None:
                status = self._process.returncode
                self._forget()
                raise AssertionError(f"Apache Kafka exited with {status}:\n{self.log_tail()}")
            if time.monotonic() > deadline:
                self.kill()
                raise AssertionError(f"Apache Kafka did not answer in {timeout_s} s:\n{self.log_tail()}")
            time.sleep(0.05)

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Shut down cleanly; kill when that takes too long."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            toolchain.publish_archives(whole=False)
        self._forget()
        toolchain.publish_archives()

    def kill(self) -> None:
        """End it as kill -9 does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._forget()

    def _forget(self) -> None:
        self._process = None
        if self._log_file is not None:
            self._log_file.close()
            self._log_file = None

    def log_tail(self) -> str:
        """The end of the broker's own log."""
        return self.log_path.read_text(errors="replace")[-LOG_TAIL_CHARS:]

    def __enter__(self) -> "KafkaBroker":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            error.add_note(f"Apache Kafka's log ({self.log_path}) ends:\n{self.log_tail()}")
        self.stop()


def answers(port: int) -> bool:
    """Whether a broker on 127.0.0.1 answers Metadata with at least one broker in it."""
    # Metadata v1, no topics: api key 3, version 1, correlation id 7, no client id, empty array.
    request = struct.pack(">hhih i", 3, 1, 7, -1, 0)
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as sock:
            sock.sendall(struct.pack(">i", len(request)) + request)
            head = _receive(sock, 12)
    except OSError:
        return False
    if len(head) < 12:
        return False
    _, correlation_id, brokers = struct.unpack(">iii", head)
    return correlation_id == 7 and brokers > 0


def _receive(sock: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        more = sock.recv(length - len(data))
        if not more:
            break
        data += more
    return data


@contextlib.contextmanager
def running(directory: Path, **options: object) -> Iterator[KafkaBroker]:
    """A KafkaBroker as a context, skipping the test when the toolchain is missing."""
    try:
        toolchain.kafka_classpath()
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(str(missing))
    with KafkaBroker(directory, **options) as broker:  # type: ignore[arg-type]
        yield broker


def alive(pid: int) -> bool:
    """Whether a process exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
