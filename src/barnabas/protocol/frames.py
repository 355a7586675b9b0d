"""Request and response frames: the header in front of every body.

Written by hand instead of with the RequestHeader message: each request passes here, and Kafka reads the
header more leniently than its schema says (a client id may be null, is never compact, and may hold bytes
that are no UTF-8). The 4-byte frame length is net's business and not part of what these functions see.
"""

import struct
from collections.abc import Callable

from barnabas.base.errors import DecodeError
from barnabas.base.named_tuple import NamedTuple
from barnabas.base.region import FileSlice
from barnabas.protocol.api_keys import FLEXIBLE_FROM, ApiKey
from barnabas.protocol.codec_runtime import FAULTS, Buffer, fault_reason, read_varint
from barnabas.protocol.structures import Message

_API_VERSIONS = int(ApiKey.API_VERSIONS)
_FIXED = struct.Struct(">hhih")  # api key, api version, correlation id, length of the client id
_FIXED_BYTES = _FIXED.size
_read_fixed = _FIXED.unpack_from
_CORRELATION_ID = struct.Struct(">i")
_CORRELATION_ID_AND_NO_TAGS = struct.Struct(">ix")
_NO_CLIENT_ID = -1
_new_tuple = tuple.__new__


class RequestHeader(NamedTuple):
    """What precedes the body of a request.

    `client_id` is empty when the client sent null; Kafka makes no difference either. `body_offset` is
    where the body starts in the frame.
    """

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str
    body_offset: int


def decode_request_header(frame: memoryview) -> RequestHeader:
    """Return the header of a request frame (without its length).

    The version may be one the API does not have: whoever routes the request checks that, since an
    ApiVersions request of any version is answered (KIP-511). Tagged fields of the header are skipped:
    none is defined.

    Raises:
        DecodeError: truncated, malformed, or an API key without a known header.
    """
    try:
        api_key, api_version, correlation_id, length = _read_fixed(frame, 0)
        position = _FIXED_BYTES
        if length > 0:
            position += length
            if position > len(frame):
                raise DecodeError(f"request header: client id of {length} bytes, {len(frame) - 10} left")
            client_id = str(frame[_FIXED_BYTES:position], "utf-8", "replace")
        elif length < _NO_CLIENT_ID:
            raise DecodeError(f"request header: client id of {length} bytes")
        else:
            client_id = ""
        if api_version >= FLEXIBLE_FROM[api_key]:
            if frame[position]:
                position = _skip_tags(frame, position)
            else:
                position += 1
    except KeyError:
        raise DecodeError(f"request header: unknown API key {api_key}") from None
    except FAULTS as fault:
        raise DecodeError(f"request header in {len(frame)} bytes: {fault_reason(fault)}") from None
    # Each request passes here, and RequestHeader(...) would be one more Python call.
    return _new_tuple(RequestHeader, (api_key, api_version, correlation_id, client_id, position))


def _skip_tags(frame: memoryview, position: int) -> int:
    """Return the position behind a section of tagged fields."""
    count, position = read_varint(frame, position)
    for _ in range(count):
        _, position = read_varint(frame, position)
        size, position = read_varint(frame, position)
        position += size
        if position > len(frame):
            raise IndexError(position)
    return position


def encode_request_header(
    api_key: int, api_version: int, correlation_id: int, client_id: str | None
) -> bytes:
    """Return the header of a request, for clients and brokers that talk to brokers.

    Raises:
        KeyError: no such API.
        ValueError: the client id is longer than 32767 bytes.
    """
    flexible = api_version >= FLEXIBLE_FROM[api_key]
    raw = b"" if client_id is None else client_id.encode()
    length = _NO_CLIENT_ID if client_id is None else len(raw)
    try:
        head = _FIXED.pack(api_key, api_version, correlation_id, length)
    except struct.error as error:
        raise ValueError(f"request header: {error}") from None
    return head + raw + (b"\0" if flexible else b"")


def response_header_packer(api_key: int, api_version: int) -> Callable[[int], bytes]:
    """Return what makes response headers of correlation ids.

    ApiVersions never has tagged fields in it (KIP-511).
    """
    if api_version >= FLEXIBLE_FROM[api_key] and api_key != _API_VERSIONS:
        return _CORRELATION_ID_AND_NO_TAGS.pack
    return _CORRELATION_ID.pack


def response_prefix(api_key: int, api_version: int, correlation_id: int) -> bytes:
    """Return the header of a response."""
    return response_header_packer(api_key, api_version)(correlation_id)


def decode_response_header(frame: memoryview, api_key: int, api_version: int) -> tuple[int, int]:
    """Return correlation id and body offset of a response frame (without its length).

    Raises:
        DecodeError: truncated or malformed.
    """
    try:
        (correlation_id,) = _CORRELATION_ID.unpack_from(frame, 0)
        position = _CORRELATION_ID.size
        if api_version >= FLEXIBLE_FROM[api_key] and api_key != _API_VERSIONS:
            position = _skip_tags(frame, position)
    except FAULTS as fault:
        raise DecodeError(f"response header in {len(frame)} bytes: {fault_reason(fault)}") from None
    return correlation_id, position


def response_parts(
    header: RequestHeader, response: Message, version: int | None = None
) -> list[Buffer | FileSlice]:
    """Return a response frame as parts, header first, without its length.

    Args:
        version: of the body when it is not the request's: an ApiVersions request of an unknown version
            is answered in version 0.
    """
    body_version = header.api_version if version is None else version
    prefix = response_prefix(header.api_key, header.api_version, header.correlation_id)
    return response.encode_parts(body_version, prefix)
