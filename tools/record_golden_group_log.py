"""Write tests/golden/group_log anew with a real Apache Kafka.

    python -m tools.record_golden_group_log      needs Java

Groups of every kind commit, rebalance, leave and are deleted, within transactions too. Kept are the files of
`__consumer_offsets` as that Kafka wrote them, and beside them what it answers of its groups and their offsets
(`answers.json`). `tests/golden/test_group_log.py` replays the files and compares.
"""

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from barnabas.protocol import messages as m  # noqa: E402
from tests.oracle.kafka import running  # noqa: E402
from tools.record_golden_log import Connection  # noqa: E402

TOPIC = "golden"
DOOMED = "doomed"
PARTITIONS = 3
OFFSET_COMMIT, OFFSET_FETCH, OFFSET_DELETE = 8, 9, 47
METADATA, FIND_COORDINATOR, LIST_GROUPS, CREATE_TOPICS, DELETE_TOPICS, DELETE_GROUPS = 3, 10, 16, 19, 20, 42
SHARE_GROUP_HEARTBEAT = 76


def commit(
    connection: Connection, group: str, offsets: dict[int, tuple[int, str]], version: int = 9, **more: Any
) -> None:
    """Commit as a consumer that assigns partitions itself."""
    topic = m.OffsetCommitRequestOffsetCommitRequestTopic(
        name=more.pop("topic", TOPIC),
        partitions=[
            m.OffsetCommitRequestOffsetCommitRequestPartition(
                partition_index=number,
                committed_offset=offset,
                committed_metadata=metadata,
                **({"committed_leader_epoch": 0} if version >= 6 else {}),
            )
            for number, (offset, metadata) in offsets.items()
        ],
    )
    answer = connection.call(
        m.OffsetCommitRequest(group_id=group, topics=[topic], **more), OFFSET_COMMIT, version
    )
    codes = [partition.error_code for topic in answer.topics for partition in topic.partitions]
    assert not any(codes), codes


def wait_for_coordinator(connection: Connection) -> None:
    """Have the topic made, and its coordinators loaded."""
    for name in ("simple", "a", "b", "c", "d", "e", "f"):
        for _ in range(100):
            found = connection.call(m.FindCoordinatorRequest(coordinator_keys=[name]), FIND_COORDINATOR, 4)
            request = m.OffsetFetchRequest(
                groups=[m.OffsetFetchRequestOffsetFetchRequestGroup(group_id=name, topics=None)]
            )
            if found.coordinators[0].error_code == 0 and is_loaded(connection, request):
                break
            time.sleep(0.2)


def is_loaded(connection: Connection, request: m.OffsetFetchRequest) -> bool:
    return bool(connection.call(request, OFFSET_FETCH, 8).groups[0].error_code == 0)


