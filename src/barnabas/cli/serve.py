"""`barnabas serve`: options to settings, signals, the lines on standard output.

Imports are few, since all of this runs before the first answer: no click, no rich, no tempfile.
"""

import gc
import os
import sys
import time
from collections.abc import Callable, Mapping

from barnabas.base.hints import TYPE_CHECKING
from barnabas.base.logger import before_first_line
from barnabas.cli.client.address import address_text, parse_address
from barnabas.cli.main import EXIT_FAILURE, EXIT_OK, EXIT_USAGE
from barnabas.cli.serve_options import ServeOptions

if TYPE_CHECKING:
    import signal
    from types import FrameType

    from barnabas.server.broker import Broker
    from barnabas.server.settings import Settings
    from barnabas.storage.loading.scans import RecoveryProgress
    from barnabas.web.metrics_process import MetricsProcess
else:
    import _signal as signal  # the C module under the standard one, whose enums cost a start 1.5 ms

_DATA_NAME = "barnabas"
_PRIVATE_MODE = 0o700
_PROGRESS_AFTER_S = 1.0
_PROGRESS_INTERVAL_S = 5.0
_PROGRESS_LIVE_S = 0.2
_METRICS_START_MS = 200


class StoppedError(Exception):
    """A signal came while logs were checked."""


class UsageError(Exception):
    """The options make no sense; the message says why."""


def serve(options: ServeOptions) -> int:
    """Run a broker on this thread until a signal stops it.

    Returns:
        The exit code: 0 stopped cleanly, 1 could not start or not stop cleanly, 2 wrongly called.
    """
    cpu_before_s, wall_s = time.process_time(), time.monotonic()
    scratch: str | None = None
    try:
        for number in _stop_signals():
            signal.signal(number, signal.default_int_handler)
        if options.ephemeral:
            scratch = _make_scratch()
        return _serve(options, scratch, cpu_before_s, wall_s)
    except UsageError as error:
        _complain(str(error))
        return EXIT_USAGE
    except KeyboardInterrupt:  # before there was a broker to stop
        return EXIT_OK
    finally:
        gc.enable()
        if scratch is not None:
            import shutil

            shutil.rmtree(scratch, ignore_errors=True)


def _serve(options: ServeOptions, scratch: str | None, cpu_before_s: float, wall_s: float) -> int:
    gc.disable()  # what imports make stays: looking for garbage among it is a tenth of a start
    from barnabas.server.broker import Broker, StartError

    settings = settings_of(options, scratch)
    _log_to_stderr()
    broker = Broker(settings)
    progress = RecoveryLines(is_stopping=_stop_on_signals(broker))
    try:
        broker.start(progress)
    except StoppedError:
        _complain("stopped while logs were checked; the next start checks them again")
        return EXIT_OK
    except StartError as error:
        _complain(str(error))
        return EXIT_FAILURE
    progress.finish()
    gc.freeze()  # nor need later collections look at it
    # Requests leave no cycles behind: looking for some after every 700 objects held up one answer in fifty.
    gc.set_threshold(10_000, 20, 50)
    gc.enable()
    try:
        metrics = _start_metrics(settings, broker)
    except UsageError:
        broker.stop(now=True)
        broker.run()
        raise
    for address in broker.addresses:
        _say(f"listening on {address_text(address.host, address.port)}")
    if metrics is not None:
        _say(f"metrics on http://{address_text(metrics.host, metrics.port)}/metrics")
    # CPU time before this module ran stands for the interpreter's own start, which no clock of ours saw.
    _say(f"ready in {(time.monotonic() - wall_s + cpu_before_s) * 1000:.0f} ms")
    try:
        return EXIT_OK if broker.run() else EXIT_FAILURE
    finally:
        if metrics is not None:
            metrics.stop()


def _start_metrics(settings: "Settings", broker: "Broker") -> "MetricsProcess | None":
    """Take the port of metrics.listener; its process starts when the broker has answered its first clients.

    Raises:
        UsageError: the address makes no sense or cannot be bound, or packages are missing.
    """
    listener = settings.text("metrics.listener")
    if not listener:
        return None
    from barnabas.web.metrics_process import MetricsError, MetricsProcess

    try:
        address = parse_address(listener, default_port=None)
    except ValueError as error:
        raise UsageError(f"metrics.listener {error}") from None
    try:
        metrics = MetricsProcess(address, broker.local_socket_path, broker.call_later)
    except MetricsError as error:
        raise UsageError(str(error)) from error
    broker.call_later(_METRICS_START_MS, metrics.start)
    return metrics


def settings_of(options: ServeOptions, scratch: str | None) -> "Settings":
    """Return what a serve line makes of all sources together.

    Args:
        scratch: the directory of --ephemeral.

    Raises:
        UsageError: a source cannot be read, or does not fit.
    """
    from barnabas.server.settings import SettingsError, load_settings

    files = [] if options.config is None else [options.config]
    given = own_overrides(options, scratch)
    try:
        settings = load_settings(files=files, environ=os.environ, overrides=given, read_text=_read_text)
        if settings.is_set("log.dirs") or settings.is_set("log.dir"):
            return settings
        given.append(f"log.dirs={default_data_dir(os.environ)}")
        return load_settings(files=files, environ=os.environ, overrides=given, read_text=_read_text)
    except SettingsError as error:
        raise UsageError(str(error)) from error


