"""Varints, their limits, and what is too long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.base.errors import DecodeError
from barnabas.protocol.varint import (
    decode_uvarint,
    decode_varint,
    decode_varlong,
    encode_uvarint,
    encode_varint,
    varint_bytes,
)


@given(st.integers(-(1 << 31), (1 << 31) - 1))
def test_varint_round_trip(value: int) -> None:
    encoded = encode_varint(value)
    assert decode_varint(b"\xff" + encoded, 1, 1 + len(encoded)) == (value, 1 + len(encoded))
    assert varint_bytes(value) == len(encoded)


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_varlong_round_trip(value: int) -> None:
    encoded = encode_varint(value)
    assert decode_varlong(encoded, 0, len(encoded)) == (value, len(encoded))
    assert varint_bytes(value) == len(encoded)


@given(st.integers(0, (1 << 32) - 1))
def test_uvarint_round_trip(value: int) -> None:
    encoded = encode_uvarint(value)
    assert decode_uvarint(memoryview(encoded), 0, len(encoded)) == (value, len(encoded))


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (-1, "01"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (8191, "fe7f"),
        (-(1 << 31), "ffffffff0f"),
    ],
)
def test_zigzag_bytes(value: int, encoded: str) -> None:
    assert encode_varint(value).hex() == encoded


@pytest.mark.parametrize("raw", ["", "80", "8080808080", "808080808010", "ffffffff1f"])
def test_cut_and_overlong_varints_are_refused(raw: str) -> None:
    data = bytes.fromhex(raw)
    with pytest.raises(DecodeError):
        decode_varint(data, 0, len(data))


def test_nothing_behind_the_end_is_read() -> None:
    with pytest.raises(DecodeError):
        decode_varint(b"\x80\x01", 0, 1)
    with pytest.raises(DecodeError):
        decode_varint(b"\x01", 0, 0)


def test_a_varlong_ends_after_ten_bytes() -> None:
    assert decode_varlong(b"\xff" * 9 + b"\x01", 0, 10) == (-(1 << 63), 10)
    with pytest.raises(DecodeError):
        decode_varlong(b"\xff" * 9 + b"\x02", 0, 10)
    with pytest.raises(DecodeError):
        decode_varlong(b"\x80" * 11, 0, 11)


@pytest.mark.parametrize("value", [-1, 1 << 64])
def test_encoding_beyond_the_range_is_refused(value: int) -> None:
    with pytest.raises(ValueError):
        encode_uvarint(value)
