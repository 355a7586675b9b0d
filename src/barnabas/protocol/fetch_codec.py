"""Fetch of one topic and one partition, by hand: what most fetches of a consumer and all its polls are.

A whole request of that shape is one precompiled Struct and the rack; a response is one Struct, the
records and three bytes. Anything else (more partitions, tagged fields, damaged bytes, values that do
not fit) goes to the generated codec, which is also the only place where errors are made. A property test
proves both equal. Versions 15-18 are what current clients send, 11 what librdkafka sent before 2.4; the
ones between are left to the generated codec.
"""

import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from barnabas.base.region import FileSlice
from barnabas.protocol.codec_runtime import PART_BYTES_MIN, VARINTS, Codec, write_varint

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

# replica id, then as above up to the number of topics, name length
_REQUEST_HEAD_BY_NAME = struct.Struct(">iiiibiiih")
# partitions, partition, leader epoch, fetch offset, log start offset, max bytes, forgotten topics,
# rack length
_REQUEST_TAIL_BY_NAME = struct.Struct(">iiiqqiih")

# throttle, error, session id, topics, topic id, partitions, partition, error, high watermark, last stable
# offset, log start offset, aborted transactions, preferred replica
_RESPONSE_BY_ID = struct.Struct(">ihiB16sBihqqqBi")
_RESPONSE_TAGS = b"\0\0\0"

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


def _request_by_id(names: Mapping[str, Any], generated: Codec) -> Codec:
    new = object.__new__
    request_class = names["FetchRequest"]
    state_class = names["FetchRequestReplicaState"]
    topic_class = names["FetchRequestFetchTopic"]
    partition_class = names["FetchRequestFetchPartition"]
    unpack = _REQUEST_BY_ID.unpack_from
    size = _REQUEST_BY_ID.size

    def decode(b: memoryview, p: int, g: int) -> tuple[Any, int]:
        partition: messages.FetchRequestFetchPartition = new(partition_class)
        topic: messages.FetchRequestFetchTopic = new(topic_class)
        request: messages.FetchRequest = new(request_class)
        try:
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
        state: messages.FetchRequestReplicaState = new(state_class)
        state.replica_id = -1
        state.replica_epoch = -1
        state.unknown_tags = None
        request.cluster_id = None
        request.replica_id = -1
        request.replica_state = state
        request.topics = [topic]
        request.forgotten_topics_data = []
        request.unknown_tags = None
        return request, end + 1

    return decode


def _request_by_name(names: Mapping[str, Any], generated: Codec) -> Codec:
    new = object.__new__
    request_class = names["FetchRequest"]
    state_class = names["FetchRequestReplicaState"]
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
        state: messages.FetchRequestReplicaState = new(state_class)
        state.replica_id = -1
        state.replica_epoch = -1
        state.unknown_tags = None
        request.cluster_id = None
        request.replica_state = state
        request.topics = [topic]
        request.forgotten_topics_data = []
        request.unknown_tags = None
        return request, end + rack

    return decode


def response_encoder(version: int, _names: Mapping[str, Any], generated: Codec) -> Codec:
    """Return the encoder of FetchResponse in a version; arguments as for `request_decoder`."""
    if version >= 13:
        return _response_by_id(generated)
    if version == 11:
        return _response_by_name(generated)
    return generated


def _is_simple(partition: "messages.FetchResponsePartitionData") -> bool:
    """Whether no tagged field of a partition is set and no transaction was aborted."""
    diverging = partition.diverging_epoch
    leader = partition.current_leader
    snapshot = partition.snapshot_id
    return not (
        partition.aborted_transactions
        or diverging.epoch != -1
        or diverging.end_offset != -1
        or leader.leader_id != -1
        or leader.leader_epoch != -1
        or snapshot.end_offset != -1
        or snapshot.epoch != -1
        or partition.unknown_tags
        or diverging.unknown_tags
        or leader.unknown_tags
        or snapshot.unknown_tags
    )


def _response_by_id(generated: Codec) -> Codec:
    pack = _RESPONSE_BY_ID.pack

    def encode(response: "messages.FetchResponse") -> tuple[list[Any], list[int]]:
        topics = response.responses
        if len(topics) != 1 or response.node_endpoints or response.unknown_tags:
            return generated(response)  # type: ignore[no-any-return]
        topic = topics[0]
        if len(topic.partitions) != 1 or topic.unknown_tags or len(topic.topic_id) != 16:
            return generated(response)  # type: ignore[no-any-return]
        partition = topic.partitions[0]
        if not _is_simple(partition):
            return generated(response)  # type: ignore[no-any-return]
        try:
            head = pack(
                response.throttle_time_ms,
                response.error_code,
                response.session_id,
                _ONE,
                topic.topic_id,
                _ONE,
                partition.partition_index,
                partition.error_code,
                partition.high_watermark,
                partition.last_stable_offset,
                partition.log_start_offset,
                0 if partition.aborted_transactions is None else 1,
                partition.preferred_read_replica,
            )
        except struct.error:
            return generated(response)  # type: ignore[no-any-return]
        records = partition.records
        if records is None:
            return [head, b"\0", _RESPONSE_TAGS], []
        length = len(records)
        counted = VARINTS[length + 1] if length < 127 else write_varint(length + 1)
        cuts = [2] if length >= PART_BYTES_MIN or records.__class__ is FileSlice else []
        return [head, counted, records, _RESPONSE_TAGS], cuts

    return encode


def _response_by_name(generated: Codec) -> Codec:
    pack_head = _RESPONSE_HEAD_BY_NAME.pack
    pack_tail = _RESPONSE_TAIL_BY_NAME.pack

    def encode(response: "messages.FetchResponse") -> tuple[list[Any], list[int]]:
        topics = response.responses
        if len(topics) != 1 or response.node_endpoints or response.unknown_tags:
            return generated(response)  # type: ignore[no-any-return]
        topic = topics[0]
        if len(topic.partitions) != 1 or topic.unknown_tags:
            return generated(response)  # type: ignore[no-any-return]
        partition = topic.partitions[0]
        if not _is_simple(partition):
            return generated(response)  # type: ignore[no-any-return]
        records = partition.records
        try:
            name = topic.topic.encode()
            head = pack_head(
                response.throttle_time_ms, response.error_code, response.session_id, 1, len(name)
            )
            tail = pack_tail(
                1,
                partition.partition_index,
                partition.error_code,
                partition.high_watermark,
                partition.last_stable_offset,
                partition.log_start_offset,
                -1 if partition.aborted_transactions is None else 0,
                partition.preferred_read_replica,
                -1 if records is None else len(records),
            )
        except (struct.error, UnicodeEncodeError, AttributeError):
            return generated(response)  # type: ignore[no-any-return]
        if records is None:
            return [head, name, tail], []
        cuts = [3] if len(records) >= PART_BYTES_MIN or records.__class__ is FileSlice else []
        return [head, name, tail, records], cuts

    return encode