def _read_text(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def own_overrides(options: ServeOptions, scratch: str | None) -> list[str]:
    """Return KEY=VALUE lines for the options, the user's own overrides last, so that they win.

    Args:
        scratch: the directory of --ephemeral.
    """
    lines = []
    directory = options.data_dir if scratch is None else scratch
    if directory is not None:
        lines.append(f"log.dirs={os.path.abspath(directory)}")
    if options.listen is not None:
        try:
            host, port = parse_address(options.listen, default_port=None)
        except ValueError as error:
            raise UsageError(f"--listen {error}") from None
        lines.append(f"listeners=PLAINTEXT://{address_text(host, port)}")
    if options.metrics is not None:
        lines.append(f"metrics.listener={options.metrics}")
    return [*lines, *options.overrides]


def default_data_dir(environ: Mapping[str, str]) -> str:
    """Return `barnabas` under the user's data home, as the XDG base directories define it.

    Apache Kafka's own default is below /tmp, which the next boot may empty.
    """
    home = environ.get("XDG_DATA_HOME", "")
    if not os.path.isabs(home):  # the specification has relative ones ignored
        home = os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(home, _DATA_NAME)


def _make_scratch() -> str:
    """Make a directory as tempfile.mkdtemp does, whose import costs 8 ms."""
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"{_DATA_NAME}-{os.urandom(8).hex()}")
    try:
        os.mkdir(path, _PRIVATE_MODE)
    except OSError as error:
        raise UsageError(f"cannot make {path}: {error.strerror}") from error
    return path


def _stop_on_signals(broker: "Broker") -> Callable[[], bool]:
    """Stop on the first signal, give up on what is in hand on the second, die on the third.

    A terminal that closes may say so more than once: SIGHUP only ever is a first signal.

    Returns:
        What tells whether one has come.
    """
    count = 0

    def stop(number: int, frame: "FrameType | None") -> None:
        nonlocal count
        del frame
        if number == signal.SIGHUP and count:
            return
        count += 1
        if count > 2:
            os._exit(128 + number)
        broker.stop(now=count == 2)

    for number in _stop_signals():
        signal.signal(number, stop)
    return lambda: count > 0


def _stop_signals() -> list[int]:
    """Return what stops a broker: SIGHUP as well, as it does a JVM, but for one started with nohup."""
    numbers = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    return [int(number) for number in numbers]


_MESSAGE_CHARS_MAX = 2_000
_OUR_LOGGERS = "barnabas."
"""Lines of the request log, which has a logger of Kafka's name, are whole: programs read them."""


class RecoveryLines:
    """Says on standard error how far the check of logs after a crash is, when it takes more than a second.

    At a terminal one line that renews itself, elsewhere a line every few seconds.

    Args:
        now_s: the passing of time, replaceable in tests.
        is_stopping: asked whenever there is progress; once true, StoppedError ends the start.
    """

    def __init__(
        self, now_s: Callable[[], float] = time.monotonic, *, is_stopping: Callable[[], bool] | None = None
    ) -> None:
        self._now_s = now_s
        self._is_stopping = is_stopping
        self._live = sys.stderr.isatty()
        self._began_s = now_s()
        self._due_s = self._began_s + _PROGRESS_AFTER_S
        self._last: RecoveryProgress | None = None

    def __call__(self, progress: "RecoveryProgress") -> None:
        if self._is_stopping is not None and self._is_stopping():
            raise StoppedError
        now = self._now_s()
        if now < self._due_s:
            return
        self._due_s = now + (_PROGRESS_LIVE_S if self._live else _PROGRESS_INTERVAL_S)
        self._last = progress
        logs, segments = sum(progress.logs_left.values()), sum(progress.segments_left.values())
        checked, to_check = progress.bytes_checked, progress.bytes_to_check
        percent = 100 * checked // to_check if to_check else 100
        text = (
            f"checking logs after an unclean stop: {percent}% of {_megabytes(to_check)}, "
            f"{logs} {'log' if logs == 1 else 'logs'} and {segments} "
            f"{'segment' if segments == 1 else 'segments'} left"
        )
        if self._live:
            sys.stderr.write(f"\r\x1b[Kbarnabas: {text}")
            sys.stderr.flush()
        else:
            _complain(text)

    def finish(self) -> None:
        """Say the sum, if anything was said before."""
        if self._last is None:
            return
        if self._live:
            sys.stderr.write("\r\x1b[K")
        seconds = self._now_s() - self._began_s
        _complain(f"checked {_megabytes(self._last.bytes_checked)} of logs in {seconds:.1f} s")


def _megabytes(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:.0f} MB"


def _log_to_stderr() -> None:
    """Have lines of INFO and above on standard error, should there ever be one."""
    before_first_line(_configure_logging)


def _configure_logging() -> None:
    import logging

    class Bounded(logging.Formatter):
        """Cuts lines whose length clients choose: names of groups and members, reasons for a rebalance."""

        def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - overrides
            excess = len(record.message) - _MESSAGE_CHARS_MAX
            if excess > 0 and record.name.startswith(_OUR_LOGGERS):
                record.message = f"{record.message[:_MESSAGE_CHARS_MAX]}... ({excess} more)"
            return super().formatMessage(record)

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Bounded("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


def _complain(line: str) -> None:
    print(f"barnabas: {line}", file=sys.stderr, flush=True)  # noqa: T201
