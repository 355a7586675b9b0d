"""Groups in bad weather, over many seeds: no double ownership, no lost commit, no group stuck.

A failing seed is in the test's name; `pytest "tests/simulation/test_groups.py::test_rules_hold[17-range]"`
repeats it, and the end of its story is printed with the failure. With --slow there are a thousand seeds for
each kind of members.
"""

import pytest

from tests.simulation.group_simulation import KINDS, GroupSimulation

SEEDS = 50
SLOW_SEEDS = 1000

_KINDS = list(KINDS)


@pytest.mark.parametrize(("seed", "kind"), [(seed, _KINDS[seed % len(_KINDS)]) for seed in range(SEEDS)])
def test_rules_hold(kind: str, seed: int) -> None:
    GroupSimulation(kind, seed).run()


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", KINDS)
def test_rules_hold_over_a_thousand_seeds(kind: str) -> None:
    for seed in range(SLOW_SEEDS):
        try:
            GroupSimulation(kind, seed).run()
        except AssertionError as error:
            error.add_note(f"seed {seed}, {kind}")
            raise


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_repeats_everything(kind: str) -> None:
    first, second = GroupSimulation(kind, 7), GroupSimulation(kind, 7)
    first.run()
    second.run()
    assert first.world.story == second.world.story
    assert first.world.host.log == second.world.host.log
