"""What `barnabas serve --print-config` shows: every key, its effective value, and where that comes from.

It reads exactly the sources that a start reads, and fails where a start would; no directory is made and no
port opened. What was altered in a running cluster is not known here: `barnabas configs describe` tells it.
"""

import os

import click

from barnabas.cli.output import Column, print_json, print_table
from barnabas.cli.serve import UsageError, settings_of
from barnabas.cli.serve_options import ServeOptions
from barnabas.metadata.config_definitions import broker_definition
from barnabas.server.settings import SettingEntry

_SCRATCH_NAME = "barnabas-XXXXXXXXXXXXXXXX"
"""Stands for the directory of --ephemeral, whose name is only chosen by a start."""

_OVERRIDE = "--override"
_HIDDEN = "[hidden]"
_COLUMNS = (Column(heading="Key"), Column(heading="Value"), Column(heading="Source"))


def print_config(options: ServeOptions, *, output: str) -> None:
    """Write a table, or one JSON document.

    Args:
        output: plain or json.

    Raises:
        click.UsageError: what would stop the start.
    """
    try:
        settings = settings_of(options, _scratch() if options.ephemeral else None)
    except UsageError as error:
        raise click.UsageError(str(error)) from error
    own = _own_sources(options)
    entries = [
        SettingEntry(
            name=entry.name,
            value=None if _is_secret(entry.name) else entry.value,
            source=own.get(entry.name, entry.source) if entry.source == _OVERRIDE else entry.source,
        )
        for entry in settings.entries()
    ]
    if output == "json":
        print_json(
            [
                {
                    "name": entry.name,
                    "value": entry.value,
                    "source": entry.source,
                    "sensitive": _is_secret(entry.name),
                }
                for entry in entries
            ]
        )
        return
    rows = [
        [entry.name, _HIDDEN if _is_secret(entry.name) else entry.value, entry.source] for entry in entries
    ]
    print_table(_COLUMNS, rows)


def _scratch() -> str:
    return os.path.join(os.environ.get("TMPDIR", "/tmp"), _SCRATCH_NAME)


def _own_sources(options: ServeOptions) -> dict[str, str]:
    """Return what set the keys that reach the settings as overrides but are not the user's."""
    if options.ephemeral:
        log_dirs = "--ephemeral"
    elif options.data_dir is not None:
        log_dirs = "--data-dir"
    else:
        log_dirs = "default of this broker"
    by_user = {override.partition("=")[0].strip() for override in options.overrides}
    sources = {"log.dirs": log_dirs, "listeners": "--listen"}
    return {name: source for name, source in sources.items() if name not in by_user}


def _is_secret(name: str) -> bool:
    definition = broker_definition(name)
    return definition is None or definition.sensitive
