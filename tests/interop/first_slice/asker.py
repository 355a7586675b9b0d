"""Ask a broker with our own codecs and keep what it answered in a form that two brokers can share.

An answer becomes plain data (dicts, lists, numbers, text). What must differ between any two brokers
(topic ids, the port, the cluster id, session ids) is replaced by a name, so that it still has to be the
right one; clocks are told apart from -1 only. A closed connection and a missing answer are answers too.
"""

import socket
import time
from collections.abc import Callable, Iterable
from typing import Any

from barnabas.protocol import messages as m
from barnabas.protocol.frames import decode_response_header, encode_request_header

CLIENT_ID = "side-by-side"
UNKNOWN_ID = bytes(4) + bytes(range(1, 13))
"""Below any id that is made at random, so that answers sorted by id come in one order."""
LENGTH_BYTES = 4
ANSWER_TIMEOUT_S = 20
LEADER_TIMEOUT_S = 30
CLOSED = "closed the connection"

Plain = Any

_ELSEWHERE_WORDED = frozenset(("Produce", "FindCoordinator"))
"""APIs whose error messages we word ourselves: whether there is one is compared."""

_CLOCKS = frozenset(("log_append_time_ms", "session_id", "finalized_features_epoch"))
"""Fields of which only `is it set` is compared."""


class Asker:
    """One broker under question.

    Attributes:
        answers: (situation, answer) in the order they were asked.
        topic_ids: by name, as the broker told.
        sent, received: the frames of the last exchange; None when the broker hung up.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.answers: list[tuple[str, Plain]] = []
        self.topic_ids: dict[str, bytes] = {}
        self.names: dict[bytes, str] = {UNKNOWN_ID: "the unknown id"}
        self.sent = b""
        self.received: bytes | None = None
        self._sock: socket.socket | None = None
        self._correlation_id = 0

    def ask(self, situation: str, version: int, request: m.Message) -> m.Message | None:
        """Ask, keep the answer under `<api> v<version> <situation>`, return it; None when it hung up."""
        api = type(request).__name__.removesuffix("Request")
        answer = self.exchange(version, request)
        self.keep(f"{api} v{version} {situation}", answer)
        return answer

    def keep(self, situation: str, answer: m.Message | None) -> None:
        """Keep an answer that was asked for with `exchange` and perhaps put in order since."""
        if answer is not None:
            _put_in_order(answer)
        plain = CLOSED if answer is None else self._plain(answer, "")
        if situation.partition(" ")[0] in _ELSEWHERE_WORDED:
            plain = _unworded(plain)
        self.answers.append((situation, plain))

    def tell(self, situation: str, version: int, request: m.Message) -> None:
        """Send what must not be answered, then keep whether the connection still works."""
        api = type(request).__name__.removesuffix("Request")
        self._send(version, request)
        after = self.exchange(0, m.ApiVersionsRequest())
        self.answers.append((f"{api} v{version} {situation}", CLOSED if after is None else "no answer"))

    def exchange(self, version: int, request: m.Message) -> m.Message | None:
        """Ask without keeping the answer; None when the broker closed the connection."""
        key = request.api_key
        assert key is not None
        self._send(version, request)
        frame = self.received = self._receive_frame()
        if frame is None:
            self.close()
            return None
        correlation_id, body = decode_response_header(memoryview(frame), key, version)
        assert correlation_id == self._correlation_id
        decoded, end = m.BY_KEY[key].response.decode_from(frame, version, body)
        assert end == len(frame), f"{len(frame) - end} bytes behind the answer"
        return decoded

    def _send(self, version: int, request: m.Message) -> None:
        if self._sock is None:
            self._sock = socket.create_connection(("127.0.0.1", self.port), timeout=ANSWER_TIMEOUT_S)
        self._correlation_id += 1
        key = request.api_key
        assert key is not None
        frame = encode_request_header(key, version, self._correlation_id, CLIENT_ID) + request.encode(version)
        self.sent = frame
        self._sock.sendall(len(frame).to_bytes(LENGTH_BYTES, "big") + frame)

    def _receive_frame(self) -> bytes | None:
        head = self._receive(LENGTH_BYTES)
        return None if head is None else self._receive(int.from_bytes(head, "big"))

    def _receive(self, length: int) -> bytes | None:
        assert self._sock is not None
        data = b""
        while len(data) < length:
            try:
                more = self._sock.recv(length - len(data))
            except ConnectionResetError:
                return None
            if not more:
                return None
            data += more
        return data

    def close(self) -> None:
        if self._sock is not None:
            self._sock.close()
            self._sock = None

    # Topics --------------------------------------------------------------------------------------

    def make_topic(self, name: str, partitions: int = 1, **configs: str) -> bytes:
        """Create a topic, wait until the broker leads it, return its id; configs with _ for dots."""
        topic = m.CreateTopicsRequestCreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=1,
            configs=[
                m.CreateTopicsRequestCreatableTopicConfig(name=key.replace("_", "."), value=value)
                for key, value in configs.items()
            ],
        )
        made = self.exchange(7, m.CreateTopicsRequest(topics=[topic], timeout_ms=10_000))
        assert isinstance(made, m.CreateTopicsResponse)
        assert made.topics[0].error_code == 0, made
        self.learn_topic(name, bytes(made.topics[0].topic_id))
        self.wait_for_leaders(name, partitions)
        return self.topic_ids[name]

    def learn_topic(self, name: str, topic_id: bytes) -> None:
        """Call that id by the topic's name from here on."""
        self.topic_ids[name] = topic_id
        self.names[topic_id] = f"id of {name}"

    def wait_for_leaders(self, name: str, partitions: int) -> None:
        """Return when all partitions can be used: Apache Kafka makes them after it has answered."""
        asked = [
            m.ListOffsetsRequestListOffsetsPartition(partition_index=p, timestamp=-1)
            for p in range(partitions)
        ]
        request = m.ListOffsetsRequest(
            replica_id=-1, topics=[m.ListOffsetsRequestListOffsetsTopic(name=name, partitions=asked)]
        )
        self.until(
            lambda: (
                [p.error_code for t in self._answer(7, request).topics for p in t.partitions]
                == [0] * partitions
            )
        )

    def wait_until_gone(self, name: str) -> None:
        """Return when the broker has forgotten a deleted topic."""
        asked = [m.MetadataRequestMetadataRequestTopic(name=name)]
        request = m.MetadataRequest(topics=asked, allow_auto_topic_creation=False)
        self.until(lambda: self._answer(9, request).topics[0].error_code == 3)

    def _answer(self, version: int, request: m.Message) -> Any:
        answer = self.exchange(version, request)
        assert answer is not None, f"the broker hung up on {request}"
        return answer

    def until(self, holds: Callable[[], bool]) -> None:
        """Return when it holds."""
        deadline = time.monotonic() + LEADER_TIMEOUT_S
        while not holds():
            assert time.monotonic() < deadline, "the broker does not get there"
            time.sleep(0.01)

    # Plain data ----------------------------------------------------------------------------------

    def _plain(self, value: Any, field: str) -> Plain:
        if isinstance(value, m.Struct):
            names: Iterable[str] = [n for n in value.__slots__ if n != "unknown_tags"]
            plain = {name: self._plain(getattr(value, name), name) for name in names}
            if value.unknown_tags:
                plain["unknown_tags"] = str(value.unknown_tags)
            return plain
        if isinstance(value, list):
            return [self._plain(item, field) for item in value]
        if isinstance(value, bytes | bytearray | memoryview):
            data = bytes(value)
            if field == "topic_id" and any(data):
                return self.names.get(data, "an id")
            return data.hex()
        if field in _CLOCKS:
            return value if value <= 0 else "set"
        if field == "port" and value == self.port:
            return "this port"
        if field == "cluster_id" and value is not None:
            return "a cluster id"
        return value


