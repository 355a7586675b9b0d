"""Fetches that share a read share their answer's bytes, too: the same as if each had been encoded (F24)."""

from typing import Any

import pytest

from barnabas.handlers.request_log import RequestLog
from barnabas.protocol import messages
from barnabas.protocol.fetch_codec import PLAIN_RESPONSE_VERSIONS
from barnabas.storage.producer_state.states import AppendOrigin
from tests.storage_setup import marker
from tests.unit.handlers.conftest import TOPIC_ID, FakeConnection, Peer, services_with
from tests.unit.replica.broker_setup import Broker, batch

NOW_MS = 1_700_000_000_000
WAITING = 4


class Listener:
    """Stands for a listener's traffic: connections of one share their bytes."""


class CopyingConnection(FakeConnection):
    """Counts how often bytes are made that others get, too."""

    def __init__(self, traffic: Listener, *, copies_slices: bool = True) -> None:
        super().__init__()
        self.traffic = traffic
        self.copies = 0
        self.copies_slices = copies_slices

    def copied(self, parts: list[Any]) -> bytes | None:
        if not self.copies_slices:
            return None
        self.copies += 1
        return b"".join(part if isinstance(part, bytes) else part.read() for part in parts)

    @property
    def answers(self) -> list[bytes]:
        """All that was sent, whole; slices are released."""
        whole = []
        for parts in self.sent:
            whole.append(b"".join(part if isinstance(part, bytes) else part.read() for part in parts))
            for part in parts:
                if not isinstance(part, bytes):
                    part.release()
        return whole


def fetch(
    version: int,
    *,
    max_wait_ms: int = 500,
    session: tuple[int, int] = (0, -1),
    isolation_level: int = 0,
) -> Any:
    asked = messages.FetchRequestFetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    topic = messages.FetchRequestFetchTopic(partitions=[asked])
    if version >= 13:
        topic.topic_id = TOPIC_ID
    else:
        topic.topic = "events"
    return messages.FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=1 << 20,
        isolation_level=isolation_level,
        session_id=session[0],
        session_epoch=session[1],
        topics=[topic],
    )


class Waiting:
    """Clients that wait for the same, each on a connection of its own."""

    def __init__(self, connections: list[CopyingConnection]) -> None:
        self.broker = Broker(2)
        self.services = services_with(self.broker.manager)
        self.peers = []
        for connection in connections:
            peer = Peer(self.services)
            peer.connection = connection
            if self.peers:
                peer.dispatcher = self.peers[0].dispatcher
            self.peers.append(peer)

    def ask(self, *requests: Any, version: int) -> None:
        for peer, request in zip(self.peers, requests, strict=True):
            assert peer.send(request, version) is None

    def answer_alone(self, version: int, isolation_level: int = 0) -> bytes:
        """What a client gets that does not wait."""
        peer = Peer(self.services)
        peer.connection = CopyingConnection(Listener())
        peer.send(fetch(version, max_wait_ms=0, isolation_level=isolation_level), version)
        return peer.connection.answers[-1]


@pytest.mark.parametrize("version", range(4, 19))
def test_f24_shared_bytes_are_those_of_an_answer_of_ones_own(version: int) -> None:
    listener = Listener()
    connections = [CopyingConnection(listener) for _ in range(WAITING)]
    waiting = Waiting(connections)
    waiting.ask(*[fetch(version) for _ in connections], version=version)
    holders = waiting.broker.partition().log.segments.active.leased.holders
    waiting.broker.append()
    alone = waiting.answer_alone(version)
    assert [connection.answers for connection in connections] == [[alone]] * WAITING
    assert sum(connection.copies for connection in connections) == (version in PLAIN_RESPONSE_VERSIONS)
    assert waiting.broker.partition().log.segments.active.leased.holders == holders


