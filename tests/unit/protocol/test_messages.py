"""Encoding and decoding of messages: Kafka's rules, one by one, and every version there and back."""

import linecache
import random
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from barnabas.base.errors import DecodeError
from barnabas.base.region import FileSlice, LeasedFile
from barnabas.protocol import messages, schema
from barnabas.protocol.messages import Message
from tests import message_values

SEED = 4_4_0
ROUNDS = 3


class _MemoryFile:
    """A file of a few bytes."""

    path = "memory"

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.closed = False

    def read_at(self, position: int, length: int) -> bytes:
        return self.content[position : position + length]

    def close(self) -> None:
        self.closed = True


def _class(name: str) -> type[Message]:
    found = getattr(messages, name)
    assert issubclass(found, Message)
    return found


def test_every_version_of_every_message_there_and_back() -> None:
    rng = random.Random(SEED)
    for name, version in message_values.every_version():
        spec = schema.load(name)
        for _ in range(ROUNDS):
            message = message_values.random_message(spec, version, rng)
            encoded = message.encode(version)
            decoded, end = _class(name).decode_from(encoded, version, 0)
            assert end == len(encoded), (name, version)
            assert decoded == message, (name, version)
            assert decoded.encode(version) == encoded, (name, version)


def test_bytes_before_and_behind_a_message_do_not_matter() -> None:
    request = messages.ListOffsetsRequest(replica_id=-1)
    encoded = request.encode(7)
    frame = b"abc" + encoded + b"xyz"
    assert messages.ListOffsetsRequest.decode_from(frame, 7, 3) == (request, 3 + len(encoded))
    assert messages.ListOffsetsRequest.decode(encoded + b"xyz", 7) == request


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_is_decoded(kind: type) -> None:
    encoded = messages.HeartbeatRequest(group_id="g", member_id="m").encode(4)
    assert messages.HeartbeatRequest.decode(kind(encoded), 4).group_id == "g"


def test_records_are_views_of_the_frame() -> None:
    partition = messages.ProduceRequestPartitionProduceData(index=3, records=b"records")
    topic = messages.ProduceRequestTopicProduceData(name="t", partition_data=[partition])
    frame = messages.ProduceRequest(acks=1, topic_data=[topic]).encode(9)
    records = messages.ProduceRequest.decode(frame, 9).topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    assert records.obj is frame
    assert records == b"records"


def test_defaults_are_kafkas() -> None:
    request = messages.FetchRequest()
    assert (request.max_bytes, request.session_epoch, request.replica_id) == (0x7FFF_FFFF, -1, -1)
    assert request.cluster_id is None
    assert request.topics == []
    assert request.replica_state == messages.FetchRequestReplicaState(replica_id=-1, replica_epoch=-1)
    assert messages.FetchResponsePartitionData().records is None
    assert messages.FetchRequestFetchTopic().topic_id == bytes(16)
    assert messages.CreateTopicsRequest().timeout_ms == 60000


def test_default_lists_and_structs_are_not_shared() -> None:
    messages.FetchRequest().topics.append(messages.FetchRequestFetchTopic())
    assert messages.FetchRequest().topics == []
    messages.FetchRequest().replica_state.replica_id = 5
    assert messages.FetchRequest().replica_state.replica_id == -1


def test_messages_compare_by_value() -> None:
    assert messages.HeartbeatRequest(group_id="a") == messages.HeartbeatRequest(group_id="a")
    assert messages.HeartbeatRequest(group_id="a") != messages.HeartbeatRequest(group_id="b")
    assert messages.HeartbeatRequest() != messages.LeaveGroupRequest()
    with pytest.raises(TypeError):
        hash(messages.HeartbeatRequest())


def test_a_repr_stays_short() -> None:
    partition = messages.ProduceRequestPartitionProduceData(records=b"x" * 100_000)
    assert len(repr(partition)) < 200
    assert "<100000 bytes>" in repr(partition)
    assert "1000 items" in repr(
        messages.ApiVersionsResponse(api_keys=[messages.ApiVersionsResponseApiVersion()] * 1000)
    )


