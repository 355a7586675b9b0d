"""Requests for any broker: versions it speaks, topics it makes, the bytes that load generators repeat.

A request names its topic by id where the broker knows ids, as current clients do, else by name. Every request
that a generator repeats is sent once here first and its answer decoded, so that a broker that answers errors
fast does not win.
"""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from barnabas.base.errors import ErrorCode
from barnabas.protocol import messages as m
from barnabas.protocol.api_keys import ApiKey
from barnabas.protocol.frames import encode_request_header
from barnabas.protocol.record_batch_builder import BatchBuilder
from tests.net.wire import Wire

NEWEST = {ApiKey.PRODUCE: 13, ApiKey.FETCH: 17, ApiKey.METADATA: 12, ApiKey.CREATE_TOPICS: 7}
"""The newest versions that clients of 2025 send on a hot path."""
NAMES_ONLY = {ApiKey.PRODUCE: 12, ApiKey.FETCH: 12}
"""The newest versions that name topics by name."""
OFFSET_MARK = 0x7E7E7E7E7E7E7E7E
EPOCH_MARK = 0x7D7D7D7D
NO_ID = bytes(16)
CREATE_TIMEOUT_S = 60
CLIENT_ID = "benchmark"


class AnsweredError(Exception):
    """A broker answered with an error, or not what was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic as requests name it."""

    name: str
    topic_id: bytes


