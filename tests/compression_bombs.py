"""Streams of about a megabyte or less that unpack to hundreds."""

import struct
import zlib

import cramjam

from barnabas.protocol.compression import Codec

MIB = 1024 * 1024


def gzip_bomb(members: int) -> bytes:
    compressor = zlib.compressobj(9, zlib.DEFLATED, 31)
    # Piece by piece: what makes the bomb must not use the memory that the test measures.
    member = b"".join(compressor.compress(bytes(MIB)) for _ in range(64)) + compressor.flush()
    return member * members


def snappy_bomb() -> bytes:
    # Announces 4 GiB; behind it one block that claims the rest.
    return b"\xff\xff\xff\xff\x0f" + b"\xfe\xff\xff" * 300000


def lz4_bomb() -> bytes:
    block = bytes(cramjam.lz4.compress_block(bytes(4 * MIB), store_size=False))
    return b"\x04\x22\x4d\x18\x60\x70\x73" + (struct.pack("<I", len(block)) + block) * 60 + bytes(4)


def zstd_bomb() -> bytes:
    # Blocks of one repeated byte, 128 KiB each, in a window of 8 MiB.
    rle = (128 * 1024) << 3 | 1 << 1
    last = (rle | 1).to_bytes(3, "little") + b"x"
    return b"\x28\xb5\x2f\xfd\x00\x68" + (rle.to_bytes(3, "little") + b"x") * 250000 + last


BOMBS = {
    "gzip": (Codec.GZIP, lambda: gzip_bomb(16)),
    "snappy": (Codec.SNAPPY, snappy_bomb),
    "lz4": (Codec.LZ4, lz4_bomb),
    "zstd": (Codec.ZSTD, zstd_bomb),
}
