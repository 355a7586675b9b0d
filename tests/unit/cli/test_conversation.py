"""The client's sans-IO half: numbering, versions, answers."""

from typing import Any

import pytest

from barnabas.cli.client.connection import Conversation
from barnabas.cli.client.errors import NotKafkaError, UnsupportedByBrokerError
from barnabas.protocol import messages
from barnabas.protocol.frames import decode_request_header, response_prefix

METADATA, PRODUCE, API_VERSIONS = 3, 0, 18


def api_versions(error_code: int = 0, **ranges: tuple[int, int]) -> Any:
    return messages.ApiVersionsResponse(
        error_code=error_code,
        api_keys=[
            messages.ApiVersionsResponseApiVersion(api_key=int(key[1:]), min_version=low, max_version=high)
            for key, (low, high) in ranges.items()
        ],
    )


def frame_of(parts: list[bytes]) -> memoryview:
    whole = b"".join(parts)
    assert int.from_bytes(whole[:4], "big") == len(whole) - 4
    return memoryview(whole)[4:]


def answer(key: int, version: int, correlation_id: int, response: Any) -> memoryview:
    return memoryview(response_prefix(key, version, correlation_id) + response.encode(version))


def negotiated(**ranges: tuple[int, int]) -> Conversation:
    conversation = Conversation("me", "1.2")
    header = decode_request_header(frame_of(conversation.handshake_frame()))
    response = conversation.response(
        answer(API_VERSIONS, header.api_version, header.correlation_id, api_versions(**ranges))
    )
    assert conversation.handshake_answered(response) is None
    return conversation


def test_the_newest_common_version_is_used() -> None:
    conversation = negotiated(k3=(0, 9), k1=(0, 99))
    assert conversation.version_of(METADATA) == 9
    assert conversation.version_of(1) == messages.BY_KEY[1].valid_versions[-1]
    header = decode_request_header(frame_of(conversation.request_frame(METADATA, messages.MetadataRequest())))
    assert (header.api_key, header.api_version, header.client_id) == (METADATA, 9, "me")


def test_no_common_version_is_told() -> None:
    conversation = negotiated(k3=(99, 100))
    with pytest.raises(UnsupportedByBrokerError, match=r"Metadata: the broker speaks versions 99-100"):
        conversation.version_of(METADATA)
    with pytest.raises(UnsupportedByBrokerError, match="does not offer Produce"):
        conversation.version_of(PRODUCE)


def test_an_old_broker_is_asked_again_in_its_version() -> None:
    conversation = Conversation("me", "1.2")
    header = decode_request_header(frame_of(conversation.handshake_frame()))
    refusal = response_prefix(API_VERSIONS, 0, header.correlation_id) + api_versions(35, k18=(0, 2)).encode(0)
    lower = conversation.handshake_answered(conversation.response(memoryview(refusal)))
    assert lower == 2
    assert decode_request_header(frame_of(conversation.handshake_frame(lower))).api_version == 2


def test_answers_must_come_in_order() -> None:
    conversation = negotiated(k3=(0, 9))
    conversation.request_frame(METADATA, messages.MetadataRequest())
    with pytest.raises(NotKafkaError, match="answer 77"):
        conversation.response(answer(METADATA, 9, 77, messages.MetadataResponse()))


def test_truncated_answers_are_one_clear_error() -> None:
    conversation = negotiated(k3=(0, 9))
    header = decode_request_header(frame_of(conversation.request_frame(METADATA, messages.MetadataRequest())))
    whole = answer(METADATA, 9, header.correlation_id, messages.MetadataResponse(cluster_id="abc"))
    with pytest.raises(NotKafkaError, match="malformed answer"):
        conversation.response(whole[:-3])


def test_acks_0_awaits_nothing() -> None:
    conversation = negotiated(k0=(0, 9))
    conversation.request_frame(PRODUCE, messages.ProduceRequest(acks=0))
    assert conversation.in_flight == 0
    conversation.request_frame(PRODUCE, messages.ProduceRequest(acks=1))
    assert conversation.in_flight == 1
