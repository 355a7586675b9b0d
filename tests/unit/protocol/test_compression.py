"""Every codec both ways, odd framings, and bombs that stay within their bound."""

import contextlib
import resource
import struct
import subprocess
import sys
from pathlib import Path

import cramjam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.base.errors import DecodeError
from barnabas.protocol.compression import (
    LEVEL_RANGES,
    Codec,
    DecompressedTooLargeError,
    compress,
    decompress,
)
from barnabas.protocol.compression_sizes import lz4_size_max, zstd_size_max
from tests.compression_bombs import BOMBS, MIB

COMPRESSED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
ROOT = Path(__file__).parents[3]


def zstd_stream(data: bytes, level: int = 3) -> bytes:
    """A frame without its content size, as Java's and librdkafka's streams write it."""
    compressor = cramjam.zstd.Compressor(level=level)
    compressor.compress(data)
    return bytes(compressor.finish())


def lz4_frame(data: bytes, **options: bool) -> bytes:
    compressor = cramjam.lz4.Compressor(
        level=1, **{"content_checksum": False, "block_linked": False, **options}
    )
    compressor.compress(data)
    return bytes(compressor.finish())


@given(data=st.binary(max_size=2000), repeat=st.integers(1, 200))
@settings(max_examples=60, deadline=None)
@pytest.mark.parametrize("codec", list(Codec))
def test_round_trip(codec: Codec, data: bytes, repeat: int) -> None:
    data *= repeat
    packed = compress(codec, memoryview(data))
    assert bytes(decompress(codec, memoryview(packed), decompressed_bytes_max=len(data))) == data


@pytest.mark.parametrize("codec", COMPRESSED)
def test_the_bound_is_exact(codec: Codec) -> None:
    data = b"0123456789abcdef" * 20000
    packed = compress(codec, data)
    assert decompress(codec, packed, decompressed_bytes_max=len(data)) == data
    with pytest.raises(DecompressedTooLargeError):
        decompress(codec, packed, decompressed_bytes_max=len(data) - 1)


@pytest.mark.parametrize("codec", list(LEVEL_RANGES))
def test_levels(codec: Codec) -> None:
    data = bytes(range(256)) * 400
    low, high, default = LEVEL_RANGES[codec]
    for level in {max(low, -7), low, default, high}:
        assert decompress(codec, compress(codec, data, level)) == data
    assert compress(codec, data) == compress(codec, data, default)
    for level in (low - 3, high + 1):
        with pytest.raises(ValueError, match="level"):
            compress(codec, data, level)


def test_snappy_raw_block_and_xerial_stream_are_both_read() -> None:
    data = b"snappy" * 20000
    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(data))) == data
    framed = compress(Codec.SNAPPY, data)
    assert framed.startswith(b"\x82SNAPPY\0\0\0\0\1\0\0\0\1")
    assert decompress(Codec.SNAPPY, framed) == data


def test_lz4_frames_with_and_without_content_checksum() -> None:
    data = b"lz4 " * 50000
    assert decompress(Codec.LZ4, lz4_frame(data)) == data
    assert decompress(Codec.LZ4, lz4_frame(data, content_checksum=True)) == data
    broken = bytearray(lz4_frame(data, content_checksum=True))
    broken[-1] ^= 1
    with pytest.raises(DecodeError):
        decompress(Codec.LZ4, broken)


def test_lz4_linked_blocks_are_refused_as_java_refuses_them() -> None:
    with pytest.raises(DecodeError, match="linked"):
        decompress(Codec.LZ4, lz4_frame(b"lz4 " * 50000, block_linked=True))


def test_lz4_blocks_that_do_not_shrink_are_stored() -> None:
    data = bytes(cramjam.zstd.compress(bytes(range(256)) * 10)) * 3
    packed = compress(Codec.LZ4, data)
    assert len(packed) <= len(data) + 15
    assert decompress(Codec.LZ4, packed) == data


def test_zstd_without_content_size() -> None:
    data = b"zstd stream " * 60000
    packed = zstd_stream(data)
    size_max, _ = zstd_size_max(packed)
    assert len(data) <= size_max <= len(data) + 128 * 1024
    assert decompress(Codec.ZSTD, packed, decompressed_bytes_max=len(data)) == data


