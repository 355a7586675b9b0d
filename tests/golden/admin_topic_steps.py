"""Steps that make, grow, describe and delete topics."""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.protocol import messages as m
from barnabas.protocol.api_keys import ApiKey as K
from barnabas.protocol.record_batch_builder import BatchBuilder
from tests.golden.admin_step import NODE_ID, Known, Step, step, versions

TIMESTAMP_MS = 1_700_000_000_000
UNKNOWN_ID = bytes(range(16))
LONG_NAME = "n" * 250


def topic_steps() -> Iterator[Step]:
    """Yield the steps that begin with an empty cluster."""
    yield from _create_topics()
    yield from _produce()
    yield from _create_partitions()
    yield from _metadata()
    yield from _describe_topic_partitions()
    yield from _describe_producers()
    yield from _describe_log_dirs()
    yield from _alter_replica_log_dirs()
    yield from _delete_records()


def _topic(name: str, partitions: int = 1, factor: int = 1, **configs: str | None) -> m.Message:
    return m.CreateTopicsRequestCreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        configs=[
            m.CreateTopicsRequestCreatableTopicConfig(name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ],
    )


def _assigned(
    name: str, *replicas: tuple[int, list[int]], partitions: int = -1, factor: int = -1
) -> m.Message:
    return m.CreateTopicsRequestCreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        assignments=[
            m.CreateTopicsRequestCreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
            for index, brokers in replicas
        ],
    )


def _create(*topics: m.Message, validate_only: bool = False) -> m.CreateTopicsRequest:
    return m.CreateTopicsRequest(topics=list(topics), timeout_ms=10_000, validate_only=validate_only)


def _create_topics() -> Iterator[Step]:
    made = _create(_topic("alpha", 3, retention_ms="60000", cleanup_policy="compact,delete"), _topic("beta"))
    yield step(K.CREATE_TOPICS, 7, "made", made, changes=True)
    dotted = _create(_topic("with.dots", 2))
    yield step(K.CREATE_TOPICS, 7, "dotted", dotted, changes=True)
    for version in versions(K.CREATE_TOPICS):
        for scenario, request in _create_topics_refused():
            yield step(K.CREATE_TOPICS, version, scenario, request)
        defaults = _create(_topic("defaults", -1, -1), validate_only=True)
        yield step(K.CREATE_TOPICS, version, "validated", defaults)


def _create_topics_refused() -> Iterator[tuple[str, m.Message]]:
    yield "exists", _create(_topic("alpha"))
    yield "twice", _create(_topic("gamma"), _topic("gamma"), _topic("alpha"))
    yield "collides", _create(_topic("with_dots"), validate_only=True)
    for number, name in enumerate(("", ".", "..", "a/b", "a b", LONG_NAME, "__cluster_metadata")):
        yield f"bad-name-{number}", _create(_topic(name), validate_only=True)
    yield "no-partitions", _create(_topic("gamma", 0))
    yield "negative-partitions", _create(_topic("gamma", -2))
    yield "no-replicas", _create(_topic("gamma", 1, 0))
    yield "too-many-replicas", _create(_topic("gamma", 1, 3))
    yield "too-many-partitions", _create(_topic("gamma", 10_001))
    yield "unknown-config", _create(_topic("gamma", no_such_config="1"))
    yield "bad-config", _create(_topic("gamma", retention_ms="soon"))
    yield "config-too-small", _create(_topic("gamma", segment_bytes="1"))
    yield "bad-policy", _create(_topic("gamma", cleanup_policy="burn"))
    yield "null-config", _create(_topic("gamma", retention_ms=None))
    yield "lag-conflict", _create(_topic("gamma", min_compaction_lag_ms="9", max_compaction_lag_ms="8"))
    yield "tiered", _create(_topic("gamma", remote_storage_enable="true"))
    yield "assigned", _create(_assigned("gamma", (0, [1]), (1, [1])), validate_only=True)
    yield "assigned-with-gap", _create(_assigned("gamma", (0, [1]), (2, [1])))
    yield "assigned-to-nobody", _create(_assigned("gamma", (0, [])))
    yield "assigned-twice", _create(_assigned("gamma", (0, [1, 1])))
    yield "assigned-to-unknown", _create(_assigned("gamma", (0, [7])))
    yield "assigned-and-counted", _create(_assigned("gamma", (0, [1]), partitions=1))
    yield "assigned-and-replicated", _create(_assigned("gamma", (0, [1]), factor=1))


