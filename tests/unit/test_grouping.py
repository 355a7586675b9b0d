"""Tests that share a broker must share a worker, whatever versions of pytest and its plugin meet."""

import os

import pytest


@pytest.mark.xdist_group("grouping")
def test_groups_reach_the_scheduler(request: pytest.FixtureRequest) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ or not request.config.getoption("loadgroup"):
        pytest.skip("there is one process, or tests are not spread by their groups")
    assert request.node.nodeid.endswith("@grouping")
