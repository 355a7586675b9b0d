"""What the metadata say when log directories fail (KIP-858); the records were seen of Apache Kafka 4.4."""

import pytest

from barnabas.metadata.directory_changes import directory_of, leaderless_records, offline_records
from barnabas.metadata.image import DIRECTORY_UNASSIGNED, BrokerRegistration, MetadataDelta, MetadataImage
from barnabas.metadata.node_records import NodeIdentity, election_records
from barnabas.metadata.records import VersionedRecord
from barnabas.protocol import messages
from tests.unit.metadata.broker_node import CONTROLLER

A, B, LOST = (bytes([number]) * 16 for number in (1, 2, 3))
TOPIC = b"t" * 16
NODE = NodeIdentity(node_id=1, endpoints=(), controller_endpoint=CONTROLLER, log_dirs=(A, B))


@pytest.fixture(params=[1, 0], ids=["elr", "no-elr"])
def image(request: pytest.FixtureRequest) -> MetadataImage:
    """Partitions 0 to 3, in A, B, a directory that is lost, and none that is known."""
    made = MetadataImage()
    records: list[messages.Message] = [
        messages.FeatureLevelRecord(name="metadata.version", feature_level=30),
        messages.FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=request.param),
        messages.TopicRecord(name="t", topic_id=TOPIC),
    ]
    records += [
        messages.PartitionRecord(
            partition_id=number,
            topic_id=TOPIC,
            replicas=[1],
            isr=[1],
            leader=1,
            leader_epoch=0,
            partition_epoch=0,
            directories=[directory],
        )
        for number, directory in enumerate((A, B, LOST, DIRECTORY_UNASSIGNED))
    ]
    for record in records:
        made.replay(
            VersionedRecord(record, 0 if "Partition" not in type(record).__name__ else 1), MetadataDelta()
        )
    made.brokers[1] = BrokerRegistration(
        broker_id=1, broker_epoch=7, incarnation_id=bytes(16), endpoints=(), features={}, rack=None,
        fenced=False, log_dirs=(A, B),
    )  # fmt: skip
    return made


def replay(image: MetadataImage, records: list[VersionedRecord]) -> None:
    for record in records:
        image.replay(record, MetadataDelta())


def leaders(image: MetadataImage) -> list[int]:
    return [partition.leader for partition in image.topics["t"].partitions.values()]


def test_partitions_of_a_directory_that_failed_have_no_leader(image: MetadataImage) -> None:
    records = offline_records(image, NODE, 7, [B])
    assert [record.message.partition_id for record in records[:-1]] == [1]
    last = records[-1]
    assert (last.version, last.message.broker_epoch, last.message.log_dirs) == (2, 7, [A])
    replay(image, records)
    assert leaders(image) == [1, -1, 1, 1]
    partition = image.topics["t"].partitions[1]
    if image.features.get("eligible.leader.replicas.version"):
        assert (partition.isr, partition.eligible_leader_replicas, partition.last_known_elr) == (
            (),
            (1,),
            (1,),
        )
    else:
        assert partition.isr == (1,)
    assert partition.leader_epoch == 1
    assert image.brokers[1].log_dirs == (A,)
    assert offline_records(image, NODE, 7, [B]) == []


def test_a_start_leads_what_lies_in_directories_that_work(image: MetadataImage) -> None:
    replay(image, offline_records(image, NODE, 7, [B]))
    replay(image, list(election_records(image, 1, was_clean=False, log_dirs=(A, B))))
    assert leaders(image) == [1, 1, -1, 1], "what is back is led again, what is lost is led no more"
    partition = image.topics["t"].partitions[1]
    assert (partition.isr, tuple(partition.eligible_leader_replicas or ())) == ((1,), ())
    epochs = [partition.leader_epoch for partition in image.topics["t"].partitions.values()]
    replay(image, list(election_records(image, 1, was_clean=True, log_dirs=(A, B))))
    assert [partition.leader_epoch for partition in image.topics["t"].partitions.values()] == epochs


def test_who_has_no_replica_or_no_known_place_lies_nowhere(image: MetadataImage) -> None:
    partitions = image.topics["t"].partitions
    assert [directory_of(partitions[number], 1) for number in range(4)] == [A, B, LOST, None]
    assert directory_of(partitions[0], 2) is None
    assert list(leaderless_records(image, 2, [A, B])) == []
