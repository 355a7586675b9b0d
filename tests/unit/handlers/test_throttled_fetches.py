"""What a client over its quota is told instead of what was read (F39)."""

import pytest

from barnabas.handlers import api_01_fetch
from barnabas.replica.fetch import FetchOutcome, FetchParams, FetchReason
from tests.unit.handlers.fetch_logs import Reader


@pytest.fixture(params=[7, 12, 13, 18])
def reader(request, services):
    made = Reader(services, request.param)
    made.make("a")
    return made


def throttled(reader, session_id, epoch):
    """Send a fetch of a client over its quota: read, then answered without what was read."""
    context = Held(reader)
    services = reader.services
    session, error = services.fetch_sessions.resume(session_id, epoch, uses_topic_ids=reader.with_ids)
    assert error == 0
    services.fetch_sessions.advance(session, 0)
    params = FetchParams(0, 1, 100, None)
    return context, api_01_fetch._IncrementalFetch(context, params, session)


class Held:
    """A request's context that keeps its answer."""

    def __init__(self, reader):
        self.services = reader.services
        self.api_version = reader.version
        self.log_entry = None
        self.answer = None

    def respond(self, response):
        self.answer = response


def test_f39_a_throttled_answer_has_the_session_and_no_topics(reader):
    session_id = reader.fetch(0, 0, reader.topic("a", 0)).session_id
    reader.append("a", 0, 2)
    context, fetch = throttled(reader, session_id, 1)
    read = reader.logs._outcome(FetchParams(0, 1, 100, None), fetch.readable)
    fetch.respond_throttled(read, 250)
    answer = context.answer
    assert (answer.error_code, answer.session_id, answer.throttle_time_ms) == (0, session_id, 250)
    assert answer.responses == []
    assert reader.logs.slices[-1].released
    # What it would have told is still news, and the epoch has moved.
    assert reader.told(reader.fetch(session_id, 2)) == [("a", 0, 0, 2, 2)]


def test_f39_a_throttled_answer_that_was_overtaken_is_an_error(reader):
    session_id = reader.fetch(0, 0, reader.topic("a", 0)).session_id
    context, fetch = throttled(reader, session_id, 1)
    reader.fetch(session_id, 2)
    fetch.respond_throttled(FetchOutcome([], [], FetchReason.NO_WAIT, 0), 250)
    answer = context.answer
    assert (answer.error_code, answer.session_id, answer.throttle_time_ms) == (71, session_id, 250)


def test_f39_a_throttled_full_fetch_opens_no_session(reader):
    context = Held(reader)
    fetch = api_01_fetch._OpeningFetch(context, FetchParams(0, 1, 100, None), ())
    fetch.respond_throttled(FetchOutcome([], [], FetchReason.NO_WAIT, 0), 9)
    answer = context.answer
    assert (answer.error_code, answer.session_id, answer.throttle_time_ms) == (0, 0, 9)
    assert list(reader.services.fetch_sessions.sessions(0)) == []
