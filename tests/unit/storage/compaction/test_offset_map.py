"""The map of keys: what it holds, when it is full, and how much memory it takes."""

from collections.abc import Sequence
from random import Random

import pytest

from barnabas.storage.compaction import offset_map as module
from barnabas.storage.compaction.offset_map import ENTRY_BYTES, NO_OFFSET, OffsetMap
from barnabas.storage.compaction.verdicts import Verdicts


@pytest.mark.parametrize("load_factor", [0.5, 0.9, 1.0])
def test_it_knows_the_last_offset_of_every_key(load_factor: float) -> None:
    random = Random(1)
    keys = [b"%d" % random.randrange(3000) for _ in range(10_000)]
    found = OffsetMap(ENTRY_BYTES * 4000, load_factor, Verdicts(0, 10_000), 10_000, seed=5)
    expected: dict[bytes, int] = {}
    taken = 0
    while taken < len(keys):
        count = random.randrange(1, 50)
        portion = keys[taken : taken + count]
        accepted = found.put_all(portion, range(taken, taken + len(portion)))
        expected.update(zip(portion[:accepted], range(taken, taken + accepted), strict=True))
        taken += accepted
        if accepted < len(portion):
            break
    assert found.entries == len(expected) == min(int(4000 * load_factor), len(set(keys)))
    assert found.latest_offset == taken - 1
    assert found.offsets_of(keys) == [expected.get(key, NO_OFFSET) for key in keys]
    assert found.offsets_of([b"never put"] * 3) == [NO_OFFSET] * 3


def test_the_next_key_after_the_last_place_ends_it_even_when_it_is_known() -> None:
    found = OffsetMap(ENTRY_BYTES * 2, 1.0, Verdicts(0, 100), 100)
    assert found.put_all([b"a", None, b"b", None, b"a", b"c"], range(6)) == 4
    assert (found.entries, found.entries_max, found.latest_offset) == (2, 2, 2)
    assert found.put_all([b"a"], [9]) == 0
    assert found.offsets_of([b"a", b"b", None]) == [0, 2, NO_OFFSET]


def test_what_was_read_counts_even_without_keys() -> None:
    found = OffsetMap(ENTRY_BYTES * 2, 1.0, Verdicts(0, 100), 100)
    assert found.put_all([None, None], [5, 6]) == 2
    assert found.latest_offset == NO_OFFSET
    found.note_read_to(7)
    found.note_read_to(6)
    assert found.latest_offset == 7


def test_as_many_keys_as_in_apache_kafka() -> None:
    # log.cleaner.dedupe.buffer.size and log.cleaner.io.buffer.load.factor as they are by default.
    assert OffsetMap(134_217_728, 0.9, Verdicts(0, 100), 100).entries_max == 5_033_164


@pytest.mark.parametrize(("memory_bytes", "load_factor"), [(23, 1.0), (ENTRY_BYTES, 0.9), (240, 1.5)])
def test_a_map_without_room_for_a_key_is_refused(memory_bytes: int, load_factor: float) -> None:
    with pytest.raises(ValueError, match="holds no key"):
        OffsetMap(memory_bytes, load_factor, Verdicts(0, 10), 10)


def test_memory_is_bounded_by_the_setting_and_by_what_is_expected() -> None:
    full = OffsetMap(ENTRY_BYTES * 100_000, 0.9, Verdicts(0, 0), 1 << 40)
    assert full.memory_bytes <= ENTRY_BYTES * 100_000 * 1.01
    assert OffsetMap(1 << 30, 0.9, Verdicts(0, 0), 1000).memory_bytes < ENTRY_BYTES * 1200


def test_keys_that_look_alike_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hash that is found across the border of two others is neither of them."""
    hashes = {b"a": b"1" * 16, b"b": b"1" * 8 + b"2" * 8, b"across": b"1" * 24, b"c": b"2" * 16}

    def digest(key: bytes, seed: int) -> bytes:
        return hashes[key][:16]

    monkeypatch.setattr(module, "xxh3_128_digest", digest)
    found = OffsetMap(ENTRY_BYTES * 15, 1.0, Verdicts(0, 15), 15)
    assert found.put_all([b"a", b"b", b"c"], [1, 2, 3]) == 3
    assert found.entries == 3
    straddling: Sequence[bytes] = [b"1" * 8 + b"1" * 8, b"1" * 4 + b"2" * 12, b"2" * 16]
    monkeypatch.setattr(module, "xxh3_128_digest", lambda key, seed: key)
    assert found.offsets_of(straddling) == [1, NO_OFFSET, 3]
    # In the table the three stand one behind the other; this one begins in the middle of the second.
    assert found.put_all([b"1" * 4 + b"2" * 12], [7]) == 1
    assert found.offsets_of([b"1" * 4 + b"2" * 12, *straddling]) == [7, 1, 7, 3]
