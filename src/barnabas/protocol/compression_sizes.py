"""How much a compressed stream can unpack to, worked out from its framing without unpacking it.

Snappy tells its size; lz4 and zstd frames are chains of blocks whose unpacked size is known or bounded
by the frame's header, so that walking the chain bounds the whole within one block; gzip ends with its
size. The walk touches a few bytes per block and checks every length, so a malformed chain is found here
already. Trusting the optional content size of a frame was rejected: Java's and librdkafka's streams do
not carry it, and a hostile one lies.
"""

from struct import Struct

from barnabas.base.disk import Buffer
from barnabas.base.errors import DecodeError

_U32 = Struct("<I")
_U32_BIG = Struct(">I")
_U64 = Struct("<Q")

GZIP_BYTES_MIN = 18
_DEFLATE_RATIO_MAX = 1032
_LZ4_RATIO_MAX = 255

LZ4_MAGIC = 0x184D2204
_LZ4_BLOCK_BYTES_MAX = {4: 1 << 16, 5: 1 << 18, 6: 1 << 20, 7: 1 << 22}
_LZ4_INDEPENDENT_BIT = 0x20
_LZ4_BLOCK_CHECKSUM_BIT = 0x10
_LZ4_CONTENT_SIZE_BIT = 0x08
_LZ4_CONTENT_CHECKSUM_BIT = 0x04
_LZ4_DICTIONARY_BIT = 0x01
_LZ4_STORED_BIT = 0x80000000

ZSTD_MAGIC = 0xFD2FB528
_ZSTD_SKIPPABLE_MAGIC = 0x184D2A50
_ZSTD_BLOCK_BYTES_MAX = 1 << 17
_ZSTD_FIELD_BYTES = (0, 1, 2, 4)
_ZSTD_SIZE_BYTES = (0, 2, 4, 8)

XERIAL_HEADER = b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"
"""What snappy-java puts in front of its stream: magic, version 1, oldest compatible version 1."""
_XERIAL_MAGIC_BYTES = 8


def gzip_size(data: Buffer) -> tuple[int, int]:
    """Return (size that the last member claims, the most the bytes can hold)."""
    if len(data) < GZIP_BYTES_MIN:
        raise DecodeError(f"gzip stream of {len(data)} bytes")
    most = len(data) * _DEFLATE_RATIO_MAX
    claimed: int = _U32.unpack_from(data, len(data) - 4)[0]
    return min(claimed, most), most


def snappy_block_size(data: Buffer) -> int:
    """Return the unpacked size that a raw snappy block announces."""
    size = 0
    for index in range(min(len(data), 5)):
        size |= (data[index] & 0x7F) << (7 * index)
        if data[index] < 0x80:
            if size >> 32:
                break
            return size
    raise DecodeError("snappy block without a size")


def xerial_chunks(data: Buffer) -> list[tuple[int, int, int]]:
    """Return (start, end, unpacked size) of each block of a snappy-java stream."""
    if len(data) < len(XERIAL_HEADER):
        raise DecodeError("snappy stream is cut in its header")
    view = memoryview(data)
    if bytes(view[: len(XERIAL_HEADER)]) != XERIAL_HEADER:
        raise DecodeError("snappy stream of an unknown version")
    chunks: list[tuple[int, int, int]] = []
    position = len(XERIAL_HEADER)
    while position < len(data):
        if len(data) - position < 4:
            raise DecodeError(f"snappy stream is cut at byte {position}")
        size = _U32_BIG.unpack_from(data, position)[0]
        start = position + 4
        position = start + size
        if size == 0 or position > len(data):
            raise DecodeError(f"snappy block of {size} bytes at byte {start}, {len(data) - start} are left")
        chunks.append((start, position, snappy_block_size(view[start:position])))
    return chunks


def is_xerial(data: Buffer) -> bool:
    """Tell whether a snappy payload is framed as snappy-java does; else it is one raw block."""
    return bytes(memoryview(data)[:_XERIAL_MAGIC_BYTES]) == XERIAL_HEADER[:_XERIAL_MAGIC_BYTES]


