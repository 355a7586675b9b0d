"""`barnabas serve` as click knows it: help, completion, the words for a mistyped line, and --print-config.

The options that only print are not in the table of `serve_options`: a line with one of them starts nothing,
so it may take the long way.
"""

import click

from barnabas.base.hints import Any
from barnabas.cli.options import output_choice
from barnabas.cli.serve import serve
from barnabas.cli.serve_options import SERVE_OPTIONS, OptionSpec, ServeOptions


def _option(spec: OptionSpec) -> click.Option:
    if spec.is_switch:
        return click.Option([spec.flag, spec.field], is_flag=True, help=spec.help)
    return click.Option(
        [spec.flag, spec.field], metavar=spec.metavar, multiple=spec.repeatable, help=spec.help
    )


_PRINT_OPTIONS = [
    click.Option(
        ["--print-config"],
        is_flag=True,
        help="Show every key, its value and where that comes from; start nothing.",
    ),
    click.Option(
        ["--output", "-o"],
        type=output_choice(),
        default="plain",
        show_default=True,
        help="How --print-config shows it: a table, or one JSON document for programs.",
    ),
]


def _run(*, print_config: bool, output: str, **given: Any) -> None:
    if given["ephemeral"] and given["data_dir"] is not None:
        raise click.UsageError("--ephemeral and --data-dir exclude each other")
    options = ServeOptions(**given)
    if print_config:
        from barnabas.cli import print_config as printing

        printing.print_config(options, output=output)
        return
    if output != "plain":
        raise click.UsageError("--output goes with --print-config")
    click.get_current_context().exit(serve(options))


command = click.Command(
    "serve",
    params=[*(_option(spec) for spec in SERVE_OPTIONS), *_PRINT_OPTIONS],
    callback=_run,
    help="""Run a broker until it is told to stop.

Once it answers, it prints "listening on HOST:PORT" and how long the start took. SIGTERM, Ctrl-C
or a terminal that closes stop it cleanly; a second SIGTERM or Ctrl-C at once.

\b
Examples:
  barnabas serve
  barnabas serve --ephemeral --listen localhost:0
  barnabas serve --data-dir /var/lib/barnabas --listen 0.0.0.0:9092
  barnabas serve --config server.properties --override log.retention.hours=24
  barnabas serve --config server.properties --print-config
""",
)
