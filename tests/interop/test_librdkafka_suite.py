"""librdkafka's own test programs, run against Barnabas: those of producing, fetching, offsets and metadata.

The sources come with Confluent's npm package and are built once. Each program makes its topics, produces,
consumes and verifies by itself. Left out is what needs what is not there yet, by number and reason; tests of
librdkafka's mock cluster and of its internals never reach a broker.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import toolchain
from tests.broker import BarnabasBroker

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(2400)]

PASSING = {
    "0001": "one client, many topic handles",
    "0002": "unknown partitions",
    "0003": "messages larger than allowed",
    "0005": "order",
    "0007": "topics created by producing to them",
    "0008": "acks 0, 1 and all",
    "0011": "batches",
    "0012": "produce, and consume as a simple consumer",
    "0013": "null messages",
    "0015": "seeking",
    "0016": "the client's software name",
    "0017": "compression, each codec",
    "0021": "handles destroyed early",
    "0031": "watermarks",
    "0034": "offset reset, from outside of the log",
    "0035": "API versions",
    "0036": "partial fetches of every size",
    "0038": "throughput",
    "0039": "events",
    "0041": "a message larger than fetch.message.max.bytes",
    "0044": "a growing partition count",
    "0048": "partitioners",
    "0054": "offsets by time",
    "0055": "producer latency",
    "0057": "invalid topic names",
    "0061": "consumer lag",
    "0063": "the cluster id",
    "0065": "yield",
    "0068": "produce timeouts, with a socket that stalls",
    "0070": "null and empty keys and values",
    "0073": "headers",
    "0075": "retries, with a socket that stalls",
    "0086": "purging",
    "0088": "metadata timeouts",
    "0112": "partitions that come into being while they are assigned",
    "0121": "a bootstrap list of one cluster",
}
"""Test -> what it is about."""

MISSING = {
    "consumer groups": (
        "0014", "0018", "0019", "0020", "0022", "0026", "0029", "0030", "0033", "0040", "0042", "0045",
        "0049", "0050", "0051", "0056", "0059", "0060", "0064", "0067", "0069", "0076", "0083", "0085",
        "0089", "0090", "0091", "0093", "0099", "0102", "0106", "0113", "0116", "0118", "0120", "0122",
        "0127", "0130", "0132", "0137", "0140",
    ),
    "transactions": ("0098", "0103", "0129"),
    "an authorizer": ("0081", "0115", "0119"),
    "share groups": tuple(f"{number:04}" for number in range(170, 187)),
    "a second broker": ("0101",),
    "compaction": ("0077",),
    "Apache Kafka's shell scripts": ("0052", "0107"),
    "message formats that Apache Kafka 4 dropped": ("0092",),
}  # fmt: skip
"""What is missing -> the tests that need it; most consume as a group's member, or from committed offsets."""

TEST_TIMEOUT_S = 180


@pytest.fixture(scope="module")
def program() -> Path:
    try:
        return toolchain.built_librdkafka_tests(Path(__file__).parent / "node")
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(str(missing))


@pytest.fixture(scope="module")
def four_partitions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasBroker]:
    """A broker that creates topics as librdkafka's test clusters do."""
    overrides = {"num.partitions": "4"}
    with BarnabasBroker(tmp_path_factory.mktemp("librdkafka-suite"), overrides=overrides) as broker:
        yield broker


@pytest.mark.parametrize("number", PASSING, ids=lambda number: f"{number} {PASSING[number]}")
def test_librdkafkas_own_test_passes(
    number: str, program: Path, four_partitions: BarnabasBroker, tmp_path: Path
) -> None:
    # The test program reads test.conf where it runs.
    (tmp_path / "test.conf").write_text(f"metadata.broker.list={four_partitions.bootstrap}\n")
    libraries = f"{program.parent / 'src'}:{program.parent / 'src-cpp'}"
    environment = {**os.environ, "TESTS": number, "LD_LIBRARY_PATH": libraries}
    done = subprocess.run(
        [program / "test-runner", "-p1", "-Q"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=TEST_TIMEOUT_S,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-4000:]
    assert "PASSED" in said
    assert "SKIPPED" not in said.replace("(SKIPPED", ""), said[-2000:]
