"""The latest offset of each key, in memory of a fixed size: 24 bytes a key, as in Apache Kafka.

A key is represented by 128 bits of its hash, in two arrays beside each other: hashes of 16 bytes, offsets of
8. The table is cut into buckets of 16 places; a key goes into the bucket that its hash names, or when that
is full into the next that is not. So a look-up is one bytearray.find over the used part of a bucket, which
runs at the speed of C and hardly longer in a full table than in an empty one.

How many keys it may hold follows from the memory and load factor as in Kafka, so that a dirty range that
is too large for the map ends at the same record. The memory itself is only as large as the dirty range
can need. The hash is xxh3-128 with a seed of its own in each cleaning; where two keys had the same hash, the
older record would be lost, so a client must not be able to look for such keys, as it can for Kafka's MD5.

Rejected: a dictionary (110 to 150 bytes a key), open addressing place by place (a Python step per probe,
ten of them in a table that is nine tenths full), and a database in a file (ten times the time).
"""

from array import array
from collections.abc import Sequence

from xxhash import xxh3_128_digest

ENTRY_BYTES = 24
"""Memory of a key, by which Kafka counts."""

NO_OFFSET = -1
_HASH_BYTES = 16
_BUCKET_ENTRIES = 16
_BUCKET_BYTES = _BUCKET_ENTRIES * _HASH_BYTES


class OffsetMap:
    """Keys and the offset of the last record that has each.

    Args:
        memory_bytes: bound of the memory, at least one entry's.
        load_factor: how much of it may be used, at most 1.
        entries_expected: more keys will not be put, so no more memory is taken than for these.
        seed: 64 bits.

    Attributes:
        entries, entries_max: keys in the map, and how many it may hold.
        latest_offset: up to here (inclusive) the map knows the log; NO_OFFSET at first.
    """

    __slots__ = (
        "_buckets",
        "_entries_limit",
        "_hashes",
        "_offsets",
        "_seed",
        "_used",
        "entries",
        "entries_max",
        "latest_offset",
    )

    def __init__(self, memory_bytes: int, load_factor: float, entries_expected: int, seed: int = 0) -> None:
        slots = memory_bytes // ENTRY_BYTES
        self.entries_max = int(slots * load_factor)
        if self.entries_max < 1 or self.entries_max > slots:
            raise ValueError(f"an offset map of {memory_bytes} bytes, {load_factor} used, holds no key")
        self._entries_limit = min(self.entries_max, entries_expected)
        needed = min(slots, int(self._entries_limit / load_factor))
        # One place more than keys: a look-up ends at a bucket that is not full.
        self._buckets = max(-(-needed // _BUCKET_ENTRIES), self._entries_limit // _BUCKET_ENTRIES + 1)
        self._hashes = bytearray(self._buckets * _BUCKET_BYTES)
        self._offsets = array("q", [NO_OFFSET]) * (self._buckets * _BUCKET_ENTRIES)
        self._used = bytearray(self._buckets)
        self._seed = seed
        self.entries = 0
        self.latest_offset = NO_OFFSET

    @property
    def memory_bytes(self) -> int:
        """What the table takes."""
        return len(self._hashes) + len(self._offsets) * 8 + len(self._used)

    def put_all(self, keys: Sequence[bytes | None], offsets: Sequence[int]) -> int:
        """Note that these keys have records at these offsets, ascending and above all earlier ones.

        Keys that are None are passed over. When the map is full the first further key ends it, known or not.

        Returns:
            How many were taken; fewer than there are when the map is full.
        """
        hashes, values, used, buckets, seed = (
            self._hashes,
            self._offsets,
            self._used,
            self._buckets,
            self._seed,
        )
        find, from_bytes = hashes.find, int.from_bytes
        entries, entries_max = self.entries, self._entries_limit
        for number, key in enumerate(keys):
            if key is None:
                continue
            if entries >= entries_max:
                if number:
                    self._note_latest(keys, offsets, number)
                self.entries = entries
                return number
            digest = xxh3_128_digest(key, seed)
            bucket = from_bytes(digest, "big") % buckets
            while True:
                start = bucket * _BUCKET_BYTES
                end = start + used[bucket] * _HASH_BYTES
                at = find(digest, start, end)
                while at >= 0 and at % _HASH_BYTES:
                    at = find(digest, at + 1, end)
                if at >= 0:
                    break
                if end - start < _BUCKET_BYTES:
                    at = end
                    hashes[at : at + _HASH_BYTES] = digest
                    used[bucket] += 1
                    entries += 1
                    break
                bucket = bucket + 1 if bucket + 1 < buckets else 0
            values[at // _HASH_BYTES] = offsets[number]
        self.entries = entries
        self._note_latest(keys, offsets, len(keys))
        return len(keys)

    def _note_latest(self, keys: Sequence[bytes | None], offsets: Sequence[int], count: int) -> None:
        """Remember the offset of the last key that was put of the first `count`."""
        while count and keys[count - 1] is None:
            count -= 1
        if count:
            self.latest_offset = offsets[count - 1]

    def note_read_to(self, offset: int) -> None:
        """Say that the map knows everything up to `offset`, inclusive."""
        self.latest_offset = max(self.latest_offset, offset)

    def offsets_of(self, keys: Sequence[bytes | None]) -> list[int]:
        """Return the offset of each key's last record; NO_OFFSET where none is known or the key is None."""
        hashes, values, used, buckets, seed = (
            self._hashes,
            self._offsets,
            self._used,
            self._buckets,
            self._seed,
        )
        find, from_bytes = hashes.find, int.from_bytes
        found: list[int] = []
        for key in keys:
            if key is None:
                found.append(NO_OFFSET)
                continue
            digest = xxh3_128_digest(key, seed)
            bucket = from_bytes(digest, "big") % buckets
            while True:
                start = bucket * _BUCKET_BYTES
                end = start + used[bucket] * _HASH_BYTES
                at = find(digest, start, end)
                while at >= 0 and at % _HASH_BYTES:
                    at = find(digest, at + 1, end)
                if at >= 0:
                    found.append(values[at // _HASH_BYTES])
                    break
                if end - start < _BUCKET_BYTES:
                    found.append(NO_OFFSET)
                    break
                bucket = bucket + 1 if bucket + 1 < buckets else 0
        return found
