"""What clients with fetch sessions are told (KIP-227, F34-F37), by names and by ids."""

import logging

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.handlers import api_01_fetch
from barnabas.handlers.fetch_session_cache import FetchSessionCache, closes_session
from barnabas.protocol import frames
from barnabas.protocol.api_keys import ApiKey
from barnabas.protocol.fetch_codec import PLAIN_RESPONSE_VERSIONS
from tests.unit.handlers.fetch_logs import Reader

EPOCH_MAX = 2**31 - 1


@pytest.fixture(params=[7, 11, 12, 13, 18])
def reader(request, services):
    made = Reader(services, request.param)
    made.make("a")
    made.make("b")
    return made


def opened(reader, *topics, **fields):
    """Open a session and return its id."""
    response = reader.fetch(0, 0, *topics, **fields)
    assert response.error_code == 0
    assert response.session_id > 0
    return response.session_id


def live(reader):
    return {info.id: info for info in reader.services.fetch_sessions.sessions(0)}


# F34: full requests ---------------------------------------------------------------------------------


def test_f34_a_full_fetch_opens_a_session_from_its_partitions(reader):
    response = reader.fetch(0, 0, reader.topic("a", 0, 1))
    assert reader.told(response) == [("a", 0, 0, 0, 0), ("a", 1, 0, 0, 0)]
    info = live(reader)[response.session_id]
    assert (info.epoch, info.size, info.privileged, info.client_id) == (1, 2, False, "test")
    assert info.client_host == "127.0.0.1"


def test_f34_the_session_is_made_when_the_answer_is(reader):
    reader.logs.parks = True
    assert reader.fetch(0, 0, reader.topic("a", 0)) is None
    assert live(reader) == {}
    reader.logs.answer_parked()
    (session_id,) = live(reader)
    assert reader.peer.decode("Fetch", reader.version).session_id == session_id


def test_f34_epoch_minus_1_opens_none(reader):
    for _ in range(2):
        response = reader.fetch(0, -1, reader.topic("a", 0))
        assert (response.session_id, reader.told(response)) == (0, [("a", 0, 0, 0, 0)])
    assert live(reader) == {}


@pytest.mark.parametrize("epoch", [-1, 0])
def test_f34_a_full_fetch_ends_the_session_it_names(reader, epoch):
    session_id = opened(reader, reader.topic("a", 0))
    response = reader.fetch(session_id, epoch, reader.topic("b", 0))
    assert response.error_code == 0
    assert reader.told(response) == [("b", 0, 0, 0, 0)]
    assert session_id not in live(reader)
    assert response.session_id != session_id
    assert (response.session_id == 0) == (epoch == -1)
    assert reader.fetch(session_id, 1).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_f34_a_close_without_partitions_is_answered(reader):
    session_id = opened(reader, reader.topic("a", 0))
    response = reader.fetch(session_id, -1)
    assert (response.error_code, response.session_id, response.responses) == (0, 0, [])
    assert live(reader) == {}


def test_f34_a_full_fetch_may_name_a_session_that_is_not_there(reader):
    for stranger in (5, -1, -(2**31), EPOCH_MAX):
        assert reader.fetch(stranger, 0, reader.topic("a", 0)).session_id > 0


def test_f34_versions_without_sessions_have_none(services):
    reader = Reader(services, 6)
    reader.make("a")
    response = reader.fetch(0, 0, reader.topic("a", 0))
    assert reader.told(response) == [("a", 0, 0, 0, 0)]
    assert live(reader) == {}


def test_f38_without_a_slot_the_answer_is_whole_and_the_id_0(reader):
    reader.services.fetch_sessions = FetchSessionCache(slots=0, entropy=None)
    for _ in range(3):
        response = reader.fetch(0, 0, reader.topic("a", 0, 1))
        assert response.session_id == 0
        assert len(reader.told(response)) == 2


# F35, F36: requests that continue a session ---------------------------------------------------------


