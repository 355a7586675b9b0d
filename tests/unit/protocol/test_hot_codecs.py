"""The codecs written by hand equal the generated ones, whatever they are given."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.base.errors import DecodeError
from barnabas.base.region import FileSlice, LeasedFile
from barnabas.protocol import fetch_codec, messages, produce_codec
from barnabas.protocol.messages import Message
from barnabas.sim.disk import MemoryDisk

int16 = st.integers(-(1 << 15), (1 << 15) - 1)
int32 = st.integers(-(1 << 31), (1 << 31) - 1)
int64 = st.integers(-(1 << 63), (1 << 63) - 1)
int8 = st.integers(-128, 127)
uuid = st.binary(min_size=16, max_size=16)
text = st.text(max_size=8) | st.sampled_from(["", "x" * 126, "x" * 127, "x" * 128, "\u2192" * 42])
records = st.none() | st.binary(max_size=40) | st.sampled_from([b"r" * 126, b"r" * 127, b"r" * 20_000])
slices = st.none() | st.builds(
    lambda length: FileSlice(LeasedFile(MemoryDisk().open("records", create=True)), 0, length),
    st.integers(1, 300) | st.integers(1, (1 << 31) - 2),
)
tags = st.sampled_from([None, None, None, [(90, b"x")]])
mostly_one = st.sampled_from([1, 1, 1, 1, 0, 2])

examples = settings(max_examples=50, deadline=None)


def _fields(strategies: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return fields of which any may be left at its default."""
    return st.fixed_dictionaries({}, optional=strategies)


