"""A broker started on what it cannot go on with: one line that says what to do, and not a byte changed.

Each case is a data directory as another release or a larger cluster would leave it, built from one of ours.
"""

import re
import shutil
import struct
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from barnabas.metadata.batches import build_control_batch, build_data_batches
from barnabas.metadata.features import DEFAULT_FEATURES
from barnabas.metadata.formatting import BOOTSTRAP_CHECKPOINT
from barnabas.metadata.records import VersionedRecord
from barnabas.metadata.snapshots import Quorum, encode_snapshot
from barnabas.protocol import messages as m
from barnabas.protocol.control_records import ControlType
from barnabas.protocol.record_batch import iter_batches
from barnabas.protocol.record_batch_builder import BatchBuilder
from barnabas.server.broker import Broker, StartError
from barnabas.server.settings import load_settings
from tests.server.test_broker import Running

METADATA = "__cluster_metadata-0"
LATER = 1_900_000_000_000


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a topic, stopped cleanly."""
    path = tmp_path_factory.mktemp("original") / "data"
    with Running(path) as broker:
        broker.create("topic")
    return path


@pytest.fixture
def data(original: Path, tmp_path: Path) -> Path:
    """A copy of it, as if another broker had been the last to use it."""
    path = tmp_path / "data"
    shutil.copytree(original, path)
    (path / ".lock").write_bytes(b"")
    return path


def content(directory: Path) -> dict[str, bytes | None]:
    """Every name below a directory with its bytes; lock files are nobody's."""
    found = sorted(directory.rglob("*"))
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() else None
        for path in found
        if path.name != ".lock"
    }


def start_and_stop(broker: Broker) -> None:
    broker.start()
    broker.stop(now=True)
    broker.run()


def refusal(data: Path, *overrides: str) -> str:
    """Return the one line with which a start is refused."""
    settings = load_settings(overrides=[f"log.dirs={data}", "listeners=PLAINTEXT://127.0.0.1:0", *overrides])
    broker = Broker(settings)
    with pytest.raises(StartError) as refused:
        start_and_stop(broker)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def metadata_log(data: Path) -> Path:
    return data / METADATA / f"{0:020d}.log"


def append_batch(data: Path, make: Callable[[int], bytes]) -> None:
    """Append to the metadata log what `make` returns for the next offset."""
    log = metadata_log(data)
    *_, (_, last) = iter_batches(log.read_bytes())
    with log.open("ab") as file:
        file.write(make(last.last_offset + 1))


def append(data: Path, *records: VersionedRecord) -> None:
    append_batch(
        data,
        lambda offset: build_data_batches(records, base_offset=offset, epoch=1, timestamp=LATER)[0],
    )


def append_raw(data: Path, value: bytes) -> None:
    def make(offset: int) -> bytes:
        builder = BatchBuilder(base_offset=offset, partition_leader_epoch=1)
        builder.append(timestamp=LATER, key=None, value=value)
        return builder.build()

    append_batch(data, make)


def append_control(data: Path, control: ControlType, message: Any) -> None:
    append_batch(
        data,
        lambda offset: build_control_batch(
            [(control, message)], base_offset=offset, epoch=1, timestamp=LATER
        ),
    )


def feature(name: str, level: int) -> VersionedRecord:
    return VersionedRecord(m.FeatureLevelRecord(name=name, feature_level=level))


def voters(*ids: int) -> Any:
    made = [
        m.VotersRecordVoter(
            voter_id=voter,
            voter_directory_id=bytes(16),
            endpoints=[],
            kraft_version_feature=m.VotersRecordKRaftVersionFeature(
                min_supported_version=0, max_supported_version=1
            ),
        )
        for voter in ids
    ]
    return m.VotersRecord(version=0, voters=made)


def broker_record(broker_id: int, *, fenced: bool) -> VersionedRecord:
    return VersionedRecord(
        m.RegisterBrokerRecord(
            broker_id=broker_id,
            broker_epoch=900,
            incarnation_id=bytes(15) + b"\x09",
            end_points=[],
            features=[],
            fenced=fenced,
            log_dirs=[bytes(15) + b"\x08"],
        ),
        3,
    )