def test_f36_the_epoch_counts_requests_and_wraps(reader):
    session_id = opened(reader, reader.topic("a", 0))
    for epoch in (1, 2, 3):
        response = reader.fetch(session_id, epoch)
        assert (response.error_code, response.session_id, response.responses) == (0, session_id, [])
    session, _ = reader.services.fetch_sessions.resume(session_id, 4, uses_topic_ids=reader.with_ids)
    session.epoch = EPOCH_MAX
    assert reader.fetch(session_id, EPOCH_MAX).session_id == session_id
    assert reader.fetch(session_id, 1).session_id == session_id


def test_f36_the_epoch_moves_at_the_request_not_at_the_answer(reader):
    session_id = opened(reader, reader.topic("a", 0))
    reader.logs.parks = True
    reader.fetch(session_id, 1)
    assert live(reader)[session_id].epoch == 2


@pytest.mark.parametrize("epoch", [1, 7, -2, EPOCH_MAX, -(2**31)])
def test_f35_an_unknown_id_is_told(reader, epoch):
    asked = len(reader.logs.asked)
    for session_id in (0, 99, -99):
        response = reader.fetch(session_id, epoch, reader.topic("a", 0))
        assert (response.error_code, response.session_id, response.responses) == (70, 0, [])
    assert len(reader.logs.asked) == asked


@pytest.mark.parametrize("epoch", [2, 9, -2, EPOCH_MAX])
def test_f35_a_wrong_epoch_changes_nothing(reader, epoch):
    session_id = opened(reader, reader.topic("a", 0))
    response = reader.fetch(session_id, epoch, reader.topic("b", 0), forget=[("a", 0)])
    assert (response.error_code, response.session_id, response.responses) == (71, 0, [])
    assert (live(reader)[session_id].epoch, live(reader)[session_id].size) == (1, 1)


def test_f35_names_and_ids_do_not_mix(reader):
    session_id = opened(reader, reader.topic("a", 0))
    reader.version = 12 if reader.with_ids else 13
    response = reader.fetch(session_id, 1, reader.topic("b", 0))
    assert (response.error_code, response.session_id, response.responses) == (106, 0, [])
    assert live(reader)[session_id].epoch == 1


def test_f35_what_a_request_names_is_added_or_changed(reader):
    session_id = opened(reader, reader.topic("a", 0))
    response = reader.fetch(session_id, 1, reader.topic("b", 1))
    assert reader.told(response) == [("b", 1, 0, 0, 0)]
    reader.append("a", 0, 10)
    response = reader.fetch(session_id, 2, reader.topic("a", (0, 7, 2)))
    assert reader.told(response) == [("a", 0, 0, 10, 2)]
    # What was changed stays changed.
    assert reader.told(reader.fetch(session_id, 3)) == [("a", 0, 0, 10, 2)]
    assert reader.logs.asked[-1] == [("b", 1), ("a", 0)]


def test_f35_partitions_are_added_before_others_are_forgotten(reader):
    session_id = opened(reader, reader.topic("a", 0))
    response = reader.fetch(session_id, 1, reader.topic("b", 0, 1), forget=[("a", 0), ("b", 1), ("b", 7)])
    assert reader.told(response) == [("b", 0, 0, 0, 0)]
    assert live(reader)[session_id].size == 1


def test_f35_what_is_forgotten_is_not_read_again(reader):
    session_id = opened(reader, reader.topic("a", 0, 1), reader.topic("b", 0))
    reader.fetch(session_id, 1)
    reader.fetch(session_id, 2, forget=[("a", 1)])
    assert reader.logs.asked[-1] == [("a", 0), ("b", 0)]
    reader.append("a", 1)
    assert reader.told(reader.fetch(session_id, 3)) == []


def test_f35_an_emptied_session_is_gone(reader):
    session_id = opened(reader, reader.topic("a", 0, 1))
    response = reader.fetch(session_id, 1, forget=[("a", 0), ("a", 1)])
    assert (response.error_code, response.session_id, response.responses) == (0, 0, [])
    assert live(reader) == {}


