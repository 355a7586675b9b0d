"""librdkafka's own test programs, run against Barnabas: of producing, fetching, offsets, metadata and groups.

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
    "0014": "consuming again from where a consumer stopped",
    "0015": "seeking",
    "0016": "the client's software name",
    "0017": "compression, each codec",
    "0018": "members that terminate",
    "0019": "groups listed",
    "0020": "destroying a client that works",
    "0021": "handles destroyed early",
    "0022": "batches consumed",
    "0026": "pausing and resuming",
    "0029": "assignments with offsets",
    "0030": "commits, each way",
    "0031": "watermarks",
    "0033": "subscriptions by regular expression",
    "0034": "offset reset, from outside of the log",
    "0035": "API versions",
    "0036": "partial fetches of every size",
    "0038": "throughput",
    "0039": "events",
    "0040": "events by file descriptor",
    "0041": "a message larger than fetch.message.max.bytes",
    "0042": "many topics",
    "0044": "a growing partition count",
    "0045": "subscriptions to topics that come and change",
    "0048": "partitioners",
    "0049": "a connection that breaks while consuming",
    "0050": "subscriptions that grow",
    "0051": "assignments that grow",
    "0054": "offsets by time",
    "0055": "producer latency",
    "0056": "balanced groups, many threads",
    "0057": "invalid topic names",
    "0059": "binary search by seeking",
    "0060": "priority of what is no message",
    "0061": "consumer lag",
    "0063": "the cluster id",
    "0065": "yield",
    "0067": "empty topics",
    "0068": "produce timeouts, with a socket that stalls",
    "0069": "a topic that grows while it is consumed",
    "0070": "null and empty keys and values",
    "0073": "headers",
    "0075": "retries, with a socket that stalls",
    "0076": "produce retries",
    "0083": "queue events",
    "0085": "headers, in C++",
    "0086": "purging",
    "0088": "metadata timeouts",
    "0089": "max.poll.interval.ms",
    "0090": "idempotent producers",
    "0091": "max.poll.interval.ms, exceeded and not",
    "0093": "no blocking by the head of a line",
    "0099": "metadata of commits",
    "0102": "static members",
    "0106": "sessions that end",
    "0112": "partitions that come into being while they are assigned",
    "0113": "cooperative rebalances",
    "0116": "closing consumers",
    "0118": "commits while a group rebalances",
    "0120": "members with different subscriptions",
    "0121": "a bootstrap list of one cluster",
    "0122": "no old messages after a rebalance",
    "0127": "backoff of full queues",
    "0129": "fetches that meet an aborted transaction",
    "0130": "stored offsets",
    "0132": "the order of assignors",
    "0137": "batches up to a barrier",
    "0140": "metadata of commits, in C++",
}
"""Test -> what it is about."""

WHOLE = ("0018", "0019", "0026", "0050", "0089", "0116", "0122", "0130", "0132")
"""Tests of which the quick mode leaves out nearly all."""

PARTS_SKIPPED = ("0022", "0045", "0102")
"""Tests with parts that this build, or librdkafka's mock cluster, cannot do; the others run."""

MISSING = {
    "TLS, which this build leaves out": ("0064",),
    "an authorizer": ("0081", "0115", "0119"),
    "share groups": tuple(f"{number:04}" for number in range(170, 187)),
    "a second broker": ("0101",),
    "a third broker": ("0103",),
    "RapidJSON, which this build leaves out": ("0098",),
    "compaction": ("0077",),
    "Apache Kafka's shell scripts": ("0052", "0107"),
    "message formats that Apache Kafka 4 dropped": ("0092",),
}  # fmt: skip
"""What is missing -> the tests that need it."""

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
    # 0118 starts two members and takes it that they come into one generation.
    overrides = {"num.partitions": "4", "group.initial.rebalance.delay.ms": "1000"}
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
        [program / "test-runner", "-p1", *(() if number in WHOLE else ("-Q",))],
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
    if number not in PARTS_SKIPPED:
        assert "SKIPPED" not in said.replace("(SKIPPED", ""), said[-2000:]