def foreign_topic(replicas: Sequence[int], leader: int) -> list[VersionedRecord]:
    topic_id = bytes(15) + b"\x07"
    partition = m.PartitionRecord(
        partition_id=0,
        topic_id=topic_id,
        replicas=list(replicas),
        isr=list(replicas),
        leader=leader,
        leader_epoch=0,
        partition_epoch=0,
        directories=[bytes(15) + bytes([60 + replica]) for replica in replicas],
    )
    return [
        VersionedRecord(m.TopicRecord(name="spread", topic_id=topic_id)),
        VersionedRecord(partition, 2),
    ]


def tiered_topic() -> VersionedRecord:
    return VersionedRecord(
        m.ConfigRecord(resource_type=2, resource_name="topic", name="remote.storage.enable", value="true")
    )


def old_message(magic: int) -> bytes:
    """A message of Kafka 0.7 to 0.10."""
    body = bytes([magic, 0]) + (struct.pack(">q", LATER) if magic else b"")
    body += struct.pack(">i3si5s", 3, b"key", 5, b"value")
    whole = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", 0, len(whole)) + whole


def put_old_segment(data: Path, magic: int) -> None:
    """An old first segment with a newer one behind it, as years leave it."""
    partition = data / "topic-0"
    (partition / f"{0:020d}.log").rename(partition / f"{1:020d}.log")
    (partition / f"{0:020d}.log").write_bytes(old_message(magic))


def rewrite_properties(data: Path, before: str, after: str) -> None:
    path = data / "meta.properties"
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def put_bootstrap(data: Path, *records: VersionedRecord) -> None:
    """What formatting for configured voters leaves, and nothing else of the metadata."""
    shutil.rmtree(data / METADATA)
    batches = encode_snapshot(
        records, quorum=Quorum(kraft_version=0), epoch=0, last_timestamp=LATER, timestamp=LATER
    )
    (data / BOOTSTRAP_CHECKPOINT).write_bytes(b"".join(batches))


def put_quorum_state(data: Path, text: str) -> None:
    (data / METADATA / "quorum-state").write_text(text)


def put_snapshot(data: Path, quorum: Quorum, *records: VersionedRecord) -> None:
    batches = encode_snapshot(records, quorum=quorum, epoch=1, last_timestamp=LATER, timestamp=LATER)
    (data / METADATA / f"{1000:020d}-{1:010d}.checkpoint").write_bytes(b"".join(batches))


def default_features() -> list[VersionedRecord]:
    return [feature(name, level) for name, level in DEFAULT_FEATURES.items()]


