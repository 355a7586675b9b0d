"""A directory is damaged in several ways, mended by the doctor, and used by Apache Kafka and by us.

Apache Kafka's own tool judges every file after the repair, and the doctor every file that Apache Kafka left.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from barnabas.protocol.record_batch import iter_batches, parse_records
from tests.broker import BarnabasBroker
from tests.interop.test_takeover import JUDGED, PARTITIONS, TOPIC, Writer, wait_for_leaders
from tests.net.wire import Wire
from tests.oracle.kafka import running
from tests.oracle.kafka_tools import dump_log

pytestmark = [pytest.mark.interop, pytest.mark.java, pytest.mark.timeout(600)]

DAMAGED, LOSSY = 0, 1


def doctor(data: Path, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    """Return the exit code and the lines of JSON."""
    line = [sys.executable, "-m", "barnabas", "doctor", str(data), "-o", "json", *arguments]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, [json.loads(text) for text in done.stdout.splitlines()]


def findings(rows: list[dict[str, Any]]) -> set[str]:
    """Return what was found that is more than a note."""
    return {row["what"] for row in rows if row["kind"] == "finding" and row["severity"] != "note"}


def judge(data: Path) -> None:
    """Let kafka-dump-log read every file of the topic."""
    files = [path for path in sorted(data.glob(f"{TOPIC}-*/*")) if path.suffix in JUDGED]
    assert len(files) >= 3 * PARTITIONS
    # Record by record it complains of every gap, also of those that compaction leaves.
    gaps = [path for path in files if path.suffix == ".log" and path.parent.name == f"{TOPIC}-{LOSSY}"]
    dump_log(*(path for path in files if path not in gaps))
    dump_log(*gaps, deep=False)
    dump_log(*(path for path in files if path.suffix in (".index", ".timeindex")), index_sanity=True)


def first_log(data: Path, partition: int) -> Path:
    return min((data / f"{TOPIC}-{partition}").glob("*.log"))


def change(path: Path, position: int, content: bytes) -> None:
    data = bytearray(path.read_bytes())
    data[position : position + len(content)] = content
    path.write_bytes(data)


def present(port: int, partition: int) -> dict[int, bytes | None]:
    """Return the keys of all records by offset, whatever is missing between them."""
    found: dict[int, bytes | None] = {}
    with Wire(port) as wire:
        end, offset = wire.end_offset(TOPIC, partition), 0
        while offset < end:
            data = wire.fetch(TOPIC, offset, partition=partition)
            assert data.error_code == 0, data
            before, records = offset, bytes(data.records)
            for position, header in iter_batches(records, allow_partial_tail=True):
                for record in parse_records(records, position, header):
                    found[record.offset] = record.key
                offset = max(offset, header.next_offset)
            assert offset > before, "a fetch that leads nowhere"
    return found


def damage(data: Path) -> range:
    """Damage a stopped broker's directory; return the offsets that cannot be had back."""
    one_bit = first_log(data, DAMAGED)
    position = list(iter_batches(one_bit.read_bytes()))[3][0] + 70
    change(one_bit, position, bytes([one_bit.read_bytes()[position] ^ 0x08]))
    torn = first_log(data, LOSSY)
    position, header = list(iter_batches(torn.read_bytes()))[2]
    change(torn, position + 100, bytes(range(40)))
    index = first_log(data, 2).with_suffix(".timeindex")
    change(index, len(index.read_bytes()) - 9, b"\x55")
    high_watermarks = data / "replication-offset-checkpoint"
    change(high_watermarks, 0, b"7")
    (data / "some folder").mkdir()
    return range(header.base_offset, header.next_offset)


@pytest.mark.slow
def test_what_the_doctor_mends_both_brokers_read(tmp_path: Path) -> None:
    data = tmp_path / "data"
    ours = BarnabasBroker(tmp_path / "ours", data_dir=data, overrides={"node.id": "1"})
    writer = Writer()
    ours.start()
    with Wire(ours.port) as wire:
        wire.make_topic(TOPIC, PARTITIONS, segment_bytes="1048576")
    writer.write(ours.port)
    writer.write(ours.port)
    assert doctor(data)[0] == 2, "a broker is at it"
    assert doctor(data, "--live")[0] == 0
    ours.stop()
    assert doctor(data)[0] == 0
    lost = damage(data)

    code, rows = doctor(data)
    assert code == 1
    assert findings(rows) >= {"batch-bit", "batch-crc", "time-index", "checkpoint", "unknown-name"}
    code, rows = doctor(data, "--repair", "drop-batches")
    assert code == 0, rows
    copies = rows[-1]["copies"]
    assert [Path(copy).parent for copy in copies] == [tmp_path]
    assert doctor(data)[0] == 0
    assert doctor(data, "--repair", "drop-batches")[1][-1]["kind"] == "summary"
    judge(data)

    kept = {
        partition: {
            offset: record[1]
            for offset, record in enumerate(writer.stored[partition])
            if partition != LOSSY or offset not in lost
        }
        for partition in range(PARTITIONS)
    }
    with running(tmp_path / "kafka", data_dir=data) as theirs:
        wait_for_leaders(theirs.port)
        for partition in range(PARTITIONS):
            assert present(theirs.port, partition) == kept[partition]
        writer.write(theirs.port)
    assert findings(doctor(data)[1]) == set()
    judge(data)
    ours.start()
    try:
        for partition in (DAMAGED, 2):
            assert present(ours.port, partition) == {
                offset: record[1] for offset, record in enumerate(writer.stored[partition])
            }
        assert not set(present(ours.port, LOSSY)) & set(lost)
        ours.stop()
    finally:
        ours.kill()
    assert doctor(data)[0] == 0
