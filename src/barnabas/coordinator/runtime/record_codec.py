"""The bytes of a coordinator's records, as they lie in an internal topic.

A key starts with its type as an int16 and goes on with the key message in version 0; a value starts with its
version as an int16. A tombstone has no value.

Whoever reads must expect types and versions of a newer broker. They cannot be understood, so they are told by
an exception of their own and the reader passes over them; they stay in the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct

from barnabas.base.disk import Buffer
from barnabas.base.errors import DecodeError
from barnabas.base.hints import Final
from barnabas.coordinator.runtime.outcome import CoordinatorRecord
from barnabas.protocol.messages import RecordTypes
from barnabas.protocol.structures import Message

_INT16: Final = Struct(">h")


class UnknownRecordError(DecodeError):
    """A record type, or a version of one, that this broker does not know."""


class RecordCodec:
    """Encodes and decodes the records of one kind of coordinator.

    Args:
        file: the catalogue's, `group_records` for example.
    """

    __slots__ = ("_classes", "_keys", "_values")

    def __init__(self, file: str) -> None:
        self._keys: Mapping[int, type[Message]] = RecordTypes("coordinator-key", file)
        self._values: Mapping[int, type[Message]] = RecordTypes("coordinator-value", file)
        self._classes: dict[int, tuple[type[Message], type[Message]]] = {}

    def encode(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        """Return key and value.

        Raises:
            ValueError: a field does not fit its version.
        """
        key = record.key
        assert key.api_key is not None
        encoded_key = _INT16.pack(key.api_key) + key.encode(0)
        if record.value is None:
            return encoded_key, None
        version = record.value_version
        return encoded_key, _INT16.pack(version) + record.value.encode(version)

    def decode(self, key: Buffer | None, value: Buffer | None) -> CoordinatorRecord:
        """Return a record; its messages may be views of the buffers.

        Raises:
            UnknownRecordError: nothing is wrong with it but that it is of another broker's making.
            DecodeError: malformed or cut.
        """
        if key is None or len(key) < _INT16.size:
            raise DecodeError(f"coordinator record with a key of {0 if key is None else len(key)} bytes")
        record_type = _INT16.unpack_from(key)[0]
        if record_type not in self._keys:
            raise UnknownRecordError(f"record type {record_type}")
        key_class, value_class = self._classes.get(record_type) or self._classes_of(record_type)
        decoded_key = key_class.decode(key, 0, _INT16.size)
        if value is None:
            return CoordinatorRecord(decoded_key, None)
        if len(value) < _INT16.size:
            raise DecodeError(f"coordinator record with a value of {len(value)} bytes")
        version = _INT16.unpack_from(value)[0]
        if version not in value_class.valid_versions:
            raise UnknownRecordError(f"version {version} of {value_class.__name__}")
        return CoordinatorRecord(decoded_key, value_class.decode(value, version, _INT16.size), version)

    def _classes_of(self, record_type: int) -> tuple[type[Message], type[Message]]:
        found = self._classes[record_type] = (self._keys[record_type], self._values[record_type])
        return found