CASES: dict[str, tuple[Callable[[Path], object], str]] = {
    "record-type": (lambda d: append_raw(d, b"\x01\x63\x00\x00"), r"unknown type 99.*newer release"),
    "record-version": (lambda d: append_raw(d, b"\x01\x02\x01\x00"), r"TopicRecord has version 1.*0 to 0"),
    "frame-version": (lambda d: append_raw(d, b"\x02\x02\x00"), "frame version 2"),
    "config-resource": (
        lambda d: append(d, VersionedRecord(m.ConfigRecord(resource_type=64, resource_name="x", name="y"))),
        "sets y on a resource of the unknown type 64",
    ),
    "feature": (lambda d: append(d, feature("queues.version", 1)), "queues.version is finalised at level 1"),
    "metadata-version": (
        lambda d: append(d, feature("metadata.version", 34)),
        "metadata.version is at level 34; this broker supports levels 7 to 33",
    ),
    "old-metadata-version": (lambda d: append(d, feature("metadata.version", 6)), "level 6.*7 to 33"),
    "feature-level": (
        lambda d: append(d, feature("transaction.version", 3)),
        "transaction.version is at level 3; this broker supports levels 0 to 2",
    ),
    "kraft-version": (
        lambda d: append_control(
            d, ControlType.KRAFT_VERSION, m.KRaftVersionRecord(version=0, kraft_version=2)
        ),
        "kraft.version is at level 2",
    ),
    "other-voters": (
        lambda d: append_control(d, ControlType.KRAFT_VOTERS, voters(1, 2, 3)),
        r"voters \[1, 2, 3\].*alone as node 1.*remove-controller",
    ),
    "not-a-voter": (lambda d: append_control(d, ControlType.KRAFT_VOTERS, voters(2)), r"voters \[2\]"),
    "no-voters-yet": (
        lambda d: put_snapshot(d, Quorum(kraft_version=1, voters=voters()), *default_features()),
        "without initial controllers",
    ),
    "configured-voters": (
        lambda d: (
            put_bootstrap(d, *default_features()),
            (d / METADATA).mkdir(),
            put_quorum_state(
                d,
                '{"clusterId":"","leaderId":2,"leaderEpoch":3,"votedId":-1,"appliedOffset":0,'
                '"currentVoters":[{"voterId":1},{"voterId":2}],"data_version":0}',
            ),
        ),
        r"voters \[1, 2\]",
    ),
    "quorum-state-version": (
        lambda d: put_quorum_state(d, '{"leaderId":1,"leaderEpoch":1,"data_version":2}'),
        "quorum-state has data_version 2",
    ),
    "torn-quorum-state": (lambda d: put_quorum_state(d, '{"leaderId":1,'), "quorum-state is damaged"),
    "other-broker": (
        lambda d: append(d, broker_record(2, fenced=False)),
        r"other brokers .*\(2\).*unregister",
    ),
    "other-replicas": (
        lambda d: append(d, broker_record(2, fenced=True), *foreign_topic([1, 2], 1)),
        r"partition spread-0 has replicas on other brokers \(2\).*kafka-reassign-partitions",
    ),
    "no-replica-here": (
        lambda d: append(d, broker_record(2, fenced=True), *foreign_topic([2], 2)),
        r"partition spread-0 has replicas on other brokers \(2\)",
    ),
    "tiered": (lambda d: append(d, tiered_topic()), "topic topic keeps records in tiered storage"),
    "zookeeper-migration": (
        lambda d: append(d, VersionedRecord(m.ZkMigrationStateRecord(zk_migration_state=2))),
        "in the middle of its migration from ZooKeeper",
    ),
    "zookeeper": (
        lambda d: (d / "meta.properties").write_text("version=0\nbroker.id=1\n"),
        "version 0, of a broker that was run with ZooKeeper.*migrate",
    ),
    "properties-version": (lambda d: rewrite_properties(d, "version=1", "version=2"), "version 2.*version 1"),
    "no-properties-version": (lambda d: rewrite_properties(d, "version=1", ""), "lacks version"),
    "no-cluster": (lambda d: rewrite_properties(d, "cluster.id=", "cluster="), "lacks cluster.id"),
    "no-node": (lambda d: rewrite_properties(d, "node.id=1", "node.id=one"), "meta.properties is damaged"),
    "other-node": (lambda d: rewrite_properties(d, "node.id=1", "node.id=7"), "belongs to node.id 7"),
    "bad-directory-id": (
        lambda d: rewrite_properties(d, "directory.id=", "directory.id=!"),
        "meta.properties is damaged",
    ),
    "no-properties": (lambda d: (d / "meta.properties").unlink(), "but no meta.properties"),
    "message-format-0": (lambda d: put_old_segment(d, 0), "message format 0; this broker reads format 2"),
    "message-format-1": (lambda d: put_old_segment(d, 1), "message format 1; this broker reads format 2"),
    "bootstrap-feature": (
        lambda d: put_bootstrap(d, *default_features(), feature("queues.version", 1)),
        "queues.version is finalised at level 1",
    ),
    "bootstrap-metadata-version": (
        lambda d: put_bootstrap(d, feature("metadata.version", 40)),
        "metadata.version is at level 40",
    ),
    "damaged-snapshot": (
        lambda d: (d / METADATA / f"{1000:020d}-{1:010d}.checkpoint").write_bytes(b"\0" * 100),
        r"1000-0000000001.checkpoint",
    ),
    "snapshot-of-another-release": (
        lambda d: put_snapshot(d, Quorum(kraft_version=0), feature("metadata.version", 34)),
        r"1000-0000000001.checkpoint, offset 1: metadata.version is at level 34",
    ),
    "no-metadata": (lambda d: shutil.rmtree(d / METADATA), "is formatted, but its metadata are gone"),
    "missing-records": (
        lambda d: metadata_log(d).rename(metadata_log(d).with_name(f"{50:020d}.log")),
        "begins at offset 50",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_carried_on_stops_the_start_and_nothing_is_changed(data: Path, case: str) -> None:
    change, words = CASES[case]
    change(data)
    # What recovery would tidy up must stay as well.
    if (data / METADATA).exists():
        (data / METADATA / f"{9:020d}-{9:010d}.checkpoint.part").write_bytes(b"half")
    if metadata_log(data).exists():
        with metadata_log(data).open("ab") as log:
            log.write(b"\0\0\0torn")
    before = content(data)
    assert re.search(words, refusal(data))
    assert content(data) == before


def test_a_second_directory_is_not_formatted_for_a_start_that_is_refused(data: Path, tmp_path: Path) -> None:
    append(data, feature("queues.version", 1))
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "queues.version" in refusal(data, f"log.dirs={data},{empty}")
    assert content(empty) == {}


@pytest.mark.parametrize("what", ["twin", "copy", "other-cluster", "swapped"])
def test_directories_that_do_not_belong_together_are_left_alone(
    data: Path, tmp_path: Path, what: str
) -> None:
    other, words, order = tmp_path / "other", "", "{0},{1}"
    if what == "twin":
        with Running(data, f"log.dirs={data},{other}"):
            pass
        # The metadata know of it in neither, so they cannot tell which counts.
        for directory in (data, other):
            shutil.copytree(data / "topic-1", directory / "lost-1")
        words = "lost-1 lies in .*other and in .*data.*take the one with fewer records away"
    elif what == "copy":
        shutil.copytree(data, other)
        words = "same directory.id"
    elif what == "other-cluster":
        with Running(other):
            pass
        words = "different clusters"
    else:
        with Running(data, f"log.dirs={data},{other}"):
            pass
        words, order = "order of log.dirs", "{1},{0}"
    before = content(tmp_path)
    assert re.search(words, refusal(data, f"log.dirs={order.format(data, other)}"))
    assert content(tmp_path) == before


def test_what_is_known_and_gone_is_no_obstacle(data: Path) -> None:
    """A feature at level 0, a broker that was shut down, a migration that is over, half a batch."""
    append(
        data,
        feature("queues.version", 0),
        broker_record(2, fenced=True),
        VersionedRecord(m.ZkMigrationStateRecord(zk_migration_state=3)),
    )
    with metadata_log(data).open("ab") as log:
        log.write(b"\0" * 30)
    with Running(data) as broker:
        assert set(broker.topic_ids()) == {"topic"}
    with Running(data) as broker:
        assert set(broker.topic_ids()) == {"topic"}


def test_formats_are_looked_for_once_after_another_broker(data: Path) -> None:
    """What this broker was the last to use starts without a look at every partition."""
    with Running(data):
        pass
    put_old_segment(data, 1)
    with Running(data) as broker:
        assert set(broker.topic_ids()) == {"topic"}


def test_partitions_of_a_directory_that_is_not_given_are_offline_and_come_back_with_it(
    data: Path, tmp_path: Path
) -> None:
    """A disk that is not mounted must not be taken for empty topics."""
    other, storage_error = tmp_path / "other", 56
    with Running(data, f"log.dirs={data},{other}") as broker:
        broker.create("spread")
        broker.create("wide")
    there = sorted(path.name for path in other.glob("*-?"))
    assert there
    with Running(data) as broker:
        answers = ends(broker, there)
    assert set(answers.values()) == {storage_error}, answers
    assert not any((data / name).exists() for name in there)
    with Running(data, f"log.dirs={data},{other}") as broker:
        assert set(ends(broker, there).values()) == {0}


def ends(broker: Running, partitions: Sequence[str]) -> dict[str, int]:
    """How ListOffsets answers for partitions, by their names."""
    answers = {}
    for name in partitions:
        topic, _, number = name.rpartition("-")
        one = m.ListOffsetsRequestListOffsetsPartition(partition_index=int(number), timestamp=-1)
        asked = m.ListOffsetsRequestListOffsetsTopic(name=topic, partitions=[one])
        answer = broker.ask(m.ListOffsetsRequest(replica_id=-1, topics=[asked]), 7)
        answers[name] = answer.topics[0].partitions[0].error_code
    return answers
