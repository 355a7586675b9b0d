"""Hostile bytes for every version of every message: one DecodeError or a message, and bounded work."""

import random
import tracemalloc

import pytest

from barnabas.base.errors import DecodeError
from barnabas.protocol import messages, schema
from barnabas.protocol.messages import Message
from tests import message_values

SEED = 20_261_130
MUTATIONS = 6
MUTATIONS_SLOW = 200

BYTES_PER_INPUT_BYTE_MAX = 400
"""Peak memory a decoder may take per byte given: the smallest structs are one byte of tagged fields on
the wire and a slotted object with a handful of attributes here."""

_NASTY = (
    b"\xff\xff\xff\xff\x07",
    b"\xff\xff\xff\xff\x0f",
    b"\x7f\xff\xff\xff",
    b"\x80" * 6,
    b"\xff" * 4,
    b"\0\0\0\1",
)


def _decode(name: str, version: int, data: bytes) -> Message | None:
    """Return the message, or None for a DecodeError; any other exception fails the test."""
    found: type[Message] = getattr(messages, name)
    try:
        decoded, end = found.decode_from(data, version, 0)
    except DecodeError as error:
        text = str(error)
    else:
        assert end <= len(data)
        return decoded
    assert text.startswith(f"{name} v{version}"), text
    return None


def _mutated(data: bytes, rng: random.Random) -> bytes:
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        position = rng.randrange(len(made) + 1)
        match rng.randrange(4):
            case 0 if made:
                made[position % len(made)] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            case 1:
                made[position : position + rng.choice((0, 2, 4))] = rng.choice(_NASTY)
            case 2:
                del made[position : position + rng.randrange(1, 9)]
            case _:
                made[position:position] = rng.randbytes(rng.randrange(1, 9))
    return bytes(made)


def test_every_truncation_is_a_decode_error() -> None:
    rng = random.Random(SEED)
    for name, version in message_values.every_version():
        data = message_values.random_message(schema.load(name), version, rng).encode(version)
        lengths = {0, 1, len(data) // 2, len(data) - 1, rng.randrange(len(data) + 1)}
        for length in lengths & set(range(len(data))):
            assert _decode(name, version, data[:length]) is None, (name, version, data.hex(), length)


def test_mutated_bytes_give_a_message_or_a_decode_error(slow: bool) -> None:
    rng = random.Random(SEED)
    for name, version in message_values.every_version():
        data = message_values.random_message(schema.load(name), version, rng).encode(version)
        for _ in range(MUTATIONS_SLOW if slow else MUTATIONS):
            hostile = _mutated(data, rng)
            decoded = _decode(name, version, hostile)
            if decoded is not None:
                # What was accepted means something: encoding it reaches a fixed point at once. (Encoding
                # sorts unknown tags, and a NaN is not equal to itself: hence bytes, not messages.)
                encoded = decoded.encode(version)
                again = type(decoded).decode(encoded, version)
                assert again.encode(version) == encoded, (name, version, hostile.hex())


def test_random_bytes_give_a_message_or_a_decode_error() -> None:
    rng = random.Random(SEED)
    for name, version in message_values.every_version():
        for _ in range(3):
            _decode(name, version, rng.randbytes(rng.randrange(64)))


def _peak(name: str, version: int, data: bytes) -> int:
    _decode(name, version, data[:8])  # compile first
    tracemalloc.start()
    try:
        _decode(name, version, data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("name", "version", "data"),
    [
        ("MetadataRequest", 8, b"\x7f\xff\xff\xff"),
        ("MetadataRequest", 12, b"\xff\xff\xff\xff\x07"),
        ("FetchRequest", 4, bytes(17) + b"\x7f\xff\xff\xff" + bytes(1000)),
        ("DescribeGroupsRequest", 0, b"\x00\x0f\xff\xff" + b"\xff\xff" * 1000),
        ("ApiVersionsRequest", 3, b"\xff\xff\xff\xff\x07"),
        ("ApiVersionsRequest", 3, b"\1\1\xff\xff\xff\xff\x07"),
        ("ApiVersionsRequest", 3, b"\1\1\1\0\xff\xff\xff\xff\x07"),
        ("ElectLeadersRequest", 2, b"\0\2\2t\xff\xff\xff\xff\x07"),
    ],
)
def test_a_huge_count_or_length_costs_nothing(name: str, version: int, data: bytes) -> None:
    assert _decode(name, version, data) is None
    assert _peak(name, version, data) < 16_000 + BYTES_PER_INPUT_BYTE_MAX * len(data)


@pytest.mark.parametrize(
    ("name", "version", "head", "element"),
    [
        ("MetadataRequest", 8, b"", b"\0\0"),
        ("DescribeGroupsRequest", 5, b"", b"\1"),
        ("CreateTopicsRequest", 5, b"", b"\1\0\0\0\0\0\0\1\1\0"),
        ("OffsetFetchRequest", 8, b"", b"\1\1\0"),
        ("AlterConfigsRequest", 2, b"", b"\0\1\1\0"),
        ("ApiVersionsRequest", 3, b"\1\1", b"\x7f\0"),
    ],
)
def test_memory_is_proportional_to_the_bytes_given(
    name: str, version: int, head: bytes, element: bytes
) -> None:
    count = 20_000
    flexible = version in schema.index()[name].flexible
    number = count + 1 if not head else count
    counted = _varint(number) if flexible else count.to_bytes(4, "big")
    data = head + counted + element * count + bytes(16)
    assert _peak(name, version, data) < 64_000 + BYTES_PER_INPUT_BYTE_MAX * len(data)


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*made, value))


