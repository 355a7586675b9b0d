"""Produce and TxnOffsetCommit within transactions, over real coordinators and logs in memory.

What Apache Kafka answers is compared in tests/golden/test_transactions.py.
"""

import json
from typing import Any

import pytest

from barnabas.base.dataclass import replace
from barnabas.base.errors import ErrorCode
from barnabas.handlers.explain_fetch import ExplainedBroker, explain
from barnabas.handlers.explain_transactions import holder_among
from barnabas.handlers.fetch_question import FetchQuestion
from barnabas.handlers.services import Services
from barnabas.handlers.transaction_statistics import transaction_statistics
from barnabas.protocol import messages as m
from barnabas.replica.produce import OFFSETS_TOPIC
from tests.unit.handlers.administered import administered
from tests.unit.handlers.conftest import Peer
from tests.unit.replica.broker_setup import batch

T = "alpha"
ID = "t"
GROUP = "g"
LATEST_PRODUCE = 12
OLD_PRODUCE = 9


class Producer:
    """One transactional producer, who tells what it is told to."""

    def __init__(self, peer: Peer, transactional_id: str = ID) -> None:
        self.peer = peer
        self.transactional_id = transactional_id
        self.id, self.epoch, self.sequences = -1, -1, {}

    def begin(self) -> None:
        """Get an id and epoch."""
        answer = self.peer.send(
            m.InitProducerIdRequest(transactional_id=self.transactional_id, transaction_timeout_ms=60_000), 5
        )
        assert answer.error_code == 0, answer
        self.id, self.epoch, self.sequences = answer.producer_id, answer.producer_epoch, {}

    def batch(self, sequence: int = 0, **options: Any) -> bytes:
        """Return one record."""
        return batch(
            **{
                "producer_id": self.id,
                "producer_epoch": self.epoch,
                "base_sequence": sequence,
                "is_transactional": True,
                **options,
            }
        )

    def produce(self, version: int, *partitions: int, sequence: int = 0, acks: int = -1) -> list[int]:
        """Return each partition's error."""
        answer = self.send(version, [(number, self.batch(sequence)) for number in partitions], acks=acks)
        return [one.error_code for one in answer.responses[0].partition_responses]

    def send(self, version: int, batches: list[tuple[int, bytes]], topic: str = T, acks: int = -1) -> Any:
        """Produce to partitions."""
        data = [m.ProduceRequestPartitionProduceData(index=n, records=r) for n, r in batches]
        asked = m.ProduceRequestTopicProduceData(name=topic, partition_data=data)
        request = m.ProduceRequest(
            transactional_id=self.transactional_id, acks=acks, timeout_ms=1000, topic_data=[asked]
        )
        return self.peer.send(request, version)

    def add(self, *partitions: int) -> list[int]:
        """Send AddPartitionsToTxn as clients before KIP-890 do."""
        answer = self.peer.send(
            m.AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=self.transactional_id,
                v3_and_below_producer_id=self.id,
                v3_and_below_producer_epoch=self.epoch,
                v3_and_below_topics=[
                    m.AddPartitionsToTxnRequestAddPartitionsToTxnTopic(name=T, partitions=list(partitions))
                ],
            ),
            3,
        )
        results = answer.results_by_topic_v3_and_below[0].results_by_partition
        return [one.partition_error_code for one in results]

    def end(self, *, commit: bool, version: int = 5) -> int:
        """Commit or abort."""
        answer = self.peer.send(
            m.EndTxnRequest(
                transactional_id=self.transactional_id,
                producer_id=self.id,
                producer_epoch=self.epoch,
                committed=commit,
            ),
            version,
        )
        if version >= 5 and answer.error_code == 0:
            self.id, self.epoch = answer.producer_id, answer.producer_epoch
        return int(answer.error_code)

    def commit_offset(
        self, version: int, offset: int, *, topic: str = T, topic_id: bytes = bytes(16), **options: Any
    ) -> Any:
        """Return the answer's only topic."""
        partitions = [
            m.TxnOffsetCommitRequestTxnOffsetCommitRequestPartition(
                partition_index=number, committed_offset=offset, committed_metadata=""
            )
            for number in options.pop("partitions", [0])
        ]
        request = m.TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=options.pop("group_id", GROUP),
            producer_id=self.id,
            producer_epoch=self.epoch,
            topics=[
                m.TxnOffsetCommitRequestTxnOffsetCommitRequestTopic(
                    name=topic, topic_id=topic_id, partitions=partitions
                )
            ],
            **options,
        )
        return self.peer.send(request, version).topics[0]


@pytest.fixture
def services() -> Services:
    return administered()


