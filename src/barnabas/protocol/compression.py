"""The codecs of record batches, each decompressed within a bound.

Kafka compresses the records section of a batch as one stream: gzip; snappy in the framing of
snappy-java; lz4 frames; zstd frames. A batch tells nothing about its unpacked size, so a megabyte on
the wire may ask for gigabytes. Decompression therefore first works out, without unpacking, what the
stream can amount to (compression_sizes.py), refuses what is above the bound, and unpacks into a buffer
of that size, which cramjam never grows. A streaming decoder fed in pieces was rejected: one piece of a
few bytes can already unpack to megabytes, and its output list doubles the memory when it is joined.

cramjam holds all codecs but the gzip compressor, where zlib is twice as fast at the default level. It
is imported on first use: 4 MB of code that a broker of uncompressed batches never needs.
"""

import zlib
from struct import Struct
from types import ModuleType

from barnabas.base import limits
from barnabas.base.disk import Buffer
from barnabas.base.enums import IntEnum
from barnabas.base.errors import DecodeError
from barnabas.base.hints import Any
from barnabas.protocol.compression_sizes import (
    XERIAL_HEADER,
    gzip_size,
    is_xerial,
    lz4_size_max,
    snappy_block_size,
    xerial_chunks,
    zstd_size_max,
)

_GZIP_WINDOW_BITS = 31  # 15 bits of window, and 16: with gzip's header and trailer
_SNAPPY_BLOCK_BYTES = 32 * 1024
_LZ4_BLOCK_BYTES = 64 * 1024
_LZ4_STORED_BIT = 0x80000000
# Version 1, independent blocks of 64 KiB, no checksums, and the header's own check byte: the frame that
# Java's client writes, and the only one that its oldest readers take.
_LZ4_FRAME_HEADER = b"\x04\x22\x4d\x18\x60\x40\x82"
_LZ4_END_MARK = bytes(4)
_U32 = Struct("<I")
_U32_BIG = Struct(">I")
# A window that every zstd reader must support: allowed under smaller bounds as well.
_ZSTD_WINDOW_BYTES_FREE = 8 * 1024 * 1024
# What cramjam says when its output buffer is full; there is no type or code to tell it by.
_BUFFER_FULL = "failed to write whole buffer"


class Codec(IntEnum):
    """compression.type, by the number in a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class DecompressedTooLargeError(DecodeError):
    """A stream that unpacks to more than the bound."""


LEVEL_RANGES: dict[Codec, tuple[int, int, int]] = {
    Codec.GZIP: (1, 9, -1),
    Codec.LZ4: (1, 17, 9),
    Codec.ZSTD: (-131072, 22, 3),
}
"""(lowest, highest, default) of compression.gzip.level, compression.lz4.level, compression.zstd.level
(KIP-390); gzip's default -1 leaves the choice to zlib and is a valid value too."""


def compress(codec: Codec, data: Buffer, level: int | None = None) -> bytes:
    """Return `data` as the records section of a batch of that codec.

    Args:
        level: of LEVEL_RANGES; None is the codec's default. Snappy has none.
    Raises:
        ValueError: a level outside the range.
    """
    if level is not None and codec in LEVEL_RANGES:
        low, high, default = LEVEL_RANGES[codec]
        if not low <= level <= high and level != default:
            raise ValueError(f"{codec.name.lower()} level {level} is not between {low} and {high}")
    if codec is Codec.NONE:
        return bytes(data)
    if codec is Codec.GZIP:
        compressor = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, _GZIP_WINDOW_BITS)
        return compressor.compress(data) + compressor.flush()
    if codec is Codec.SNAPPY:
        return _compress_snappy(data)
    if codec is Codec.LZ4:
        return _compress_lz4(data, LEVEL_RANGES[Codec.LZ4][2] if level is None else level)
    return bytes(
        _cramjam().zstd.compress(data, level=LEVEL_RANGES[Codec.ZSTD][2] if level is None else level)
    )


