"""The durations of requests: where they are counted, and what can be told from it."""

import math

from hypothesis import given
from hypothesis import strategies as st

from barnabas.base.durations import BUCKETS, bucket_end_us, bucket_of
from barnabas.handlers.request_times import RequestTimes, count_request
from barnabas.protocol import frames
from barnabas.protocol import messages as m
from barnabas.replica.fetch import FetchOutcome, FetchReason
from barnabas.web.recent import WINDOW_US, PhaseTimes, RecentTimes
from tests.unit.handlers.conftest import Peer, services_with


def test_buckets_follow_each_other_without_gaps():
    start_us = 0
    for bucket in range(BUCKETS - 1):
        assert bucket_of(start_us) == bucket
        assert bucket_of(bucket_end_us(bucket) - 1) == bucket
        start_us = bucket_end_us(bucket)


@given(st.integers(4, 2**32 - 1))
def test_a_bucket_is_at_most_a_quarter_as_wide_as_what_it_holds(duration_us):
    bucket = bucket_of(duration_us)
    start_us = bucket_end_us(bucket - 1)
    assert start_us <= duration_us < bucket_end_us(bucket)
    assert bucket_end_us(bucket) - start_us <= start_us / 4


def test_what_is_longer_than_the_last_bucket_is_in_it():
    assert bucket_of(2**60) == BUCKETS - 1
    assert bucket_of(-5) == 0


def counted(*moments):
    times = RequestTimes(1, 16)
    count_request(times, *moments)
    return times.statistics()


def sums(statistics):
    return {
        phase: getattr(statistics, phase).sum_us
        for phase in ("total", "local", "remote", "send")
        if getattr(statistics, phase).buckets
    }


def test_an_answer_at_once_has_local_and_send_time():
    assert sums(counted(1_000, -1, 1_300, 1_350)) == {"total": 350, "local": 300, "send": 50}


def test_a_parked_one_waited_for_others_from_then_on():
    told = counted(1_000, 1_200, 501_200, 501_250)
    assert sums(told) == {"total": 500_250, "local": 200, "remote": 500_000, "send": 50}
    assert told.remote.buckets == ((bucket_of(500_000), 1),)
    assert told.requests == 1


def test_short_and_long_ones_are_counted_alike():
    times = RequestTimes(0, 9)
    for total_us in (0, 1, 7, 1_023, 1_024, 1_000_000):
        count_request(times, 0, -1, total_us, total_us)
    told = times.statistics()
    assert dict(told.total.buckets) == {
        bucket_of(us): count for us, count in ((0, 1), (1, 1), (7, 1), (1_023, 1), (1_024, 1), (1_000_000, 1))
    }
    assert told.total.sum_us == 1_002_055
    assert told.send.buckets == ((0, 6),)


def test_a_clock_that_stands_still_breaks_nothing():
    assert counted(2_000, -1, 2_000, 2_000).total.buckets == ((0, 1),)


def phase_times(durations_us, zeros=0):
    times = PhaseTimes()
    for duration_us in durations_us:
        times.add({bucket_of(duration_us): 1}, 0, duration_us)
    times.zeros += zeros
    return times


@given(st.lists(st.integers(4, 10**7), min_size=1, max_size=50), st.sampled_from((0.5, 0.95, 0.99)))
def test_a_quantile_is_right_within_its_bucket(durations_us, quantile):
    exact_us = sorted(durations_us)[max(0, math.ceil(quantile * len(durations_us)) - 1)]
    bucket = bucket_of(exact_us)
    assert (
        bucket_end_us(bucket - 1) <= phase_times(durations_us).quantile_us(quantile) <= bucket_end_us(bucket)
    )


def test_quantiles_count_what_was_zero():
    assert phase_times([1_000], zeros=99).quantile_us(0.5) == 0
    assert phase_times([1_000], zeros=1).quantile_us(0.99) > 800
    assert math.isnan(phase_times([]).quantile_us(0.5))


