"""Barnabas from this checkout, with a listener for each way that fetched bytes can travel."""

import importlib.util
import sys
from pathlib import Path

import barnabas
from benchmarks.brokers.server import Server, Transport
from benchmarks.programs import UnavailableError
from tests.oracle.kafka import free_ports

NAMES = {Transport.PLAIN: "PLAINTEXT", Transport.HEAP: "HEAP", Transport.TLS: "SSL"}


class BarnabasServer(Server):
    """Default settings, but for the listeners and a nofile limit that the harness raises for all alike."""

    name = "Barnabas"

    def version(self) -> str:
        built = " compiled" if is_compiled() else " pure Python"
        return barnabas.__version__ + built

    def prepare(self) -> None:
        if not self.ports:
            self.ports = dict(zip(NAMES, free_ports(len(NAMES)), strict=True))

    def settings(self) -> dict[str, str]:
        """Return the settings that differ from the defaults."""
        certificates = certificates_of(self.directory)
        return {
            "listeners": ",".join(
                f"{name}://127.0.0.1:{self.ports[transport]}" for transport, name in NAMES.items()
            ),
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,HEAP:PLAINTEXT,SSL:SSL",
            "listener.name.heap.fetch.mode": "heap",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(certificates),
            **self.overrides,
        }

    def command(self) -> list[str]:
        program = Path(sys.executable).with_name("barnabas")
        if not program.exists():
            raise UnavailableError(f"{program}: barnabas is not installed in this environment")
        line = [str(program), "serve", "--data-dir", str(self.directory / "data")]
        for name, value in self.settings().items():
            line += ["--override", f"{name}={value}"]
        return line


def is_compiled() -> bool:
    """Whether the hot modules are the compiled ones."""
    found = importlib.util.find_spec("barnabas.net.connection")
    return found is not None and (found.origin or "").endswith(".so")


def certificates_of(directory: Path) -> Path:
    """Return a PEM file with a key and a certificate, made the first time."""
    from tests.certificates import Certificates

    folder = directory / "certificates"
    keystore = folder / "server.pem"
    if not keystore.exists():
        Certificates(folder)
    return keystore
