"""Which partition of an internal topic, and so which coordinator, a group or a transactional id belongs to.

Clients never compute this, but Apache Kafka on the same directory must find a group where this broker left
it. So it is Java's `String.hashCode` over UTF-16 code units, made positive as Kafka does: the smallest
integer, whose absolute value Java cannot express, counts as 0.
"""

from __future__ import annotations

from struct import unpack

from barnabas.base.hints import Final

_INT32_MASK: Final = 0xFFFFFFFF
_INT32_MIN: Final = 0x80000000


def java_hash_code(text: str) -> int:
    """Return `text.hashCode()` of Java: 32 bits, signed."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for unit in unpack(f">{len(units) // 2}H", units):
        value = (31 * value + unit) & _INT32_MASK
    return value - (1 << 32) if value & _INT32_MIN else value


def partition_for(key: str, partition_count: int) -> int:
    """Return the partition of a key's coordinator, from 0 to partition_count - 1."""
    value = java_hash_code(key)
    return (0 if value == -_INT32_MIN else abs(value)) % partition_count
