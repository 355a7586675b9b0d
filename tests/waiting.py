"""Waiting for what another process, thread or disk does in its own time."""

import time
from collections.abc import Callable
from typing import TypeVar

TIMEOUT_S = 60
"""Only so long that a loaded machine does not make a test fail."""

_PAUSE_S = 0.02

Found = TypeVar("Found")


def wait_until(holds: Callable[[], Found], what: str, timeout_s: float = TIMEOUT_S) -> Found:
    """Ask until the answer is true, and return it.

    Raises:
        AssertionError: it was not in time.
    """
    deadline = time.monotonic() + timeout_s
    while not (found := holds()):
        assert time.monotonic() < deadline, f"{what}: not within {timeout_s} s"
        time.sleep(_PAUSE_S)
    return found
