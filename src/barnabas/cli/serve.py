"""`barnabas serve`: options to settings, signals, the lines on standard output.

Imports are few, since all of this runs before the first answer: no click, no rich, no tempfile.
"""

import os
import signal
import sys
import time
from typing import TYPE_CHECKING

from barnabas.cli.client.address import address_text, parse_address
from barnabas.cli.main import EXIT_FAILURE, EXIT_OK, EXIT_USAGE
from barnabas.cli.serve_options import ServeOptions

if TYPE_CHECKING:
    from types import FrameType

    from barnabas.server.broker import Broker

_DEFAULT_HOST = "localhost"
_DATA_NAME = "barnabas"
_PRIVATE_MODE = 0o700


class _Usage(Exception):  # noqa: N818
    """The options make no sense; the message says why."""


def serve(options: ServeOptions) -> int:
    """Run a broker on this thread until a signal stops it.

    Returns:
        The exit code: 0 stopped cleanly, 1 could not start or not stop cleanly, 2 wrongly called.
    """
    cpu_before_s, wall_s = time.process_time(), time.monotonic()
    scratch: str | None = None
    try:
        if options.ephemeral:
            scratch = _make_scratch()
        return _serve(options, scratch, cpu_before_s, wall_s)
    except _Usage as error:
        _complain(str(error))
        return EXIT_USAGE
    finally:
        if scratch is not None:
            import shutil

            shutil.rmtree(scratch, ignore_errors=True)


def _serve(options: ServeOptions, scratch: str | None, cpu_before_s: float, wall_s: float) -> int:
    from barnabas.server.broker import Broker, StartError
    from barnabas.server.settings import SettingsError, load_settings

    try:
        settings = load_settings(
            files=[options.config] if options.config is not None else [],
            environ=os.environ,
            overrides=overrides(options, data_dir(options, scratch)),
        )
    except SettingsError as error:
        raise _Usage(str(error)) from error
    except OSError as error:
        raise _Usage(f"{options.config}: {error.strerror or error}") from error
    broker = Broker(settings)
    _stop_on_signals(broker)
    try:
        broker.start()
    except StartError as error:
        _complain(str(error))
        return EXIT_FAILURE
    for address in broker.addresses:
        print(f"listening on {address_text(address.host, address.port)}", flush=True)  # noqa: T201
    # CPU time before this module ran stands for the interpreter's own start, which no clock of ours saw.
    started_ms = (time.monotonic() - wall_s + cpu_before_s) * 1000
    print(f"ready in {started_ms:.0f} ms", flush=True)  # noqa: T201
    return EXIT_OK if broker.run() else EXIT_FAILURE


def data_dir(options: ServeOptions, scratch: str | None) -> str | None:
    """Return the directory the options ask for; None leaves it to the file or the overrides."""
    if scratch is not None:
        return scratch
    return options.data_dir


def default_data_dir(environ: dict[str, str] | os._Environ[str]) -> str:
    """Return `barnabas` under the user's data home, as the XDG base directories define it."""
    home = environ.get("XDG_DATA_HOME", "")
    if not os.path.isabs(home):  # the specification has relative ones ignored
        home = os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(home, _DATA_NAME)
