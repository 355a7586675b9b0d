"""`barnabas serve` as click knows it: help, completion and the words for a mistyped line."""

from typing import Any

import click

from barnabas.cli.serve import serve
from barnabas.cli.serve_options import SERVE_OPTIONS, OptionSpec, ServeOptions


def _option(spec: OptionSpec) -> click.Option:
    if spec.is_switch:
        return click.Option([spec.flag, spec.field], is_flag=True, help=spec.help)
    return click.Option(
        [spec.flag, spec.field], metavar=spec.metavar, multiple=spec.repeatable, help=spec.help
    )


def _run(**given: Any) -> None:
    if given["ephemeral"] and given["data_dir"] is not None:
        raise click.UsageError("--ephemeral and --data-dir exclude each other")
    options = ServeOptions(**{spec.field: given[spec.field] for spec in SERVE_OPTIONS})
    click.get_current_context().exit(serve(options))


command = click.Command(
    "serve",
    params=[_option(spec) for spec in SERVE_OPTIONS],
    callback=_run,
    help="""Run a broker until it is told to stop.

Once it answers, it prints "listening on HOST:PORT" and how long the start took. SIGTERM or Ctrl-C stop
it cleanly; a second one at once.

\b
Examples:
  barnabas serve
  barnabas serve --ephemeral --listen localhost:0
  barnabas serve --data-dir /var/lib/barnabas --listen 0.0.0.0:9092
  barnabas serve --config server.properties --override log.retention.hours=24
""",
)