def test_a_misspelt_attribute_is_an_error() -> None:
    with pytest.raises(AttributeError):
        messages.HeartbeatRequest().group = "g"  # type: ignore[attr-defined]


def test_unknown_tags_are_kept_and_written_in_order_of_their_tags() -> None:
    response = messages.ApiVersionsResponse(
        finalized_features_epoch=9, unknown_tags=[(70_000, b"late"), (2_000, b""), (5, b"early")]
    )
    encoded = response.encode(3)
    decoded = messages.ApiVersionsResponse.decode(encoded, 3)
    assert decoded.unknown_tags == [(5, b"early"), (2_000, b""), (70_000, b"late")]
    assert decoded.finalized_features_epoch == 9
    assert decoded.encode(3) == encoded


def test_a_later_versions_tagged_field_is_unknown_to_an_earlier_one() -> None:
    request = messages.FetchRequest(replica_state=messages.FetchRequestReplicaState(replica_id=7))
    # Version 12 and 15 differ in topic names and ids only when there are topics, and in replica_id.
    newer = request.encode(15)
    older = messages.FetchRequest.decode(b"\xff\xff\xff\xff" + newer, 12)
    assert older.unknown_tags is not None
    assert older.unknown_tags[0][0] == 1
    assert older.replica_state.replica_id == -1


def test_an_unknown_tag_that_the_version_defines_is_refused() -> None:
    with pytest.raises(ValueError, match="tag 1"):
        messages.ApiVersionsResponse(finalized_features_epoch=9, unknown_tags=[(1, b"")]).encode(3)


def test_unknown_tags_need_a_flexible_version() -> None:
    with pytest.raises(ValueError, match="no tagged fields"):
        messages.ApiVersionsRequest(unknown_tags=[(0, b"")]).encode(2)


def test_a_tagged_field_at_its_default_is_not_written() -> None:
    assert messages.ApiVersionsResponse(finalized_features_epoch=-1).encode(3) == bytes(2) + b"\1" + bytes(5)


def test_null_inside_a_tagged_field_is_a_varint() -> None:
    encoded = messages.ConsumerGroupMemberMetadataValue(classic_member_metadata=None).encode(0)
    assert encoded.endswith(b"\1\0\1\0")
    assert messages.ConsumerGroupMemberMetadataValue.decode(encoded, 0).classic_member_metadata is None


def test_null_in_line_is_a_negative_byte() -> None:
    assert messages.ConsumerGroupHeartbeatResponse(assignment=None).encode(0).endswith(b"\xff\0")


def test_a_field_the_version_lacks_is_refused_unless_ignorable() -> None:
    with pytest.raises(ValueError, match=r"ListOffsetsRequest v1 isolation_level: .*lacks"):
        messages.ListOffsetsRequest(isolation_level=1).encode(1)
    # Ignorable: left out in silence.
    assert messages.FetchRequest(rack_id="r1").encode(4) == messages.FetchRequest().encode(4)


@pytest.mark.parametrize(
    ("message", "version", "complaint"),
    [
        (messages.HeartbeatRequest(generation_id=1 << 31), 4, "generation_id"),
        (messages.HeartbeatRequest(group_id=None), 4, "HeartbeatRequest v4 group_id: null"),  # type: ignore[arg-type]
        (messages.HeartbeatRequest(group_id=None), 0, "HeartbeatRequest v0 group_id: null"),  # type: ignore[arg-type]
        (messages.HeartbeatRequest(group_id="x" * 32768), 4, "32768 bytes"),
        (messages.HeartbeatRequest(group_id="x" * 32768), 0, "group_id"),
        (messages.HeartbeatRequest(group_id="\ud800"), 0, "group_id"),
        (messages.DescribeTopicPartitionsRequest(topics=None), 0, "topics: null"),  # type: ignore[arg-type]
        (messages.TopicRecord(topic_id=b"short"), 0, "topic_id: a uuid is 16 bytes"),
    ],
)
def test_a_value_that_does_not_fit_is_named(message: Message, version: int, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        message.encode(version)


def test_an_unknown_version_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="FetchRequest has versions 4-18, not 3"):
        messages.FetchRequest.decode(b"", 3)
    with pytest.raises(ValueError, match="not 19"):
        messages.FetchRequest().encode(19)


