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

# transactional id (null), acks, timeout, topics, topic id, partitions, partition, length of the records. A
# batch has 61 bytes, so that its length often takes two; a third, or a second too many, is seen by the first.
_REQUEST_BY_ID = struct.Struct(">BhiB16sBiBB")
# transactional id (null), acks, timeout, topics, name length
_REQUEST_HEAD_BY_NAME = struct.Struct(">BhiBB")
# partitions, partition, length of the records
_REQUEST_TAIL_BY_NAME = struct.Struct(">BiBB")

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
        try:
            if by_id:
                transactional, acks, timeout_ms, topics, topic_id, partitions, index, low, high = (
                    _REQUEST_BY_ID.unpack_from(b, p)
                )
                name = ""
                records = p + _REQUEST_BY_ID.size
            else:
                transactional, acks, timeout_ms, topics, length = _REQUEST_HEAD_BY_NAME.unpack_from(b, p)
                if not 0 < length < 128:
                    return generated(b, p, g)  # type: ignore[no-any-return]
                records = p + _REQUEST_HEAD_BY_NAME.size
                behind = records + length - 1
                name = str(b[records:behind], "utf-8")
                topic_id = _NO_UUID
                partitions, index, low, high = _REQUEST_TAIL_BY_NAME.unpack_from(b, behind)
                records = behind + _REQUEST_TAIL_BY_NAME.size
            if transactional or topics != _ONE or partitions != _ONE or g < _OBJECTS:
                return generated(b, p, g)  # type: ignore[no-any-return]
            if low < 0x80:
                records -= 1
                end = records + low - 1
            elif high < 0x80:
                end = records + (low & 0x7F | high << 7) - 1
            else:
                length, records = read_length(b, records - 1)
                end = records + length
            if end < records or b[end : end + 3] != _TAGS:
                return generated(b, p, g)  # type: ignore[no-any-return]
        except (struct.error, IndexError, UnicodeDecodeError, Fault):
            return generated(b, p, g)  # type: ignore[no-any-return]
        partition: messages.ProduceRequestPartitionProduceData = new(partition_class)
        partition.index = index
        partition.records = b[records:end]
        partition.unknown_tags = None
        topic: messages.ProduceRequestTopicProduceData = new(topic_class)
        topic.name = name
        topic.topic_id = topic_id
        topic.partition_data = [partition]
        topic.unknown_tags = None
        request: messages.ProduceRequest = new(request_class)
        request.transactional_id = None
        request.acks = acks
        request.timeout_ms = timeout_ms
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
