"""Produce to one topic and one partition, by hand: what a producer that keeps up sends.

As `fetch_codec` does for Fetch: a request of the simple shape is read by one or two precompiled Structs, its
answer is written straight from the values, anything else goes to the generated codec. Versions 9-13; older
ones are left to the generated codec.
"""

import struct
from collections.abc import Mapping

from barnabas.base.hints import TYPE_CHECKING, Any
from barnabas.protocol.codec_runtime import VARINTS, Codec, Fault, read_length, write_varint

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
                high = b[end]
                if high < 0x80:
                    length += (high - 1) << 7  # the first byte's highest bit is no part of the length
                    end += 1
                else:
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


PLAIN_RESPONSE_VERSIONS = frozenset(range(9, 14))
"""Versions that `plain_response` writes."""


def plain_response(  # noqa: PLR0917 - keywords cost a third more, for every produce
    version: int,
    prefix: bytes,
    topic: str,
    topic_id: bytes,
    partition: int,
    error_code: int,
    base_offset: int,
    log_append_time_ms: int,
    log_start_offset: int,
) -> bytes:
    """Return a whole response of one partition without messages and tagged fields, header first.

    Args:
        version: one of PLAIN_RESPONSE_VERSIONS.
        prefix: the response header.
        topic: for versions below 13, which name it; a topic's name, so at most 249 bytes.
        topic_id: 16 bytes, from version 13 on.
    """
    if version >= 13:
        head = _RESPONSE_HEAD_BY_ID.pack(_ONE, topic_id)
    else:
        name = topic.encode()
        head = VARINTS[_ONE] + write_varint(len(name) + 1) + name
    return (
        prefix
        + head
        + _RESPONSE_TAIL.pack(
            _ONE, partition, error_code, base_offset, log_append_time_ms, log_start_offset, 1, 0, 0, 0, 0, 0
        )
    )
