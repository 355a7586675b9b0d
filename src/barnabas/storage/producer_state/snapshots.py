"""Producer state on disk: `<offset>.snapshot` (KIP-98).

Version i16, CRC-32C over everything behind it, count i32, then 46 bytes per producer. Only a producer's
last batch is kept, so right after a restart one batch back is recognised as a duplicate instead of five.
A file that does not add up is refused as a whole and an older one is used.
"""

from collections.abc import Iterable
from struct import Struct

from barnabas.base.named_tuple import NamedTuple
from barnabas.protocol.checksum import crc32c

VERSION = 1
SUFFIX = ".snapshot"
_HEADER = Struct(">hI")
_COUNT = Struct(">i")
_ENTRY = Struct(">qhiqiqiq")
_CRC_FROM = _HEADER.size
NO_OFFSET = -1


class SnapshotEntry(NamedTuple):
    """What a snapshot keeps of a producer.

    Attributes:
        last_sequence, last_offset, offset_delta: of its last batch; -1, -1, 0 when only a marker is known.
        timestamp: largest of that batch, or of the marker.
        coordinator_epoch: of the last marker, -1 without one.
        txn_first_offset: where its open transaction began, -1 without one.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    txn_first_offset: int


class SnapshotError(ValueError):
    """A producer snapshot that is none."""


def encode(entries: Iterable[SnapshotEntry]) -> bytes:
    """Return a snapshot file's content."""
    packed = [_ENTRY.pack(*entry) for entry in entries]
    body = _COUNT.pack(len(packed)) + b"".join(packed)
    return _HEADER.pack(VERSION, crc32c(body, 0)) + body


def decode(content: bytes) -> list[SnapshotEntry]:
    """Return the entries of a snapshot file.

    Raises:
        SnapshotError: wrong version, checksum or length.
    """
    if len(content) < _CRC_FROM + _COUNT.size:
        raise SnapshotError(f"a producer snapshot of {len(content)} bytes is cut short")
    version, crc = _HEADER.unpack_from(content, 0)
    if version != VERSION:
        raise SnapshotError(f"producer snapshot version {version}, only {VERSION} is known")
    if crc32c(memoryview(content)[_CRC_FROM:], 0) != crc:
        raise SnapshotError("a producer snapshot's checksum is wrong")
    (count,) = _COUNT.unpack_from(content, _CRC_FROM)
    body = memoryview(content)[_CRC_FROM + _COUNT.size :]
    if count < 0 or len(body) != count * _ENTRY.size:
        raise SnapshotError(f"a producer snapshot of {count} entries has {len(body)} bytes of them")
    return [SnapshotEntry(*fields) for fields in _ENTRY.iter_unpack(body)]