def decompress(
    codec: Codec, data: Buffer, *, decompressed_bytes_max: int = limits.DECOMPRESSED_BATCH_BYTES_MAX
) -> Buffer:
    """Unpack a records section within a bound.

    The output never grows above the bound. zstd may also hold its history window while it works, which
    is refused above the bound too, so two bounds are the most that is ever in memory.

    Raises:
        DecompressedTooLargeError: more than `decompressed_bytes_max`.
        DecodeError: not a stream of that codec, cut, or with bytes left over.
    """
    if codec is Codec.NONE:
        if len(data) > decompressed_bytes_max:
            raise DecompressedTooLargeError(f"{len(data)} bytes, {decompressed_bytes_max} are allowed")
        return data
    if codec is Codec.GZIP:
        return _decompress_gzip(data, decompressed_bytes_max)
    if codec is Codec.SNAPPY:
        return _decompress_snappy(data, decompressed_bytes_max)
    if codec is Codec.LZ4:
        return _decompress_into(_cramjam().lz4, data, lz4_size_max(data), decompressed_bytes_max)
    size_max, window = zstd_size_max(data)
    if window > max(decompressed_bytes_max, _ZSTD_WINDOW_BYTES_FREE):
        raise DecompressedTooLargeError(
            f"zstd window of {window} bytes, {decompressed_bytes_max} are allowed"
        )
    return _decompress_into(_cramjam().zstd, data, size_max, decompressed_bytes_max)


def _cramjam() -> Any:
    import cramjam  # noqa: PLC0415

    return cramjam


def _decompress_into(module: ModuleType, data: Buffer, size_max: int, bytes_max: int) -> bytearray:
    """Unpack into a buffer of the smaller of the two sizes, which the codec cannot make larger."""
    output = bytearray(min(size_max, bytes_max))
    try:
        size: int = module.decompress_into(data, output)
    except _cramjam().DecompressionError as error:
        if str(error) == _BUFFER_FULL and size_max > bytes_max:
            raise DecompressedTooLargeError(f"unpacks to more than {bytes_max} bytes") from None
        raise DecodeError(f"malformed compressed records: {error}") from None
    del output[size:]
    return output


def _decompress_gzip(data: Buffer, bytes_max: int) -> bytearray:
    """Unpack gzip, whose members may be several: only the last one's size is known beforehand."""
    capacity, size_max = gzip_size(data)
    while True:
        try:
            return _decompress_into(_cramjam().gzip, data, capacity, bytes_max)
        except DecompressedTooLargeError:
            raise
        except DecodeError as error:
            if not str(error).endswith(_BUFFER_FULL) or capacity >= size_max:
                raise
        capacity = min(max(capacity * 4, 64 * 1024), size_max)


def _decompress_snappy(data: Buffer, bytes_max: int) -> bytearray:
    view = memoryview(data)
    chunks = xerial_chunks(data) if is_xerial(data) else [(0, len(data), snappy_block_size(data))]
    total = sum(size for _, _, size in chunks)
    if total > bytes_max:
        raise DecompressedTooLargeError(f"unpacks to {total} bytes, {bytes_max} are allowed")
    output = bytearray(total)
    target = memoryview(output)
    written = 0
    unpack = _cramjam().snappy.decompress_raw_into
    try:
        for start, end, size in chunks:
            if unpack(view[start:end], target[written : written + size]) != size:
                raise DecodeError(f"snappy block at byte {start} is not the size it announces")
            written += size
    except _cramjam().DecompressionError as error:
        raise DecodeError(f"malformed compressed records: {error}") from None
    return output


def _compress_snappy(data: Buffer) -> bytes:
    view = memoryview(data)
    parts: list[bytes] = [XERIAL_HEADER]
    pack = _cramjam().snappy.compress_raw
    for start in range(0, len(view), _SNAPPY_BLOCK_BYTES):
        block = bytes(pack(view[start : start + _SNAPPY_BLOCK_BYTES]))
        parts.append(_U32_BIG.pack(len(block)))
        parts.append(block)
    return b"".join(parts)


def _compress_lz4(data: Buffer, level: int) -> bytes:
    """Write Java's frame; like there, the default level is the fast compressor, others the thorough one."""
    view = memoryview(data)
    pack = _cramjam().lz4.compress_block
    if level == LEVEL_RANGES[Codec.LZ4][2]:
        options: dict[str, Any] = {"mode": "default"}
    else:
        options = {"mode": "high_compression", "compression": level}
    parts: list[Buffer] = [_LZ4_FRAME_HEADER]
    for start in range(0, len(view), _LZ4_BLOCK_BYTES):
        block = view[start : start + _LZ4_BLOCK_BYTES]
        packed = bytes(pack(block, store_size=False, **options))
        if len(packed) < len(block):
            parts += (_U32.pack(len(packed)), packed)
        else:
            parts += (_U32.pack(len(block) | _LZ4_STORED_BIT), block)
    parts.append(_LZ4_END_MARK)
    return b"".join(parts)