def told(requests, durations_us):
    empty = {"sum_us": 0, "buckets": []}
    buckets = [list(item) for item in phase_times(durations_us).buckets.items()]
    total = {"sum_us": sum(durations_us), "buckets": buckets}
    phases = {"total": total, "local": empty, "remote": empty, "send": empty}
    return [{"api_key": 1, "api_version": 16, "requests": requests, **phases}]


def test_quantiles_tell_of_the_window_only():
    recent = RecentTimes()
    slow, fast = [1_000_000] * 10, [100] * 5
    recent.update(0, told(10, slow))
    now, last = recent.update(WINDOW_US, told(15, slow + fast))
    assert now[1, "total"].count == 15
    assert last[1, "total"].count == 5
    assert last[1, "total"].quantile_us(0.99) < 200
    _, last = recent.update(WINDOW_US + 60_000_000, told(15, slow + fast))
    assert last[1, "total"].count == 5
    _, last = recent.update(3 * WINDOW_US, told(15, slow + fast))
    assert last[1, "total"].count == 0


def test_a_broker_that_was_started_again_starts_the_window_anew():
    recent = RecentTimes()
    recent.update(10_000_000, told(10, [1_000] * 10))
    _, last = recent.update(5, told(2, [100] * 2))
    assert last[1, "total"].count == 2


def test_many_scrapes_keep_few_snapshots():
    recent = RecentTimes()
    for second in range(3_000):
        recent.update(second * 1_000_000, told(second, [100]))
    assert len(recent._snapshots) <= 32


# Where dispatch takes the moments from ------------------------------------------------------------


class Waiting:
    """Replicas that answer a fetch when the test says so."""

    selects_replicas = False

    def __init__(self):
        self.respond = None

    def fetch(self, params, partitions, respond, owner):
        self.respond = respond


def of_fetch(peer):
    (told,) = [times for times in peer.dispatcher.statistics() if times.api_key == 1]
    return told


def fetch_request():
    asked = m.FetchRequestFetchPartition(partition=0, fetch_offset=0, partition_max_bytes=100)
    topics = [m.FetchRequestFetchTopic(topic="alpha", partitions=[asked])]
    return m.FetchRequest(max_wait_ms=500, min_bytes=1, session_epoch=-1, topics=topics)


def outcome():
    return FetchOutcome([], [], FetchReason.TIMEOUT, 0)


def test_a_request_that_its_handler_left_unanswered_waits_from_then_on():
    waiting = Waiting()
    peer = Peer(services_with(waiting))
    clock = peer.services.clock
    peer.connection.request_in_hand = True
    assert peer.send(fetch_request(), 11) is None
    clock.advance_ms(500)
    waiting.respond(outcome())
    told = of_fetch(peer)
    assert (told.remote.sum_us, told.local.sum_us, told.total.sum_us) == (500_000, 0, 500_000)


def test_sending_goes_on_until_the_socket_has_the_answer():
    waiting = Waiting()
    peer = Peer(services_with(waiting))
    clock, connection = peer.services.clock, peer.connection
    out = []
    connection.respond = lambda parts, when_sent: out.append(when_sent)
    peer.send(fetch_request(), 11)
    waiting.respond(outcome())
    clock.advance_ms(40)
    assert of_fetch(peer).requests == 0, "not yet"
    (told,) = out
    told()
    assert of_fetch(peer).send.sum_us == of_fetch(peer).total.sum_us == 40_000


def test_versions_that_are_not_served_share_their_counters():
    peer = Peer(services_with(Waiting()))
    for version in (90, 91, 92):
        header = frames.encode_request_header(18, version, 7, "test")
        peer.dispatcher.request_received(peer.connection, memoryview(bytearray(header)))
    assert [(told.api_version, told.requests) for told in peer.dispatcher.statistics()] == [(-1, 3)]
