"""The parser, fed every way a stream can be cut."""

import random
import tracemalloc

import pytest

from barnabas.base.errors import ProtocolError
from barnabas.base.limits import READ_CHUNK_BYTES
from barnabas.net.frame_memory import POOL_BUFFERS_MAX, POOLED_FRAME_BYTES_MAX, FrameMemory
from barnabas.net.frame_reader import DIRECT_MIN_BYTES, GROWTH, FrameReader, split_frames

FRAME_BYTES_MAX = 100 * 1024 * 1024


def framed(*bodies: bytes) -> bytes:
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


def drive(stream: bytes, cuts: list[int], reader: FrameReader | None = None) -> list[bytes]:
    """Feed a stream cut at `cuts` as a connection does: in place when the reader offers memory."""
    reader = reader or FrameReader(FRAME_BYTES_MAX, FrameMemory())
    frames = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        piece = memoryview(stream)[start:end]
        while piece and reader.failure is None:
            direct = reader.direct_buffer()
            if direct is None:
                count = min(len(piece), READ_CHUNK_BYTES)
                frames += reader.feed(piece, 0, count)
            else:
                count = min(len(piece), len(direct))
                direct[:count] = piece[:count]
                direct.release()
                whole = reader.direct_filled(count)
                frames += [] if whole is None else [whole]
            piece = piece[count:]
    return [bytes(frame) for frame in frames]


def test_every_split_in_two_and_three_gives_the_same_frames() -> None:
    bodies = [b"a", b"bcd", b"x" * 9, b"yz"]
    stream = framed(*bodies)
    for first in range(len(stream) + 1):
        for second in range(first, len(stream) + 1):
            assert drive(stream, [first, second]) == bodies


def test_a_byte_at_a_time() -> None:
    bodies = [bytes([n]) * n for n in range(1, 40)]
    stream = framed(*bodies)
    assert drive(stream, list(range(1, len(stream)))) == bodies


@pytest.mark.parametrize("seed", range(20))
def test_large_and_small_frames_cut_at_random(seed: int) -> None:
    rng = random.Random(seed)
    sizes = [1, 5, DIRECT_MIN_BYTES, READ_CHUNK_BYTES, READ_CHUNK_BYTES + 1, 300_000, 1_500_000]
    bodies = [rng.randbytes(rng.choice(sizes)) for _ in range(8)]
    stream = framed(*bodies)
    cuts = sorted(rng.sample(range(len(stream)), rng.randrange(1, 60)))
    assert drive(stream, cuts) == bodies


@pytest.mark.parametrize("seed", range(20))
def test_random_bytes_never_raise_and_stop_at_the_first_bad_length(seed: int) -> None:
    rng = random.Random(seed)
    reader = FrameReader(1000, FrameMemory())
    good = framed(b"first", b"second")
    stream = good + b"\xff\xff\xff\xff" + rng.randbytes(500)
    cuts = sorted(rng.sample(range(len(stream)), 20))
    assert drive(stream, cuts, reader) == [b"first", b"second"]
    assert isinstance(reader.failure, ProtocolError)


@pytest.mark.parametrize(
    ("length", "wrong"), [(0, True), (-1, True), (1000, False), (1001, True), (2**31 - 1, True)]
)
def test_lengths_at_the_bounds(length: int, wrong: bool) -> None:
    reader = FrameReader(1000, FrameMemory())
    reader.feed(memoryview(length.to_bytes(4, "big", signed=True) + b"x"), 0, 5)
    assert (reader.failure is not None) == wrong


def test_split_frames_leaves_the_rest_to_the_reader() -> None:
    stream = memoryview(framed(b"one", b"two") + b"\x00\x00\x00\x09thr")
    frames, position = split_frames(stream, 0, len(stream), 100)
    assert [bytes(frame) for frame in frames] == [b"one", b"two"]
    assert position == 14


def test_a_claimed_length_allocates_nothing() -> None:
    memory = FrameMemory()
    tracemalloc.start()
    try:
        readers = [FrameReader(FRAME_BYTES_MAX, memory) for _ in range(1000)]
        for reader in readers:
            reader.feed(memoryview(FRAME_BYTES_MAX.to_bytes(4, "big") + b"only this came"), 0, 18)
            assert reader.direct_buffer() is None
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 1000 * 500
    assert memory.held_bytes == 0


def test_memory_grows_with_the_bytes_that_came() -> None:
    reader = FrameReader(FRAME_BYTES_MAX, FrameMemory())
    chunk = memoryview(FRAME_BYTES_MAX.to_bytes(4, "big") + bytes(READ_CHUNK_BYTES))
    reader.feed(chunk, 0, READ_CHUNK_BYTES)
    received = READ_CHUNK_BYTES - 4
    while received < 50_000_000:
        direct = reader.direct_buffer()
        assert direct is not None
        received += len(direct)
        direct.release()
        assert reader.buffered_bytes <= GROWTH * (received + READ_CHUNK_BYTES)
        reader.direct_filled(received - reader._filled)


def test_frames_are_writable_and_their_own() -> None:
    stream = framed(b"a" * 100, b"b" * 100)
    reader = FrameReader(1000, FrameMemory())
    first, second = reader.feed(memoryview(stream), 0, len(stream))
    first[:] = b"c" * 100
    assert bytes(second) == b"b" * 100


def test_pooled_memory_is_lent_again_only_when_no_view_is_left() -> None:
    memory = FrameMemory()
    body = b"q" * 500_000
    reader = FrameReader(FRAME_BYTES_MAX, memory)
    for _ in range(5):
        assert drive(framed(body), [], reader) == [body]
    assert memory.held_bytes == POOLED_FRAME_BYTES_MAX
    number = memory.take(500_000)
    assert number is not None
    view = memoryview(memory.buffer(number))[10:20]
    memory.give_back(number)
    other = memory.take(500_000)
    assert other not in (None, number)
    view.release()
    assert memory.take(500_000) == number


def test_the_pool_is_bounded_and_left_by_dropped_frames() -> None:
    memory = FrameMemory()
    readers = [FrameReader(FRAME_BYTES_MAX, memory) for _ in range(POOL_BUFFERS_MAX + 5)]
    for reader in readers:
        reader.feed(
            memoryview((1_000_000).to_bytes(4, "big") + bytes(DIRECT_MIN_BYTES)), 0, DIRECT_MIN_BYTES + 4
        )
        assert reader.direct_buffer() is not None
    assert memory.held_bytes == POOL_BUFFERS_MAX * POOLED_FRAME_BYTES_MAX
    assert memory.take(1000) is None
    readers[0].discard()
    assert memory.take(1000) is not None


def test_a_frame_too_long_for_the_pool_has_its_own_memory() -> None:
    memory = FrameMemory()
    body = bytes(POOLED_FRAME_BYTES_MAX + 1)
    assert drive(framed(body), [], FrameReader(FRAME_BYTES_MAX, memory)) == [body]
    assert memory.held_bytes == 0
