"""The latest offset of each key, in memory of a fixed size: 24 bytes a key, as in Apache Kafka.

A key is represented by 128 bits of its hash, in two arrays beside each other: hashes of 16 bytes, offsets of
8. The table is cut into buckets of 16 places; a key goes into the bucket that Python's own hash names, or
when that is full into the next that is not. So a look-up is one bytearray.find over the used part of a
bucket, which runs at the speed of C and hardly longer in a full table than in an empty one. Keys wait in a
dictionary until there are some thousand, so that those that come again soon cost the table nothing.

How many keys it may hold follows from the memory and load factor as in Kafka, so that a dirty range that
is too large for the map ends at the same record. The memory itself is only as large as the dirty range
can need. The hash is xxh3-128 with a seed of its own in each cleaning; where two keys had the same hash, the
older record would be lost, so a client must not be able to look for such keys, as it can for Kafka's MD5.

Rejected: a dictionary of everything (110 to 150 bytes a key), open addressing place by place (a Python step
per probe, ten of them in a table that is nine tenths full), and a database in a file (ten times the time).
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence

from xxhash import xxh3_128_digest

from barnabas.storage.compaction.verdicts import Verdicts

ENTRY_BYTES = 24
"""Memory of a key, by which Kafka counts."""

NO_OFFSET = -1
WAITING_KEYS_MAX = 16_384
"""Keys in the dictionary: a few megabytes, unless they are long."""

_HASH_BYTES = 16
_BUCKET_ENTRIES = 16
_BUCKET_BYTES = _BUCKET_ENTRIES * _HASH_BYTES
_NOWHERE = -1


class OffsetMap:
    """Keys and the offset of the last record that has each.

    Args:
        memory_bytes: bound of the table's memory, at least one entry's.
        load_factor: how much of it may be used, at most 1.
        verdicts: told of each record whether it is the last of its key.
        entries_expected: more keys will not be put, so no more memory is taken than for these.
        seed: 64 bits.

    Attributes:
        entries_max: how many keys it may hold.
        latest_offset: up to here (inclusive) the map knows the log; NO_OFFSET at first.
    """

    __slots__ = (
        "_buckets",
        "_entries",
        "_entries_limit",
        "_hashes",
        "_offsets",
        "_seed",
        "_tombstones",
        "_used",
        "_verdicts",
        "_waiting",
        "entries_max",
        "latest_offset",
    )

    def __init__(
        self,
        memory_bytes: int,
        load_factor: float,
        verdicts: Verdicts,
        entries_expected: int,
        seed: int = 0,
    ) -> None:
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
        self._used = array("H", [0]) * self._buckets  # bytes of each bucket
        self._verdicts = verdicts
        self._waiting: dict[bytes | None, int] = {}
        self._tombstones: list[int] = []  # offsets, of keys that wait
        self._seed = seed
        self._entries = 0
        self.latest_offset = NO_OFFSET

    @property
    def memory_bytes(self) -> int:
        """What the table takes."""
        return len(self._hashes) + len(self._offsets) * 8 + len(self._used) * 2

    @property
    def entries(self) -> int:
        """Keys in the map."""
        self._put_waiting()
        return self._entries

    def put_all(
        self, keys: Sequence[bytes | None], offsets: Sequence[int], valueless: Sequence[int] = ()
    ) -> int:
        """Note that these keys have records at these offsets, ascending and above all earlier ones.

        Records whose offsets are a range get verdicts. Keys that are None are passed over. When the map is
        full the first further key ends it, known or not.

        Args:
            valueless: indexes of the records that have no value.
        Returns:
            How many were taken; fewer than there are when the map is full.
        """
        waiting = self._waiting
        if keys and isinstance(offsets, range):
            self._verdicts.mark_seen(offsets)
        if None in keys:
            self._verdicts.mark_keyless(
                offset for key, offset in zip(keys, offsets, strict=True) if key is None
            )
        if self._entries + len(waiting) + len(keys) > self._entries_limit:
            self._put_waiting()
        if self._entries + len(waiting) + len(keys) <= self._entries_limit:
            waiting.update(zip(keys, offsets, strict=True))
            self._note_latest(keys, offsets)
            self._tombstones += [offsets[number] for number in valueless]
            if len(waiting) >= WAITING_KEYS_MAX or len(self._tombstones) >= WAITING_KEYS_MAX:
                self._put_waiting()
            return len(keys)
        taken = 0
        for key, offset in zip(keys, offsets, strict=True):
            if key is not None:
                if self._entries >= self._entries_limit:
                    break
                self._put((key,), (offset,))
                self.latest_offset = offset
            taken += 1
        self._verdicts.mark_tombstones(offsets[number] for number in valueless)
        return taken

    def _note_latest(self, keys: Sequence[bytes | None], offsets: Sequence[int]) -> None:
        """Remember the offset of the last key."""
        for number in range(len(keys) - 1, -1, -1):
            if keys[number] is not None:
                self.latest_offset = offsets[number]
                break

    def _put_waiting(self) -> None:
        """Put the keys that wait into the table."""
        if self._waiting:
            self._put(self._waiting, self._waiting.values())
            self._waiting.clear()
        self._mark_tombstones()

    def _mark_tombstones(self) -> None:
        if self._tombstones:
            self._verdicts.mark_tombstones(self._tombstones)
            self._tombstones.clear()

    def _put(self, keys: Iterable[bytes | None], offsets: Iterable[int]) -> None:
        """Put keys into the table, for which there is room."""
        stays, goes = Verdicts.STAYS, Verdicts.GOES
        values = self._offsets
        verdicts = self._verdicts.of_offsets
        first, verdicts_end = self._verdicts.first_offset, self._verdicts.first_offset + len(verdicts)
        for place, offset in zip(self._places(keys, add=True), offsets, strict=True):
            if place < 0:
                continue
            if NO_OFFSET < values[place] < verdicts_end:
                verdicts[values[place] - first] = goes
            values[place] = offset
            if offset < verdicts_end:
                verdicts[offset - first] = stays

    def _places(self, keys: Iterable[bytes | None], *, add: bool) -> Iterator[int]:
        """Find the places of keys in the table; negative for None, and for those that are not there.

        A generator, so that the table's parts are not fetched anew for each key.

        Args:
            add: give unknown keys a place, which has no offset yet.
        """
        hashes, used, find = self._hashes, self._used, self._hashes.find
        buckets, seed = self._buckets, self._seed
        for key in keys:
            if key is None:
                yield _NOWHERE
                continue
            digest = xxh3_128_digest(key, seed)
            bucket = hash(key) % buckets
            while True:
                start = bucket * _BUCKET_BYTES
                end = start + used[bucket]
                at = find(digest, start, end)
                while at >= 0 and at % _HASH_BYTES:
                    at = find(digest, at + 1, end)
                if at >= 0:
                    yield at // _HASH_BYTES
                    break
                if end - start < _BUCKET_BYTES:
                    if add:
                        hashes[end : end + _HASH_BYTES] = digest
                        used[bucket] += _HASH_BYTES
                        self._entries += 1
                    yield end // _HASH_BYTES if add else _NOWHERE
                    break
                bucket = bucket + 1 if bucket + 1 < buckets else 0

    def note_read_to(self, offset: int) -> None:
        """Say that the map knows everything up to `offset`, inclusive."""
        self.latest_offset = max(self.latest_offset, offset)

    def offsets_of(self, keys: Sequence[bytes | None]) -> list[int]:
        """Return the offset of each key's last record; NO_OFFSET where none is known or the key is None."""
        self._put_waiting()
        values = self._offsets
        return [NO_OFFSET if place < 0 else values[place] for place in self._places(keys, add=False)]
