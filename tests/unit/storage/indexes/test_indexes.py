"""The three indexes of a segment: Kafka's bytes, look-ups against a plain list, padding, truncation."""

import struct
from bisect import bisect_right

from hypothesis import given
from hypothesis import strategies as st

from barnabas.sim.disk import MemoryDisk
from barnabas.storage.indexes.offset_index import OffsetIndex
from barnabas.storage.indexes.time_index import TimeIndex
from barnabas.storage.indexes.transaction_index import AbortedTransaction, TransactionIndex

BASE = 10**10
ascending = st.lists(st.integers(0, 2**31 - 1), unique=True, max_size=40).map(sorted)


def content(disk: MemoryDisk, path: str) -> bytes:
    file = disk.open_readonly(path)
    return file.read_at(0, file.size())


@given(offsets=ascending, probes=st.lists(st.integers(-5, 2**31), max_size=20), cut=st.integers(-1, 2**31))
def test_the_offset_index_is_a_sorted_list_on_disk_and_in_memory(
    offsets: list[int], probes: list[int], cut: int
) -> None:
    disk = MemoryDisk()
    index = OffsetIndex(BASE)
    for number, offset in enumerate(offsets):
        index.append(BASE + offset, 100 * (number + 1))
        if number == len(offsets) // 2:
            index.write(disk, "/i")
    index.write(disk, "/i")
    assert content(disk, "/i") == b"".join(
        struct.pack(">ii", offset, 100 * (number + 1)) for number, offset in enumerate(offsets)
    )
    copy = disk.open("/k", create=True)
    copy.write_at(0, [content(disk, "/i")])
    for known, path in ((index, "/i"), (OffsetIndex.load(disk, "/k", BASE), "/k")):
        for probe in probes:
            at = bisect_right(offsets, probe) - 1
            expected = (BASE, 0) if at < 0 else (BASE + offsets[at], 100 * (at + 1))
            assert known.lookup(BASE + probe) == expected
        for position in (0, 1, 99, 100, 101, 150, 200, 100 * len(offsets), 100 * len(offsets) + 1):
            # Kafka's search does not stop at a first entry that fits exactly.
            places = [100 * (n + 1) - (n == 0) for n in range(len(offsets))]
            behind = [BASE + o for o, place in zip(offsets, places, strict=True) if place >= position]
            assert known.offset_at_or_after(position) == (behind[0] if behind else None)
        known.truncate_to(BASE + cut)
        assert [known.entry(n)[0] for n in range(len(known))] == [BASE + o for o in offsets if o < cut]
        known.write(disk, path)
        assert len(content(disk, path)) == known.size


@given(entries=ascending, deltas=st.lists(st.integers(0, 5), max_size=40))
def test_the_time_index_takes_only_what_grows(entries: list[int], deltas: list[int]) -> None:
    disk = MemoryDisk()
    index = TimeIndex(BASE)
    model: list[tuple[int, int]] = []
    timestamp = -1
    for offset, delta in zip(entries, deltas, strict=False):
        timestamp += delta
        if delta and timestamp >= 0:
            model.append((timestamp, offset))
        index.maybe_append(timestamp, BASE + offset)
    index.write(disk, "/i")
    assert content(disk, "/i") == b"".join(struct.pack(">qi", *entry) for entry in model)
    loaded = TimeIndex.load(disk, "/i", BASE)
    for known in (index, loaded):
        assert [known.entry(n) for n in range(len(known))] == [(t, BASE + o) for t, o in model]
        for probe in range(-1, timestamp + 2):
            below = [(t, BASE + o) for t, o in model if t <= probe]
            assert known.lookup(probe) == (below[-1] if below else (-1, BASE))


def test_padding_that_a_killed_kafka_leaves_is_no_entry_and_goes_with_the_next_write() -> None:
    disk = MemoryDisk()
    file = disk.open("/i", create=True)
    entry = struct.pack(">ii", 9, 300)
    file.write_at(0, [entry + bytes(800)])
    index = OffsetIndex.load(disk, "/i", BASE)
    assert (len(index), index.last_entry()) == (1, (BASE + 9, 300))
    assert index.unwritten
    index.write(disk, "/i")
    assert content(disk, "/i") == entry
    file.truncate(0)
    timed = struct.pack(">qi", 77, 9)
    file.write_at(0, [timed + bytes(1200)])
    times = TimeIndex.load(disk, "/i", BASE)
    assert (len(times), times.last_entry()) == (1, (77, BASE + 9))
    times.write(disk, "/i")
    assert content(disk, "/i") == timed
    file.truncate(0)
    file.write_at(0, [bytes(1200)])
    assert len(TimeIndex.load(disk, "/i", BASE)) == 0


def test_a_time_index_may_begin_with_the_epoch() -> None:
    disk = MemoryDisk()
    index = TimeIndex(BASE)
    index.maybe_append(0, BASE)
    index.write(disk, "/i")
    assert TimeIndex.load(disk, "/i", BASE).last_entry() == (0, BASE)


def test_f17_the_transaction_index_collects_overlaps_and_stops_early() -> None:
    index = TransactionIndex()
    entries = [
        AbortedTransaction(1, 0, 9, 5),
        AbortedTransaction(2, 5, 20, 21),
        AbortedTransaction(3, 30, 40, 41),
    ]
    for entry in entries:
        index.append(entry)
    found: list[AbortedTransaction] = []
    assert index.collect(10, 25, found) is True
    assert found == [entries[1]]
    found.clear()
    assert index.collect(0, 100, found) is False
    assert found == entries
    disk = MemoryDisk()
    index.write(disk, "/i")
    assert content(disk, "/i") == b"".join(struct.pack(">hqqqq", 0, *entry) for entry in entries)
    assert TransactionIndex.load(disk, "/i").entries == entries
    index.truncate_to(20)
    index.write(disk, "/i")
    assert TransactionIndex.load(disk, "/i").entries == entries[:1]
    assert TransactionIndex.load(disk, "/none").entries == []
