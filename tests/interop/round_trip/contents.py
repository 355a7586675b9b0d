"""Everything that clients can read of some topics, as a digest of each record at its offset.

A digest covers key, value, headers and timestamp, so equal contents are equal to a consumer. The client is
librdkafka's, which checks every batch's CRC.
"""

import hashlib
import struct
from collections.abc import Iterable

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

Headers = list[tuple[str, bytes | None]] | None
Place = tuple[str, int]
Contents = dict[Place, dict[int, bytes]]
"""(topic, partition) -> offset -> digest."""

UNCOMMITTED = "read_uncommitted"
COMMITTED = "read_committed"

_DEADLINE_POLLS = 600
_POLL_S = 0.2
_LENGTHS = struct.Struct(">qii")


def digest(key: bytes | None, value: bytes | None, headers: Headers, timestamp: int) -> bytes:
    """Return what tells one record from another, its offset apart."""
    made = hashlib.blake2b(digest_size=12)
    lengths = [-1 if part is None else len(part) for part in (key, value)]
    made.update(_LENGTHS.pack(timestamp, *lengths))
    made.update(key or b"")
    made.update(value or b"")
    for name, held in headers or ():
        made.update(repr((name, held)).encode())
    return made.digest()


def read_all(bootstrap: str, partitions: dict[str, int], isolation: str) -> Contents:
    """Read topics from their starts to the ends that the isolation level shows.

    Args:
        partitions: topic -> how many.
    """
    reader = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "digests",
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "fetch.message.max.bytes": 4 << 20,
            "queued.max.messages.kbytes": 65536,
            "log_level": 0,
        }
    )
    contents: Contents = {(topic, p): {} for topic, count in partitions.items() for p in range(count)}
    reader.assign([TopicPartition(topic, partition, 0) for topic, partition in contents])
    left, idle = set(contents), 0
    try:
        while left:
            messages = reader.consume(1000, _POLL_S)
            idle = 0 if messages else idle + 1
            assert idle < _DEADLINE_POLLS, f"the ends of {sorted(left)} do not come"
            for message in messages:
                place = message.topic(), message.partition()
                error = message.error()
                if error is None:
                    contents[place][message.offset()] = digest_of(message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    left.discard(place)
                else:
                    # A broker that has just started has no leaders yet.
                    assert error.retriable() or error.code() < 0, f"{place}: {error}"
    finally:
        reader.close()
    return contents


def digest_of(message: Message, headers: Headers = None) -> bytes:
    """Return the digest of a message as the client has it, which tells no headers of one it has sent."""
    _, timestamp = message.timestamp()
    return digest(message.key(), message.value(), headers or message.headers(), timestamp)


def difference(found: dict[int, bytes], expected: dict[int, bytes]) -> str:
    """Say in a line how contents differ, offsets only."""
    missing = sorted(expected.keys() - found.keys())
    extra = sorted(found.keys() - expected.keys())
    other = sorted(offset for offset in found.keys() & expected.keys() if found[offset] != expected[offset])
    return f"missing {_some(missing)}, not expected {_some(extra)}, other content {_some(other)}"


def _some(offsets: Iterable[int]) -> str:
    listed = list(offsets)
    return f"{listed[:5]} ({len(listed)})"