def test_f24_and_f41_bytes_are_not_shared_between_listeners_or_versions() -> None:
    one, other = Listener(), Listener()
    connections = [CopyingConnection(listener) for listener in (one, one, one, other)]
    waiting = Waiting(connections)
    for peer, version in zip(waiting.peers, (17, 17, 18, 18), strict=True):
        assert peer.send(fetch(version), version) is None
    waiting.broker.append()
    assert [connection.copies for connection in connections] == [0, 1, 1, 1]
    expected = [waiting.answer_alone(version) for version in (17, 17, 18, 18)]
    assert [connection.answers for connection in connections] == [[answer] for answer in expected]


def test_f41_a_listener_that_sends_from_the_file_does_so_for_each() -> None:
    listener = Listener()
    connections = [CopyingConnection(listener, copies_slices=False) for _ in range(WAITING)]
    waiting = Waiting(connections)
    waiting.ask(*[fetch(17) for _ in connections], version=17)
    holders = waiting.broker.partition().log.segments.active.leased.holders
    waiting.broker.append()
    assert waiting.broker.partition().log.segments.active.leased.holders == holders + WAITING
    alone = waiting.answer_alone(17)
    assert [connection.answers for connection in connections] == [[alone]] * WAITING


@pytest.mark.parametrize("version", [11, 17])
def test_f37_sessions_share_all_but_their_id(version: int) -> None:
    listener = Listener()
    connections = [CopyingConnection(listener) for _ in range(WAITING)]
    waiting = Waiting(connections)
    ids = []
    for peer in waiting.peers:
        opened = peer.send(fetch(version, max_wait_ms=0, session=(0, 0)), version)
        ids.append(opened.session_id)
    assert len(set(ids) - {0}) == WAITING
    for peer, session_id in zip(waiting.peers, ids, strict=True):
        peer.connection.sent.clear()
        assert peer.send(fetch(version, session=(session_id, 1)), version) is None
    holders = waiting.broker.partition().log.segments.active.leased.holders
    waiting.broker.append()
    assert sum(connection.copies for connection in connections) == 1
    alone = waiting.answer_alone(version)
    for peer, session_id in zip(waiting.peers, ids, strict=True):
        response = peer.decode("Fetch", version)
        assert response.session_id == session_id
        (answer,) = peer.connection.answers
        assert answer.replace(session_id.to_bytes(4, "big"), bytes(4), 1) == alone
    assert waiting.broker.partition().log.segments.active.leased.holders == holders


def test_f17_an_answer_with_aborted_transactions_is_made_for_each() -> None:
    listener = Listener()
    connections = [CopyingConnection(listener) for _ in range(WAITING)]
    waiting = Waiting(connections)
    waiting.ask(*[fetch(17, isolation_level=1) for _ in connections], version=17)
    partition = waiting.broker.partition()
    transactional = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "is_transactional": True}
    partition.append_as_leader(batch(**transactional), acks=1, now_ms=NOW_MS)
    aborted = marker(7, commit=False)
    partition.append_as_leader(aborted, acks=1, now_ms=NOW_MS, origin=AppendOrigin.COORDINATOR)
    waiting.broker.manager.bounds_moved(partition)
    waiting.broker.settle()
    response = waiting.peers[-1].decode("Fetch", 17)
    assert response.responses[0].partitions[0].aborted_transactions
    alone = waiting.answer_alone(17, isolation_level=1)
    assert [connection.answers for connection in connections] == [[alone]] * WAITING


def test_f46_with_the_request_log_on_each_answer_is_made_as_a_message() -> None:
    listener = Listener()
    connections = [CopyingConnection(listener) for _ in range(2)]
    waiting = Waiting(connections)
    assert isinstance(waiting.services.request_log, RequestLog)
    waiting.services.request_log.on = True
    waiting.ask(*[fetch(17) for _ in connections], version=17)
    waiting.broker.append()
    waiting.services.request_log.on = False
    assert [connection.copies for connection in connections] == [0, 0]
    alone = waiting.answer_alone(17)
    assert [connection.answers for connection in connections] == [[alone]] * 2
