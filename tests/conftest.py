"""Fixtures that every test may use: the oracle, and the marks' meaning."""

from collections.abc import Iterator

import pytest

from tests.broker import BarnabasBroker
from tests.oracle.kafka import KafkaBroker, running


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="full-size runs too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--slow"):
        return
    mark = pytest.mark.skip(reason="full-size run, only with --slow")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(mark)


@pytest.fixture(scope="session")
def slow(request: pytest.FixtureRequest) -> bool:
    """Whether this is a full-size run."""
    return bool(request.config.getoption("--slow"))


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A real Apache Kafka, one for all tests of this process."""
    with running(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


@pytest.fixture(scope="session")
def barnabas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasBroker]:
    """A Barnabas in its own process, one for all tests of this process: make topics of your own."""
    with BarnabasBroker(tmp_path_factory.mktemp("barnabas")) as broker:
        yield broker
