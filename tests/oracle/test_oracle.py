"""The oracle itself: it starts, its tools work, and its dump-log verdicts are not blind."""

from pathlib import Path

import pytest

from tests.oracle.kafka import KafkaBroker, running
from tests.oracle.kafka_tools import TOPICS, dump_log, shared_tools

pytestmark = [pytest.mark.interop, pytest.mark.java, pytest.mark.timeout(900)]


def test_a_topic_made_with_its_own_tool_is_described_by_it(kafka: KafkaBroker) -> None:
    tools, server = shared_tools(), ("--bootstrap-server", kafka.bootstrap)
    made = tools.run(TOPICS, *server, "--create", "--topic", "oracle", "--partitions", "3")
    assert made.status == 0, made
    assert "PartitionCount: 3" in tools.run(TOPICS, *server, "--describe", "--topic", "oracle").out


def test_dump_log_refuses_a_damaged_segment_and_a_lying_index(tmp_path: Path) -> None:
    with running(tmp_path / "kafka") as broker:
        pass
    log = broker.data_dir / "__cluster_metadata-0" / "00000000000000000000.log"
    assert "baseOffset: 0" in dump_log(log)
    damaged = tmp_path / "damaged" / log.name
    damaged.parent.mkdir()
    content = bytearray(log.read_bytes())
    content[80] ^= 1
    damaged.write_bytes(content)
    with pytest.raises(AssertionError, match="complains"):
        dump_log(damaged)
    damaged.write_bytes(log.read_bytes())
    # One entry that points at no batch's start.
    damaged.with_suffix(".index").write_bytes((2).to_bytes(4, "big") + (10).to_bytes(4, "big"))
    with pytest.raises(AssertionError, match="complains"):
        dump_log(damaged.with_suffix(".index"))