def _unworded(value: Plain, field: str = "") -> Plain:
    if isinstance(value, dict):
        return {name: _unworded(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_unworded(item, field) for item in value]
    return "words" if field.endswith("error_message") and value else value


def _put_in_order(answer: m.Message) -> None:
    """Sort what Apache Kafka answers in the order of a hash table, and drop topics without partitions."""
    match answer:
        case m.MetadataResponse() | m.CreateTopicsResponse():
            answer.topics.sort(key=lambda topic: (topic.name or "", bytes(topic.topic_id)))
        case m.DeleteTopicsResponse():
            answer.responses.sort(key=lambda one: (one.name or "", one.error_code, bytes(one.topic_id)))
        case m.ListOffsetsResponse() | m.DeleteRecordsResponse():
            for topic in answer.topics:
                topic.partitions.sort(key=lambda one: one.partition_index)
            answer.topics = [topic for topic in answer.topics if topic.partitions]
        case m.ProduceResponse():
            merged: dict[tuple[str, bytes], m.ProduceResponseTopicProduceResponse] = {}
            for response in answer.responses:
                known = merged.setdefault((response.name, bytes(response.topic_id)), response)
                if known is not response:
                    known.partition_responses += response.partition_responses
            answer.responses = sorted(merged.values(), key=lambda one: (one.name, bytes(one.topic_id)))
            for response in answer.responses:
                response.partition_responses.sort(key=lambda one: one.index)
            answer.responses = [response for response in answer.responses if response.partition_responses]
        case m.ApiVersionsResponse():
            answer.supported_features.sort(key=lambda feature: feature.name)
            answer.finalized_features.sort(key=lambda feature: feature.name)
        case _:
            pass
