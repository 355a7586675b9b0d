"""Fetch of one topic and one partition, by hand: what most fetches of a consumer and all its polls are.

A whole request of that shape is one precompiled Struct and the rack; so is one without topics, with which a
fetch session is polled. Anything else (more partitions, tagged fields, damaged bytes) goes to the generated
decoder, which is also the only place where errors are made. A response of that shape is one Struct, the
records and three bytes, written straight from its values: making the message's five objects first costs more
than all of the encoding. Property tests prove both equal to the generated codec. Versions 15-18 are what
current clients send, 11 what librdkafka sent before 2.4; the ones between are left to the generated codec.
"""

import struct
from collections.abc import Mapping

from barnabas.base.hints import TYPE_CHECKING, Any
from barnabas.base.region import FileSlice
from barnabas.protocol.codec_runtime import VARINTS, Codec, write_varint

if TYPE_CHECKING:
    from barnabas.protocol import messages

_ONE = 2
"""The count 1 in compact form."""

_OBJECTS = 2
"""A topic and a partition, as the budget counts them."""

_INT64_MAX = 0x7FFF_FFFF_FFFF_FFFF
_NO_UUID = bytes(16)

# max wait, min bytes, max bytes, isolation, session id and epoch, topics, topic id, partitions, partition,
# leader epoch, fetch offset, last fetched epoch, log start offset, partition max bytes, (no tags, no tags,
# no forgotten topics), rack length
_REQUEST_BY_ID = struct.Struct(">iiibiiB16sBiiqiqi3sB")
_AFTER_PARTITION = b"\0\0\1"

# The same without topics, which is the poll of a session that asks for nothing new: up to the number of
# topics, no forgotten topics, rack length
_REQUEST_WITHOUT_TOPICS = struct.Struct(">iiibii2sB")
_TOPICS_AT = 21
_EMPTY = 1
"""The count 0 in compact form."""

_NO_TOPICS = b"\1\1"

# replica id, then as above up to the number of topics, name length
_REQUEST_HEAD_BY_NAME = struct.Struct(">iiiibiiih")
# partitions, partition, leader epoch, fetch offset, log start offset, max bytes, forgotten topics,
# rack length
_REQUEST_TAIL_BY_NAME = struct.Struct(">iiiqqiih")

# throttle, error, session id, topics, topic id, partitions, partition, error, high watermark, last stable
# offset, log start offset, aborted transactions, preferred replica
_RESPONSE_BY_ID = struct.Struct(">ihiB16sBihqqqBi")
_RESPONSE_TAGS = b"\0\0\0"

# throttle, error, session id, no topics (and no tags)
_EMPTY_BY_ID = struct.Struct(">ihi2s")
_EMPTY_BY_NAME = struct.Struct(">ihii")
_NO_RECORDS_AND_TAGS = b"\1" + _RESPONSE_TAGS

# throttle, error, session id, topics, name length
_RESPONSE_HEAD_BY_NAME = struct.Struct(">ihiih")
# partitions, partition, error, high watermark, last stable offset, log start offset, aborted transactions,
# preferred replica, records length
_RESPONSE_TAIL_BY_NAME = struct.Struct(">iihqqqiii")


def request_decoder(version: int, names: Mapping[str, Any], generated: Codec) -> Codec:
    """Return the decoder of FetchRequest in a version.

    Args:
        names: the message's classes by name.
        generated: the decoder for everything that is not the simple shape.
    """
    if version >= 15:
        return _request_by_id(names, generated)
    if version == 11:
        return _request_by_name(names, generated)
    return generated


def _no_replica(names: Mapping[str, Any]) -> "messages.FetchRequestReplicaState":
    """Return what requests of consumers share: nobody changes a request."""
    made: messages.FetchRequestReplicaState = names["FetchRequestReplicaState"]()
    return made


