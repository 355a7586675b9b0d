"""Short ways to say the requests and the batches, right and wrong, that the situations are made of."""

from collections.abc import Iterable
from typing import Any

from barnabas.protocol import messages as m
from barnabas.protocol.checksum import crc32c
from barnabas.protocol.compression import Codec
from barnabas.protocol.record_batch import ATTRIBUTES_POSITION, HEADER, BatchHeader
from barnabas.protocol.record_batch_builder import BatchBuilder

TIMESTAMP_MS = 1_700_000_000_000


def versions(key: int) -> range:
    """The versions of an API that a broker serves without `unstable.api.versions.enable`."""
    spec = m.BY_KEY[key]
    return spec.valid_versions[:-1] if spec.latest_unstable else spec.valid_versions


def batch(
    values: Iterable[bytes | None] = (b"a", b"bb", b"ccc"),
    *,
    key: bytes | None = b"key",
    timestamp: int = TIMESTAMP_MS,
    step_ms: int = 1,
    **fields: Any,
) -> bytes:
    """A batch of these values, one timestamp step apart; `fields` go to the builder."""
    builder = BatchBuilder(**fields)
    for number, value in enumerate(values):
        builder.append(timestamp=timestamp + number * step_ms, key=key, value=value)
    return builder.build()


def sealed(data: bytes, **fields: int) -> bytes:
    """The batch with header fields changed and its checksum right again."""
    header = BatchHeader._make(HEADER.unpack_from(data))._replace(**fields)
    rest = data[HEADER.size :]
    head = HEADER.pack(*header)
    if "crc" not in fields:
        head = HEADER.pack(*header._replace(crc=crc32c(rest, crc32c(head[ATTRIBUTES_POSITION:], 0))))
    return head + rest


def sequenced(producer_id: int, epoch: int, sequence: int, count: int = 1, **fields: Any) -> bytes:
    """A batch of an idempotent producer."""
    return batch(
        [b"%d" % i for i in range(count)],
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        **fields,
    )


def produce(
    version: int, topic: str, topic_id: bytes, *parts: tuple[int, bytes | None], acks: int = -1
) -> m.ProduceRequest:
    """Records for partitions of one topic, by name or id as the version has it."""
    data = m.ProduceRequestTopicProduceData(
        partition_data=[m.ProduceRequestPartitionProduceData(index=i, records=r) for i, r in parts]
    )
    if version >= 13:
        data.topic_id = topic_id
    else:
        data.name = topic
    return m.ProduceRequest(acks=acks, timeout_ms=5000, topic_data=[data])


def part(
    partition: int, offset: int, max_bytes: int = 1 << 20, **fields: int
) -> m.FetchRequestFetchPartition:
    """A partition of a fetch."""
    return m.FetchRequestFetchPartition(
        partition=partition, fetch_offset=offset, partition_max_bytes=max_bytes, **fields
    )


def fetch(
    version: int, *topics: tuple[str, bytes, list[m.FetchRequestFetchPartition]], **fields: int
) -> m.FetchRequest:
    """A fetch; it waits for nothing unless told so, and has no session."""
    asked = []
    for name, topic_id, parts in topics:
        topic = m.FetchRequestFetchTopic(partitions=parts)
        if version >= 13:
            topic.topic_id = topic_id
        else:
            topic.topic = name
        asked.append(topic)
    request = m.FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=1 << 20, topics=asked)
    for name, value in fields.items():
        setattr(request, name, value)
    return request


def list_offsets(
    topic: str, *parts: tuple[int, int] | tuple[int, int, int], replica_id: int = -1, isolation_level: int = 0
) -> m.ListOffsetsRequest:
    """Offsets of (partition, timestamp[, current leader epoch])."""
    asked = [
        m.ListOffsetsRequestListOffsetsPartition(
            partition_index=index, timestamp=timestamp, current_leader_epoch=epoch[0] if epoch else -1
        )
        for index, timestamp, *epoch in parts
    ]
    request = m.ListOffsetsRequest(
        replica_id=replica_id, topics=[m.ListOffsetsRequestListOffsetsTopic(name=topic, partitions=asked)]
    )
    request.isolation_level = isolation_level
    return request


def creation(
    name: str,
    partitions: int = 1,
    replicas: int = 1,
    *,
    configs: Iterable[tuple[str, str | None]] = (),
    assignments: Iterable[tuple[int, list[int]]] = (),
) -> m.CreateTopicsRequestCreatableTopic:
    """One topic of CreateTopics."""
    return m.CreateTopicsRequestCreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        configs=[m.CreateTopicsRequestCreatableTopicConfig(name=n, value=v) for n, v in configs],
        assignments=[
            m.CreateTopicsRequestCreatableReplicaAssignment(partition_index=i, broker_ids=b)
            for i, b in assignments
        ],
    )


def metadata(
    version: int, topics: list[tuple[str | None, bytes | None]] | None, *, create: bool = False
) -> m.Message:
    """Metadata of (name, id)s; None asks for all."""
    asked = None
    if topics is not None:
        asked = [
            m.MetadataRequestMetadataRequestTopic(name=name, **({"topic_id": topic_id} if topic_id else {}))
            for name, topic_id in topics
        ]
    request = m.MetadataRequest(topics=asked)
    if version >= 4:
        request.allow_auto_topic_creation = create
    return request


def codec_versions(version: int) -> list[Codec]:
    """The codecs a Produce of that version may carry."""
    return [codec for codec in Codec if codec is not Codec.ZSTD or version >= 7]
