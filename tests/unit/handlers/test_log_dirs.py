"""AlterReplicaLogDirs and DescribeLogDirs; moves themselves are tested with storage, and in a broker."""

from collections import deque

import pytest

from barnabas.base.entropy import SystemEntropy
from barnabas.base.errors import ErrorCode
from barnabas.base.worker import run_inline
from barnabas.protocol import messages as m
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_moves.future_logs import FutureLogs
from barnabas.storage.topic_partition import TopicPartition
from tests.unit.handlers.administered import DIRECTORIES, administered
from tests.unit.handlers.conftest import Peer
from tests.unit.replica.broker_setup import batch


@pytest.fixture
def services():
    return administered()


@pytest.fixture
def peer(services):
    made = Peer(services)
    topic = m.CreateTopicsRequestCreatableTopic(name="alpha", num_partitions=3, replication_factor=1)
    assert made.send(m.CreateTopicsRequest(topics=[topic]), 7).topics[0].error_code == 0
    return made


def test_a_replica_is_asked_to_lie_elsewhere(peer, services):
    log = services.replicas.partitions.get("alpha", 0).log
    other = next(path for path in DIRECTORIES if path != log.directory.path)
    target = services.logs.directories[DIRECTORIES.index(other)]

    def ask(path, partition=0, topic="alpha"):
        part = m.AlterReplicaLogDirsRequestAlterReplicaLogDirTopic(name=topic, partitions=[partition])
        one = m.AlterReplicaLogDirsRequestAlterReplicaLogDir(path=path, topics=[part])
        return peer.send(m.AlterReplicaLogDirsRequest(dirs=[one]), 2).results[0].partitions[0].error_code

    def told():
        results = peer.send(m.DescribeLogDirsRequest(topics=None), 5).results
        return {
            (result.log_dir, partition.is_future_key): (partition.partition_size, partition.offset_lag)
            for result in results
            for topic in result.topics
            for partition in topic.partitions
            if topic.name == "alpha" and partition.partition_index == 0
        }

    begun = moves_in_hand(services)
    log.append([batch()], leader_epoch=0)
    assert ask(log.directory.path) == 0
    assert ask("/elsewhere") == ErrorCode.LOG_DIR_NOT_FOUND
    assert ask("logs/a") == ask(other + "/") == ErrorCode.LOG_DIR_NOT_FOUND
    assert ask(other, topic="x" * 240) == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert ask(other, partition=9) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert services.logs.placement.candidates(TopicPartition("alpha", 9)) == [target]
    assert not begun
    target.cordoned = True
    assert ask(other) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    target.cordoned = False
    assert ask(other) == ask(other) == 0
    size = log.size
    assert told() == {(log.directory.path, False): (size, 0), (other, True): (0, 1)}
    assert ask(log.directory.path) == 0
    assert told() == {(log.directory.path, False): (size, 0)}
    assert ask(other) == 0
    while begun:
        begun.popleft()()
    assert told() == {(other, False): (size, 0)}
    target.failed(OSError(5, "broken"), "testing")
    assert ask(other) == ask(DIRECTORIES[0]) == ErrorCode.KAFKA_STORAGE_ERROR


def moves_in_hand(services):
    """Let logs move when a test says so; returns what is to be called for it."""
    begun = deque()
    logs = services.logs
    logs.make_future_logs = lambda deletions: FutureLogs(
        logs,
        clock=services.clock,
        entropy=SystemEntropy(),
        deletions=deletions,
        config_for=lambda _: LogConfig(),
        run_blocking=run_inline,
        call_later=lambda _, call: begun.append(call),
        assign=lambda *_: None,
        threads_max=1,
    )
    return begun
