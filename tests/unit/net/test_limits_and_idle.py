"""Counts, idle buckets, configuration checks and the log's throttle."""

import logging
import random

import pytest

from barnabas.net.connection_counts import ConnectionCounts
from barnabas.net.idle_connections import BUCKETS_PER_IDLE_TIME, IdleConnections
from barnabas.net.listener_config import ConnectionLimits, ListenerConfig
from barnabas.net.log_throttle import LINES_PER_PERIOD_MAX, PERIOD_MS, LogThrottle


class Idler:
    def __init__(self, active_ms: int) -> None:
        self.active_ms = active_ms
        self.idle_bucket = 0
        self.request_in_hand = False


def test_limits_per_ip_with_overrides() -> None:
    limits = ConnectionLimits(max_connections_per_ip=2, max_connections_per_ip_overrides={"10.0.0.1": 0})
    counts = ConnectionCounts(limits)
    assert [counts.admit("10.0.0.2") for _ in range(3)] == [True, True, False]
    assert not counts.admit("10.0.0.1")
    assert (counts.total, counts.refused_per_ip) == (2, 2)
    counts.release("10.0.0.2")
    assert counts.admit("10.0.0.2")


def test_max_connections() -> None:
    counts = ConnectionCounts(ConnectionLimits(max_connections=1))
    assert not counts.is_full
    counts.admit("a")
    assert counts.is_full
    counts.release("a")
    assert (counts.is_full, counts.of("a")) == (False, 0)


def test_idle_connections_are_taken_once_and_not_before_their_time() -> None:
    rng = random.Random(1)
    max_idle_ms = 1000
    idle = IdleConnections[Idler](max_idle_ms)
    live = [Idler(rng.randrange(500)) for _ in range(200)]
    for connection in live:
        idle.add(connection)
    busy, parked, gone = live[:50], live[50:60], live[60:70]
    for connection in gone:
        idle.discard(connection)
        idle.discard(connection)
    for connection in parked:
        connection.request_in_hand = True
    taken: list[Idler] = []
    for now_ms in range(500, 4000, 7):
        for connection in busy:
            connection.active_ms = now_ms
        for connection in idle.take_idle(now_ms):
            late_ms = now_ms - connection.active_ms - max_idle_ms
            assert late_ms >= 0
            assert late_ms <= max_idle_ms // BUCKETS_PER_IDLE_TIME + 7
            taken.append(connection)
    assert set(taken) == set(live[70:])
    assert len(taken) == len(live[70:])
    assert idle.next_look_ms() is not None
    for connection in busy + parked:
        idle.discard(connection)
    assert idle.next_look_ms() is None


@pytest.mark.parametrize("max_idle_ms", [1, 2, 15, 17])
def test_tiny_idle_times(max_idle_ms: int) -> None:
    idle = IdleConnections[Idler](max_idle_ms)
    connection = Idler(100)
    idle.add(connection)
    assert idle.take_idle(100 + max_idle_ms - 1) == []
    look_ms = idle.next_look_ms()
    assert look_ms is not None
    assert idle.take_idle(look_ms) == [connection]


@pytest.mark.parametrize(
    "wrong",
    [
        {"port": 65536},
        {"port": -1},
        {"socket_request_max_bytes": 0},
        {"socket_listen_backlog_size": 0},
        {"socket_send_buffer_bytes": 0},
        {"socket_receive_buffer_bytes": -2},
        {"max_connections": -1},
    ],
)
def test_wrong_numbers_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"."):
        ListenerConfig(**wrong)  # type: ignore[arg-type]


def test_the_throttle_counts_what_it_left_out(caplog: pytest.LogCaptureFixture) -> None:
    now = [0]
    throttle = LogThrottle(lambda: now[0])
    logger = logging.getLogger("test")
    for number in range(100):
        throttle.warning(logger, "cause %d", number)
    throttle.warning(logger, "another cause")
    assert len(caplog.records) == LINES_PER_PERIOD_MAX + 1
    now[0] = PERIOD_MS
    throttle.warning(logger, "cause %d", 1)
    assert f"Left out {100 - LINES_PER_PERIOD_MAX} lines" in caplog.records[-2].getMessage()
