"""Power loss under a whole broker: what was promised is there, what is there is right.

Each seed runs producers of all kinds, consumers, groups, transactions and an administrator against the broker
as the server wires it, on a disk that keeps, drops, tears and reorders what was not synced. The power goes
between any two operations on the disk, those of a start and of a stop included; in a quarter of the crashes
only the process dies. After each, `check.py` compares what is there with what clients were told.
"""

import pytest

from tests.compiled_build import is_struct
from tests.power_loss.broken_rules import RULES, broken
from tests.power_loss.replay import run_many, run_seed

CI_SEEDS = 50
SLOW_SEEDS = 2000
SEEDS_UNTIL_NOTICED = 150

QUICKLY_NOTICED = (
    "appended_names_are_not_synced",
    "appends_are_answered_before_their_sync",
    "metadata_are_answered_before_their_sync",
    "producer_ids_are_not_reserved",
    "replaced_files_are_not_synced",
)
"""Those that one of the first seeds finds; the others take up to a minute."""


@pytest.mark.parametrize("seed", range(CI_SEEDS))
def test_after_power_loss_the_broker_has_what_it_promised(seed: int) -> None:
    run_seed(seed)


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(
            name, marks=() if name in QUICKLY_NOTICED else (pytest.mark.slow, pytest.mark.timeout(600))
        )
        for name in RULES
    ],
)
def test_a_broken_rule_is_noticed(rule: str) -> None:
    if any(is_struct(target) for target, _, _ in RULES[rule]()):
        pytest.skip("it is broken in a class that is a struct when compiled")
    with broken(RULES[rule]), pytest.raises(AssertionError, match="replay:"):
        run_until_noticed()


def run_until_noticed() -> None:
    for seed in range(SEEDS_UNTIL_NOTICED):
        run_seed(seed)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_power_losses() -> None:
    failed = run_many(range(CI_SEEDS, SLOW_SEEDS), jobs=2)
    assert not failed, "\n".join(f"{seed}: {said}" for seed, said in sorted(failed.items()))
