"""`barnabas configs`: list, describe and alter dynamic configuration.

The words are those of kafka-configs, with the type and the name as arguments; `--set`, `--delete`,
`--append` and `--subtract` are the four operations of KIP-339, so that no alteration of one key can undo
another's.
"""

import click

from barnabas.base.hints import Any
from barnabas.cli.client import configs as client
from barnabas.cli.client.cluster import Cluster
from barnabas.cli.client.configs import Alteration, Config, Operation, Resource
from barnabas.cli.options import (
    Bootstrap,
    KeyValue,
    ParamType,
    bootstrap_option,
    completing,
    connect,
    output_option,
)
from barnabas.cli.output import Column, print_json, print_table
from barnabas.metadata.image_types import ConfigResourceType

KINDS = {
    "topics": ConfigResourceType.TOPIC,
    "brokers": ConfigResourceType.BROKER,
    "groups": ConfigResourceType.GROUP,
    "client-metrics": ConfigResourceType.CLIENT_METRICS,
    "broker-loggers": ConfigResourceType.BROKER_LOGGER,
}
_WORDS = {kind: word for word, kind in KINDS.items()}
_BY_NUMBER = (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER)
_HIDDEN = "[hidden]"


class ResourceName(ParamType):
    """A resource's name; completion asks the broker for those of the type before it."""

    name = "name"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        del param
        kind = KINDS.get(str(ctx.params.get("kind")))
        if kind is None:
            return []

        def names(cluster: Cluster) -> list[str]:
            return [resource.name for resource in client.list_resources(cluster, [kind])]

        return [CompletionItem(name) for name in completing(ctx, names) if name.startswith(incomplete)]


_kind_argument = click.argument("kind", metavar="TYPE", type=click.Choice(list(KINDS)))
_default_option = click.option(
    "--default", "of_all", is_flag=True, help="What holds for all brokers instead of one."
)


@click.group()
def command() -> None:
    """List, describe and alter the configuration of topics, brokers and groups.

    TYPE is one of topics, brokers, groups, client-metrics and broker-loggers. What is altered here is
    kept in the cluster's metadata and takes effect at once; what a broker reads when it starts
    (server.properties, KAFKA_* variables, --override) is shown by `barnabas serve --print-config`.
    """


@command.command("list")
@click.argument("kind", metavar="[TYPE]", required=False, type=click.Choice(list(KINDS)))
@bootstrap_option
@output_option
def list_resources(kind: str | None, bootstrap_server: Bootstrap, timeout: float, output: str) -> None:
    """List what has a configuration, or could have one.

    \b
    Examples:
      barnabas configs list
      barnabas configs list groups --output json
    """
    kinds = list(KINDS.values()) if kind is None else [KINDS[kind]]
    with connect(bootstrap_server, timeout) as cluster:
        found = client.list_resources(cluster, kinds)
    if output == "json":
        print_json([{"type": _WORDS[resource.kind], "name": resource.name} for resource in found])
    else:
        columns = (Column(heading="Type"), Column(heading="Name"))
        print_table(columns, [[_WORDS[resource.kind], resource.name] for resource in found])


@command.command()
@_kind_argument
@click.argument("names", metavar="[NAME...]", nargs=-1, type=ResourceName())
@_default_option
@click.option(
    "--all", "everything", is_flag=True, help="Also what was not altered: defaults and what files say."
)
@click.option("--key", "-k", "keys", multiple=True, metavar="KEY", help="Only this one. May be repeated.")
@click.option("--documentation", is_flag=True, help="Say what each configuration does.")
@bootstrap_option
@output_option
def describe(
    *,
    kind: str,
    names: tuple[str, ...],
    of_all: bool,
    everything: bool,
    keys: tuple[str, ...],
    documentation: bool,
    bootstrap_server: Bootstrap,
    timeout: float,
    output: str,
) -> None:
    """Show values and where each comes from; of everything of TYPE when nothing is named.

    Without --all or --key, only what was altered through the cluster is shown. Sources: topic, group,
    broker (set for that one), all brokers, static (what the broker was started with), default.

    \b
    Examples:
      barnabas configs describe topics orders
      barnabas configs describe brokers 1 --all
      barnabas configs describe brokers --default
      barnabas configs describe topics orders -k retention.ms --documentation --output json
    """
    _check_names(kind, names, of_all=of_all)
    with connect(bootstrap_server, timeout) as cluster:
        described = []
        for resource in _named(cluster, KINDS[kind], names, of_all=of_all):
            found = client.describe(cluster, resource, keys=keys or None, documentation=documentation)
            if not (everything or keys):
                found = [config for config in found if config.is_altered(resource.kind)]
            described.append((resource, found))
    if output == "json":
        print_json([_document(resource, found) for resource, found in described])
        return
    for resource, found in described:
        _print(resource, found, documentation=documentation)