def _listed(element: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return mostly_one.flatmap(lambda count: st.lists(element, min_size=count, max_size=count))


# The request's fields that every version from 4 on can carry, and those of a follower at times.
fetch_partitions = st.builds(
    lambda fields: messages.FetchRequestFetchPartition(**fields),
    _fields(
        {"partition": int32, "fetch_offset": int64, "partition_max_bytes": int32, "log_start_offset": int64}
    ),
)
fetch_topics = st.builds(
    lambda topic, topic_id, partitions, unknown: messages.FetchRequestFetchTopic(
        topic=topic, topic_id=topic_id, partitions=partitions, unknown_tags=unknown
    ),
    text,
    uuid,
    _listed(fetch_partitions),
    tags,
)
fetch_requests = st.builds(
    lambda fields, topics: messages.FetchRequest(topics=topics, **fields),
    _fields(
        {
            "max_wait_ms": int32,
            "min_bytes": int32,
            "max_bytes": int32,
            "isolation_level": int8,
            "session_id": int32,
            "session_epoch": int32,
            "rack_id": text,
            "unknown_tags": tags,
            "cluster_id": st.none() | text,
        }
    ),
    _listed(fetch_topics),
)

produce_requests = st.builds(
    lambda fields, topics: messages.ProduceRequest(topic_data=topics, **fields),
    _fields({"acks": int16, "timeout_ms": int32, "transactional_id": st.none() | text, "unknown_tags": tags}),
    _listed(
        st.builds(
            lambda name, topic_id, partitions: messages.ProduceRequestTopicProduceData(
                name=name, topic_id=topic_id, partition_data=partitions
            ),
            text,
            uuid,
            _listed(
                st.builds(
                    lambda index, content, unknown: messages.ProduceRequestPartitionProduceData(
                        index=index, records=content, unknown_tags=unknown
                    ),
                    int32,
                    records,
                    tags,
                )
            ),
        )
    ),
)


def _decoded(codec: Any, data: bytes, budget: int) -> tuple[Message, int] | str:
    """Return the message and its end, or the error's text."""
    try:
        made: tuple[Message, int] = codec(memoryview(data), 0, budget)
    except DecodeError as error:
        return str(error)
    return made


def _check_decoders(message: Message, version: int, data: st.DataObject) -> None:
    table = type(message)._decoders
    by_hand, generated = table[version], table.compiler.generate(version)
    try:
        encoded = message.encode(version)
    except ValueError:
        return
    assert _decoded(by_hand, encoded, 1_000) == _decoded(generated, encoded, 1_000)
    assert _decoded(by_hand, encoded, 1) == _decoded(generated, encoded, 1)
    cut = encoded[: data.draw(st.integers(0, len(encoded)))]
    assert _decoded(by_hand, cut, 1_000) == _decoded(generated, cut, 1_000)
    changed = bytearray(encoded)
    position = data.draw(st.integers(0, len(encoded) - 1))
    changed[position] = data.draw(st.integers(0, 255))
    assert _decoded(by_hand, bytes(changed), 1_000) == _decoded(generated, bytes(changed), 1_000)


@pytest.mark.parametrize("version", [4, 11, 12, 13, 15, 16, 17, 18])
def test_fetch_requests(version: int) -> None:
    @examples
    @given(fetch_requests, st.data())
    def check(message: Message, data: st.DataObject) -> None:
        _check_decoders(message, version, data)

    check()


@pytest.mark.parametrize("version", sorted(fetch_codec.PLAIN_RESPONSE_VERSIONS))
def test_fetch_responses(version: int) -> None:
    @examples
    @given(int32, text, uuid, int32, int16, int64, int64, int64, st.booleans(), int32, slices)
    def check(
        session_id: int,
        topic: str,
        topic_id: bytes,
        index: int,
        error_code: int,
        high_watermark: int,
        last_stable_offset: int,
        log_start_offset: int,
        read_committed: bool,
        preferred: int,
        fetched: FileSlice | None,
    ) -> None:
        by_hand = fetch_codec.plain_response(
            version, b"prefix", session_id, topic, topic_id, index, error_code, high_watermark,
            last_stable_offset, log_start_offset, read_committed, preferred, fetched,
        )  # fmt: skip
        partition = messages.FetchResponsePartitionData(
            partition_index=index,
            error_code=error_code,
            high_watermark=high_watermark,
            last_stable_offset=last_stable_offset,
            log_start_offset=log_start_offset,
            aborted_transactions=[] if read_committed else None,
            preferred_read_replica=preferred,
            records=b"" if fetched is None else fetched,
        )
        message = messages.FetchResponse(
            session_id=session_id,
            responses=[
                messages.FetchResponseFetchableTopicResponse(
                    topic=topic, topic_id=topic_id, partitions=[partition]
                )
            ],
        )
        generated = message.encode_parts(version, b"prefix")
        assert [part for part in by_hand if len(part)] == generated

    check()


@pytest.mark.parametrize("version", sorted(fetch_codec.PLAIN_RESPONSE_VERSIONS))
@pytest.mark.parametrize("session_id", [0, 1, 2**31 - 1])
def test_fetch_responses_without_partitions(version: int, session_id: int) -> None:
    by_hand = fetch_codec.empty_response(version, b"prefix", session_id)
    assert by_hand == messages.FetchResponse(session_id=session_id).encode_parts(version, b"prefix")


@pytest.mark.parametrize("version", [8, 9, 12, 13])
def test_produce_requests(version: int) -> None:
    @examples
    @given(produce_requests, st.data())
    def check(message: Message, data: st.DataObject) -> None:
        _check_decoders(message, version, data)

    check()


@pytest.mark.parametrize("version", sorted(produce_codec.PLAIN_RESPONSE_VERSIONS))
def test_produce_responses(version: int) -> None:
    @examples
    @given(text, uuid, int32, int16, int64, int64, int64)
    def check(
        topic: str,
        topic_id: bytes,
        index: int,
        error_code: int,
        base_offset: int,
        log_append_time_ms: int,
        log_start_offset: int,
    ) -> None:
        by_hand = produce_codec.plain_response(
            version, b"prefix", topic, topic_id, index, error_code, base_offset, log_append_time_ms,
            log_start_offset,
        )  # fmt: skip
        partition = messages.ProduceResponsePartitionProduceResponse(
            index=index,
            error_code=error_code,
            base_offset=base_offset,
            log_append_time_ms=log_append_time_ms,
            log_start_offset=log_start_offset,
        )
        message = messages.ProduceResponse(
            responses=[
                messages.ProduceResponseTopicProduceResponse(
                    name=topic, topic_id=topic_id, partition_responses=[partition]
                )
            ]
        )
        assert [by_hand] == message.encode_parts(version, b"prefix")

    check()


def test_the_common_shapes_are_taken_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shortcuts are used at all: what they return does not come from the generated codec."""

    class _Refuse:
        def __call__(self, *arguments: Any) -> Any:
            raise AssertionError("fell back to the generated codec")

    names = {name: getattr(messages, name) for name in _CLASS_NAMES}
    partition = messages.FetchRequestFetchPartition(partition=3, fetch_offset=7)
    request = messages.FetchRequest(topics=[messages.FetchRequestFetchTopic(partitions=[partition])])
    for version in (11, 15, 16, 17, 18):
        decode = fetch_codec.request_decoder(version, names, _Refuse())
        assert decode(memoryview(request.encode(version)), 0, 9)[0] == request
    produced = messages.ProduceRequestTopicProduceData(
        name="t", partition_data=[messages.ProduceRequestPartitionProduceData(index=1, records=b"r")]
    )
    produce = messages.ProduceRequest(acks=-1, topic_data=[produced])
    for version in (9, 10, 11, 12):
        decode = produce_codec.request_decoder(version, names, _Refuse())
        assert decode(memoryview(produce.encode(version)), 0, 9)[0] == produce


_CLASS_NAMES = (
    "FetchRequest",
    "FetchRequestReplicaState",
    "FetchRequestFetchTopic",
    "FetchRequestFetchPartition",
    "ProduceRequest",
    "ProduceRequestTopicProduceData",
    "ProduceRequestPartitionProduceData",
)
