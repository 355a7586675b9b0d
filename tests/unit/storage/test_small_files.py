"""Leader epochs, checkpoints, partition.metadata, directory names: exact text, nothing else is taken."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.sim.disk import MemoryDisk
from barnabas.storage import partition_metadata
from barnabas.storage.checkpoints import checkpoint_file
from barnabas.storage.checkpoints.checkpoint_file import CheckpointError
from barnabas.storage.leader_epochs import LeaderEpochs
from barnabas.storage.partition_directory import delete_name, parse_name
from barnabas.storage.topic_partition import TopicPartition


@pytest.fixture
def disk() -> MemoryDisk:
    made = MemoryDisk()
    made.make_dirs("/d")
    return made


def put(disk: MemoryDisk, path: str, content: bytes) -> None:
    file = disk.open(path, create=True)
    file.truncate(0)
    file.write_at(0, [content])


def get(disk: MemoryDisk, path: str) -> bytes:
    file = disk.open_readonly(path)
    return file.read_at(0, file.size())


def epochs(*entries: tuple[int, int]) -> LeaderEpochs:
    made = LeaderEpochs("/d/leader-epoch-checkpoint")
    for epoch, start in entries:
        made.assign(epoch, start)
    return made


def test_leader_epochs_are_kept_in_kafkas_format(disk: MemoryDisk) -> None:
    made = epochs((0, 0), (3, 17))
    assert made.dirty
    made.persist(disk, 18)
    assert get(disk, "/d/leader-epoch-checkpoint") == b"0\n2\n0 0\n3 17\n"
    read = LeaderEpochs("/d/leader-epoch-checkpoint")
    read.load(disk)
    assert read.entries == made.entries
    assert not read.dirty


def test_an_epoch_without_records_is_not_worth_a_sync(disk: MemoryDisk) -> None:
    made = epochs((2, 10))
    made.persist(disk, 10)
    assert not disk.exists("/d/leader-epoch-checkpoint")
    made.persist(disk, 11)
    assert get(disk, "/d/leader-epoch-checkpoint") == b"0\n1\n2 10\n"


def test_a_new_epoch_drops_what_it_contradicts() -> None:
    assert epochs((0, 0), (1, 10), (2, 20), (3, 15)).entries == [(0, 0), (1, 10), (3, 15)]
    assert epochs((0, 0), (5, 10), (4, 12)).entries == [(0, 0), (4, 12)]
    assert epochs((0, 0), (1, 10), (1, 30)).entries == [(0, 0), (1, 10)]
    assert epochs((0, 5), (1, 5)).entries == [(1, 5)]
    with pytest.raises(ValueError, match="cannot start"):
        epochs((-1, 0))


@pytest.mark.parametrize(
    ("asked", "answer"),
    [(-1, (-1, -1)), (0, (0, 10)), (1, (1, 10)), (2, (2, 20)),
     (3, (2, 20)), (4, (4, 30)), (6, (6, 99)), (7, (-1, -1))],
)  # fmt: skip
def test_f16_the_end_of_an_epoch_is_where_the_next_known_one_starts(
    asked: int, answer: tuple[int, int]
) -> None:
    known = epochs((2, 10), (4, 20), (6, 30))
    assert known.end_offset_for(asked, 99) == answer


def test_truncating_epochs_at_either_end() -> None:
    known = epochs((0, 0), (1, 10), (2, 20))
    known.truncate_from_end(20)
    assert known.entries == [(0, 0), (1, 10)]
    known.truncate_from_start(15)
    assert known.entries == [(1, 15)]
    disk = MemoryDisk()
    disk.make_dirs("/d")
    known.persist(disk, 20)
    known.truncate_from_start(15)
    known.truncate_from_end(16)
    assert not known.dirty
    assert epochs((3, 10)).epoch_for(9) == -1
    assert epochs((3, 10), (5, 20)).epoch_for(19) == 3


@pytest.mark.parametrize(
    "content",
    [b"0\n", b"1\n0\n", b"0\n1\n", b"0\n0\n1 2\n", b"0\n1\n1\n", b"0\n1\na b\n", b"\xff\n0\n", b"0\nx\n"]
)  # fmt: skip
def test_what_is_no_checkpoint_is_refused_whole(disk: MemoryDisk, content: bytes) -> None:
    put(disk, "/d/c", content)
    with pytest.raises(CheckpointError):
        checkpoint_file.read_offsets(disk, "/d/c")
    put(disk, "/d/leader-epoch-checkpoint", content)
    with pytest.raises(CheckpointError):
        LeaderEpochs("/d/leader-epoch-checkpoint").load(disk)


def test_an_offset_that_no_log_can_have_is_none(disk: MemoryDisk) -> None:
    """As a log start it would empty the log, and what is appended then could not be read."""
    put(disk, "/d/c", b"0\n1\nt 0 9223372036854775808\n")
    with pytest.raises(CheckpointError, match="whose offset is none"):
        checkpoint_file.read_offsets(disk, "/d/c")
    put(disk, "/d/c", b"0\n1\nt 0 9223372036854775807\n")
    assert checkpoint_file.read_offsets(disk, "/d/c") == {TopicPartition("t", 0): 2**63 - 1}


@pytest.mark.parametrize("line", [b"2147483648 0", b"1 9223372036854775808", b"1 -5", b"-1 0"])
def test_a_leader_epoch_that_no_response_can_hold_is_none(disk: MemoryDisk, line: bytes) -> None:
    put(disk, "/d/leader-epoch-checkpoint", b"0\n1\n" + line + b"\n")
    with pytest.raises(CheckpointError, match="which is no epoch"):
        LeaderEpochs("/d/leader-epoch-checkpoint").load(disk)


def test_an_empty_checkpoint_says_nothing_yet(disk: MemoryDisk) -> None:
    put(disk, "/d/c", b"")  # Apache Kafka makes the files before it has anything to say
    assert checkpoint_file.read_offsets(disk, "/d/c") == {}


@given(content=st.binary(max_size=60))
def test_any_bytes_give_offsets_or_a_checkpoint_error(content: bytes) -> None:
    disk = MemoryDisk()
    put(disk, "/c", content)
    with suppress(CheckpointError):
        checkpoint_file.read_offsets(disk, "/c")


def test_offset_checkpoints_round_trip_and_are_durable(disk: MemoryDisk) -> None:
    offsets = {TopicPartition("a-b.c", 0): 5, TopicPartition("z", 12): 2**60}
    disk.sync_dir("/")
    checkpoint_file.write_offsets(disk, "/d/recovery-point-offset-checkpoint", offsets)
    assert get(disk, "/d/recovery-point-offset-checkpoint") == b"0\n2\na-b.c 0 5\nz 12 1152921504606846976\n"

    class Never:
        def randrange(self, stop: int, /) -> int:
            return min(1, stop - 1)

    disk.crash(Never())
    assert checkpoint_file.read_offsets(disk, "/d/recovery-point-offset-checkpoint") == offsets
    assert checkpoint_file.read_offsets(disk, "/d/none") == {}


def test_partition_metadata(disk: MemoryDisk) -> None:
    topic_id = bytes(range(16))
    partition_metadata.write_topic_id(disk, "/d", topic_id)
    assert get(disk, "/d/partition.metadata") == b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw"
    assert partition_metadata.read_topic_id(disk, "/d") == topic_id
    assert partition_metadata.read_topic_id(disk, "/none") is None
    put(disk, "/d/partition.metadata", b"")
    assert partition_metadata.read_topic_id(disk, "/d") is None
    for content in (
        b"version: 1\ntopic_id: AAECAwQFBgcICQoLDA0ODw",
        b"version: 0\n",
        b"version: 0\ntopic_id: x",
        b"\xff",
    ):
        put(disk, "/d/partition.metadata", content)
        with pytest.raises(partition_metadata.PartitionMetadataError):
            partition_metadata.read_topic_id(disk, "/d")


def test_directory_names() -> None:
    assert parse_name("a-b-3") == ("a-b", 3)
    for name in ("a", "a-", "-1", "a-x", "a-1.0123-delete", "a-²", "a-99999999999"):
        assert parse_name(name) is None
    long = delete_name(TopicPartition("t" * 249, 12), "0" * 32)
    assert len(long) == 255
    assert long.endswith(f".{'0' * 32}-delete")