def test_nested_counts_share_one_budget() -> None:
    topic = messages.MetadataRequestMetadataRequestTopic(name="")
    data = messages.MetadataRequest(topics=[topic] * 101).encode(8)
    with pytest.raises(DecodeError, match=r"topics.*1 objects beyond the budget"):
        messages.MetadataRequest.decode_from(data, 8, 0, objects_max=100)
    assert messages.MetadataRequest.decode_from(data, 8, 0, objects_max=101)[1] == len(data)

    partitions = [messages.FetchRequestFetchPartition()] * 10
    topics = [messages.FetchRequestFetchTopic(partitions=partitions)] * 10
    data = messages.FetchRequest(topics=topics).encode(13)
    with pytest.raises(DecodeError, match=r"topics.partitions"):
        messages.FetchRequest.decode_from(data, 13, 0, objects_max=109)
    assert messages.FetchRequest.decode_from(data, 13, 0, objects_max=110)[1] == len(data)


def test_tagged_fields_are_charged_to_the_budget() -> None:
    data = messages.ApiVersionsRequest(unknown_tags=[(tag, b"") for tag in range(50)]).encode(3)
    with pytest.raises(DecodeError, match="budget"):
        messages.ApiVersionsRequest.decode_from(data, 3, 0, objects_max=49)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"\x80\x80\x80\x80\x80\1", "more than 5 bytes"),
        (b"\xff\xff\xff\xff\x0f", "31 bits"),
        (b"\0", "null"),
        (b"\3\xc3\x28\1\0", "UTF-8"),
        (b"\x81\x80\x02" + b"x" * 32768, "32768"),
    ],
)
def test_compact_strings(data: bytes, complaint: str) -> None:
    with pytest.raises(DecodeError, match=f"ApiVersionsRequest v3 client_software_name.*{complaint}"):
        messages.ApiVersionsRequest.decode(data, 3)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [(b"\xff\xff", "null"), (b"\xff\xfe", "negative length -2"), (b"\0\3ab", "length 3 with 2")],
)
def test_strings_of_old_versions(data: bytes, complaint: str) -> None:
    with pytest.raises(DecodeError, match=complaint):
        messages.HeartbeatRequest.decode(data, 0)


def test_a_tagged_field_must_fill_its_size() -> None:
    # finalized_features_epoch (tag 1) is 8 bytes.
    start = bytes(2) + b"\1" + bytes(4)
    for size in (7, 9):
        with pytest.raises(DecodeError, match=r"finalized_features_epoch.*size"):
            messages.ApiVersionsResponse.decode(start + bytes((1, 1, size)) + bytes(20), 3)
    assert (
        messages.ApiVersionsResponse.decode(start + b"\1\1\x08" + bytes(8), 3).finalized_features_epoch == 0
    )
