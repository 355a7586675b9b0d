"""Barnabas from this checkout, with a listener for each way that fetched bytes can travel.

Twice: from its sources, as `pip install` has it, and with the hot modules compiled, as the compiled wheel.
"""

import subprocess
import sys
from pathlib import Path

import barnabas
from benchmarks.brokers.server import Server, Transport
from benchmarks.host import ROOT
from benchmarks.programs import UnavailableError
from tests.oracle.kafka import free_ports
from tools.compile import HOT_MODULES, TRAINED

NAMES = {Transport.PLAIN: "PLAINTEXT", Transport.HEAP: "HEAP", Transport.TLS: "SSL"}


class BarnabasServer(Server):
    """Default settings, but for the listeners and a nofile limit that the harness raises for all alike."""

    name = "Barnabas"

    def version(self) -> str:
        return f"{barnabas.__version__} pure Python"

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


class CompiledServer(BarnabasServer):
    """The same with extension modules beside its sources, which Python takes first."""

    name = "Barnabas compiled"
    remark = "what `./dev wheel --compiled` makes"

    def check_available(self) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "tools.compile", "--trained", str(TRAINED)],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise UnavailableError(f"compiling ended with {done.returncode}: {done.stderr.strip()}")

    def version(self) -> str:
        return f"{barnabas.__version__}, {len(HOT_MODULES)} modules compiled"

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "PYTHONPATH": str(TRAINED)}


def certificates_of(directory: Path) -> Path:
    """Return a PEM file with a key and a certificate, made the first time."""
    from tests.certificates import Certificates

    folder = directory / "certificates"
    keystore = folder / "server.pem"
    if not keystore.exists():
        Certificates(folder)
    return keystore
