"""From frame to route: what is not served, what fails, and who pays for it."""

import logging

import pytest

from barnabas.base.errors import DecodeError, ErrorCode, ProtocolError
from barnabas.base.region import FileSlice
from barnabas.handlers.request import RequestContext
from barnabas.handlers.routes import ROUTES
from barnabas.handlers.served_version import ServedVersion
from barnabas.protocol import frames, messages
from barnabas.protocol.api_keys import ApiKey
from tests.unit.net.doubles import leased


def _header(key: int, version: int) -> bytes:
    return frames.encode_request_header(key, version, 7, "test")


def test_p5_an_unknown_api_versions_version_is_answered_in_version_0(peer):
    frame = memoryview(bytearray(_header(ApiKey.API_VERSIONS, 99) + b"whatever"))
    peer.dispatcher.request_received(peer.connection, frame)
    response = peer.decode("ApiVersions", 0)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert {api.api_key for api in response.api_keys} == set(ROUTES)


@pytest.mark.parametrize("key", [ApiKey.SHARE_FETCH, ApiKey.BROKER_HEARTBEAT])
def test_p5_an_api_that_is_not_served_closes_the_connection(peer, key):
    with pytest.raises(ProtocolError, match="not served"):
        peer.dispatcher.request_received(peer.connection, memoryview(bytearray(_header(key, 0))))


@pytest.mark.parametrize(("key", "version"), [(ApiKey.FETCH, 3), (ApiKey.FETCH, 19), (ApiKey.PRODUCE, 2)])
def test_p5_a_version_that_is_not_served_closes_the_connection(peer, key, version):
    with pytest.raises(ProtocolError, match=rf"v{version} is not served"):
        peer.dispatcher.request_received(peer.connection, memoryview(bytearray(_header(key, version))))


def test_a_body_that_ends_early_is_a_decode_error(peer):
    whole = bytes(peer.frame(messages.ListOffsetsRequest(replica_id=-1), 5))
    for length in range(len(whole) - 1):
        with pytest.raises(DecodeError):
            peer.dispatcher.request_received(peer.connection, memoryview(bytearray(whole[:length])))
    assert peer.connection.sent == []


def test_a_fault_of_ours_is_logged_and_answered(peer, services, caplog):
    def broken() -> int:
        raise RuntimeError("broken on purpose")

    services.producer_ids = type("Broken", (), {"next_id": staticmethod(broken)})()
    with caplog.at_level(logging.ERROR):
        response = peer.send(messages.InitProducerIdRequest(transactional_id=None), 4)
    assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert "broken on purpose" in caplog.text
    assert "InitProducerId v4 correlation 7 client 'test'" in caplog.text


def test_an_answer_that_cannot_be_encoded_costs_only_its_connection(peer, services, caplog):
    services.cluster_id = 5
    with caplog.at_level(logging.ERROR):
        assert peer.send(messages.DescribeClusterRequest(), 0) is None
    assert peer.connection.closed == "the answer could not be encoded"


def test_an_answer_that_cannot_be_encoded_gives_its_slices_back(peer, services):
    _, file = leased(b"records")
    data = messages.FetchResponsePartitionData(records=FileSlice(file, 0, 7), high_watermark="none")
    topic = messages.FetchResponseFetchableTopicResponse(topic="t", partitions=[data])
    header = frames.decode_request_header(memoryview(_header(ApiKey.FETCH, 12)))
    context = RequestContext(services, peer.connection, ServedVersion(ROUTES[ApiKey.FETCH], 12), header, 0)
    context.respond(messages.FetchResponse(responses=[topic]))
    assert peer.connection.closed == "the answer could not be encoded"
    assert file.holders == 1


def test_a_closed_connection_drops_what_it_waits_for(peer, replicas):
    peer.dispatcher.connection_closed(peer.connection)
    assert replicas.calls == [("connection_gone", peer.connection)]


class TestParkedFetch:
    """F33: what arrives behind a parked fetch."""

    def _waiting(self, peer, request, version):
        peer.dispatcher.request_waiting(peer.connection, peer.frame(request, version))

    def test_f33_another_request_completes_it(self, peer, replicas):
        self._waiting(peer, messages.MetadataRequest(), 9)
        assert replicas.calls == [("complete_parked_fetches", peer.connection)]

    def test_f33_a_following_fetch_leaves_it_alone(self, peer, replicas):
        self._waiting(peer, messages.FetchRequest(session_id=0, session_epoch=-1), 12)
        assert replicas.calls == []

    def test_f33_a_fetch_that_closes_the_session_completes_it(self, peer, replicas):
        self._waiting(peer, messages.FetchRequest(session_id=8, session_epoch=-1), 12)
        assert replicas.calls == [("complete_parked_fetches", peer.connection)]

    def test_f33_mute_waits_as_kafka_does(self, services, replicas):
        from tests.unit.handlers.conftest import Peer

        peer = Peer(services, complete_parked_fetches=False)
        self._waiting(peer, messages.MetadataRequest(), 9)
        assert replicas.calls == []


def test_every_route_answers_a_failure_in_every_version(services):
    """An error must always be answerable: each error_response encodes in each served version."""
    from barnabas.base.errors import ApiError

    for route in ROUTES.values():
        for version in route.versions:
            request = route.spec.request()
            response = route.error_response(
                request, ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "words"), version
            )
            if response is None:
                assert route.spec.key == 0, "only a Produce with acks=0 goes without an answer"
                continue
            route.spec.response.decode(response.encode(version), version)
