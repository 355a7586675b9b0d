"""InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn and WriteTxnMarkers, version by version.

Over real coordinators and logs in memory; what is told to clients of each age, as Apache Kafka tells it.
"""

from typing import Any

import pytest

from barnabas.handlers.services import Services
from barnabas.protocol import messages as m
from tests.unit.handlers.administered import administered
from tests.unit.handlers.conftest import Peer
from tests.unit.handlers.test_transactional_requests import GROUP, ID, Producer, T, end_offset, stable_offset

OFFSETS = "__consumer_offsets"
INVALID_PRODUCER_EPOCH = 47
INVALID_TXN_STATE = 48
INVALID_PRODUCER_ID_MAPPING = 49
PRODUCER_FENCED = 90


@pytest.fixture
def services() -> Services:
    return administered()


@pytest.fixture
def peer(services: Services) -> Peer:
    made = Peer(services)
    topic = m.CreateTopicsRequestCreatableTopic(name=T, num_partitions=3, replication_factor=1)
    made.send(m.CreateTopicsRequest(topics=[topic]), 7)
    found = made.send(m.FindCoordinatorRequest(key_type=1, coordinator_keys=[ID]), 4)
    assert found.coordinators[0].error_code == 0
    return made


@pytest.fixture
def producer(peer: Peer) -> Producer:
    made = Producer(peer)
    made.begin()
    return made


def topics(*partitions: int, name: str = T) -> list[Any]:
    return [m.AddPartitionsToTxnRequestAddPartitionsToTxnTopic(name=name, partitions=list(partitions))]


def add(
    peer: Peer, version: int, who: Producer, asked: list[Any], epoch: int | None = None
) -> dict[int, int]:
    """Add by a version up to 3; partition -> code."""
    request = m.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=who.transactional_id,
        v3_and_below_producer_id=who.id,
        v3_and_below_producer_epoch=who.epoch if epoch is None else epoch,
        v3_and_below_topics=asked,
    )
    (result,) = peer.send(request, version).results_by_topic_v3_and_below
    return {one.partition_index: one.partition_error_code for one in result.results_by_partition}


def batch(peer: Peer, version: int, *asked: tuple[Producer, list[Any], bool]) -> dict[str, dict[int, int]]:
    """Add or verify by a version from 4 on; transactional id -> partition -> code."""
    request = m.AddPartitionsToTxnRequest(
        transactions=[
            m.AddPartitionsToTxnRequestAddPartitionsToTxnTransaction(
                transactional_id=who.transactional_id,
                producer_id=who.id,
                producer_epoch=who.epoch,
                verify_only=verify,
                topics=some,
            )
            for who, some, verify in asked
        ]
    )
    answer = peer.send(request, version)
    assert answer.error_code == 0
    return {
        one.transactional_id: {
            part.partition_index: part.partition_error_code
            for topic in one.topic_results
            for part in topic.results_by_partition
        }
        for one in answer.results_by_transaction
    }


def mark(peer: Peer, who: Producer, *partitions: int, topic: str = T, **marker: Any) -> list[int]:
    """Write markers; the codes."""
    fields = {
        "producer_id": who.id,
        "producer_epoch": who.epoch,
        "transaction_result": False,
        "coordinator_epoch": 0,
        "transaction_version": 0,
        **marker,
    }
    asked = m.WriteTxnMarkersRequestWritableTxnMarkerTopic(name=topic, partition_indexes=list(partitions))
    request = m.WriteTxnMarkersRequest(
        markers=[m.WriteTxnMarkersRequestWritableTxnMarker(topics=[asked], **fields)]
    )
    (answer,) = peer.send(request, 2).markers
    assert answer.producer_id == who.id
    return [one.error_code for one in answer.topics[0].partitions]


# AddPartitionsToTxn


@pytest.mark.parametrize("version", range(4))
def test_clients_know_a_fenced_producer_by_the_name_of_their_age(
    peer: Peer, producer: Producer, version: int
) -> None:
    code = PRODUCER_FENCED if version >= 2 else INVALID_PRODUCER_EPOCH
    assert add(peer, version, producer, topics(0), epoch=7) == {0: code}
    ended = m.EndTxnRequest(transactional_id=ID, producer_id=producer.id, producer_epoch=7)
    assert peer.send(ended, version).error_code == code
    added = m.AddOffsetsToTxnRequest(
        transactional_id=ID, producer_id=producer.id, producer_epoch=7, group_id=GROUP
    )
    assert peer.send(added, version).error_code == code