@pytest.fixture
def peer(services: Services) -> Peer:
    made = Peer(services)
    topic = m.CreateTopicsRequestCreatableTopic(name=T, num_partitions=3, replication_factor=1)
    assert made.send(m.CreateTopicsRequest(topics=[topic]), 7).topics[0].error_code == 0
    for key_type, key in ((0, GROUP), (1, ID)):
        found = made.send(m.FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key]), 4)
        assert found.coordinators[0].error_code == 0
    return made


@pytest.fixture
def producer(peer: Peer) -> Producer:
    made = Producer(peer)
    made.begin()
    return made


def end_offset(services: Services, partition: int = 0) -> int:
    return services.replicas.partitions.get(T, partition).log.log_end_offset


def stable_offset(services: Services, partition: int = 0) -> int:
    return services.replicas.partitions.get(T, partition).last_stable_offset_metadata().message_offset


def fetched(peer: Peer, *, require_stable: bool) -> tuple[int, int]:
    """Return offset and error of the group's partition 0."""
    topics = [m.OffsetFetchRequestOffsetFetchRequestTopics(name=T, partition_indexes=[0])]
    group = m.OffsetFetchRequestOffsetFetchRequestGroup(group_id=GROUP, topics=topics)
    answer = peer.send(m.OffsetFetchRequest(groups=[group], require_stable=require_stable), 9)
    one = answer.groups[0].topics[0].partitions[0]
    return one.committed_offset, one.error_code


# Produce


def test_kip_890_produce_makes_a_partition_a_part_of_the_transaction(producer, services):
    assert producer.produce(LATEST_PRODUCE, 0, 1) == [0, 0]
    assert stable_offset(services) == 0
    assert producer.end(commit=True) == 0
    assert stable_offset(services) == stable_offset(services, 1) == 2


def test_kip_890_the_next_transaction_goes_on_with_the_next_epoch(producer, services):
    producer.produce(LATEST_PRODUCE, 0)
    producer.end(commit=False)
    assert producer.epoch == 1
    assert producer.produce(LATEST_PRODUCE, 0, sequence=1) == [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
    assert producer.produce(LATEST_PRODUCE, 0) == [0]


def test_older_clients_add_partitions_themselves(producer, services):
    assert producer.add(0) == [0]
    assert producer.produce(OLD_PRODUCE, 0, 1) == [0, ErrorCode.INVALID_TXN_STATE]
    assert (end_offset(services), end_offset(services, 1)) == (1, 0)
    assert producer.end(commit=True, version=3) == 0
    assert stable_offset(services) == 2


def test_what_was_not_added_is_told_in_a_code_that_the_version_knows(producer):
    assert producer.produce(11, 0) == [ErrorCode.TRANSACTION_ABORTABLE]
    assert producer.produce(10, 0) == [ErrorCode.INVALID_TXN_STATE]


def test_what_is_refused_does_not_hold_up_the_rest(producer, services):
    producer.add(0)
    plain = batch(producer_id=-1)
    answer = producer.send(OLD_PRODUCE, [(1, producer.batch()), (2, plain), (0, producer.batch())])
    results = answer.responses[0].partition_responses
    assert [(one.index, one.error_code, one.base_offset) for one in results] == [
        (1, ErrorCode.INVALID_TXN_STATE, -1),
        (2, 0, 0),
        (0, 0, 0),
    ]


def test_without_verification_older_clients_are_believed(producer, services):
    services.settings = replace(services.settings, transaction_partition_verification_enable=False)
    assert producer.produce(OLD_PRODUCE, 0) == [0]


def test_a_fenced_producer_writes_nothing(peer, producer, services):
    other = Producer(peer)
    other.begin()
    for version in (OLD_PRODUCE, LATEST_PRODUCE):
        assert producer.produce(version, 0) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert end_offset(services) == 0


def test_a_fenced_producer_cannot_go_on_in_an_open_transaction(peer, producer, services):
    producer.produce(LATEST_PRODUCE, 0)
    other = Producer(peer)
    answer = peer.send(m.InitProducerIdRequest(transactional_id=ID, transaction_timeout_ms=60_000), 5)
    assert answer.error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    other.begin()
    assert producer.produce(LATEST_PRODUCE, 0, sequence=1) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert stable_offset(services) == end_offset(services) == 2


def test_a_batch_that_comes_after_the_end_begins_no_transaction(producer, services):
    producer.add(0)
    assert producer.produce(OLD_PRODUCE, 0) == [0]
    assert producer.end(commit=True, version=3) == 0
    assert producer.produce(OLD_PRODUCE, 0, sequence=1) == [ErrorCode.INVALID_TXN_STATE]
    assert stable_offset(services) == end_offset(services)


def test_an_unknown_transactional_id_writes_nothing(peer, producer, services):
    producer.transactional_id = "other"
    for version in (OLD_PRODUCE, LATEST_PRODUCE):
        assert producer.produce(version, 0) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING]
    assert end_offset(services) == 0


