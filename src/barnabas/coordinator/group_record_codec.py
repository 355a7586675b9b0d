"""The bytes of group records, with a short way for the one kind that is written all the time: offset commits.

The generated encoders take most of a commit's own time. What is written here by hand is what they would
write, which a test compares for all values there are.
"""

from __future__ import annotations

from struct import Struct, error

from barnabas.base.hints import Final
from barnabas.base.uuids import NULL_UUID
from barnabas.coordinator.offset_commits import VALUE_VERSION
from barnabas.coordinator.outcome import CoordinatorRecord
from barnabas.coordinator.record_codec import RecordCodec
from barnabas.protocol import messages

_KEY_TYPE: Final = 1
_TYPE_AND_LENGTH: Final = Struct(">hh")
_LENGTH: Final = Struct(">h")
_PARTITION: Final = Struct(">i")
_VALUE_HEAD: Final = Struct(">hqib")  # version, offset, leader epoch, compact length of the metadata
_TIMESTAMP: Final = Struct(">q")
_NO_TAGS: Final = b"\x00"
_TOPIC_ID_TAG: Final = b"\x01\x00\x10"  # one tagged field, tag 0, 16 bytes

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
        if record.key.__class__ is self._offset_commit_key and record.value_version == VALUE_VERSION:
            assert isinstance(record.key, messages.OffsetCommitKey)
            assert isinstance(record.value, messages.OffsetCommitValue)
            encoded = _encode_offset_commit(record.key, record.value)
            if encoded is not None:
                return encoded
        return super().encode(record)


def _encode_offset_commit(
    key: messages.OffsetCommitKey, value: messages.OffsetCommitValue
) -> tuple[bytes, bytes] | None:
    """Return key and value of version 4; None for what is not usual, which the generated encoders take."""
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
