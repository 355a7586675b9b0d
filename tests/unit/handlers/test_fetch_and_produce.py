"""Fetch, Produce and ListOffsets: how requests become partitions and results become answers."""

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.handlers import api_01_fetch
from barnabas.handlers.request import RequestContext
from barnabas.protocol import fetch_codec, messages
from barnabas.protocol.record_batch_builder import BatchBuilder
from barnabas.replica.fetch import FetchIsolation, FetchOutcome, FetchPartitionResult, FetchReason
from barnabas.replica.offset_requests import ListOffsetsResult
from barnabas.replica.produce import AppendOutcome, AppendPartitionResult, AppendReason
from barnabas.storage.batch_validation import RecordError
from tests.compiled_build import is_under_test
from tests.unit.handlers.conftest import TOPIC_ID

UNKNOWN_ID = bytes(15) + b"\x77"


def _result(**fields):
    result = FetchPartitionResult(ErrorCode.NONE, 10, 9, 2)
    for name, value in fields.items():
        setattr(result, name, value)
    return result


def _outcome(*results):
    return FetchOutcome([], list(results), FetchReason.ENOUGH_BYTES, 0)


def _topic(name, *partitions, topic_id=TOPIC_ID):
    return messages.FetchRequestFetchTopic(
        topic=name,
        topic_id=topic_id,
        partitions=[
            messages.FetchRequestFetchPartition(partition=p, fetch_offset=5, partition_max_bytes=100)
            for p in partitions
        ],
    )


def _fetch(*topics, version, **fields):
    for topic in topics:
        if version >= 13:
            topic.topic = ""
        else:
            topic.topic_id = bytes(16)
    return messages.FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=1000, topics=list(topics), **fields)


@pytest.mark.parametrize("version", range(4, 19))
def test_f2_every_version_carries_the_bounds(peer, replicas, version):
    replicas.fetch_outcome = _outcome(_result())
    response = peer.send(_fetch(_topic("events", 1), version=version), version)
    (topic,) = response.responses
    (data,) = topic.partitions
    assert (topic.topic if version < 13 else topic.topic_id) == ("events" if version < 13 else TOPIC_ID)
    assert (data.partition_index, data.error_code, data.high_watermark) == (1, 0, 10)
    assert data.last_stable_offset == 9
    if version >= 5:
        assert data.log_start_offset == 2
    if version >= 7:
        assert (response.error_code, response.session_id) == (0, 0)


@pytest.mark.parametrize("version", range(4, 19))
def test_f8_records_are_empty_never_null(peer, replicas, version):
    replicas.fetch_outcome = _outcome(_result(), _result(error_code=ErrorCode.OFFSET_OUT_OF_RANGE))
    topics = _topic("events", 0, 1, 7)
    response = peer.send(_fetch(topics, version=version), version)
    for data in response.responses[0].partitions:
        assert data.records is not None
        assert bytes(data.records) == b""


@pytest.mark.parametrize("version", sorted(fetch_codec.PLAIN_RESPONSE_VERSIONS))
@pytest.mark.parametrize("fields", [{}, {"aborted_transactions": []}, {"preferred_read_replica": 3}])
def test_one_partition_is_answered_alike_with_and_without_a_message(
    peer, replicas, monkeypatch, version, fields
):
    replicas.fetch_outcome = _outcome(_result(**fields))
    with monkeypatch.context() as without_messages:
        if not is_under_test():  # of a struct no method can be taken away
            without_messages.setattr(RequestContext, "respond", None)
        peer.send(_fetch(_topic("events", 1), version=version), version)
    monkeypatch.setattr(api_01_fetch, "PLAIN_RESPONSE_VERSIONS", ())
    peer.send(_fetch(_topic("events", 1), version=version), version)
    plain, message = peer.connection.sent
    assert plain == message


def test_f8_only_consecutive_partitions_share_a_topic_and_failures_come_last(peer, replicas):
    replicas.fetch_outcome = _outcome(_result(), _result(error_code=ErrorCode.OFFSET_OUT_OF_RANGE))
    request = _fetch(
        _topic("nope", 0), _topic("events", 0), _topic("events", 1), _topic("nope", 1), version=12
    )
    response = peer.send(request, 12)
    assert [
        (t.topic, [(p.partition_index, p.error_code) for p in t.partitions]) for t in response.responses
    ] == [
        ("events", [(0, 0), (1, 1)]),
        ("nope", [(0, 3), (1, 3)]),
    ]


