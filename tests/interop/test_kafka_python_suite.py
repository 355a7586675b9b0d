"""kafka-python's own integration tests, run against Barnabas: its consumer's, producer's and admin client's.

The tests come with the library's source distribution; its harness takes a broker that runs already
(KAFKA_URI), but asks for one module that is not part of the distribution, which is put beside it. Left out is
what needs what is not there yet, by name and reason.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import toolchain
from tests.broker import BarnabasBroker
from tests.oracle.kafka import free_ports

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(600)]

MISSING = {
    "test_create_describe_delete_acls": "an authorizer",
}
"""Test -> what it needs that is not there yet."""

FILES = {"consumer": 11, "producer": 17, "admin": 18}
"""Which tests, and how many of them must pass."""

SERVICE = '''"""Stands in for a module that the source distribution leaves out."""


class ExternalService:
    def __init__(self, host, port):
        self.host, self.port = host, port


class SpawnedService:
    pass
'''


@pytest.fixture(scope="module")
def sources() -> Path:
    try:
        folder = toolchain.kafka_python_sources()
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(str(missing))
    (folder / "test" / "__init__.py").touch()
    (folder / "test" / "service.py").write_text(SERVICE)
    return folder


@pytest.mark.parametrize("part", FILES)
def test_kafka_pythons_own_tests_pass(part: str, sources: Path, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    # Its tests expect broker 0, one that was told its address, as Kafka's own configuration files do, which
    # lets sessions be 3 s.
    overrides = {
        "node.id": "0",
        "num.partitions": "4",
        "group.min.session.timeout.ms": "1000",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
    }
    broker = BarnabasBroker(tmp_path, overrides=overrides)
    broker.port = port
    with broker:
        environment = {
            **os.environ,
            "KAFKA_URI": f"kafka://{broker.bootstrap}",
            "KAFKA_VERSION": "4.3.0",
            "KAFKA_ROOT": str(tmp_path),
            "PYTHONPATH": str(sources),
        }
        deselected = [f"--deselect={_node(part)}::{name}" for name in MISSING]
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", "--show-capture=no",
            "--timeout=90", "--timeout-method=signal", "-rA", _node(part), *deselected,
        ]  # fmt: skip
        done = subprocess.run(
            command, cwd=sources, env=environment, capture_output=True, text=True, check=False, timeout=500
        )
    assert done.returncode == 0, done.stdout[-6000:]
    passed = len(re.findall(r"^PASSED ", done.stdout, re.MULTILINE))
    assert passed >= FILES[part], done.stdout[-3000:]


def _node(part: str) -> str:
    return f"test/integration/test_{part}_integration.py"
