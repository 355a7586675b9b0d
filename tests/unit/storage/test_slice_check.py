"""What fetch.verify.crc lets through: whole batches in their places, compared again as they go out."""

import errno
import struct

import pytest

from barnabas.base.region import GUARD_PIECE_BYTES, FileSlice, LeasedFile
from barnabas.sim.clock import ManualClock
from barnabas.sim.disk import MemoryDisk, MemoryFile
from barnabas.storage.leader_epochs import EpochEntry
from barnabas.storage.slice_check import CheckedSlice, SliceQuestion, check_slice, ends_soundly
from tests.storage_setup import batch

COUNTS = (3, 2, 4, 1, 5)


def make_file(*batches: bytes) -> tuple[MemoryFile, list[int], bytes]:
    """Return a segment of these batches with the positions where they begin, its end included."""
    file = MemoryDisk(ManualClock(0)).open("/log", create=True)
    content = b"".join(batches)
    file.write_at(0, [content])
    positions = [0]
    for one in batches:
        positions.append(positions[-1] + len(one))
    return file, positions, content


def sound(value_bytes: int = 10) -> tuple[MemoryFile, list[int], bytes]:
    batches, offset = [], 0
    for count in COUNTS:
        batches.append(batch(count, base_offset=offset, partition_leader_epoch=2, value_bytes=value_bytes))
        offset += count
    return make_file(*batches)


def check(file: MemoryFile, start: int, end: int, **more: object) -> CheckedSlice:
    given: dict[str, object] = {
        "position": start, "length": end - start, "walk_from": 0, "segment_size": file.size(),
        "base_offset": 0, "fetch_offset": 0 if not start else 10**9, "offset_limit": sum(COUNTS),
        "may_skip": False,
    }  # fmt: skip
    return check_slice(file, SliceQuestion(**(given | more)))  # type: ignore[arg-type]


@pytest.mark.parametrize("value_bytes", [10, 70_000])
def test_all_of_a_sound_slice_is_good_wherever_it_begins_and_ends(value_bytes: int) -> None:
    file, positions, content = sound(value_bytes)
    for first, start in enumerate(positions[:-1]):
        for end in (*positions[first + 1 :], len(content) - 3):
            if end <= positions[first + 1] - 1:
                continue
            found = check(file, start, end)
            whole = max(position for position in positions if position <= end)
            assert (found.good_end, found.damage) == (whole, None)


def test_the_batches_before_damage_are_good() -> None:
    _, positions, content = sound()
    for number in range(len(COUNTS)):
        for byte in (8, 11, 16, 18, 24, 60, 65):
            at = positions[number] + byte
            damaged = bytearray(content)
            damaged[at] ^= 0x21
            file, _, _ = make_file(bytes(damaged))
            found = check(file, 0, len(content))
            assert found.damage is not None, (number, byte)
            assert found.good_end == positions[number], (number, byte)


@pytest.mark.parametrize(("number", "base"), [(1, 4), (1, 1), (2, 4), (3, 90), (4, 9), (4, 11)])
def test_a_batch_that_moved_is_not_good(number: int, base: int) -> None:
    _, positions, content = sound()
    moved = bytearray(content)
    struct.pack_into(">q", moved, positions[number], base)
    file, _, _ = make_file(bytes(moved))
    assert check(file, 0, len(content)).good_end == positions[number]
    # Also when the slice ends with it, or begins with it.
    assert check(file, 0, positions[number + 1]).good_end == positions[number]
    assert check(file, positions[number], len(content)).good_end == positions[number]


def test_epochs_are_those_that_the_log_knows() -> None:
    file, positions, content = sound()
    assert check(file, 0, len(content), epochs=(EpochEntry(2, 0),)).damage is None
    found = check(file, 0, len(content), epochs=(EpochEntry(2, 0), EpochEntry(3, 5)))
    assert found.good_end == positions[2]
    assert "leader epoch 2" in (found.damage or "")


def test_a_slice_behind_the_offset_that_was_asked_for() -> None:
    file, positions, content = sound()
    assert check(file, positions[2], len(content), fetch_offset=4).misled
    assert not check(file, positions[2], len(content), fetch_offset=5).misled
    lost = bytearray(content)
    struct.pack_into(">i", lost, positions[1] + 23, 0)  # says that it ends one offset sooner than it does
    file, _, _ = make_file(bytes(lost))
    found = check(file, positions[2], len(content), fetch_offset=4)
    assert found.good_end == positions[2]
    assert found.damage is not None


def test_the_end_of_a_segment_is_sound_or_not() -> None:
    file, positions, content = sound()
    assert ends_soundly(file, positions[3], len(content))
    assert ends_soundly(file, len(content), len(content))
    file.write_at(len(content) - 1, [b"\xff"])
    assert not ends_soundly(file, 0, len(content))


def test_bytes_that_change_after_the_check_are_not_given() -> None:
    file, positions, content = sound(50_000)
    leased = LeasedFile(file)
    found = check(file, 0, len(content))
    records = FileSlice(leased, 0, positions[3])  # cut: the last piece reaches behind it
    records.guard = found.guard
    assert records.read() == content[: positions[3]]
    buffer = memoryview(bytearray(100))
    for offset in (0, GUARD_PIECE_BYTES - 50, GUARD_PIECE_BYTES, positions[3] - 100):
        assert records.read_into(offset, buffer) == 100
        assert bytes(buffer) == content[offset : offset + 100]
    file.write_at(GUARD_PIECE_BYTES + 7, [b"\x00\x01"])
    assert records.read_into(0, buffer) == 100, "the first piece is as it was"
    with pytest.raises(OSError, match="changed") as raised:
        records.read_into(GUARD_PIECE_BYTES + 500, buffer)
    assert raised.value.errno == errno.EBADMSG
    file.truncate(10)
    assert records.read_into(GUARD_PIECE_BYTES, buffer) == 0