class Asker:
    """A connection that knows what versions the broker speaks; as a context it closes."""

    def __init__(self, port: int, timeout_s: float = CREATE_TIMEOUT_S) -> None:
        self.wire = Wire(port, timeout_s)
        answer = self.wire.ask(m.ApiVersionsRequest(), 0)
        self.versions = {key.api_key: (key.min_version, key.max_version) for key in answer.api_keys}

    def version(self, key: int, newest: int | None = None) -> int:
        """Return the version to use of an API.

        Raises:
            AnsweredError: the broker has none that is old enough.
        """
        low, high = self.versions.get(key, (1, 0))
        wanted = min(high, NEWEST[ApiKey(key)] if newest is None else newest)
        if wanted < low:
            raise AnsweredError(f"no usable version of API {key}")
        return int(wanted)

    def ask(self, request: m.Message, version: int) -> Any:
        """Return the decoded answer."""
        return self.wire.ask(request, version)

    def make_topic(self, name: str, partitions: int = 1) -> Topic:
        """Create a topic, if it is not there, and wait until its first partition has a leader.

        A server that ended and is started again has it already.

        Raises:
            AnsweredError: the broker refused.
        """
        if ApiKey.CREATE_TOPICS in self.versions:
            made = self.wire.ask(
                m.CreateTopicsRequest(
                    topics=[
                        m.CreateTopicsRequestCreatableTopic(
                            name=name, num_partitions=partitions, replication_factor=1
                        )
                    ],
                    timeout_ms=CREATE_TIMEOUT_S * 1000,
                ),
                self.version(ApiKey.CREATE_TOPICS),
            )
            if made.topics[0].error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                raise AnsweredError(f"CreateTopics {name}: error {made.topics[0].error_code}")
        return self.find_topic(name, partitions)

    def find_topic(self, name: str, partitions: int = 1) -> Topic:
        """Wait until Metadata tells leaders of so many partitions; brokers that make topics when asked do."""
        request = m.MetadataRequest(
            topics=[m.MetadataRequestMetadataRequestTopic(name=name)], allow_auto_topic_creation=True
        )
        deadline = time.monotonic() + CREATE_TIMEOUT_S
        while True:
            (found,) = self.wire.ask(request, self.version(ApiKey.METADATA)).topics
            led = sum(one.error_code == 0 and one.leader_id >= 0 for one in found.partitions)
            if found.error_code == 0 and led >= partitions:
                topic = Topic(name=name, topic_id=bytes(found.topic_id))
                self._wait_for_leader(topic)
                return topic
            if time.monotonic() > deadline:
                raise AnsweredError(
                    f"{name}: {led} of {partitions} partitions have a leader: {found.error_code}"
                )
            time.sleep(0.05)

    def _wait_for_leader(self, topic: Topic) -> None:
        """Apache Kafka tells of a leader some milliseconds before that one knows it leads."""
        deadline = time.monotonic() + CREATE_TIMEOUT_S
        while True:
            frame, version = self.fetch_frame(topic, offset=0)
            error = self._fetched(frame, version).error_code
            if error == 0 or time.monotonic() > deadline:
                break
            time.sleep(0.02)
        if error:
            raise AnsweredError(f"{topic.name}: fetch answered error {error}")

    # Frames without their length

    def frame(self, key: int, version: int, request: m.Message) -> bytes:
        """Return a request as a generator repeats it."""
        return encode_request_header(key, version, 1, CLIENT_ID) + request.encode(version)

    def names_by_id(self, key: ApiKey, topic: Topic) -> bool:
        """Whether requests name this topic by its id."""
        return self.version(key) > NAMES_ONLY[key] and topic.topic_id != NO_ID

    def fetch_frame(
        self,
        topic: Topic,
        *,
        offset: int,
        partition_max_bytes: int = 1 << 20,
        max_wait_ms: int = 0,
        session: tuple[int, int] = (0, -1),
    ) -> tuple[bytes, int]:
        """Return a fetch of partition 0 and its version.

        Args:
            session: id and epoch (KIP-227); the default asks for none.
        """
        by_id = self.names_by_id(ApiKey.FETCH, topic)
        version = self.version(ApiKey.FETCH, None if by_id else NAMES_ONLY[ApiKey.FETCH])
        part = m.FetchRequestFetchPartition(
            partition=0, fetch_offset=offset, partition_max_bytes=partition_max_bytes
        )
        asked = m.FetchRequestFetchTopic(partitions=[part])
        if by_id:
            asked.topic_id = topic.topic_id
        else:
            asked.topic = topic.name
        request = m.FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            max_bytes=max(50 << 20, partition_max_bytes),
            session_id=session[0],
            session_epoch=session[1],
            topics=[asked],
        )
        return self.frame(ApiKey.FETCH, version, request), version

    def produce_frame(self, topic: Topic, records: bytes, *, acks: int) -> tuple[bytes, int]:
        """Return a produce to partition 0 and its version."""
        by_id = self.names_by_id(ApiKey.PRODUCE, topic)
        version = self.version(ApiKey.PRODUCE, None if by_id else NAMES_ONLY[ApiKey.PRODUCE])
        data = m.ProduceRequestPartitionProduceData(index=0, records=records)
        asked = m.ProduceRequestTopicProduceData(partition_data=[data])
        if by_id:
            asked.topic_id = topic.topic_id
        else:
            asked.name = topic.name
        request = m.ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=[asked])
        return self.frame(ApiKey.PRODUCE, version, request), version

    # Asking once, to see that it works

    def ask_frame(self, key: int, version: int, frame: bytes) -> tuple[Any, bytes]:
        """Send a frame; return its decoded answer and the answer's bytes."""
        from barnabas.protocol.frames import decode_response_header

        self.wire.sock.sendall(len(frame).to_bytes(4, "big") + frame)
        answer = self.wire.receive_frame()
        _, body = decode_response_header(memoryview(answer), key, version)
        return m.BY_KEY[key].response.decode(answer, version, body), answer

    def _fetched(self, frame: bytes, version: int) -> m.FetchResponsePartitionData:
        answer, _ = self.ask_frame(ApiKey.FETCH, version, frame)
        if answer.error_code:
            raise AnsweredError(f"Fetch v{version}: error {answer.error_code}")
        if not answer.responses:  # Tansu leaves out partitions without records
            return m.FetchResponsePartitionData()
        found: m.FetchResponsePartitionData = answer.responses[0].partitions[0]
        return found

    def fetched_bytes(self, frame: bytes, version: int) -> int:
        """Send a fetch; return how many bytes of records it brought.

        Raises:
            AnsweredError: it brought an error.
        """
        found = self._fetched(frame, version)
        if found.error_code:
            raise AnsweredError(f"Fetch v{version}: error {found.error_code}")
        return len(found.records or b"")

    def produce(self, topic: Topic, records: bytes, *, acks: int = -1) -> int:
        """Append records; return the first one's offset.

        Raises:
            AnsweredError: the broker refused.
        """
        frame, version = self.produce_frame(topic, records, acks=acks)
        answer, _ = self.ask_frame(ApiKey.PRODUCE, version, frame)
        found = answer.responses[0].partition_responses[0]
        if found.error_code:
            raise AnsweredError(f"Produce v{version}: error {found.error_code}")
        return int(found.base_offset)

    def end_offset(self, topic: Topic) -> int:
        """Return where partition 0 ends."""
        return self.wire.end_offset(topic.name)

    def fill(self, topic: Topic, total_bytes: int, batch_bytes: int) -> None:
        """Append batches of one random record each until about so many bytes are written."""
        records = batch(batch_bytes - 100)
        for _ in range(-(-total_bytes // len(records))):
            self.produce(topic, records, acks=1)

    def close(self) -> None:
        self.wire.close()

    def __enter__(self) -> "Asker":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def batch(value_bytes: int, count: int = 1) -> bytes:
    """Return one record batch of records with random values, stamped now."""
    now_ms = time.time_ns() // 1_000_000
    builder = BatchBuilder()
    for _ in range(count):
        builder.append(timestamp=now_ms, key=None, value=os.urandom(value_bytes))
    return bytes(builder.build())


def place_of(frame: bytes, mark: int, length: int) -> int:
    """Return where a marked number lies in a frame.

    Raises:
        AssertionError: the mark is not there exactly once.
    """
    pattern = mark.to_bytes(length, "big")
    assert frame.count(pattern) == 1, f"{frame.count(pattern)} marks"
    return frame.index(pattern)


def chunks(items: list[str], size: int) -> Iterator[list[str]]:
    """Yield what goes into one request."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
