"""Where an explanation comes from: a running broker's memory, or a data directory's files."""

import os

import click

from barnabas.base.errors import ApiError
from barnabas.base.hints import Any
from barnabas.cli.client.cluster import Cluster
from barnabas.cli.client.errors import ClientError
from barnabas.cli.options import connect
from barnabas.cli.root import CommandFailed
from barnabas.cli.serve import RecoveryLines, UsageError, default_data_dir, settings_of
from barnabas.cli.serve_options import ServeOptions
from barnabas.net.local_client import CommandError, NoBrokerError, ask, socket_path
from barnabas.protocol import messages

DEFAULT_BOOTSTRAP = [("localhost", 9092)]
TIMEOUT_S = 10.0
_BOOTSTRAP_TIMEOUT_S = 3.0
_DESCRIBE_LOG_DIRS = 35
_LOOKS_MAX = 5
"""At files that a broker takes away meanwhile."""


def explain_running(bootstrap: list[tuple[str, int]] | None, question: dict[str, Any]) -> dict[str, Any]:
    """Ask a broker on this machine.

    Args:
        bootstrap: None: the one of the default data directory, else the one at localhost:9092.
    Raises:
        CommandFailed: none can be asked.
        click.UsageError: no Fetch could ask this.
    """
    asked = {**question, "session": list(question["session"])}
    directory, found = _ask_running(
        bootstrap, "explain", {"fetch": asked}, otherwise="; --data-dir DIR explains from the files"
    )
    return {"source": {"kind": "broker", "path": directory}, "notes": [], **found}


def list_sessions(bootstrap: list[tuple[str, int]] | None) -> list[dict[str, Any]]:
    """Ask a broker on this machine for its fetch sessions; arguments and errors as `explain_running`."""
    found: list[dict[str, Any]]
    _, found = _ask_running(bootstrap, "fetch_sessions", {}, otherwise="")
    return found


def _ask_running(
    bootstrap: list[tuple[str, int]] | None, command: str, arguments: dict[str, Any], *, otherwise: str
) -> tuple[str, Any]:
    """Return the directory of the broker that was asked, and its answer.

    Args:
        otherwise: what the user may do without a broker that can be asked.
    """
    if bootstrap is None:
        directory = default_data_dir(os.environ)
        try:
            return directory, _ask(directory, command, arguments)
        except NoBrokerError:
            tried = f"no broker runs on {directory}, and "
            bootstrap = DEFAULT_BOOTSTRAP
    else:
        tried = ""
    try:
        with connect(bootstrap, _BOOTSTRAP_TIMEOUT_S) as cluster:
            directories = _log_dirs(cluster)
    except ClientError as error:
        raise CommandFailed(f"{tried}{error}{otherwise}") from error
    for directory in directories:
        if os.path.exists(socket_path(directory)):
            try:
                return directory, _ask(directory, command, arguments)
            except NoBrokerError as error:
                raise CommandFailed(f"the broker cannot be asked: {error}") from error
    raise CommandFailed(
        f"the broker has its data in {', '.join(directories)}, where no socket of it is: it runs on another "
        f"machine, or is no Barnabas{otherwise}"
    )


def _ask(directory: str, command: str, arguments: dict[str, Any]) -> Any:
    try:
        return ask(socket_path(directory), command, arguments, timeout_s=TIMEOUT_S)
    except CommandError as error:
        raise click.UsageError(str(error)) from error


def _log_dirs(cluster: Cluster) -> list[str]:
    request = messages.DescribeLogDirsRequest(topics=[])
    answer = cluster.request_any(_DESCRIBE_LOG_DIRS, request)
    return [result.log_dir for result in answer.results]


def explain_directory(options: ServeOptions, question: dict[str, Any]) -> dict[str, Any]:
    """Look at files, by the code of a start, and change nothing.

    Raises:
        CommandFailed: they are no data directory, or too damaged for a start.
        click.UsageError: no Fetch could ask this.
    """
    from barnabas.base.clock import SystemClock
    from barnabas.base.disk import OsDisk
    from barnabas.base.entropy import SystemEntropy
    from barnabas.handlers.explain_fetch import explain
    from barnabas.handlers.fetch_question import FetchQuestion
    from barnabas.metadata.records import MetadataError
    from barnabas.server.directory_view import DirectoryViewError, view_partition
    from barnabas.storage.loading.directory_loading import LogManagerError
    from barnabas.storage.loading.segment_check import UnsupportedLogError

    fetch = FetchQuestion(**question)
    for tries_left in reversed(range(_LOOKS_MAX)):
        warnings = _Warnings()
        try:
            fetch.check()
            settings = settings_of(options, None)
            with warnings:
                view = view_partition(
                    settings,
                    fetch.topic,
                    fetch.partition,
                    disk=OsDisk(),
                    clock=SystemClock(),
                    entropy=SystemEntropy(),
                    progress=RecoveryLines(),
                )
            break
        except (UsageError, ValueError) as error:
            raise click.UsageError(str(error)) from error
        except (
            DirectoryViewError, MetadataError, LogManagerError, UnsupportedLogError, ApiError, OSError,
        ) as error:  # fmt: skip
            # A broker at work deletes segments, between our list of the files and the look at them, too.
            if tries_left and isinstance(error.__cause__, FileNotFoundError):
                continue
            raise CommandFailed(str(error)) from error
    source = {"kind": "directory", "path": ",".join(settings.log_dirs)}
    return {"source": source, "notes": [*view.notes, *warnings.notes], **explain(view.broker, fetch)}


class _Warnings:
    """Gathers what a start would log, in place of the log: nothing of it is done."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def __enter__(self) -> None:
        import logging

        notes = self.notes

        class Gathering(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                notes.append(f"that start would log: {record.getMessage()}")

        self._handler = Gathering(logging.WARNING)
        logging.getLogger().addHandler(self._handler)

    def __exit__(self, *_: object) -> None:
        import logging

        logging.getLogger().removeHandler(self._handler)
