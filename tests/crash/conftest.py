"""Chance that a failed run can be given again."""

import os
import random
import secrets

import pytest


@pytest.fixture
def crash_seed() -> int:
    """Drawn anew in each run, and printed, so that pytest shows it with a failure."""
    seed = int(os.environ.get("BARNABAS_CRASH_SEED") or secrets.randbelow(2**32))
    print(f"BARNABAS_CRASH_SEED={seed}")
    return seed


@pytest.fixture
def rng(crash_seed: int) -> random.Random:
    return random.Random(crash_seed)