def _request_by_id(names: Mapping[str, Any], generated: Codec) -> Codec:
    new = object.__new__
    request_class = names["FetchRequest"]
    no_replica = _no_replica(names)
    topic_class = names["FetchRequestFetchTopic"]
    partition_class = names["FetchRequestFetchPartition"]
    unpack = _REQUEST_BY_ID.unpack_from
    size = _REQUEST_BY_ID.size
    decode_without_topics = _request_without_topics(names, generated)

    def decode(b: memoryview, p: int, g: int) -> tuple[Any, int]:
        try:
            if b[p + _TOPICS_AT] == _EMPTY:
                return decode_without_topics(b, p, g)  # type: ignore[no-any-return]
            partition: messages.FetchRequestFetchPartition = new(partition_class)
            topic: messages.FetchRequestFetchTopic = new(topic_class)
            request: messages.FetchRequest = new(request_class)
            (
                request.max_wait_ms,
                request.min_bytes,
                request.max_bytes,
                request.isolation_level,
                request.session_id,
                request.session_epoch,
                topics,
                topic.topic_id,
                partitions,
                partition.partition,
                partition.current_leader_epoch,
                partition.fetch_offset,
                partition.last_fetched_epoch,
                partition.log_start_offset,
                partition.partition_max_bytes,
                behind,
                rack,
            ) = unpack(b, p)
            if topics != _ONE or partitions != _ONE or behind != _AFTER_PARTITION or g < _OBJECTS:
                return generated(b, p, g)  # type: ignore[no-any-return]
            end = p + size
            if rack == 1:
                request.rack_id = ""
            elif 1 < rack < 128:
                end += rack - 1
                request.rack_id = str(b[p + size : end], "utf-8")
            else:
                return generated(b, p, g)  # type: ignore[no-any-return]
            if b[end]:
                return generated(b, p, g)  # type: ignore[no-any-return]
        except (struct.error, IndexError, UnicodeDecodeError):
            return generated(b, p, g)  # type: ignore[no-any-return]
        partition.replica_directory_id = _NO_UUID
        partition.high_watermark = _INT64_MAX
        partition.unknown_tags = None
        topic.topic = ""
        topic.partitions = [partition]
        topic.unknown_tags = None
        request.cluster_id = None
        request.replica_id = -1
        request.replica_state = no_replica
        request.topics = [topic]
        request.forgotten_topics_data = []
        request.unknown_tags = None
        return request, end + 1

    return decode


def _request_without_topics(names: Mapping[str, Any], generated: Codec) -> Codec:
    """Return a decoder that may also fail with what a Struct, an index or UTF-8 fails with."""
    new = object.__new__
    request_class = names["FetchRequest"]
    no_replica = _no_replica(names)
    unpack = _REQUEST_WITHOUT_TOPICS.unpack_from
    size = _REQUEST_WITHOUT_TOPICS.size

    def decode(b: memoryview, p: int, g: int) -> tuple[Any, int]:
        request: messages.FetchRequest = new(request_class)
        (
            request.max_wait_ms,
            request.min_bytes,
            request.max_bytes,
            request.isolation_level,
            request.session_id,
            request.session_epoch,
            nothing,
            rack,
        ) = unpack(b, p)
        start = p + size
        end = start + rack - 1
        if nothing != _NO_TOPICS or not 0 < rack < 128 or b[end]:
            return generated(b, p, g)  # type: ignore[no-any-return]
        request.rack_id = str(b[start:end], "utf-8") if rack > 1 else ""
        request.cluster_id = None
        request.replica_id = -1
        request.replica_state = no_replica
        request.topics = []
        request.forgotten_topics_data = []
        request.unknown_tags = None
        return request, end + 1

    return decode


