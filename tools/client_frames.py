"""Produce and Fetch requests as most clients send them: one topic, one partition, ids instead of names.

What loads a broker without a client repeats these frames: `tools/compile_training.py` and some of
`benchmarks/`. They come without their length, as the dispatcher takes them. Not `benchmarks/asking.py`, which
asks brokers of any version, and needs what a build of the wheel does not have.
"""

from collections.abc import Iterable

from barnabas.protocol import frames, messages
from barnabas.protocol.api_keys import ApiKey
from barnabas.protocol.record_batch_builder import BatchBuilder

FETCH_VERSION = 17
PRODUCE_VERSION = 13
NO_SESSION = -1


def frame(api_key: int, version: int, request: messages.Message) -> bytes:
    return frames.encode_request_header(api_key, version, 7, "repeated") + request.encode(version)


def with_length(framed: bytes | memoryview) -> bytes:
    """Return a frame as it goes over a connection."""
    return len(framed).to_bytes(4, "big") + framed


def batch(values: Iterable[bytes], now_ms: int) -> bytes:
    """Return one record batch, uncompressed, without keys."""
    builder = BatchBuilder()
    for value in values:
        builder.append(timestamp=now_ms, key=None, value=value)
    return bytes(builder.build())


def produce_frame(topic_id: bytes, records: bytes, acks: int) -> bytes:
    data = messages.ProduceRequestPartitionProduceData(index=0, records=records)
    topic = messages.ProduceRequestTopicProduceData(topic_id=topic_id, partition_data=[data])
    request = messages.ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=[topic])
    return frame(ApiKey.PRODUCE, PRODUCE_VERSION, request)


def fetch_frame(
    topic_id: bytes,
    offset: int,
    *,
    max_wait_ms: int = 0,
    max_bytes: int = 1 << 20,
    session_id: int = 0,
    session_epoch: int = NO_SESSION,
) -> bytes:
    """Return a fetch as a consumer sends it.

    Args:
        max_wait_ms: 0 is answered at once.
        max_bytes: of the partition.
        session_epoch: above 0 a session goes on, and names no partition (KIP-227).
    """
    asked = messages.FetchRequestFetchPartition(
        partition=0, current_leader_epoch=0, fetch_offset=offset, partition_max_bytes=max_bytes
    )
    goes_on = session_epoch > 0
    request = messages.FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=50 << 20,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=[] if goes_on else [messages.FetchRequestFetchTopic(topic_id=topic_id, partitions=[asked])],
    )
    return frame(ApiKey.FETCH, FETCH_VERSION, request)