def lz4_size_max(data: Buffer) -> int:
    """Return an upper bound of what one lz4 frame unpacks to; the frame must fill `data`.

    Linked blocks are refused, as Java's reader refuses them: a consumer could not read them.
    """
    end = len(data)
    if end < 7 or _U32.unpack_from(data, 0)[0] != LZ4_MAGIC:
        raise DecodeError("no lz4 frame")
    flags, descriptor = data[4], data[5]
    block_bytes_max = _LZ4_BLOCK_BYTES_MAX.get(descriptor >> 4)
    if flags >> 6 != 1 or block_bytes_max is None or flags & _LZ4_DICTIONARY_BIT:
        raise DecodeError(f"lz4 frame with flags {flags:#04x} and block descriptor {descriptor:#04x}")
    if not flags & _LZ4_INDEPENDENT_BIT:
        raise DecodeError("lz4 frame with linked blocks")
    position = 15 if flags & _LZ4_CONTENT_SIZE_BIT else 7
    checksum_bytes = 4 if flags & _LZ4_BLOCK_CHECKSUM_BIT else 0
    total = 0
    while True:
        if end - position < 4:
            raise DecodeError(f"lz4 frame is cut at byte {position}")
        size = _U32.unpack_from(data, position)[0]
        position += 4
        if size == 0:
            break
        stored = size & _LZ4_STORED_BIT
        size &= ~_LZ4_STORED_BIT
        if size > end - position or size > block_bytes_max:
            raise DecodeError(f"lz4 block of {size} bytes at byte {position}, {end - position} are left")
        total += size if stored else min(block_bytes_max, size * _LZ4_RATIO_MAX)
        position += size + checksum_bytes
    if flags & _LZ4_CONTENT_CHECKSUM_BIT:
        position += 4
    if position != end:
        raise DecodeError(f"lz4 frame ends at byte {position} of {end}")
    return total


def zstd_size_max(data: Buffer) -> tuple[int, int]:
    """Return (upper bound of what all frames unpack to, largest history window); they must fill `data`."""
    position = total = window_max = 0
    end = len(data)
    while position < end:
        if end - position < 8:
            raise DecodeError(f"zstd frame is cut at byte {position}")
        magic, skipped = _U32.unpack_from(data, position)[0], _U32.unpack_from(data, position + 4)[0]
        if magic & 0xFFFFFFF0 == _ZSTD_SKIPPABLE_MAGIC:
            position += 8 + skipped
        elif magic == ZSTD_MAGIC:
            size, window, position = _zstd_frame(data, position + 4, end)
            total += size
            window_max = max(window_max, window)
        else:
            raise DecodeError(f"no zstd frame at byte {position}")
    if position != end or not end:
        raise DecodeError(f"zstd frame ends at byte {position} of {end}")
    return total, window_max


def _zstd_frame(data: Buffer, position: int, end: int) -> tuple[int, int, int]:
    """Return (size bound, window, position behind) of the frame whose descriptor is at `position`."""
    window, content_size, has_checksum, position = _zstd_frame_header(data, position, end)
    block_bytes_max = min(window, _ZSTD_BLOCK_BYTES_MAX)
    total = 0
    last = 0
    while not last:
        if end - position < 3:
            raise DecodeError(f"zstd frame is cut at byte {position}")
        block = data[position] | data[position + 1] << 8 | data[position + 2] << 16
        position += 3
        last, kind, size = block & 1, block >> 1 & 3, block >> 3
        if kind == 3 or size > _ZSTD_BLOCK_BYTES_MAX:
            raise DecodeError(f"zstd block of kind {kind} and {size} bytes at byte {position}")
        total += block_bytes_max if kind == 2 else size
        position += 1 if kind == 1 else size
        if position > end:
            raise DecodeError(f"zstd block at byte {position - size} is cut")
    position += 4 if has_checksum else 0
    if position > end:
        raise DecodeError("zstd frame is cut in its checksum")
    return total if content_size is None else min(total, content_size), window, position


def _zstd_frame_header(data: Buffer, position: int, end: int) -> tuple[int, int | None, bool, int]:
    """Return (window, content size, checksum follows, position behind)."""
    descriptor = data[position]
    position += 1
    single_segment = bool(descriptor & 0x20)
    window = 0
    if not single_segment:
        if position >= end:
            raise DecodeError("zstd frame is cut in its header")
        exponent, mantissa = data[position] >> 3, data[position] & 7
        base = 1 << (10 + exponent)
        window = base + (base >> 3) * mantissa
        position += 1
    dictionary_bytes = _ZSTD_FIELD_BYTES[descriptor & 3]
    size_bytes = _ZSTD_SIZE_BYTES[descriptor >> 6] or (1 if single_segment else 0)
    if end - position < dictionary_bytes + size_bytes:
        raise DecodeError("zstd frame is cut in its header")
    position += dictionary_bytes
    content_size = None
    if size_bytes:
        content_size = int.from_bytes(data[position : position + size_bytes], "little")
        content_size += 256 if size_bytes == 2 else 0
        position += size_bytes
    if single_segment:
        window = content_size or 0
    return window, content_size, bool(descriptor & 0x04), position
