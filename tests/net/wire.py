"""A blocking connection that speaks whole requests, or any bytes at all."""

import socket
from types import TracebackType
from typing import Any

from barnabas.protocol import messages as m
from barnabas.protocol.frames import decode_response_header, encode_request_header

TIMEOUT_S = 30
LENGTH_BYTES = 4
CLIENT_ID = "wire"


def frame_of(request: m.Message, version: int, correlation_id: int = 1) -> bytes:
    """A request as it goes over the wire, length and all."""
    key = request.api_key
    assert key is not None
    body = encode_request_header(key, version, correlation_id, CLIENT_ID) + request.encode(version)
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


class Wire:
    """One connection to 127.0.0.1; as a context it closes."""

    def __init__(self, port: int, timeout_s: float = TIMEOUT_S) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=timeout_s)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._correlation_id = 0

    def ask(self, request: m.Message, version: int) -> Any:
        """Send a request and return its decoded answer."""
        self._correlation_id += 1
        self.sock.sendall(frame_of(request, version, self._correlation_id))
        frame = self.receive_frame()
        key = request.api_key
        assert key is not None
        correlation_id, body = decode_response_header(memoryview(frame), key, version)
        assert correlation_id == self._correlation_id
        return m.BY_KEY[key].response.decode(frame, version, body)

    def receive_frame(self) -> bytes:
        """Return the next answer without its length.

        Raises:
            AssertionError: the broker hung up.
        """
        return self._receive(int.from_bytes(self._receive(LENGTH_BYTES), "big"))

    def _receive(self, length: int) -> bytes:
        data = bytearray()
        while len(data) < length:
            more = self.sock.recv(length - len(data))
            assert more, "the broker closed the connection"
            data += more
        return bytes(data)

    def hung_up(self) -> bool:
        """Whether the broker closes the connection; waits for it, and passes over what it still says."""
        try:
            while self.sock.recv(65536):
                pass
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        return True

    def make_topic(self, name: str, partitions: int = 1, **configs: str) -> None:
        """Create a topic; configs with _ for dots."""
        topic = m.CreateTopicsRequestCreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=1,
            configs=[
                m.CreateTopicsRequestCreatableTopicConfig(name=key.replace("_", "."), value=value)
                for key, value in configs.items()
            ],
        )
        made = self.ask(m.CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7)
        assert made.topics[0].error_code == 0, made

    def produce(self, topic: str, records: bytes, partition: int = 0) -> Any:
        """Produce with acks=-1; return the partition's answer."""
        return self.ask(produce_request(topic, records, partition), 9).responses[0].partition_responses[0]

    def fetch(self, topic: str, offset: int, *, partition: int = 0, max_bytes: int = 1 << 20) -> Any:
        """Fetch without waiting long; return the partition's answer."""
        answer = self.ask(fetch_request(topic, offset, partition, max_bytes), 12)
        return answer.responses[0].partitions[0]

    def end_offset(self, topic: str, partition: int = 0) -> int:
        """The high watermark."""
        one = m.ListOffsetsRequestListOffsetsPartition(partition_index=partition, timestamp=-1)
        asked = m.ListOffsetsRequestListOffsetsTopic(name=topic, partitions=[one])
        answer = self.ask(m.ListOffsetsRequest(replica_id=-1, topics=[asked]), 7)
        found = answer.topics[0].partitions[0]
        assert found.error_code == 0, found
        return int(found.offset)

    def close(self) -> None:
        self.sock.close()

    def __enter__(self) -> "Wire":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def produce_request(topic: str, records: bytes, partition: int = 0, acks: int = -1) -> m.ProduceRequest:
    """Records for one partition, by name."""
    data = m.ProduceRequestPartitionProduceData(index=partition, records=records)
    asked = m.ProduceRequestTopicProduceData(name=topic, partition_data=[data])
    return m.ProduceRequest(acks=acks, timeout_ms=10_000, topic_data=[asked])


def fetch_request(topic: str, offset: int, partition: int = 0, max_bytes: int = 1 << 20) -> m.FetchRequest:
    """A fetch of one partition, by name."""
    part = m.FetchRequestFetchPartition(
        partition=partition, fetch_offset=offset, partition_max_bytes=max_bytes
    )
    asked = m.FetchRequestFetchTopic(topic=topic, partitions=[part])
    return m.FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=max_bytes, topics=[asked])
