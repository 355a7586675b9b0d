"""A partition directory that Apache Kafka made, and ours made of the same batches: equal byte for byte.

`tools/record_golden_log.py` records the directory.
"""

import random
from pathlib import Path

import pytest

from barnabas.base.dataclass import replace
from barnabas.base.disk import OsDisk
from barnabas.protocol.record_batch import iter_batches
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.partition_metadata import read_topic_id
from barnabas.storage.producer_state.states import AppendOrigin
from tests.storage_setup import LogHarness

GOLDEN = Path(__file__).parent / "log"
CONFIG = LogConfig(
    segment_bytes=4096, index_interval_bytes=300, segment_ms=600_000, retention_ms=-1, segment_jitter_ms=0
)
LEADER_EPOCH = 0


def golden_batches() -> list[bytes]:
    content = b"".join(path.read_bytes() for path in sorted(GOLDEN.glob("*.log")))
    return [content[at : at + header.size_bytes] for at, header in iter_batches(content)]


def append_again(log: Log, batch: bytes) -> None:
    """Append a stored batch as a leader would: as the producer sent it, with base offset 0."""
    _, header = next(iter_batches(batch))
    sent = bytes(8) + batch[8:12] + b"\xff\xff\xff\xff" + batch[16:]
    origin = AppendOrigin.COORDINATOR if header.is_control else AppendOrigin.CLIENT
    info = log.append([sent], leader_epoch=LEADER_EPOCH, origin=origin)
    assert info.first_offset == header.base_offset


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


@pytest.fixture
def harness(tmp_path: Path) -> LogHarness:
    return LogHarness(OsDisk(), root=str(tmp_path), topic="golden", config=CONFIG)


def assert_like_kafka(directory: Path) -> None:
    ours, theirs = files(directory), files(GOLDEN)
    assert list(ours) == list(theirs)
    different = [name for name in theirs if ours[name] != theirs[name]]
    assert not different


def test_f45_every_file_is_what_kafka_makes_of_the_same_batches(harness: LogHarness, tmp_path: Path) -> None:
    log = harness.open(topic_id=read_topic_id(OsDisk(), str(GOLDEN)))
    for batch in golden_batches():
        append_again(log, batch)
    log.close()
    assert_like_kafka(tmp_path / "golden-0")


def test_kafkas_directory_opens_cleanly_and_closes_unchanged(harness: LogHarness, tmp_path: Path) -> None:
    for name, content in files(GOLDEN).items():
        (tmp_path / "golden-0").mkdir(exist_ok=True)
        (tmp_path / "golden-0" / name).write_bytes(content)
    log = harness.open(clean=True)
    assert log.log_end_offset == 263
    log.close()
    assert_like_kafka(tmp_path / "golden-0")


@pytest.mark.parametrize("kept", ["log_only", "all"])
def test_recovery_makes_every_file_that_kafka_had(harness: LogHarness, tmp_path: Path, kept: str) -> None:
    """Recovery finds indexes, epochs, transactions and producers in the batches alone."""
    (tmp_path / "golden-0").mkdir()
    for name, content in files(GOLDEN).items():
        if kept == "all" or name.endswith((".log", ".metadata")):
            (tmp_path / "golden-0" / name).write_bytes(content)
    result = harness.open_result()
    assert result.truncated_bytes == 0
    result.log.close()
    assert_like_kafka(tmp_path / "golden-0")


def test_a_batch_cut_anywhere_in_the_last_segment_loses_only_itself(
    harness: LogHarness, tmp_path: Path
) -> None:
    directory = tmp_path / "golden-0"
    directory.mkdir()
    for name, content in files(GOLDEN).items():
        (directory / name).write_bytes(content)
    active = sorted(directory.glob("*.log"))[-1]
    whole = active.read_bytes()
    starts = [(at, header) for at, header in iter_batches(whole)]
    random_source = random.Random(3)
    for cut in [starts[-1][0] + 1, *(random_source.randrange(len(whole)) for _ in range(10))]:
        active.write_bytes(whole[:cut])
        complete = [header for at, header in starts if at + header.size_bytes <= cut]
        end = complete[-1].next_offset if complete else int(active.stem)
        log = LogHarness(OsDisk(), root=str(tmp_path), topic="golden", config=replace(CONFIG)).open()
        assert log.log_end_offset == end
        assert active.stat().st_size == sum(header.size_bytes for header in complete)
        log.abandon()
