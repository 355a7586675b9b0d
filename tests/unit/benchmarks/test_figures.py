"""The harness' arithmetic against figures worked out by hand."""

import pytest

from benchmarks.figures import due_latencies, median, percentile, ratio, significant, spread


@pytest.mark.parametrize(
    ("values", "expected"), [([3.0], 3.0), ([9, 1, 5], 5), ([4, 1, 3, 2], 2.5), ([1, 1, 1, 100], 1)]
)
def test_median(values: list[float], expected: float) -> None:
    assert median(values) == expected


def test_median_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no values"):
        median([])


def test_spread_keeps_the_extremes() -> None:
    found = spread([5.0, 2.0, 11.0])
    assert (found.median, found.low, found.high, found.rounds) == (5.0, 2.0, 11.0, 3)


@pytest.mark.parametrize(
    ("share", "expected"), [(0.5, 50), (0.99, 99), (0.991, 100), (1, 100), (0.001, 1), (0.07, 7)]
)
def test_percentile_is_the_nearest_rank(share: float, expected: float) -> None:
    assert percentile([float(number) for number in range(1, 101)], share) == expected


@pytest.mark.parametrize("share", [0, -0.1, 1.01])
def test_percentile_refuses_shares_that_mean_nothing(share: float) -> None:
    with pytest.raises(ValueError):
        percentile([1.0], share)


def test_ratio_is_formed_within_rounds() -> None:
    # The machine was half as fast in round 1: the ratio is 2 all the same, that of the medians is not.
    ours, theirs = {0: 200.0, 1: 100.0, 2: 220.0}, {0: 100.0, 1: 50.0, 2: 110.0, 3: 7.0}
    found = ratio(ours, theirs)
    assert found is not None
    assert (found.median, found.low, found.high, found.rounds) == (2.0, 2.0, 2.0, 3)


def test_ratio_passes_over_rounds_that_one_has_missed() -> None:
    assert ratio({0: 1.0}, {1: 1.0}) is None
    assert ratio({0: 1.0}, {0: 0.0}) is None
    found = ratio({0: 1.0, 1: 8.0}, {1: 2.0})
    assert found is not None
    assert found.median == 4.0


def test_a_stall_is_felt_by_all_requests_that_were_due_in_it() -> None:
    # Due every 10 ms; the server stalls for 50 ms after the first and then answers what has gathered at once.
    due = [0, 10, 20, 30, 40, 50]
    answered = [1, 51, 51, 51, 51, 51]
    assert due_latencies(due, answered) == [1, 1, 11, 21, 31, 41]


def test_what_was_not_answered_yet_has_no_latency() -> None:
    assert due_latencies([0, 10, 20], [5]) == [5]


@pytest.mark.parametrize(("due", "answered"), [([0], [1, 2]), ([10], [5])])
def test_impossible_latencies_are_refused(due: list[float], answered: list[float]) -> None:
    with pytest.raises(ValueError):
        due_latencies(due, answered)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0"),
        (1234567, "1,234,567"),
        (123.4, "123"),
        (12.34, "12.3"),
        (1.234, "1.23"),
        (0.01234, "0.0123"),
        (0.000012, "0.0000120"),
        (-2.5, "-2.50"),
        (999.96, "1,000"),
    ],
)
def test_significant(value: float, expected: str) -> None:
    assert significant(value) == expected