@pytest.mark.parametrize("version", range(3, 6))
def test_init_producer_id_names_it_from_version_4_on(peer: Peer, producer: Producer, version: int) -> None:
    request = m.InitProducerIdRequest(
        transactional_id=ID, transaction_timeout_ms=60_000, producer_id=producer.id, producer_epoch=7
    )
    answer = peer.send(request, version)
    code = PRODUCER_FENCED if version >= 4 else INVALID_PRODUCER_EPOCH
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (code, -1, -1)


@pytest.mark.parametrize("version", range(4))
def test_all_that_a_request_names_is_added_or_nothing(peer: Peer, producer: Producer, version: int) -> None:
    assert add(peer, version, producer, topics(0, 9)) == {0: 55, 9: 3}
    assert add(peer, version, producer, topics(0, name=OFFSETS)) == {0: 29}
    assert producer.end(commit=True, version=version) == INVALID_TXN_STATE, "nothing was begun"
    assert add(peer, version, producer, topics(0, 1)) == {0: 0, 1: 0}
    assert producer.end(commit=True, version=version) == 0


def test_several_transactions_are_added_to_and_verified_by_one_request(
    peer: Peer, producer: Producer
) -> None:
    other = Producer(peer, "other")
    other.begin()
    unknown = Producer(peer, "unknown")
    assert batch(peer, 5, (producer, topics(0), False), (other, topics(1), False)) == {
        ID: {0: 0},
        "other": {1: 0},
    }
    found = batch(
        peer,
        4,
        (producer, topics(0, 1), True),
        (other, topics(1, 9), True),
        (unknown, topics(0), True),
    )
    assert found == {
        ID: {0: 0, 1: 120},
        "other": {1: 55, 9: 3},
        "unknown": {0: INVALID_PRODUCER_ID_MAPPING},
    }
    assert batch(peer, 5) == {}


# EndTxn


@pytest.mark.parametrize("version", range(6))
def test_the_end_tells_since_version_5_as_whom_to_go_on(peer: Peer, producer: Producer, version: int) -> None:
    add(peer, 3, producer, topics(0))
    request = m.EndTxnRequest(
        transactional_id=ID, producer_id=producer.id, producer_epoch=producer.epoch, committed=True
    )
    answer = peer.send(request, version)
    told = (answer.error_code, answer.producer_id, answer.producer_epoch)
    assert told == ((0, producer.id, producer.epoch + 1) if version == 5 else (0, -1, -1))


# WriteTxnMarkers


def test_a_marker_ends_a_hanging_transaction(peer: Peer, services: Services, producer: Producer) -> None:
    assert producer.produce(12, 0) == [0]
    assert stable_offset(services) == 0
    assert mark(peer, producer, 0, 9) == [0, 3]
    assert stable_offset(services) == end_offset(services) == 2


def test_a_marker_of_kip_890_that_does_not_raise_the_epoch_comes_late(
    peer: Peer, services: Services, producer: Producer
) -> None:
    assert producer.produce(12, 0) == [0]
    assert mark(peer, producer, 0, 1, transaction_version=2) == [INVALID_PRODUCER_EPOCH, 0]
    assert stable_offset(services) == 0
    assert mark(peer, producer, 0, producer_epoch=producer.epoch + 1, transaction_version=2) == [0]
    assert stable_offset(services) == 2


def test_markers_of_a_fenced_producer_or_coordinator_are_refused(peer: Peer, producer: Producer) -> None:
    assert mark(peer, producer, 0, producer_epoch=5, coordinator_epoch=3) == [0]
    assert mark(peer, producer, 0, producer_epoch=4, coordinator_epoch=3) == [INVALID_PRODUCER_EPOCH]
    assert mark(peer, producer, 0, producer_epoch=5, coordinator_epoch=2) == [52]


def test_who_sends_markers_knows_leaders_and_no_coordinators(
    peer: Peer, services: Services, producer: Producer
) -> None:
    assert mark(peer, producer, 0, topic=OFFSETS) == [3], "there is no such partition yet"
    peer.send(m.FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP]), 4)
    assert mark(peer, producer, 0, topic=OFFSETS) == [0]
    services.groups.stop()
    assert mark(peer, producer, 0, topic=OFFSETS) == [6]


def test_no_markers_are_answered_as_none(peer: Peer) -> None:
    assert peer.send(m.WriteTxnMarkersRequest(markers=[]), 2).markers == []
