"""Reading the metadata log before anything is changed: it ends where recovery cuts, and writes nothing."""

from __future__ import annotations

import random

import pytest

from barnabas.metadata.controller import TopicCreation
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.log_replay import MetadataReplay, whole_batches
from barnabas.metadata.metadata_log import DIRECTORY_NAME, MetadataLogConfig
from barnabas.metadata.records import MetadataError
from barnabas.protocol.record_batch import iter_batches

from .broker_node import DIRECTORY, Node

PATH = f"{DIRECTORY}/{DIRECTORY_NAME}"
WRITES = {"write", "truncate", "create", "make_dirs", "rename", "unlink", "sync", "sync_dir"}


def node_with_topics(count: int = 60) -> Node:
    """A node that was killed, with several segments."""
    node = Node(config=MetadataLogConfig(segment_bytes=4000))
    controller = node.start()
    for number in range(count):
        controller.create_topics([TopicCreation(name=f"topic-{number}")])
    controller.abandon()
    return node


def segments(node: Node) -> list[str]:
    return [f"{PATH}/{name}" for name in node.disk.list_dir(PATH) if name.endswith(".log")]


def content(node: Node, path: str) -> bytes:
    file = node.disk.open_readonly(path)
    return file.read_at(0, file.size())


def overwrite(node: Node, path: str, data: bytes) -> None:
    file = node.disk.open(path)
    file.truncate(0)
    file.write_at(0, [data])
    file.sync()
    file.close()


def damage(data: bytes, chance: random.Random) -> bytes:
    """Cut, flip a bit, or write zeros over the end."""
    at = chance.randrange(len(data))
    kind = chance.randrange(3)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]
    return data[:at] + bytes(len(data) - at)


@pytest.mark.parametrize("seed", range(40))
def test_it_ends_where_recovery_cuts(seed: int) -> None:
    chance = random.Random(seed)
    node = node_with_topics()
    paths = segments(node)
    assert len(paths) >= 3
    path = chance.choice(paths)
    before = content(node, path)
    overwrite(node, path, damage(before, chance))
    # A start checks that both met at the same offset; what was cut is cut for good.
    controller = node.start()
    left = set(controller.image.topics)
    assert left == {f"topic-{number}" for number in range(len(left))}
    controller.create_topics([TopicCreation(name="after")])
    controller.stop()
    assert set(node.start().image.topics) == left | {"after"}


def test_nothing_is_written_while_it_is_read() -> None:
    node = node_with_topics()
    overwrite(node, segments(node)[-1], content(node, segments(node)[-1])[:-3])
    operations: list[str] = []
    node.disk.on_operation = lambda what, path: operations.append(what)
    image = MetadataImage()
    replay = MetadataReplay(node.disk, PATH, image)
    replay.run()
    node.disk.on_operation = None
    assert len(image.topics) in (59, 60)
    assert "read" in operations
    assert not WRITES & set(operations)


def test_only_what_the_newest_snapshot_does_not_hold_is_read_of_the_log() -> None:
    node = node_with_topics()
    controller = node.start()
    controller.log.write_snapshot(controller.image)
    controller.create_topics([TopicCreation(name="behind")])
    controller.abandon()
    # A damaged first segment says nothing that is still needed.
    overwrite(node, segments(node)[0], b"\0" * 100)
    image = MetadataImage()
    replay = MetadataReplay(node.disk, PATH, image)
    replay.run()
    assert len(image.topics) == 61
    assert replay.bytes_since_snapshot < 1000


def test_a_log_that_begins_behind_the_snapshot_is_refused() -> None:
    node = node_with_topics()
    for path in segments(node)[:-1]:
        node.disk.unlink(path)
    with pytest.raises(MetadataError, match="the records between are missing"):
        node.start()


def test_batches_larger_than_a_piece_are_read_whole() -> None:
    node = Node()
    controller = node.start()
    controller.create_topics([TopicCreation(name="t" * 200, num_partitions=4000)])
    for number in range(16):
        controller.create_topics([TopicCreation(name=f"{number}", num_partitions=4000)])
    controller.abandon()
    (path,) = segments(node)
    data = content(node, path)
    file = node.disk.open_readonly(path)
    found = [(header.base_offset, bytes(batch)) for batch, header in whole_batches(file)]
    expected = [
        (header.base_offset, data[position : position + header.size_bytes])
        for position, header in iter_batches(data)
    ]
    assert len(data) > 4_500_000
    assert found == expected