def test_f35_a_session_emptied_of_what_the_request_names_answers_that(reader):
    session_id = opened(reader, reader.topic("a", 0))
    response = reader.fetch(session_id, 1, reader.topic("a", 0, 1), forget=[("a", 0), ("a", 1)])
    assert (response.session_id, len(reader.told(response))) == (0, 2)
    assert live(reader) == {}


def test_f35_an_answer_that_another_request_overtook_is_an_error(reader):
    session_id = opened(reader, reader.topic("a", 0))
    reader.logs.parks = True
    reader.fetch(session_id, 1)
    reader.fetch(session_id, 2, reader.topic("a", (0, 1)))
    reader.append("a", 0, 4)
    reader.logs.answer_parked()
    response = reader.peer.decode("Fetch", reader.version)
    assert (response.error_code, response.session_id, response.responses) == (71, session_id, [])
    assert [s.released for s in reader.logs.slices] == [True]
    reader.logs.answer_parked()
    response = reader.peer.decode("Fetch", reader.version)
    assert reader.told(response) == [("a", 0, 0, 4, 3)]
    assert not reader.logs.slices[-1].released


def test_f35_an_answer_whose_session_was_emptied_meanwhile_is_an_error(reader):
    session_id = opened(reader, reader.topic("a", 0))
    reader.logs.parks = True
    reader.fetch(session_id, 1)
    # The parked one would read from the new offset, which its client never asked for.
    reader.fetch(session_id, 2, reader.topic("a", (0, 9)), forget=[("a", 0)])
    reader.logs.answer_parked()
    response = reader.peer.decode("Fetch", reader.version)
    assert (response.error_code, response.session_id, response.responses) == (71, session_id, [])


def test_f35_a_session_closed_meanwhile_still_answers_what_was_parked(reader):
    session_id = opened(reader, reader.topic("a", 0))
    reader.logs.parks = True
    reader.fetch(session_id, 1)
    reader.logs.parks = False
    reader.fetch(session_id, -1)
    reader.append("a", 0)
    reader.logs.answer_parked()
    response = reader.peer.decode("Fetch", reader.version)
    assert (response.error_code, response.session_id) == (0, session_id)
    assert reader.told(response) == [("a", 0, 0, 1, 1)]


def test_f33_only_a_fetch_that_ends_a_session_has_a_parked_one_answered(reader):
    def request_waiting(session_id, epoch):
        frame = reader.peer.frame(reader.request(session_id, epoch), reader.version)
        header = frames.decode_request_header(frame)
        assert header.api_key == ApiKey.FETCH
        return closes_session(reader.request(session_id, epoch))

    assert request_waiting(5, -1)
    assert not any(request_waiting(*pair) for pair in ((0, -1), (5, 0), (5, 1), (0, 0)))


# F37: what is told ----------------------------------------------------------------------------------


def test_f37_records_are_told_until_they_are_read(reader):
    session_id = opened(reader, reader.topic("a", 0, 1))
    reader.append("a", 1, 3)
    for epoch in (1, 2):
        assert reader.told(reader.fetch(session_id, epoch)) == [("a", 1, 0, 3, 3)]
    response = reader.fetch(session_id, 3, reader.topic("a", (1, 3)))
    assert reader.told(response) == []


def test_f37_a_moved_high_watermark_is_told_once(reader):
    session_id = opened(reader, reader.topic("a", (0, 0)))
    reader.append("a", 0, 5)
    response = reader.fetch(session_id, 1, reader.topic("a", (0, 5)))
    assert reader.told(response) == [("a", 0, 0, 5, 0)]
    assert reader.told(reader.fetch(session_id, 2)) == []


def test_f37_a_moved_log_start_is_told_once(reader):
    reader.append("a", 0, 5)
    session_id = opened(reader, reader.topic("a", (0, 5)))
    reader.logs.logs["a", 0].log_start_offset = 4
    response = reader.fetch(session_id, 1)
    assert reader.told(response) == [("a", 0, 0, 5, 0)]
    assert response.responses[0].partitions[0].log_start_offset == 4
    assert reader.told(reader.fetch(session_id, 2)) == []


