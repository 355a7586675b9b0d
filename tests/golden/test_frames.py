"""Frames captured from Apache Kafka 4.4 and its clients: decoded whole, encoded again, equal.

One test checks all frames of an API, not one alone: there are twelve hundred.
"""

import pytest

from barnabas.protocol import messages
from barnabas.protocol.frames import (
    decode_request_header,
    decode_response_header,
    encode_request_header,
    response_prefix,
)
from tests.golden.exchanges import Exchange, load, noted

EXCHANGES = load()


APIS = sorted({exchange.api for exchange in EXCHANGES})


def of_api(api: str) -> list[Exchange]:
    return [exchange for exchange in EXCHANGES if exchange.api == api]


@pytest.mark.parametrize("api", APIS)
def test_requests(api: str) -> None:
    for exchange in of_api(api):
        with noted(exchange.name):
            check_request(exchange)


@pytest.mark.parametrize("api", APIS)
def test_responses(api: str) -> None:
    for exchange in of_api(api):
        with noted(exchange.name):
            check_response(exchange)


def check_request(exchange: Exchange) -> None:
    frame = memoryview(exchange.request)
    header = decode_request_header(frame)
    assert (header.api_key, header.api_version) == (exchange.key, exchange.version)
    spec = messages.BY_KEY[exchange.key]
    request, end = spec.request.decode_from(frame, exchange.version, header.body_offset)
    assert end == len(frame), f"{len(frame) - end} bytes left behind {request!r}"
    assert request.encode(exchange.version) == bytes(frame[header.body_offset :])
    again = encode_request_header(header.api_key, header.api_version, header.correlation_id, header.client_id)
    assert again == bytes(frame[: header.body_offset])


def check_response(exchange: Exchange) -> None:
    frame = memoryview(exchange.response)
    # A broker answers an ApiVersions request that it does not understand in version 0 (KIP-511).
    correlation_id, body = decode_response_header(frame, exchange.key, exchange.version)
    spec = messages.BY_KEY[exchange.key]
    response, end = spec.response.decode_from(frame, exchange.version, body)
    assert end == len(frame), f"{len(frame) - end} bytes left behind {response!r}"
    assert response.encode(exchange.version) == bytes(frame[body:])
    assert response_prefix(exchange.key, exchange.version, correlation_id) == bytes(frame[:body])


def test_every_version_of_the_first_apis_is_there() -> None:
    scripted = {(exchange.key, exchange.version) for exchange in EXCHANGES if exchange.client == "script"}
    for key in {key for key, _ in scripted}:
        spec = messages.BY_KEY[key]
        versions = spec.valid_versions[:-1] if spec.latest_unstable else spec.valid_versions
        assert {version for k, version in scripted if k == key} == set(versions), spec.name


@pytest.mark.parametrize("client", ["java", "librdkafka", "kafka-python"])
def test_f3_clients_ask_with_the_defaults_our_tests_use(client: str) -> None:
    fetches = [one for one in EXCHANGES if one.client == client and one.key == messages.FetchRequest.api_key]
    assert fetches
    for exchange in fetches:
        header = decode_request_header(exchange.request)
        request = messages.FetchRequest.decode(exchange.request, exchange.version, header.body_offset)
        assert (request.max_wait_ms, request.min_bytes, request.max_bytes) == (500, 1, 50 << 20)
        assert {p.partition_max_bytes for topic in request.topics for p in topic.partitions} <= {1 << 20}
