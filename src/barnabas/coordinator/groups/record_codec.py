"""The bytes of group records, with a short way for the one kind that is written all the time: offset commits.

The generated encoders take most of a commit's own time. What is written here by hand is what they would
write, which a test compares for all values there are.
"""

from __future__ import annotations

from struct import Struct, error

from barnabas.base.disk import Buffer
from barnabas.base.hints import Any, Final
from barnabas.base.uuids import NULL_UUID
from barnabas.coordinator.offsets.commits import VALUE_VERSION
from barnabas.coordinator.runtime.outcome import CoordinatorRecord
from barnabas.coordinator.runtime.record_codec import RecordCodec
from barnabas.protocol import messages

_KEY_TYPE: Final = 1
_KEY_TYPE_BYTES: Final = b"\x00\x01"
_TYPE_AND_LENGTH: Final = Struct(">hh")
_LENGTH: Final = Struct(">h")
_PARTITION: Final = Struct(">i")
_VALUE_HEAD: Final = Struct(">hqib")  # version, offset, leader epoch, compact length of the metadata
_TIMESTAMP: Final = Struct(">q")
_NO_TAGS: Final = b"\x00"
_TOPIC_ID_TAG: Final = b"\x01\x00\x10"  # one tagged field, tag 0, 16 bytes
_TAGGED_BYTES: Final = 19

_SHORT_METADATA_MAX: Final = 126
"""Bytes of metadata whose compact length is a single byte."""


class GroupRecordCodec(RecordCodec):
    """Encodes and decodes the records of `__consumer_offsets`."""

    __slots__ = ("_offset_commit_key",)

    def __init__(self) -> None:
        super().__init__("group_records")
        self._offset_commit_key = messages.OffsetCommitKey

    def encode(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        """Return key and value.

        Raises:
            ValueError: a field does not fit its version.
        """
        if record.value_version == VALUE_VERSION and record.key.__class__ is self._offset_commit_key:
            encoded = _encode_offset_commit(record.key, record.value)
            if encoded is not None:
                return encoded
        return super().encode(record)

    def decode(self, key: Buffer | None, value: Buffer | None) -> CoordinatorRecord:
        """Return a record; raises as `RecordCodec.decode`."""
        if isinstance(key, bytes) and isinstance(value, bytes) and key[:2] == _KEY_TYPE_BYTES:
            decoded = _decode_offset_commit(key, value)
            if decoded is not None:
                return decoded
        return super().decode(key, value)


def _encode_offset_commit(key: Any, value: Any) -> tuple[bytes, bytes] | None:
    """Return key and value of version 4; None for what is not usual, which the generated encoders take.

    Args:
        key, value: OffsetCommitKey and OffsetCommitValue; a tombstone has version 0 and does not come here.
    """
    group = key.group.encode()
    topic = key.topic.encode()
    metadata = value.metadata.encode()
    topic_id = value.topic_id
    if len(metadata) > _SHORT_METADATA_MAX or value.unknown_tags or key.unknown_tags:
        return None
    try:
        return (
            b"".join(
                (
                    _TYPE_AND_LENGTH.pack(_KEY_TYPE, len(group)),
                    group,
                    _LENGTH.pack(len(topic)),
                    topic,
                    _PARTITION.pack(key.partition),
                )
            ),
            b"".join(
                (
                    _VALUE_HEAD.pack(VALUE_VERSION, value.offset, value.leader_epoch, len(metadata) + 1),
                    metadata,
                    _TIMESTAMP.pack(value.commit_timestamp),
                    _NO_TAGS if topic_id == NULL_UUID else _TOPIC_ID_TAG + topic_id,
                )
            ),
        )
    except error:
        return None


def _decode_offset_commit(key: bytes, value: bytes) -> CoordinatorRecord | None:
    """Return a commit of version 4; None for what is not usual, or damaged: the generated decoders tell."""
    try:
        (group_length,) = _LENGTH.unpack_from(key, 2)
        topic_at = 4 + group_length
        (topic_length,) = _LENGTH.unpack_from(key, topic_at)
        partition_at = topic_at + 2 + topic_length
        version, offset, leader_epoch, metadata_length = _VALUE_HEAD.unpack_from(value)
        timestamp_at = _VALUE_HEAD.size + metadata_length - 1
        tags_at = timestamp_at + 8
        tags = value[tags_at:]
        if (
            version != VALUE_VERSION
            or group_length < 0
            or topic_length < 0
            or metadata_length < 1
            or partition_at + 4 != len(key)
            or not (tags == _NO_TAGS or (len(tags) == _TAGGED_BYTES and tags[:3] == _TOPIC_ID_TAG))
        ):
            return None
        return CoordinatorRecord(
            messages.OffsetCommitKey(
                group=key[4:topic_at].decode(),
                topic=key[topic_at + 2 : partition_at].decode(),
                partition=_PARTITION.unpack_from(key, partition_at)[0],
            ),
            messages.OffsetCommitValue(
                offset=offset,
                leader_epoch=leader_epoch,
                metadata=value[_VALUE_HEAD.size : timestamp_at].decode(),
                commit_timestamp=_TIMESTAMP.unpack_from(value, timestamp_at)[0],
                topic_id=NULL_UUID if tags == _NO_TAGS else tags[3:],
            ),
            VALUE_VERSION,
        )
    except (error, UnicodeDecodeError):
        return None