def test_zstd_and_gzip_streams_of_several_frames() -> None:
    first, second = b"first " * 5000, b"second " * 9000
    for packed in (
        compress(Codec.ZSTD, first) + b"\x50\x2a\x4d\x18\x03\0\0\0abc" + zstd_stream(second),
        zstd_stream(first) + compress(Codec.ZSTD, second),
    ):
        assert decompress(Codec.ZSTD, packed) == first + second
    assert (
        decompress(Codec.GZIP, compress(Codec.GZIP, first) + compress(Codec.GZIP, second)) == first + second
    )
    assert decompress(Codec.GZIP, compress(Codec.GZIP, first) + compress(Codec.GZIP, b"")) == first


@pytest.mark.parametrize("codec", COMPRESSED)
def test_cut_and_continued_streams_are_refused(codec: Codec) -> None:
    packed = compress(codec, b"some records, some records, some records" * 30)
    for cut in range(len(packed)):
        if codec is Codec.SNAPPY and cut == 16:
            continue  # a snappy-java header alone is an empty stream
        with pytest.raises(DecodeError):
            decompress(codec, packed[:cut])
    with pytest.raises(DecodeError):
        decompress(codec, packed + b"garbage!")


@given(data=st.data())
@settings(max_examples=150, deadline=None)
@pytest.mark.parametrize("codec", COMPRESSED)
def test_mutated_streams_decode_or_raise_decode_error(codec: Codec, data: st.DataObject) -> None:
    packed = bytearray(compress(codec, b"some records, some records, some records" * 30))
    for _ in range(data.draw(st.integers(1, 4))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(DecodeError):
        assert len(decompress(codec, packed, decompressed_bytes_max=MIB)) <= MIB


@given(st.binary(max_size=200))
@pytest.mark.parametrize("codec", COMPRESSED)
def test_random_bytes_decode_or_raise_decode_error(codec: Codec, data: bytes) -> None:
    for packed in (data, b"\x04\x22\x4d\x18\x60\x40\x82" + data, b"\x28\xb5\x2f\xfd" + data):
        with contextlib.suppress(DecodeError):
            assert len(decompress(codec, packed, decompressed_bytes_max=MIB)) <= MIB


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_never_grow_above_the_bound(name: str) -> None:
    """About a megabyte that unpacks to 240 MiB or more, in a process whose peak memory is measured."""
    code = (
        "import resource\n"
        "from tests.compression_bombs import BOMBS, MIB\n"
        "from barnabas.protocol.compression import DecompressedTooLargeError, decompress\n"
        f"codec, make = BOMBS[{name!r}]\n"
        "bomb = make()\n"
        "def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024\n"
        "before = peak()\n"
        "for bound in (1000, 32 * MIB):\n"
        "    try: decompress(codec, bomb, decompressed_bytes_max=bound)\n"
        "    except DecompressedTooLargeError: pass\n"
        "    else: raise SystemExit('not refused')\n"
        "print(peak() - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    # The bound, zstd's window of 8 MiB, and what an allocator rounds up.
    assert int(done.stdout) <= 32 + 8 + 4


def test_a_huge_zstd_window_is_refused() -> None:
    frame = b"\x28\xb5\x2f\xfd\x00\xff" + (5 << 3 | 1).to_bytes(3, "little") + b"hello"
    with pytest.raises(DecompressedTooLargeError, match="window"):
        decompress(Codec.ZSTD, frame)


def test_hostile_sizes_allocate_nothing() -> None:
    """Frames of a few bytes that announce gigabytes."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    content_size = b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 1 << 60)
    for codec, data in (
        (Codec.ZSTD, content_size + b"\x01\x00\x00"),
        (Codec.SNAPPY, b"\xff\xff\xff\xff\x0f"),
        (Codec.LZ4, b"\x04\x22\x4d\x18\x60\x70\x73" + struct.pack("<I", 0x7FFFFFFF)),
        (Codec.GZIP, b"\x1f\x8b\x08\0\0\0\0\0\0\0" + b"\xff" * 12),
    ):
        with pytest.raises(DecodeError):
            decompress(codec, data)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 * 1024


def test_size_bounds_hold() -> None:
    for data in (b"", b"x", b"abc" * 100000, bytes(cramjam.zstd.compress(bytes(range(256)) * 99))):
        assert lz4_size_max(compress(Codec.LZ4, data)) >= len(data)
        assert zstd_size_max(compress(Codec.ZSTD, data))[0] >= len(data)
