"""How fast connections may be taken, with the clock in hand."""

from barnabas.net.creation_rate import NEVER_MS, UNLIMITED, CreationRate

WINDOW_MS = 10_000


def take(rate: CreationRate, now_ms: int) -> int:
    """Take what may be taken now; return how many."""
    count = 0
    while rate.wait_ms(now_ms) == 0:
        rate.took(now_ms)
        count += 1
        assert count < 100_000
    return count


def test_a_windows_worth_is_taken_at_once_and_then_one_by_one() -> None:
    rate = CreationRate(5, WINDOW_MS)
    now_ms = 1_000_000
    assert take(rate, now_ms) == 50
    assert rate.wait_ms(now_ms) == 200
    assert take(rate, now_ms + 199) == 0
    assert [take(rate, now_ms + 200 * step) for step in range(1, 6)] == [1] * 5


def test_the_rate_holds_over_any_time() -> None:
    rate = CreationRate(7, WINDOW_MS)
    taken = sum(take(rate, 1_000_000 + now_ms) for now_ms in range(0, 60_000, 10))
    assert 7 * 60 <= taken <= 7 * 70


def test_a_quiet_time_saves_up_no_more_than_the_window() -> None:
    rate = CreationRate(5, WINDOW_MS)
    take(rate, 1_000_000)
    assert take(rate, 1_005_000) == 25
    assert take(rate, 9_000_000) == 50


def test_no_limit_and_no_connections_at_all() -> None:
    assert CreationRate(UNLIMITED).wait_ms(0) == 0
    assert CreationRate(0).wait_ms(10**12) == NEVER_MS


def test_another_limit_holds_at_once() -> None:
    rate = CreationRate(1, WINDOW_MS)
    take(rate, 1_000_000)
    assert rate.wait_ms(1_000_000) == 1000
    rate.limit(UNLIMITED, WINDOW_MS)
    assert rate.wait_ms(1_000_000) == 0
    rate.limit(1, WINDOW_MS)
    assert rate.wait_ms(1_000_000) == 1000