def _request_by_name(names: Mapping[str, Any], generated: Codec) -> Codec:
    new = object.__new__
    request_class = names["FetchRequest"]
    no_replica = _no_replica(names)
    topic_class = names["FetchRequestFetchTopic"]
    partition_class = names["FetchRequestFetchPartition"]
    unpack_head = _REQUEST_HEAD_BY_NAME.unpack_from
    unpack_tail = _REQUEST_TAIL_BY_NAME.unpack_from
    head_size = _REQUEST_HEAD_BY_NAME.size
    tail_size = _REQUEST_TAIL_BY_NAME.size

    def decode(b: memoryview, p: int, g: int) -> tuple[Any, int]:
        partition: messages.FetchRequestFetchPartition = new(partition_class)
        topic: messages.FetchRequestFetchTopic = new(topic_class)
        request: messages.FetchRequest = new(request_class)
        try:
            (
                request.replica_id,
                request.max_wait_ms,
                request.min_bytes,
                request.max_bytes,
                request.isolation_level,
                request.session_id,
                request.session_epoch,
                topics,
                length,
            ) = unpack_head(b, p)
            if topics != 1 or length < 0 or g < _OBJECTS:
                return generated(b, p, g)  # type: ignore[no-any-return]
            name = p + head_size
            end = name + length
            topic.topic = str(b[name:end], "utf-8")
            (
                partitions,
                partition.partition,
                partition.current_leader_epoch,
                partition.fetch_offset,
                partition.log_start_offset,
                partition.partition_max_bytes,
                forgotten,
                rack,
            ) = unpack_tail(b, end)
            end += tail_size
            if partitions != 1 or forgotten or rack < 0 or rack > len(b) - end:
                return generated(b, p, g)  # type: ignore[no-any-return]
            request.rack_id = str(b[end : end + rack], "utf-8") if rack else ""
        except (struct.error, UnicodeDecodeError):
            return generated(b, p, g)  # type: ignore[no-any-return]
        partition.last_fetched_epoch = -1
        partition.replica_directory_id = _NO_UUID
        partition.high_watermark = _INT64_MAX
        partition.unknown_tags = None
        topic.topic_id = _NO_UUID
        topic.partitions = [partition]
        topic.unknown_tags = None
        request.cluster_id = None
        request.replica_state = no_replica
        request.topics = [topic]
        request.forgotten_topics_data = []
        request.unknown_tags = None
        return request, end + rack

    return decode


# throttle, error, session id
_RESPONSE_START = struct.Struct(">ihi")
RESPONSE_START_BYTES = _RESPONSE_START.size


def response_start(session_id: int) -> bytes:
    """Return what comes before the topics: the part in which answers with the same records may differ."""
    return _RESPONSE_START.pack(0, 0, session_id)


PLAIN_RESPONSE_VERSIONS = frozenset((11, *range(13, 19)))
"""Versions that `plain_response` and `empty_response` write."""


def plain_response(  # noqa: PLR0917 - keywords cost a third more, for every fetch
    version: int,
    prefix: bytes,
    session_id: int,
    topic: str,
    topic_id: bytes,
    partition: int,
    error_code: int,
    high_watermark: int,
    last_stable_offset: int,
    log_start_offset: int,
    read_committed: bool,
    preferred_read_replica: int,
    records: FileSlice | None,
) -> list[bytes | FileSlice]:
    """Return a whole response of one partition: no aborted transactions, no tagged fields.

    The values are the broker's own and fit their fields.

    Args:
        version: one of PLAIN_RESPONSE_VERSIONS.
        prefix: the response header.
        session_id: 0 for none.
        topic: for version 11, which names it.
        topic_id: 16 bytes, for the others.
        read_committed: the aborted transactions are an empty list, not null.
        records: None or at least one byte.
    """
    length = 0 if records is None else records.length
    if version == 11:
        name = topic.encode()
        head = (
            prefix
            + _RESPONSE_HEAD_BY_NAME.pack(0, 0, session_id, 1, len(name))
            + name
            + _RESPONSE_TAIL_BY_NAME.pack(
                1, partition, error_code, high_watermark, last_stable_offset, log_start_offset,
                0 if read_committed else -1, preferred_read_replica, length,
            )
        )  # fmt: skip
        return [head] if records is None else [head, records]
    head = prefix + _RESPONSE_BY_ID.pack(
        0, 0, session_id, _ONE, topic_id, _ONE, partition, error_code, high_watermark, last_stable_offset,
        log_start_offset, 1 if read_committed else 0, preferred_read_replica,
    )  # fmt: skip
    if records is None:
        return [head + _NO_RECORDS_AND_TAGS]
    return [
        head + (VARINTS[length + 1] if length < 127 else write_varint(length + 1)),
        records,
        _RESPONSE_TAGS,
    ]


def empty_response(version: int, prefix: bytes, session_id: int) -> list[bytes | FileSlice]:
    """Return a whole response without partitions: there is no news for a session.

    Args:
        version: one of PLAIN_RESPONSE_VERSIONS.
        prefix: the response header.
        session_id: 0 for none.
    """
    if version == 11:
        return [prefix + _EMPTY_BY_NAME.pack(0, 0, session_id, 0)]
    return [prefix + _EMPTY_BY_ID.pack(0, 0, session_id, b"\1\0")]
