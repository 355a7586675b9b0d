"""Options and argument types that several commands share."""

from collections.abc import Callable, Sequence

import click

from barnabas import __version__
from barnabas.base.hints import TYPE_CHECKING, Any, TypeVar
from barnabas.cli.client.address import parse_bootstrap
from barnabas.cli.client.cluster import Cluster

# Generic in newer releases of click only, and there for type checkers.
if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType

Command = TypeVar("Command", bound=Callable[..., Any])


Bootstrap = list[tuple[str, int]]
"""Hosts and ports, as --bootstrap-server gives them."""


class BootstrapServers(ParamType):
    """HOST:PORT[,HOST:PORT...]"""

    name = "HOST:PORT,..."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[tuple[str, int]]:
        if isinstance(value, list):
            return value
        try:
            return parse_bootstrap(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class KeyValue(ParamType):
    """KEY=VALUE"""

    name = "KEY=VALUE"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        key, equals, text = value.partition("=")
        if not equals or not key.strip():
            self.fail(f"{value!r} is not KEY=VALUE", param, ctx)
        return key.strip(), text


class TopicName(ParamType):
    """A topic; completion asks the broker for the names."""

    name = "topic"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        del param
        names = completing(ctx, lambda cluster: [topic.name for topic in cluster.topics()])
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


class GroupName(ParamType):
    """A group; completion asks the broker for the names."""

    name = "group"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        from barnabas.cli.client.groups import list_groups

        del param
        names = completing(ctx, lambda cluster: [group.group_id for group in list_groups(cluster)])
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


class Moment(ParamType):
    """Milliseconds since 1970 or an ISO 8601 time."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        from barnabas.cli.record_text import parse_time

        try:
            return parse_time(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def completing(ctx: click.Context, ask: Callable[[Cluster], list[str]]) -> list[str]:
    """Ask the cluster of a half-typed line for words; none when it does not answer soon."""
    from barnabas.cli.client.errors import ClientError

    bootstrap = ctx.params.get("bootstrap_server") or "localhost:9092"
    try:
        addresses = parse_bootstrap(bootstrap) if isinstance(bootstrap, str) else bootstrap
        with connect(addresses, timeout=1.0) as cluster:
            return ask(cluster)
    except (ClientError, ValueError):
        return []


def bootstrap_option(command: Command) -> Command:
    """Add --bootstrap-server and --timeout."""
    command = click.option(
        "--bootstrap-server",
        "-b",
        type=BootstrapServers(),
        default="localhost:9092",
        show_default=True,
        envvar="BARNABAS_BOOTSTRAP_SERVER",
        help="Brokers to start from.",
    )(command)
    return click.option(
        "--timeout",
        type=click.FloatRange(min=0.1),
        default=30.0,
        show_default=True,
        metavar="SECONDS",
        help="How long to insist when the cluster does not answer.",
    )(command)


def output_choice() -> "click.Choice[str]":
    """The values of --output."""
    return click.Choice(["plain", "json"])


def output_option(command: Command) -> Command:
    """Add --output plain|json."""
    return _output_option(command, "A table, or one JSON document for programs.")


def lines_output_option(command: Command) -> Command:
    """Add --output plain|json to a command whose results come one by one."""
    return _output_option(command, "Text for people, or one JSON object a line.")


def _output_option(command: Command, help_text: str) -> Command:
    return click.option(
        "--output", "-o", type=output_choice(), default="plain", show_default=True, help=help_text
    )(command)


def filter_option(
    name: str, parameter: str, values: Sequence[str], help_text: str
) -> Callable[[Command], Command]:
    """Make an option that may be given several times, each time with one of the values, in any case.

    Args:
        help_text: what it restricts to; the values are told behind it.
    """
    return click.option(
        name,
        parameter,
        multiple=True,
        metavar=name.removeprefix("--").upper(),
        type=click.Choice(values, case_sensitive=False),
        help=f"{help_text}: {', '.join(values)}.",
    )


def connect(bootstrap_server: Bootstrap, timeout: float) -> Cluster:
    """Return a client of the cluster; nothing is connected yet."""
    return Cluster(bootstrap_server, software_version=__version__, timeout_s=timeout)
