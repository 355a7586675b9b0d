"""Loggers that import logging late lose nothing that somebody asked for."""

import logging
import subprocess
import sys

import pytest

from barnabas.base.logger import Logger, before_first_line


def run(code: str) -> tuple[str, str]:
    """Run code in a fresh interpreter, where nothing has imported logging; return its two outputs."""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return ran.stdout, ran.stderr


def test_debug_lines_nobody_can_want_import_nothing() -> None:
    out, err = run(
        "import sys; from barnabas.base.logger import Logger\n"
        "Logger('a').debug('x'); print('logging' in sys.modules)"
    )
    assert (out, err) == ("False\n", "")


def test_warnings_reach_standard_error_without_configuration() -> None:
    _, err = run("from barnabas.base.logger import Logger; Logger('a').warning('%s is %d', 'x', 3)")
    assert err == "x is 3\n"


def test_configuration_given_ahead_holds_for_the_first_line() -> None:
    _, err = run(
        "import sys; from barnabas.base.logger import Logger, before_first_line\n"
        "def configure():\n"
        "    import logging; logging.basicConfig(level=logging.INFO, format='%(name)s %(message)s')\n"
        "before_first_line(configure)\n"
        "assert 'logging' not in sys.modules\n"
        "log = Logger('a.b'); log.debug('1'); log.info('2'); log.debug('3'); log.error('4')"
    )
    assert err == "a.b 2\na.b 4\n"


def test_configuration_is_at_once_when_logging_is_loaded() -> None:
    calls = []
    before_first_line(lambda: calls.append(1))
    assert calls == [1]
    Logger("barnabas.test").info("x")
    assert calls == [1]


def test_handlers_and_levels_of_users_hold(caplog: pytest.LogCaptureFixture) -> None:
    log = Logger("barnabas.test_logger")
    with caplog.at_level(logging.DEBUG, logger="barnabas.test_logger"):
        log.debug("detail %d", 1)
        try:
            raise ValueError("cause")
        except ValueError:
            log.exception("fault")
    with caplog.at_level(logging.ERROR, logger="barnabas"):
        log.warning("left out")
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("DEBUG", "detail 1"), ("ERROR", "fault")
    ]  # fmt: skip
    assert caplog.records[1].exc_info is not None


def test_lines_name_the_caller(caplog: pytest.LogCaptureFixture) -> None:
    Logger("barnabas.test_logger").warning("here")
    assert caplog.records[0].pathname == __file__
