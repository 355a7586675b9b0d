"""Requests of every version of the first APIs, errors among them, asked of Apache Kafka itself.

Requests are made with our own codecs: that Apache Kafka understands them is half of the proof, its
answers are the other half.
"""

import socket
from collections.abc import Callable, Iterator

from barnabas.protocol import messages as m
from barnabas.protocol.compression import Codec
from barnabas.protocol.frames import decode_response_header, encode_request_header
from barnabas.protocol.record_batch_builder import BatchBuilder
from tests.golden.exchanges import LENGTH_BYTES, Exchange

CLIENT_ID = "golden"
TOPIC = "golden"
PARTITIONS = 2
UNKNOWN_ID = bytes(range(16))
TIMESTAMP_MS = 1_700_000_000_000

Ask = tuple[str, m.Message]


class Wire:
    """A connection that keeps each exchange."""

    def __init__(self, port: int) -> None:
        self._sock = socket.create_connection(("127.0.0.1", port), timeout=30)
        self._correlation_id = 0
        self.exchanges: list[Exchange] = []

    def ask(
        self, scenario: str, key: int, version: int, request: m.Message, *, keep: bool = True
    ) -> m.Message:
        """Send a request and return the decoded response."""
        self._correlation_id += 1
        header = encode_request_header(key, version, self._correlation_id, CLIENT_ID)
        frame = header + request.encode(version)
        self._sock.sendall(len(frame).to_bytes(LENGTH_BYTES, "big") + frame)
        answer = self._receive(int.from_bytes(self._receive(LENGTH_BYTES), "big"))
        spec = m.BY_KEY[key]
        correlation_id, body = decode_response_header(memoryview(answer), key, version)
        assert correlation_id == self._correlation_id
        if keep:
            self.exchanges.append(Exchange(spec.name, key, version, "script", scenario, frame, answer))
        return spec.response.decode(memoryview(answer)[body:], version)

    def _receive(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            more = self._sock.recv(length - len(data))
            assert more, "Apache Kafka closed the connection"
            data += more
        return data

    def close(self) -> None:
        self._sock.close()


def play(port: int) -> list[Exchange]:
    """Ask everything and return the exchanges."""
    wire = Wire(port)
    try:
        topic_id = _make_topic(wire)
        for key, asks in _ASKS.items():
            spec = m.BY_KEY[key]
            versions = spec.valid_versions[:-1] if spec.latest_unstable else spec.valid_versions
            for version in versions:
                for scenario, request in asks(version, topic_id):
                    wire.ask(scenario, key, version, request)
        return wire.exchanges
    finally:
        wire.close()


def _make_topic(wire: Wire) -> bytes:
    topic = m.CreateTopicsRequestCreatableTopic(name=TOPIC, num_partitions=PARTITIONS, replication_factor=1)
    wire.ask("", 19, 7, m.CreateTopicsRequest(topics=[topic], timeout_ms=10_000), keep=False)
    asked = m.MetadataRequest(topics=[m.MetadataRequestMetadataRequestTopic(name=TOPIC)])
    while True:
        answer = wire.ask("", 3, 13, asked, keep=False)
        found = answer.topics[0]  # type: ignore[attr-defined]
        if found.error_code == 0 and all(p.error_code == 0 for p in found.partitions):
            topic_id = bytes(found.topic_id)
            request = _produce(13, topic_id, [(0, _batch(Codec.NONE)), (1, _batch(Codec.NONE))])
            made = wire.ask("", 0, 13, request, keep=False)
            errors = {p.error_code for t in made.responses for p in t.partition_responses}  # type: ignore[attr-defined]
            if errors == {0}:
                return topic_id


def _batch(codec: Codec) -> bytes:
    builder = BatchBuilder(codec=codec)
    for i in range(3):
        headers = [("h", b"1"), ("h", None)] if i else []
        builder.append(
            timestamp=TIMESTAMP_MS + i, key=b"k%d" % i if i else None, value=b"v" * i, headers=headers
        )
    return builder.build()


def _produce(version: int, topic_id: bytes, parts: list[tuple[int, bytes]], acks: int = -1) -> m.Message:
    data = [m.ProduceRequestPartitionProduceData(index=index, records=records) for index, records in parts]
    topic = m.ProduceRequestTopicProduceData(partition_data=data)
    if version >= 13:
        topic.topic_id = topic_id
    else:
        topic.name = TOPIC
    return m.ProduceRequest(acks=acks, timeout_ms=5000, topic_data=[topic])


def _produces(version: int, topic_id: bytes) -> Iterator[Ask]:
    for codec in Codec:
        if codec is not Codec.ZSTD or version >= 7:
            yield codec.name.lower(), _produce(version, topic_id, [(0, _batch(codec))])
    yield (
        "two-partitions",
        _produce(version, topic_id, [(0, _batch(Codec.NONE)), (1, _batch(Codec.LZ4))], acks=1),
    )
    yield "no-such-partition", _produce(version, topic_id, [(99, _batch(Codec.NONE))])
    damaged = bytearray(_batch(Codec.NONE))
    damaged[-1] ^= 1
    yield "wrong-crc", _produce(version, topic_id, [(0, bytes(damaged))])
    yield "bad-acks", _produce(version, topic_id, [(0, _batch(Codec.NONE))], acks=7)
    if version >= 13:
        yield "no-such-id", _produce(version, UNKNOWN_ID, [(0, _batch(Codec.NONE))])


def _fetch(version: int, topic_id: bytes, partition: int, offset: int, **fields: int) -> m.Message:
    one = m.FetchRequestFetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=400)
    if version >= 9:
        one.current_leader_epoch = fields.get("current_leader_epoch", -1)
    topic = m.FetchRequestFetchTopic(partitions=[one])
    if version >= 13:
        topic.topic_id = topic_id
    else:
        topic.topic = TOPIC
    request = m.FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=1000, topics=[topic])
    request.isolation_level = fields.get("isolation_level", 0)
    if version >= 7:
        request.session_epoch = fields.get("session_epoch", -1)
        request.session_id = fields.get("session_id", 0)
    return request