def test_a_coordinator_that_is_away_is_asked_again(producer, services):
    services.transactions.stop()
    for version in (OLD_PRODUCE, LATEST_PRODUCE):
        assert producer.produce(version, 0) == [ErrorCode.NOT_ENOUGH_REPLICAS]
    assert end_offset(services) == 0


def test_two_producers_in_one_request_are_refused(producer, services):
    stranger = batch(producer_id=producer.id + 1, producer_epoch=0, base_sequence=0, is_transactional=True)
    answer = producer.send(LATEST_PRODUCE, [(0, producer.batch()), (1, stranger)])
    codes = [one.error_code for one in answer.responses[0].partition_responses]
    assert codes == [ErrorCode.INVALID_PRODUCER_ID_MAPPING] * 2
    assert end_offset(services) == 0


def test_internal_topics_do_not_become_a_part_of_a_transaction(producer, services):
    answer = producer.send(LATEST_PRODUCE, [(0, producer.batch())], topic=OFFSETS_TOPIC)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert producer.end(commit=True) == ErrorCode.INVALID_TXN_STATE


def test_p1_acks_0_hangs_up_when_records_are_no_part_of_the_transaction(peer, producer):
    data = [m.ProduceRequestPartitionProduceData(index=0, records=producer.batch())]
    asked = m.ProduceRequestTopicProduceData(name=T, partition_data=data)
    request = m.ProduceRequest(transactional_id=ID, acks=0, timeout_ms=1000, topic_data=[asked])
    assert peer.send(request, OLD_PRODUCE) is None
    assert "alpha-0 INVALID_TXN_STATE" in peer.connection.closed


# TxnOffsetCommit


def test_offsets_count_when_the_transaction_is_committed(peer, producer):
    assert producer.commit_offset(5, 7).partitions[0].error_code == 0
    assert fetched(peer, require_stable=False) == (-1, 0)
    assert fetched(peer, require_stable=True) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    assert producer.end(commit=True) == 0
    assert fetched(peer, require_stable=True) == (7, 0)


def test_offsets_of_an_aborted_transaction_are_dropped(peer, producer):
    producer.commit_offset(5, 7)
    assert producer.end(commit=False) == 0
    assert fetched(peer, require_stable=True) == (-1, 0)


@pytest.mark.parametrize("version", range(5))
def test_older_clients_add_the_groups_offsets_themselves(peer, producer, version):
    refused = ErrorCode.TRANSACTION_ABORTABLE if version == 4 else ErrorCode.INVALID_TXN_STATE
    assert producer.commit_offset(version, 7).partitions[0].error_code == refused
    added = peer.send(
        m.AddOffsetsToTxnRequest(
            transactional_id=ID, producer_id=producer.id, producer_epoch=producer.epoch, group_id=GROUP
        ),
        3,
    )
    assert added.error_code == 0
    assert producer.commit_offset(version, 7).partitions[0].error_code == 0
    assert producer.end(commit=True, version=3) == 0
    assert fetched(peer, require_stable=True) == (7, 0)


