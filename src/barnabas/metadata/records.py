"""The frame of a KRaft record: uvarint 1, uvarint api key, uvarint version, the message.

Every record of `__cluster_metadata` carries it, in the log and in snapshots. Types and versions this broker
does not know are refused with their offset: skipping one would build an image that differs from what the
cluster agreed on, and a start that stops with a clear error has changed nothing. That is what Apache Kafka
does too; a newer metadata.version is what brings such records.
"""

from __future__ import annotations

from barnabas.base.dataclass import dataclass
from barnabas.base.errors import DecodeError
from barnabas.base.hints import Any, Final
from barnabas.protocol import messages

FRAME_VERSION: Final = 1


class MetadataError(Exception):
    """The metadata on disk cannot be used, or a change to it makes no sense. The start stops."""


RECORD_TYPES: Final[dict[int, tuple[str, int]]] = {
    0: ("RegisterBrokerRecord", 4),
    1: ("UnregisterBrokerRecord", 0),
    2: ("TopicRecord", 0),
    3: ("PartitionRecord", 2),
    4: ("ConfigRecord", 0),
    5: ("PartitionChangeRecord", 2),
    7: ("FenceBrokerRecord", 0),
    8: ("UnfenceBrokerRecord", 0),
    9: ("RemoveTopicRecord", 0),
    10: ("DelegationTokenRecord", 0),
    11: ("UserScramCredentialRecord", 0),
    12: ("FeatureLevelRecord", 0),
    14: ("ClientQuotaRecord", 0),
    15: ("ProducerIdsRecord", 0),
    17: ("BrokerRegistrationChangeRecord", 3),
    18: ("AccessControlEntryRecord", 0),
    19: ("RemoveAccessControlEntryRecord", 0),
    20: ("NoOpRecord", 0),
    21: ("ZkMigrationStateRecord", 0),
    22: ("RemoveUserScramCredentialRecord", 0),
    23: ("BeginTransactionRecord", 0),
    24: ("EndTransactionRecord", 0),
    25: ("AbortTransactionRecord", 0),
    26: ("RemoveDelegationTokenRecord", 0),
    27: ("RegisterControllerRecord", 0),
    28: ("ClearElrRecord", 0),
    29: ("UnregisterControllerRecord", 0),
}
"""Api key -> message and the newest version read, as Apache Kafka 4.4 has them."""

_KEY_BY_NAME: Final = {name: key for key, (name, _) in RECORD_TYPES.items()}


@dataclass(frozen=True, slots=True)
class VersionedRecord:
    """A message and the version it is written in; the version matters only to the bytes."""

    message: Any
    version: int = 0

    @property
    def type_name(self) -> str:
        """The message's name, for example `TopicRecord`."""
        return type(self.message).__name__


def encode_record(record: VersionedRecord) -> bytes:
    """Return the value of a log record for a metadata message."""
    key = _KEY_BY_NAME[record.type_name]
    # Keys and versions are all below 128, so each uvarint is one byte.
    body: bytes = record.message.encode(record.version)
    return bytes((FRAME_VERSION, key, record.version)) + body


def decode_record(value: bytes | memoryview) -> VersionedRecord:
    """Return the metadata message in a log record's value.

    Raises:
        MetadataError: the frame, type or version is not known, or the message is malformed.
    """
    frame_version, position = _uvarint(value, 0)
    if frame_version != FRAME_VERSION:
        raise MetadataError(f"metadata record has frame version {frame_version}; this broker reads version 1")
    key, position = _uvarint(value, position)
    version, position = _uvarint(value, position)
    known = RECORD_TYPES.get(key)
    if known is None:
        raise MetadataError(
            f"metadata record of unknown type {key}: a newer release wrote it, or metadata.version is newer "
            "than this broker supports; use a broker of that release"
        )
    name, newest = known
    if version > newest:
        raise MetadataError(
            f"{name} has version {version}; this broker reads versions 0 to {newest}: use a broker of the "
            "release that wrote it"
        )
    message_class = getattr(messages, name)
    try:
        message, end = message_class.decode_from(value, version, position)
    except DecodeError as error:
        raise MetadataError(f"{name} version {version} is malformed: {error}") from error
    if end != len(value):
        raise MetadataError(f"{name} version {version} has {len(value) - end} bytes too many")
    return VersionedRecord(message, version)


def _uvarint(buffer: bytes | memoryview, position: int) -> tuple[int, int]:
    shift = value = 0
    while shift < 35:
        if position >= len(buffer):
            raise MetadataError("metadata record ends within its frame")
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise MetadataError("metadata record has a number longer than five bytes in its frame")
