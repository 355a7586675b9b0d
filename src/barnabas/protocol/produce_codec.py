"""Produce to one topic and one partition, by hand: what a producer that keeps up sends.

As `fetch_codec` does for Fetch: the simple shape is read and written by one or two precompiled Structs,
anything else goes to the generated codec. Versions 9-13; older ones are left to the generated codec.
"""

import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from barnabas.protocol.codec_runtime import VARINTS, Codec, Fault, read_length

if TYPE_CHECKING:
    from barnabas.protocol import messages

_ONE = 2
"""The count 1 in compact form."""

_OBJECTS = 2
"""A topic and a partition, as the budget counts them."""

_TAGS = b"\0\0\0"
"""No tagged fields of partition, topic and request."""

_NO_UUID = bytes(16)

# transactional id (null), acks, timeout, topics, topic id, partitions, partition
_REQUEST_BY_ID = struct.Struct(">BhiB16sBi")
# transactional id (null), acks, timeout, topics, name length
_REQUEST_HEAD_BY_NAME = struct.Struct(">BhiBB")
# partitions, partition
_REQUEST_TAIL_BY_NAME = struct.Struct(">Bi")

# topics, topic id
_RESPONSE_HEAD_BY_ID = struct.Struct(">B16s")
# partitions, partition, error, base offset, append time, log start offset, no record errors, no message, no
# tags of partition and topic, throttle, no tags
_RESPONSE_TAIL = struct.Struct(">BihqqqBBBBiB")


def request_decoder(version: int, names: Mapping[str, Any], generated: Codec) -> Codec:
    """Return the decoder of ProduceRequest in a version.

    Args:
        names: the message's classes by name.
        generated: the decoder for everything that is not the simple shape.
    """
    if version < 9:
        return generated
    by_id = version >= 13
    new = object.__new__
    request_class = names["ProduceRequest"]
    topic_class = names["ProduceRequestTopicProduceData"]
    partition_class = names["ProduceRequestPartitionProduceData"]

    def decode(b: memoryview, p: int, g: int) -> tuple[Any, int]:
        partition: messages.ProduceRequestPartitionProduceData = new(partition_class)
        topic: messages.ProduceRequestTopicProduceData = new(topic_class)
        request: messages.ProduceRequest = new(request_class)
        try:
            if by_id:
                transactional, request.acks, request.timeout_ms, topics, topic.topic_id, partitions, index = (
                    _REQUEST_BY_ID.unpack_from(b, p)
                )
                topic.name = ""
                end = p + _REQUEST_BY_ID.size
            else:
                transactional, request.acks, request.timeout_ms, topics, length = (
                    _REQUEST_HEAD_BY_NAME.unpack_from(b, p)
                )
                if not 0 < length < 128:
                    return generated(b, p, g)  # type: ignore[no-any-return]
                name = p + _REQUEST_HEAD_BY_NAME.size
                end = name + length - 1
                topic.name = str(b[name:end], "utf-8")
                topic.topic_id = _NO_UUID
                partitions, index = _REQUEST_TAIL_BY_NAME.unpack_from(b, end)
                end += _REQUEST_TAIL_BY_NAME.size
            if transactional or topics != _ONE or partitions != _ONE or g < _OBJECTS:
                return generated(b, p, g)  # type: ignore[no-any-return]
            length = b[end] - 1
            end += 1
            if length > 126:
                length, end = read_length(b, end)
            records = end
            end += length
            if length < 0 or b[end : end + 3] != _TAGS:
                return generated(b, p, g)  # type: ignore[no-any-return]
        except (struct.error, IndexError, UnicodeDecodeError, Fault):
            return generated(b, p, g)  # type: ignore[no-any-return]
        partition.index = index
        partition.records = b[records:end]
        partition.unknown_tags = None
        topic.partition_data = [partition]
        topic.unknown_tags = None
        request.transactional_id = None
        request.topic_data = [topic]
        request.unknown_tags = None
        return request, end + 3

    return decode


def response_encoder(version: int, _names: Mapping[str, Any], generated: Codec) -> Codec:
    """Return the encoder of ProduceResponse in a version; arguments as for `request_decoder`."""
    if version < 9:
        return generated
    by_id = version >= 13

    def encode(response: "messages.ProduceResponse") -> tuple[list[Any], list[int]]:
        topics = response.responses
        if len(topics) != 1 or response.node_endpoints or response.unknown_tags:
            return generated(response)  # type: ignore[no-any-return]
        topic = topics[0]
        if len(topic.partition_responses) != 1 or topic.unknown_tags:
            return generated(response)  # type: ignore[no-any-return]
        partition = topic.partition_responses[0]
        leader = partition.current_leader
        if (
            partition.error_message is not None
            or partition.record_errors
            or leader.leader_id != -1
            or leader.leader_epoch != -1
            or partition.unknown_tags
            or leader.unknown_tags
        ):
            return generated(response)  # type: ignore[no-any-return]
        try:
            if by_id:
                if len(topic.topic_id) != 16:
                    return generated(response)  # type: ignore[no-any-return]
                head = _RESPONSE_HEAD_BY_ID.pack(_ONE, topic.topic_id)
            else:
                name = topic.name.encode()
                if len(name) > 126:
                    return generated(response)  # type: ignore[no-any-return]
                head = VARINTS[_ONE] + VARINTS[len(name) + 1] + name
            tail = _RESPONSE_TAIL.pack(
                _ONE,
                partition.index,
                partition.error_code,
                partition.base_offset,
                partition.log_append_time_ms,
                partition.log_start_offset,
                1,
                0,
                0,
                0,
                response.throttle_time_ms,
                0,
            )
        except (struct.error, UnicodeEncodeError, AttributeError):
            return generated(response)  # type: ignore[no-any-return]
        return [head, tail], []

    return encode