def _fetch_response(records: bytes | FileSlice) -> messages.FetchResponse:
    partition = messages.FetchResponsePartitionData(records=records)
    topic = messages.FetchResponseFetchableTopicResponse(topic="t", partitions=[partition])
    return messages.FetchResponse(responses=[topic])


def test_a_file_slice_is_a_part_of_its_own() -> None:
    content = b"0123456789"
    leased = LeasedFile(_MemoryFile(content))  # type: ignore[arg-type]
    parts = _fetch_response(FileSlice(leased, 2, 5)).encode_parts(12)
    assert [type(part) for part in parts] == [bytes, FileSlice, bytes]
    joined = b"".join(part.read() if isinstance(part, FileSlice) else part for part in parts)
    assert joined == _fetch_response(b"23456").encode(12)


def test_an_empty_file_slice_is_released_and_left_out() -> None:
    leased = LeasedFile(_MemoryFile(b""))  # type: ignore[arg-type]
    parts = _fetch_response(FileSlice(leased, 0, 0)).encode_parts(12)
    assert [type(part) for part in parts] == [bytes]
    assert leased.holders == 1


def test_a_file_slice_cannot_be_joined() -> None:
    leased = LeasedFile(_MemoryFile(b"abc"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="encode_parts"):
        _fetch_response(FileSlice(leased, 0, 3)).encode(12)


def test_large_values_are_not_copied_into_parts() -> None:
    records = b"x" * 100_000
    parts = _fetch_response(records).encode_parts(12, b"prefix")
    assert any(part is records for part in parts)
    assert b"".join(parts) == b"prefix" + _fetch_response(records).encode(12)  # type: ignore[arg-type]


def test_a_decode_error_names_message_version_field_and_offset() -> None:
    topic = messages.MetadataRequestMetadataRequestTopic(name="topic")
    encoded = messages.MetadataRequest(topics=[topic, topic]).encode(8)
    with pytest.raises(
        DecodeError, match=r"^MetadataRequest v8 topics\.name at byte 13: length 5 with 3 bytes left$"
    ):
        messages.MetadataRequest.decode(encoded[:16], 8)


def test_generated_source_can_be_read_in_tracebacks() -> None:
    with pytest.raises(ValueError) as raised:
        messages.HeartbeatRequest(group_id=5).encode(4)  # type: ignore[arg-type]
    frame = raised.traceback[-1].frame.raw
    assert frame.f_code.co_filename == "barnabas HeartbeatRequest encoder v4"
    assert "def encode" in linecache.getline(frame.f_code.co_filename, 1, frame.f_globals)
    assert "raise" in "".join(traceback.format_tb(raised.tb)[-1:])


def test_faults_in_codecs_generated_ahead_name_the_field() -> None:
    with pytest.raises(ValueError, match=r"^RegisterBrokerRecord v4 rack: "):
        messages.RegisterBrokerRecord(rack=5).encode(4)  # type: ignore[arg-type]
    encoded = messages.TopicRecord(name="topic", topic_id=bytes(16)).encode(0)
    with pytest.raises(DecodeError, match=r"^TopicRecord v0 name at byte "):
        messages.TopicRecord.decode(encoded[:3], 0)


def test_names_that_do_not_exist() -> None:
    with pytest.raises(AttributeError, match="NoSuchRequest"):
        messages.NoSuchRequest  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError):
        messages.FetchRequestNoSuchStruct  # type: ignore[attr-defined]  # noqa: B018


def test_metadata_records_by_type() -> None:
    assert messages.METADATA_RECORDS[2] is messages.TopicRecord
    assert messages.METADATA_RECORDS[2].api_key == 2
    assert 6 not in messages.METADATA_RECORDS
    with pytest.raises(KeyError):
        messages.METADATA_RECORDS[6]


@pytest.mark.parametrize("name", ["write_message_stubs.py", "write_start_codecs.py"])
def test_files_generated_from_the_catalogue_are_fresh(name: str) -> None:
    tool = Path(__file__).parents[3] / "tools" / name
    done = subprocess.run([sys.executable, str(tool), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