def test_topics_go_by_id_since_version_6(peer, producer, services):
    known = producer.commit_offset(6, 7, topic_id=services.image.topics[T].topic_id, partitions=[0, 9])
    assert {one.partition_index: one.error_code for one in known.partitions} == {
        0: 0,
        9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    unknown = producer.commit_offset(6, 7, topic_id=bytes(range(16)))
    assert unknown.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert producer.end(commit=True) == 0
    assert fetched(peer, require_stable=True) == (7, 0)


def test_a_topic_that_does_not_exist_begins_nothing(producer):
    answer = producer.commit_offset(5, 7, topic="nowhere")
    assert answer.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert producer.end(commit=True) == ErrorCode.INVALID_TXN_STATE


def test_who_is_no_member_of_the_group_commits_nothing(peer, producer):
    for version, code in ((5, ErrorCode.ILLEGAL_GENERATION), (6, ErrorCode.GROUP_ID_NOT_FOUND)):
        topic_id = peer.services.image.topics[T].topic_id
        options = {"generation_id_or_member_epoch": 3, "member_id": "m", "topic_id": topic_id}
        assert producer.commit_offset(version, 7, **options).partitions[0].error_code == code


def test_an_empty_group_id_is_refused(producer):
    answer = producer.commit_offset(5, 7, group_id="")
    assert answer.partitions[0].error_code == ErrorCode.INVALID_GROUP_ID


def test_a_fenced_producer_commits_no_offsets(peer, producer):
    Producer(peer).begin()
    for version in (3, 5):
        answer = producer.commit_offset(version, 7)
        assert answer.partitions[0].error_code == ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_coordinator_that_loads_is_told_to_those_who_know_that(peer, producer, services):
    services.groups.stop()
    assert producer.commit_offset(5, 7).partitions[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


# DescribeTransactions, ListTransactions


def described(peer: Peer, *ids: str) -> list[Any]:
    return list(peer.send(m.DescribeTransactionsRequest(transactional_ids=list(ids)), 0).transaction_states)


def listed(peer: Peer, **filters: Any) -> list[tuple[str, str]]:
    answer = peer.send(m.ListTransactionsRequest(**filters), 2)
    assert answer.error_code == 0
    return [(one.transactional_id, one.transaction_state) for one in answer.transaction_states]


def test_kip_664_a_transaction_is_described(peer, producer, services):
    producer.produce(LATEST_PRODUCE, 2, 0)
    found, missing, empty = described(peer, ID, "nobody", "")
    assert (found.error_code, found.transaction_state, found.producer_id) == (0, "Ongoing", producer.id)
    assert (found.producer_epoch, found.transaction_timeout_ms) == (producer.epoch, 60_000)
    assert found.transaction_start_time_ms == services.clock.wall_ms()
    assert [(one.topic, list(one.partitions)) for one in found.topics] == [(T, [0, 2])]
    assert missing.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert empty.error_code == ErrorCode.INVALID_REQUEST
    producer.end(commit=True)
    (found,) = described(peer, ID)
    assert (found.transaction_state, list(found.topics)) == ("CompleteCommit", [])
    assert described(peer) == []


def test_kip_664_transactions_are_listed_by_what_is_asked_for(peer, producer, services):
    other = Producer(peer, "other")
    other.begin()
    other.produce(LATEST_PRODUCE, 0)
    services.clock.advance_ms(5_000)
    producer.produce(LATEST_PRODUCE, 1)
    both = [("other", "Ongoing"), (ID, "Ongoing")]
    assert sorted(listed(peer)) == both
    assert listed(peer, producer_id_filters=[other.id]) == [("other", "Ongoing")]
    assert listed(peer, duration_filter=4_000) == [("other", "Ongoing")]
    assert listed(peer, duration_filter=5_000) == []
    assert listed(peer, transactional_id_pattern="o.*") == [("other", "Ongoing")]
    assert listed(peer, transactional_id_pattern="o") == []
    assert sorted(listed(peer, state_filters=["Ongoing", "Empty"])) == both
    assert listed(peer, state_filters=["Empty"]) == []
    answer = peer.send(m.ListTransactionsRequest(state_filters=["Asleep"]), 0)
    assert (answer.unknown_state_filters, answer.transaction_states) == (["Asleep"], [])
    answer = peer.send(m.ListTransactionsRequest(transactional_id_pattern="("), 2)
    assert answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


# What an explained fetch tells of transactions


def explained(services: Services, **holders: Any) -> Any:
    """Return the step of an explained read_committed fetch that tells of a transaction, None without one."""
    broker = ExplainedBroker(
        image=services.image,
        settings=services.settings,
        partitions=services.replicas.partitions,
        reader=services.replicas.reader,
        sessions=services.fetch_sessions,
        listeners=[],
        **holders,
    )
    question = FetchQuestion(topic=T, partition=0, offset=0, read_committed=True)
    steps = explain(broker, question)["steps"]
    return next((step for step in steps if step["step"] == "transaction"), None)


def test_f5_explain_tells_which_transaction_holds_back_readers_and_for_how_long(peer, producer, services):
    assert explained(services) is None
    producer.produce(LATEST_PRODUCE, 0)
    services.clock.advance_ms(2_500)

    def look() -> Any:
        known = tuple(services.transactions.transactions())
        return explained(services, holder_of=holder_among(known, services.clock.wall_ms()))

    told = look()
    assert told["text"] == (
        f"producer {producer.id} has a transaction open from 0 on: 't', Ongoing for 2500 ms; "
        "it is aborted after 60000 ms"
    )
    assert told["facts"]["transactional_id"] == ID
    assert explained(services)["text"] == f"producer {producer.id} has a transaction open from 0 on"
    hanging = explained(services, holder_of=lambda _: None)["text"]
    assert hanging.endswith("and no coordinator knows of it: it hangs")
    producer.end(commit=True)
    assert look() is None


# Statistics


def test_transactions_are_counted_by_state(peer, producer, services):
    producer.produce(LATEST_PRODUCE, 0)
    services.clock.advance_ms(1_500)
    Producer(peer, "idle").begin()
    figures = json.loads(b"".join(transaction_statistics(services)))
    assert (figures["by_state"]["Ongoing"], figures["by_state"]["Empty"]) == (1, 1)
    assert figures["oldest_open_ms"] == 1_500
    producer.end(commit=True)
    assert json.loads(b"".join(transaction_statistics(services)))["oldest_open_ms"] == 0
    services.made_transactions = None
    assert b"".join(transaction_statistics(services)) == b"null"