def test_f37_an_error_is_told_always_and_its_end_too(reader):
    session_id = opened(reader, reader.topic("a", 0))
    log = reader.logs.logs["a", 0]
    log.error = ErrorCode.KAFKA_STORAGE_ERROR
    for epoch in (1, 2):
        assert reader.told(reader.fetch(session_id, epoch)) == [("a", 0, 56, -1, 0)]
    log.error = ErrorCode.NONE
    assert reader.told(reader.fetch(session_id, 3)) == [("a", 0, 0, 0, 0)]
    assert reader.told(reader.fetch(session_id, 4)) == []


def test_f37_the_end_of_an_error_is_told_though_nothing_moved(reader):
    reader.append("a", 0, 5)
    session_id = opened(reader, reader.topic("a", (0, 5)))
    assert reader.told(reader.fetch(session_id, 1, reader.topic("a", (0, 99)))) == [("a", 0, 1, -1, 0)]
    assert reader.told(reader.fetch(session_id, 2, reader.topic("a", (0, 5)))) == [("a", 0, 0, 5, 0)]
    assert reader.told(reader.fetch(session_id, 3)) == []


def test_f37_an_error_at_the_opening_is_followed_by_its_end(reader):
    reader.logs.logs["a", 0].error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    session_id = opened(reader, reader.topic("a", 0))
    reader.logs.logs["a", 0].error = ErrorCode.NONE
    assert reader.told(reader.fetch(session_id, 1)) == [("a", 0, 0, 0, 0)]


@pytest.mark.parametrize(
    ("field", "version"), [("preferred", 11), ("preferred", 13), ("diverging", 12), ("diverging", 18)]
)
def test_f37_a_preferred_replica_or_a_diverging_epoch_is_told_always(services, field, version):
    reader = Reader(services, version)
    reader.make("a")
    session_id = opened(reader, reader.topic("a", 0))
    setattr(reader.logs.logs["a", 0], field, {"preferred": 4, "diverging": (1, 2)}[field])
    for epoch in (1, 2):
        assert reader.told(reader.fetch(session_id, epoch)) == [("a", 0, 0, 0, 0)]
    setattr(reader.logs.logs["a", 0], field, {"preferred": -1, "diverging": None}[field])
    assert reader.told(reader.fetch(session_id, 3)) == []


def test_f21_f37_partitions_with_records_move_behind_the_others(reader):
    session_id = opened(reader, reader.topic("a", 0, 1), reader.topic("b", 0))
    asked = reader.logs.asked
    assert asked[-1] == [("a", 0), ("a", 1), ("b", 0)]
    reader.append("a", 0)
    reader.fetch(session_id, 1)
    reader.fetch(session_id, 2, reader.topic("a", (0, 1)))
    assert asked[-1] == [("a", 1), ("b", 0), ("a", 0)]
    reader.append("a", 1)
    reader.append("a", 0)
    reader.fetch(session_id, 3)
    reader.make("c")  # sorted out anew, in the same order
    reader.fetch(session_id, 4)
    assert asked[-1] == [("b", 0), ("a", 1), ("a", 0)]


