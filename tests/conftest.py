"""Fixtures that every test may use: the oracle, a Barnabas, and the marks' meaning."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import toolchain
from tests.broker import BarnabasBroker
from tests.interop import matrix
from tests.oracle.kafka import KafkaBroker, running

TESTS = Path(__file__).parent

GROUPED_FOLDERS = ("crash", "golden", "interop", "net", "oracle")
"""With several workers, tests of one folder share a worker, hence its brokers and its JVM."""

ORACLE_FILES = ("_oracle", "_takeover")
"""Files of tests/interop that end so mostly wait for Apache Kafka: a group of their own."""

GROUP_FILES = ("test_groups", "test_group_tools", "test_stream_processing")
"""Files of tests/interop that mostly wait for members: a group of their own as well."""

ONLY_SLOW = "full-size run, only with --slow"


def worker_group(path: Path) -> str | None:
    """Return the name of the tests that must run on the same worker as those of a file."""
    folder = path.relative_to(TESTS).parts[0] if path.is_relative_to(TESTS) else ""
    if folder == "interop" and path.stem.endswith(ORACLE_FILES):
        return "oracle"
    if folder == "interop" and path.stem in GROUP_FILES:
        return "groups"
    return folder if folder in GROUPED_FOLDERS else None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="full-size runs too")
    parser.addoption("--rewrite-transcripts", action="store_true", help="write tests/transcripts anew")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        group = worker_group(item.path)
        if group is not None:
            item.add_marker(pytest.mark.xdist_group(group))
        if "slow" in item.keywords and not config.getoption("--slow"):
            item.add_marker(pytest.mark.skip(reason=ONLY_SLOW))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    matrix.write(terminalreporter)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Where real clients are required, a test that skips itself is a failure of the run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not toolchain.required():
        return
    silent = [report for report in reporter.getreports("skipped") if ONLY_SLOW not in str(report.longrepr)]
    silent = [report for report in silent if "interop" in report.keywords]
    if silent and exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        reporter.write_line("")
        for report in silent:
            reporter.write_line(f"skipped although BARNABAS_INTEROP=required: {report.nodeid}", red=True)


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