def test_f8_of_what_is_not_there_unknown_ids_come_first(peer, replicas):
    replicas.fetch_outcome = _outcome(_result())
    request = _fetch(_topic("", 9, 0), _topic("", 4, topic_id=UNKNOWN_ID), version=13)
    response = peer.send(request, 13)
    told = [
        (t.topic_id, [(p.partition_index, p.error_code) for p in t.partitions]) for t in response.responses
    ]
    assert told == [
        (TOPIC_ID, [(0, 0)]),
        (UNKNOWN_ID, [(4, ErrorCode.UNKNOWN_TOPIC_ID)]),
        (TOPIC_ID, [(9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]),
    ]
    request.replica_id = 5
    response = peer.send(request, 13)
    assert [(t.topic_id, len(t.partitions)) for t in response.responses] == [
        (TOPIC_ID, 2),
        (UNKNOWN_ID, 1),
    ]


def test_f9_unknown_names_and_ids(peer, replicas):
    replicas.fetch_outcome = _outcome()
    by_id = peer.send(_fetch(_topic("", 0, topic_id=UNKNOWN_ID), version=13), 13)
    assert by_id.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert by_id.responses[0].topic_id == UNKNOWN_ID
    by_name = peer.send(_fetch(_topic("nope", 0), version=12), 12)
    assert by_name.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert by_name.responses[0].partitions[0].high_watermark == -1
    missing = peer.send(_fetch(_topic("events", 9), version=12), 12)
    assert missing.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_f4_the_broker_bounds_what_a_client_may_ask(peer, replicas):
    replicas.fetch_outcome = _outcome(_result())
    request = _fetch(_topic("events", 0), version=12)
    request.max_bytes, request.min_bytes = 100 * 1024 * 1024, 80 * 1024 * 1024
    peer.send(request, 12)
    (params, _, owner) = replicas.calls[-1][1]
    assert params.max_bytes == 57671680
    assert params.min_bytes == 57671680
    assert owner is peer.connection


@pytest.mark.parametrize(
    ("version", "fields", "replica_id", "isolation"),
    [
        (14, {"replica_id": -1}, -1, FetchIsolation.HIGH_WATERMARK),
        (14, {"replica_id": 5}, 5, FetchIsolation.LOG_END),
        (15, {"replica_state": (5, 77)}, 5, FetchIsolation.LOG_END),
        (15, {"isolation_level": 1}, -1, FetchIsolation.TXN_COMMITTED),
    ],
)
def test_f1_who_fetches(peer, replicas, version, fields, replica_id, isolation):
    replicas.fetch_outcome = _outcome(_result())
    if "replica_state" in fields:
        follower, epoch = fields["replica_state"]
        fields = {
            "replica_state": messages.FetchRequestReplicaState(replica_id=follower, replica_epoch=epoch)
        }
    peer.send(_fetch(_topic("events", 0), version=version, **fields), version)
    params = replicas.calls[-1][1][0]
    assert (params.replica_id, params.isolation) == (replica_id, isolation)
    if "replica_state" in fields:
        assert params.replica_epoch == 77


@pytest.mark.parametrize(("version", "has_client"), [(10, False), (11, True)])
def test_f12_only_from_version_11_a_follower_may_serve(peer, replicas, version, has_client):
    replicas.fetch_outcome = _outcome(_result())
    peer.send(_fetch(_topic("events", 0), version=version), version)
    assert (replicas.calls[-1][1][0].client_metadata is not None) == has_client


def test_f12_who_asks_is_told_where_replicas_are_selected(peer, replicas):
    replicas.selects_replicas = True
    replicas.fetch_outcome = _outcome(_result())
    peer.send(_fetch(_topic("events", 0), version=12, rack_id="far"), 12)
    client = replicas.calls[-1][1][0].client_metadata
    assert (client.rack_id, client.client_id) == ("far", "test")
    assert (client.client_address, client.listener_name) == (
        peer.connection.peer_host, peer.connection.listener_name,
    )  # fmt: skip


@pytest.mark.parametrize(("version", "code"), [(9, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE), (10, 0)])
def test_f2b_zstd_needs_version_10(peer, replicas, version, code):
    replicas.compression = "zstd"
    replicas.fetch_outcome = _outcome(_result(records=_Slice()))
    slice_ = replicas.fetch_outcome.results[0].records
    response = peer.send(_fetch(_topic("events", 0), version=version), version)
    assert response.responses[0].partitions[0].error_code == code
    assert slice_.released == (code != 0)


class _Slice(bytes):
    """Stands for a file slice."""

    released = False

    def release(self) -> None:
        self.released = True


def test_f35_a_session_that_is_not_there_cannot_be_continued(peer, replicas):
    response = peer.send(_fetch(version=12, session_id=5, session_epoch=1), 12)
    assert (response.error_code, response.session_id, response.responses) == (70, 0, [])
    assert replicas.calls == []


def test_f16_diverging_epoch_is_told(peer, replicas):
    replicas.fetch_outcome = _outcome(_result(diverging_epoch=(2, 40)))
    data = peer.send(_fetch(_topic("events", 0), version=12), 12).responses[0].partitions[0]
    assert (data.diverging_epoch.epoch, data.diverging_epoch.end_offset) == (2, 40)


def test_kip951_an_error_names_the_leader(peer, replicas):
    error = _result(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER, leader_id=1, leader_epoch=4)
    replicas.fetch_outcome = _outcome(error)
    response = peer.send(_fetch(_topic("events", 0), version=16), 16)
    data = response.responses[0].partitions[0]
    assert (data.current_leader.leader_id, data.current_leader.leader_epoch) == (1, 4)
    assert [(e.node_id, e.host) for e in response.node_endpoints] == [(1, "broker.example")]


def _produce(*topics, acks=-1):
    return messages.ProduceRequest(
        acks=acks,
        timeout_ms=1000,
        topic_data=[
            messages.ProduceRequestTopicProduceData(
                name=name,
                topic_id=topic_id,
                partition_data=[
                    messages.ProduceRequestPartitionProduceData(index=p, records=b"batch") for p in partitions
                ],
            )
            for name, topic_id, partitions in topics
        ],
    )


def _appended(*results):
    return AppendOutcome(list(results), AppendReason.APPENDED)


@pytest.mark.parametrize("version", range(3, 14))
def test_p1_every_version_answers_where_it_was_appended(peer, replicas, version):
    replicas.append_outcome = _appended(AppendPartitionResult(base_offset=42, log_start_offset=1))
    topic = ("events", bytes(16), [0]) if version < 13 else ("", TOPIC_ID, [0])
    response = peer.send(_produce(topic), version)
    (answer,) = response.responses[0].partition_responses
    assert (answer.index, answer.error_code, answer.base_offset) == (0, 0, 42)
    assert answer.log_append_time_ms == -1
    if version >= 5:
        assert answer.log_start_offset == 1
    assert replicas.calls[-1][1]["request_version"] == version


def test_p1_acks_0_gets_no_answer(peer, replicas):
    replicas.append_outcome = _appended(AppendPartitionResult(base_offset=42))
    assert peer.send(_produce(("events", bytes(16), [0]), acks=0), 9) is None
    assert peer.connection.completed_without_response == 1
    assert peer.connection.closed is None


def test_p1_acks_0_hangs_up_on_an_error(peer, replicas):
    replicas.append_outcome = _appended(AppendPartitionResult(ErrorCode.CORRUPT_MESSAGE))
    peer.send(_produce(("events", bytes(16), [0]), acks=0), 9)
    assert peer.connection.closed == "produce with acks=0 failed: events-0 CORRUPT_MESSAGE"
    assert peer.connection.completed_without_response == 0


def test_p1_acks_0_hangs_up_on_an_unknown_topic(peer, replicas):
    replicas.append_outcome = _appended()
    peer.send(_produce(("nope", bytes(16), [0]), acks=0), 9)
    assert peer.connection.closed == "produce with acks=0 failed: UNKNOWN_TOPIC_OR_PARTITION"


def test_produce_to_unknown_topics_fails_only_there(peer, replicas):
    replicas.append_outcome = _appended(AppendPartitionResult(base_offset=1))
    request = _produce(("nope", bytes(16), [0, 1]), ("events", bytes(16), [0]))
    nope, events = peer.send(request, 9).responses
    assert [(a.index, a.error_code, a.base_offset) for a in nope.partition_responses] == [
        (0, 3, -1),
        (1, 3, -1),
    ]
    assert events.partition_responses[0].base_offset == 1
    by_id = _produce(("", UNKNOWN_ID, [0]))
    replicas.append_outcome = _appended()
    answer = peer.send(by_id, 13).responses[0]
    assert (answer.topic_id, answer.partition_responses[0].error_code) == (UNKNOWN_ID, 100)


def test_kip467_record_errors_are_told(peer, replicas):
    replicas.append_outcome = _appended(
        AppendPartitionResult(
            ErrorCode.INVALID_RECORD,
            error_message="words",
            record_errors=[RecordError(batch_index=3, message="no key")],
        )
    )
    (answer,) = peer.send(_produce(("events", bytes(16), [0])), 8).responses[0].partition_responses
    assert (answer.error_code, answer.error_message) == (87, "words")
    assert [(e.batch_index, e.batch_index_error_message) for e in answer.record_errors] == [(3, "no key")]


def _list(*partitions):
    return messages.ListOffsetsRequest(
        replica_id=-1,
        topics=[
            messages.ListOffsetsRequestListOffsetsTopic(
                name="events",
                partitions=[
                    messages.ListOffsetsRequestListOffsetsPartition(partition_index=p, timestamp=t)
                    for p, t in partitions
                ],
            )
        ],
    )


@pytest.mark.parametrize("version", range(1, 12))
def test_list_offsets_every_version(peer, replicas, version):
    replicas.list_offsets_results = [ListOffsetsResult(timestamp=-1, offset=8, leader_epoch=3)]
    (answer,) = peer.send(_list((0, -1)), version).topics[0].partitions
    assert (answer.error_code, answer.offset) == (0, 8)


@pytest.mark.parametrize(("timestamp", "first"), [(-3, 7), (-4, 8), (-5, 9), (-6, 11), (-7, 99)])
def test_list_offsets_special_timestamps_have_a_first_version(peer, replicas, timestamp, first):
    replicas.list_offsets_results = [ListOffsetsResult(offset=8)]
    for version in range(1, 12):
        asked = peer.send(_list((0, timestamp)), version).topics[0].partitions[0]
        expected = ErrorCode.UNSUPPORTED_VERSION if version < first else ErrorCode.NONE
        assert asked.error_code == expected, version


def test_list_offsets_refuses_a_partition_named_twice(peer, replicas):
    replicas.list_offsets_results = [ListOffsetsResult(offset=8)]
    answers = peer.send(_list((0, -1), (1, -1), (0, -2)), 5).topics[0].partitions
    assert [(a.partition_index, a.error_code, a.offset) for a in answers] == [
        (0, 42, -1),
        (1, 0, 8),
        (0, 42, -1),
    ]


def test_a_partition_named_twice_is_read_once(peer, replicas):
    first, second = _topic("events", 0, 1), _topic("events", 0)
    second.partitions[0].fetch_offset = 9
    replicas.fetch_outcome = _outcome(_result(), _result())
    peer.send(_fetch(first, second, version=12), 12)
    partitions = next(arguments for name, arguments in replicas.calls if name == "fetch")[1]
    assert [(p.partition, p.fetch_offset) for p in partitions] == [(0, 9), (1, 5)]


@pytest.mark.parametrize("version", range(9, 19))
def test_f11_a_fenced_leader_epoch_is_told_in_every_version(peer, replicas, version):
    failed = _result(error_code=ErrorCode.FENCED_LEADER_EPOCH, leader_id=1, leader_epoch=3)
    replicas.fetch_outcome = _outcome(failed)
    response = peer.send(_fetch(_topic("events", 1), version=version), version)
    (data,) = response.responses[0].partitions
    assert data.error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert bool(response.node_endpoints) == (version >= 16)
    assert (data.current_leader.leader_id == 1) == (version >= 16)


@pytest.mark.parametrize("epoch", [-2, -(2**31)])
def test_f11_f16_negative_epochs_are_absent_ones(peer, replicas, epoch):
    topic = _topic("events", 1)
    topic.partitions[0].current_leader_epoch = topic.partitions[0].last_fetched_epoch = epoch
    replicas.fetch_outcome = _outcome(_result())
    peer.send(_fetch(topic, version=12), 12)
    (partition,) = next(arguments for name, arguments in replicas.calls if name == "fetch")[1]
    assert (partition.current_leader_epoch, partition.last_fetched_epoch) == (-1, -1)


@pytest.mark.parametrize("version", [4, 6, 7, 12, 13, 18])
def test_f5_an_unknown_isolation_level_is_refused(peer, replicas, version):
    response = peer.send(_fetch(_topic("events", 1), version=version, isolation_level=7), version)
    errors = {p.error_code for t in response.responses for p in t.partitions}
    assert errors == ({ErrorCode.INVALID_REQUEST} if version < 13 else set())
    assert response.error_code == (ErrorCode.INVALID_REQUEST if version >= 7 else 0)
    assert not replicas.calls


def test_f35_a_negative_session_epoch_continues_a_session_that_is_not_there(peer, replicas):
    request = _fetch(_topic("events", 1), version=12, session_epoch=-2)
    assert peer.send(request, 12).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def _transactional():
    batch = BatchBuilder(producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    batch.append(timestamp=1, key=None, value=b"v")
    return batch.build()


def test_transactional_records_need_a_transactional_id(peer, replicas):
    request = _produce(("events", bytes(16), [0]))
    request.topic_data[0].partition_data[0].records = _transactional()
    response = peer.send(request, 9)
    (data,) = response.responses[0].partition_responses
    assert data.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert not replicas.calls


def test_p1_acks_0_hangs_up_when_the_whole_request_fails(peer, replicas):
    request = _produce(("events", bytes(16), [0]), acks=0)
    request.topic_data[0].partition_data[0].records = _transactional()
    assert peer.send(request, 9) is None
    assert "TRANSACTIONAL_ID_AUTHORIZATION_FAILED" in peer.connection.closed