@command.command()
@_kind_argument
@click.argument("names", metavar="[NAME]", nargs=-1, type=ResourceName())
@_default_option
@click.option("--set", "sets", type=KeyValue(), multiple=True, help="Give a key a value.")
@click.option("--delete", "deletes", multiple=True, metavar="KEY", help="Back to what holds without it.")
@click.option("--append", "appends", type=KeyValue(), multiple=True, help="Add to the list of a key.")
@click.option("--subtract", "subtracts", type=KeyValue(), multiple=True, help="Take from the list of a key.")
@click.option("--validate-only", is_flag=True, help="Check, and change nothing.")
@bootstrap_option
@output_option
def alter(
    *,
    kind: str,
    names: tuple[str, ...],
    of_all: bool,
    sets: tuple[tuple[str, str], ...],
    deletes: tuple[str, ...],
    appends: tuple[tuple[str, str], ...],
    subtracts: tuple[tuple[str, str], ...],
    validate_only: bool,
    bootstrap_server: Bootstrap,
    timeout: float,
    output: str,
) -> None:
    """Change keys of one resource; all of them or, after an error, none.

    --set, --delete, --append and --subtract may be repeated and combined, each key once.

    \b
    Examples:
      barnabas configs alter topics orders --set retention.ms=86400000 --delete segment.bytes
      barnabas configs alter topics orders --append cleanup.policy=compact
      barnabas configs alter brokers --default --set log.retention.ms=3600000
      barnabas configs alter broker-loggers 1 --set barnabas.net=DEBUG
    """
    _check_names(kind, names, of_all=of_all)
    if len(names) != (0 if of_all else 1):
        raise click.UsageError("name what to alter" if not names else "name one resource")
    alterations = [
        *(Alteration(operation=Operation.SET, name=key, value=value) for key, value in sets),
        *(Alteration(operation=Operation.DELETE, name=key, value=None) for key in deletes),
        *(Alteration(operation=Operation.APPEND, name=key, value=value) for key, value in appends),
        *(Alteration(operation=Operation.SUBTRACT, name=key, value=value) for key, value in subtracts),
    ]
    _check_alterations(alterations)
    resource = Resource(kind=KINDS[kind], name="" if of_all else names[0])
    with connect(bootstrap_server, timeout) as cluster:
        client.alter(cluster, resource, alterations, validate_only=validate_only)
    if output == "json":
        altered = {"type": kind, "name": resource.name, "altered": not validate_only}
        print_json({**altered, "keys": [alteration.name for alteration in alterations]})
    else:
        click.echo(f"{resource.subject} could be altered" if validate_only else f"altered {resource.subject}")


def _check_names(kind: str, names: tuple[str, ...], *, of_all: bool) -> None:
    if of_all and (kind != "brokers" or names):
        raise click.UsageError("--default is for brokers, and without a name")
    if KINDS[kind] in _BY_NUMBER:
        for name in names:
            if not (name.isascii() and name.isdigit()):
                raise click.UsageError(f"a broker's name is its id, a number, not {name!r}")
    if "" in names:
        raise click.UsageError("a name must not be empty")


def _check_alterations(alterations: list[Alteration]) -> None:
    if not alterations:
        raise click.UsageError("nothing to alter: give --set, --delete, --append or --subtract")
    keys = [alteration.name for alteration in alterations]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    if twice:
        raise click.UsageError(f"{', '.join(twice)} can be altered only once at a time")


def _named(
    cluster: Cluster, kind: ConfigResourceType, names: tuple[str, ...], *, of_all: bool
) -> list[Resource]:
    default = Resource(kind=ConfigResourceType.BROKER, name="")
    if of_all:
        return [default]
    if names:
        return [Resource(kind=kind, name=name) for name in names]
    found = client.list_resources(cluster, [kind])
    return [*found, default] if kind is ConfigResourceType.BROKER else found


def _document(resource: Resource, found: list[Config]) -> dict[str, Any]:
    return {
        "type": _WORDS[resource.kind],
        "name": resource.name,
        "configs": [
            {
                "name": config.name,
                "value": config.value,
                "source": config.source,
                "type": config.type,
                "read_only": config.read_only,
                "sensitive": config.is_sensitive,
                "synonyms": [
                    {"name": synonym.name, "value": synonym.value, "source": synonym.source}
                    for synonym in config.synonyms
                ],
                **({} if config.documentation is None else {"documentation": config.documentation}),
            }
            for config in found
        ],
    }


def _print(resource: Resource, found: list[Config], *, documentation: bool) -> None:
    if not found:
        click.echo(f"{resource.subject}: nothing set")
        return
    columns = [Column(heading="Config"), Column(heading="Value"), Column(heading="Source")]
    columns.append(Column(heading="Change"))
    if documentation:
        columns.append(Column(heading="Documentation"))
    rows: list[list[str | None]] = []
    for config in found:
        row = [config.name, _HIDDEN if config.is_sensitive else config.value, config.source]
        row.append("at start" if config.read_only else "any time")
        if documentation:
            row.append(config.documentation)
        rows.append(row)
    print_table(columns, rows, title=resource.subject)