def _fetches(version: int, topic_id: bytes) -> Iterator[Ask]:
    yield "from-start", _fetch(version, topic_id, 0, 0)
    yield "committed", _fetch(version, topic_id, 1, 0, isolation_level=1)
    yield "out-of-range", _fetch(version, topic_id, 0, 1_000_000)
    yield "no-such-partition", _fetch(version, topic_id, 99, 0)
    if version >= 7:
        yield "new-session", _fetch(version, topic_id, 1, 0, session_epoch=0)
        yield "no-such-session", _fetch(version, topic_id, 0, 0, session_id=7, session_epoch=3)
    if version >= 9:
        yield "epoch-ahead", _fetch(version, topic_id, 0, 0, current_leader_epoch=9)
    if version >= 13:
        yield "no-such-id", _fetch(version, UNKNOWN_ID, 0, 0)


def _list_offsets(version: int, _topic_id: bytes) -> Iterator[Ask]:
    special = [-1, -2, *([-3] if version >= 7 else []), *([-4] if version >= 8 else [])]
    special += [*([-5] if version >= 9 else []), *([-6] if version >= 11 else [])]
    for timestamp in (*special, TIMESTAMP_MS + 1, TIMESTAMP_MS + 10**9):
        yield f"at{timestamp}", _list_offsets_of(version, TOPIC, 0, timestamp)
    yield "no-such-partition", _list_offsets_of(version, TOPIC, 99, -1)
    yield "no-such-topic", _list_offsets_of(version, "missing", 0, -1)


def _list_offsets_of(version: int, name: str, partition: int, timestamp: int) -> m.Message:
    one = m.ListOffsetsRequestListOffsetsPartition(partition_index=partition, timestamp=timestamp)
    topic = m.ListOffsetsRequestListOffsetsTopic(name=name, partitions=[one])
    request = m.ListOffsetsRequest(replica_id=-1, topics=[topic])
    if version >= 10:
        request.timeout_ms = 1000
    return request


def _metadata(version: int, topic_id: bytes) -> Iterator[Ask]:
    topic = m.MetadataRequestMetadataRequestTopic

    def of(topics: list[m.MetadataRequestMetadataRequestTopic] | None) -> m.Message:
        request = m.MetadataRequest(topics=topics)
        if version >= 4:
            request.allow_auto_topic_creation = False
        if version >= 8:
            request.include_topic_authorized_operations = True
        return request

    yield "topic", of([topic(name=TOPIC)])
    if version >= 1:
        yield "brokers-only", of([])
    if version >= 4:
        yield "no-such-topic", of([topic(name="missing")])
        yield "bad-name", of([topic(name="no/slash")])
    if version >= 12:
        yield "by-id", of([topic(name=None, topic_id=topic_id)])
        yield "no-such-id", of([topic(name=None, topic_id=UNKNOWN_ID)])