def test_f21_f37_no_partition_starves_under_the_shared_limit(reader):
    for number in (0, 1):
        for name in ("a", "b"):
            reader.append(name, number, 1000)
    session_id = opened(reader, reader.topic("a", 0, 1), reader.topic("b", 0, 1), max_bytes=100)
    seen = []
    for epoch in range(1, 9):
        told = reader.told(reader.fetch(session_id, epoch, max_bytes=100))
        seen += [(name, number) for name, number, _, _, count in told if count]
    turns = [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    # A full fetch moves nobody, so the first has its turn twice.
    assert seen == turns * 2


def test_f37_a_topic_made_later_appears(reader):
    unknown = b"later----------\x01"
    reader.announce("later", unknown)
    session_id = opened(reader, reader.topic("later", 0))
    error = ErrorCode.UNKNOWN_TOPIC_ID if reader.with_ids else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    for epoch in (1, 2):
        assert reader.told(reader.fetch(session_id, epoch)) == [("later", 0, error, -1, 0)]
    reader.all_ids.clear()
    assert reader.make("later") == unknown
    assert reader.told(reader.fetch(session_id, 3)) == [("later", 0, 0, 0, 0)]
    assert reader.told(reader.fetch(session_id, 4)) == []


def test_f37_a_partition_made_later_appears(reader):
    session_id = opened(reader, reader.topic("a", 0, 5))
    told = [("a", 5, 3, -1, 0)]
    assert reader.told(reader.fetch(session_id, 1)) == told
    reader.make("c")  # the metadata changed, this partition not
    assert reader.told(reader.fetch(session_id, 2)) == told


def test_f37_a_topic_deleted_and_made_again(reader):
    session_id = opened(reader, reader.topic("a", 0))
    reader.delete("a")
    for epoch in (1, 2):
        assert reader.told(reader.fetch(session_id, epoch))[0][1:] == (0, 3, -1, 0)
    first = reader.logs.ids["a"]
    second = reader.make("a")
    # By name it is the same topic; an id once resolved keeps its name, under which there is another id now.
    expected = (0, ErrorCode.INCONSISTENT_TOPIC_ID, -1, 0) if reader.with_ids else (0, 0, 0, 0)
    assert reader.told(reader.fetch(session_id, 3))[0][1:] == expected
    if reader.with_ids:
        reader.logs.ids["a"] = first
        request = reader.request(session_id, 4, forget=[("a", 0)])
        reader.logs.ids["a"] = second
        request.topics = [reader.topic("a", 0)]
        response = reader.peer.send(request, reader.version)
        assert reader.told(response) == [("a", 0, 0, 0, 0)]


def test_f8_f37_what_is_missing_comes_last_and_stays_in_the_session(reader):
    session_id = opened(reader, reader.topic("a", 9, 0), reader.topic("b", 0))
    reader.append("a", 0)
    reader.append("b", 0)
    told = reader.told(reader.fetch(session_id, 1))
    assert told == [("a", 0, 0, 1, 1), ("b", 0, 0, 1, 1), ("a", 9, 3, -1, 0)]
    assert live(reader)[session_id].size == 3


def test_f37_a_follower_has_a_privileged_session(services):
    reader = Reader(services, 14)
    reader.make("a")
    session_id = opened(reader, reader.topic("a", 0), replica_id=5)
    assert live(reader)[session_id].privileged
    session_id = opened(reader, reader.topic("a", 0), replica_id=-2)
    assert not live(reader)[session_id].privileged


def test_f37_partitions_are_the_same_objects_from_request_to_request(reader):
    session_id = opened(reader, reader.topic("a", 0, 1))
    reader.logs.parks = True
    for epoch in (1, 2, 3):
        reader.fetch(session_id, epoch)
    lists = [partitions for _, partitions, _ in reader.logs.parked]
    assert lists[0] is lists[1] is lists[2]


@pytest.mark.parametrize("version", sorted(PLAIN_RESPONSE_VERSIONS))
@pytest.mark.parametrize("appended", [0, 1])
def test_short_answers_are_the_same_with_and_without_a_message(services, monkeypatch, version, appended):
    reader = Reader(services, version)
    reader.make("a")
    session_id = opened(reader, reader.topic("a", 0))
    reader.append("a", 0, appended)
    reader.fetch(session_id, 1)
    monkeypatch.setattr(api_01_fetch, "PLAIN_RESPONSE_VERSIONS", ())
    reader.fetch(session_id, 2)
    short, message = reader.peer.connection.sent[-2:]
    assert b"".join(short) == b"".join(message)


def test_f35_a_session_that_does_not_fit_is_no_news_for_the_log(reader, caplog):
    session_id = opened(reader, reader.topic("a", 0))
    with caplog.at_level(logging.INFO):
        assert reader.fetch(99, 1).error_code == 70
        assert reader.fetch(session_id, 9).error_code == 71
    assert caplog.records == []
