"""Headers of requests and responses, as Kafka reads and writes them."""

import random

import pytest

from barnabas.base.errors import DecodeError
from barnabas.protocol import frames, messages
from barnabas.protocol.api_keys import ApiKey, request_header_version, response_header_version
from barnabas.protocol.frames import RequestHeader


def _header(frame: bytes) -> RequestHeader:
    return frames.decode_request_header(memoryview(frame))


@pytest.mark.parametrize("api_key", list(ApiKey))
def test_the_header_is_the_one_of_the_catalogue(api_key: ApiKey) -> None:
    for version in messages.BY_KEY[api_key].valid_versions:
        header_version = request_header_version(api_key, version)
        expected = messages.RequestHeader(
            request_api_key=api_key, request_api_version=version, correlation_id=-7, client_id="cli\u00e9nt"
        )
        encoded = expected.encode(header_version)
        assert frames.encode_request_header(api_key, version, -7, "cli\u00e9nt") == encoded
        assert _header(encoded + b"body") == (api_key, version, -7, "cli\u00e9nt", len(encoded))

        prefix = frames.response_prefix(api_key, version, 9)
        answer_version = response_header_version(api_key, version)
        assert prefix == messages.ResponseHeader(correlation_id=9).encode(answer_version)
        answer = memoryview(prefix + b"body")
        assert frames.decode_response_header(answer, api_key, version) == (9, len(prefix))


def test_only_flexible_versions_have_tagged_fields_in_the_header() -> None:
    assert request_header_version(ApiKey.FETCH, 11) == 1
    assert request_header_version(ApiKey.FETCH, 12) == 2
    assert request_header_version(ApiKey.SASL_HANDSHAKE, 1) == 1
    assert response_header_version(ApiKey.FETCH, 12) == 1


def test_an_api_versions_response_never_has_tagged_fields_in_its_header() -> None:
    assert request_header_version(ApiKey.API_VERSIONS, 3) == 2
    assert response_header_version(ApiKey.API_VERSIONS, 3) == 0
    assert frames.response_prefix(ApiKey.API_VERSIONS, 3, 1) == b"\0\0\0\1"


def test_a_null_client_id_is_an_empty_one() -> None:
    frame = frames.encode_request_header(ApiKey.METADATA, 9, 1, None)
    assert frame[8:10] == b"\xff\xff"
    assert _header(frame).client_id == ""
    assert _header(frame).body_offset == 11


def test_a_client_id_that_is_no_utf8_is_tolerated() -> None:
    frame = frames.encode_request_header(ApiKey.METADATA, 0, 1, "ab").replace(b"ab", b"a\xff")
    assert _header(frame).client_id == "a\ufffd"


def test_tagged_fields_of_the_header_are_skipped() -> None:
    frame = frames.encode_request_header(ApiKey.METADATA, 9, 1, "c")
    tagged = frame[:-1] + b"\2\1\3abc\x80\1\0"
    assert _header(tagged + b"body") == (3, 9, 1, "c", len(tagged))


def test_versions_that_do_not_exist_still_have_a_header() -> None:
    """The broker answers ApiVersions of any version, so the header must be readable first."""
    frame = frames.encode_request_header(ApiKey.API_VERSIONS, 99, 5, "c")
    assert _header(frame)[:4] == (18, 99, 5, "c")
    assert _header(frames.encode_request_header(ApiKey.FETCH, -1, 5, "c")).api_version == -1


@pytest.mark.parametrize(
    ("frame", "complaint"),
    [
        (b"", "end early"),
        (b"\0\x12\0\3\0\0\0\1", "end early"),
        (b"\0\x12\0\3\0\0\0\1\xff\xfe", "client id of -2 bytes"),
        (b"\0\x12\0\3\0\0\0\1\x7f\xffabc", "client id of 32767 bytes, 3 left"),
        (b"\0\x12\0\3\0\0\0\1\0\1a", "end early"),
        (b"\0\x12\0\3\0\0\0\1\0\1a\1\1\5abc", "end early"),
        (b"\0\x12\0\3\0\0\0\1\0\1a\xff\xff\xff\xff\xff\xff", "varint of more than 5 bytes"),
        (b"\0\4\0\0\0\0\0\1\0\0", "unknown API key 4"),
        (b"\x7f\xff\0\0\0\0\0\1\0\0", "unknown API key 32767"),
        (b"GET / HTTP/1.1\r\n\r\n", "request header"),
    ],
)
def test_a_header_that_is_none(frame: bytes, complaint: str) -> None:
    with pytest.raises(DecodeError, match=complaint):
        _header(frame)


def test_random_bytes_are_a_header_or_a_decode_error() -> None:
    rng = random.Random(5)
    for _ in range(5_000):
        frame = bytes((0, rng.randrange(95), 0, rng.randrange(12))) + rng.randbytes(rng.randrange(24))
        try:
            header = _header(frame)
        except DecodeError:
            continue
        assert header.body_offset <= len(frame)


def test_a_response_frame_in_parts() -> None:
    header = RequestHeader(ApiKey.HEARTBEAT, 4, 77, "c", 0)
    response = messages.HeartbeatResponse(error_code=25)
    parts = frames.response_parts(header, response)
    assert parts == [b"\0\0\0\x4d\0" + response.encode(4)]


def test_a_response_in_another_version_than_the_request() -> None:
    header = RequestHeader(ApiKey.API_VERSIONS, 99, 1, "c", 0)
    response = messages.ApiVersionsResponse(error_code=35)
    assert frames.response_parts(header, response, 0) == [b"\0\0\0\1" + response.encode(0)]


def test_a_client_id_too_long_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="request header"):
        frames.encode_request_header(ApiKey.METADATA, 9, 1, "x" * 32768)
