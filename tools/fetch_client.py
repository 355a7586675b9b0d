"""A Kafka client of the smallest kind: one socket, one request after the other, and a stopwatch.

It exists so that experiments see the wire itself: no client library's retries, prefetching or sessions stand
between the request that was written and the answer that came.
"""

import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from barnabas.base.uuids import NULL_UUID
from barnabas.protocol import frames, messages
from barnabas.protocol.record_batch import iter_batches
from barnabas.protocol.record_batch_builder import BatchBuilder

FETCH_VERSION = 17
PRODUCE_VERSION = 12
TIMEOUT_S = 60.0
_BY_NAME = {spec.name: spec for spec in messages.BY_KEY.values()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back to one Fetch of at most one partition.

    Attributes:
        took_ms: from the request's last byte sent to the answer's last byte received.
        partitions: how many the answer has; an incremental session leaves out what has not changed.
        records: their bytes, as they came.
    """

    client_id: str
    correlation_id: int
    took_ms: float
    error_code: int
    session_id: int
    partitions: int
    partition_error: int
    high_watermark: int
    records: memoryview

    @property
    def record_count(self) -> int:
        """Records in whole batches."""
        batches = iter_batches(self.records, allow_partial_tail=True)
        return sum(header.records_count for _, header in batches)


class FetchClient:
    """One connection.

    Args:
        address: HOST:PORT.
        tls: None speaks plaintext.
    """

    def __init__(self, address: str, client_id: str, tls: ssl.SSLContext | None = None) -> None:
        host, _, port = address.rpartition(":")
        connected = socket.create_connection((host, int(port)), timeout=TIMEOUT_S)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = connected if tls is None else tls.wrap_socket(connected, server_hostname=host)
        self.client_id = client_id
        self._sent = 0
        self._sent_s = 0.0
        self._fetch_sent = (0, 0.0)

    def __enter__(self) -> "FetchClient":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, request: messages.Message, version: int) -> int:
        """Send a request and return its correlation id."""
        self._sent += 1
        spec = _BY_NAME[type(request).__name__.removesuffix("Request")]
        header = frames.encode_request_header(spec.key, version, self._sent, self.client_id)
        frame = header + request.encode(version)
        self._sent_s = time.perf_counter()
        self._socket.sendall(len(frame).to_bytes(4, "big") + frame)
        return self._sent

    def receive(self, request: messages.Message, version: int) -> Any:
        """Return the next answer, which must be the one to `request`."""
        return self._decode(request, version, self._receive_frame())

    def _receive_frame(self) -> memoryview:
        return self._exactly(int.from_bytes(self._exactly(4), "big"))

    def _decode(self, request: messages.Message, version: int, frame: memoryview) -> Any:
        spec = _BY_NAME[type(request).__name__.removesuffix("Request")]
        _, start = frames.decode_response_header(frame, spec.key, version)
        return spec.response.decode(frame, version, start)

    def ask(self, request: messages.Message, version: int) -> Any:
        """Send a request and return its answer."""
        self.send(request, version)
        return self.receive(request, version)

    def fetch(self, request: messages.FetchRequest) -> Answer:
        """Fetch and time it."""
        self.send_fetch(request)
        return self.receive_fetch(request)

    def send_fetch(self, request: messages.FetchRequest) -> None:
        """Send a Fetch, for `receive_fetch`, and start the stopwatch."""
        self._fetch_sent = (self.send(request, FETCH_VERSION), self._sent_s)

    def receive_fetch(self, request: messages.FetchRequest) -> Answer:
        """Return the answer to the Fetch that was sent last."""
        correlation_id, since_s = self._fetch_sent
        frame = self._receive_frame()
        # Before decoding: the first answer of a kind also has its decoder made.
        took_ms = (time.perf_counter() - since_s) * 1000
        response = self._decode(request, FETCH_VERSION, frame)
        found = [partition for topic in response.responses for partition in topic.partitions]
        assert len(found) <= 1, "one partition was asked for"
        return Answer(
            client_id=self.client_id,
            correlation_id=correlation_id,
            took_ms=took_ms,
            error_code=response.error_code,
            session_id=response.session_id,
            partitions=len(found),
            partition_error=found[0].error_code if found else 0,
            high_watermark=found[0].high_watermark if found else -1,
            records=memoryview(found[0].records if found else b""),
        )

    def create_topic(self, name: str, configs: Mapping[str, str] | None = None) -> bytes:
        """Make a topic of one partition and return its id."""
        topic = messages.CreateTopicsRequestCreatableTopic(name=name, num_partitions=1, replication_factor=1)
        topic.configs = [
            messages.CreateTopicsRequestCreatableTopicConfig(name=key, value=value)
            for key, value in (configs or {}).items()
        ]
        created = self.ask(messages.CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 7).topics[0]
        assert created.error_code == 0, f"CreateTopics answered {created.error_code}"
        return bytes(created.topic_id)

    def produce(self, topic: str, batch: bytes) -> int:
        """Append one batch to partition 0 and return its first offset."""
        partition = messages.ProduceRequestPartitionProduceData(index=0, records=batch)
        data = messages.ProduceRequestTopicProduceData(name=topic, partition_data=[partition])
        request = messages.ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[data])
        answered = self.ask(request, PRODUCE_VERSION).responses[0].partition_responses[0]
        assert answered.error_code == 0, f"Produce answered {answered.error_code}"
        return int(answered.base_offset)

    def _exactly(self, length: int) -> memoryview:
        buffer = memoryview(bytearray(length))
        got = 0
        while got < length:
            count = self._socket.recv_into(buffer[got:])
            if count == 0:
                raise EOFError("the broker closed the connection")
            got += count
        return buffer


def batch_of(count: int, value_bytes: int) -> bytes:
    """Return a batch of equal records."""
    builder = BatchBuilder()
    now_ms = time.time_ns() // 1_000_000
    for _ in range(count):
        builder.append(timestamp=now_ms, key=None, value=b"v" * value_bytes)
    return bytes(builder.build())


def fetch_request(
    topic_id: bytes = NULL_UUID,
    *,
    offset: int = 0,
    min_bytes: int = 1,
    max_wait_ms: int = 500,
    max_bytes: int = 50 << 20,
    partition_max_bytes: int = 1 << 20,
    session: tuple[int, int] = (0, -1),
) -> messages.FetchRequest:
    """Return a consumer's Fetch of partition 0; of no partition when there is no topic id.

    Args:
        session: id and epoch; (0, -1) wants none (KIP-227).
    """
    partition = messages.FetchRequestFetchPartition(
        partition=0, fetch_offset=offset, partition_max_bytes=partition_max_bytes
    )
    topics = [messages.FetchRequestFetchTopic(topic_id=topic_id, partitions=[partition])]
    return messages.FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        session_id=session[0],
        session_epoch=session[1],
        topics=topics if topic_id != NULL_UUID else [],
    )
