"""Power loss under a whole broker: what was promised is there, what is there is right.

Each seed runs producers of all kinds, consumers, groups, transactions and an administrator against the broker
as the server wires it, on a disk that keeps, drops, tears and reorders what was not synced. The power goes
between any two operations on the disk, those of a start and of a stop included; in a quarter of the crashes
only the process dies. After each, `check.py` compares what is there with what clients were told.
"""

import pytest

from tests.power_loss.replay import run_many, run_seed

CI_SEEDS = 50
SLOW_SEEDS = 2000


@pytest.mark.parametrize("seed", range(CI_SEEDS))
def test_after_power_loss_the_broker_has_what_it_promised(seed: int) -> None:
    run_seed(seed)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_power_losses() -> None:
    failed = run_many(range(CI_SEEDS, SLOW_SEEDS), jobs=2)
    assert not failed, "\n".join(f"{seed}: {said}" for seed, said in sorted(failed.items()))