def consume(bootstrap: str, group: str, **config: Any) -> Consumer:
    """Join a group and read until partitions are assigned."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest", **config}
    )
    consumer.subscribe([TOPIC])
    for _ in range(100):
        consumer.poll(0.2)
        if consumer.assignment():
            return consumer
    raise AssertionError(f"{group} was given nothing")


def transaction(bootstrap: str, group: str, name: str, offset: int, end: str) -> Producer:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(TOPIC, b"value")
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    metadata = consumer.consumer_group_metadata()
    producer.send_offsets_to_transaction([TopicPartition(TOPIC, 0, offset)], metadata, 30)
    if end == "commit":
        producer.commit_transaction(30)
    elif end == "abort":
        producer.abort_transaction(30)
    consumer.close()
    return producer


def make_groups(connection: Connection, bootstrap: str) -> list[Any]:
    """Do all there is to do; return what must live until the answers are recorded."""
    commit(connection, "simple", {0: (10, ""), 1: (11, "with metadata"), 2: (12, "x" * 200)})
    commit(connection, "simple", {0: (20, "Grüße \N{PILE OF POO}")})
    commit(connection, "own-retention", {0: (5, "")}, version=2, retention_time_ms=86_400_000)
    commit(connection, "own-retention", {0: (6, "later")})
    commit(connection, "with-deleted-topic", {0: (1, "")}, topic=DOOMED)
    commit(connection, "with-deleted-topic", {0: (2, "")})
    commit(connection, "with-deleted-offset", {0: (1, ""), 1: (2, "")})
    topic = m.OffsetDeleteRequestOffsetDeleteRequestTopic(
        name=TOPIC, partitions=[m.OffsetDeleteRequestOffsetDeleteRequestPartition(partition_index=1)]
    )
    connection.call(m.OffsetDeleteRequest(group_id="with-deleted-offset", topics=[topic]), OFFSET_DELETE, 0)
    commit(connection, "deleted", {0: (1, "")})
    connection.call(m.DeleteGroupsRequest(groups_names=["deleted"]), DELETE_GROUPS, 2)
    connection.call(
        m.DeleteTopicsRequest(topics=[m.DeleteTopicsRequestDeleteTopicState(name=DOOMED)], timeout_ms=10_000),
        DELETE_TOPICS,
        6,
    )
    left = consume(bootstrap, "classic-left")
    left.commit(offsets=[TopicPartition(TOPIC, 1, 7)], asynchronous=False)
    left.close()
    living: list[Any] = [
        consume(bootstrap, "classic-static", **{"group.instance.id": "one"}),
        consume(bootstrap, "consumer-protocol", **{"group.protocol": "consumer"}),
        transaction(bootstrap, "in-transactions", "t1", 100, "commit"),
        transaction(bootstrap, "in-transactions", "t2", 200, "abort"),
        transaction(bootstrap, "undecided", "t3", 300, "never"),
    ]
    living[0].commit(offsets=[TopicPartition(TOPIC, 0, 3)], asynchronous=False)
    living[1].commit(offsets=[TopicPartition(TOPIC, 0, 4)], asynchronous=False)
    share = m.ShareGroupHeartbeatRequest(
        group_id="share", member_id="AAAAAAAAAAAAAAAAAAAAAQ", member_epoch=0, subscribed_topic_names=[TOPIC]
    )
    assert connection.call(share, SHARE_GROUP_HEARTBEAT, 1).error_code == 0
    return living


def answers(connection: Connection) -> dict[str, Any]:
    """Ask for all groups and offsets."""
    listed = connection.call(m.ListGroupsRequest(), LIST_GROUPS, 5).groups
    groups = {
        one.group_id: [one.group_type, one.group_state, one.protocol_type]
        for one in sorted(listed, key=lambda one: one.group_id)
    }
    offsets = {}
    for stable in (False, True):
        request = m.OffsetFetchRequest(
            groups=[
                m.OffsetFetchRequestOffsetFetchRequestGroup(group_id=name, topics=None) for name in groups
            ],
            require_stable=stable,
        )
        offsets["stable" if stable else "any"] = {
            group.group_id: {
                topic.name: {
                    str(one.partition_index): [
                        one.committed_offset,
                        one.committed_leader_epoch,
                        one.metadata,
                        one.error_code,
                    ]
                    for one in sorted(topic.partitions, key=lambda one: one.partition_index)
                }
                for topic in group.topics
            }
            for group in connection.call(request, OFFSET_FETCH, 9).groups
        }
    topics = connection.call(m.MetadataRequest(topics=None), METADATA, 12).topics
    ids = {topic.name: topic.topic_id.hex() for topic in topics if not topic.is_internal}
    return {"groups": groups, "offsets": offsets, "topics": ids}


def main() -> None:
    target = ROOT / "tests" / "golden" / "group_log"
    with tempfile.TemporaryDirectory() as folder:
        overrides = {"offsets.topic.num.partitions": str(PARTITIONS)}
        with running(Path(folder) / "kafka", overrides=overrides) as broker:
            connection = Connection(broker.port)
            for name in (TOPIC, DOOMED):
                topic = m.CreateTopicsRequestCreatableTopic(name=name, num_partitions=3, replication_factor=1)
                connection.call(m.CreateTopicsRequest(topics=[topic], timeout_ms=10_000), CREATE_TOPICS, 7)
            wait_for_coordinator(connection)
            living = make_groups(connection, broker.bootstrap)
            told = answers(connection)
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir()
            # Before anybody leaves: the files are what a kill would leave.
            for number in range(PARTITIONS):
                log = broker.data_dir / f"__consumer_offsets-{number}" / f"{0:020}.log"
                shutil.copy(log, target / f"{number}.log")
            for one in living:
                if isinstance(one, Consumer):
                    one.close()
    (target / "answers.json").write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
    for path in sorted(target.iterdir()):
        print(f"{path.stat().st_size:7} {path.name}")


if __name__ == "__main__":
    main()
