"""The click command tree; each subcommand's module is imported when it is used.

A failure that a user can mend is one line on standard error and an exit code; a traceback means a fault
of ours.
"""

import importlib
import os
import sys

import click

from barnabas import __version__
from barnabas.base.hints import Any
from barnabas.cli.client.errors import ClientError
from barnabas.cli.main import EXIT_FAILURE, EXIT_INTERRUPTED

_COMMANDS = {
    "configs": ("barnabas.cli.configs", "List, describe and alter configuration."),
    "consume": ("barnabas.cli.consume", "Read records of a topic."),
    "doctor": ("barnabas.cli.doctor.command", "Read everything in data directories, and mend them."),
    "dump-log": ("barnabas.cli.dump.command", "Show and check the files of a log."),
    "explain": ("barnabas.cli.explain.command", "Tell step by step how a request would be answered."),
    "groups": ("barnabas.cli.groups", "List, describe, reset and delete groups."),
    "log-dirs": ("barnabas.cli.log_dirs", "Show log directories and move partitions between them."),
    "transactions": (
        "barnabas.cli.transactions",
        "List and describe transactions, find hanging ones and abort them.",
    ),
    "produce": ("barnabas.cli.produce", "Write records to a topic."),
    "serve": ("barnabas.cli.serve_command", "Run a broker."),
    "topics": ("barnabas.cli.topics", "List, create, describe, alter and delete topics."),
}


class CommandFailed(click.ClickException):
    """The command could not do what was asked; its message is the whole explanation."""

    exit_code = EXIT_FAILURE

    def show(self, file: Any = None) -> None:
        click.echo(f"barnabas: {self.format_message()}", file=file or sys.stderr, err=True)


class LazyGroup(click.Group):
    """Knows its commands' names and one-line helps without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        found = _COMMANDS.get(cmd_name)
        if found is None:
            return None
        command = importlib.import_module(found[0]).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, _COMMANDS[name][1]) for name in self.list_commands(ctx)])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ClientError as error:
            raise CommandFailed(str(error)) from error
        except BrokenPipeError:
            # The reader of our output left (`| head`). Python would complain again when it flushes
            # standard output at exit, so that points elsewhere from here on.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(EXIT_FAILURE)
        except KeyboardInterrupt:
            ctx.exit(EXIT_INTERRUPTED)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 failed, 2 wrongly called, 130 interrupted.",
)
@click.version_option(__version__, prog_name="barnabas")
def root() -> None:
    """A message broker that speaks Apache Kafka's wire protocol, and the tools to use it.

    \b
    Examples:
      barnabas serve --ephemeral
      barnabas topics create orders --partitions 3
      barnabas configs alter topics orders --set retention.ms=86400000
      echo hello | barnabas produce orders
      barnabas consume orders --from-beginning --exit-at-end
      barnabas groups describe billing

    Completion: eval "$(_BARNABAS_COMPLETE=bash_source barnabas)" (or zsh_source, fish_source).
    """
