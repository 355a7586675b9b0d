"""A client of the fewest parts: one connection, requests as objects."""

import socket
import struct

from barnabas.protocol import frames, messages
from barnabas.protocol.record_batch_builder import BatchBuilder

TIMEOUT_S = 30
_BROKER_LOGGER = 8


class Asking:
    """One connection to a broker on 127.0.0.1."""

    def __init__(self, port: int) -> None:
        self._peer = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S)
        self._stream = self._peer.makefile("rb")

    def close(self) -> None:
        self._stream.close()
        self._peer.close()

    def send(self, request: messages.Message, version: int) -> None:
        """Send a request, and wait for nothing."""
        frame = frames.encode_request_header(request.api_key, version, 1, "test") + request.encode(version)
        self._peer.sendall(struct.pack(">i", len(frame)) + frame)

    def receive(self, request: type[messages.Message], version: int) -> messages.Message:
        """Return the answer to a request of this kind."""
        spec = messages.BY_KEY[request.api_key]
        (length,) = struct.unpack(">i", self._stream.read(4))
        answer = memoryview(self._stream.read(length))
        _, offset = frames.decode_response_header(answer, spec.key, version)
        return spec.response.decode(answer, version, offset)

    def read_to_end(self) -> bytes:
        """Return what comes until the broker hangs up."""
        return self._stream.read()

    def ask(self, request: messages.Message, version: int) -> messages.Message:
        self.send(request, version)
        return self.receive(type(request), version)

    def create(self, name: str) -> None:
        topic = messages.CreateTopicsRequestCreatableTopic(name=name, num_partitions=1, replication_factor=1)
        response = self.ask(messages.CreateTopicsRequest(topics=[topic]), 4)
        assert response.topics[0].error_code == 0

    def delete(self, name: str) -> None:
        response = self.ask(messages.DeleteTopicsRequest(topic_names=[name]), 3)
        assert response.responses[0].error_code == 0

    def produce(self, topic: str, values: list[bytes], *, partition: int = 0) -> int:
        """Append one batch to a partition; return the error code."""
        builder = BatchBuilder()
        for value in values:
            builder.append(timestamp=1_700_000_000_000, key=None, value=value)
        data = messages.ProduceRequestPartitionProduceData(index=partition, records=bytes(builder.build()))
        topic_data = messages.ProduceRequestTopicProduceData(name=topic, partition_data=[data])
        request = messages.ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic_data])
        return self.ask(request, 9).responses[0].partition_responses[0].error_code

    def set_logger(self, name: str, level: str) -> None:
        config = messages.IncrementalAlterConfigsRequestAlterableConfig(name=name, value=level)
        resource = messages.IncrementalAlterConfigsRequestAlterConfigsResource(
            resource_type=_BROKER_LOGGER, resource_name="1", configs=[config]
        )
        response = self.ask(messages.IncrementalAlterConfigsRequest(resources=[resource]), 1)
        assert response.responses[0].error_code == 0
