"""The harness' arithmetic: medians with their spread, ratios, latencies from when a request was due.

Ratios are formed within a round and the median of those is told: two brokers that took turns within seconds
met the same machine, two medians of a whole run need not have.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """What several rounds found: the middle one, and how far the others lie from it."""

    median: float
    low: float
    high: float
    rounds: int


def median(values: Sequence[float]) -> float:
    """Return the middle value, or the mean of the middle two.

    Raises:
        ValueError: there are none.
    """
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def spread(values: Sequence[float]) -> Spread:
    """Return median, lowest and highest of at least one value."""
    return Spread(median=median(values), low=min(values), high=max(values), rounds=len(values))


def percentile(ascending: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of all values does not exceed (nearest rank).

    Raises:
        ValueError: there are none, or the share is not above 0 and at most 1.
    """
    if not ascending or not 0 < share <= 1:
        raise ValueError(f"{len(ascending)} values, share {share}")
    return ascending[max(0, math.ceil(share * len(ascending) - 1e-9) - 1)]


def ratio(of: Mapping[int, float], to: Mapping[int, float]) -> Spread | None:
    """Return the spread of `of / to` over the rounds that both have; None when there is none.

    Args:
        of: round -> figure.
        to: round -> figure it is compared with; zeros are passed over.
    """
    found = [of[number] / to[number] for number in sorted(of) if to.get(number)]
    return spread(found) if found else None


def due_latencies(due: Sequence[float], answered: Sequence[float]) -> list[float]:
    """Return, ascending, how long after it was due each request was answered.

    An open loop's requests are due by the clock. Counting from when one was really sent would leave out the
    wait of all that could not be sent because an earlier one stalled: coordinated omission.

    Raises:
        ValueError: more was answered than was due, or an answer came before its request was due.
    """
    if len(answered) > len(due):
        raise ValueError(f"{len(answered)} answers to {len(due)} requests")
    taken = [end - start for start, end in zip(due, answered, strict=False)]
    if any(one < 0 for one in taken):
        raise ValueError("answered before it was due")
    return sorted(taken)


def significant(value: float, digits: int = 3) -> str:
    """Return a figure with so many significant digits, thousands separated, without an exponent."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    rounded = round(value, decimals) if decimals else float(round(value))
    return f"{rounded:,.{decimals}f}"
