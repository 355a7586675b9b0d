"""The doctor as a command: what it refuses, what it says, what it mends, and that it keeps copies."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from barnabas.base.disk import OsDisk
from barnabas.cli.doctor import repair as repairing
from barnabas.cli.doctor.mending import empty_batch
from barnabas.cli.root import root
from barnabas.metadata.formatting import MetaProperties, write_meta_properties
from barnabas.protocol.record_batch import crc_matches, iter_batches, parse_header
from barnabas.storage.checkpoints import checkpoint_file
from barnabas.storage.checkpoints.directory_checkpoints import CLEAN_SHUTDOWN_FILE
from barnabas.storage.log_config import LogConfig
from barnabas.storage.topic_partition import TopicPartition
from tests.storage_setup import FIRST_TIMESTAMP, TOPIC_ID, LogHarness, batch

KEY = TopicPartition("t", 0)
CONFIG = LogConfig(segment_bytes=4000, index_interval_bytes=300, retention_ms=-1)
BATCHES = 60


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A directory as a clean stop leaves it: one log of several segments, its checkpoints, the marker."""
    path = tmp_path / "data"
    harness = LogHarness(OsDisk(), root=str(path), config=CONFIG)
    log = harness.open(topic_id=TOPIC_ID)
    for number in range(BATCHES):
        made = batch(
            2,
            timestamp=FIRST_TIMESTAMP + number,
            value_bytes=60,
            producer_id=3,
            producer_epoch=0,
            base_sequence=2 * number,
        )
        log.append([made], leader_epoch=number // 25)
    end = log.log_end_offset
    log.close()
    disk = OsDisk()
    for name in (checkpoint_file.RECOVERY_POINT_FILE, checkpoint_file.HIGH_WATERMARK_FILE):
        checkpoint_file.write_offsets(disk, f"{path}/{name}", {KEY: end})
    properties = MetaProperties(cluster_id="c", node_id=1, directory_id=bytes(range(16)))
    write_meta_properties(disk, str(path), properties)
    (path / CLEAN_SHUTDOWN_FILE).write_text('{"version":0,"brokerEpoch":7}')
    return path


def doctor(path: Path, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    result = CliRunner().invoke(root, ["doctor", str(path), "-o", "json", "-j", "1", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    return result.exit_code, rows


def found(rows: list[dict[str, Any]]) -> list[str]:
    return [row["what"] for row in rows if row["kind"] == "finding" and row["severity"] != "note"]


def content(path: Path) -> dict[str, bytes]:
    return {str(p.relative_to(path)): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


def wreck(data: Path, number: int, *, segment: int = 0) -> tuple[int, int]:
    """Wreck one batch of a segment beyond restoring; return its offsets."""
    path = sorted((data / "t-0").glob("*.log"))[segment]
    whole = bytearray(path.read_bytes())
    position, header = list(iter_batches(bytes(whole)))[number]
    whole[position + 30 : position + 60] = bytes(range(30))
    path.write_bytes(whole)
    return header.base_offset, header.last_offset


def offsets(data: Path) -> list[int]:
    """Return the offsets of all records that can be read."""
    read: list[int] = []
    for path in sorted((data / "t-0").glob("*.log")):
        whole = path.read_bytes()
        for position, header in iter_batches(whole):
            assert crc_matches(whole, position, header)
            if header.records_count:
                read += range(header.base_offset, header.next_offset)
    return read


def test_a_sound_directory_is_left_as_it_is(data: Path) -> None:
    before = content(data)
    code, rows = doctor(data)
    assert (code, found(rows)) == (0, []), rows
    assert rows[-1] | {"bytes": 0} == {
        "kind": "summary", "directories": 1, "partitions": 1, "batches": BATCHES, "records": 2 * BATCHES,
        "bytes": 0, "findings": 0, "notes": 0,
    }  # fmt: skip
    assert content(data) == before
    assert doctor(data, "--repair", "truncate")[0] == 0
    assert {name: body for name, body in content(data).items() if name != ".lock"} == before


def test_a_directory_that_is_in_use_is_refused(data: Path) -> None:
    lock = OsDisk().lock(f"{data}/.lock")
    assert lock is not None
    try:
        assert doctor(data) == (2, [])
        assert doctor(data, "--live")[0] == 0
        assert doctor(data, "--live", "--repair", "lossless")[0] == 2
    finally:
        lock.close()
    assert doctor(data / "not-there")[0] == 2


def test_a_finding_tells_what_would_be_lost(data: Path) -> None:
    first, last = wreck(data, 5)
    code, rows = doctor(data)
    assert code == 1
    finding = next(row for row in rows if row.get("what") == "batch-crc")
    assert (finding["severity"], finding["repair"], finding["offset"]) == ("damage", "drop", first)
    loss = finding["loss"]
    assert (loss["first_offset"], loss["last_offset"], loss["records"]) == (first, last, 2)
    (partition,) = [row for row in rows if row["kind"] == "partition"]
    assert partition["truncate_would_lose"]["first_offset"] == first
    assert partition["truncate_would_lose"]["records"] == 2 * BATCHES - first


def test_lossless_leaves_damage_that_costs_records(data: Path) -> None:
    wreck(data, 5)
    before = content(data / "t-0")
    code, _ = doctor(data, "--repair", "lossless")
    assert code == 1
    assert content(data / "t-0") == before


@pytest.mark.parametrize("mode", ["drop-batches", "truncate"])
def test_damage_is_mended_once_and_what_was_there_is_kept(data: Path, mode: str) -> None:
    first, last = wreck(data, 5)
    before = content(data)
    code, rows = doctor(data, "--repair", mode)
    assert code == 0, rows
    (copy,) = rows[-1]["copies"]
    assert Path(copy).parent == data.parent
    kept = content(Path(copy))
    changed = {name for name, body in before.items() if content(data).get(name) != body}
    assert changed
    assert {name: kept[name] for name in changed} == {name: before[name] for name in changed}
    everything = list(range(2 * BATCHES))
    if mode == "truncate":
        assert offsets(data) == everything[:first]
    else:
        assert offsets(data) == [offset for offset in everything if not first <= offset <= last]
    assert doctor(data)[0] == 0
    after = content(data)
    assert doctor(data, "--repair", mode)[1][-1]["kind"] == "summary"
    assert content(data) == after
    log = LogHarness(OsDisk(), root=str(data), config=CONFIG).open(recovery_point=0)
    assert log.log_end_offset == (first if mode == "truncate" else 2 * BATCHES), "a start cuts nothing more"


def test_a_repair_that_was_interrupted_is_finished_by_the_next(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, last = wreck(data, 3, segment=1)

    def fails(*_: object) -> None:
        raise OSError(28, "no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(repairing, "_rebuild", fails)
        assert doctor(data, "--repair", "drop-batches")[0] == 2
    assert not (data / CLEAN_SHUTDOWN_FILE).exists(), "a start must not trust this"
    points = checkpoint_file.read_offsets(OsDisk(), f"{data}/{checkpoint_file.RECOVERY_POINT_FILE}")
    assert KEY not in points, "a start must check all of it"
    assert doctor(data, "--repair", "drop-batches")[0] == 0
    assert doctor(data)[0] == 0
    assert offsets(data) == [offset for offset in range(2 * BATCHES) if not first <= offset <= last]


def test_names_and_small_files_are_mended(data: Path) -> None:
    (data / "lost+found").mkdir()
    (data / checkpoint_file.HIGH_WATERMARK_FILE).write_text("0\n1\nt 0 x\n")
    (data / CLEAN_SHUTDOWN_FILE).write_text("{nothing")
    snapshot = max((data / "t-0").glob("*.snapshot"))
    snapshot.write_bytes(snapshot.read_bytes()[:-1] + b"\1")
    code, rows = doctor(data)
    assert code == 1
    assert set(found(rows)) == {"unknown-name", "checkpoint", "clean-marker", "producer-snapshot"}
    code, rows = doctor(data, "--repair", "lossless")
    assert code == 0, rows
    assert doctor(data)[0] == 0
    assert not (data / "lost+found").exists()
    assert os.path.isdir(f"{rows[-1]['copies'][0]}/lost+found")
    assert checkpoint_file.read_offsets(OsDisk(), f"{data}/{checkpoint_file.HIGH_WATERMARK_FILE}") == {
        KEY: 2 * BATCHES
    }


def test_a_missing_end_of_a_synced_log_is_damage(data: Path) -> None:
    last = max((data / "t-0").glob("*.log"))
    whole = last.read_bytes()
    position, _ = list(iter_batches(whole))[-1]
    last.write_bytes(whole[:position])
    code, rows = doctor(data)
    assert code == 1
    finding = next(row for row in rows if row.get("what") == "log-end")
    assert finding["loss"]["records"] == 2


def test_a_torn_end_behind_the_recovery_point_is_a_note(data: Path) -> None:
    (data / CLEAN_SHUTDOWN_FILE).unlink()
    last = max((data / "t-0").glob("*.log"))
    whole = last.read_bytes()
    position, header = list(iter_batches(whole))[-1]
    checkpoint_file.write_offsets(
        OsDisk(), f"{data}/{checkpoint_file.RECOVERY_POINT_FILE}", {KEY: header.base_offset}
    )
    for name in (".index", ".timeindex"):
        last.with_suffix(name).write_bytes(b"")
    max((data / "t-0").glob("*.snapshot")).unlink()
    checkpoint_file.write_offsets(
        OsDisk(), f"{data}/{checkpoint_file.HIGH_WATERMARK_FILE}", {KEY: header.base_offset}
    )
    last.write_bytes(whole[:-1])
    code, rows = doctor(data)
    assert (code, found(rows)) == (0, [])
    assert any(row.get("what") == "batch-cut" and row["severity"] == "note" for row in rows)
    assert position


def test_copies_never_lie_within_the_directory(data: Path) -> None:
    wreck(data, 5)
    before = content(data)
    assert doctor(data, "--repair", "truncate", "--backup-to", str(data))[0] == 2
    assert {name: body for name, body in content(data).items() if name != ".lock"} == before


def test_the_batch_in_place_of_damage_is_one() -> None:
    made = empty_batch(100, 140, 3)
    header = parse_header(made)
    assert crc_matches(made, 0, header)
    assert (header.base_offset, header.last_offset, header.records_count) == (100, 140, 0)
    assert (header.partition_leader_epoch, header.size_bytes) == (3, len(made))


@pytest.mark.parametrize("what", ["pipe", "directory", "link to nothing"])
def test_what_is_no_file_is_named_and_keeps_what_is_known_of_its_log(data: Path, what: str) -> None:
    points = {KEY: 2 * BATCHES}
    starts = {KEY: 11}
    checkpoint_file.write_offsets(OsDisk(), f"{data}/{checkpoint_file.LOG_START_OFFSET_FILE}", starts)
    index = sorted((data / "t-0").glob("*.index"))[1]
    index.unlink()
    match what:
        case "pipe":
            os.mkfifo(index)
        case "directory":
            index.mkdir()
        case _:
            index.symlink_to("/nonexistent/index")
    code, rows = doctor(data)
    assert (code, found(rows)) == (1, ["unreadable"])
    assert next(row["file"] for row in rows if row["kind"] == "finding") == str(index)
    (data / "odd.name").mkdir()  # something to repair beside it
    code, _ = doctor(data, "--repair", "truncate")
    assert code == 1
    assert not (data / "odd.name").exists()
    for name, offsets_before in (
        (checkpoint_file.LOG_START_OFFSET_FILE, starts),
        (checkpoint_file.HIGH_WATERMARK_FILE, points),
        (checkpoint_file.RECOVERY_POINT_FILE, points),
    ):
        assert checkpoint_file.read_offsets(OsDisk(), f"{data}/{name}") == offsets_before


def test_a_pipe_in_the_place_of_a_directorys_own_file_is_refused(
    data: Path,
) -> None:
    path = data / "meta.properties"
    path.unlink()
    os.mkfifo(path)
    assert doctor(data) == (2, [])


@pytest.mark.parametrize("has_other_damage", [False, True])
def test_a_start_beyond_the_logs_end_is_taken_back_before_it_costs_the_records(
    data: Path, has_other_damage: bool
) -> None:
    path = str(data / checkpoint_file.LOG_START_OFFSET_FILE)
    checkpoint_file.write_offsets(OsDisk(), path, {KEY: 1000})
    if has_other_damage:
        next((data / "t-0").glob("*.index")).write_bytes(b"12345678")
    code, rows = doctor(data)
    (finding,) = (row for row in rows if row["kind"] == "finding" and row["file"] == path)
    assert code == 1
    assert finding["cause"] == f"t-0 starts at 1000, but ends at {2 * BATCHES}: a start drops all its records"
    doctor(data, "--repair", "lossless")
    assert checkpoint_file.read_offsets(OsDisk(), path) == {}
    assert doctor(data)[0] == 0
    assert offsets(data) == list(range(2 * BATCHES))


def test_a_start_that_the_log_had_come_to_stays(data: Path) -> None:
    """It has lost its end, and what was deleted must not be back."""
    path = str(data / checkpoint_file.LOG_START_OFFSET_FILE)
    checkpoint_file.write_offsets(OsDisk(), path, {KEY: 2 * BATCHES - 2})
    for last in sorted((data / "t-0").glob("*.log"))[2:]:
        last.unlink()
    doctor(data, "--repair", "truncate")
    again = LogHarness(OsDisk(), root=str(data), config=CONFIG)
    start = checkpoint_file.read_offsets(OsDisk(), path)[KEY]
    log = again.open(log_start_offset=start)
    assert log.log_start_offset == log.log_end_offset
