"""dump-log finds what is wrong, names where, and says nothing about what is right."""

import json
import os
import struct
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from barnabas.cli.root import root
from barnabas.protocol import messages
from barnabas.protocol.checksum import crc32c
from barnabas.protocol.record_batch import parse_header
from barnabas.protocol.record_batch_builder import BatchBuilder

BASE = 100
NAME = f"{BASE:020d}"


def batch(base_offset: int, count: int, timestamp: int) -> bytes:
    builder = BatchBuilder(base_offset=base_offset, partition_leader_epoch=0)
    for number in range(count):
        builder.append(timestamp=timestamp + number, key=b"key", value=b"value %d" % number)
    return builder.build()


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """A sound partition directory: three batches, an entry in each index for the third."""
    directory = tmp_path / "orders-0"
    directory.mkdir()
    batches = [batch(100, 3, 1000), batch(103, 2, 2000), batch(105, 5, 3000)]
    (directory / f"{NAME}.log").write_bytes(b"".join(batches))
    third = len(batches[0]) + len(batches[1])
    (directory / f"{NAME}.index").write_bytes(struct.pack(">ii", 9, third) + bytes(80))
    (directory / f"{NAME}.timeindex").write_bytes(struct.pack(">qi", 3004, 9) + bytes(120))
    body = struct.pack(">i", 1) + struct.pack(">qhiqiqiq", 7, 0, 9, 109, 4, 3004, -1, -1)
    (directory / f"{110:020d}.snapshot").write_bytes(struct.pack(">hI", 1, crc32c(body, 0)) + body)
    (directory / "leader-epoch-checkpoint").write_text("0\n1\n0 100\n")
    (directory / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ")
    return directory


def dump(*arguments: object) -> Result:
    return CliRunner().invoke(root, ["dump-log", *map(str, arguments)])


def damage(directory: Path) -> list[str]:
    result = dump(directory, "--check-only", "--deep-iteration", "-o", "json")
    found = [json.loads(line)["text"] for line in result.output.splitlines()]
    assert result.exit_code == (1 if found else 0)
    return found


def patch(path: Path, position: int, content: bytes) -> None:
    data = bytearray(path.read_bytes())
    data[position : position + len(content)] = content
    path.write_bytes(data)


def test_a_sound_directory_passes(partition: Path) -> None:
    assert damage(partition) == []


def test_everything_is_shown(partition: Path) -> None:
    result = dump(partition, "--print-data", "-o", "json")
    rows = [json.loads(line) for line in result.output.splitlines()]
    kinds = [row["kind"] for row in rows if row["kind"] != "problem"]
    assert kinds.count("batch") == 3
    assert kinds.count("record") == 10
    assert kinds.count("entry") == 3
    assert kinds.count("producer") == 1
    record = next(row for row in rows if row["kind"] == "record" and row["offset"] == 104)
    assert (record["timestamp"], record["key"], record["value"]) == (2001, "key", "value 1")
    assert {row["text"] for row in rows if row["kind"] == "problem"} == {
        "80 bytes of preallocated space",
        "120 bytes of preallocated space",
    }


def test_every_flipped_bit_of_a_segment_is_found(partition: Path) -> None:
    path = partition / f"{NAME}.log"
    sound = path.read_bytes()
    uncovered = set(range(12, 16)) | set(range(8))  # epoch and base offset lie outside the CRC
    for position in range(parse_header(sound).size_bytes):
        if position not in uncovered:
            patch(path, position, bytes([sound[position] ^ 0x10]))
            assert damage(partition), f"byte {position}"
            path.write_bytes(sound)


@pytest.mark.parametrize(
    ("name", "position", "content", "words"),
    [
        (f"{NAME}.log", 7, b"\x00", "where at least 100 was due"),
        (f"{NAME}.index", 7, b"\x01", "no batch of the log begins at byte"),
        (f"{NAME}.index", 3, b"\x08", "ends with offset 109, not 108"),
        (f"{NAME}.index", 40, b"\x01", "where only padding is left"),
        (f"{NAME}.timeindex", 7, b"\x01", "reaches 3004, not"),
        (f"{NAME}.timeindex", 11, b"\x20", "the log has no offset 132"),
        (f"{110:020d}.snapshot", 20, b"\xff", "CRC of the snapshot"),
        ("leader-epoch-checkpoint", 2, b"2", "1 lines where 2 are announced"),
    ],
)
def test_damage_is_named(partition: Path, name: str, position: int, content: bytes, words: str) -> None:
    patch(partition / name, position, content)
    assert any(words in text for text in damage(partition)), damage(partition)


def test_a_cut_segment_is_damage_and_a_gap_is_none(partition: Path) -> None:
    path = partition / f"{NAME}.log"
    whole = path.read_bytes()
    for name in (f"{NAME}.index", f"{NAME}.timeindex"):
        (partition / name).unlink()
    path.write_bytes(whole[:-1])
    assert any("is cut" in text for text in damage(partition))
    path.write_bytes(whole[: parse_header(whole).size_bytes] + batch(200, 1, 5000))
    assert damage(partition) == []
    assert "offsets 103 to 199 are missing" in dump(partition).output


def test_metadata_records_are_decoded(tmp_path: Path) -> None:
    directory = tmp_path / "__cluster_metadata-0"
    directory.mkdir()
    builder = BatchBuilder(partition_leader_epoch=1)
    topic = messages.TopicRecord(name="orders", topic_id=bytes(15) + b"\x01")
    builder.append(timestamp=1, key=None, value=b"\x01\x02\x00" + topic.encode(0))
    (directory / f"{0:020d}.log").write_bytes(builder.build())
    result = dump(directory, "--deep-iteration", "-o", "json")
    record = json.loads(result.output.splitlines()[-1])
    assert (record["type"], record["version"]) == ("TopicRecord", 0)
    assert record["data"] == {"name": "orders", "topicId": "AAAAAAAAAAAAAAAAAAAAAQ"}
    assert "type" not in json.loads(
        dump(directory, "--deep-iteration", "--raw", "-o", "json").output.splitlines()[-1]
    )


@pytest.mark.parametrize("ending", [".deleted", ".cleaned", ".swap"])
def test_files_on_their_way_are_read_like_others(partition: Path, ending: str) -> None:
    for path in list(partition.iterdir()):
        if path.suffix in (".log", ".index", ".timeindex"):
            path.rename(path.with_name(path.name + ending))
    assert damage(partition) == []
    patch(partition / f"{NAME}.index{ending}", 7, b"\x01")
    assert any("no batch of the log begins" in text for text in damage(partition))


def test_moving_partitions_and_kafkas_way_to_name_files(partition: Path) -> None:
    moving = partition.rename(partition.with_name(f"orders-0.{'0' * 32}-future"))
    assert damage(moving.parent) == []
    logs = f"{moving / NAME}.log,{moving / NAME}.index"
    rows = [json.loads(line) for line in dump("--files", logs, "-o", "json").output.splitlines()]
    assert [row["kind"] for row in rows if row["kind"] != "problem"] == ["batch"] * 3 + ["entry"]
    assert dump().exit_code == 2
    assert dump("--files", "no/such/file").exit_code == 2


def test_records_are_decoded_outside_of_their_directory(tmp_path: Path) -> None:
    builder = BatchBuilder(partition_leader_epoch=1)
    topic = messages.TopicRecord(name="orders", topic_id=bytes(15) + b"\x01")
    builder.append(timestamp=1, key=None, value=b"\x01\x02\x00" + topic.encode(0))
    copied = tmp_path / f"{0:020d}.log"
    copied.write_bytes(builder.build())
    row = json.loads(
        dump(copied, "--deep-iteration", "--topic", "__cluster_metadata", "-o", "json").output.splitlines()[
            -1
        ]
    )
    assert row["type"] == "TopicRecord"


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    result = dump(path)
    assert result.exit_code == 1
    assert "not a file of a log directory" in result.output


def test_a_directory_without_anything_to_check_is_not_called_undamaged(tmp_path: Path) -> None:
    (tmp_path / "somewhere-else").mkdir()
    (tmp_path / "letter.txt").write_text("dear")
    result = dump(tmp_path)
    assert result.exit_code == 2
    assert "holds no file of a log" in result.output


def test_a_pipe_in_a_files_place_is_damage_and_not_waited_for(partition: Path) -> None:
    index = partition / f"{NAME}.index"
    index.unlink()
    os.mkfifo(index)
    assert damage(partition) == ["is no regular file"]
