"""The bound on a cleaning's reads and writes."""

import pytest

from barnabas.sim.clock import ManualClock
from barnabas.storage.compaction.cleaning import CleaningAbortedError
from barnabas.storage.compaction.throttle import SLEEP_MS_MAX, Throttle
from tests.compaction_setup import CompactedLog, LogMaker


def test_bytes_flow_at_the_rate_that_is_set() -> None:
    clock = ManualClock()
    throttle = Throttle(1000.0, clock, clock.advance_ms, lambda: None)
    for _ in range(100):
        clock.advance_ms(10)  # what reading takes
        throttle.count(200)
    assert 19_500 <= clock.monotonic_ms() <= 20_500
    assert throttle.slept_ms == clock.monotonic_ms() - 1000


def test_nothing_sleeps_below_the_rate_or_without_one() -> None:
    clock = ManualClock()
    for rate in (1000.0, float("inf")):
        throttle = Throttle(rate, clock, clock.advance_ms, lambda: None)
        for _ in range(100):
            clock.advance_ms(250)
            throttle.count(200)
        assert throttle.slept_ms == 0


def test_a_long_pause_is_looked_into() -> None:
    clock = ManualClock()

    def check() -> None:
        if clock.monotonic_ms() > 3 * SLEEP_MS_MAX:
            raise CleaningAbortedError

    throttle = Throttle(1.0, clock, clock.advance_ms, check)
    with pytest.raises(CleaningAbortedError):
        throttle.count(1_000_000)
    assert clock.monotonic_ms() <= 5 * SLEEP_MS_MAX


def test_a_cleaning_counts_reads_and_writes() -> None:
    log = CompactedLog(LogMaker(3).make())
    result = log.clean(io_bytes_per_second_max=1000.0, io_buffer_bytes=512)
    statistics = result.statistics
    moved = statistics.map_bytes_read + statistics.bytes_read + statistics.bytes_written
    assert 0.7 * moved <= log.clock.monotonic_ms() <= 1.1 * moved
    assert statistics.throttled_ms == statistics.elapsed_ms == log.clock.monotonic_ms()