def _produce() -> Iterator[Step]:
    asked = m.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
    yield step(K.INIT_PRODUCER_ID, 5, "idempotent", asked)
    topics = [m.MetadataRequestMetadataRequestTopic(name=name) for name in ("alpha", "beta")]
    yield step(K.METADATA, 12, "ids", m.MetadataRequest(topics=topics, allow_auto_topic_creation=False))

    def batch(known: Known) -> m.Message:
        builder = BatchBuilder(producer_id=known.producer_id, producer_epoch=0, base_sequence=0)
        for number in range(3):
            builder.append(timestamp=TIMESTAMP_MS + number, key=b"k%d" % number, value=b"v")
        part = m.ProduceRequestPartitionProduceData(index=0, records=builder.build())
        topic = m.ProduceRequestTopicProduceData(topic_id=known.topic_ids["alpha"], partition_data=[part])
        return m.ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[topic])

    yield step(K.PRODUCE, 13, "idempotent", batch, changes=True)


def _grow(name: str, count: int, assignments: list[list[int]] | None = None) -> m.Message:
    return m.CreatePartitionsRequestCreatePartitionsTopic(
        name=name,
        count=count,
        assignments=None
        if assignments is None
        else [m.CreatePartitionsRequestCreatePartitionsAssignment(broker_ids=ids) for ids in assignments],
    )


def _create_partitions() -> Iterator[Step]:
    def of(*topics: m.Message, validate_only: bool = False) -> m.Message:
        return m.CreatePartitionsRequest(topics=list(topics), timeout_ms=10_000, validate_only=validate_only)

    for version in versions(K.CREATE_PARTITIONS):
        asks = {
            "validated": of(_grow("beta", 9), validate_only=True),
            "same-count": of(_grow("alpha", 3)),
            "fewer": of(_grow("alpha", 2)),
            "none": of(_grow("alpha", 0)),
            "negative": of(_grow("alpha", -1)),
            "too-many": of(_grow("alpha", 10_004)),
            "unknown-topic": of(_grow("missing", 3)),
            "twice": of(_grow("beta", 3), _grow("beta", 4), _grow("missing", 1)),
            "assigned": of(_grow("beta", 3, [[1], [1]]), validate_only=True),
            "too-few-assigned": of(_grow("beta", 3, [[1]])),
            "too-many-assigned": of(_grow("beta", 2, [[1], [1]])),
            "assigned-to-unknown": of(_grow("beta", 2, [[7]])),
            "assigned-to-nobody": of(_grow("beta", 2, [[]])),
            "assigned-twice": of(_grow("beta", 2, [[1, 1]])),
            "assigned-two": of(_grow("beta", 3, [[1], [1, 2]])),
        }
        for scenario, request in asks.items():
            yield step(K.CREATE_PARTITIONS, version, scenario, request)
    yield step(K.CREATE_PARTITIONS, 3, "grown", of(_grow("beta", 4)), changes=True)


