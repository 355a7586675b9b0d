"""Fixtures that every test may use: the oracle, a Barnabas, and the marks' meaning."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import toolchain
from tests.broker import BarnabasBroker
from tests.interop import matrix
from tests.oracle.kafka import KafkaBroker, running

# How long a machine takes that does other things besides is no property of the code.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

TESTS = Path(__file__).parent

GROUPED_FOLDERS = ("crash", "golden", "interop", "net", "oracle", "power_loss")
"""With several workers, tests of one folder share a worker, hence its brokers and its JVM."""

FILE_GROUPS = {
    "clients": (
        "test_administration", "test_fetch_session_clients", "test_idle_consumers", "test_kafkajs",
        "test_kcat", "test_matrix", "test_parked_consumers",
    ),
    "groups": ("test_groups", "test_group_tools", "test_stream_processing"),
}  # fmt: skip
"""Files of tests/interop that share other things than its rest: processes of clients, and members."""

ORACLE_FILES = ("_oracle", "_takeover")
"""Files of tests/interop that end so mostly wait for Apache Kafka: a group of their own."""

LONGEST_FIRST = (
    "clients", "interop", "oracle", "transactions", "groups", "crash", "net", "golden", "compaction",
    "power_loss",
)  # fmt: skip
"""Groups of half a minute and more begin first, files of unit tests last: so workers end together."""

ID_CHARS_MAX = 100

ONLY_SLOW = "full-size run, only with --slow"


def worker_group(path: Path) -> str:
    """Return the name of the tests that must run on the same worker as those of a file."""
    folders = path.relative_to(TESTS).parts if path.is_relative_to(TESTS) else ("",)
    if folders[0] == "interop":
        for name, files in FILE_GROUPS.items():
            if path.stem in files:
                return name
        if path.stem.endswith(ORACLE_FILES):
            return "oracle"
    if folders[0] in GROUPED_FOLDERS:
        return folders[0]
    # A scheduler is busy with each group for some milliseconds, as long as a unit test takes.
    return "-".join((*folders[:-1], path.stem.removeprefix("test_")))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="full-size runs too")
    parser.addoption("--rewrite-transcripts", action="store_true", help="write tests/transcripts anew")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Keep long values out of tests' names, which workers send to and fro: one has 67 million bytes."""
    if isinstance(val, bytes | str) and len(val) > ID_CHARS_MAX:
        return f"{argname} of {len(val)}"
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--slow"):
        leave_out_slow(config, items)
    group_of_file: dict[Path, str] = {}
    group_of: dict[pytest.Item, str] = {}
    for item in items:
        marked = item.get_closest_marker("xdist_group")
        if marked is not None:
            group_of[item] = marked.args[0]
            continue
        if item.path not in group_of_file:
            group_of_file[item.path] = worker_group(item.path)
        group_of[item] = group_of_file[item.path]
        item.add_marker(pytest.mark.xdist_group(group_of[item]))
    if has_workers(config):
        items.sort(key=lambda item: turn(item, group_of[item]))


def has_workers(config: pytest.Config) -> bool:
    """Whether this process is one of several workers, which are given tests by their groups."""
    return hasattr(config, "workerinput")


def turn(item: pytest.Item, group: str) -> tuple[int, bool, str]:
    """Return what tests are sorted by: when their group begins, and their file."""
    place = LONGEST_FIRST.index(group) if group in LONGEST_FIRST else len(LONGEST_FIRST)
    file = item.nodeid.partition("::")[0]
    return place, file.startswith("tests/unit/"), file


def leave_out_slow(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip full-size runs and say so; workers do not even report them, there are thousands."""
    slow = [item for item in items if "slow" in item.keywords]
    if not has_workers(config):
        for item in slow:
            item.add_marker(pytest.mark.skip(reason=ONLY_SLOW))
    elif slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if "slow" not in item.keywords]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    matrix.write(terminalreporter)
    config = terminalreporter.config
    if config.getoption("numprocesses", None) and not config.getoption("--slow"):
        terminalreporter.write_line("full-size runs were left out: --slow runs them as well")


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