def _create_topics(version: int, _topic_id: bytes) -> Iterator[Ask]:
    topic = m.CreateTopicsRequestCreatableTopic
    config = m.CreateTopicsRequestCreatableTopicConfig
    place = m.CreateTopicsRequestCreatableReplicaAssignment

    def of(one: m.CreateTopicsRequestCreatableTopic) -> m.Message:
        return m.CreateTopicsRequest(topics=[one], timeout_ms=10_000)

    retention = [config(name="retention.ms", value="60000")]
    yield "made", of(topic(name=f"made-{version}", num_partitions=1, replication_factor=1, configs=retention))
    assigned = [place(partition_index=0, broker_ids=[1])]
    yield (
        "assigned",
        of(topic(name=f"assigned-{version}", num_partitions=-1, replication_factor=-1, assignments=assigned)),
    )
    yield "exists", of(topic(name=TOPIC, num_partitions=1, replication_factor=1))
    yield "bad-name", of(topic(name="no/slash", num_partitions=1, replication_factor=1))
    yield "no-partitions", of(topic(name="none", num_partitions=0, replication_factor=1))
    yield "too-many-replicas", of(topic(name="many", num_partitions=1, replication_factor=3))
    wrong = [config(name="retention.ms", value="soon")]
    yield "bad-config", of(topic(name="wrong", num_partitions=1, replication_factor=1, configs=wrong))
    wrong_name = [config(name="no.such.config", value="1")]
    yield (
        "no-such-config",
        of(topic(name="wrong", num_partitions=1, replication_factor=1, configs=wrong_name)),
    )


def _delete_topics(version: int, _topic_id: bytes) -> Iterator[Ask]:
    made = min(max(version, 2), 7)
    if version < 6:
        yield "deleted", m.DeleteTopicsRequest(topic_names=[f"made-{made}"], timeout_ms=10_000)
        yield "no-such-topic", m.DeleteTopicsRequest(topic_names=["missing"], timeout_ms=10_000)
        return
    state = m.DeleteTopicsRequestDeleteTopicState
    yield "deleted", m.DeleteTopicsRequest(topics=[state(name=f"made-{made}")], timeout_ms=10_000)
    yield "no-such-topic", m.DeleteTopicsRequest(topics=[state(name="missing")], timeout_ms=10_000)
    unknown = state(name=None, topic_id=UNKNOWN_ID)
    yield "no-such-id", m.DeleteTopicsRequest(topics=[unknown], timeout_ms=10_000)


def _init_producer_id(version: int, _topic_id: bytes) -> Iterator[Ask]:
    yield "idempotent", m.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
    if version >= 3:
        unknown = m.InitProducerIdRequest(
            transactional_id=None, transaction_timeout_ms=60_000, producer_id=4_000_000, producer_epoch=1
        )
        yield "known-producer", unknown
    yield (
        "empty-transactional-id",
        m.InitProducerIdRequest(transactional_id="", transaction_timeout_ms=60_000),
    )


def _offset_for_leader_epoch(version: int, _topic_id: bytes) -> Iterator[Ask]:
    def of(partition: int, leader_epoch: int, current: int = -1) -> m.Message:
        one = m.OffsetForLeaderEpochRequestOffsetForLeaderPartition(
            partition=partition, leader_epoch=leader_epoch, current_leader_epoch=current
        )
        topic = m.OffsetForLeaderEpochRequestOffsetForLeaderTopic(topic=TOPIC, partitions=[one])
        request = m.OffsetForLeaderEpochRequest(topics=[topic])
        if version >= 3:
            request.replica_id = -1
        return request

    yield "current", of(0, 0)
    yield "later", of(0, 5)
    yield "epoch-ahead", of(0, 0, 9)
    yield "no-such-partition", of(99, 0)


def _describe_cluster(version: int, _topic_id: bytes) -> Iterator[Ask]:
    yield "plain", m.DescribeClusterRequest(include_cluster_authorized_operations=True)
    if version >= 1:
        yield "controllers", m.DescribeClusterRequest(endpoint_type=2)


def _find_coordinator(version: int, _topic_id: bytes) -> Iterator[Ask]:
    for kind, key_type in (("group", 0), ("transaction", 1), ("bad-type", 9)):
        if version == 0 and key_type:
            continue
        if version >= 4:
            request = m.FindCoordinatorRequest(key_type=key_type, coordinator_keys=["some"])
        else:
            request = m.FindCoordinatorRequest(key="some")
            if version >= 1:
                request.key_type = key_type
        yield kind, request


def _api_versions(version: int, _topic_id: bytes) -> Iterator[Ask]:
    if version < 3:
        yield "plain", m.ApiVersionsRequest()
        return
    yield "plain", m.ApiVersionsRequest(client_software_name="golden", client_software_version="1.0")
    yield "bad-name", m.ApiVersionsRequest(client_software_name="-golden-", client_software_version="1.0")


_ASKS: dict[int, Callable[[int, bytes], Iterator[Ask]]] = {
    18: _api_versions,
    3: _metadata,
    0: _produces,
    1: _fetches,
    2: _list_offsets,
    23: _offset_for_leader_epoch,
    22: _init_producer_id,
    60: _describe_cluster,
    10: _find_coordinator,
    19: _create_topics,
    20: _delete_topics,
}