def _metadata() -> Iterator[Step]:
    topic = m.MetadataRequestMetadataRequestTopic

    def of(
        version: int, topics: list[m.MetadataRequestMetadataRequestTopic] | None, *, operations: bool
    ) -> m.Message:
        request = m.MetadataRequest(topics=topics)
        if version >= 4:
            request.allow_auto_topic_creation = False
        if version >= 8:
            request.include_topic_authorized_operations = operations
        if 8 <= version <= 10:
            request.include_cluster_authorized_operations = operations
        return request

    for version in versions(K.METADATA):
        everything = of(version, None if version else [], operations=False)
        yield step(K.METADATA, version, "all", everything)
        if version < 4:
            continue
        named = [topic(name=name) for name in ("beta", "missing", "a/b", "alpha", "beta")]
        yield step(K.METADATA, version, "named", of(version, named, operations=True))
    unknown = of(12, [topic(name=None, topic_id=UNKNOWN_ID)], operations=False)
    yield step(K.METADATA, 12, "unknown-id", unknown)

    def by_id(known: Known) -> m.Message:
        return of(13, [topic(name=None, topic_id=known.topic_ids["beta"])], operations=True)

    yield step(K.METADATA, 13, "by-id", by_id)


def _describe_topic_partitions() -> Iterator[Step]:
    def of(*names: str, limit: int = 2000, after: tuple[str, int] | None = None) -> m.Message:
        return m.DescribeTopicPartitionsRequest(
            topics=[m.DescribeTopicPartitionsRequestTopicRequest(name=name) for name in names],
            response_partition_limit=limit,
            cursor=after
            and m.DescribeTopicPartitionsRequestCursor(topic_name=after[0], partition_index=after[1]),
        )

    asks = {
        "all": of(),
        "unsorted": of("with.dots", "alpha"),
        "twice": of("alpha", "alpha"),
        "unknown": of("missing", "alpha"),
        "bad-name": of("a/b", "alpha"),
        "limited": of("alpha", "beta", limit=4),
        "limit-at-a-topic's-end": of("alpha", "beta", limit=3),
        "limit-one": of("alpha", limit=1),
        "limit-zero": of("alpha", limit=0),
        "limit-negative": of("alpha", limit=-1),
        "from-cursor": of("alpha", "beta", after=("beta", 1)),
        "from-cursor-all": of(after=("alpha", 2), limit=3),
        "cursor-to-missing": of("alpha", "beta", after=("b", 5)),
        "cursor-past-all": of("alpha", after=("zeta", 0)),
        "cursor-past-partitions": of("alpha", "beta", after=("alpha", 9)),
        "cursor-negative": of("alpha", after=("alpha", -1)),
    }
    for scenario, request in asks.items():
        yield step(K.DESCRIBE_TOPIC_PARTITIONS, 0, scenario, request)


def _describe_producers() -> Iterator[Step]:
    def of(name: str, *partitions: int) -> m.Message:
        topic = m.DescribeProducersRequestTopicRequest(name=name, partition_indexes=list(partitions))
        return m.DescribeProducersRequest(topics=[topic])

    yield step(K.DESCRIBE_PRODUCERS, 0, "active", of("alpha", 0, 1))
    yield step(K.DESCRIBE_PRODUCERS, 0, "unknown-partition", of("alpha", 7))
    yield step(K.DESCRIBE_PRODUCERS, 0, "unknown-topic", of("missing", 0))
    yield step(K.DESCRIBE_PRODUCERS, 0, "bad-name", of("a/b", 0))


def _describe_log_dirs() -> Iterator[Step]:
    topic = m.DescribeLogDirsRequestDescribableLogDirTopic
    for version in versions(K.DESCRIBE_LOG_DIRS):
        asks = {
            "all": m.DescribeLogDirsRequest(topics=None),
            "none": m.DescribeLogDirsRequest(topics=[]),
            "some": m.DescribeLogDirsRequest(topics=[topic(topic="alpha", partitions=[0, 2, 9])]),
            "unknown": m.DescribeLogDirsRequest(topics=[topic(topic="missing", partitions=[0])]),
        }
        for scenario, request in asks.items():
            yield step(K.DESCRIBE_LOG_DIRS, version, scenario, request)


