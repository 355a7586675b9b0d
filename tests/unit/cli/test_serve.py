"""What serve does around a broker: settings, lines, signals, exit codes."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, cast

import pytest

from barnabas.cli.main import main
from barnabas.cli.serve import RecoveryLines, serve
from barnabas.cli.serve_options import ServeOptions
from barnabas.server.listeners import ListenerAddress, SecurityProtocol
from barnabas.storage.loading.scans import RecoveryProgress


class StartError(Exception):
    pass


class FakeBroker:
    """Records what it was told; `during_run` is what happens while it serves."""

    last: ClassVar["FakeBroker"]
    failure: ClassVar[str | None] = None
    clean: ClassVar[bool] = True
    signals: ClassVar[tuple[int, ...]] = ()

    def __init__(self, settings: Any) -> None:
        self.settings = settings
        self.stops: list[bool] = []
        self.directory_was_there = False
        FakeBroker.last = self

    def start(self, progress: object = None) -> None:
        if self.failure is not None:
            raise StartError(self.failure)

    @property
    def addresses(self) -> list[ListenerAddress]:
        return [
            ListenerAddress(
                name="PLAINTEXT", host="::1", port=4711, security_protocol=SecurityProtocol.PLAINTEXT
            )
        ]

    def run(self) -> bool:
        self.directory_was_there = os.path.isdir(self.settings.log_dirs[0])
        for number in self.signals:
            os.kill(os.getpid(), number)
        return self.clean

    def stop(self, *, now: bool = False) -> None:
        self.stops.append(now)


@pytest.fixture(autouse=True)
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[FakeBroker]]:
    module = ModuleType("barnabas.server.broker")
    module.Broker = FakeBroker  # type: ignore[attr-defined]
    module.StartError = StartError  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "barnabas.server.broker", module)
    for name in ("failure", "clean", "signals"):
        monkeypatch.setattr(FakeBroker, name, getattr(FakeBroker, name))
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests themselves may run under nohup
    yield FakeBroker
    for number, handler in before.items():
        signal.signal(number, handler)


def test_it_says_where_it_listens_and_how_long_it_took(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert serve(ServeOptions(data_dir=str(tmp_path))) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "listening on [::1]:4711"
    assert second.startswith("ready in ")
    assert second.endswith(" ms")


def test_an_ephemeral_directory_is_gone_at_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, broker: type[FakeBroker]
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert serve(ServeOptions(ephemeral=True)) == 0
    assert broker.last.directory_was_there
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(broker, "failure", "no")
    assert serve(ServeOptions(ephemeral=True)) == 1
    assert list(tmp_path.iterdir()) == []


def test_without_a_directory_the_data_home_is_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, broker: type[FakeBroker]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert serve(ServeOptions()) == 0
    assert list(broker.last.settings.log_dirs) == [str(tmp_path / "barnabas")]


def test_overrides_win_over_options_and_these_over_the_file(tmp_path: Path, broker: type[FakeBroker]) -> None:
    config = tmp_path / "server.properties"
    config.write_text("log.dirs=/from/file\nnum.partitions=3\nlisteners=PLAINTEXT://file:1\n")
    options = ServeOptions(config=str(config), listen="option:2", overrides=("num.partitions=5",))
    assert serve(options) == 0
    settings = broker.last.settings
    assert list(settings.log_dirs) == ["/from/file"]
    assert settings.integer("num.partitions") == 5
    assert [(listener.host, listener.port) for listener in settings.listeners] == [("option", 2)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (ServeOptions(listen="nowhere"), "--listen 'nowhere' has no port"),
        (ServeOptions(overrides=("num.partition=3",)), "is it num.partitions?"),
        (ServeOptions(overrides=("num.partitions=three",)), "num.partitions"),
        (ServeOptions(config="/does/not/exist"), "/does/not/exist"),
    ],
)
def test_what_makes_no_sense_is_one_line_and_2(
    options: ServeOptions, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert serve(options) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("barnabas: ")
    assert err.count("\n") == 1
    assert words in err


def test_a_failed_start_is_one_line_and_1(
    monkeypatch: pytest.MonkeyPatch,
    broker: type[FakeBroker],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(broker, "failure", "port 9092 of localhost is taken")
    assert serve(ServeOptions(data_dir=str(tmp_path))) == 1
    assert capsys.readouterr().err == "barnabas: port 9092 of localhost is taken\n"


def test_an_unclean_stop_is_1(
    monkeypatch: pytest.MonkeyPatch, broker: type[FakeBroker], tmp_path: Path
) -> None:
    monkeypatch.setattr(broker, "clean", False)
    assert serve(ServeOptions(data_dir=str(tmp_path))) == 1


def test_the_first_signal_stops_and_the_second_hurries(
    monkeypatch: pytest.MonkeyPatch, broker: type[FakeBroker], tmp_path: Path
) -> None:
    monkeypatch.setattr(broker, "signals", (signal.SIGTERM, signal.SIGINT))
    serve(ServeOptions(data_dir=str(tmp_path)))
    assert broker.last.stops == [False, True]


def test_a_terminal_that_closes_stops_it_once_however_often_it_says_so(
    monkeypatch: pytest.MonkeyPatch, broker: type[FakeBroker], tmp_path: Path
) -> None:
    monkeypatch.setattr(broker, "signals", (signal.SIGHUP, signal.SIGHUP, signal.SIGHUP))
    serve(ServeOptions(data_dir=str(tmp_path)))
    assert broker.last.stops == [False]


def test_nohup_is_heeded(monkeypatch: pytest.MonkeyPatch, broker: type[FakeBroker], tmp_path: Path) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    monkeypatch.setattr(broker, "signals", (signal.SIGHUP,))
    serve(ServeOptions(data_dir=str(tmp_path)))
    assert broker.last.stops == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_before_there_is_a_broker_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
    broker: type[FakeBroker],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    number: signal.Signals,
) -> None:
    made = []

    def interrupted(_: FakeBroker, settings: Any) -> None:
        made.append(os.path.isdir(settings.log_dirs[0]))
        os.kill(os.getpid(), number)

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(broker, "__init__", interrupted)
    assert serve(ServeOptions(ephemeral=True)) == 0
    assert made == [True]
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("arguments", [["serve"], ["topics", "list"]])
def test_an_interrupt_while_modules_are_imported_prints_no_traceback(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    class Interrupted:
        def find_spec(self, name: str, path: object, target: object = None) -> None:
            if name in {"barnabas.cli.serve", "barnabas.cli.root"}:
                raise KeyboardInterrupt

    for name in ("barnabas.cli.serve", "barnabas.cli.root"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 130


class _Checked:
    """Progress of a start that checks two logs."""

    logs_left: ClassVar[dict[str, int]] = {"/a": 1, "/b": 1}
    segments_left: ClassVar[dict[str, int]] = {"/a": 3, "/b": 1}
    bytes_to_check = 10_000_000
    bytes_checked = 0


def test_a_check_of_logs_is_told_when_it_takes_more_than_a_second(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = [0.0]
    lines, progress = RecoveryLines(lambda: now[0]), cast(RecoveryProgress, _Checked())
    for now[0] in (0.5, 1.0, 1.5, 5.9, 6.0):
        progress.bytes_checked = int(now[0] * 1_000_000)  # type: ignore[misc]
        lines(progress)
    lines.finish()
    assert capsys.readouterr().err == (
        "barnabas: checking logs after an unclean stop: 10% of 10 MB, 2 logs and 4 segments left\n"
        "barnabas: checking logs after an unclean stop: 60% of 10 MB, 2 logs and 4 segments left\n"
        "barnabas: checked 6 MB of logs in 6.0 s\n"
    )


def test_a_signal_ends_a_start_that_checks_logs(
    monkeypatch: pytest.MonkeyPatch,
    broker: type[FakeBroker],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def start(_: FakeBroker, progress: Callable[[RecoveryProgress], None]) -> None:
        progress(cast(RecoveryProgress, _Checked()))
        os.kill(os.getpid(), signal.SIGTERM)
        progress(cast(RecoveryProgress, _Checked()))

    monkeypatch.setattr(broker, "start", start)
    assert serve(ServeOptions(data_dir=str(tmp_path))) == 0
    told = capsys.readouterr()
    assert told.err == "barnabas: stopped while logs were checked; the next start checks them again\n"
    assert not told.out


def test_a_short_check_of_logs_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    lines = RecoveryLines(lambda: 0.0)
    lines(cast(RecoveryProgress, _Checked()))
    lines.finish()
    assert not capsys.readouterr().err


def test_what_clients_make_long_is_cut_in_the_log_and_a_line_of_the_request_log_is_not() -> None:
    script = """
import logging
from barnabas.base.logger import Logger
from barnabas.cli.serve import _log_to_stderr
_log_to_stderr()
Logger("barnabas.coordinator").info("group %r: %s", "\\0" * 30_000, "rebalance")
Logger("barnabas.coordinator").info("short")
Logger("kafka.request.logger").warning("{" + "x" * 10_000 + "}")
"""
    told = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stderr
    cut, short, whole = told.splitlines()
    assert len(cut) < 2_200
    assert cut.endswith("... (118019 more)")
    assert short.endswith("barnabas.coordinator: short")
    assert whole.endswith("x}")
    assert len(whole) > 10_000
