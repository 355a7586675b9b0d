"""Kafka's uuids: 16 bytes on the wire, 22 characters of unpadded base64url in text.

They are plain `bytes` here: topic ids are dictionary keys on the hot path, and bytes hash fastest. binascii
does what base64 would, whose import costs a start 2 ms.
"""

import binascii

from barnabas.base.entropy import Entropy
from barnabas.base.hints import Final

UUID_BYTES = 16
NULL_UUID = bytes(16)
METADATA_TOPIC_ID = bytes(15) + b"\x01"
"""The id of `__cluster_metadata`: AAAAAAAAAAAAAAAAAAAAAQ."""

_TO_URL: Final = bytes.maketrans(b"+/", b"-_")
_FROM_URL: Final = bytes.maketrans(b"-_", b"+/")

# Kafka keeps the first 100 ids for itself (0 none, 1 metadata topic, 2.. directory ids).
_RESERVED = frozenset(i.to_bytes(UUID_BYTES, "big") for i in range(100))


def random_uuid(entropy: Entropy) -> bytes:
    """Return a version-4 uuid whose text does not start with a dash, as Kafka's never does."""
    while True:
        raw = bytearray(entropy.random_bytes(UUID_BYTES))
        raw[6] = (raw[6] & 0x0F) | 0x40
        raw[8] = (raw[8] & 0x3F) | 0x80
        made = bytes(raw)
        if made not in _RESERVED and not uuid_text(made).startswith("-"):
            return made


def uuid_text(uuid: bytes) -> str:
    """Return the 22-character text of a 16-byte uuid."""
    return binascii.b2a_base64(uuid, newline=False).translate(_TO_URL).decode("ascii").rstrip("=")


def uuid_from_text(text: str) -> bytes:
    """Return the 16 bytes behind a 22-character text.

    Raises:
        ValueError: the text is no uuid.
    """
    try:
        raw = binascii.a2b_base64(text.encode("ascii").translate(_FROM_URL) + b"==", strict_mode=True)
    except ValueError:  # not ASCII, or binascii.Error
        raise ValueError(f"{text!r} is not a base64url uuid") from None
    if len(raw) != UUID_BYTES:
        raise ValueError(f"{text!r} is {len(raw)} bytes long, a uuid is {UUID_BYTES}")
    return raw