def _alter_replica_log_dirs() -> Iterator[Step]:
    def of(path: str, name: str, *partitions: int) -> m.Message:
        topic = m.AlterReplicaLogDirsRequestAlterReplicaLogDirTopic(name=name, partitions=list(partitions))
        directory = m.AlterReplicaLogDirsRequestAlterReplicaLogDir(path=path, topics=[topic])
        return m.AlterReplicaLogDirsRequest(dirs=[directory])

    for version in versions(K.ALTER_REPLICA_LOG_DIRS):
        key = K.ALTER_REPLICA_LOG_DIRS
        yield step(key, version, "same", lambda known: of(known.log_dir, "alpha", 0, 1))
        yield step(key, version, "unknown-topic", lambda known: of(known.log_dir, "missing", 0))
        yield step(key, version, "unknown-partition", lambda known: of(known.log_dir, "alpha", 77))
        yield step(key, version, "unknown-directory", of("/no/such/directory", "alpha", 0))
        yield step(key, version, "relative-directory", of("relative", "alpha", 0))
        yield step(key, version, "unknown-both", of("/no/such/directory", "missing", 0))


def _delete_records() -> Iterator[Step]:
    def of(name: str, partition: int, offset: int) -> m.Message:
        part = m.DeleteRecordsRequestDeleteRecordsPartition(partition_index=partition, offset=offset)
        topic = m.DeleteRecordsRequestDeleteRecordsTopic(name=name, partitions=[part])
        return m.DeleteRecordsRequest(topics=[topic], timeout_ms=5000)

    for version in versions(K.DELETE_RECORDS):
        yield step(K.DELETE_RECORDS, version, "beyond", of("alpha", 0, 99))
        yield step(K.DELETE_RECORDS, version, "negative", of("alpha", 0, -2))
        yield step(K.DELETE_RECORDS, version, "unknown-topic", of("missing", 0, 0))
        yield step(K.DELETE_RECORDS, version, "unknown-partition", of("alpha", 7, 0))
    yield step(K.DELETE_RECORDS, 2, "nothing-to-delete", of("alpha", 1, -1))


def ending_steps() -> Iterator[Step]:
    """Yield the steps that leave an empty cluster."""
    state = m.DeleteTopicsRequestDeleteTopicState

    def names(*topics: str) -> m.Message:
        return m.DeleteTopicsRequest(topic_names=list(topics), timeout_ms=10_000)

    def states(*topics: m.DeleteTopicsRequestDeleteTopicState) -> m.Message:
        return m.DeleteTopicsRequest(topics=list(topics), timeout_ms=10_000)

    for version in versions(K.DELETE_TOPICS):
        if version < 6:
            yield step(K.DELETE_TOPICS, version, "missing", names("missing"))
            yield step(K.DELETE_TOPICS, version, "twice", names("alpha", "alpha", "missing"))
            continue
        yield step(K.DELETE_TOPICS, version, "missing", states(state(name="missing")))
        yield step(K.DELETE_TOPICS, version, "twice", states(state(name="alpha"), state(name="alpha")))
        yield step(K.DELETE_TOPICS, version, "unknown-id", states(state(name=None, topic_id=UNKNOWN_ID)))
        yield step(K.DELETE_TOPICS, version, "both", states(state(name="alpha", topic_id=UNKNOWN_ID)))
        yield step(K.DELETE_TOPICS, version, "neither", states(state(name=None)))
    yield step(K.DELETE_TOPICS, 5, "deleted", names("alpha", "with.dots"), changes=True)

    def by_id(known: Known) -> m.Message:
        return states(state(name=None, topic_id=known.topic_ids["beta"]))

    yield step(K.DELETE_TOPICS, 6, "deleted-by-id", by_id, changes=True)
    yield step(K.METADATA, 12, "all-gone", m.MetadataRequest(topics=None, allow_auto_topic_creation=False))


__all__ = ["NODE_ID", "ending_steps", "topic_steps"]
