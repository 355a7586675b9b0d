"""Formatting and checking log.dirs, and reading what Apache Kafka's own formatter left."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from barnabas.base.disk import write_file_durably
from barnabas.base.uuids import uuid_text
from barnabas.metadata.controller import TopicCreation
from barnabas.metadata.formatting import LogDirs, open_log_dirs, read_meta_properties
from barnabas.metadata.java_properties import parse_properties
from barnabas.metadata.metadata_log import DIRECTORY_NAME
from barnabas.metadata.quorum_state import read_quorum_state
from barnabas.metadata.records import MetadataError
from barnabas.metadata.snapshots import BOOTSTRAP_ID, read_snapshot, read_snapshot_file
from barnabas.protocol.record_batch_builder import BatchBuilder
from barnabas.sim.disk import MemoryDisk
from tests.seeded_entropy import SeededEntropy

from .broker_node import CONTROLLER, DIRECTORY, Node

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "metadata"


def open_dirs(disk: MemoryDisk, *dirs: str, node_id: int = 1, cluster_id: str | None = None) -> LogDirs:
    return open_log_dirs(
        disk=disk,
        log_dirs=dirs,
        metadata_dir=dirs[0],
        node_id=node_id,
        controller_endpoint=CONTROLLER,
        entropy=SeededEntropy(sum(map(ord, "".join(dirs)))),
        now_ms=1_700_000_000_000,
        cluster_id=cluster_id,
    )


def put(disk: MemoryDisk, path: str, content: bytes) -> None:
    disk.make_dirs(path.rsplit("/", 1)[0])
    write_file_durably(disk, path, content)


def test_the_first_checkpoint_says_what_apache_kafkas_formatter_says() -> None:
    disk = MemoryDisk()
    put(disk, "/golden/bootstrap.checkpoint", (GOLDEN / "bootstrap.checkpoint").read_bytes())
    theirs = read_snapshot_file(disk, "/golden/bootstrap.checkpoint")
    open_dirs(disk, "/a")
    ours = read_snapshot(disk, f"/a/{DIRECTORY_NAME}", BOOTSTRAP_ID)
    assert [e.record for e in ours] == [e.record for e in theirs]
    assert [e.control for e in ours] == [e.control for e in theirs]
    assert [e.offset for e in ours] == [e.offset for e in theirs]


def test_formatting_happens_once() -> None:
    disk = MemoryDisk()
    first = open_dirs(disk, "/a", "/b")
    assert set(first.formatted) == {"/a", "/b"}
    again = open_dirs(disk, "/a", "/b")
    assert again.formatted == ()
    assert (again.cluster_id, again.directory_ids) == (first.cluster_id, first.directory_ids)
    added = open_dirs(disk, "/a", "/b", "/c")
    assert added.formatted == ("/c",)
    assert added.cluster_id == first.cluster_id


def test_refusals_name_the_directory_and_change_nothing() -> None:
    disk = MemoryDisk()
    open_dirs(disk, "/a")
    with pytest.raises(MetadataError, match=r"/a belongs to node.id 1"):
        open_dirs(disk, "/a", node_id=2)
    with pytest.raises(MetadataError, match="not to other"):
        open_dirs(disk, "/a", cluster_id="other")
    with pytest.raises(MetadataError, match="holds no metadata"):
        open_dirs(disk, "/new", "/a")
    open_dirs(disk, "/b")
    with pytest.raises(MetadataError, match="different clusters"):
        open_dirs(disk, "/a", "/b")
    put(disk, "/full/topic-0/00000000000000000000.log", b"")
    with pytest.raises(MetadataError, match="holds 'topic-0'"):
        open_dirs(disk, "/full")
    assert not disk.exists("/full/meta.properties")
    put(disk, "/old/meta.properties", b"version=0\nbroker.id=1\n")
    with pytest.raises(MetadataError, match="version 0"):
        open_dirs(disk, "/old")
    put(disk, "/torn/meta.properties", b"version=1\nnode.id=1\n")
    with pytest.raises(MetadataError, match=r"lacks cluster.id"):
        open_dirs(disk, "/torn")


def test_a_copied_directory_is_told_apart() -> None:
    disk = MemoryDisk()
    dirs = open_dirs(disk, "/a")
    text = f"version=1\ncluster.id={dirs.cluster_id}\nnode.id=1\n"
    put(disk, "/b/meta.properties", f"{text}directory.id={uuid_text(dirs.directory_ids['/a'])}\n".encode())
    with pytest.raises(MetadataError, match="one is a copy"):
        open_dirs(disk, "/a", "/b")


def test_a_directory_of_an_older_release_gets_an_id() -> None:
    disk = MemoryDisk()
    cluster = open_dirs(disk, "/a").cluster_id
    put(disk, "/b/meta.properties", f"version=1\ncluster.id={cluster}\nnode.id=1\n".encode())
    directory_id = open_dirs(disk, "/a", "/b").directory_ids["/b"]
    found = read_meta_properties(disk, "/b")
    assert found is not None
    assert found.directory_id == directory_id


@pytest.mark.parametrize("seed", range(20))
def test_power_loss_while_formatting_leaves_a_directory_that_can_be_formatted(seed: int) -> None:
    chance = random.Random(seed)
    for fail_at in range(1, 60):
        disk = MemoryDisk()
        disk.make_dirs("/root")
        disk.sync_dir("/")
        left = [fail_at]

        def count(what: str, path: str, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] == 0:
                raise OSError(5, f"{what} {path}")

        disk.on_operation = count
        try:
            open_dirs(disk, "/root/a", "/root/b")
        except OSError:
            pass
        else:
            return
        disk.on_operation = None
        disk.crash(chance)
        done = open_dirs(disk, "/root/a", "/root/b")
        assert len(set(done.directory_ids.values())) == 2
        read_snapshot(disk, f"/root/a/{DIRECTORY_NAME}", BOOTSTRAP_ID)


def test_a_record_of_a_newer_release_stops_the_start_and_changes_nothing() -> None:
    node = Node()
    controller = node.start()
    controller.create_topics([TopicCreation(name="t")])
    offset = controller.metadata_offset + 1
    controller.abandon()
    log_path = f"{DIRECTORY}/{DIRECTORY_NAME}/00000000000000000000.log"
    file = node.disk.open(log_path)
    batch = _foreign_batch(offset)
    file.write_at(file.size(), [batch])
    file.sync()
    content = file.read_at(0, file.size())
    epoch = read_quorum_state(node.disk, f"{DIRECTORY}/{DIRECTORY_NAME}")
    with pytest.raises(MetadataError, match=rf"offset {offset}: metadata record of unknown type 99"):
        node.start()
    assert file.read_at(0, file.size()) == content
    assert read_quorum_state(node.disk, f"{DIRECTORY}/{DIRECTORY_NAME}") == epoch


def _foreign_batch(offset: int) -> bytes:
    builder = BatchBuilder(base_offset=offset, partition_leader_epoch=1)
    builder.append(timestamp=1, key=None, value=b"\x01\x63\x00\x00")
    return builder.build()


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a=1\n b : 2\nc 3", {"a": "1", "b": "2", "c": "3"}),
        ("# x\n! y\n\na=b=c", {"a": "b=c"}),
        ("a=1,\\\n   2", {"a": "1,2"}),
        ("a\\ b=\\u00e9\\t\\x", {"a b": "é\tx"}),
        ("a=1\r\na=2\rb", {"a": "2", "b": ""}),
        ("a=x\\", {"a": "x"}),
    ],
)
def test_java_properties(text: str, values: dict[str, str]) -> None:
    assert parse_properties(text) == values


def test_a_malformed_escape_names_its_line() -> None:
    with pytest.raises(ValueError, match="line 2"):
        parse_properties("a=1\nb=\\u12")
