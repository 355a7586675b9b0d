"""Our batches of every codec and level, read by Apache Kafka's own classes."""

import subprocess
import zlib
from pathlib import Path

import pytest

from barnabas.protocol.compression import LEVEL_RANGES, Codec
from barnabas.protocol.control_records import ControlType, build_end_txn_batch
from barnabas.protocol.record_batch import BatchHeader, TimestampType, parse_header, parse_records
from barnabas.protocol.records import Record
from tests import toolchain
from tests.batch_records import BASE_TIMESTAMP, GOLDEN, build, golden_records, random_records
from tests.oracle.jvm import java

pytestmark = [pytest.mark.interop, pytest.mark.java]

_TIMEOUT_S = 120


def _ask(*arguments: str) -> list[str]:
    try:
        classes = toolchain.compiled_java(Path(__file__).parent / "batch_oracle")
        command = java("BatchOracle", *arguments, classes=classes)
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(str(missing))
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def _digest(content: bytes | None) -> str:
    return "null" if content is None else f"{len(content)}:{zlib.crc32(content):x}"


def _batch_line(header: BatchHeader) -> str:
    kind = "LogAppendTime" if header.timestamp_type is TimestampType.LOG_APPEND_TIME else "CreateTime"
    words = (
        "batch",
        header.base_offset,
        header.last_offset,
        header.codec.name.lower(),
        kind,
        header.max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        str(header.is_transactional).lower(),
        str(header.is_control).lower(),
        header.records_count,
    )
    return " ".join(map(str, words))


def _record_line(record: Record) -> str:
    words = ["record", str(record.offset), str(record.timestamp), _digest(record.key), _digest(record.value)]
    return " ".join(words + [f"{key}={_digest(value)}" for key, value in record.headers])


def _batches() -> dict[str, bytes]:
    batches = {}
    large = random_records(3, 3000, value_bytes=(0, 900), header_count=1)
    for codec in Codec:
        batches[codec.name] = build(golden_records(), codec)
        batches[f"{codec.name}-large"] = build(large, codec)
        if codec in LEVEL_RANGES:
            low, high, _ = LEVEL_RANGES[codec]
            for level in (max(low, -5), min(high, 19)):
                batches[f"{codec.name}-level{level}"] = build(
                    golden_records(), codec, compression_level=level
                )
    producer = {"producer_id": 7, "producer_epoch": 2, "base_sequence": 2**31 - 5}
    batches["transactional"] = build(golden_records(), Codec.LZ4, **producer, is_transactional=True)
    batches["append-time"] = build(golden_records(), Codec.ZSTD, log_append_time_ms=BASE_TIMESTAMP + 9)
    batches["offsets"] = build(golden_records(), Codec.SNAPPY, base_offset=1 << 40)
    batches["marker"] = build_end_txn_batch(
        control_type=ControlType.ABORT, coordinator_epoch=3, producer_id=7, producer_epoch=2, timestamp=5
    )
    return batches


def test_kafka_reads_our_batches(tmp_path: Path) -> None:
    expected: list[str] = []
    files: list[str] = []
    for name, batch in _batches().items():
        file = tmp_path / f"{name}.batch"
        file.write_bytes(batch)
        files.append(str(file))
        header = parse_header(batch)
        expected += (f"file {file.name}", _batch_line(header))
        expected += map(_record_line, parse_records(batch, 0, header))
    assert _ask("read", *files) == expected


def test_the_golden_batches_are_what_kafka_writes(tmp_path: Path) -> None:
    _ask("write", str(tmp_path))
    names = sorted(file.name for file in GOLDEN.glob("*.batch"))
    assert sorted(file.name for file in tmp_path.iterdir()) == names
    for name in names:
        assert (tmp_path / name).read_bytes() == (GOLDEN / name).read_bytes(), name
