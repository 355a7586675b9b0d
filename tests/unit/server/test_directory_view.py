"""Looking at a data directory without a broker: what is refused, who leads, what is told besides."""

from pathlib import Path

import pytest

from barnabas.base.clock import SystemClock
from barnabas.base.disk import OsDisk
from barnabas.base.entropy import SystemEntropy
from barnabas.metadata.image import MetadataDelta, MetadataImage
from barnabas.metadata.records import VersionedRecord
from barnabas.protocol import messages
from barnabas.server.directory_view import DirectoryViewError, elect, state_note, view_partition
from barnabas.server.settings import load_settings
from barnabas.storage.checkpoints.directory_checkpoints import CLEAN_SHUTDOWN_FILE

TOPIC_ID = bytes(range(16))


def image_with(leader: int, leader_epoch: int = 4) -> MetadataImage:
    image = MetadataImage()
    for record in (
        messages.TopicRecord(name="orders", topic_id=TOPIC_ID),
        messages.PartitionRecord(
            partition_id=0, topic_id=TOPIC_ID, replicas=[1], isr=[1], leader=leader,
            leader_epoch=leader_epoch, partition_epoch=9, directories=[bytes(15) + b"\x09"],
        ),
    ):  # fmt: skip
        image.replay(VersionedRecord(record), MetadataDelta())
    return image


def test_a_partition_without_a_leader_gets_the_one_that_a_start_elects() -> None:
    image = image_with(leader=-1)
    (note,) = elect(image, 1, TOPIC_ID, 0)
    assert note == "no leader is elected now; a start elects node 1, in leader epoch 5"
    partition = image.topics_by_id[TOPIC_ID].partitions[0]
    assert (partition.leader, partition.leader_epoch) == (1, 5)


def test_a_leader_stays() -> None:
    image = image_with(leader=1)
    assert elect(image, 1, TOPIC_ID, 0) == []
    assert image.topics_by_id[TOPIC_ID].partitions[0].leader_epoch == 4


def test_a_clean_stop_of_every_directory_needs_no_warning(tmp_path: Path) -> None:
    directories = [tmp_path / "a", tmp_path / "b"]
    for directory in directories:
        directory.mkdir()
    (directories[0] / CLEAN_SHUTDOWN_FILE).touch()
    paths = [str(directory) for directory in directories]
    assert "left by a crash" in state_note(OsDisk(), paths)
    (directories[1] / CLEAN_SHUTDOWN_FILE).touch()
    assert state_note(OsDisk(), paths) == "as a broker started on these files would answer"


@pytest.mark.parametrize(("name", "words"), [("nowhere", "is no directory"), (".", "holds no metadata log")])
def test_what_is_no_data_directory_is_refused(tmp_path: Path, name: str, words: str) -> None:
    settings = load_settings(overrides=[f"log.dirs={tmp_path / name}"])
    with pytest.raises(DirectoryViewError, match=words):
        view_partition(settings, "orders", 0, disk=OsDisk(), clock=SystemClock(), entropy=SystemEntropy())
    assert list(tmp_path.iterdir()) == []
